"""What filter answers, from a picture that is made by hand."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from operator import attrgetter
from threading import Semaphore, Thread
from time import thread_time
from typing import Any

import pytest

from allocator.explaining.shortfalls import TOGETHER, Shortfalls
from allocator.rules.standing import GROUPS_OFF
from allocator.time_limit import TimeLimit
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.releases import Profile
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.extender_api import CandidateNodes
from scheduler.filtering import UNKNOWN_NODE, Filter, Refused
from scheduler.pod_claims import MOST_CLAIMS
from tests.scheduler import group_scenes

DRIVER = "gpu.example.com"
NODES = ("n1", "n2")


def node(name: str) -> Object:
    """A node without labels."""
    return {"metadata": {"name": name}}


def slice_of(name: str, gpus: int) -> Object:
    """A node's only slice."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{index}"} for index in range(gpus)],
        },
    }


def claim(name: str, count: int = 1, version: int = 1, **more: Any) -> Object:
    """A claim for so many GPUs; `more` is in its metadata."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": f"uid-{name}",
            "resourceVersion": str(version),
            **more,
        },
        "spec": {
            "devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu", "count": count}}]}
        },
    }


def pod(name: str, *claims: str) -> Object:
    """A pod that references claims, each by its own name."""
    return {
        "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}"},
        "spec": {"resourceClaims": [{"name": each, "resourceClaimName": each} for each in claims]},
    }


def allocation(node_name: str, *devices: str) -> Object:
    """An AllocationResult with devices of one node."""
    results = [{"request": "g", "driver": DRIVER, "pool": node_name, "device": each} for each in devices]
    selector = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    return {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [selector]}]},
    }


class Cluster:
    """A picture with a filter."""

    def __init__(self, gpus: int = 1, gates: dict[str, bool] | None = None) -> None:
        self.picture = ClusterPicture(Profile("kep" if gates else "1.37", gates or {}))
        self.decisions = Decisions(clock=lambda: 1e9)
        self.refused: list[Refused] = []
        self.filter = Filter(self.picture, self.decisions, seconds=5.0, refused=self.refused.append)
        self.picture.classes.put(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": "gpu"},
                "spec": {},
            }
        )
        for name in NODES:
            self.picture.nodes.put(node(name))
            self.picture.slices.put(slice_of(name, gpus))

    def ask(
        self, asked: Object, nodes: tuple[str, ...] = NODES
    ) -> tuple[list[str], dict[str, str], dict[str, str]]:
        """The nodes that fit, those where preemption might help, and those where it cannot, with the reasons."""
        self.decisions.clear()  # no bind is on its way
        verdicts = self.filter.answer(CandidateNodes(asked, nodes))
        return list(verdicts.fitting), dict(verdicts.failed), dict(verdicts.beyond_preemption)


def test_pod_without_claims_fits_everywhere() -> None:
    assert Cluster().ask({"metadata": {"name": "p"}, "spec": {}}) == (["n1", "n2"], {}, {})


def _with_failing_selector(cluster: Cluster) -> Object:
    wanted = claim("c")
    expression = "device.attributes['gpu.example.com'].model == 'a100'"
    wanted["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return wanted


def _for_all_where_pools_are_incomplete(cluster: Cluster) -> Object:
    for name in NODES:
        incomplete = slice_of(name, 1)
        incomplete["spec"]["pool"]["resourceSliceCount"] = 2
        cluster.picture.slices.put(incomplete)
    wanted = claim("c")
    wanted["spec"]["devices"]["requests"][0]["exactly"] = {"deviceClassName": "gpu", "allocationMode": "All"}
    return wanted


def _for_all_with_a_constraint(cluster: Cluster) -> Object:
    wanted = _for_all_where_pools_are_incomplete(cluster)
    for name in NODES:
        different = slice_of(name, 2)
        for place, device in enumerate(different["spec"]["devices"]):
            device["attributes"] = {"gpu.example.com/socket": {"int": place}}
        cluster.picture.slices.put(different)
    wanted["spec"]["devices"]["constraints"] = [{"matchAttribute": "gpu.example.com/socket"}]
    return wanted


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            _with_failing_selector,
            (
                "claim ns/c: selector #0: CEL runtime error: no such key: model. consider using CEL optional chaining "
                "(.? followed by orValue()) or guarding the check with has() for optional fields"
            ),
        ),
        (
            _for_all_where_pools_are_incomplete,
            "claim ns/c, request g: asks for all devices, but a resource pool is currently being updated",
        ),
        (
            _for_all_with_a_constraint,
            "claim ns/c, request g: cannot add a device because a claim constraint would not be satisfied",
        ),
    ],
)
def test_nodes_with_the_same_error_have_the_same_reason(
    made: Callable[[Cluster], Object], reason: str
) -> None:
    """Kube-scheduler adds them up; the event says which device or pool it is."""
    cluster = Cluster(gpus=2)
    cluster.picture.claim_objects.put(made(cluster))
    assert cluster.ask(pod("p", "c")) == ([], {}, dict.fromkeys(NODES, reason))


def test_error_on_one_node_fails_the_attempt() -> None:
    """As with kube-scheduler's plugin; the pod is not put on the other node, where its claim fits."""
    cluster = Cluster(gpus=2)
    cluster.picture.claim_objects.put(_with_failing_selector(cluster))
    fitting = slice_of("n2", 1)
    fitting["spec"]["devices"][0]["attributes"] = {"gpu.example.com/model": {"string": "a100"}}
    cluster.picture.slices.put(fitting)
    assert cluster.ask(pod("p", "c"), ("n2",))[0] == ["n2"]
    _, _, beyond = cluster.ask(pod("p", "c"))
    assert [reason.partition(".")[0] for reason in beyond.values()] == [
        "claim ns/c: selector #0: CEL runtime error: no such key: model"
    ] * 2


