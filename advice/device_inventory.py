"""The devices of ResourceSlices, grouped by what selectors see of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from conversion.hub import hub_object
from deviceselectors.device_properties import DeviceGroup, DeviceProperties, properties_key
from resourceapi.decoding import DecodingError
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.objects import EMPTY, Object

if TYPE_CHECKING:
    from resourceapi.schema import Schema


class DeviceName(NamedTuple):
    """The full name of a device; pool and name are empty for one that is in no slice."""

    driver: str
    pool: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


NamedGroup = DeviceGroup[list[DeviceName]]


class DeviceInventory:
    """The devices of slices, in the order in which these were added; of each pool only those of the newest generation."""

    def __init__(self) -> None:
        self._pools: dict[tuple[str, str], tuple[int, list[Object]]] = {}
        self._groups: list[NamedGroup] | None = None

    def add(self, spec: Object) -> None:
        """Add the devices of a slice's spec, of v1 in normal form."""
        pool = spec.get("pool") or EMPTY
        key = (spec.get("driver") or "", pool.get("name") or "")
        generation = pool.get("generation") or 0
        self._groups = None
        newest, specs = self._pools.setdefault(key, (generation, []))
        if generation > newest:
            specs = []
            self._pools[key] = (generation, specs)
        if generation >= newest:
            specs.append(spec)

    @property
    def groups(self) -> list[NamedGroup]:
        """All devices by their properties."""
        if self._groups is None:
            found: dict[str, NamedGroup] = {}
            for driver, pool, device in self._devices():
                key = properties_key(driver, device)
                group = found.get(key)
                if group is None:
                    group = found[key] = DeviceGroup(DeviceProperties(driver, device), [])
                group.members.append(DeviceName(driver, pool, device.get("name") or ""))
            self._groups = list(found.values())
        return self._groups

    def __len__(self) -> int:
        return sum(len(group.members) for group in self.groups)

    def _devices(self) -> Iterator[tuple[str, str, Object]]:
        for (driver, pool), (_, specs) in self._pools.items():
            for spec in specs:
                for device in spec.get("devices") or ():
                    yield driver, pool, device or EMPTY


def read_slice(manifest: Object, schemas: Mapping[str, Schema]) -> Object | None:
    """The spec of a ResourceSlice in the shape of v1, None for anything else; unknown fields are left out.

    :raises DecodingError: if the server could not decode it.
    """
    version = str(manifest.get("apiVersion")).rpartition("/")[2]
    if manifest.get("kind") != RESOURCE_SLICE.name or version not in schemas:
        return None
    spec = hub_object(manifest, schemas, defaults=None).get("spec")
    return spec if isinstance(spec, dict) else {}


def inventory_of(manifests: Iterable[Object], schemas: Mapping[str, Schema]) -> DeviceInventory:
    """The devices of those manifests that are ResourceSlices and can be decoded."""
    inventory = DeviceInventory()
    for manifest in manifests:
        try:
            spec = read_slice(manifest, schemas)
        except DecodingError:
            continue
        if spec is not None:
            inventory.add(spec)
    return inventory
