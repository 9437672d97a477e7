"""What is the same but for names: devices that can stand in for each other, and states from which the search goes alike.

Devices that no request, constraint, counter or compatibility group tells apart are of one *class*. Devices that share
a counter set or a value of a constrained attribute, directly or by way of others, are a *cell*; cells with the same
structure are of one *shape*, for instance the partitions of each GPU of a node. Renaming devices, counter sets and
values within these limits leads from solutions to solutions, which is all that is used here.

An attribute whose values lie across what other ties hold together (a model, a NUMA node above PCIe roots) would make
one cell of it all. Its values may instead be *literal*: they are not renamed, and so tie nothing together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from allocator.demand import ClaimDemand
from allocator.pruning.bits import bits
from allocator.pruning.problem import Option, Problem
from allocator.pruning.prospects import ALL, Task
from allocator.pruning.state import State
from allocator.pruning.values import ValueMap
from resourceapi.limits import ALLOCATION_RESULTS

Token = tuple[Hashable, ...]

Bond = tuple[int, int, int]
"""A constraint: the places of its claim and in its claim, and the number of the attribute's values."""


_MAX_TRIALS = 20_000
"""How often a device is looked at, at most, to find out which attributes are best literal."""


class Cell:
    """Candidates that depend on each other."""

    __slots__ = ("classes", "devices", "places", "sets", "shape", "values")

    def __init__(self) -> None:
        self.devices = 0
        #: an identifier of the structure
        self.shape = 0
        #: candidates that cannot be told apart, in the order in which the first of each class comes
        self.classes: list[int] = []
        #: the class of each candidate
        self.places: dict[int, int] = {}
        #: counter sets in the order in which they are met
        self.sets: list[int] = []
        #: values by attribute, numbered as they are met
        self.values: dict[tuple[int, Any], int] = {}


class Division(NamedTuple):
    """Cells, and how many classes they have; alike cells count once."""

    cells: list[Cell]
    classes: int


