"""Taking devices one after the other on one node, and giving them back. What may be taken is for the rules to say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from allocator.attempt_state import AttemptState, Taken
from allocator.demand import MEMORY_BYTES, Alternative, ClaimDemand
from allocator.devices import Device
from allocator.errors import AllocationError, Mention, RefusedDeviceError
from allocator.features import Features
from allocator.pools import Pool
from allocator.rules.capacity import Capacity, consumption
from allocator.rules.constraints import Constraints
from allocator.rules.counters import Counters
from allocator.rules.groups import CompatibilityGroups
from allocator.rules.standing import (
    ExclusiveUse,
    FeatureGates,
    NodeOperations,
    Placement,
    Taints,
    is_selectable,
)
from allocator.selection import Selectors
from allocator.time_limit import TimeLimit
from resourceapi.caches import remember
from resourceapi.objects import Object
from resourceapi.quantity import added
from resourceapi.records.claims import Allocation
from resourceapi.records.pools import DeviceId


def selects_shape(
    alternative: Alternative, device: Device, features: Features, selectors: Selectors, time_limit: TimeLimit
) -> bool:
    """Whether the alternative selects devices of the device's shape, wherever they are.

    :raises AllocationError: if a selector is bad or fails on the device.
    """
    outcome = alternative.selected.get(device.kind)
    if outcome is None:
        outcome = is_selectable(device.shape, features) and selectors.match_all(
            alternative.selectors, device, time_limit
        )
        remember(alternative.selected, device.kind, outcome)
        alternative.claim.weight += MEMORY_BYTES
    return outcome


class Attempt(AttemptState):
    """One search on one node. `mark` and `undo` go back to an earlier state."""

    def drivers_of(self, alternatives: Iterable[Alternative]) -> Collection[str]:
        """The drivers of all devices that the alternatives can choose; empty if these may be of any driver."""
        drivers = set()
        for alternative in alternatives:
            driver = alternative.required_driver
            if driver is None:
                driver = self.selectors.required_driver(alternative.selectors, self.time_limit)
                alternative.required_driver = driver
            if not driver:
                return ()
            drivers.add(driver)
        return drivers

    def passes_over(self, pool: Pool, drivers: Collection[str]) -> bool:
        """Whether requests for devices of these drivers get nothing of a pool, and none of its devices ends their search.

        So a driver with very many devices takes nobody's time who wants none of them.
        """
        if not drivers or pool.id.driver in drivers or pool.invalid:
            return False
        return all(slice.is_evaluable(self.time_limit) for slice in pool.slices)

    def mark(self) -> int:
        """The state now, for `undo`."""
        return self.trail.mark()

    def undo(self, mark: int) -> None:
        """Give back what was taken since then."""
        self.trail.undo(mark)

    def give_back(self, mark: int, alternative: Alternative, device: Device) -> None:
        """Undo all since `mark`, where the device was taken for the alternative."""
        del alternative, device
        self.trail.undo(mark)

    def selects(self, alternative: Alternative, device: Device) -> bool:
        """Whether the device matches the alternative, on this node.

        :raises AllocationError: if a selector is bad or fails on the device, be it one for another node.
        """
        outcome = alternative.selected.get(device.kind)
        if outcome is None:
            outcome = selects_shape(alternative, device, self.features, self.selectors, self.time_limit)
        if outcome and device.slice.per_device:
            return Placement.admits(self, alternative, device)
        return outcome

    def candidates(
        self, alternative: Alternative, devices: Sequence[Device], start: int = 0
    ) -> Iterator[int]:
        """Those of the devices, from the place `start` on, that may be worth taking, by their places.

        Whether they are is looked at when they are come to: what the caller has taken until then counts.

        :raises AllocationError: if the search ends here.
        """
        known = alternative.selected
        is_free, has_capacity = ExclusiveUse.admits, Capacity.admits
        for place in range(start, len(devices)):
            device = devices[place]
            if not is_free(self, alternative, device):
                continue
            selected = known.get(device.kind)
            if selected is None or device.slice.per_device:
                selected = self.selects(alternative, device)
            if selected and has_capacity(self, alternative, device):
                yield place

    def take(self, alternative: Alternative, device: Device, *, must: bool) -> bool:
        """Take a selected device, or leave all as it was and return False.

        :param must: whether the request cannot do without the device; then a constraint that refuses it is an error.
        :raises AllocationError: if the search ends here.
        """
        mark = self.trail.mark()
        if self._admits(alternative, device, must):
            self._record(alternative, device)
            return True
        self.trail.undo(mark)
        return False

    def _admits(self, alternative: Alternative, device: Device, must: bool) -> bool:
        """Ask the rules in kube-scheduler's order, on which depends which error comes first.

        Rules that have nothing to say about such a device are not even asked: this is done very often.
        """
        if not ExclusiveUse.admits(self, alternative, device):
            return False
        if device.slice.skips and not NodeOperations.admits(self, alternative, device):
            return False
        if device.consumes:
            for rule in (FeatureGates, CompatibilityGroups, Counters):
                if not rule.admits(self, alternative, device):
                    return False
        if device.taints and not Taints.admits(self, alternative, device):
            return False
        if alternative.constraints and not Constraints.admits(self, alternative, device):
            if must:
                raise RefusedDeviceError(
                    *alternative.place,
                    ": cannot add",
                    Mention(" device ", device, " a device"),
                    " because a claim constraint would not be satisfied",
                )
            return False
        return Capacity.admits(self, alternative, device)

    def _record(self, alternative: Alternative, device: Device) -> None:
        claim, capacity = alternative.claim, None
        if device.multiple and self.is_shared(device):
            capacity = consumption(self, alternative, device)
            total = added(self.shares.get(device.id, {}), capacity)
            self.trail.set(self.shares, device.id, total)
        else:
            holders = self.exclusive.get(device.id, frozenset())
            self.trail.set(self.exclusive, device.id, holders | {claim})
        self.trail.set(self._taken, claim, (*self.taken(claim), Taken(device, alternative, capacity)))


# Whether devices that were found earlier can still be taken together, without a search for others.


def still_fits(attempt: Attempt, claims: Sequence[ClaimDemand], results: Sequence[Object]) -> bool:
    """Whether the devices of each claim's AllocationResult may be taken, one after the other, by the rules of a search.

    :param attempt: a new one, on the node of the results, with what is allocated now.
    """
    devices = {device.id: device for pool in attempt.pools if pool.usable for device in pool.devices}
    try:
        return all(_takes(attempt, devices, claim, each) for claim, each in zip(claims, results, strict=True))
    except AllocationError:
        return False


def _takes(attempt: Attempt, devices: dict[DeviceId, Device], claim: ClaimDemand, allocation: Object) -> bool:
    """Take the devices of a claim, as far as that can be done."""
    alternatives = {each.name: each for request in claim.requests for each in request.alternatives}
    for result in Allocation(allocation).results:
        alternative = alternatives.get(result.request)
        device = devices.get(result.device)
        if alternative is None or device is None or not _take(attempt, alternative, device):
            return False
    return True


def _take(attempt: Attempt, alternative: Alternative, device: Device) -> bool:
    if alternative.problem or not attempt.selects(alternative, device):
        return False
    return attempt.take(alternative, device, must=False)
