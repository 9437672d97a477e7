"""Which values of an attribute a node's devices have for the requests that a constraint binds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from allocator.constraint_state import Constraint, values_of
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.explaining.patched_values import PatchedValue, patched_values
from allocator.explaining.steps import NodeView
from allocator.rules.constraints import attribute_of
from deviceselectors.lookups import ATTRIBUTES


class ConstraintCheck(NamedTuple):
    """A constraint of a claim, and the devices that could be taken without it.

    :param place: the index of the constraint in the claim.
    :param needed: how many devices each request or alternative needs.
    :param values: by value of the attribute, how many devices each request or alternative has.
    :param satisfiable: whether the numbers suffice for each request by itself, with one value (`matchAttribute`) or with
        enough different ones (`distinctAttribute`).
    :param patched: values that patches have given, if it is not satisfiable, and that was asked for.
    """

    claim: str
    place: int
    constraint: Constraint
    needed: Mapping[str, int]
    values: Mapping[str, Mapping[str, int]]
    satisfiable: bool
    patched: tuple[PatchedValue, ...] = ()


def checks_of(
    view: NodeView, claim: ClaimDemand, left: Mapping[Alternative, Sequence[Device]]
) -> Iterator[ConstraintCheck]:
    """Check each constraint of a claim on a node.

    :param left: the devices that each alternative could take.
    """
    for place, constraint in enumerate(claim.constraints):
        bound = [
            alternative
            for request in claim.requests
            for alternative in request.alternatives
            if alternative in left and any(index == place for index, _ in alternative.constraints)
        ]
        values: dict[str, dict[str, int]] = {}
        for alternative in bound:
            for device in left[alternative]:
                for text in _values(view, alternative, constraint.attribute, device):
                    counts = values.setdefault(text, {})
                    counts[alternative.name] = counts.get(alternative.name, 0) + 1
        needed = {
            alternative.name: len(left[alternative]) if alternative.takes_all else alternative.count
            for alternative in bound
        }
        satisfiable = _satisfiable(constraint, bound, needed, values)
        yield ConstraintCheck(claim.name, place, constraint, needed, values, satisfiable)


def naming_patches(
    check: ConstraintCheck, view: NodeView, left: Mapping[Alternative, Sequence[Device]]
) -> ConstraintCheck:
    """The check with the patches that have given values of its attribute, if no value suffices.

    :param left: the devices that each alternative could take.
    """
    if check.satisfiable:
        return check
    bound = [
        device.id
        for alternative, devices in left.items()
        if alternative.claim.name == check.claim
        and (check.place, check.constraint) in alternative.constraints
        for device in devices
    ]
    names = ((ATTRIBUTES, check.constraint.attribute),)
    return check._replace(patched=patched_values(view.snapshot.inventory, bound, names))


def _values(view: NodeView, alternative: Alternative, name: str, device: Device) -> list[str]:
    try:
        attribute = attribute_of(view.attempt, alternative, device, name)
    except AllocationError:
        return []
    found = values_of(attribute) if attribute is not None else None
    return [] if found is None else sorted(map(_text, found[1]))


def _text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def _satisfiable(
    constraint: Constraint,
    bound: Sequence[Alternative],
    needed: Mapping[str, int],
    values: Mapping[str, Mapping[str, int]],
) -> bool:
    requests: dict[str, list[str]] = {}
    for alternative in bound:
        requests.setdefault(alternative.main, []).append(alternative.name)
    if constraint.distinct:
        least = sum(min(needed[name] for name in names) for names in requests.values())
        return len(values) >= least
    return not bound or any(
        all(any(counts.get(name, 0) >= needed[name] for name in names) for names in requests.values())
        for counts in values.values()
    )
