"""What is the same but for names: devices that can stand in for each other, and states from which the search goes alike.

Renaming devices, counter sets and values so that cells come to lie on cells of their shape (`allocator.pruning.cells`)
leads from solutions to solutions, which is all that is used here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

from allocator.demand import ClaimDemand
from allocator.pruning.bits import bits
from allocator.pruning.cells import Cell, Structure, by_name
from allocator.pruning.problem import Option, Problem
from allocator.pruning.prospects import ALL, Task
from allocator.pruning.state import State
from resourceapi.limits import ALLOCATION_RESULTS

Token = tuple[Hashable, ...]

Bond = tuple[int, int, int]
"""A constraint: the places of its claim and in its claim, and the number of the attribute's values."""


class Symmetry:
    """What tells states of a problem's candidates apart."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        structure = Structure(problem)
        self.cells, self._maps, self._literal = structure.cells, structure.maps, structure.literal
        self._numbers: dict[Hashable, int] = {}
        self.cell_of = {index: cell for cell in self.cells for index in bits(cell.devices)}
        self._of_value = {token: cell for cell in self.cells for token in cell.values}
        places = range(len(problem.slots) + 1)
        #: by slot: candidates for it and later ones
        self._wanted = [0 for _ in places]
        #: by slot: constraints of its claim for it and later ones, and for it alone
        self._bonds: list[list[Bond]] = [[] for _ in places]
        self._own_bonds: list[set[Bond]] = [set() for _ in places]
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
                self._wanted[place] |= option.static
                for bond, _, values in option.bonds:
                    self._own_bonds[place].add((slot.claim, bond, numbers[id(values)]))
            self._wanted[place] |= self._wanted[place + 1]
            bonds = set(self._own_bonds[place])
            self._most[place] = max(option.wanted for option in slot.options)
            if place + 1 < len(slots) and slots[place + 1].claim == slot.claim:
                bonds |= set(self._bonds[place + 1])
                self._most[place] += self._most[place + 1]
            self._bonds[place] = sorted(bonds)

    def _number_kinds(self) -> list[int]:
        """Slots that ask for the same get the same number; those with constraints only if they are of one claim."""
        numbers: dict[Hashable, int] = {}
        found = []
        for slot in self._problem.slots:
            bonds = tuple(sorted(self._own_bonds[slot.place]))
            options = tuple(
                (o.static, o.appetite, o.wanted, o.everything, self._bound(o)) for o in slot.options
            )
            key = (options, bonds, slot.claim if self._crowded else None)
            found.append(numbers.setdefault(key, len(numbers)))
        return found

    def _bound(self, option: Option) -> Hashable:
        return tuple((place, distinct, id(values)) for place, distinct, values in option.bonds)

    # --- states

    def remaining(self, slot: int, state: State) -> Hashable:
        """All that decides whether the requests from a slot on can be served; alike for what differs in names only."""
        wanted, bonds = self._wanted[slot], self._bonds[slot]
        return slot, self._room(slot), self._equivalence_key(wanted, bonds, state)

    def equivalence_key(self, tasks: Sequence[Task], state: State) -> Hashable:
        """The same for requests in no particular order."""
        wanted = 0
        bonds: set[Bond] = set()
        kinds = []
        tried = 0
        for slot, option, left, untried in tasks:
            chosen = -1 if option is None else slot.options.index(option)
            kinds.append((self._kinds[slot.place], chosen, left, untried != ALL))
            # One request at most is begun.
            tried |= ~untried
            for each in slot.options if option is None else (option,):
                wanted |= each.static & untried
            bonds |= self._own_bonds[slot.place]
        claims = {task.slot.claim for task in tasks}
        taken = [len(self._problem.attempt.taken(self._problem.claims[claim])) for claim in sorted(claims)]
        crowded = tuple(taken) if self._crowded else ()
        return tuple(sorted(kinds)), crowded, self._equivalence_key(wanted, sorted(bonds), state, tried)

    def _equivalence_key(self, wanted: int, bonds: Iterable[Bond], state: State, tried: int = 0) -> Hashable:
        pins, bound = self._pins(bonds)
        cells = sorted(
            self._state_of(cell, state, wanted, pins.get(id(cell), ()), tried)
            for cell in self.cells
            if cell.devices & wanted
        )
        return bound, tuple(cells), self._held(state)

    def exactly(self, slot: int, state: State) -> Hashable:
        """All that decides how the search goes on, names included: with the same, it looks at the same devices."""
        problem = self._problem
        claim: ClaimDemand = problem.claims[problem.slots[slot].claim]
        remembered = [
            problem.attempt.constraint_state(claim, place) for place in range(len(claim.constraints))
        ]
        taken = len(problem.attempt.taken(claim))
        held = self._held(state)
        return slot, state.free, held, state.left, state.common, self._in_use(state), tuple(remembered), taken

    def stand_ins(self, slot: int, state: State) -> StandIns:
        """Tells which devices could stand in for each other as the next device of this slot."""
        return self._stand_ins(self._wanted[slot], self._bonds[slot], state)

    def stand_ins_for(self, tasks: Sequence[Task], state: State) -> StandIns:
        """The same for requests in no particular order."""
        bonds: set[Bond] = set()
        for task in tasks:
            bonds |= self._own_bonds[task.slot.place]
        return self._stand_ins(self._problem.relevant, sorted(bonds), state)

    def _stand_ins(self, wanted: int, bonds: Iterable[Bond], state: State) -> StandIns:
        pins, _ = self._pins(bonds)
        return StandIns(
            self.cell_of,
            state,
            lambda cell: self._state_of(cell, state, wanted, pins.get(id(cell), ())),
            self._consumed,
        )

    def _state_of(self, cell: Cell, state: State, wanted: int, pins: Hashable, tried: int = 0) -> int:
        """A number for the state of a cell; the same for cells of one shape in the same state.

        `tried`: candidates that a request which is begun must not take any more.
        """
        free = state.free & wanted
        description = (
            cell.shape,
            tuple([(members & free).bit_count() for members in cell.classes]),
            tuple([state.left[place] for place in cell.sets]),
            tuple([state.common[place] for place in cell.sets]),
            pins,
            tuple([(members & free & tried).bit_count() for members in cell.classes]) if tried else (),
            self._consumed(cell, state.in_use & wanted, tried),
        )
        return self._number(description)

    def _consumed(self, cell: Cell, in_use: int, tried: int = 0) -> tuple[Token, ...]:
        """What is consumed of the cell's shared devices, whichever of a class they are."""
        in_use &= cell.devices
        if not in_use:
            return ()
        attempt, devices = self._problem.attempt, self._problem.devices
        return tuple(
            sorted(
                (
                    cell.places[index],
                    self._number(
                        tuple(sorted(attempt.shares.get(devices[index].id, {}).items(), key=by_name))
                    ),
                    tried >> index & 1,
                )
                for index in bits(in_use)
            )
        )

    def _pins(self, bonds: Iterable[Bond]) -> tuple[dict[int, Hashable], Hashable]:
        """The values that constraints remember, by cell; and which constraints remember any."""
        problem = self._problem
        pins: dict[int, list[Token]] = {}
        bound: list[Hashable] = []
        for bond in bonds:
            claim, place, number = bond
            remembered = problem.attempt.constraint_state(problem.claims[claim], place)
            if not remembered:
                continue
            if number in self._literal:
                bound.append((bond, frozenset(self._maps[number].elements(remembered))))
                continue
            bound.append(bond)
            for value in self._maps[number].elements(remembered):
                cell = self._of_value.get((number, value))
                if cell is not None:
                    pins.setdefault(id(cell), []).append((*bond, cell.values[number, value]))
        return {cell: tuple(sorted(each)) for cell, each in pins.items()}, tuple(bound)

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


class StandIns:
    """For one choice of a device: which candidates come to the same."""

    def __init__(
        self,
        cell_of: Mapping[int, Cell],
        state: State,
        number: Callable[[Cell], int],
        consumed: Callable[[Cell, int], tuple[Token, ...]],
    ) -> None:
        """`number`: of a cell's state; `consumed`: what is consumed of some of its shared devices."""
        self._cell_of = cell_of
        self._free = state.free
        self._in_use = state.in_use
        self._number = number
        self._consumed = consumed
        self._numbers: dict[int, int] = {}

    def token(self, index: int, *, last: bool) -> Token:
        """The same for candidates of which the later ones fail if the first does.

        `last`: whether the request needs no more devices after this one; otherwise what comes after it matters, too.
        """
        cell = self._cell_of[index]
        number = self._numbers.get(id(cell))
        if number is None:
            number = self._numbers[id(cell)] = self._number(cell)
        own = self._consumed(cell, self._in_use & 1 << index)
        if last:
            return number, cell.places[index], own
        later = self._free & (-2 << index)
        return (
            number,
            cell.places[index],
            own,
            tuple([(members & later).bit_count() for members in cell.classes]),
            self._consumed(cell, self._in_use & later),
        )