def test_pod_fits_where_devices_are() -> None:
    """What else is said does not matter if there is such a node, and costs nothing."""
    cluster = Cluster()
    cluster.picture.slices.put(slice_of("n2", 2))
    cluster.picture.claim_objects.put(claim("c", count=2))
    fitting, failed, beyond = cluster.ask(pod("p", "c"), ("n1", "n2", "n3"))
    assert (fitting, failed, beyond) == (["n2"], {"n1": "cannot allocate all claims"}, {"n3": UNKNOWN_NODE})
    decision = cluster.decisions.get("uid-p")
    assert decision is not None
    assert decision.results("n1") is None
    assert decision.results("n2") is not None


REASONS: dict[str, tuple[int, str, str]] = {
    "none": (1, "false", "request g: no device matches"),
    "few": (2, "true", "request g: too few devices match"),
    "used": (1, "true", "request g: too few devices left after allocated devices"),
}


@pytest.mark.parametrize(("count", "selector", "reason"), REASONS.values(), ids=REASONS)
def test_refusal_has_a_reason(count: int, selector: str, reason: str) -> None:
    """One that is the same on all nodes with the same reason."""
    cluster = Cluster()
    for name in NODES:
        held = {**claim(f"held-{name}"), "status": {"allocation": allocation(name, "gpu-0")}}
        cluster.picture.claim_objects.put(held)
    asked = claim("c", count)
    asked["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": selector}}]
    cluster.picture.claim_objects.put(asked)
    assert cluster.ask(pod("p", "c"))[1] == dict.fromkeys(NODES, reason)


