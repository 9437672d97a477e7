"""Why a pod waits is told in the same words by `simulate`, `explain` and the event of `claimcheck schedule`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

import claimcheck
from allocator.simulation import UNHURRIED
from claimcheck import FakeCluster, Unschedulable
from claimcheck.answers.explain import explain_all
from claimcheck.answers.simulate import simulate
from claimcheck.inputs import values_in
from claimcheck.placements import AllocatedDevice
from cluster.group_snapshots import InConfiguration
from commandline.simulate import json_report
from resourceapi import deep_json
from resourceapi.encoding import encode
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.extender_api import CandidateNodes
from scheduler.filtering import Filter, Refused
from scheduler.refusal_notes import case_of, note_on
from tests.claimcheck.first_lines import FirstLine, begins, first_lines, for_events
from tests.claimcheck.random_inventories import GATES, Inventory, Json, inventory

ON = dict.fromkeys(GATES, True)
#: The inventories of each test, and of how many of their pods it compares what is said at least.
EACH, LEAST = 10, 20
#: More than any machine needs.
SECONDS = 1e6


class Used(NamedTuple):
    """A cluster in which no more pods fit.

    :param first: the node and devices of each pod that was placed before others were tried again.
    :param waiting: the pods that are left, and the claims that only they use.
    """

    cluster: FakeCluster
    first: dict[str, tuple[str, frozenset[AllocatedDevice]]]
    objects: list[Json]
    waiting: list[Json]
    claims: list[Json]


def used(found: Inventory) -> Used:
    """Schedule the pods of an inventory one after the other, and those that are left again.

    A node whose error failed attempts may have no CPU left now, so that nobody looks at its devices.
    """
    cluster = FakeCluster.from_objects(found.cluster, feature_gates=ON)
    claims = {_name(each): each for each in found.claims}
    for name, claim in claims.items():
        claim["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": "1"}
    known: set[str] = set()
    first: dict[str, tuple[str, frozenset[AllocatedDevice]]] = {}
    running: list[Json] = []
    waiting, left = found.pods, -1
    while len(waiting) != left:
        left, trying, waiting = len(waiting), waiting, []
        again = bool(running)
        for pod in trying:
            new = sorted(set(_claims_of(pod)) - known)
            try:
                scheduled = cluster.schedule([*(claims[each] for each in new), pod])
            except Unschedulable:
                waiting.append(pod)
                continue
            if not again:
                own = frozenset(each for each in scheduled.devices if each.claim in new)
                first[_name(pod)] = scheduled.node, own
            known.update(new)
            running.append({**pod, "spec": {**pod["spec"], "nodeName": scheduled.node}})
            for name, status in scheduled.claims.items():
                claims[name] = {**claims[name], "status": _stored(status, claims[name])}
    objects = [*found.cluster, *claims.values(), *running, *waiting]
    return Used(cluster, first, objects, waiting, [claims[each] for each in claims if each not in known])


def _stored(status: Mapping[str, Any], claim: Json) -> Json:
    """A status as an API server has it that keeps no compatibility groups in results."""
    allocation = InConfiguration().with_snapshot(status["allocation"], claim["metadata"]["uid"])
    made = encode(SCHEMAS_WITH_PROPOSALS["v1"], "ResourceClaim", {"status": {"allocation": allocation}})
    return {**json.loads(deep_json.dumps(made["status"])), "reservedFor": list(status["reservedFor"])}


def _name(obj: Json) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"


def _claims_of(pod: Json) -> Iterator[str]:
    for each in pod["spec"]["resourceClaims"]:
        yield f"{pod['metadata']['namespace']}/{each['resourceClaimName']}"


class Sidecar:
    """`claimcheck schedule` in a cluster."""

    def __init__(self, found: Used) -> None:
        self._picture = picture = ClusterPicture(found.cluster.profile)
        put: dict[str, Callable[[Json], object]] = {
            "Node": picture.nodes.put,
            "ResourceSlice": picture.slices.put,
            "DeviceClass": picture.classes.put,
            "DeviceTaintRule": picture.rules.put,
            "ResourceSlicePatch": picture.patches.put,
            "ResourceClaim": picture.claim_objects.put,
            "Pod": picture.pods.put,
        }
        for each in found.objects:
            put[each["kind"]](json.loads(json.dumps(each)))
        while not picture.is_settled:
            picture.settle_some()

    def event(self, pod: Json, nodes: list[str]) -> str:
        """What it says of a pod that kube-scheduler asks about; nothing if it fits."""
        refused: list[Refused] = []
        extender = Filter(
            self._picture, Decisions(clock=lambda: 0.0), seconds=SECONDS, refused=refused.append
        )
        if extender.answer(CandidateNodes(pod, nodes)).fitting:
            return ""
        return note_on(case_of(refused[-1]), self._picture, SECONDS)


def explained_by(found: Used) -> Iterator[FirstLine]:
    """The first line of `explain` for each pod that waits."""
    scenario = found.cluster.scenario(list(values_in([*found.claims, *found.waiting], found.cluster.profile)))
    return first_lines(explain_all(scenario))


def simulated(found: Used) -> dict[str, str]:
    """Why `simulate` leaves each pod."""
    scenario = found.cluster.scenario(list(values_in([*found.claims, *found.waiting], found.cluster.profile)))
    report = simulate(scenario, ["kube-scheduler"], batch=False, templates=(), limits=UNHURRIED)
    groups = json_report.document(report)["unplaced"]
    return {pod.removeprefix("Pod "): each["causes"][0] for each in groups for pod in each["pods"]}


@pytest.mark.parametrize("start", [0, 10, 20, 60], ids=lambda start: f"inventories {start} and more")
def test_same_words_and_same_devices(start: int) -> None:
    """On random clusters."""
    told = 0
    for seed in range(start, start + EACH):
        found = used(inventory(seed))
        check_placements(inventory(seed), found)
        if not found.waiting:
            continue
        reasons, sidecar = simulated(found), Sidecar(found)
        pods = {_name(each): each for each in found.waiting}
        for first in explained_by(found):
            line, explained = first
            name = explained.workload.full_name
            assert reasons[name] == line, seed
            assert explained.explanation is not None
            nodes = [each.node for each in explained.explanation.answers]
            if not nodes:
                continue  # kube-scheduler has rejected all, and asks about none
            event = sidecar.event(pods[name], nodes)
            assert begins(event, for_events(first)), (seed, name, line, event)
            told += 1
    assert told >= LEAST


def check_placements(found: Inventory, afterwards: Used) -> None:
    """`simulate` places all pods of an inventory as they are placed one by one."""
    cluster = FakeCluster.from_objects(found.cluster, feature_gates=ON)
    placements = claimcheck.simulate([*found.claims, *found.pods], cluster, timeout=SECONDS).placed
    assert {
        each.pod.removeprefix("Pod "): (each.node, frozenset(each.devices)) for each in placements
    } == afterwards.first
