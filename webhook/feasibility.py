"""Claims that no device of the cluster could ever satisfy, whoever else uses devices.

First each request is looked at by itself: the class, the selectors, the capacity that is asked for, and how many matching
devices a node can reach at most.  Where nothing is wrong with that, the allocator is asked whether any node can serve all
of them together (:mod:`webhook.fitting`).
"""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, NamedTuple

from allocator.capacity import CapacityError, consumed, has_room
from deviceselectors.compiler import Compiled, compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.interface import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from resourceapi.fieldpath import Path, render
from resourceapi.quantity import Quantity
from webhook.devices import DeviceKind, KnownDevices
from webhook.logs import log

Object = dict[str, Any]
EMPTY: Object = {}
# What a review may wait for this, which it could do without.  Where more is needed, the next review of the same
# selectors goes on from there.
SECONDS = 0.003
# What all reviews may wait together: a share of the time, which may be saved up.
SHARE = 0.1
MOST_SAVED = 0.05
# Outcomes and characters of expressions, whose programs take about as much memory, in units of 100 bytes or so.
MAX_REMEMBERED = 200_000
MAX_REASONS = 4096
ALL = "All"
FRACTIONAL_RANGE = "DRAFractionalCapacityRange"


class OverBudget(Exception):
    """It cannot be told in time."""


class Allowance:
    """Time to spend; ``with`` gives the seconds that there are, and takes what they have cost."""

    def __init__(self) -> None:
        self._saved = MOST_SAVED
        self._since = perf_counter()

    def __enter__(self) -> float:
        now = perf_counter()
        self._saved = min(MOST_SAVED, self._saved + SHARE * (now - self._since))
        self._since = now
        return max(0.0, min(SECONDS, self._saved))

    def __exit__(self, *_: object) -> None:
        self._saved -= perf_counter() - self._since


class Demand(NamedTuple):
    """What a device must be like."""

    class_selectors: tuple[str, ...]
    selectors: tuple[str, ...]
    capacity: tuple[tuple[str, Quantity], ...]


class Feasibility:
    """Remembers what it has found out about kinds of devices, within bounds."""

    name = "feasibility"

    def __init__(self, devices: KnownDevices, gates: frozenset[str]) -> None:
        self._devices = devices
        self._searches: OrderedDict[Demand, Search] = OrderedDict()
        self._reasons: dict[tuple[str, Demand, int], str] = {}
        self._kinds: list[DeviceKind] = []
        self._revision = -1
        self._environment = Environment(
            consumable_capacity=CONSUMABLE_CAPACITY in gates, list_attributes=LIST_ATTRIBUTES in gates
        )
        self._consumable = CONSUMABLE_CAPACITY in gates
        self._fractional = FRACTIONAL_RANGE in gates
        self._allowance = Allowance()

    def problems(self, spec: Object, at: Path) -> list[str]:
        """Why the claim with this spec, which stands at a path, can never be satisfied; nothing if it can, or if that
        cannot be told in time.

        ``spec`` is of v1 in normal form.
        """
        with self._allowance as seconds:
            return self._problems(spec, at, perf_counter() + seconds, seconds)

    def _problems(self, spec: Object, at: Path, deadline: float, seconds: float) -> list[str]:
        devices = self._devices
        if not devices.is_known or not devices.lock.acquire(timeout=seconds):
            return []
        try:
            found = feasibility(spec, at, _Inventory(self, deadline), devices.classes)
            may_ask = not found and devices.is_complete and devices.fitting.has_nodes
        except OverBudget:
            log(logging.DEBUG, "feasibility not told in time")
            return []
        finally:
            devices.lock.release()
        problem = devices.fitting.problem(spec, seconds) if may_ask else ""
        return [f"{render(at)}: {problem}"] if problem else found

    def count(self) -> int:
        """How many devices there are."""
        return self._devices.count()

    def demand(self, details: Object, device_class: Object) -> Demand:
        """What a request or subrequest asks for of devices."""
        amounts: Mapping[str, Quantity | None] = details.get("capacity", EMPTY).get("requests") or EMPTY
        wanted = ((name, amount) for name, amount in amounts.items() if amount is not None)
        return Demand(
            tuple(_expressions(device_class.get("spec", EMPTY))),
            tuple(_expressions(details)),
            tuple(wanted) if self._consumable else (),
        )

    def search(self, demand: Demand) -> Search:
        """What is known about a demand."""
        search = self._searches.get(demand)
        if search is None:
            search = self._searches[demand] = Search(demand, self._environment, self._fractional)
            while len(self._searches) > 1 and sum(map(len, self._searches.values())) > MAX_REMEMBERED:
                self._searches.popitem(last=False)
        self._searches.move_to_end(demand)
        search.refresh(self._current_kinds(), self._revision)
        return search

    def reasons(self) -> dict[tuple[str, Demand, int], str]:
        """Reasons that hold as long as the inventory stays: by class, demand and number of devices."""
        self._current_kinds()
        if len(self._reasons) >= MAX_REASONS:
            self._reasons.clear()
        return self._reasons

    def _current_kinds(self) -> list[DeviceKind]:
        if self._revision != self._devices.revision:
            self._revision = self._devices.revision
            self._kinds = list(self._devices.kinds.values())
            self._reasons.clear()
        return self._kinds


