"""Connected components of candidates that depend on each other, compared without names.

Devices that no request, constraint, counter or compatibility group tells apart are of one *class*. Devices that share
a counter set or a value of a constrained attribute, directly or through others, are a *component*; components with the same
components are of one *shape*, for instance the partitions of each GPU of a node.

An attribute whose values span several components (a model, a NUMA node above PCIe roots) would make one component of
everything. Its values may instead be *literal*: they are not renamed and do not connect devices.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, NamedTuple

from allocator.pruning.bits import bits
from allocator.pruning.problem import Problem
from allocator.pruning.values import ValueMap

_MAX_TRIALS = 20_000
"""The most visits of devices for choosing which attributes are literal."""


class Component:
    """Candidates that depend on each other."""

    __slots__ = ("classes", "devices", "places", "sets", "shape", "values")

    def __init__(self) -> None:
        self.devices = 0
        #: an identifier of the components
        self.shape = 0
        #: candidates that cannot be told apart, in the order in which the first of each class comes
        self.classes: list[int] = []
        #: the class of each candidate
        self.places: dict[int, int] = {}
        #: counter sets in the order in which they are met
        self.sets: list[int] = []
        #: values by attribute, numbered as they are met
        self.values: dict[tuple[int, Any], int] = {}


class Decomposition(NamedTuple):
    """Components, and the number of their classes; those of components with one shape count once."""

    components: list[Component]
    classes: int


class Components:
    """The components of a problem's candidates."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        #: the values of constrained attributes
        self.maps = _maps(problem)
        #: numbers of those whose values are literal
        self.literal: frozenset[int] = frozenset()
        self._remaining_classes: dict[Hashable, int] = {}
        self.components = self._best_components()

    def _columns(self) -> dict[int, tuple[int, ...]]:
        """By candidate, the options that could have it."""
        options = [option for slot in self._problem.slots for option in slot.options]
        masks = list(dict.fromkeys(option.initial for option in options))
        return {
            index: tuple(number for number, mask in enumerate(masks) if mask >> index & 1)
            for index in bits(self._problem.relevant)
        }

    def _best_components(self) -> list[Component]:
        """Components, with those attributes literal that leave the fewest classes; chosen one at a time."""
        columns = self._columns()
        found = self._decompose(columns)
        others = set(range(len(self.maps)))
        if len(others) ** 2 * self._problem.relevant.bit_count() > _MAX_TRIALS:
            return found.components
        while len(others) + bool(self._problem.counters.sets) > 1:
            literal = self.literal
            tried = []
            for number in sorted(others):
                self.literal = literal | {number}
                tried.append((self._decompose(columns), number))
            best, number = min(tried, key=lambda each: each[0].classes, default=(found, -1))
            if best.classes >= found.classes:
                self.literal = literal
                break
            found, self.literal = best, literal | {number}
            others.remove(number)
        return found.components

    def _decompose(self, columns: dict[int, tuple[int, ...]]) -> Decomposition:
        """The components, given the attributes that are literal now."""
        components = self._joined()
        shapes: dict[Hashable, int] = {}
        classes = 0
        for component in components:
            new = len(shapes)
            component.shape = shapes.setdefault(self._describe(component, columns), new)
            classes += len(component.classes) if component.shape == new else 0
        return Decomposition(components, classes)

    def _joined(self) -> list[Component]:
        """Join candidates that share a counter set or a value (union-find)."""
        parent: dict[int, int] = {}

        def root(index: int) -> int:
            while parent.setdefault(index, index) != index:
                parent[index] = parent[parent[index]]
                index = parent[index]
            return index

        first: dict[Hashable, int] = {}
        for index in bits(self._problem.relevant):
            for tie in self._edges(index):
                parent[root(index)] = root(first.setdefault(tie, index))
        components: dict[int, Component] = {}
        for index in bits(self._problem.relevant):
            components.setdefault(root(index), Component()).devices |= 1 << index
        return list(components.values())

    def _edges(self, index: int) -> Iterable[Hashable]:
        yield from self._problem.counters.of_device.get(index, ())
        for number, values in enumerate(self.maps):
            for value in values.of_device.get(index, ()) if number not in self.literal else ():
                yield number, value

    def _describe(self, component: Component, columns: dict[int, tuple[int, ...]]) -> Hashable:
        """The structure of a component. Also sets its classes, and numbers its counter sets and values.

        Devices are sorted by kind, so the order in which the search tries them does not change the shape.
        """
        kinds = {index: (columns[index], self._kind(index)) for index in bits(component.devices)}
        classes: dict[Hashable, int] = {}
        for index in sorted(kinds, key=lambda index: (kinds[index], index)):
            key = (kinds[index], self._drawn(component, index), self._valued(component, index))
            place = classes.setdefault(key, len(classes))
            if place == len(component.classes):
                component.classes.append(0)
            component.classes[place] |= 1 << index
            component.places[index] = place
        return tuple(classes)

    def _kind(self, index: int) -> tuple[Any, ...]:
        """A device without the names of its counter sets and values."""
        counters = self._problem.counters
        drawn = tuple(
            (counters.sets[place].draws[index], tuple(sorted(counters.sets[place].groups[index])))
            for place in counters.of_device.get(index, ())
        )
        values = tuple(of.of_device.get(index, ()) for of in self.maps)
        literal = tuple(values[number] for number in sorted(self.literal))
        return self._remaining(index), drawn, tuple(map(len, values)), literal

    def _remaining(self, index: int) -> int:
        """A number for what is left of a shared device; equal for equal capacities with equal amounts left."""
        if not self._problem.shared >> index & 1:
            return -1
        device = self._problem.devices[index]
        left = self._problem.attempt.capacity_left(device)
        remaining = (id(device.shape.capacities), *sorted(left.items(), key=by_name))
        return self._remaining_classes.setdefault(remaining, len(self._remaining_classes))

    def _drawn(self, component: Component, index: int) -> Hashable:
        drawn = []
        for place in self._problem.counters.of_device.get(index, ()):
            if place not in component.sets:
                component.sets.append(place)
            each = self._problem.counters.sets[place]
            drawn.append((component.sets.index(place), each.draws[index], each.groups[index]))
        return tuple(drawn)

    def _valued(self, component: Component, index: int) -> Hashable:
        valued = []
        for number, values in enumerate(self.maps):
            found = values.of_device.get(index)
            if found is not None and number not in self.literal:
                valued.append(
                    (
                        number,
                        tuple(component.values.setdefault((number, v), len(component.values)) for v in found),
                    )
                )
        return tuple(valued)


def by_name(entry: tuple[str, object]) -> str:
    """A sort key for amounts by name."""
    return entry[0]


def _maps(problem: Problem) -> list[ValueMap]:
    found = {}
    for slot in problem.slots:
        for option in slot.options:
            for _, _, values in option.constraints:
                found[id(values)] = values
    return list(found.values())
