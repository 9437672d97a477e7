"""What a claim counts: which of its requests and subrequests counts how many devices of which class.

A claim is charged for the worst that an allocation can come to (KEP-4816, "Resource Quota"): an alternative cannot be
known before the claim is allocated, so a request with alternatives counts, for each class, the largest number that
any of them asks for.  Requests add up.
"""

from __future__ import annotations

from typing import NamedTuple

from quota.names import CLAIM_COUNT, devices_of
from resourceapi.limits import ALLOCATION_RESULTS
from resourceapi.model.claims import ALL, EXACT_COUNT
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Amounts, Quantity


class Demand(NamedTuple):
    """The devices that one request, or one subrequest of it, asks for.

    ``alternative``: the subrequest's name, empty for a request without subrequests.  ``devices``: the largest number
    that it can get.  ``counted``: whether its request is charged for it in this class; of subrequests with the same
    class, only the (first) largest is.
    """

    request: str
    alternative: str
    device_class: str
    mode: str
    devices: int
    counted: bool

    @property
    def name(self) -> str:
        """``request`` or ``request/alternative``, as status and container claims write it."""
        return f"{self.request}/{self.alternative}" if self.alternative else self.request


def demands(claim: Object) -> list[Demand]:
    """The demands of a claim (v1 JSON with its defaults), in its order."""
    found: list[Demand] = []
    for request in claim.get("spec", EMPTY).get("devices", EMPTY).get("requests") or ():
        alternatives = request.get("firstAvailable")
        if alternatives:
            found += _alternatives(request, alternatives)
        elif request.get("exactly"):
            found.append(_demand(request.get("name", ""), "", request["exactly"], counted=True))
    return found


def devices_by_class(found: list[Demand]) -> dict[str, int]:
    """The number of devices of each class that the demands of one claim are charged for."""
    total: dict[str, int] = {}
    for demand in found:
        if demand.counted and demand.devices:
            total[demand.device_class] = total.get(demand.device_class, 0) + demand.devices
    return total


def charges(claim: Object) -> Amounts:
    """A claim's usage but for extended resources: one claim, and devices by class."""
    usage = {CLAIM_COUNT: Quantity(1)}
    for device_class, devices in devices_by_class(demands(claim)).items():
        usage[devices_of(device_class)] = Quantity(devices)
    return usage


def _alternatives(request: Object, alternatives: list[Object]) -> list[Demand]:
    name = request.get("name", "")
    found = [_demand(name, sub.get("name", ""), sub, counted=False) for sub in alternatives]
    largest: dict[str, int] = {}
    for index, demand in enumerate(found):
        so_far = largest.get(demand.device_class)
        if so_far is None or demand.devices > found[so_far].devices:
            largest[demand.device_class] = index
    for index in largest.values():
        found[index] = found[index]._replace(counted=True)
    return found


def _demand(request: str, alternative: str, details: Object, *, counted: bool) -> Demand:
    mode = details.get("allocationMode", "")
    if mode == EXACT_COUNT:
        devices = int(details.get("count", 0))
    else:
        # How many devices `All` finds shows when it is allocated; a mode that is not known counts nothing.
        devices = ALLOCATION_RESULTS if mode == ALL else 0
    return Demand(request, alternative, details.get("deviceClassName", ""), mode, devices, counted)
