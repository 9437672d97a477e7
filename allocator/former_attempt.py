"""What kube-scheduler before 1.37 remembers of devices that it has given back, or has not taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from allocator.attempt import Attempt
from allocator.attempt_state import Taken
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import CrashError
from allocator.rules.capacity import Capacity
from allocator.rules.constraints import Constraints
from allocator.rules.counters import Counters, draws
from allocator.rules.exclusive_use import ExclusiveUse
from allocator.rules.feature_gates import FeatureGates
from allocator.rules.taints import Taints


class FormerAttempt(Attempt):
    """An attempt as former releases make it.

    Before 1.37, `distinctAttribute` forgets all devices of a request once one of them is given back. Before 1.36, a device
    that is refused for a taint, a constraint or its capacity has drawn from counters nevertheless, and a share that is
    given back still draws from them; one that is refused for its capacity counts for constraints, and is taken. Requests
    for all devices crash 1.35 where devices draw from counters; 1.34 looks at the capacity of another device.
    """

    def candidates(
        self, alternative: Alternative, devices: Sequence[Device], start: int = 0
    ) -> Iterator[int]:
        """See :meth:`Attempt.candidates`; before 1.35 a search ends at a pool that is not valid."""
        if self.closed:
            return self._up_to_closed_pool(alternative, devices, start)
        return super().candidates(alternative, devices, start)

    def _up_to_closed_pool(
        self, alternative: Alternative, devices: Sequence[Device], start: int
    ) -> Iterator[int]:
        for place in range(start, len(devices)):
            error = self.closed.get(devices[place].slice.pool)
            if error is not None and self.features.minor >= 33:
                raise error
            for _ in super().candidates(alternative, devices[place : place + 1]):
                if error is not None:  # 1.32 looks whether a pool is valid once it could use a device of it
                    raise error
                yield place

    def take(self, alternative: Alternative, device: Device, *, must: bool) -> bool:
        """See :meth:`Attempt.take`."""
        crashes = must and self.features.crashes_on_counters and draws(self, device)
        if crashes and ExclusiveUse.admits(self, alternative, device):
            raise CrashError("invalid memory address or nil pointer dereference")
        if super().take(alternative, device, must=must):
            return True
        if self._reserves(alternative, device):
            self._refuse(alternative, device)
        return False

    def give_back(self, mark: int, alternative: Alternative, device: Device) -> None:
        """See :meth:`Attempt.give_back`."""
        keeps = alternative.takes_all and self.features.keeps_all
        kept = self._held(alternative, device) if keeps else ()
        super().give_back(mark, alternative, device)
        for of, key, value in kept:
            of[key] = value
        if self.is_shared(device):
            self._keep_drawn(device)
        self._forget(alternative, len(alternative.constraints))

    def _admits(self, alternative: Alternative, device: Device, must: bool) -> bool:
        if not super()._admits(alternative, device, must):
            return False
        if self.features.minor >= 35 or not self.features.consumable_capacity:
            return True
        place = sum(each.alternative.main == alternative.main for each in self.taken(alternative.claim))
        devices = self.slice_of(device).devices
        if place >= len(devices):
            raise CrashError(f"index out of range [{place}] with length {len(devices)}")
        return Capacity.admits(self, alternative, devices[place])

    def _reserves(self, alternative: Alternative, device: Device) -> bool:
        """Whether the device is free and its counters would do."""
        mark = self.mark()
        free = ExclusiveUse.admits(self, alternative, device)
        rules = (FeatureGates, Counters) if device.consumes else ()
        found = free and all(rule.admits(self, alternative, device) for rule in rules)
        self.undo(mark)
        return found

    def _refuse(self, alternative: Alternative, device: Device) -> None:
        """Remember what is remembered of a device that is refused though its counters would do."""
        claim, mark, accepted = alternative.claim, self.mark(), 0
        lacks_capacity = False
        if Taints.admits(self, alternative, device):
            accepted = Constraints.accepted(self, alternative, device)
            lacks_capacity = self.features.minor < 36 and accepted == len(alternative.constraints)
        states = {(claim, place): self.constraint_state(claim, place) for place, _ in alternative.constraints}
        self.undo(mark)
        self._keep_drawn(device)
        if not lacks_capacity:
            self._forget(alternative, accepted)
            return
        if not self.is_shared(device):
            self.exclusive[device.id] = self.exclusive.get(device.id, frozenset()) | {claim}
        self.constraints.update(states)
        self.stuck.update(states)

    def _record(self, alternative: Alternative, device: Device) -> None:
        if alternative.admin_access and self.features.repeats_admin_access:
            claim = alternative.claim
            self.trail.set(self._taken, claim, (*self.taken(claim), Taken(device, alternative, None)))
        else:
            super()._record(alternative, device)

    def _held(self, alternative: Alternative, device: Device) -> list[tuple[dict[Any, Any], Any, Any]]:
        """What is remembered of a device that is taken: in which mapping, under which key, and what."""
        claim, states = alternative.claim, self.constraints
        held: list[tuple[dict[Any, Any], Any, Any]] = [(self._taken, claim, self.taken(claim))]
        if device.id in self.exclusive and not alternative.admin_access:
            held.append((self.exclusive, device.id, self.exclusive[device.id]))
        keys = [(claim, place) for place, _ in alternative.constraints if (claim, place) in states]
        return held + [(of, key, states[key]) for key in keys for of in (states, self.stuck)]

    def _keep_drawn(self, device: Device) -> None:
        if self.features.minor >= 36 or self.features.minor < 34 or not draws(self, device):
            return
        account = self.account(device)
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                key = account, (name, counter)
                before = self.kept.get(key)
                self.kept[key] = amount if before is None else before.add(amount)

    def _forget(self, alternative: Alternative, accepted: int) -> None:
        """Give a device back to the first of the constraints, which have accepted it."""
        for place, constraint in alternative.constraints[:accepted]:
            key = (alternative.claim, place)
            if constraint.distinct and key in self.constraints:
                entries = self.constraints[key]
                self.constraints[key] = tuple(each for each in entries if each[0] != alternative.main)
        for key, state in self.stuck.items():
            if not self.constraints.get(key):
                self.constraints[key] = state
