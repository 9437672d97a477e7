"""The claims of a pod and the candidates of a node as a constraint problem: a list of requests, devices as bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from allocator.attempt import Attempt
from allocator.constraint_state import Constraint
from allocator.demand import Alternative, ClaimDemand, RequestDemand
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.features import Features
from allocator.pruning.counters import CounterSets
from allocator.pruning.values import ValueMap
from allocator.rules.capacity import Capacity
from allocator.rules.constraints import attribute_of
from allocator.rules.exclusive_use import ExclusiveUse


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


class Problem:
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
