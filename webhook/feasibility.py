"""Claims that no device of the cluster could ever satisfy, whoever else uses devices.

What is looked at: the class, the selectors, the capacity that is asked for, and how many matching devices a node can
reach at most.  What devices have to do with each other (constraints, counters, taints) is not.
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
from deviceselectors.runtime.program import EvaluationError, ProgramError, program
from resourceapi.fieldpath import Path, render
from resourceapi.quantity import Quantity
from webhook.devices import DeviceKind, KnownDevices
from webhook.logs import log

Object = dict[str, Any]
EMPTY: Object = {}
# What a review may wait for this, which it could do without.  Where more is needed, the next review of the same
# selectors goes on from there.
SECONDS = 0.005
MAX_OUTCOMES = 200_000
ALL = "All"
FRACTIONAL_RANGE = "DRAFractionalCapacityRange"


class OverBudget(Exception):
    """It cannot be told in time."""


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
        self._searches: OrderedDict[Demand, _Search] = OrderedDict()
        self._environment = Environment(
            consumable_capacity=CONSUMABLE_CAPACITY in gates, list_attributes=LIST_ATTRIBUTES in gates
        )
        self._consumable = CONSUMABLE_CAPACITY in gates
        self._fractional = FRACTIONAL_RANGE in gates

    def problems(self, spec: Object, at: Path) -> list[str]:
        """Why the claim with this spec, which stands at a path, can never be satisfied; nothing if it can, or if that
        cannot be told in time.

        ``spec`` is of v1 in normal form.
        """
        devices = self._devices
        deadline = perf_counter() + SECONDS
        if not devices.is_known or not devices.lock.acquire(timeout=SECONDS):
            return []
        try:
            return feasibility(spec, at, _Inventory(self, devices, deadline), devices.classes)
        except OverBudget:
            log(logging.DEBUG, "feasibility not told in time")
            return []
        finally:
            devices.lock.release()

    def search(self, demand: Demand) -> _Search:
        """What is known about a demand."""
        search = self._searches.get(demand)
        if search is None:
            search = self._searches[demand] = _Search(demand, self._environment)
        self._searches.move_to_end(demand)
        search.refresh(self._devices)
        while len(self._searches) > 1 and sum(map(len, self._searches.values())) > MAX_OUTCOMES:
            self._searches.popitem(last=False)
        return search

    def demand(self, details: Object, device_class: Object) -> Demand:
        """What a request or subrequest asks for of devices."""
        amounts: Mapping[str, Quantity | None] = details.get("capacity", EMPTY).get("requests") or EMPTY
        wanted = ((name, amount) for name, amount in amounts.items() if amount is not None)
        return Demand(
            tuple(_expressions(device_class.get("spec", EMPTY))),
            tuple(_expressions(details)),
            tuple(wanted) if self._consumable else (),
        )

    def has_capacity(self, kind: DeviceKind, wanted: tuple[tuple[str, Quantity], ...]) -> bool:
        """Whether the device has that much, as long as nobody else uses it."""
        try:
            amounts = consumed(dict(wanted), kind.device.capacity, self._fractional)
        except CapacityError:
            return False
        return amounts is not None and has_room(amounts, kind.device.capacity, ())


class _Search:
    """Which kinds of devices fulfil a demand, as far as that has been asked."""

    def __init__(self, demand: Demand, environment: Environment) -> None:
        self.demand = demand
        self.outcomes: dict[DeviceKind, bool] = {}
        self._environment = environment
        self._revision = -1

    def __len__(self) -> int:
        return len(self.outcomes) + 1

    def refresh(self, devices: KnownDevices) -> None:
        """Forget kinds that are gone."""
        if self._revision != devices.revision:
            self._revision = devices.revision
            for kind in [kind for kind in self.outcomes if not kind.members]:
                del self.outcomes[kind]

    def compiled(self) -> Iterator[Compiled]:
        """The expressions, first those of the class."""
        for expression in self.demand.class_selectors:
            yield compile_expression(expression, Environment("stored"))
        for expression in self.demand.selectors:
            yield compile_expression(expression, self._environment)


class _Inventory:
    """The devices, as one review asks for them."""

    def __init__(self, owner: Feasibility, devices: KnownDevices, deadline: float) -> None:
        self._owner = owner
        self._devices = devices
        self._deadline = deadline

    def count(self) -> int:
        return self._devices.count()

    def demand(self, details: Object, device_class: Object) -> Demand:
        return self._owner.demand(details, device_class)

    def reach(self, demand: Demand, wanted: int) -> int:
        """How many devices one node can have at most that fulfil a demand; not counted further than ``wanted``.

        A device that several can share counts for as many as are wanted.

        :raises OverBudget: if that takes too long.
        """
        of_node: Counter[str] = Counter()
        for kind in self._matching(demand):
            if kind.device.multiple:
                return wanted
            of_node.update(kind.members.values())
            if self._most(of_node) >= wanted:
                return wanted
        return self._most(of_node)

    def matching(self, demand: Demand) -> int:
        """How many devices fulfil a demand, wherever they are.

        :raises OverBudget: if that takes too long.
        """
        return sum(len(kind.members) for kind in self._matching(demand))

    def example(self, demand: Demand, among: Demand) -> str:
        """Why a device that fulfils one demand does not fulfil another, for the most frequent kind of them."""
        kinds = list(self._matching(among))
        if not kinds:
            return ""
        kind = max(kinds, key=lambda kind: len(kind.members))
        for compiled in self._owner.search(demand).compiled():
            self._check_time()
            reasons = (
                Explainer(compiled.ast).explain(kind.device.prepared) if compiled.ast is not None else []
            )
            if reasons:
                return f"; for example {next(iter(kind.members))}: {reasons[0]}"
        return ""

    @staticmethod
    def _most(of_node: Counter[str]) -> int:
        """Devices without a node of their own may be in reach of any."""
        shared = of_node.get("", 0)
        return shared + max((count for node, count in of_node.items() if node), default=0)

    def _matching(self, demand: Demand) -> Iterator[DeviceKind]:
        search = self._owner.search(demand)
        programs: list[Any] | None = None
        for kind in self._devices.kinds.values():
            outcome = search.outcomes.get(kind)
            if outcome is None:
                self._check_time()
                if programs is None:
                    programs = list(self._programs(search))
                outcome = search.outcomes[kind] = _selects(programs, kind) and (
                    not demand.capacity or self._owner.has_capacity(kind, demand.capacity)
                )
            if outcome:
                yield kind

    def _programs(self, search: _Search) -> Iterator[Any]:
        """What evaluates the expressions; None for one that cannot be."""
        for compiled in search.compiled():
            self._check_time()
            try:
                yield program(compiled) if compiled.ast is not None else None
            except ProgramError:
                yield None

    def _check_time(self) -> None:
        if perf_counter() > self._deadline:
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
    demand = inventory.demand(details, device_class)
    most = inventory.reach(demand, wanted)
    if most >= wanted:
        return ""
    if most:
        return f"{wanted} devices are asked for, and no node has more than {most} that match"
    everything = Demand((), (), ())
    of_class = Demand(demand.class_selectors, (), ())
    selected = Demand(demand.class_selectors, demand.selectors, ())
    if not inventory.count():
        return "the cluster has no devices"
    if not inventory.reach(of_class, 1):
        example = inventory.example(of_class, everything)
        return f"none of {_devices(inventory.count())} is of class {name!r}{example}"
    among = f"{_devices(inventory.matching(of_class))} of class {name!r}"
    if not inventory.reach(selected, 1):
        return f"none of {among} is what the selectors ask for{inventory.example(selected, of_class)}"
    wanted_capacity = ", ".join(f"{key}: {amount}" for key, amount in demand.capacity)
    return f"none of {among} that the selectors choose has the capacity that is asked for ({wanted_capacity})"


def _selects(programs: list[Any], kind: DeviceKind) -> bool:
    try:
        return all(each is not None and each.matches(kind.device.prepared) for each in programs)
    except EvaluationError:
        return False


def _expressions(holder: Object) -> Iterator[str]:
    for selector in holder.get("selectors") or ():
        yield (selector or EMPTY).get("cel", EMPTY).get("expression", "")


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count:,} devices"
