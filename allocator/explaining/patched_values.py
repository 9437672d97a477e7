"""Which of the values for which devices are refused ResourceSlicePatches have given to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.inventory import Inventory
from deviceselectors.lookups import ATTRIBUTES
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.records.pools import DeviceId

#: Of more devices the others are not looked at.
MOST_DEVICES = 64


class PatchedValue(NamedTuple):
    """An attribute or capacity, by its full name, and the patch that gives its value, or removes it."""

    name: str
    patch: str
    removed: bool


def patched_values(
    inventory: Inventory, devices: Sequence[DeviceId], names: Iterable[tuple[str, str]]
) -> tuple[PatchedValue, ...]:
    """Which patches have given these attributes and capacities to some of these devices.

    :param names: `attributes` or `capacity`, and the name; without domain it is the driver's.
    """
    wanted = list(names)
    found: dict[PatchedValue, None] = {}
    for device in devices[:MOST_DEVICES] if wanted else ():
        sources = inventory.sources_of(device)
        if sources is None:
            continue
        for map_, name in wanted:
            full = _full(name, device.driver)
            for own, given in (sources.attributes if map_ == ATTRIBUTES else sources.capacity).items():
                if given.giver.kind == RESOURCE_SLICE_PATCH.name and _full(own, device.driver) == full:
                    found[PatchedValue(full, given.giver.name, given.removed)] = None
    return tuple(sorted(found))


def _full(name: str, driver: str) -> str:
    return name if "/" in name else f"{driver}/{name}"