def test_one_of_nodes_that_are_alike_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the way is found out once for them; those that are alike have the same reason."""
    asked = []
    whole = Shortfalls.on

    def on(self: Shortfalls, node: str) -> str:
        asked.append(node)
        return whole(self, node)

    monkeypatch.setattr(Shortfalls, "on", on)
    cluster = Cluster(gpus=2)
    names = tuple(f"n{number}" for number in range(1, 101))
    for name in names[len(NODES) :]:
        cluster.picture.nodes.put(node(name))
        cluster.picture.slices.put(slice_of(name, 2))
    held = {**claim("held"), "status": {"allocation": allocation("n7", "gpu-0")}}
    cluster.picture.claim_objects.put(held)
    cluster.picture.claim_objects.put(claim("c", 3))
    failed = cluster.ask(pod("p", "c"), names)[1]
    assert failed == dict.fromkeys(names, "request g: too few devices match")
    assert len(asked) == 2


def test_pool_is_named_only_if_it_would_help() -> None:
    """Not one of devices that do not match, nor where devices of other pools match and are in use."""
    cluster = Cluster()
    selector = f'device.driver == "{DRIVER}"'
    asked = claim("c")
    asked["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": selector}}]
    cluster.picture.claim_objects.put(asked)
    for name in NODES:
        other = slice_of(f"{name}-other", 1)
        pool = {"name": f"{name}-other", "generation": 1, "resourceSliceCount": 2}
        other["spec"].update(driver="other.example.com", nodeName=name, pool=pool)
        cluster.picture.slices.put(other)
        held = {**claim(f"held-{name}"), "status": {"allocation": allocation(name, "gpu-0")}}
        cluster.picture.claim_objects.put(held)
    in_use = "request g: too few devices left after allocated devices"
    assert cluster.ask(pod("p", "c"))[1] == dict.fromkeys(NODES, in_use)
    for name in NODES:
        cluster.picture.slices.put(slice_of(name, 0))
    assert cluster.ask(pod("p", "c"))[1] == dict.fromkeys(NODES, "request g: no device matches")
    unfinished = slice_of("n1", 1)
    unfinished["spec"]["pool"]["resourceSliceCount"] = 2
    cluster.picture.slices.put(unfinished)
    found = cluster.ask(pod("p", "c"))[1]
    assert found["n1"] == "request g: a resource pool is incomplete or invalid"
    assert found["n2"] == "request g: no device matches"


@pytest.mark.parametrize(
    ("type", "reason"),
    [
        ("mig", f"request g: no device matches while {GROUPS_OFF}"),
        ("other", "request g: no device matches"),
    ],
)
def test_gate_is_named_if_it_would_help(type: str, reason: str) -> None:
    """Where the API server has compatibility groups, and the sidecar does not, it says so of devices that match."""
    cluster = Cluster()
    for name in NODES:
        for each in group_scenes.slices(group_scenes.MIG, name):
            cluster.picture.slices.put(each)
    asked = claim("c")
    expression = f"device.attributes['{DRIVER}'].?type.orValue('') == '{type}'"
    asked["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    cluster.picture.claim_objects.put(asked)
    assert cluster.ask(pod("p", "c"))[1] == dict.fromkeys(NODES, reason)


def test_requests_compete() -> None:
    """Each finds enough by itself."""
    cluster = Cluster()
    asked = claim("c")
    requests = asked["spec"]["devices"]["requests"]
    requests.append({**requests[0], "name": "h"})
    cluster.picture.claim_objects.put(asked)
    assert set(cluster.ask(pod("p", "c"))[1].values()) == {TOGETHER}


def test_decision_has_the_devices() -> None:
    cluster = Cluster()
    cluster.picture.claim_objects.put(claim("c"))
    cluster.filter.answer(CandidateNodes(pod("p", "c"), NODES))
    decision = cluster.decisions.take("uid-p")
    assert decision is not None
    assert [each.key for each in decision.claims] == ["ns/c"]
    results = decision.results("n2")
    assert results is not None
    assert [each["device"] for each in results[0]["devices"]["results"]] == ["gpu-0"]
    assert cluster.decisions.take("uid-p") is None


PROBLEMS: dict[str, tuple[Object | None, str]] = {
    "missing": (None, "waiting for ResourceClaim 'c', which does not exist"),
    "deleted": (claim("c", deletionTimestamp="2026-01-01T00:00:00Z"), "ResourceClaim 'c' is being deleted"),
    "full": (
        {
            **claim("c"),
            "status": {
                "allocation": allocation("n1", "gpu-0"),
                "reservedFor": [{"resource": "pods", "name": f"p{n}", "uid": f"u{n}"} for n in range(256)],
            },
        },
        "ResourceClaim 'c' is in use by 256 consumers already",
    ),
}


@pytest.mark.parametrize(("stored", "reason"), PROBLEMS.values(), ids=PROBLEMS)
def test_claim_keeps_pod_from_all_nodes(stored: Object | None, reason: str) -> None:
    """No preemption helps then."""
    cluster = Cluster()
    if stored is not None:
        cluster.picture.claim_objects.put(stored)
    assert cluster.ask(pod("p", "c")) == ([], {}, {"n1": reason, "n2": reason})
    assert [each.problem for each in cluster.refused] == [reason]


def test_claim_has_place_for_one_more() -> None:
    """The limit is 256 pods; one that has a place already needs none."""
    cluster = Cluster()
    for others in (255, 256):
        users = [{"resource": "pods", "name": f"p{n}", "uid": f"u{n}"} for n in range(others)]
        if others == 256:
            users[0]["uid"] = "uid-p"
        status = {"allocation": allocation("n1", "gpu-0"), "reservedFor": users}
        cluster.picture.claim_objects.put({**claim("c", version=others), "status": status})
        assert cluster.ask(pod("p", "c"))[0] == ["n1"]


def test_generated_claim_belongs_to_the_pod() -> None:
    """Not to an earlier pod of the same name."""
    cluster = Cluster()
    asked = pod("p")
    asked["spec"]["resourceClaims"] = [{"name": "x", "resourceClaimTemplateName": "t"}]
    waiting = "waiting for the ResourceClaim of 'x' to be created from its template"
    assert cluster.ask(asked)[2]["n1"] == waiting
    asked["status"] = {"resourceClaimStatuses": [{"name": "x", "resourceClaimName": "p-x"}]}
    for version, owner in enumerate(("uid-other", "uid-p")):
        owners = [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": True}]
        cluster.picture.claim_objects.put(claim("p-x", version=version + 1, ownerReferences=owners))
        fitting, _, beyond = cluster.ask(asked)
        if owner == "uid-p":
            assert fitting == ["n1", "n2"]
        else:
            assert beyond["n1"] == "ResourceClaim 'p-x' was not created for this pod"
    asked["status"] = {"resourceClaimStatuses": [{"name": "x"}]}  # none is needed
    assert cluster.ask(asked)[0] == ["n1", "n2"]


def test_too_many_claims() -> None:
    """The first that is one too many is the last thing that is looked at."""
    cluster = Cluster(gpus=MOST_CLAIMS)
    names = [f"c{number}" for number in range(MOST_CLAIMS)]
    for name in names:
        cluster.picture.claim_objects.put(claim(name))
    assert cluster.ask(pod("p", *names))[0] == ["n1", "n2"]
    reason = f"the pod names more than {MOST_CLAIMS} ResourceClaims"
    assert cluster.ask(pod("q", *names, "more")) == ([], {}, dict.fromkeys(NODES, reason))


def test_allocated_claim_is_where_its_devices_are() -> None:
    cluster = Cluster()
    cluster.picture.claim_objects.put({**claim("c"), "status": {"allocation": allocation("n2", "gpu-0")}})
    away = "resourceclaim not available on the node"
    assert cluster.ask(pod("p", "c")) == (["n2"], {}, {"n1": away})


def test_assumed_allocation_counts() -> None:
    """Until it is forgotten; events that come meanwhile do not change that."""
    cluster = Cluster()
    for name in ("c", "d"):
        cluster.picture.claim_objects.put(claim(name))
    with cluster.picture.lock:
        assumed = cluster.picture.claims.assume("ns/c", "uid-c", allocation("n1", "gpu-0"))
    cluster.picture.claim_objects.put(
        claim("c", version=2, finalizers=["resource.kubernetes.io/delete-protection"])
    )
    assert cluster.ask(pod("q", "d"))[0] == ["n2"]
    with cluster.picture.lock:
        cluster.picture.claims.forget("ns/c", assumed)
    assert cluster.ask(pod("q", "d"))[0] == ["n1", "n2"]


def test_refusal_holds_until_something_helps() -> None:
    """kube-scheduler asks again with nearly every event; only a gain makes the allocator look again."""
    cluster = Cluster()
    for name in ("big", "small", "held"):
        cluster.picture.claim_objects.put(claim(name, count=2 if name == "big" else 1))
    asked = pod("p", "big")
    first = cluster.ask(asked)
    assert first[0] == []
    assert len(cluster.refused) == 1
    held = {**claim("held", version=2), "status": {"allocation": allocation("n1", "gpu-0")}}
    cluster.picture.claim_objects.put(held)
    assert cluster.ask(asked) == first
    assert cluster.ask(asked, ("n2",)) == ([], {"n2": first[1]["n2"]}, {})
    assert len(cluster.refused) == 1
    cluster.picture.claim_objects.put(claim("held", version=3))  # lets go
    cluster.ask(asked)
    assert len(cluster.refused) == 2
    cluster.picture.slices.put(slice_of("n2", 2))
    assert cluster.ask(asked)[0] == ["n2"]


def test_refusal_for_want_of_a_class_holds_until_classes_change() -> None:
    """No device helps: else hundreds of such pods, with 128 claims each, would be looked at again with each device that is released."""
    cluster = Cluster()
    classes = cluster.picture.classes
    gpu = classes.objects["gpu"]
    classes.set("gpu", None)
    cluster.picture.claim_objects.put(claim("c"))
    asked = pod("p", "c")
    first = cluster.ask(asked)
    assert first == ([], {}, dict.fromkeys(NODES, "request g: device class gpu does not exist"))
    cluster.picture.slices.put(slice_of("n2", 2))
    cluster.picture.nodes.put(node("n3"))
    assert cluster.ask(asked) == first
    assert len(cluster.refused) == 1
    classes.set("other", gpu._replace(name="other"))
    assert cluster.ask(asked) == first
    assert len(cluster.refused) == 2
    classes.set("gpu", gpu)
    assert cluster.ask(asked)[0] == ["n1", "n2"]


def test_claims_of_a_pod_are_not_read_again_for_a_refusal_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is enough that they are the same, and can still be used by the pod."""
    cluster = Cluster()
    names = [f"c{number}" for number in range(MOST_CLAIMS)]
    for name in names:
        cluster.picture.claim_objects.put(claim(name))
    asked = pod("p", *names)
    first = cluster.ask(asked)
    with monkeypatch.context() as patched:
        patched.setattr(Claim, "for_a_moment", None)
        assert cluster.ask(asked) == first
    cluster.picture.claim_objects.remove(claim("c0"))
    gone = "waiting for ResourceClaim 'c0', which does not exist"
    assert cluster.ask(asked) == ([], {}, dict.fromkeys(NODES, gone))


