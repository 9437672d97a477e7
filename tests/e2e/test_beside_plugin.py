"""What becomes of pods with the sidecar, beside what becomes of the same pods with kube-scheduler's own plugin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import pytest

from resourceapi.objects import Object
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES
from tests.claimcheck.outcomes import Case, by_extender, cases, decision
from tests.e2e.asked_outcomes import Outcomes, outcomes_of
from tests.e2e.extended_pods import CASES, CLAIMS, DEVICES, MERGE, PLUGIN, outcome, prepare, remove, submit
from tests.e2e.scheduled_pods import GROUP, Workloads
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SERVER_FLAGS, scheduling_cluster, until

BOTH = ("plugin", "sidecar")
NODE_RESOURCES = "DRANodeAllocatableResources"
GATES = f"--feature-gates={NODE_RESOURCES}=true"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def clusters() -> Iterator[Mapping[str, Workloads]]:
    """The same cluster twice: in one kube-scheduler's plugin allocates, in the other one the sidecar."""
    with ExitStack() as stack:
        found = {}
        for kind, replicas in zip(BOTH, (0, 1), strict=True):
            cluster = stack.enter_context(
                scheduling_cluster(
                    replicas=replicas,
                    server_flags=[*SERVER_FLAGS, GATES],
                    scheduler_flags=[GATES],
                    config={"apiServer": {"featureGates": {NODE_RESOURCES: True}}},
                )
            )
            found[kind] = Workloads(cluster.client)
            prepare(found[kind])
        yield found


@pytest.mark.parametrize("name", CASES)
def test_pod(clusters: Mapping[str, Workloads], name: str) -> None:
    """The node, the claim with its owner and devices, and the pod's status are the same; both delete the claim with its pod."""
    found = {}
    for kind, workloads in clusters.items():
        submit(workloads, name, CASES[name])
        found[kind] = outcome(workloads, name, CASES[name])
        remove(workloads, name)
    assert found["sidecar"] == found["plugin"]
    assert (found["sidecar"]["node"] is not None) == CASES[name].is_bound


@pytest.mark.parametrize("devices", ["none", "those-of-now"])
def test_claim_of_an_earlier_attempt(clusters: Mapping[str, Workloads], devices: str) -> None:
    """Whatever is left of one, the pod ends up with one claim of its own. (kube-scheduler's plugin tries again only after two minutes.)"""
    workloads, name, case = clusters["sidecar"], f"tried-{devices}", CASES["two-containers"]
    submit(workloads, name, case)
    expected = outcome(workloads, name, case)
    remove(workloads, name)
    submit(workloads, name, case, gates=["example.com/wait"])
    _leave_behind(workloads, name, expected if devices != "none" else {})
    workloads.client.ask("PATCH", f"{PODS}/{name}", {"spec": {"schedulingGates": []}}, content_type=MERGE)
    found = outcome(workloads, name, case)
    for each in (expected, found):  # the one that is left has a name that somebody has given it
        for claim in each["claims"]:
            claim.pop("prefix")
    assert found == expected
    remove(workloads, name)


