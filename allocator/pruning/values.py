"""Which devices have which values of a constrained attribute."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from allocator.constraint_state import State, scalar_of, values_of
from allocator.pruning.bits import bits
from allocator.pruning.matching import Demand
from resourceapi.objects import Object

Value = tuple[str, Any]
"""The type of an attribute and one of its values."""


class ValueMap:
    """The values of one attribute by candidate, and the candidates by value.

    Without DRAListTypeAttributes, a device with a list can only be the first and only one of `matchAttribute`, and the first
    one of `distinctAttribute`. These are in `unmatchable`.
    """

    def __init__(self, attributes: Iterable[tuple[int, Object | None]], lists: bool) -> None:
        """Read the values.

        :param attributes: candidates with their attribute.
        :param lists: whether DRAListTypeAttributes is on.
        """
        self.lists = lists
        self.masks: dict[Value, int] = {}
        self.of_device: dict[int, tuple[Value, ...]] = {}
        self.unmatchable = 0
        self._allowed: dict[tuple[bool, State], int] = {}
        for index, attribute in attributes:
            values = self._values(attribute)
            self.of_device[index] = values
            for value in values:
                self.masks[value] = self.masks.get(value, 0) | 1 << index
            if not values and attribute is not None:
                self.unmatchable |= 1 << index

    def _values(self, attribute: Object | None) -> tuple[Value, ...]:
        if attribute is None:
            return ()
        if not self.lists:
            value = scalar_of(attribute)
            return () if value is None else (value,)
        kind, elements = values_of(attribute) or ("", ())
        return tuple(sorted((kind, element) for element in elements))

    @cached_property
    def partition(self) -> list[int]:
        """Groups of devices with the same first value, of which `distinctAttribute` allows one each."""
        parts: dict[Value, int] = {}
        for index, values in self.of_device.items():
            if values:
                parts[values[0]] = parts.get(values[0], 0) | 1 << index
        return list(parts.values())

    def suffice(self, demands: Iterable[Demand]) -> bool:
        """Whether there are enough values for the lists of that many devices to be disjoint."""
        if not self._has_lists:
            return True
        wanted, everything = 0, 0
        for count, devices in demands:
            wanted += count * min((len(self.of_device.get(index, ())) for index in bits(devices)), default=0)
            everything |= devices
        return wanted <= sum(1 for having in self.masks.values() if having & everything)

    @cached_property
    def _has_lists(self) -> bool:
        return any(len(values) > 1 for values in self.of_device.values())

    def elements(self, state: State) -> list[Value]:
        """The values in the state of a constraint: those in common so far, or those used."""
        if not self.lists:
            return [value for value in state if value is not None]
        return [(kind, element) for kind, elements in state for element in elements]

    def having(self, state: State) -> int:
        """The devices with one of the values in the state of a constraint."""
        return self._devices(state, False)

    def unlike(self, state: State) -> int:
        """The devices that `distinctAttribute` excludes in a state."""
        return self._devices(state, True) if state else 0

    def _devices(self, state: State, unmatchable: bool) -> int:
        found = self._allowed.get((unmatchable, state))
        if found is None:
            found = self.unmatchable if unmatchable else 0
            for value in self.elements(state):
                found |= self.masks.get(value, 0)
            self._allowed[unmatchable, state] = found
        return found