class Clock:
    """Shows how often it has been looked at."""

    def __init__(self) -> None:
        self.now = 0.0
        self.looks = Semaphore(0)

    def __call__(self) -> float:
        self.looks.release()
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def filtering(clock: Clock) -> Iterator[tuple[Filter, Decisions]]:
    """A filter that has found a node for a pod `p`, whose bind has not come."""
    cluster, decisions = Cluster(), Decisions(clock)
    for name in ("c", "d"):
        cluster.picture.claim_objects.put(claim(name))
    found = Filter(cluster.picture, decisions, seconds=5.0)
    found.answer(CandidateNodes(pod("p", "c"), NODES))
    assert clock.looks.acquire(blocking=False)
    yield found, decisions
    decisions.clear()


@pytest.mark.parametrize("ends", ["bound", "late", "lost"])
def test_filter_waits_for_a_bind_that_is_on_its_way(
    clock: Clock, filtering: tuple[Filter, Decisions], ends: str
) -> None:
    """Until it has come, and no longer than that may take, nor when another replica leads."""
    found, decisions = filtering
    asking = Thread(target=found.answer, args=[CandidateNodes(pod("q", "d"), NODES)], daemon=True)
    asking.start()
    for _ in range(2):
        assert clock.looks.acquire(timeout=30)
    assert decisions.get("uid-q") is None
    if ends == "bound":
        decisions.ended("uid-p")
    elif ends == "late":
        clock.now = 1.0
    else:
        decisions.clear()
    asking.join(30)
    assert decisions.get("uid-q") is not None


