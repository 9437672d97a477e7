"""What requests could have that are bound by `matchAttribute`: they end up with one value in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from allocator.pruning.bits import bits, union
from allocator.pruning.matching import can_serve_all
from allocator.pruning.problem import Problem
from allocator.pruning.prospects import HopelessError, Outlook, Prospect
from allocator.pruning.sufficiency import own
from allocator.pruning.values import Value, ValueMap

_MAX_VALUES_MATCHED = 128


class Bound(NamedTuple):
    """A request with those of its options that a constraint concerns, and the attribute's values for each."""

    prospect: Prospect
    outlooks: list[tuple[Outlook, ValueMap]]


class Agreement:
    """Leaves out devices with values on which not all can agree."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def open_bonds(self, prospects: list[Prospect]) -> list[list[Bound]]:
        """Of each `matchAttribute` without a value yet: the requests that it binds, with the options that it concerns."""
        attempt = self._problem.attempt
        found: dict[tuple[int, int], list[Bound]] = {}
        for prospect in prospects:
            bound: dict[tuple[int, int], list[tuple[Outlook, ValueMap]]] = {}
            for each in prospect.options:
                for place, distinct, values in each.option.bonds:
                    if not distinct:
                        bound.setdefault((prospect.slot.claim, place), []).append((each, values))
            for key, outlooks in bound.items():
                if not attempt.constraint_state(self._problem.claims[key[0]], key[1]):
                    found.setdefault(key, []).append(Bound(prospect, outlooks))
        return list(found.values())

    def agree(self, bonded: Sequence[Bound]) -> None:
        """All requests that are bound have one value in common: leave out devices with values that some lack."""
        # Of the options some may have been left out meanwhile.
        bonded = [
            Bound(prospect, [(each, of) for each, of in outlooks if each in prospect.options])
            for prospect, outlooks in bonded
        ]
        bound = [
            each
            for each in bonded
            if len(each.outlooks) == len(each.prospect.options) and each.prospect.least
        ]
        if not bound:
            return
        if sum(prospect.least for prospect, _ in bound) == 1:
            return  # One device is always of one value; and it may be one whose value is not looked at.
        bound.sort(key=lambda each: each.prospect.devices.bit_count())
        values = self._common_values(bound)
        if len(values) <= _MAX_VALUES_MATCHED and len(bound) > 1:
            values = [value for value in values if self._suffices(value, bound)]
        if not values:
            raise HopelessError
        # A request that another alternative may free from the constraint still has to agree if it is not freed.
        for _, outlooks in bonded:
            for each, of in outlooks:
                devices = [of.masks.get(value, 0) for value in values]
                if each.wanted:
                    devices = [mask for mask in devices if (mask & each.devices).bit_count() >= each.wanted]
                    each.devices &= union(devices)

    def _common_values(self, bound: Sequence[Bound]) -> list[Value]:
        first = {
            value
            for each, of in bound[0].outlooks
            for index in bits(each.devices)
            for value in of.of_device.get(index, ())
        }
        return [
            value
            for value in sorted(first)
            if all(
                any(
                    (each.devices & of.masks.get(value, 0)).bit_count() >= each.wanted
                    for each, of in outlooks
                )
                for _, outlooks in bound
            )
        ]

    def _suffices(self, value: Value, bound: Sequence[Bound]) -> bool:
        """Whether there are enough devices with a value for all requests together."""
        # They are of one claim, so not even admin access lets two of them have the same device.
        return can_serve_all(
            [
                own(
                    self._problem,
                    prospect.least,
                    union(each.devices & of.masks.get(value, 0) for each, of in outlooks),
                )
                for prospect, outlooks in bound
            ]
        )