class Symmetry:
    """Classes and cells of a problem's candidates."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._maps = _maps(problem)
        self._numbers: dict[Hashable, int] = {}
        #: numbers of the attributes whose values are literal
        self._literal: frozenset[int] = frozenset()
        self.cells = self._best_cells()
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

    # --- structure

    def _columns(self) -> dict[int, tuple[int, ...]]:
        """By candidate, the options that could have it."""
        options = [option for slot in self._problem.slots for option in slot.options]
        masks = list(dict.fromkeys(option.static for option in options))
        return {
            index: tuple(number for number, mask in enumerate(masks) if mask >> index & 1)
            for index in bits(self._problem.relevant)
        }

    def _best_cells(self) -> list[Cell]:
        """Cells, with those attributes literal that leave the fewest classes; found one after the other."""
        columns = self._columns()
        found = self._cells(columns)
        others = set(range(len(self._maps)))
        if len(others) ** 2 * self._problem.relevant.bit_count() > _MAX_TRIALS:
            return found.cells
        while len(others) + bool(self._problem.counters.sets) > 1:
            literal = self._literal
            tried = []
            for number in sorted(others):
                self._literal = literal | {number}
                tried.append((self._cells(columns), number))
            best, number = min(tried, key=lambda each: each[0].classes, default=(found, -1))
            if best.classes >= found.classes:
                self._literal = literal
                break
            found, self._literal = best, literal | {number}
            others.remove(number)
        return found.cells

    def _cells(self, columns: dict[int, tuple[int, ...]]) -> Division:
        """The cells that there are with the attributes that are literal now."""
        cells = self._joined()
        shapes: dict[Hashable, int] = {}
        classes = 0
        for cell in cells:
            known = len(shapes)
            cell.shape = shapes.setdefault(self._describe(cell, columns), known)
            classes += len(cell.classes) if cell.shape == known else 0
        return Division(cells, classes)

    def _joined(self) -> list[Cell]:
        """Joins candidates that share a counter set or a value."""
        parent: dict[int, int] = {}

        def root(index: int) -> int:
            while parent.setdefault(index, index) != index:
                parent[index] = parent[parent[index]]
                index = parent[index]
            return index

        first: dict[Hashable, int] = {}
        for index in bits(self._problem.relevant):
            for tie in self._ties(index):
                parent[root(index)] = root(first.setdefault(tie, index))
        cells: dict[int, Cell] = {}
        for index in bits(self._problem.relevant):
            cells.setdefault(root(index), Cell()).devices |= 1 << index
        return list(cells.values())

    def _ties(self, index: int) -> Iterable[Hashable]:
        yield from self._problem.counters.of_device.get(index, ())
        for number, values in enumerate(self._maps):
            for value in values.of_device.get(index, ()) if number not in self._literal else ():
                yield number, value

    def _describe(self, cell: Cell, columns: dict[int, tuple[int, ...]]) -> Hashable:
        """The structure of a cell; fills in its classes, counter sets and values, numbered as they are met.

        Devices are met in an order of kinds, so that the order in which they are tried makes no other shape.
        """
        kinds = {index: (columns[index], self._kind(index)) for index in bits(cell.devices)}
        classes: dict[Hashable, int] = {}
        for index in sorted(kinds, key=lambda index: (kinds[index], index)):
            key = (kinds[index], self._drawn(cell, index), self._valued(cell, index))
            place = classes.setdefault(key, len(classes))
            if place == len(cell.classes):
                cell.classes.append(0)
            cell.classes[place] |= 1 << index
            cell.places[index] = place
        return tuple(classes)

    def _kind(self, index: int) -> tuple[Any, ...]:
        """What a device is like, whatever the names of counter sets and values."""
        counters = self._problem.counters
        drawn = tuple(
            (counters.sets[place].draws[index], tuple(sorted(counters.sets[place].groups[index])))
            for place in counters.of_device.get(index, ())
        )
        values = tuple(of.of_device.get(index, ()) for of in self._maps)
        literal = tuple(values[number] for number in sorted(self._literal))
        return self._stock(index), drawn, tuple(map(len, values)), literal

    def _stock(self, index: int) -> int:
        """Of shared devices the same number for the same capacities of which the same is left."""
        if not self._problem.shared >> index & 1:
            return -1
        device = self._problem.devices[index]
        left = self._problem.attempt.capacity_left(device)
        return self._number((id(device.kind.room), *sorted(left.items(), key=_name)))

    def _number(self, description: Hashable) -> int:
        return self._numbers.setdefault(description, len(self._numbers))

    def _drawn(self, cell: Cell, index: int) -> Hashable:
        drawn = []
        for place in self._problem.counters.of_device.get(index, ()):
            if place not in cell.sets:
                cell.sets.append(place)
            each = self._problem.counters.sets[place]
            drawn.append((cell.sets.index(place), each.draws[index], each.groups[index]))
        return tuple(drawn)

    def _valued(self, cell: Cell, index: int) -> Hashable:
        valued = []
        for number, values in enumerate(self._maps):
            known = values.of_device.get(index)
            if known is not None and number not in self._literal:
                valued.append(
                    (number, tuple(cell.values.setdefault((number, v), len(cell.values)) for v in known))
                )
        return tuple(valued)

    # --- states

    def remaining(self, slot: int, state: State) -> Hashable:
        """All that decides whether the requests from a slot on can be served; alike for what differs in names only."""
        wanted, bonds = self._wanted[slot], self._bonds[slot]
        return slot, self._room(slot), self._situation(wanted, bonds, state)

    def situation(self, tasks: Sequence[Task], state: State) -> Hashable:
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
        return tuple(sorted(kinds)), crowded, self._situation(wanted, sorted(bonds), state, tried)

    def _situation(self, wanted: int, bonds: Iterable[Bond], state: State, tried: int = 0) -> Hashable:
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
                    self._number(tuple(sorted(attempt.shares(devices[index]).items(), key=_name))),
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
            (index, tuple(sorted(problem.attempt.shares(problem.devices[index]).items(), key=_name)))
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


def _name(entry: tuple[str, object]) -> str:
    return entry[0]


def _maps(problem: Problem) -> list[ValueMap]:
    """The attributes that constraints look at."""
    found = {}
    for slot in problem.slots:
        for option in slot.options:
            for _, _, values in option.bonds:
                found[id(values)] = values
    return list(found.values())
