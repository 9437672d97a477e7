"""The pods of PodGroups: who gets which devices, and for whom claims are reserved, as in `data/pod_groups.yaml`."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from allocator.expansion import Template
from allocator.packing import pack
from allocator.simulation import UNHURRIED
from allocator.time_limit import UNLIMITED
from claimcheck import Cluster, FakeCluster, Unschedulable, explain
from claimcheck.answers.gangs import gang_answers
from claimcheck.answers.simulate import simulate
from claimcheck.inputs import values_in
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation
from resourceapi.records.nodes import read_node
from tests.claimcheck.pod_group_cases import DEVICE_CLASS, DRIVER, GATES, Case, Outcome, cases


def outcome(case: Case) -> Outcome:
    """What `simulate` says of a case."""
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster()], feature_gates=GATES)
    scenario = cluster.scenario(list(values_in(list(case.objects()), cluster.profile)))
    report = simulate(scenario, ["kube-scheduler"], batch=False, templates=(), limits=UNHURRIED)
    placements = {each.pod: each for each in report.runs[0].placements}
    bound: dict[str, int] = {}
    got: dict[str, dict[str, Any]] = {}
    says: dict[str, str] = {}
    for workload in scenario.workloads:
        placement = placements.get(workload.title)
        if placement is not None and not placement.node:
            says[workload.name] = placement.reason
        if placement is None or not placement.node or workload.kind != "Pod":
            continue
        name = workload.name.rpartition("-")[0]
        bound[name] = bound.get(name, 0) + 1
        for claim in workload.claims:
            consumer = workload.consumer(claim.key, workload.name)
            entry = next(
                (each.entry for each in workload.pod.claims if claim.name.endswith(f"-{each.entry}")), ""
            )
            shown = f"{consumer.name}/{entry}" if claim.key in workload.templates else claim.name
            its = got.setdefault(shown, {"devices": 0, "for": []})
            its["for"] = sorted({*its["for"], f"{consumer.resource} {consumer.name}"})
            if claim.key in placement.results:
                its["devices"] = len(Allocation(placement.results[claim.key]).results)
    return Outcome(bound, got, says)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_outcome(case: Case) -> None:
    """The pods that kube-scheduler binds are placed, with the devices that it gives to their claims."""
    assert case.seen(outcome(case)) == case.expected


def test_claims_of_a_group_are_found_again() -> None:
    """The claim that has been made for a group is that of its next pod, which it need not be reserved for."""
    case = next(each for each in cases() if str(each).startswith("a claim that the group makes"))
    *others, first, second, _, _ = case.objects()
    cluster = FakeCluster.from_objects([DEVICE_CLASS, *case.cluster(), *others], feature_gates=GATES)
    before, after = cluster.schedule(first), cluster.schedule(second)
    assert before.claims == after.claims
    (status,) = after.claims.values()
    assert status["reservedFor"] == [
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": ""}
    ]


def _sharing_cpus(least: int) -> tuple[Object, list[Object], list[Object]]:
    """The claim of a group that stands for CPUs of a node, the cluster with it, and two pods of the group."""
    case = Case(
        0,
        {
            "nodes": {"n": 1},
            "claims": {"cpus": 1},
            "groups": {"g": {"minCount": least, "claims": {"s": {"claim": "cpus"}}}},
            "pods": [{"name": "pod", "count": 2, "group": "g", "claims": {"s": {"claim": "cpus"}}}],
        },
    )
    node, devices = case.cluster()
    node["status"]["declaredFeatures"] = ["DRANodeAllocatableResources"]
    for each in devices["spec"]["devices"]:
        each["nodeAllocatableResources"] = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}
    claim, group, *pods = case.objects()
    return claim, [DEVICE_CLASS, node, devices, group], pods


CPUS = {**GATES, "DRANodeAllocatableResources": True}


@pytest.mark.parametrize(("least", "placed"), [(1, 2), (2, 0)])
def test_group_that_shares_cpus(least: int, placed: int) -> None:
    """kube-scheduler refuses the second pod until the claim is reserved for the group; a gang never comes that far."""
    claim, others, pods = _sharing_cpus(least)
    cluster = Cluster.from_objects([claim, *others], feature_gates=CPUS)
    scenario = cluster.scenario(list(values_in(pods, cluster.profile)))
    report = simulate(scenario, ["kube-scheduler"], batch=False, templates=(), limits=UNHURRIED)
    assert report.runs[0].placed == placed


@pytest.mark.parametrize(("group", "fits"), [("g", True), ("other", False)])
def test_cpus_that_are_reserved_for_a_group(group: str, fits: bool) -> None:
    """Its pods use them, whatever its UID; those of another one do not."""
    claim, others, (pod, _) = _sharing_cpus(1)
    result = {"request": "gpu", "driver": DRIVER, "pool": "case-0-n", "device": "d0"}
    user = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": group, "uid": "u"}
    claim["status"] = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
    told = explain(pod, Cluster.from_objects([claim, *others], feature_gates=CPUS))
    assert told.fits is fits, told


def test_without_its_gate_a_group_has_no_claims() -> None:
    """Servers drop the claims of groups, so that each pod has one of its own; that is said."""
    case = next(each for each in cases() if str(each).startswith("a claim that the group makes"))
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster()], feature_gates={"GenericWorkload": True})
    scenario = cluster.scenario(list(values_in(list(case.objects()), cluster.profile)))
    report = simulate(scenario, ["kube-scheduler"], batch=False, templates=(), limits=UNHURRIED)
    assert report.runs[0].placed == 2
    said = f"Pods share no claims of PodGroup {case.namespace}/g: the feature gate DRAWorkloadResourceClaims is off."
    assert said in report.checked


def test_a_group_that_does_not_exist() -> None:
    """Its pods wait, and the name that was probably meant is said."""
    case = next(each for each in cases() if str(each).startswith("pods of a group that does not exist"))
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "spec": {}}
    meant = {**group, "metadata": {"name": "mising", "namespace": case.namespace}}
    cluster = FakeCluster.from_objects([DEVICE_CLASS, *case.cluster(), meant], feature_gates=GATES)
    with pytest.raises(Unschedulable) as raised:
        cluster.schedule(list(case.objects()))
    said = f"waits for PodGroup {case.namespace}/missing, which does not exist in the objects or the cluster; did you mean mising?"
    assert str(raised.value) == f"Pod {case.namespace}/pod-0: {said}"


def test_what_keeps_a_gang_from_fitting() -> None:
    """A pod that does not fit is explained beside the pods of its gang that would."""
    case = next(each for each in cases() if str(each) == "too few pods of a gang fit")
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster()], feature_gates=GATES)
    scenario = cluster.scenario(list(values_in(list(case.objects()), cluster.profile)))
    report = simulate(scenario, ["kube-scheduler"], batch=False, templates=(), limits=UNHURRIED)
    fitting, misfit = report.unplaced
    assert (fitting.said, fitting.explained) == (case.expected.says["pod-0"], None)
    assert misfit.pods == [f"Pod {case.namespace}/pod-2"]
    assert misfit.explained is not None
    assert misfit.explained.explanation is not None
    users = misfit.explained.explanation.claim_users.values()
    assert sorted(pod for each in users for pod in each.pods) == [f"{case.namespace}/pod-{n}" for n in (0, 1)]


def test_new_nodes_are_for_whole_gangs() -> None:
    """Where new nodes serve too few pods of a gang, they place none of it."""
    case = next(each for each in cases() if str(each) == "too few pods of a gang fit")
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster()], feature_gates=GATES)
    value, slice = case.cluster()
    node = read_node(value)
    assert node is not None
    templates = [Template(node, (slice,))]
    misfit = {"kubernetes.io/hostname": "elsewhere"}
    outcomes = []
    for lost in (False, True):
        *others, last = case.objects()
        if lost:
            last["spec"]["nodeSelector"] = misfit
        scenario = cluster.scenario(list(values_in([*others, last], cluster.profile)))
        report = simulate(scenario, ["kube-scheduler"], batch=False, templates=templates, limits=UNHURRIED)
        assert report.expansion is not None
        (option,) = report.expansion.options
        outcomes.append((option.total, len(option.left)))
    assert outcomes == [(1, 0), (0, 3)]


def test_pods_that_wait_in_the_cluster_are_of_the_gang() -> None:
    """Of a gang, those count that wait in the cluster, though only one pod is asked about."""
    case = next(each for each in cases() if str(each) == "too few pods of a gang fit")
    *others, asked = case.objects()
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster(), *others], feature_gates=GATES)
    found = explain(asked, cluster)
    assert (found.verdict, found.reason) == (
        "does not fit",
        "0/1 nodes are available: 1 cannot allocate all claims.",
    )
    alone = Cluster.from_objects([DEVICE_CLASS, *case.cluster(), *others[:-1]], feature_gates=GATES)
    assert explain(asked, alone).reason == (
        f"waits for 3 pods of PodGroup {case.namespace}/g (minCount), of which there are 2"
    )


@pytest.mark.parametrize(
    ("name", "placed"),
    [("too few pods of a gang fit", 0), ("of a gang that needs two, two are bound, and the third waits", 2)],
)
def test_no_order_tears_gangs_apart(name: str, placed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the order in which pods are tried for that which places most, a gang is placed with enough pods or not at all."""
    monkeypatch.setattr("claimcheck.answers.simulate.pack", partial(pack, rounds=20))
    case = next(each for each in cases() if str(each) == name)
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster()], feature_gates=GATES)
    scenario = cluster.scenario(list(values_in(list(case.objects()), cluster.profile)))
    report = simulate(scenario, ["kube-scheduler"], batch=True, templates=(), limits=UNHURRIED)
    assert [each.placed for each in report.runs] == [placed, placed]


