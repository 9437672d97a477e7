"""What is the same but for names: devices that can stand in for each other, and states from which the search goes alike.

Renaming devices, counter sets and values so that components come to lie on components of their shape (`allocator.pruning.components`)
leads from solutions to solutions, which is all that is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from allocator.demand import ClaimDemand
from allocator.pruning.bits import bits
from allocator.pruning.components import Component, Components, by_name
from allocator.pruning.domains import ALL, Task
from allocator.pruning.problem import Option, Problem
from allocator.pruning.state import State
from resourceapi.limits import ALLOCATION_RESULTS

Token = tuple[Hashable, ...]

ConstraintRef = tuple[int, int, int]
"""A constraint: the places of its claim and in its claim, and the number of the attribute's values."""


class Symmetry:
    """What tells states of a problem's candidates apart."""

    def __init__(self, problem: Problem) -> None:
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
        self._crowded = any(self._most[first] > ALLOCATION_RESULTS for first in problem.first)
        self._kinds = self._number_kinds()

    def _read_slots(self) -> None:
        """What matters from a slot on: candidates, constraints of its claim, how many devices the claim takes at most."""
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
        """Slots that ask for the same get the same number; those with constraints only if they are of one claim."""
        numbers: dict[Hashable, int] = {}
        found = []
        for slot in self._problem.slots:
            constraints = tuple(sorted(self._own_constraints[slot.place]))
            options = tuple(
                (o.initial, o.capacity_key, o.wanted, o.everything, self._bound(o)) for o in slot.options
            )
            key = (options, constraints, slot.claim if self._crowded else None)
            found.append(numbers.setdefault(key, len(numbers)))
        return found

    def _bound(self, option: Option) -> Hashable:
        return tuple((place, distinct, id(values)) for place, distinct, values in option.constraints)

    # --- states

    def equivalence_key(self, slot: int, state: State) -> Hashable:
        """All that decides whether the requests from a slot on can be served; alike for what differs in names only."""
        wanted, constraints = self._wanted[slot], self._constraints[slot]
        return slot, self._room(slot), self._equivalence_key(wanted, constraints, state)

    def equivalence_key_of_tasks(self, tasks: Sequence[Task], state: State) -> Hashable:
        """The same for requests in no particular order."""
        wanted = 0
        constraints: set[ConstraintRef] = set()
        kinds = []
        tried = 0
        for slot, option, left, untried in tasks:
            chosen = -1 if option is None else slot.options.index(option)
            kinds.append((self._kinds[slot.place], chosen, left, untried != ALL))
            # One request at most is begun.
            tried |= ~untried
            for each in slot.options if option is None else (option,):
                wanted |= each.initial & untried
            constraints |= self._own_constraints[slot.place]
        claims = {task.slot.claim for task in tasks}
        taken = [len(self._problem.attempt.taken(self._problem.claims[claim])) for claim in sorted(claims)]
        crowded = tuple(taken) if self._crowded else ()
        return tuple(sorted(kinds)), crowded, self._equivalence_key(wanted, sorted(constraints), state, tried)

    def _equivalence_key(
        self, wanted: int, constraints: Iterable[ConstraintRef], state: State, tried: int = 0
    ) -> Hashable:
        pins, bound = self._pins(constraints)
        components = sorted(
            self._state_of(component, state, wanted, pins.get(id(component), ()), tried)
            for component in self.components
            if component.devices & wanted
        )
        return bound, tuple(components), self._held(state)

    def exact_key(self, slot: int, state: State) -> Hashable:
        """All that decides how the search goes on, names included: with the same, it looks at the same devices."""
        problem = self._problem
        claim: ClaimDemand = problem.claims[problem.slots[slot].claim]
        remembered = [
            problem.attempt.constraint_state(claim, place) for place in range(len(claim.constraints))
        ]
        taken = len(problem.attempt.taken(claim))
        held = self._held(state)
        return slot, state.free, held, state.left, state.common, self._in_use(state), tuple(remembered), taken

    def interchangeable(self, slot: int, state: State) -> Interchangeability:
        """Tells which devices could stand in for each other as the next device of this slot."""
        return self._interchangeable(self._wanted[slot], self._constraints[slot], state)

    def interchangeable_for_tasks(self, tasks: Sequence[Task], state: State) -> Interchangeability:
        """The same for requests in no particular order."""
        constraints: set[ConstraintRef] = set()
        for task in tasks:
            constraints |= self._own_constraints[task.slot.place]
        return self._interchangeable(self._problem.relevant, sorted(constraints), state)

    def _interchangeable(
        self, wanted: int, constraints: Iterable[ConstraintRef], state: State
    ) -> Interchangeability:
        pins, _ = self._pins(constraints)
        return Interchangeability(
            self.component_of,
            state,
            lambda component: self._state_of(component, state, wanted, pins.get(id(component), ())),
            self._consumed,
        )

    def _state_of(
        self, component: Component, state: State, wanted: int, pins: Hashable, tried: int = 0
    ) -> int:
        """A number for the state of a component; the same for components of one shape in the same state.

        `tried`: candidates that a request which is begun must not take any more.
        """
        free = state.free & wanted
        description = (
            component.shape,
            tuple([(members & free).bit_count() for members in component.classes]),
            tuple([state.left[place] for place in component.sets]),
            tuple([state.common[place] for place in component.sets]),
            pins,
            tuple([(members & free & tried).bit_count() for members in component.classes]) if tried else (),
            self._consumed(component, state.in_use & wanted, tried),
        )
        return self._number(description)

    def _consumed(self, component: Component, in_use: int, tried: int = 0) -> tuple[Token, ...]:
        """What is consumed of the component's shared devices, whichever of a class they are."""
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

    def _pins(self, constraints: Iterable[ConstraintRef]) -> tuple[dict[int, Hashable], Hashable]:
        """The values that constraints remember, by component; and which constraints remember any."""
        problem = self._problem
        pins: dict[int, list[Token]] = {}
        bound: list[Hashable] = []
        for constraint in constraints:
            claim, place, number = constraint
            remembered = problem.attempt.constraint_state(problem.claims[claim], place)
            if not remembered:
                continue
            if number in self._literal:
                bound.append((constraint, frozenset(self._maps[number].elements(remembered))))
                continue
            bound.append(constraint)
            for value in self._maps[number].elements(remembered):
                component = self._of_value.get((number, value))
                if component is not None:
                    pins.setdefault(id(component), []).append((*constraint, component.values[number, value]))
        return {component: tuple(sorted(each)) for component, each in pins.items()}, tuple(bound)

    def _number(self, description: Hashable) -> int:
        return self._numbers.setdefault(description, len(self._numbers))

    def _room(self, slot: int) -> int:
        """How many devices the claim has, if there is a danger of its getting too many."""
        problem = self._problem
        claim = problem.slots[slot].claim
        taken = len(problem.attempt.taken(problem.claims[claim]))
        return taken if taken + self._most[slot] > ALLOCATION_RESULTS else 0

    def _held(self, state: State) -> Hashable:
        """With admin access it matters who holds what."""
        return tuple(sorted(state.held.items()))

    def _in_use(self, state: State) -> Hashable:
        """What is consumed of shared devices, each by itself."""
        problem = self._problem
        return tuple(
            (
                index,
                tuple(sorted(problem.attempt.shares.get(problem.devices[index].id, {}).items(), key=by_name)),
            )
            for index in bits(state.in_use)
        )


class Interchangeability:
    """For one choice of a device: which candidates come to the same."""

    def __init__(
        self,
        component_of: Mapping[int, Component],
        state: State,
        number: Callable[[Component], int],
        consumed: Callable[[Component, int], tuple[Token, ...]],
    ) -> None:
        """`number`: of a component's state; `consumed`: what is consumed of some of its shared devices."""
        self._cell_of = component_of
        self._free = state.free
        self._in_use = state.in_use
        self._number = number
        self._consumed = consumed
        self._numbers: dict[int, int] = {}

    def token(self, index: int, *, last: bool) -> Token:
        """The same for candidates of which the later ones fail if the first does.

        `last`: whether the request needs no more devices after this one; otherwise what comes after it matters, too.
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
