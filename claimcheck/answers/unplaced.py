"""Why a simulation leaves pods: those that are left for the same reason together, with what would help one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from allocator.explaining import in_words
from allocator.explaining.explanation import FITS
from allocator.node_resources import NodeResources
from allocator.simulation import Limits, Placement
from allocator.time_limit import OutOfTime
from claimcheck.answers.explain import Explained, explain_one
from claimcheck.answers.scenario import Scenario
from claimcheck.answers.tried import (
    Placed,
    Tried,
    allocated_to,
    beside_fellows,
    with_placed,
    withdrawn_by_gang,
)
from resourceapi.records.claims import Allocation, Claim

#: So many pods are explained, each of which may stand for many that are like it.
MAX_EXPLAINED = 16


class Unplaced(NamedTuple):
    """Pods that are left for the same reason.

    :param tried: the pods.
    :param said: what kept them from being placed, in kube-scheduler's words where it has some.
    :param explained: one of them explained, in the cluster with all pods that are placed; None if that was not done.
    """

    tried: Sequence[Tried]
    said: str
    explained: Explained | None = None

    @property
    def pods(self) -> list[str]:
        """Their names."""
        return [each.pod.name for each in self.tried]


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
    allocated = allocated_to(tried, placements)
    after: Scenario | None = None
    with suppress(OutOfTime):
        after = with_placed(scenario, allocated.values(), resources, limits.whole)
    fellows = withdrawn_by_gang(tried, placements)
    found: dict[object, Unplaced] = {}
    for index, group in enumerate(sorted(alike.values(), key=len, reverse=True)):
        first, placement = group[0]
        explained = None
        if (
            after is not None
            and index < MAX_EXPLAINED
            and not (placement.undecided or placement.withdrawn or placement.untried)
        ):
            beside = fellows.get(placement.gang.name, ()) if placement.gang is not None else ()
            explained = _explained(after, first, allocated, beside, limits)
        said = placement.error or (explained and explained.unavailable) or placement.reason
        one = Unplaced([each for each, _ in group], said, explained)
        known = found.get(_reason(one))
        found[_reason(one)] = one if known is None else known._replace(tried=[*known.tried, *one.tried])
    return sorted(found.values(), key=lambda each: -len(each.tried))


def _kind(tried: Tried, placement: Placement) -> object:
    """Equal for pods that ask for the same and got the same answer, or none in time."""
    pod = tried.pod
    spec = {name: value for name, value in pod.spec.items() if name != "resourceClaims"}
    own = tuple(each.key if each.is_allocated else each.asked.spelled() for each in pod.claims.values())
    fits = placement.withdrawn is not None
    return fits, placement.undecided, placement.error, pod.needs and pod.needs.key, repr(spec), own


def _explained(
    after: Scenario, tried: Tried, allocated: Mapping[str, Claim], beside: Sequence[Placed], limits: Limits
) -> Explained | None:
    """A pod explained; None if it fits now, or there was no time.

    :param beside: the pods of its gang that would have fitted; they matter if it fits now, and as far as they still do.
    """
    explained = explain_one(after, tried.alone(allocated), limits.of_pod(), spared=allocated)
    if explained.verdict == FITS and (beside := _still_free(after, beside)):
        try:
            after, more = beside_fellows(after, beside, limits.whole)
        except OutOfTime:
            return None
        allocated = {**allocated, **more}
        explained = explain_one(after, tried.alone(allocated), limits.of_pod(), spared=allocated)
    if explained.verdict == FITS or explained.unanswered:
        return None
    return explained


def _still_free(after: Scenario, pods: Sequence[Placed]) -> list[Placed]:
    """The pods whose devices no other has got meanwhile."""
    held = {result.device for claim in after.snapshot.claims.values() for result in claim.results}
    return [
        (tried, placement)
        for tried, placement in pods
        if not any(
            result.device in held
            for allocation in placement.results.values()
            for result in Allocation(allocation).results
        )
    ]


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
