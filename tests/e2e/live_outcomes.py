"""Lets a real kube-scheduler place the pods of random clusters, and asks `explain`, `simulate` and FakeCluster about them before.

python -m tests.e2e.live_outcomes --seed 7 --count 50

The clusters are side by side in one control plane, kept apart by labels of their nodes. Of each, a pod or a gang comes after
the other; what waits is taken away again.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from allocator.explaining.explanation import FITS
from allocator.simulation import Limits, Placement
from allocator.time_limit import UNLIMITED
from claimcheck import Cluster, FakeCluster
from claimcheck.answers.explain import explain_all
from claimcheck.answers.simulate import simulate
from claimcheck.inputs import values_in
from resourceapi.manifests import name_of
from resourceapi.records.claims import Allocation
from tests.claimcheck.outcome_objects import NAMESPACE, Object
from tests.claimcheck.random_outcomes import GATES, RandomCase, pods_in, random_case
from tests.claimcheck.test_outcomes import scheduled
from tests.e2e.asked_outcomes import CLAIMS, PODS, all_of, make, outcome_of, server_with
from tests.e2e.client import Client
from tests.e2e.scheduled import settle, state_of

ON = dict.fromkeys(GATES, True)
STEADY, PATIENCE = 4.0, 90.0
_RESOURCE = "/apis/resource.k8s.io/v1"
_PATHS = {
    "Node": "/api/v1/nodes",
    "ResourceSlice": f"{_RESOURCE}/resourceslices",
    "DeviceClass": f"{_RESOURCE}/deviceclasses",
    "DeviceTaintRule": f"{_RESOURCE}/devicetaintrules",
    "ResourceClaimTemplate": f"{_RESOURCE}/namespaces/{NAMESPACE}/resourceclaimtemplates",
    "ResourceClaim": CLAIMS,
    "PodGroup": f"/apis/scheduling.k8s.io/v1beta1/namespaces/{NAMESPACE}/podgroups",
    "Pod": PODS,
}
#: kube-scheduler 1.37.1 writes no status of a pod whose extended resources are devices that stand for CPU or memory, which the
#: API server takes (docs/known-differences.md).
_NEVER_BOUND = (
    'status.nodeAllocatableResourceClaimStatuses[0].resourceClaimName: Invalid value: "<extended-resources>"'
)
_VERSIONS = {"Node": "v1", "Pod": "v1", "PodGroup": "scheduling.k8s.io/v1beta1"}


class Difference(NamedTuple):
    """What kube-scheduler has made of a unit, and what was said before."""

    unit: str
    what: str
    theirs: object
    ours: object


class Hunt:
    """Random clusters at one server."""

    def __init__(self, client: Client) -> None:
        self.counted: Counter[str] = Counter()
        self._client = client

    def differences(self, cases: Sequence[RandomCase]) -> Iterator[Difference]:
        """All that is not as it was said."""
        uids: dict[str, str] = {}
        for case in cases:
            for each in case.objects:
                make(self._client, each, uids)
        settle(self._client)
        for turn in range(max(len(case.units) for case in cases)):
            coming = [(case, case.units[turn]) for case in cases if turn < len(case.units)]
            there = self._there()
            before = {case.name: there[case.name] for case, _ in coming}
            for _, unit in coming:
                for each in unit:
                    make(self._client, each, uids)
            self._wait(coming)
            after = self._there()
            for case, unit in coming:
                yield from self._compared(case, unit, before[case.name], after[case.name])
            self._take_away(coming)

    def _there(self) -> dict[str, list[Object]]:
        """The objects of each case as they are now."""
        found: dict[str, list[Object]] = {}
        for kind, path in _PATHS.items():
            for each in all_of(self._client, path):
                version = _VERSIONS.get(kind, "resource.k8s.io/v1")
                name = name_of(each).partition("-")[0]
                found.setdefault(name, []).append({**each, "apiVersion": version, "kind": kind})
        return found

    def _wait(self, coming: Sequence[tuple[RandomCase, list[Object]]]) -> None:
        """Until something is known of every pod, and nothing changes any more."""
        names = {name_of(pod) for _, unit in coming for pod in pods_in(unit)}
        deadline, since, last = time.monotonic() + PATIENCE, time.monotonic(), object()
        while time.monotonic() < deadline:
            pods = {name_of(each): each for each in all_of(self._client, PODS)}
            found = {name: state_of(pods[name])[:2] for name in names if name in pods}
            said = [name for name in names if name in pods and _said(pods[name])]
            now = time.monotonic()
            current = (found, sorted(pods), len(said))
            if current != last:
                since, last = now, current
            patience = STEADY if len(said) == len(names) else 4 * STEADY
            if now > since + patience:
                return
            time.sleep(0.5)

    def _take_away(self, coming: Sequence[tuple[RandomCase, list[Object]]]) -> None:
        """Delete what waits, so that it does not come in between."""
        pods = {name_of(each): each for each in all_of(self._client, PODS)}
        for _, unit in coming:
            for pod in pods_in(unit):
                there = pods.get(name_of(pod))
                if there is not None and not there["spec"].get("nodeName"):
                    self._client.ask("DELETE", f"{PODS}/{name_of(pod)}")
        time.sleep(0.5)

    # --- comparison

    def _compared(
        self, case: RandomCase, unit: list[Object], before: list[Object], after: list[Object]
    ) -> Iterator[Difference]:
        pods = {name_of(each): each for each in after if each["kind"] == "Pod"}
        new = {name_of(each) for each in pods_in(unit)}
        gone = sorted(
            name_of(each).removeprefix(f"{case.name}-")
            for each in before
            if each["kind"] == "Pod" and name_of(each) not in pods and name_of(each) not in new
        )
        before = [each for each in before if not _is_superfluous(each)]
        if unit[0]["kind"] == "PodGroup":
            yield from self._of_gang(case, unit, before, pods, gone, after)
        else:
            yield from self._of_pod(case, unit[0], before, pods, gone, after)

    def _of_pod(
        self,
        case: RandomCase,
        pod: Object,
        before: list[Object],
        pods: dict[str, Object],
        gone: list[str],
        after: list[Object],
    ) -> Iterator[Difference]:
        there = pods[name_of(pod)]
        claims = {name_of(each): each for each in after if each["kind"] == "ResourceClaim"}
        theirs = outcome_of(case, there, claims)  # type: ignore[arg-type]
        ours = self._ours(case, pod, before)
        node = there["spec"].get("nodeName", "")
        if gone:
            self.counted["pods that preempt"] += 1
            if self._alike(case, ours.get("evicts", ()), before) != self._alike(case, gone, before):
                yield Difference(name_of(pod), "evicts", (gone, theirs), ours)
            return
        if ours.get("evicts"):
            yield Difference(name_of(pod), "evicts", theirs, ours)
            return
        if node:
            self.counted["pods bound"] += 1
            if "node" in ours and theirs["node"] != ours["node"]:
                if node not in self._equal(pod, before):
                    yield Difference(name_of(pod), "node", theirs, ours)
                    return
                self.counted["pods on an equal node"] += 1
                ours = self._ours(case, _pinned(pod, node), before)
        else:
            self.counted["pods refused"] += 1
        if _NEVER_BOUND in theirs.get("says", ""):
            self.counted["pods that kube-scheduler never binds"] += 1
            if not ours.get("takes"):
                yield Difference(name_of(pod), "never bound", theirs, ours)
            return
        if _unnamed(theirs) != _unnamed(ours) and not _is_same_refusal(theirs, ours):
            yield Difference(name_of(pod), "outcome", theirs, ours)

    def _alike(
        self, case: RandomCase, names: Sequence[str], before: list[Object]
    ) -> list[tuple[object, ...]]:
        """What kube-scheduler tells pods apart by when it chooses among them: none of them has been started."""
        pods = {name_of(each): each["spec"] for each in before if each["kind"] == "Pod"}
        specs = [pods[f"{case.name}-{name}"] for name in names]
        return sorted(
            (
                each.get("priority", 0),
                each["nodeName"],
                str(each["containers"][0]["resources"].get("requests")),
            )
            for each in specs
        )

    def _ours(self, case: RandomCase, pod: Object, before: list[Object]) -> Object:
        cluster = FakeCluster.from_objects(before, kube_version="1.37", feature_gates=ON)
        return scheduled(case, cluster, pod)  # type: ignore[arg-type]

    def _equal(self, pod: Object, before: list[Object]) -> Sequence[str]:
        return self._placements([pod], before)[0].equal

    def _placements(self, unit: list[Object], before: list[Object]) -> Sequence[Placement]:
        cluster = Cluster.from_objects(before, kube_version="1.37", feature_gates=ON)
        scenario = cluster.scenario(list(values_in(unit, cluster.profile)))
        report = simulate(scenario, ["kube-scheduler"], batch=False, templates=(), limits=Limits(UNLIMITED))
        return report.runs[0].placements

    def _of_gang(
        self,
        case: RandomCase,
        unit: list[Object],
        before: list[Object],
        pods: dict[str, Object],
        gone: list[str],
        after: list[Object],
    ) -> Iterator[Difference]:
        name = name_of(unit[0])
        if gone:
            yield Difference(name, "evicts", gone, "")
        cluster = Cluster.from_objects(before, kube_version="1.37", feature_gates=ON)
        scenario = cluster.scenario(list(values_in(unit, cluster.profile)))
        explained = explain_all(scenario).explained
        ours = self._placements(unit, before)
        nodes = {name_of(each): pods[name_of(each)]["spec"].get("nodeName", "") for each in pods_in(unit)}
        bound, said = sum(map(bool, nodes.values())), sum(bool(each.node) for each in ours)
        verdicts = [each.verdict for each in explained]
        # a group that needs one pod is no gang: its pods are explained by themselves
        fits = {each.gang.fits for each in explained if each.gang is not None} or {FITS in verdicts}
        self.counted["gangs bound" if bound else "gangs refused"] += 1
        if bound != said or fits != {bool(bound)}:
            first = state_of(pods[name_of(unit[1])]).message
            yield Difference(name, "bound", (bound, nodes, first), (said, verdicts, [*map(_short, ours)]))
            return
        if not bound:
            return
        # where they are the scheduler may choose; what they get there it may not
        pinned = [
            unit[0],
            *(_pinned(each, nodes[name_of(each)]) for each in pods_in(unit) if nodes[name_of(each)]),
        ]
        there = self._placements(pinned, before)
        expected = Counter(_device(each) for placed in there for each in _results(placed.results.values()))
        new = {name_of(each) for each in before if each["kind"] == "ResourceClaim" and _has(each)}
        got = Counter(
            _device(each)
            for claim in after
            if claim["kind"] == "ResourceClaim" and _has(claim) and name_of(claim) not in new
            for each in _results([claim["status"]["allocation"]])
        )
        if sum(bool(each.node) for each in there) != bound or got != expected:
            yield Difference(name, "devices", (nodes, got), [*map(_short, there)])


def _said(pod: Object) -> bool:
    return bool(pod["spec"].get("nodeName")) or any(
        each["type"] == "PodScheduled" and each["status"] == "False"
        for each in pod["status"].get("conditions") or ()
    )


def _has(claim: Object) -> bool:
    return bool((claim.get("status") or {}).get("allocation"))


def _results(allocations: Any) -> list[Any]:
    return [each for allocation in allocations for each in Allocation(allocation).results]


def _device(result: Any) -> tuple[str, ...]:
    return (result.request, *result.device)


def _short(placement: Placement) -> object:
    return placement.node, placement.error or placement.reason


def _is_superfluous(each: Object) -> bool:
    """Whether it is a claim of a pod that is gone, which nobody collects."""
    return (
        each["kind"] == "ResourceClaim" and bool(each["metadata"].get("ownerReferences")) and not _has(each)
    )


def _unnamed(outcome: Object) -> Object:
    """An outcome without the names of claims that have been made from templates."""
    if "takes" not in outcome:
        return outcome
    return {**outcome, "takes": [{**each, "resourceClaimName": ""} for each in outcome["takes"]]}


def _is_same_refusal(theirs: Object, ours: Object) -> bool:
    """Whether the second says the same but for the names of claims that are still to be made, perhaps with advice."""
    said, answer = (
        re.sub(r"claim default/[^ ,:]*", "claim", each.get("says", "")) for each in (theirs, ours)
    )
    return bool(said) and (answer == said or answer.startswith(f"{said} ("))


def _pinned(pod: Object, node: str) -> Object:
    """A pod that may go nowhere else."""
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [here]}}
    return {**pod, "spec": {**pod["spec"], "affinity": {"nodeAffinity": required}}}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.e2e.live_outcomes", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=20, metavar="N", help="clusters")
    options = parser.parse_args()
    cases = [random_case(seed) for seed in range(options.seed, options.seed + options.count)]
    found = 0
    with contextlib.suppress(KeyboardInterrupt), server_with(GATES) as client:
        hunt = Hunt(client)
        for each in hunt.differences(cases):
            found += 1
            print(*each, sep=" | ", flush=True)
        counted = ", ".join(f"{count} {what}" for what, count in sorted(hunt.counted.items()))
        print(f"{len(cases)} clusters, {found} differences; {counted}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
