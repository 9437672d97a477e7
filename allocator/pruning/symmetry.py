"""Symmetry: interchangeable devices, and states that are equivalent except for names.

Renaming devices, counter sets and values that maps components to components of the same shape turns
solutions into solutions. Nothing else is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from allocator.demand import ClaimDemand
from allocator.pruning.counters import bits
from allocator.pruning.domains import ALL, State, Task
from allocator.pruning.problem import Option, SearchProblem, ValueMap
from resourceapi.limits import ALLOCATION_RESULTS

# Connected components of candidates that depend on each other, compared without names.
# Devices that no request, constraint, counter or compatibility group tells apart are of one *class*.
# Devices that share a counter set or a value of a constrained attribute, directly or through others, are a
# *component*; components with the same components are of one *shape*, for instance the partitions of each
# GPU of a node.
# An attribute whose values span several components (a model, a NUMA node above PCIe roots) would make one
# component of everything. Its values may instead be *literal*: they are not renamed and do not connect
# devices.

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

    def __init__(self, problem: SearchProblem) -> None:
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


def _maps(problem: SearchProblem) -> list[ValueMap]:
    found = {}
    for slot in problem.slots:
        for option in slot.options:
            for _, _, values in option.constraints:
                found[id(values)] = values
    return list(found.values())


Token = tuple[Hashable, ...]

ConstraintRef = tuple[int, int, int]
"""A constraint: the index of its claim, its index in the claim, and the number of its attribute."""


class Symmetry:
    """Keys that are equal for equivalent states of a problem's candidates."""

    def __init__(self, problem: SearchProblem) -> None:
        self._problem = problem
        components = Components(problem)
        self.components, self._maps, self._literal = (
            components.components,
            components.maps,
            components.literal,
        )
        self._numbers: dict[Hashable, int] = {}
        self.component_of = {
            index: component for component in self.components for index in bits(component.devices)
        }
        self._of_value = {token: component for component in self.components for token in component.values}
        places = range(len(problem.slots) + 1)
        #: by slot: candidates for it and later ones
        self._wanted = [0 for _ in places]
        #: by slot: constraints of its claim for it and later ones, and for it alone
        self._constraints: list[list[ConstraintRef]] = [[] for _ in places]
        self._own_constraints: list[set[ConstraintRef]] = [set() for _ in places]
        #: by slot: how many devices it and later ones of its claim take at most
        self._most = [0 for _ in places]
        self._read_slots()
        #: whether a claim may come to have more devices than it can hold
        self._may_exceed_limit = any(self._most[first] > ALLOCATION_RESULTS for first in problem.first)
        self._kinds = self._number_kinds()

    def _read_slots(self) -> None:
        """By slot, for it and later ones: candidates, constraints of its claim, the most devices that the claim takes."""
        slots = self._problem.slots
        numbers = {id(values): number for number, values in enumerate(self._maps)}
        for slot in reversed(slots):
            place = slot.place
            for option in slot.options:
                self._wanted[place] |= option.initial
                for constraint, _, values in option.constraints:
                    self._own_constraints[place].add((slot.claim, constraint, numbers[id(values)]))
            self._wanted[place] |= self._wanted[place + 1]
            constraints = set(self._own_constraints[place])
            self._most[place] = max(option.wanted for option in slot.options)
            if place + 1 < len(slots) and slots[place + 1].claim == slot.claim:
                constraints |= set(self._constraints[place + 1])
                self._most[place] += self._most[place + 1]
            self._constraints[place] = sorted(constraints)

    def _number_kinds(self) -> list[int]:
        """Equal numbers for equal slots; slots with constraints are equal only within one claim."""
        numbers: dict[Hashable, int] = {}
        found = []
        for slot in self._problem.slots:
            constraints = tuple(sorted(self._own_constraints[slot.place]))
            options = tuple(
                (o.initial, o.capacity_key, o.wanted, o.everything, self._bound(o)) for o in slot.options
            )
            key = (options, constraints, slot.claim if self._may_exceed_limit else None)
            found.append(numbers.setdefault(key, len(numbers)))
        return found

    def _bound(self, option: Option) -> Hashable:
        return tuple((place, distinct, id(values)) for place, distinct, values in option.constraints)

    # --- states

    def equivalence_key(self, slot: int, state: State) -> Hashable:
        """Equal for states from which the requests from a slot on can be served equally well."""
        wanted, constraints = self._wanted[slot], self._constraints[slot]
        return slot, self._room(slot), self._equivalence_key(wanted, constraints, state)

    def equivalence_key_of_tasks(self, tasks: Sequence[Task], state: State) -> Hashable:
        """Like :meth:`equivalence_key`, for requests in any order."""
        wanted = 0
        constraints: set[ConstraintRef] = set()
        kinds = []
        tried = 0
        for slot, option, left, untried in tasks:
            chosen = -1 if option is None else slot.options.index(option)
            kinds.append((self._kinds[slot.place], chosen, left, untried != ALL))
            # At most one request has been begun.
            tried |= ~untried
            for each in slot.options if option is None else (option,):
                wanted |= each.initial & untried
            constraints |= self._own_constraints[slot.place]
        claims = {task.slot.claim for task in tasks}
        taken = [
            len(self._problem.attempt.taken(self._problem.claims[claim].header)) for claim in sorted(claims)
        ]
        devices_taken = tuple(taken) if self._may_exceed_limit else ()
        return (
            tuple(sorted(kinds)),
            devices_taken,
            self._equivalence_key(wanted, sorted(constraints), state, tried),
        )

    def _equivalence_key(
        self, wanted: int, constraints: Iterable[ConstraintRef], state: State, tried: int = 0
    ) -> Hashable:
        constrained_values, bound = self._constrained_values(constraints)
        components = sorted(
            self._state_of(component, state, wanted, constrained_values.get(id(component), ()), tried)
            for component in self.components
            if component.devices & wanted
        )
        return bound, tuple(components), self._held(state)

    def exact_key(self, slot: int, state: State) -> Hashable:
        """Equal for states, names included, from which the search tries the same devices in the same order."""
        problem = self._problem
        claim: ClaimDemand = problem.claims[problem.slots[slot].claim]
        remembered = [
            problem.attempt.constraint_state(claim.header, place) for place in range(len(claim.constraints))
        ]
        taken = len(problem.attempt.taken(claim.header))
        held = self._held(state)
        return slot, state.free, held, state.left, state.common, self._in_use(state), tuple(remembered), taken

    def interchangeable(self, slot: int, state: State) -> Interchangeability:
        """Which devices are interchangeable as the next device of this slot."""
        return self._interchangeable(self._wanted[slot], self._constraints[slot], state)

    def interchangeable_for_tasks(self, tasks: Sequence[Task], state: State) -> Interchangeability:
        """Like :meth:`interchangeable`, for requests in any order."""
        constraints: set[ConstraintRef] = set()
        for task in tasks:
            constraints |= self._own_constraints[task.slot.place]
        return self._interchangeable(self._problem.relevant, sorted(constraints), state)

    def _interchangeable(
        self, wanted: int, constraints: Iterable[ConstraintRef], state: State
    ) -> Interchangeability:
        constrained_values, _ = self._constrained_values(constraints)
        return Interchangeability(
            self.component_of,
            state,
            lambda component: self._state_of(
                component, state, wanted, constrained_values.get(id(component), ())
            ),
            self._consumed,
        )

    def _state_of(
        self, component: Component, state: State, wanted: int, constrained_values: Hashable, tried: int = 0
    ) -> int:
        """A number for the state of a component; equal for components of one shape in the same state.

        :param tried: candidates that the request which has been begun must not take any more.
        """
        free = state.free & wanted
        description = (
            component.shape,
            tuple([(members & free).bit_count() for members in component.classes]),
            tuple([state.left[place] for place in component.sets]),
            tuple([state.common[place] for place in component.sets]),
            constrained_values,
            tuple([(members & free & tried).bit_count() for members in component.classes]) if tried else (),
            self._consumed(component, state.in_use & wanted, tried),
        )
        return self._number(description)

    def _consumed(self, component: Component, in_use: int, tried: int = 0) -> tuple[Token, ...]:
        """What is consumed of the component's shared devices, by class."""
        in_use &= component.devices
        if not in_use:
            return ()
        attempt, devices = self._problem.attempt, self._problem.devices
        return tuple(
            sorted(
                (
                    component.places[index],
                    self._number(
                        tuple(sorted(attempt.shares.get(devices[index].id, {}).items(), key=by_name))
                    ),
                    tried >> index & 1,
                )
                for index in bits(in_use)
            )
        )

    def _constrained_values(
        self, constraints: Iterable[ConstraintRef]
    ) -> tuple[dict[int, Hashable], Hashable]:
        """The values that constraints have already, by component; and the constraints that have any."""
        problem = self._problem
        constrained_values: dict[int, list[Token]] = {}
        bound: list[Hashable] = []
        for constraint in constraints:
            claim, place, number = constraint
            remembered = problem.attempt.constraint_state(problem.claims[claim].header, place)
            if not remembered:
                continue
            if number in self._literal:
                bound.append((constraint, frozenset(self._maps[number].elements(remembered))))
                continue
            bound.append(constraint)
            for value in self._maps[number].elements(remembered):
                component = self._of_value.get((number, value))
                if component is not None:
                    constrained_values.setdefault(id(component), []).append(
                        (*constraint, component.values[number, value])
                    )
        return {component: tuple(sorted(each)) for component, each in constrained_values.items()}, tuple(
            bound
        )

    def _number(self, description: Hashable) -> int:
        return self._numbers.setdefault(description, len(self._numbers))

    def _room(self, slot: int) -> int:
        """How many devices the claim has, if it could get more than its status can hold; otherwise 0."""
        problem = self._problem
        claim = problem.slots[slot].claim
        taken = len(problem.attempt.taken(problem.claims[claim].header))
        return taken if taken + self._most[slot] > ALLOCATION_RESULTS else 0

    def _held(self, state: State) -> Hashable:
        """Which claims hold which devices; matters only with admin access."""
        return tuple(sorted(state.held.items()))

    def _in_use(self, state: State) -> Hashable:
        """What is consumed of each shared device."""
        problem = self._problem
        return tuple(
            (
                index,
                tuple(sorted(problem.attempt.shares.get(problem.devices[index].id, {}).items(), key=by_name)),
            )
            for index in bits(state.in_use)
        )