def _leave_behind(workloads: Workloads, name: str, expected: Mapping[str, list[dict[str, object]]]) -> None:
    """A claim that a scheduler has made for a pod, with the devices that it would get."""
    pod = workloads.pod(name)
    uid = pod["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid, "controller": True}
    requests = [{"name": "container-0-request-0", "exactly": {"deviceClassName": "gpu", "count": 1}}]
    spec: object = {"devices": {"requests": requests}}
    if expected:
        spec = expected["claims"][0]["spec"]
    body = {
        "metadata": {
            "name": f"{name}-left",
            "annotations": {FOR_EXTENDED_RESOURCES: "true"},
            "ownerReferences": [owner],
            "finalizers": ["resource.kubernetes.io/delete-protection"],
        },
        "spec": spec,
    }
    answer = workloads.client.ask("POST", CLAIMS, body)
    assert answer.code == 201, answer.body
    if expected:
        status = {"status": {"allocation": expected["claims"][0]["allocation"]}}
        path = f"{CLAIMS}/{name}-left/status"
        answer = workloads.client.ask("PATCH", path, status, content_type=MERGE)
        assert answer.code == 200, answer.body


def test_pod_that_waits_and_is_deleted(clusters: Mapping[str, Workloads]) -> None:
    """Nothing is left of it, and the next one of its name is scheduled."""
    for workloads in clusters.values():
        submit(workloads, "again", CASES["too-many"])
        outcome(workloads, "again", CASES["too-many"])
        remove(workloads, "again")
        submit(workloads, "again", CASES["one-container"])
        assert outcome(workloads, "again", CASES["one-container"])["node"]
        remove(workloads, "again")


def test_pod_that_waits_is_scheduled_when_devices_are_free(clusters: Mapping[str, Workloads]) -> None:
    """The claim of the pod before, whose devices it waits for, is gone with that."""
    for workloads in clusters.values():
        submit(workloads, "first", CASES["implicit-name"])
        outcome(workloads, "first", CASES["implicit-name"])
        submit(workloads, "second", CASES["largest-of-init-containers"])
        assert workloads.refused("second")
        workloads.delete_pod("first")
        workloads.bound("second")
        remove(workloads, "second")


def test_many_pods_at_once(clusters: Mapping[str, Workloads]) -> None:
    """No device is given twice: of seven pods that want one of five devices each, five get one; all others once these are gone."""
    for workloads in clusters.values():
        names = [f"many-{number}" for number in range(7)]
        for name in names:
            submit(workloads, name, CASES["one-container"])
        first = _five_of(workloads, names)
        assert sorted(_devices(workloads)) == [f"gpu-{number}" for number in range(5)]
        for name in first:
            workloads.delete_pod(name)
        for name in set(names) - set(first):
            workloads.bound(name)
            workloads.delete_pod(name)
        _until_no_claims(workloads)


def _five_of(workloads: Workloads, names: Sequence[str]) -> list[str]:
    """The pods that are bound, once there are five."""

    def bound() -> list[str]:
        return [name for name in names if workloads.pod(name)["spec"].get("nodeName")]

    until(lambda: len(bound()) == 5, "not all that can be are bound")
    return bound()


def _devices(workloads: Workloads) -> list[str]:
    claims = workloads.client.ask("GET", CLAIMS).body["items"]
    return [each["status"]["allocation"]["devices"]["results"][0]["device"] for each in claims]


def _until_no_claims(workloads: Workloads) -> None:
    until(lambda: not workloads.client.ask("GET", CLAIMS).body["items"], "claims are left")


# what the plugin has decided about (`tests/claimcheck/data/outcomes`, which `test_outcomes.py` asks it again)


ON_NODES = [each for each in cases() if each.subject == "node_allocatable_resources"]
#: Those in which the plugin and the sidecar once ended differently, and those in which they still do.
DECISIONS = [
    each
    for each in cases()
    if each.sidecar
    or each.subject == "preemption"
    or each.name
    in (
        "all-an-incomplete-pool-elsewhere",
        "all-an-invalid-pool-elsewhere",
        "all-an-incomplete-pool-on-a-full-node",
        "a-runtime-error-on-one-of-two-nodes",
        "a-runtime-error-on-a-full-node",
    )
]


@pytest.fixture(scope="module")
def outcomes(clusters: Mapping[str, Workloads]) -> Outcomes:
    """What becomes of the pods of all these cases with the sidecar."""
    found = {case.name: case for case in (*ON_NODES, *DECISIONS)}
    return outcomes_of(clusters["sidecar"].client, list(found.values()), SCHEDULER_NAME)


@pytest.mark.parametrize("case", ON_NODES, ids=lambda case: case.name)
def test_devices_that_take_of_nodes(outcomes: Outcomes, case: Case) -> None:
    """The same as with the plugin: the node, the devices, what the pod's status says, the reasons; but nobody is preempted for them."""
    assert outcomes[case.name] == {name: by_extender(each) for name, each in case.expected.items()}


@pytest.mark.parametrize("case", DECISIONS, ids=lambda case: case.name)
def test_decisions(outcomes: Outcomes, case: Case) -> None:
    """The same as with the plugin, or what the case says of the sidecar and docs/how-to/schedule.md gives the reason of."""
    expected = {name: decision(each) for name, each in case.expected.items()} | dict(case.sidecar)
    assert {name: decision(each) for name, each in outcomes[case.name].items()} == expected


@pytest.mark.parametrize("kind", BOTH)
def test_node_is_filled_and_not_more(clusters: Mapping[str, Workloads], kind: str) -> None:
    """By pods whose devices stand for 2 CPUs each, and others that request 1, all at once: kube-scheduler knows of the first only later."""
    workloads, names = clusters[kind], [f"filled-{number}" for number in range(12)]
    _add_node_with_cpus(workloads)
    request = {"name": "r", "exactly": {"deviceClassName": "filled"}}
    for number, name in enumerate(names):
        if number % 2:
            _request_cpu(workloads, name)
        else:
            workloads.run(name, {"devices": {"requests": [request]}}, node="filled")
    until(lambda: _cpus(workloads, names) == 8, lambda: str(_cpus(workloads, names)))
    for name in names:
        workloads.delete_pod(name)
        workloads.client.ask("DELETE", f"{CLAIMS}/{name}")


def _add_node_with_cpus(workloads: Workloads) -> None:
    """A node of 8 CPUs, with six devices that stand for 2 each, and a class for them."""
    workloads.add_node("filled")
    amounts = {"cpu": "8", "memory": "8Gi", "pods": "110"}
    status = {"capacity": amounts, "allocatable": amounts, "declaredFeatures": [NODE_RESOURCES]}
    answer = workloads.client.ask(
        "PATCH", "/api/v1/nodes/filled/status", {"status": status}, content_type=MERGE
    )
    assert answer.code == 200, answer.body
    taken = {"cpu": {"mapping": {"deviceMultiplier": "2"}}}
    spec = {
        "driver": "filled.example.com",
        "nodeName": "filled",
        "pool": {"name": "filled", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": f"d{number}", "nodeAllocatableResources": taken} for number in range(6)],
    }
    slice = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "filled"}}
    # admission refuses it until it has seen what the node declares

    def is_created() -> bool:
        answer = workloads.client.ask("POST", f"{GROUP}/resourceslices", {**slice, "spec": spec})
        return answer.code == 201

    until(is_created, "the slice is refused")
    workloads.add_class("filled")


