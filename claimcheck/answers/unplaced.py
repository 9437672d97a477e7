"""Why a simulation leaves pods: those that are left for the same reason together, with what would help one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import NamedTuple

from allocator.explaining import in_words
from allocator.explaining.explanation import FITS
from allocator.explaining.snapshot import Snapshot
from allocator.node_resources import NodeResources
from allocator.simulation import Limits, Placement, Pod
from allocator.time_limit import OutOfTime
from claimcheck.answers.explain import Explained, explain_one
from claimcheck.answers.scenario import Scenario
from cluster.workloads import Workload
from resourceapi.records.claims import Claim

#: So many pods are explained, each of which may stand for many that are like it.
MAX_EXPLAINED = 16


class Tried(NamedTuple):
    """A pod that has been tried: that of its workload with a number."""

    workload: Workload
    number: int
    pod: Pod


class Unplaced(NamedTuple):
    """Pods that are left for the same reason.

    :param pods: their names.
    :param said: what kept them from being placed, in kube-scheduler's words where it has some.
    :param explained: one of them explained, in the cluster with all pods that are placed; None if that was not done.
    """

    pods: Sequence[str]
    said: str
    explained: Explained | None = None


def unplaced(
    scenario: Scenario,
    tried: Sequence[Tried],
    placements: Sequence[Placement],
    resources: NodeResources,
    limits: Limits,
) -> list[Unplaced]:
    """Group the pods that are not placed, those with most pods first.

    :param tried: the pods, in the order of their placements.
    :param resources: what nodes have left beside devices.
    """
    alike: dict[object, list[tuple[Tried, Placement]]] = {}
    for each, placement in zip(tried, placements, strict=True):
        if not placement.node:
            alike.setdefault(_kind(each, placement), []).append((each, placement))
    if not alike:
        return []
    allocated = {claim.key: claim for claim in _allocated(tried, placements)}
    after: Scenario | None = None
    with suppress(OutOfTime):
        after = _after(scenario, allocated, resources, limits)
    found: dict[object, Unplaced] = {}
    for index, group in enumerate(sorted(alike.values(), key=len, reverse=True)):
        first, placement = group[0]
        explained = None
        if after is not None and index < MAX_EXPLAINED and not placement.undecided:
            explained = _explained(after, first, allocated, limits)
        said = placement.error or (explained and explained.unavailable) or placement.reason
        one = Unplaced([each.pod for _, each in group], said, explained)
        known = found.get(_reason(one))
        found[_reason(one)] = one if known is None else known._replace(pods=[*known.pods, *one.pods])
    return sorted(found.values(), key=lambda each: -len(each.pods))


def _kind(tried: Tried, placement: Placement) -> object:
    """Equal for pods that ask for the same and got the same answer, or none in time."""
    pod = tried.pod
    spec = {name: value for name, value in pod.spec.items() if name != "resourceClaims"}
    own = tuple(each.key if each.is_allocated else each.asked.spelled() for each in pod.claims.values())
    return placement.undecided, placement.error, pod.needs and pod.needs.key, repr(spec), own


def _allocated(tried: Sequence[Tried], placements: Sequence[Placement]) -> Iterator[Claim]:
    """The claims for which devices were found."""
    for each, placement in zip(tried, placements, strict=True):
        name = placement.pod.rpartition("/")[2]
        for key, allocation in placement.results.items():
            user = each.workload.consumer(key, name).reference
            status = {"allocation": allocation, "reservedFor": [user]}
            yield each.pod.claims[key].with_status(status)


def _after(
    scenario: Scenario, allocated: dict[str, Claim], resources: NodeResources, limits: Limits
) -> Scenario:
    """The scenario with what the placed pods hold."""
    snapshot: Snapshot = scenario.snapshot.with_allocated(allocated.values(), limits.whole)
    after = copy(scenario)
    after.snapshot, after.node_resources = snapshot, resources
    return after


def _explained(
    after: Scenario, tried: Tried, allocated: dict[str, Claim], limits: Limits
) -> Explained | None:
    """A pod explained; None if it fits now, or there was no time."""
    workload = copy(tried.workload)
    claims = workload.claims_of_copy(tried.number)
    workload.claims = [allocated.get(claim.key, claim) for claim in claims]
    workload.copies = len(workload.running) + 1
    explained = explain_one(after, workload, limits.of_pod(), spared=allocated)
    if explained.verdict == FITS or explained.unanswered:
        return None
    return explained


def _reason(each: Unplaced) -> object:
    """Equal for pods that are left for the same reason."""
    explanation = each.explained.explanation if each.explained is not None else None
    if explanation is None:
        return each.said
    return (
        each.said,
        in_words.headline(explanation),
        tuple(in_words.findings(explanation)),
        tuple(in_words.summary(explanation)),
        tuple((remedy.kind, repr(remedy.value)) for remedy in explanation.remedies),
    )
