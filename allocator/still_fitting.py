"""Whether devices that were found earlier can still be taken together, without a search for others."""

from __future__ import annotations

from collections.abc import Sequence

from allocator.attempt import Attempt
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from allocator.errors import AllocationError
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation
from resourceapi.records.pools import DeviceId


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