def _request_cpu(workloads: Workloads, name: str) -> None:
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}
    spec = {
        "schedulerName": SCHEDULER_NAME,
        "terminationGracePeriodSeconds": 0,
        "nodeSelector": {"kubernetes.io/hostname": "filled"},
        "containers": [container],
    }
    answer = workloads.client.ask("POST", PODS, {"metadata": {"name": name}, "spec": spec})
    assert answer.code == 201, answer.body


def _cpus(workloads: Workloads, names: Sequence[str]) -> int:
    """What those of the pods take of their node that are on it, which is never more than it has."""
    there = [pod for pod in map(workloads.pod, names) if pod["spec"].get("nodeName")]
    taken = sum(2 if pod["status"].get("nodeAllocatableResourceClaimStatuses") else 1 for pod in there)
    assert taken <= 8, there
    return taken


@pytest.mark.parametrize(("kind", "first"), [("plugin", PLUGIN), ("sidecar", DEVICES)])
def test_claim_of_a_pod_that_was_created_on_a_node(
    clusters: Mapping[str, Workloads], kind: str, first: str
) -> None:
    """The plugin gives its claim no devices, until a pod that shares it is scheduled, wherever that is; the sidecar does, on its node."""
    workloads = clusters[kind]
    request = {"name": "r", "exactly": {"deviceClassName": "nic"}}
    assert workloads.create_claim("beforehand", {"devices": {"requests": [request]}}).code == 201
    spec = {
        "schedulerName": SCHEDULER_NAME,
        "nodeName": DEVICES,
        "terminationGracePeriodSeconds": 0,
        "resourceClaims": [{"name": "d0", "resourceClaimName": "beforehand"}],
        "containers": [{"name": "c", "image": "x"}],
    }
    answer = workloads.client.ask("POST", PODS, {"metadata": {"name": "beforehand"}, "spec": spec})
    assert answer.code == 201, answer.body
    if kind == "sidecar":
        until(lambda: "allocation" in _beforehand(workloads), "no devices on its node")
    workloads.add_pod("afterwards", claim="beforehand", nodes=[PLUGIN] if kind == "plugin" else ())
    assert workloads.bound("afterwards") == first
    assert _beforehand(workloads)["allocation"]["devices"]["results"][0]["pool"] == first


def _beforehand(workloads: Workloads) -> Object:
    found: Object = workloads.client.ask("GET", f"{CLAIMS}/beforehand").body.get("status", {})
    return found
