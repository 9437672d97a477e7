"""Lets a real kube-scheduler place the pods of random clusters, and asks `explain`, `simulate` and FakeCluster about them before.

python -m tests.e2e.live_outcomes --seed 7 --count 50 [--sidecar | --beside]

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from allocator.explaining.explanation import FITS
from allocator.simulation import Limits, Placement
from allocator.time_limit import UNLIMITED
from claimcheck import Cluster, FakeCluster
from claimcheck.answers.explain import explain_all
from claimcheck.answers.simulate import simulate
from claimcheck.inputs import values_in
from resourceapi.manifests import mapping, name_of
from resourceapi.records.claims import Allocation
from tests.claimcheck.outcome_objects import NAMESPACE, Object
from tests.claimcheck.outcomes import decision
from tests.claimcheck.random_outcomes import GATES, RandomCase, pods_in, random_case
from tests.claimcheck.test_outcomes import scheduled
from tests.e2e.asked_outcomes import CLAIMS, PODS, all_of, make, outcome_of, server_with
from tests.e2e.client import Client
from tests.e2e.pod_group_setup import rights_to_groups
from tests.e2e.scheduled import settle, state_of
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SERVER_FLAGS, scheduling_cluster, until

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


class Live:
    """Random clusters at one server, and who schedules their pods."""

    def __init__(self, client: Client, scheduler: str = "default-scheduler") -> None:
        self.client = client
        self._scheduler = scheduler
        self._uids: dict[str, str] = {}

    def prepare(self, cases: Sequence[RandomCase]) -> None:
        """Make all but the pods."""
        for case in cases:
            self.make(case.objects)
        settle(self.client, self._scheduler)

    def make(self, objects: Iterable[Object]) -> None:
        """Make objects."""
        for each in objects:
            if each["kind"] == "Pod":
                each = {**each, "spec": {**each["spec"], "schedulerName": self._scheduler}}
            make(self.client, each, self._uids)

    def there(self) -> dict[str, list[Object]]:
        """The objects of each case as they are now."""
        found: dict[str, list[Object]] = {}
        for kind, path in _PATHS.items():
            for each in all_of(self.client, path):
                version = _VERSIONS.get(kind, "resource.k8s.io/v1")
                name = name_of(each).partition("-")[0]
                found.setdefault(name, []).append({**each, "apiVersion": version, "kind": kind})
        return found

    def wait(self, names: Collection[str]) -> None:
        """Until something is known of every one of these pods, and nothing changes any more."""
        deadline, since, last = time.monotonic() + PATIENCE, time.monotonic(), object()
        while time.monotonic() < deadline:
            pods = {name_of(each): each for each in all_of(self.client, PODS)}
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

    def take_away(self, names: Collection[str]) -> None:
        """Delete those of these pods that wait, so that they do not come in between."""
        pods = all_of(self.client, PODS)
        waiting = [each for each in pods if name_of(each) in names and not each["spec"].get("nodeName")]
        self.delete([{"kind": "Pod", **each} for each in waiting])

    def delete(self, objects: Iterable[Object]) -> None:
        """Delete pods and PodGroups, and wait until nothing is held for them: kube-scheduler also holds devices for pods that it cannot bind."""
        gone = set()
        for each in objects:
            gone.add(name_of(each))
            self.client.ask("DELETE", f"{_PATHS[each['kind']]}/{name_of(each)}")

        def are_free() -> bool:
            held = [each for each in all_of(self.client, CLAIMS) if _has(each)]
            users = [user["name"] for each in held for user in each["status"].get("reservedFor") or ()]
            owners = [user["name"] for each in held for user in each["metadata"].get("ownerReferences") or ()]
            return gone.isdisjoint([*users, *owners])

        if gone:
            until(are_free, "claims are held for pods that are gone")


def coming(cases: Sequence[RandomCase]) -> Iterator[list[tuple[RandomCase, list[Object]]]]:
    """The units of all cases that come at the same time."""
    for turn in range(max(len(case.units) for case in cases)):
        yield [(case, case.units[turn]) for case in cases if turn < len(case.units)]


def names_in(units: Iterable[tuple[RandomCase, list[Object]]]) -> set[str]:
    """Of the pods."""
    return {name_of(pod) for _, unit in units for pod in pods_in(unit)}


class Hunt:
    """Compares what becomes of pods with what is said before."""

    def __init__(self, live: Live) -> None:
        self.counted: Counter[str] = Counter()
        self._live = live

    def differences(self, cases: Sequence[RandomCase]) -> Iterator[Difference]:
        """All that is not as it was said."""
        self._live.prepare(cases)
        for units in coming(cases):
            there = self._live.there()
            before = {case.name: there[case.name] for case, _ in units}
            for _, unit in units:
                self._live.make(unit)
            self._live.wait(names_in(units))
            after = self._live.there()
            for case, unit in units:
                yield from self._compared(case, unit, before[case.name], after[case.name])
            self._live.take_away(names_in(units))

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
            pods_before = {name_of(each): each for each in before if each["kind"] == "Pod"}
            said = [f"{case.name}-{each}" for each in ours.get("evicts", ())]
            if _alike(pods_before, said) != _alike(pods_before, [f"{case.name}-{each}" for each in gone]):
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


class HuntBeside:
    """Compares what becomes of pods with the sidecar with what becomes of the same pods with kube-scheduler's own plugin.

    A pod that the plugin has put on a node has to be there with the sidecar as well, with the same devices, and so from turn to turn
    both have to choose in the same cluster; which node is preferred is asked without that (`--sidecar`). What the sidecar alone
    binds, as docs say, is counted and deleted again. A case ends with its first difference.
    """

    def __init__(self, plugin: Live, sidecar: Live) -> None:
        self.counted: Counter[str] = Counter()
        self._plugin = plugin
        self._sidecar = sidecar

    def differences(self, cases: Sequence[RandomCase]) -> Iterator[Difference]:
        """All that is not the same with both."""
        for each in (self._plugin, self._sidecar):
            each.prepare(cases)
        over: set[str] = set()
        known: dict[str, set[str]] = {case.name: set() for case in cases}
        for every in coming(cases):
            units = [(case, unit) for case, unit in every if case.name not in over]
            names = names_in(units)
            for _, unit in units:
                self._plugin.make(unit)
            self._plugin.wait(names)
            theirs = self._plugin.there()
            for case, unit in units:
                self._sidecar.make(_placed_alike(unit, theirs[case.name]))
            self._sidecar.wait(names)
            ours = self._sidecar.there()
            alone: list[Object] = []
            for case, unit in units:
                pair = _Pair(case, unit, theirs[case.name], ours[case.name], known[case.name])
                known[case.name] = pair.there
                if why := pair.why_alone():
                    self.counted[why] += 1
                    alone += unit
                    continue
                if why := pair.why_apart():
                    self.counted[why] += 1
                    over.add(case.name)
                    continue
                self.counted.update(pair.counts())
                found = [*pair.differences()]
                yield from found
                if found:
                    over.add(case.name)
            for each in (self._plugin, self._sidecar):
                each.take_away(names)
            self._sidecar.delete(alone)
            self.counted["clusters alike to the end"] = len(cases) - len(over)


class _Pair:
    """What has become of a unit with the plugin, and with the sidecar."""

    def __init__(
        self,
        case: RandomCase,
        unit: list[Object],
        theirs: list[Object],
        ours: list[Object],
        known: set[str],
    ) -> None:
        """`known`: the pods that there were before with the plugin."""
        self._case = case
        self._new = sorted(name_of(each) for each in pods_in(unit))
        self._is_gang = unit[0]["kind"] == "PodGroup"
        self._least = _least(unit[0])
        self._theirs, self._ours = theirs, ours
        self._there, self._here = (
            {name_of(each): each for each in them if each["kind"] == "Pod"} for them in (theirs, ours)
        )

        self._has_evicted = not known <= self._there.keys()

    @property
    def there(self) -> set[str]:
        """The pods on nodes with the plugin: others are taken away."""
        return {name for name, pod in self._there.items() if pod["spec"].get("nodeName")}

    def _bound(self, pods: dict[str, Object]) -> int:
        return sum(name in pods and bool(pods[name]["spec"].get("nodeName")) for name in self._new)

    def why_alone(self) -> str:
        """Why the sidecar alone has bound the unit, where that is meant to be; empty if it has not."""
        if self._there.keys() != self._here.keys() or self._bound(self._there) or not self._bound(self._here):
            return ""
        if self._is_gang and self._bound(self._here) >= self._least:
            return "gangs that only the sidecar places, as a whole"
        said = [state_of(self._there[name]).message for name in self._new]
        return "pods that kube-scheduler never binds" if any(_NEVER_BOUND in each for each in said) else ""

    def why_apart(self) -> str:
        """Why other pods have to go for the unit with the sidecar, where that is meant to be; the case ends then."""
        stay, gone = (
            {*one} - {*other} for one, other in ((self._here, self._there), (self._there, self._here))
        )
        if stay.union(gone).isdisjoint(self._new):
            said = [state_of(self._there[name]).message for name in self._new if name in self._there]
            if gone and not stay and any("Insufficient" in each for each in said):
                return "pods that preempt others only with the sidecar"
            if stay and gone and _alike(self._here, stay) == _alike(self._there, gone):
                return "pods that preempt others that are alike"
        return ""

    def counts(self) -> Iterator[str]:
        """What it was."""
        what = "gangs" if self._is_gang else "pods"
        yield f"{what} bound" if self._bound(self._there) else f"{what} refused"
        if self._there.keys().isdisjoint(self._new):
            yield "evicted at once"

    def differences(self) -> Iterator[Difference]:
        """All pods of the case that are there, as some may have been evicted, and what the new ones have got."""
        there, here = self._there, self._here
        words = [[_in_words(pods.get(name)) for name in self._new] for pods in (there, here)]
        if there.keys() != here.keys():
            theirs, ours = sorted(there.keys() - here), sorted(here.keys() - there)
            yield Difference(", ".join(self._new), "stays", (theirs, words[0]), (ours, words[1]))
            return
        for name, said, answer in zip(self._new, *words, strict=True):
            if name in there:
                decided = (
                    _decided(self._case, there[name], self._theirs),
                    _decided(self._case, here[name], self._ours),
                )
                if decided[0] != decided[1]:
                    yield Difference(name, "outcome", (decided[0], said), (decided[1], answer))


def _least(group: Object) -> int:
    """How many pods of a PodGroup have to fit."""
    return int(mapping(group, "spec", "schedulingPolicy", "gang").get("minCount", 1))


def _in_words(pod: Object | None) -> str:
    """Where a pod is, or why nowhere."""
    if pod is None:
        return "gone"
    state = state_of(pod)
    return state.node or f"{mapping(pod, 'status').get('nominatedNodeName', '')}: {state.message}"


def _decided(case: RandomCase, pod: Object, there: list[Object]) -> Object:
    """The node of a pod, what its claims have got, and what that takes of the node."""
    claims = {name_of(each): each for each in there if each["kind"] == "ResourceClaim"}
    found = decision(outcome_of(case, pod, claims))  # type: ignore[arg-type]
    return _unnamed(found)


def _placed_alike(unit: list[Object], there: list[Object]) -> list[Object]:
    """The objects of a unit; pods that are on a node there may only go to the same one."""
    nodes = {name_of(each): each["spec"].get("nodeName", "") for each in there if each["kind"] == "Pod"}
    return [
        _pinned(each, nodes[name_of(each)]) if each["kind"] == "Pod" and nodes.get(name_of(each)) else each
        for each in unit
    ]


@contextlib.contextmanager
def cluster_with(replicas: int) -> Iterator[Live]:
    """A server with a scheduler as it is deployed: so many sidecars give out the devices, or with none its own plugin."""
    gates = f"--feature-gates={','.join(f'{each}=true' for each in GATES)}"
    with scheduling_cluster(
        replicas=replicas,
        server_flags=[*SERVER_FLAGS, gates, "--runtime-config=api/all=true"],
        config={"apiServer": {"featureGates": ON}},
        controllers=[
            "resourceclaim-controller",
            "garbage-collector-controller",
            "podgroup-protection-controller",
        ],
        controller_flags=[gates],
        scheduler_flags=[gates],
        beside=rights_to_groups,
    ) as cluster:
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        path = f"/api/v1/namespaces/{NAMESPACE}"
        cluster.client.ask("PATCH", path, label, content_type="application/merge-patch+json")
        yield Live(cluster.client, SCHEDULER_NAME)


def _alike(pods: Mapping[str, Object], names: Iterable[str]) -> list[tuple[object, ...]]:
    """What kube-scheduler tells pods apart by when it chooses among them: none of them has been started."""
    specs = [pods[each]["spec"] for each in names]
    return sorted(
        (each.get("priority", 0), each["nodeName"], str(each["containers"][0]["resources"].get("requests")))
        for each in specs
    )


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
    parser.add_argument("--sidecar", action="store_true", help="the sidecar gives out the devices")
    parser.add_argument(
        "--beside", action="store_true", help="compare the sidecar with kube-scheduler's own plugin"
    )
    options = parser.parse_args()
    cases = [random_case(seed) for seed in range(options.seed, options.seed + options.count)]
    found = 0
    with contextlib.ExitStack() as stack:
        hunt: Hunt | HuntBeside
        if options.beside:
            plugin, sidecar = (stack.enter_context(cluster_with(replicas)) for replicas in (0, 1))
            hunt = HuntBeside(plugin, sidecar)
        elif options.sidecar:
            hunt = Hunt(stack.enter_context(cluster_with(1)))
        else:
            hunt = Hunt(Live(stack.enter_context(server_with(GATES))))
        with contextlib.suppress(KeyboardInterrupt):
            for each in hunt.differences(cases):
                found += 1
                print(*each, sep=" | ", flush=True)
        counted = ", ".join(f"{count} {what}" for what, count in sorted(hunt.counted.items()))
        print(f"{len(cases)} clusters, {found} differences; {counted}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
