"""Claims that no device of the cluster could ever satisfy, whoever else uses devices.

First each request is looked at by itself: the class, the selectors, the requested capacity, and how many matching
devices a node can reach at most.  Where nothing is wrong with that, the allocator is asked whether any node can serve all
of them together (:mod:`webhook.fitting`).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping
from time import perf_counter

from allocator.features import Features
from deviceselectors.environment import Environment
from resourceapi.caches import WeighedCache
from resourceapi.field_errors import Path
from resourceapi.logs import log
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import number
from resourceapi.quantity import Quantity
from resourceapi.records.claims import expressions_of
from resourceapi.records.classes import DeviceClass
from resourceapi.releases import Profile
from webhook.device_search import Demand, OverBudget, Search
from webhook.devices import DeviceIndex, PlacedGroup

# What a review may wait for this, which it could do without.  Where more is needed, the next review of the same
# selectors goes on from there.
SECONDS = 0.003
# What all reviews may wait together: a share of the time, which may be saved up.
SHARE = 0.1
MOST_SAVED = 0.05
# Outcomes and characters of expressions, whose programs take about as much memory, in units of 100 bytes or so.
MAX_REMEMBERED = 200_000
# How much memory reasons take, with the demands that they are for.
REASONS_BYTES = 16 << 20
Problem = tuple[Path, str]
"""Where in the claim something is impossible, and why."""
ALL = "All"


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


class Feasibility:
    """Remembers what it has found out about kinds of devices, within bounds.

    :param is_for_known_clients: whether it is only for clients that a certificate identifies, as it takes time, and tells
        of devices.
    """

    name = "feasibility"

    def __init__(
        self, mode: str, devices: DeviceIndex, profile: Profile, *, is_for_known_clients: bool = True
    ) -> None:
        self.mode = mode
        self.is_for_known_clients = is_for_known_clients
        self._devices = devices
        self._searches: OrderedDict[Demand, Search] = OrderedDict()
        self._reasons: WeighedCache[tuple[str, Demand, int], str] = WeighedCache(REASONS_BYTES)
        self._groups: list[PlacedGroup] = []
        self._revision = -1
        features = Features(profile.gates, profile.minor)
        self._environment = Environment(
            consumable_capacity=features.consumable_capacity,
            list_attributes=features.list_attributes,
            release=profile.minor,
        )
        self._consumable = features.consumable_capacity
        self._arithmetic = features.arithmetic
        self._allowance = Allowance()

    def problems(self, spec: Object, at: Path) -> list[Problem]:
        """Why the claim with a spec can never be satisfied; nothing if it can, or if time is up before that is known.

        :param spec: of the hub, in normal form and with its defaults; nobody changes it.
        :param at: the path of the spec in its object.
        """
        with self._allowance as seconds:
            return self._problems(spec, at, perf_counter() + seconds, seconds)

    def _problems(self, spec: Object, at: Path, deadline: float, seconds: float) -> list[Problem]:
        devices = self._devices
        if not devices.is_known or not devices.lock.acquire(timeout=seconds):
            return []
        try:
            found = feasibility(spec, at, _Inventory(self, deadline), devices.device_classes.objects)
            may_ask = not found and devices.is_settled and devices.fitting.has_nodes
        except OverBudget:
            log(logging.DEBUG, "feasibility not told in time")
            return []
        finally:
            devices.lock.release()
        problem = devices.fitting.problem(spec, seconds) if may_ask else ""
        return [(at, problem)] if problem else found

    def count(self) -> int:
        """How many devices there are."""
        return self._devices.count()

    def demand(self, details: Object, device_class: DeviceClass) -> Demand:
        """What a request or subrequest asks for of devices."""
        amounts: Mapping[str, Quantity | None] = details.get("capacity", EMPTY).get("requests") or EMPTY
        wanted = ((name, amount) for name, amount in amounts.items() if amount is not None)
        return Demand(
            device_class.expressions,
            tuple([each or "" for each in expressions_of(details.get("selectors"))]),
            tuple(wanted) if self._consumable else (),
        )

    def search(self, demand: Demand) -> Search:
        """What is known about a demand."""
        search = self._searches.get(demand)
        if search is None:
            search = self._searches[demand] = Search(demand, self._environment, self._arithmetic)
            while len(self._searches) > 1 and sum(map(len, self._searches.values())) > MAX_REMEMBERED:
                self._searches.popitem(last=False)
        self._searches.move_to_end(demand)
        search.refresh(self._current_groups(), self._revision)
        return search

    def reasons(self) -> WeighedCache[tuple[str, Demand, int], str]:
        """Reasons that hold as long as the inventory stays: by class, demand and number of devices."""
        self._current_groups()
        return self._reasons

    def _current_groups(self) -> list[PlacedGroup]:
        if self._revision != self._devices.revision:
            self._revision = self._devices.revision
            self._groups = list(self._devices.groups.values())
            self._reasons.clear()
        return self._groups


class _Inventory:
    """The devices, as one review asks for them."""

    def __init__(self, owner: Feasibility, deadline: float) -> None:
        self._owner = owner
        self._deadline = deadline

    def impossible(self, class_name: str, details: Object, device_class: DeviceClass, wanted: int) -> str:
        """Why no devices can be what is asked for, nothing if some can; found out once.

        :raises OverBudget: if that takes too long.
        """
        demand = self._owner.demand(details, device_class)
        reasons = self._owner.reasons()
        key = (class_name, demand, wanted)
        found = reasons.get(key)
        if found is None:
            found = self._impossible(class_name, demand, wanted)
            reasons.put(key, found, demand.size + len(found))
        return found

    def _impossible(self, class_name: str, demand: Demand, wanted: int) -> str:
        deadline = self._deadline
        most = self._owner.search(demand).reach(wanted, deadline)
        if most >= wanted:
            return ""
        if most:
            return f"{wanted} devices are requested, but no node has more than {most} that match"
        if not self._owner.count():
            return "the cluster has no devices"
        of_class = self._owner.search(Demand(demand.class_selectors, (), ()))
        if not of_class.reach(1, deadline):
            example = self._example(of_class, self._owner.search(Demand((), (), ())))
            return f"none of {number(self._owner.count(), 'device')} is of class {class_name!r}{example}"
        among = f"{number(of_class.total(deadline), 'device')} of class {class_name!r}"
        selected = self._owner.search(Demand(demand.class_selectors, demand.selectors, ()))
        if not selected.reach(1, deadline):
            return f"none of {among} matches the selectors{self._example(selected, of_class)}"
        amounts = ", ".join(f"{key}: {amount}" for key, amount in demand.capacity)
        return f"none of {among} that match the selectors has the requested capacity ({amounts})"

    def _example(self, search: Search, among: Search) -> str:
        """Why the most frequent kind among those that match one demand does not fulfil the other."""
        among.total(self._deadline)
        kind = max(among.matched, key=lambda kind: len(kind.members))
        return search.explain(kind, self._deadline)


def feasibility(
    spec: Object, at: Path, inventory: _Inventory, classes: Mapping[str, DeviceClass]
) -> list[Problem]:
    """What is impossible in a claim, request by request; of alternatives all have to be.

    :raises OverBudget: if that takes too long.
    """
    found: list[Problem] = []
    for index, request in enumerate(spec.get("devices", EMPTY).get("requests") or ()):
        path = (*at, "devices", "requests", index)
        alternatives = request.get("firstAvailable")
        if not alternatives:
            reason = _impossible(request.get("exactly", EMPTY), inventory, classes)
            if reason:
                found.append((path, f"no device can satisfy this request: {reason}"))
            continue
        reasons = [_impossible(alternative, inventory, classes) for alternative in alternatives]
        if all(reasons):
            listed = "; ".join(
                f"{alternative.get('name', '')}: {reason}"
                for alternative, reason in zip(alternatives, reasons, strict=True)
            )
            found.append((path, f"no device can satisfy any of the alternatives: {listed}"))
    return found


def _impossible(details: Object, inventory: _Inventory, classes: Mapping[str, DeviceClass]) -> str:
    """Why no devices can be what a request or subrequest asks for, nothing if some can."""
    name = details.get("deviceClassName", "")
    device_class = classes.get(name)
    if device_class is None:
        return f"there is no DeviceClass {name!r}"
    wanted = 1 if details.get("allocationMode") == ALL else details.get("count") or 1
    return inventory.impossible(name, details, device_class, wanted)
