"""The claims of a pod and the candidates of a node as a constraint problem: a list of requests, devices as bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from allocator.attempt import Attempt
from allocator.constraint_state import Constraint, State, scalar_of, values_of
from allocator.demand import Alternative, ClaimDemand, RequestDemand
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.features import Features
from allocator.pruning.counters import CounterSets, bits, lowest_bits
from allocator.rules.capacity import Capacity
from allocator.rules.constraints import attribute_of
from allocator.rules.standing import ExclusiveUse
from resourceapi.objects import Object

# Whether all demands can get devices of their exclusive_demand: a matching, or a proof that there is none
# (Hall's theorem).

Demand = tuple[int, int]
"""A number of devices, and the devices from which they may be taken."""


def can_serve_all(demands: Sequence[Demand]) -> bool:
    """Whether each demand can get as many devices as it needs, without sharing any."""
    return Matching(demands).complete()


class Matching:
    """A matching of demands and devices, with limits for groups of devices."""

    def __init__(self, demands: Sequence[Demand], limits: Mapping[int, int] | None = None) -> None:
        """Prepare a matching.

        :param limits: how many devices may be taken from each group; groups are disjoint.
        """
        merged: dict[int, int] = {}
        for wanted, devices in demands:
            merged[devices] = merged.get(devices, 0) + wanted
        # Those with the fewest candidates first: then few augmenting paths are needed.
        self._demands = sorted(
            ((n, devices) for devices, n in merged.items()), key=lambda d: d[1].bit_count()
        )
        self._limits = list((limits or {}).items())
        self._given = [0] * len(self._demands)
        self._taken = 0

    def complete(self) -> bool:
        """Whether all demands can be served."""
        for index, (wanted, devices) in enumerate(self._demands):
            if wanted > devices.bit_count():
                return False
            self._serve(index, wanted)
            while self._given[index].bit_count() < wanted:
                if not self._augment(index):
                    return False
        return True

    def _serve(self, index: int, wanted: int) -> None:
        """Give a demand devices that are free."""
        devices = self._demands[index][1] & ~self._taken
        if not self._limits:
            self._give(index, lowest_bits(devices, wanted))
            return
        for group, _ in self._limits:
            devices &= ~group
        self._give(index, lowest_bits(devices, wanted))
        for group, limit in self._limits:
            left = min(limit - (self._taken & group).bit_count(), wanted - self._given[index].bit_count())
            if left > 0:
                self._give(index, lowest_bits(self._demands[index][1] & ~self._taken & group, left))

    def _give(self, index: int, devices: int) -> None:
        self._given[index] |= devices
        self._taken |= devices

    def _augment(self, index: int) -> bool:
        """Give a demand one device more along an augmenting path, if there is one.

        Each demand on the path gives up a device to the one before, and gets another one instead.
        """
        came_from: dict[int, tuple[int, int]] = {}
        queue = [index]
        seen = {index}
        for current in queue:
            wanted = self._demands[current][1] & ~self._given[current]
            free, reachable = self._free(wanted)
            if free:
                self._follow(current, free & -free, came_from)
                return True
            for other, given in enumerate(self._given):
                if other not in seen and (devices := given & reachable):
                    seen.add(other)
                    came_from[other] = (current, devices)
                    queue.append(other)
        return False

    def _free(self, wanted: int) -> tuple[int, int]:
        """Of these devices, those that are free; and those that would make room if they were given back."""
        free = wanted & ~self._taken
        reachable = wanted & self._taken
        for group, limit in self._limits:
            inside = self._taken & group
            if free & group and inside.bit_count() >= limit:
                free &= ~group
                # Any device of the group that is given back makes room for another one.
                reachable |= inside
        return free, reachable

    def _follow(self, current: int, free: int, came_from: Mapping[int, tuple[int, int]]) -> None:
        """Along the path each demand gets a device and gives up one for the demand before it."""
        while True:
            self._give(current, free)
            if current not in came_from:
                return
            current, devices, giver = *came_from[current], current
            returned = devices & -devices
            self._given[giver] &= ~returned
            self._taken &= ~returned
            wanted = self._demands[current][1] & ~self._given[current]
            free = returned if wanted & returned else self._free(wanted)[0]
            free &= -free


# Which devices have which values of a constrained attribute.

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


class Option:
    """An alternative with the candidates that it could get if it were alone."""

    __slots__ = ("alternative", "capacity_key", "claim", "constraints", "everything", "initial", "wanted")

    def __init__(self, alternative: Alternative, claim: int, wanted: int) -> None:
        self.alternative = alternative
        #: equal for equal capacity requests
        self.capacity_key = alternative.capacity_key
        #: the place of the claim
        self.claim = claim
        #: how many devices
        self.wanted = wanted
        self.initial = 0
        #: for mode `All`: the candidates that it must have
        self.everything: int | None = None
        #: constraints that concern it: their places in the claim, whether values must be distinct, values
        self.constraints: list[tuple[int, bool, ValueMap]] = []


class Slot:
    """A request, which is served by one of its options."""

    __slots__ = ("claim", "least", "options", "place", "risky")

    def __init__(self, place: int, claim: int, options: list[Option]) -> None:
        self.place = place
        #: whether looking at devices for it may end the search with an error; its options have no candidates then
        self.risky = False
        self.claim = claim
        self.options = options
        self.least = min(option.wanted for option in options)


class SearchProblem:
    """All requests of all claims in the order in which they are served, and the candidates."""

    def __init__(
        self,
        attempt: Attempt,
        claims: Sequence[ClaimDemand],
        candidates: Sequence[Device],
        all_devices: Mapping[Alternative, Sequence[Device]],
        features: Features,
    ) -> None:
        self.attempt = attempt
        self.claims = claims
        self.devices = candidates
        self.features = features
        #: the devices that each alternative with mode `All` must have
        self.everything = all_devices
        #: the index of each candidate
        self.place = {device: index for index, device in enumerate(candidates)}
        self._initial: dict[tuple[Any, ...], int | None] = {}
        self._maps: dict[tuple[Any, ...], ValueMap] = {}
        self.slots: list[Slot] = []
        #: the place of each claim's first slot
        self.first: list[int] = []
        self._read()
        #: by slot: the first one, itself included, at which the search may end with an error
        self.horizons = self._horizons()
        #: candidates that some option could have
        self.relevant = 0
        for slot in self.slots:
            for option in slot.options:
                self.relevant |= option.initial
        self.has_admin = any(o.alternative.admin_access for slot in self.slots for o in slot.options)
        self.shared = sum(1 << i for i, device in enumerate(candidates) if self._is_shared(device))
        self.counters = CounterSets(attempt, candidates, self.relevant)
        self._bind()

    def is_certain(self, slot: int) -> bool:
        """Whether the search cannot end with an error from a slot on, and counters can be reasoned about."""
        return self.horizons[slot] == len(self.slots) and not self.counters.unusable

    def all_of(self, option: Option) -> list[int]:
        """For mode `All`: the candidates that it must have, in order."""
        return [self.place[device] for device in self.everything.get(option.alternative, ())]

    def _is_shared(self, device: Device) -> bool:
        return self.attempt.is_shared(device)

    def _read(self) -> None:
        for claim, demand in enumerate(self.claims):
            self.first.append(len(self.slots))
            for request in demand.requests:
                slot = self._slot(claim, request)
                slot.risky = not all(self._fill(option) for option in slot.options)
                if slot.risky:
                    for option in slot.options:
                        option.initial = 0
                self.slots.append(slot)

    def _horizons(self) -> list[int]:
        found = [len(self.slots)] * (len(self.slots) + 1)
        for slot in reversed(self.slots):
            found[slot.place] = slot.place if slot.risky else found[slot.place + 1]
        return found

    def _slot(self, claim: int, request: RequestDemand) -> Slot:
        options = []
        for alternative in request.alternatives:
            everything = self.everything.get(alternative)
            wanted = alternative.count if everything is None else len(everything)
            option = Option(alternative, claim, wanted)
            if everything is not None:
                option.everything = sum(1 << self.place[device] for device in everything)
            options.append(option)
        return Slot(len(self.slots), claim, options)

    def _fill(self, option: Option) -> bool:
        """Find the candidates of an option.

        :returns: False if looking at them may raise an error.
        """
        alternative = option.alternative
        self.attempt.time_limit.check()
        if option.everything is not None and alternative.constraints and option.everything:
            return False  # A constraint that excludes one of all devices is an error.
        key = _kind(alternative)
        if key not in self._initial:
            self._initial[key] = self._suitable(option)
        found = self._initial[key]
        if found is None:
            return False
        option.initial = found if option.everything is None else found & option.everything
        return True

    def _suitable(self, option: Option) -> int | None:
        """The candidates that can be taken if nothing else is; None if one of them raises an error."""
        attempt, alternative = self.attempt, option.alternative
        start, found = attempt.mark(), 0
        try:
            for index, device in enumerate(self.devices):
                attempt.time_limit.check()
                if (
                    ExclusiveUse.admits(attempt, alternative, device)
                    and attempt.selects(alternative, device)
                    and Capacity.admits(attempt, alternative, device)
                ):
                    for _, constraint in alternative.constraints:
                        attribute_of(attempt, alternative, device, constraint.attribute)
                    mark = attempt.mark()
                    if attempt.take(alternative, device, must=False):
                        found |= 1 << index
                    attempt.undo(mark)
        except AllocationError:
            attempt.undo(start)
            return None
        return found

    def _bind(self) -> None:
        for slot in self.slots:
            for option in slot.options if not slot.risky else ():
                self.attempt.time_limit.check()
                for place, constraint in option.alternative.constraints:
                    values = self._values(option.alternative, constraint)
                    option.constraints.append((place, constraint.distinct, values))

    def _values(self, alternative: Alternative, constraint: Constraint) -> ValueMap:
        name = constraint.attribute
        key = (name, alternative.derived.get(name))
        if key not in self._maps:
            indexes = [i for i in range(len(self.devices)) if self.relevant >> i & 1]
            attributes = ((i, self._attribute(alternative, self.devices[i], name)) for i in indexes)
            self._maps[key] = ValueMap(attributes, self.features.list_attributes)
        return self._maps[key]

    def _attribute(self, alternative: Alternative, device: Device, name: str) -> Any:
        """An attribute; None if it cannot be derived, in which case the device is no candidate either."""
        try:
            return attribute_of(self.attempt, alternative, device, name)
        except AllocationError:
            return None


def _kind(alternative: Alternative) -> tuple[Any, ...]:
    """Equal for alternatives with the same candidates."""
    return (
        tuple(selector.expression for selector in alternative.selectors),
        alternative.admin_access,
        alternative.takes_all,
        alternative.capacity_key,
        repr(alternative.tolerations),
        tuple(
            (constraint.attribute, alternative.derived.get(constraint.attribute))
            for _, constraint in alternative.constraints
        ),
    )