def test_the_oldest_pods_are_tried_first() -> None:
    """Of pods that wait in the cluster, kube-scheduler tries the oldest first, whichever is asked about."""
    case = next(each for each in cases() if str(each) == "too few pods of a gang fit")
    *others, last = case.objects()
    for number, pod in enumerate(each for each in others if each["kind"] == "Pod"):
        pod["metadata"]["creationTimestamp"] = f"2026-01-01T00:00:0{9 - number}Z"
    cluster = Cluster.from_objects([DEVICE_CLASS, *case.cluster(), *others[:-2]], feature_gates=GATES)
    scenario = cluster.scenario(list(values_in([last, *others[-2:]], cluster.profile)))
    gang = gang_answers(scenario, UNLIMITED)[f"{case.namespace}/g"]
    assert [each.pod for each in gang.placements] == [f"Pod {case.namespace}/pod-{n}" for n in (1, 0, 2)]


@pytest.mark.parametrize(
    ("min_count", "known", "said"),
    [
        (
            2_000_000_000,
            0,
            "2000000000 pods of PodGroup default/train (minCount), of which there are 10000",
        ),
        (9_000, 20, "only 20 of its 9,000 pods (minCount) are tried"),
    ],
)
def test_huge_gangs(min_count: int, known: int, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pods are not made where too few are named, and no more than there is room for: a file of 10 KB took gigabytes."""
    monkeypatch.setattr("claimcheck.answers.tried.MAX_OBJECTS", 4_020)
    claims = [{"name": f"c{number}", "resourceClaimTemplateName": "one"} for number in range(200)]
    pod = {
        "schedulingGroup": {"podGroupName": "train"},
        "restartPolicy": "Never",
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": claims,
    }
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "one"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "train"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": min_count}}},
        },
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "w"},
            "spec": {"parallelism": 10_000, "template": {"spec": pod}},
        },
    ]
    cluster = Cluster.from_objects([DEVICE_CLASS, *cases()[0].cluster()], feature_gates=GATES)
    gang = gang_answers(cluster.scenario(list(values_in(objects, cluster.profile))), UNLIMITED)[
        "default/train"
    ]
    assert (gang.known, len(gang.tried)) == (10_000, known)
    assert said in {gang.waits, *(each.error for each in gang.placements)}
    assert gang.is_undecided == (not gang.waits)
