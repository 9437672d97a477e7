"""Which class and which alternative of a request each device of an allocation serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation
from resourceapi.records.packed_devices import devices_of


class ChosenAlternative(NamedTuple):
    """What a device was given for.

    :param alternative: its place in ``firstAvailable``, from 0; empty for a request with ``exactly``.
    """

    driver: str
    device_class: str
    alternative: str


def chosen_alternatives(claim: Object, allocation: Object) -> Iterator[ChosenAlternative]:
    """What the devices of an AllocationResult were given for.

    :param claim: v1, normal form.
    """
    named = dict(_alternatives(claim))
    for result in Allocation(allocation).results:
        yield ChosenAlternative(result.device.driver, *named.get(result.request, ("", "")))


def _alternatives(claim: Object) -> Iterator[tuple[str, tuple[str, str]]]:
    """The names of requests and subrequests as results have them, with class and place."""
    for request in entries(devices_of(claim), "requests"):
        name = text(request, "name")
        yield name, (text(mapping(request, "exactly"), "deviceClassName"), "")
        for place, each in enumerate(entries(request, "firstAvailable")):
            yield f"{name}/{text(each, 'name')}", (text(each, "deviceClassName"), str(place))
