"""Which groups of devices match a request; found out step by step, as far as a review needs to know it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from time import perf_counter, thread_time
from typing import NamedTuple

from allocator.capacity_requests import Arithmetic
from allocator.rules.capacity import serves
from allocator.time_limit import OutOfTime, TimeLimit
from deviceselectors.compiler import Compiled, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from resourceapi.quantity import Quantity
from webhook.devices import PlacedGroup

#: How much computing time the expressions may take on a kind of device, and an example of why none matches: that may be on the
#: event loop, so everybody waits.
EVALUATION_SECONDS = 0.03
#: How often that is tried: garbage may have been collected meanwhile, which can take as long.
TRIES = 2


class OverBudget(Exception):
    """It cannot be told in time."""


class Demand(NamedTuple):
    """What a device must be like."""

    class_selectors: tuple[str, ...]
    selectors: tuple[str, ...]
    capacity: tuple[tuple[str, Quantity], ...]

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        texts = (*self.class_selectors, *self.selectors, *[name for name, _ in self.capacity])
        return 200 + 250 * len(self.capacity) + sum([60 + len(text) for text in texts])


class Search:
    """Which groups of devices fulfil a demand, as far as that has been asked; goes on where it was.

    ``matched`` are those that do, of the first ``position`` groups.
    """

    def __init__(self, demand: Demand, environment: Environment, arithmetic: Arithmetic) -> None:
        self.demand = demand
        self.matched: list[PlacedGroup] = []
        self._environment = environment
        self._arithmetic = arithmetic
        self._size = 100 + sum(map(len, (*demand.class_selectors, *demand.selectors)))
        # None where an expression took too long, which is not tried again
        self._outcomes: dict[PlacedGroup, bool | None] = {}
        self._groups: list[PlacedGroup] = []
        self._revision = -1
        self._position = 0
        self._programs: list[Program | None] | None = None
        # how many of those that matched are counted, by node
        self._counted = 0
        self._of_node: Counter[str] = Counter()
        self._most_of_one = 0

    def __len__(self) -> int:
        """About how much memory it takes."""
        return len(self._outcomes) + self._size

    def refresh(self, groups: list[PlacedGroup], revision: int) -> None:
        """Look at other groups, of which some may be known."""
        if revision == self._revision:
            return
        self._revision, self._groups = revision, groups
        self._outcomes = {group: outcome for group, outcome in self._outcomes.items() if group.members}
        self._position = self._counted = self._most_of_one = 0
        self.matched = []
        self._of_node = Counter()

    def next_match(self, deadline: float) -> bool:
        """Go on to the next group that fulfils the demand, if there is one.

        :raises OverBudget: if that takes too long.
        """
        while self._position < len(self._groups):
            group = self._groups[self._position]
            if group not in self._outcomes:
                _check(deadline)
                self._outcomes[group] = self._fulfils(group, deadline)
            outcome = self._outcomes[group]
            if outcome is None:
                raise OverBudget
            self._position += 1
            if outcome:
                self.matched.append(group)
                return True
        return False

    def reach(self, wanted: int, deadline: float) -> int:
        """How many devices one node can have at most; not counted further than ``wanted``.

        A device that several can share counts for as many as are wanted.

        :raises OverBudget: if that takes too long.
        """
        while self._most() < wanted:
            if self._counted == len(self.matched) and not self.next_match(deadline):
                break
            group = self.matched[self._counted]
            if group.properties.multiple:
                return wanted
            _check(deadline)
            self._counted += 1
            for node in group.members.values():
                self._of_node[node] += 1
                if node:
                    self._most_of_one = max(self._most_of_one, self._of_node[node])
        return min(self._most(), wanted)

    def _most(self) -> int:
        """Devices without a node of their own may be in reach of any."""
        return self._of_node[""] + self._most_of_one

    def total(self, deadline: float) -> int:
        """How many devices fulfil the demand, wherever they are.

        :raises OverBudget: if that takes too long.
        """
        while self.next_match(deadline):
            pass
        return sum(len(group.members) for group in self.matched)

    def explain(self, group: PlacedGroup, deadline: float) -> str:
        """Why a kind of device does not fulfil the demand, as far as expressions tell, and soon enough.

        :raises OverBudget: if there is no time for that.
        """
        for compiled in self._compiled():
            _check(deadline)
            if compiled.ast is None:
                continue
            try:
                with effort.watched(TimeLimit(EVALUATION_SECONDS, thread_time).check):
                    reasons = Explainer(compiled.ast).explain(group.properties.prepared)
            except OutOfTime:
                return ""
            if reasons:
                # No values: slices are for those who may read them, and who asks may only be allowed to make claims.
                # The part of the expression, which is theirs or their class's, says enough to look further.
                first = reasons[0]
                return f"; for example {next(iter(group.members))}: {first.expression} {first.verdict}"
        return ""

    def _compiled(self) -> Iterator[Compiled]:
        """The expressions, first those of the class."""
        for expression in self.demand.class_selectors:
            yield compile_expression(expression, Environment("stored", release=self._environment.server))
        for expression in self.demand.selectors:
            yield compile_expression(expression, self._environment)

    def _fulfils(self, group: PlacedGroup, deadline: float) -> bool | None:
        """Whether a kind of device fulfils the demand; None if an expression takes too long.

        :raises OverBudget: if they take long together: the next time some of what they need has been made.
        """
        if self._programs is None:
            self._programs = list(self._make_programs(deadline))
        together, prepared = TimeLimit(EVALUATION_SECONDS, thread_time), group.properties.prepared
        programs: list[Program] = []
        for each in self._programs:
            if together.is_over:
                raise OverBudget
            if each is None:
                return False
            each.prepare(prepared)
            programs.append(each)
        matches = _matches(programs, prepared)
        if not matches:
            return matches
        amounts = self.demand.capacity
        return not amounts or serves(dict(amounts), group.properties.capacity, self._arithmetic)

    def _make_programs(self, deadline: float) -> Iterator[Program | None]:
        """What evaluates the expressions; None for one that cannot be."""
        for compiled in self._compiled():
            _check(deadline)
            try:
                yield program(compiled) if compiled.ast is not None else None
            except ProgramError:
                yield None


def _matches(programs: Sequence[Program], device: Device) -> bool | None:
    """Whether all expressions choose a device; None if it takes too long to find out."""
    for _ in range(TRIES):
        try:
            with effort.watched(TimeLimit(EVALUATION_SECONDS, thread_time).check):
                return all(each.matches(device) for each in programs)
        except EvaluationError:
            return False
        except OutOfTime:
            continue
    return None


def _check(deadline: float) -> None:
    if perf_counter() >= deadline:
        raise OverBudget
