"""What requests could have that are bound by `matchAttribute`: they end up with one value in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from allocator.pruning.bits import bits, union
from allocator.pruning.matching import can_serve_all
from allocator.pruning.problem import Problem
from allocator.pruning.prospects import HopelessError, OpenOption, Prospect
from allocator.pruning.sufficiency import own
from allocator.pruning.values import Value, ValueMap

_MAX_VALUES_MATCHED = 128


class Bound(NamedTuple):
    """A request with those of its options that a constraint concerns, and the attribute's values for each."""

    prospect: Prospect
    options_left: list[tuple[OpenOption, ValueMap]]


class Agreement:
    """Leaves out devices with values on which not all can agree."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    def open_bonds(self, prospects: list[Prospect]) -> list[list[Bound]]:
        """Of each `matchAttribute` without a value yet: the requests that it binds, with the options that it concerns."""
        attempt = self._problem.attempt
        found: dict[tuple[int, int], list[Bound]] = {}
        for prospect in prospects:
            bound: dict[tuple[int, int], list[tuple[OpenOption, ValueMap]]] = {}
            for each in prospect.options:
                for place, distinct, values in each.option.bonds:
                    if not distinct:
                        bound.setdefault((prospect.slot.claim, place), []).append((each, values))
            for key, options_left in bound.items():
                if not attempt.constraint_state(self._problem.claims[key[0]], key[1]):
                    found.setdefault(key, []).append(Bound(prospect, options_left))
        return list(found.values())

    def agree(self, bonded: Sequence[Bound]) -> None:
        """All requests that are bound have one value in common: leave out devices with values that some lack."""
        bound = _surely_bound(bonded)
        if not bound:
            return
        values = self._common_values(bound)
        if len(values) <= _MAX_VALUES_MATCHED and len(bound) > 1:
            values = [value for value in values if self._suffices(value, bound)]
        _keep(bonded, values)

    def agree_together(self, bonds: Sequence[Sequence[Bound]]) -> None:
        """Leave out values of one constraint with which another one that binds some of the same requests has none."""
        for bonded in bonds:
            for others in bonds:
                if others is not bonded:
                    self._agree_with(bonded, _surely_bound(bonded), _surely_bound(others))

    def _agree_with(self, bonded: Sequence[Bound], bound: Sequence[Bound], others: Sequence[Bound]) -> None:
        shared = {id(each.prospect) for each in bound} & {id(each.prospect) for each in others}
        if not shared:
            return
        values, their_values = self._common_values(bound), self._common_values(others)
        if len(values) * len(their_values) <= _MAX_VALUES_MATCHED:
            _keep(bonded, [value for value in values if self._leaves(value, bound, their_values, others)])

    def _leaves(
        self, value: Value, bound: Sequence[Bound], their_values: Sequence[Value], others: Sequence[Bound]
    ) -> bool:
        """Whether with a value the other constraint still has one."""
        having = {
            id(each): each.devices & of.masks.get(value, 0)
            for _, options_left in bound
            for each, of in options_left
        }
        return any(
            can_serve_all(
                [
                    own(
                        self._problem,
                        prospect.least,
                        union(
                            having.get(id(each), each.devices) & of.masks.get(other, 0)
                            for each, of in options_left
                        ),
                    )
                    for prospect, options_left in others
                ]
            )
            for other in their_values
        )

    def _common_values(self, bound: Sequence[Bound]) -> list[Value]:
        first = {
            value
            for each, of in bound[0].options_left
            for index in bits(each.devices)
            for value in of.of_device.get(index, ())
        }
        return [
            value
            for value in sorted(first)
            if all(
                any(
                    (each.devices & of.masks.get(value, 0)).bit_count() >= each.wanted
                    for each, of in options_left
                )
                for _, options_left in bound
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
                    union(each.devices & of.masks.get(value, 0) for each, of in options_left),
                )
                for prospect, options_left in bound
            ]
        )


def _surely_bound(bonded: Sequence[Bound]) -> list[Bound]:
    """The requests that will have a value, those with the least choice first; none if there is but one device to come.

    One device is always of one value; and it may be one whose value is not looked at.
    """
    bound = [
        each
        for each in map(_left, bonded)
        if each.options_left and len(each.options_left) == len(each.prospect.options) and each.prospect.least
    ]
    if sum(prospect.least for prospect, _ in bound) <= 1:
        return []
    return sorted(bound, key=lambda each: each.prospect.devices.bit_count())


def _left(bound: Bound) -> Bound:
    """Of the options some may have been left out meanwhile."""
    prospect, options_left = bound
    return Bound(prospect, [(each, of) for each, of in options_left if each in prospect.options])


def _keep(bonded: Sequence[Bound], values: Sequence[Value]) -> None:
    """Leave out devices without any of these values. Raises HopelessError if there are none.

    A request that another alternative may free from the constraint still has to agree if it is not freed.
    """
    if not values:
        raise HopelessError
    for _, options_left in map(_left, bonded):
        for each, of in options_left:
            devices = [of.masks.get(value, 0) for value in values]
            if each.wanted:
                devices = [mask for mask in devices if (mask & each.devices).bit_count() >= each.wanted]
                each.devices &= union(devices)