class Search:
    """Which kinds of devices fulfil a demand, as far as that has been asked; goes on where it was.

    ``matched`` are those that do, of the first ``position`` kinds.
    """

    def __init__(self, demand: Demand, environment: Environment, fractional: bool) -> None:
        self.demand = demand
        self.matched: list[DeviceKind] = []
        self._environment = environment
        self._fractional = fractional
        self._size = 100 + sum(map(len, (*demand.class_selectors, *demand.selectors)))
        self._outcomes: dict[DeviceKind, bool] = {}
        self._kinds: list[DeviceKind] = []
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

    def refresh(self, kinds: list[DeviceKind], revision: int) -> None:
        """Look at other kinds, of which some may be known."""
        if revision == self._revision:
            return
        self._revision, self._kinds = revision, kinds
        self._outcomes = {kind: outcome for kind, outcome in self._outcomes.items() if kind.members}
        self._position = self._counted = self._most_of_one = 0
        self.matched = []
        self._of_node = Counter()

    def next_match(self, deadline: float) -> bool:
        """Go on to the next kind that fulfils the demand, if there is one.

        :raises OverBudget: if that takes too long.
        """
        while self._position < len(self._kinds):
            kind = self._kinds[self._position]
            outcome = self._outcomes.get(kind)
            if outcome is None:
                _check(deadline)
                outcome = self._outcomes[kind] = self._fulfils(kind, deadline)
            self._position += 1
            if outcome:
                self.matched.append(kind)
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
            kind = self.matched[self._counted]
            if kind.device.multiple:
                return wanted
            _check(deadline)
            self._counted += 1
            for node in kind.members.values():
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
        return sum(len(kind.members) for kind in self.matched)

    def explain(self, kind: DeviceKind, deadline: float) -> str:
        """Why a kind of device does not fulfil the demand, as far as expressions tell.

        :raises OverBudget: if there is no time for that.
        """
        for compiled in self._compiled():
            _check(deadline)
            reasons = (
                Explainer(compiled.ast).explain(kind.device.prepared) if compiled.ast is not None else []
            )
            if reasons:
                return f"; for example {next(iter(kind.members))}: {reasons[0]}"
        return ""

    def _compiled(self) -> Iterator[Compiled]:
        """The expressions, first those of the class."""
        for expression in self.demand.class_selectors:
            yield compile_expression(expression, Environment("stored"))
        for expression in self.demand.selectors:
            yield compile_expression(expression, self._environment)

    def _fulfils(self, kind: DeviceKind, deadline: float) -> bool:
        if self._programs is None:
            self._programs = list(self._make_programs(deadline))
        try:
            if not all(each is not None and each.matches(kind.device.prepared) for each in self._programs):
                return False
        except EvaluationError:
            return False
        return not self.demand.capacity or self._has_capacity(kind)

    def _make_programs(self, deadline: float) -> Iterator[Program | None]:
        """What evaluates the expressions; None for one that cannot be."""
        for compiled in self._compiled():
            _check(deadline)
            try:
                yield program(compiled) if compiled.ast is not None else None
            except ProgramError:
                yield None

    def _has_capacity(self, kind: DeviceKind) -> bool:
        """Whether the device has that much, as long as nobody else uses it."""
        capacity = kind.device.capacity
        try:
            amounts = consumed(dict(self.demand.capacity), capacity, self._fractional)
        except CapacityError:
            return False
        return amounts is not None and has_room(amounts, capacity, ())