class Interchangeability:
    """For one choice of a device: which candidates are interchangeable."""

    def __init__(
        self,
        component_of: Mapping[int, Component],
        state: State,
        number: Callable[[Component], int],
        consumed: Callable[[Component, int], tuple[Token, ...]],
    ) -> None:
        """Compare candidates in one state.

        :param number: gives the number of a component's state.
        :param consumed: gives what is consumed of some of a component's shared devices.
        """
        self._cell_of = component_of
        self._free = state.free
        self._in_use = state.in_use
        self._number = number
        self._consumed = consumed
        self._numbers: dict[int, int] = {}

    def token(self, index: int, *, last: bool) -> Token:
        """Equal for interchangeable candidates: if the first one leads to no solution, the later ones do not either.

        :param index: the candidate.
        :param last: whether the request needs no device after this one; otherwise later candidates matter, too.
        """
        component = self._cell_of[index]
        number = self._numbers.get(id(component))
        if number is None:
            number = self._numbers[id(component)] = self._number(component)
        exclusive_demand = self._consumed(component, self._in_use & 1 << index)
        if last:
            return number, component.places[index], exclusive_demand
        later = self._free & (-2 << index)
        return (
            number,
            component.places[index],
            exclusive_demand,
            tuple([(members & later).bit_count() for members in component.classes]),
            self._consumed(component, self._in_use & later),
        )