def test_filter_does_not_wait_for_the_pod_itself(filtering: tuple[Filter, Decisions]) -> None:
    """kube-scheduler has given up on its bind if it asks about it again."""
    found, decisions = filtering
    assert found.answer(CandidateNodes(pod("p", "c"), NODES)).fitting
    decisions.ended("uid-p")
    assert found.answer(CandidateNodes(pod("q", "d"), NODES)).fitting


def test_oldest_decisions_are_dropped() -> None:
    """Those that were made anew last stay."""
    cluster = Cluster()
    cluster.picture.claim_objects.put(claim("c"))
    for name in ("p", "q", "p", "r"):
        cluster.filter.answer(CandidateNodes(pod(name, "c"), NODES))
        cluster.decisions.ended(f"uid-{name}")
        if name == "q":
            cluster.decisions._decisions.most_bytes = cluster.decisions._decisions.bytes
    assert [name for name in "pqr" if cluster.decisions.get(f"uid-{name}")] == ["p", "r"]
    assert len(cluster.decisions) == 2


def test_decisions_and_refusals_are_weighed() -> None:
    """By their memory, within a factor of three, and for the namespace of the pod."""
    names = [f"n{place}" for place in range(500)]
    cluster = Cluster()
    for name in names:
        cluster.picture.nodes.put(node(name))
        cluster.picture.slices.put(slice_of(name, 2))
    for each in (claim("c"), claim("d", count=3)):
        cluster.picture.claim_objects.put(each)
        cluster.filter.answer(CandidateNodes(pod("first", each["metadata"]["name"]), names))
    cluster.decisions.clear()
    cluster.filter._refusals.begin(-1)
    cluster.refused.clear()
    for kept, asked in (
        (cluster.decisions._decisions, "c"),
        (cluster.filter._refusals._refusals, "d"),
    ):
        tracemalloc.start()
        cluster.filter._refusals.begin(0)
        for place in range(10):
            uid = f"{asked}-{place}"
            cluster.filter.answer(CandidateNodes(pod(uid, asked), json.loads(json.dumps(names))))
            cluster.decisions.ended(f"uid-{uid}")
            cluster.refused.clear()
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert len(kept) == 10
        assert taken / 3 < kept.bytes < taken * 3
        assert set(kept._bytes_of) == {"ns"}


