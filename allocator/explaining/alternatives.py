"""Which alternatives of prioritized requests are tried and which are not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from allocator.demand import Alternative, ClaimDemand
from allocator.explaining.changes import Claims, with_alternatives
from allocator.explaining.trials import Trials, Undecided, Variation
from allocator.node_scores import Candidate, NodeScores
from allocator.results import places_of
from allocator.scheduling import NodeAnswer
from resourceapi.limits import ALLOCATION_RESULTS
from resourceapi.records.claims import Allocation


class AlternativeNote(NamedTuple):
    """A note on an alternative.

    :param text: the predicate of a sentence about it.
    :param fits: False if it has been tried and does not fit.
    """

    claim: str
    name: str
    text: str
    fits: bool = True


def preferred(trials: Trials, answers: Sequence[NodeAnswer]) -> NodeAnswer | None:
    """The answer of the node that kube-scheduler chooses."""
    fitting = [answer for answer in answers if answer.result is not None]
    if not fitting:
        return None
    wanted = [claim for claim in trials.claims if not claim.is_allocated]
    candidates = [
        # The last claim, for extended resources, is not needed on nodes that have them from device plugins.
        Candidate(
            answer.node,
            [
                place
                for claim, result in zip(wanted, answer.result or (), strict=False)
                for place in places_of(claim, Allocation(result))
            ],
        )
        for answer in fitting
    ]
    allocated = [place for claim in trials.claims for place in places_of(claim, claim.allocation)]
    snapshot, pod = trials.snapshot, trials.on_node
    scores = NodeScores(snapshot.nodes, pod.resources, snapshot.features.minor)
    return fitting[scores.choose(pod.spec, pod.needs, candidates, allocated, trials.time_limit).place]


def chosen(trials: Trials, answer: NodeAnswer) -> list[AlternativeNote]:
    """For a pod that fits: why earlier alternatives were not chosen, and that later ones are not tried."""
    notes: list[AlternativeNote] = []
    results = iter(answer.result or ())
    for index, claim in enumerate(trials.claims):
        if claim.is_allocated:
            continue
        result = next(results, None)
        taken = set() if result is None else {each.request for each in Allocation(result).results}
        for place, request in enumerate(claim.devices.requests):
            names = [request.name_of(sub) for sub in range(len(request.alternatives))]
            best = next((sub for sub, name in enumerate(names) if name in taken), None)
            if request.is_list and best is not None:
                notes += _about(trials, answer.node, (index, place), names, best)
    return notes


def _about(
    trials: Trials, node: str, at: tuple[int, int], names: Sequence[str], best: int
) -> Iterator[AlternativeNote]:
    where = trials.claims[at[0]].key
    for sub, name in enumerate(names):
        if sub == best:
            yield AlternativeNote(where, name, f"is chosen on {node}")
        elif sub > best:
            alone = sum(len(claim.devices.requests) for claim in trials.claims) == 1
            what = "is never tried" if alone else "is not needed"
            yield AlternativeNote(where, name, f"{what} on {node}, because {names[best]} fits")
        else:
            only = Variation(with_alternatives(trials.claims, at[0], at[1], [sub]))
            if not _may_fit_on(trials, node, only):
                yield AlternativeNote(where, name, f"does not fit on {node}", fits=False)


def untried(trials: Trials, demand: Sequence[ClaimDemand]) -> list[AlternativeNote]:
    """For a pod that does not fit: alternatives that would exceed the limit of devices per claim."""
    unallocated = [index for index, claim in enumerate(trials.claims) if not claim.is_allocated]
    notes = []
    for index, claim in zip(unallocated, demand, strict=True):
        least = {request.name: min(map(_count, request.alternatives)) for request in claim.requests}
        for place, request in enumerate(claim.requests):
            others = sum(least.values()) - least[request.name]
            for sub, alternative in enumerate(request.alternatives):
                count = _count(alternative)
                if not request.is_list or count + others <= ALLOCATION_RESULTS:
                    continue
                only = with_alternatives(trials.claims, index, place, [sub])
                if not _may_fit(trials, only):
                    text = (
                        f"can never be chosen: its {count} devices and at least {others} of other requests exceed "
                        f"the limit of {ALLOCATION_RESULTS} devices per claim"
                    )
                    notes.append(AlternativeNote(claim.name, alternative.name, text))
    return notes


def _may_fit_on(trials: Trials, node: str, variation: Variation) -> bool:
    try:
        return trials.surely_fits_on(node, variation)
    except Undecided:
        return True


def _may_fit(trials: Trials, claims: Claims) -> bool:
    """Whether claims fit in the cluster if nothing is allocated to others; True if that is undecided."""
    try:
        return trials.fits_anywhere(claims, None)
    except Undecided:
        return True


def _count(alternative: Alternative) -> int:
    """How many devices it needs at least."""
    return 1 if alternative.takes_all else alternative.count
