"""Conflicts: minimal sets of requirements that cannot be met together. Without any one of them, the others can.

Members are requests and constraints of the pod's claims, and allocated claims. QuickXplain (Junker, 2004) finds a minimal
set; each member is then checked once more before the conflict is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from allocator.explaining.changes import Claims, without
from allocator.explaining.trials import Trials, Undecided, Variation
from resourceapi.phrases import number
from resourceapi.records.claims import Claim, DeviceConstraint, DeviceRequest, ExactRequest

REQUEST, CONSTRAINT, ALLOCATED = "request", "constraint", "allocated"


class Member(NamedTuple):
    """A requirement: a request or constraint of a claim of the pod, or an allocated claim.

    :param kind: REQUEST, CONSTRAINT, or ALLOCATED for all that others hold together.
    :param text: a description for the report.
    :param claim: the index of the pod's claim.
    :param place: the index of the request or constraint in it.
    :param holders: the claims of others.
    """

    kind: str
    name: str
    text: str
    claim: int = 0
    place: int = 0
    holders: tuple[str, ...] = ()

    @property
    def key(self) -> object:
        """The same for the same requirement on several nodes."""
        return self.kind, self.claim, self.place


class Conflict(NamedTuple):
    """Requirements that cannot be met together on a node, or on any node if `node` is empty.

    :param despite_held: whether the requirements cannot be met even if others held no devices, and without one of them the
        others can only be met then.
    """

    node: str
    members: tuple[Member, ...]
    despite_held: bool = False


def anywhere(trials: Trials) -> Conflict | None:
    """Find requirements that no node meets together."""

    def feasible(kept: Sequence[Member]) -> bool:
        released = frozenset[str]() if any(each.kind == ALLOCATED for each in kept) else None
        return trials.fits_anywhere(_claims(trials.claims, kept), released)

    return _noting_held(_conflict("", _members(trials, trials.others), feasible), trials.others, feasible)


def on_node(trials: Trials, node: str) -> Conflict | None:
    """Find requirements that cannot be met together on one node."""
    held = trials.held_near(node)

    def feasible(kept: Sequence[Member]) -> bool:
        released = frozenset() if any(each.kind == ALLOCATED for each in kept) else frozenset(held)
        return trials.surely_fits_on(node, Variation(_claims(trials.claims, kept), released))

    return _noting_held(_conflict(node, _members(trials, held), feasible), held, feasible)


def _noting_held(
    conflict: Conflict | None, held: Sequence[str], feasible: Callable[[Sequence[Member]], bool]
) -> Conflict | None:
    """Note if others hold devices that had to count as free for the rest of the requirements to be met."""
    if conflict is None or not held or any(each.kind == ALLOCATED for each in conflict.members):
        return conflict
    allocated = Member(ALLOCATED, "", "")
    with suppress(Undecided):
        if all(
            feasible([each for each in conflict.members if each is not member] + [allocated])
            for member in conflict.members
        ):
            return conflict
    return conflict._replace(despite_held=True)


def _members(trials: Trials, held: Sequence[str]) -> list[Member]:
    """The demands of the pod, and what others hold as one: without one of many claims, the others may still be in the way."""
    members = demands(trials.claims)
    if held:
        text = f"the devices that {number(len(held), 'claim')} of others hold{'s' if len(held) == 1 else ''}"
        members.append(Member(ALLOCATED, "", text, holders=tuple(held)))
    return members


def demands(claims: Sequence[Claim]) -> list[Member]:
    """The requests and constraints of a pod's claims."""
    found = []
    for index, claim in enumerate(claims):
        if claim.is_allocated:
            continue
        where = claim.key
        for place, request in enumerate(claim.devices.requests):
            found.append(
                Member(REQUEST, f"{where}:{request.name}", _request_text(where, request), index, place)
            )
        for place, constraint in enumerate(claim.devices.constraints):
            text = _constraint_text(where, constraint)
            found.append(Member(CONSTRAINT, f"{where}#{place}", text, index, place))
    return found


def _request_text(claim: str, request: DeviceRequest) -> str:
    return f"request {request.name} of claim {claim}: {' or '.join(map(_wanted, request.alternatives))}"


def _wanted(details: ExactRequest) -> str:
    count = "all" if details.takes_all else details.number
    selectors = len(details.selectors)
    terms = [f"its selector{'s' if selectors > 1 else ''}"] if selectors else []
    if details.capacity:
        terms.append("its capacity")
    return f"{count} of class {details.device_class}" + (f" with {' and '.join(terms)}" if terms else "")


def _constraint_text(claim: str, constraint: DeviceConstraint) -> str:
    kind = "distinctAttribute" if constraint.match is None else "matchAttribute"
    bound = f"for requests {', '.join(constraint.requests)} " if constraint.requests else ""
    return f"{kind} {constraint.match or constraint.distinct or ''} {bound}of claim {claim}"


def _claims(claims: Sequence[Claim], kept: Sequence[Member]) -> Claims:
    """The claims with only these requests and constraints."""
    required = {(each.claim, each.kind, each.place) for each in kept}
    dropped = {
        (each.claim, each.kind, each.place)
        for each in demands(claims)
        if (each.claim, each.kind, each.place) not in required
    }
    return without(tuple(claims), frozenset(dropped))


def _conflict(
    node: str, members: list[Member], feasible: Callable[[Sequence[Member]], bool]
) -> Conflict | None:
    """None if all members together are feasible, or if no proper conflict could be confirmed."""
    best: list[Member] = []
    with suppress(Undecided):
        if feasible(members):
            return None
        for ordered in (members, members[::-1]):
            found = _minimal(ordered, feasible)
            if _is_conflict(found, feasible) and (not best or len(found) < len(best)):
                best = found
    return Conflict(node, tuple(sorted(best, key=members.index))) if best else None


def _minimal(members: list[Member], feasible: Callable[[Sequence[Member]], bool]) -> list[Member]:
    """A minimal infeasible subset (QuickXplain); prefers members at the front."""

    def explain(fixed: list[Member], grown: bool, candidates: list[Member]) -> list[Member]:
        if grown and not feasible(fixed):
            return []
        if len(candidates) == 1:
            return candidates
        half = len(candidates) // 2
        first, second = candidates[:half], candidates[half:]
        from_second = explain([*fixed, *first], True, second)
        from_first = explain([*fixed, *from_second], bool(from_second), first)
        return [*from_first, *from_second]

    return explain([], False, members) if members else []


def _is_conflict(members: list[Member], feasible: Callable[[Sequence[Member]], bool]) -> bool:
    return (
        bool(members)
        and not feasible(members)
        and all(feasible([each for each in members if each is not gone]) for gone in members)
    )