def test_oldest_refusals_are_dropped() -> None:
    """The allocator looks again for a pod whose refusal is not remembered."""
    cluster = Cluster()
    cluster.picture.claim_objects.put(claim("c", count=2))
    for name in ("p", "q", "r", "r", "q"):
        cluster.ask(pod(name, "c"))
        if name == "q":
            refusals = cluster.filter._refusals._refusals
            refusals.most_bytes = refusals.bytes
    assert [each.pod.name for each in cluster.refused] == ["p", "q", "r"]
    cluster.ask(pod("p", "c"))
    assert [each.pod.name for each in cluster.refused] == ["p", "q", "r", "p"]


def test_decisions_weigh_what_they_keep_of_claims() -> None:
    """But the parameters that their devices get, which are weighed: claims may be deleted before their pod is bound."""
    cluster = Cluster(gpus=20)
    names = [f"c{place}" for place in range(4)]

    def decide(serial: int) -> None:
        made = []
        for name in names:
            config = [
                {
                    "opaque": {
                        "driver": "x.example.com",
                        "parameters": {"a": f"{serial}{name}{place}" + "x" * 10_000},
                    }
                }
                for place in range(8)
            ]
            made.append(claim(name, version=serial + 1, uid=f"{name}-{serial}"))
            made[-1]["spec"]["devices"]["config"] = config
            cluster.picture.claim_objects.put(made[-1])
        verdicts = cluster.filter.answer(CandidateNodes(pod(f"p{serial}", *names), ["n1"]))
        assert verdicts.fitting == ["n1"]
        cluster.decisions.ended(f"uid-p{serial}")  # nobody waits for it
        for each in made:
            cluster.picture.claim_objects.remove(each)

    decide(0)
    tracemalloc.start()
    for serial in range(1, 11):
        decide(serial)
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(cluster.decisions) == 11
    assert taken < 3 * cluster.decisions._decisions.bytes