class _Inventory:
    """The devices, as one review asks for them."""

    def __init__(self, owner: Feasibility, deadline: float) -> None:
        self._owner = owner
        self._deadline = deadline

    def impossible(self, class_name: str, details: Object, device_class: Object, wanted: int) -> str:
        """Why no devices can be what is asked for, nothing if some can; found out once.

        :raises OverBudget: if that takes too long.
        """
        demand = self._owner.demand(details, device_class)
        reasons = self._owner.reasons()
        key = (class_name, demand, wanted)
        found = reasons.get(key)
        if found is None:
            found = reasons[key] = self._impossible(class_name, demand, wanted)
        return found

    def _impossible(self, class_name: str, demand: Demand, wanted: int) -> str:
        deadline = self._deadline
        most = self._owner.search(demand).reach(wanted, deadline)
        if most >= wanted:
            return ""
        if most:
            return f"{wanted} devices are asked for, and no node has more than {most} that match"
        if not self._owner.count():
            return "the cluster has no devices"
        of_class = self._owner.search(Demand(demand.class_selectors, (), ()))
        if not of_class.reach(1, deadline):
            example = self._example(of_class, self._owner.search(Demand((), (), ())))
            return f"none of {_devices(self._owner.count())} is of class {class_name!r}{example}"
        among = f"{_devices(of_class.total(deadline))} of class {class_name!r}"
        selected = self._owner.search(Demand(demand.class_selectors, demand.selectors, ()))
        if not selected.reach(1, deadline):
            return f"none of {among} is what the selectors ask for{self._example(selected, of_class)}"
        amounts = ", ".join(f"{key}: {amount}" for key, amount in demand.capacity)
        return f"none of {among} that the selectors choose has the capacity that is asked for ({amounts})"

    def _example(self, search: Search, among: Search) -> str:
        """Why the most frequent kind among those that match one demand does not fulfil the other."""
        among.total(self._deadline)
        kind = max(among.matched, key=lambda kind: len(kind.members))
        return search.explain(kind, self._deadline)


def _check(deadline: float) -> None:
    if perf_counter() >= deadline:
        raise OverBudget


def feasibility(spec: Object, at: Path, inventory: _Inventory, classes: Mapping[str, Object]) -> list[str]:
    """What is impossible in a claim, request by request; of alternatives all have to be.

    :raises OverBudget: if that takes too long.
    """
    found = []
    for index, request in enumerate(spec.get("devices", EMPTY).get("requests") or ()):
        path = (*at, "devices", "requests", index)
        alternatives = request.get("firstAvailable")
        if not alternatives:
            reason = _impossible(request.get("exactly", EMPTY), inventory, classes)
            if reason:
                found.append(f"{render(path)}: no device can satisfy this request: {reason}")
            continue
        reasons = [_impossible(alternative, inventory, classes) for alternative in alternatives]
        if all(reasons):
            listed = "; ".join(
                f"{alternative.get('name', '')}: {reason}"
                for alternative, reason in zip(alternatives, reasons, strict=True)
            )
            found.append(f"{render(path)}: no device can satisfy any of the alternatives: {listed}")
    return found


def _impossible(details: Object, inventory: _Inventory, classes: Mapping[str, Object]) -> str:
    """Why no devices can be what a request or subrequest asks for, nothing if some can."""
    name = details.get("deviceClassName", "")
    device_class = classes.get(name)
    if device_class is None:
        return f"there is no DeviceClass {name!r}"
    wanted = 1 if details.get("allocationMode") == ALL else details.get("count") or 1
    return inventory.impossible(name, details, device_class, wanted)


def _expressions(holder: Object) -> Iterator[str]:
    for selector in holder.get("selectors") or ():
        yield (selector or EMPTY).get("cel", EMPTY).get("expression", "")


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count:,} devices"