@pytest.mark.parametrize(("count", "kept"), [(1, "decisions"), (5, "filter._refusals._refusals")])
def test_what_was_found_for_a_pod_ends_with_it(count: int, kept: str) -> None:
    cluster = Cluster()
    cluster.picture.claim_objects.put(claim("c", count=count))
    asked = pod("p", "c")
    cluster.picture.pods.put(asked)
    cluster.filter.answer(CandidateNodes(asked, ["n1"]))
    assert len(attrgetter(kept)(cluster)) == 1
    cluster.picture.pods.remove(asked)
    assert len(attrgetter(kept)(cluster)) == 0


def test_few_claims_of_refused_pods_are_kept() -> None:
    cluster = Cluster()
    cluster.filter.answer(CandidateNodes(pod("p", *(f"c{place}" for place in range(1000))), ["n1"]))
    assert len(cluster.refused[0].pod.claims) == MOST_CLAIMS + 1


def test_time_is_looked_at_for_each_device_whose_waste_is_weighed() -> None:
    """256 devices that draw from 32 counters in 8 sizes took 2.9 s, twice as many four times as long."""
    picture = ClusterPicture(Profile("1.37", {}))
    picture.nodes.put(node("n1"))
    picture.classes.put(
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}}
    )
    devices = [
        {
            "name": f"d{size}-{place}",
            "consumesCounters": [{"counterSet": "s", "counters": {f"c{place}": {"value": str(size)}}}],
        }
        for size in range(1, 9)
        for place in range(32)
    ]
    counters = {f"c{place}": {"value": "1000000"} for place in range(32)}
    parts: list[Object] = [{"devices": devices[begin : begin + 64]} for begin in range(0, len(devices), 64)]
    parts.append({"sharedCounters": [{"name": "s", "counters": counters}]})
    for place, part in enumerate(parts):
        made = slice_of("n1", 0)
        made["metadata"]["name"] = f"n1-{place}"
        made["spec"] = {**made["spec"], **part}
        if "sharedCounters" in part:
            del made["spec"]["devices"]
        made["spec"]["pool"]["resourceSliceCount"] = len(parts)
        picture.slices.put(made)
    picture.warm_up()
    picture.claim_objects.put(claim("c"))
    asked = [picture.claim_objects.objects["ns/c"]]
    begin = thread_time()
    answer = picture.state.filter(asked, TimeLimit(0.2), best_fit=True)
    assert thread_time() - begin < 0.6
    assert answer.nodes[0].fits
