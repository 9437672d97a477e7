"""The devices of ResourceSlices, as selectors see them: those of each pool's newest generation, alike ones together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from conversion.hub import hub_object
from deviceselectors.runtime.device import Device, prepare_device
from resourceapi.decoding import DecodingError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from resourceapi.schema import Schema

_KIND = "ResourceSlice"


class Named:
    """The place of a device: its driver, its pool and its name in it."""

    __slots__ = ("driver", "name", "pool")

    def __init__(self, driver: str, pool: str, name: str) -> None:
        self.driver = driver
        self.pool = pool
        self.name = name

    def __str__(self) -> str:
        return "/".join(part for part in (self.driver, self.pool, self.name) if part)


class Alike:
    """Devices that no selector can tell apart."""

    __slots__ = ("device", "members")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.members: list[Named] = []

    def __len__(self) -> int:
        return len(self.members)


class Inventory:
    """All devices that are known, in the order in which they came.

    Slices are v1 objects in normal form. Of each pool only the newest generation counts, as for the scheduler.
    """

    def __init__(self) -> None:
        self._pools: dict[tuple[str, str], tuple[int, list[dict[str, Any]]]] = {}
        self._groups: list[Alike] | None = None

    def add(self, spec: Mapping[str, Any]) -> None:
        """Take up the devices of a slice's spec."""
        pool = spec.get("pool") or {}
        key = (spec.get("driver") or "", pool.get("name") or "")
        generation = pool.get("generation") or 0
        self._groups = None
        newest, specs = self._pools.setdefault(key, (generation, []))
        if generation > newest:
            specs = []
            self._pools[key] = (generation, specs)
        if generation >= newest:
            specs.append(dict(spec))

    @property
    def groups(self) -> list[Alike]:
        """The devices, by what selectors see of them."""
        if self._groups is None:
            found: dict[str, Alike] = {}
            for driver, pool, device in self._devices():
                seen = {
                    key: device.get(key) for key in ("attributes", "capacity", "allowMultipleAllocations")
                }
                signature = f"{driver} {seen!r}"
                alike = found.get(signature)
                if alike is None:
                    alike = found[signature] = Alike(prepare_device(_readable(device), driver))
                alike.members.append(Named(driver, pool, device.get("name") or ""))
            self._groups = list(found.values())
        return self._groups

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    def _devices(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        for (driver, pool), (_, specs) in self._pools.items():
            for spec in specs:
                for device in spec.get("devices") or ():
                    yield driver, pool, device or {}


def _readable(device: dict[str, Any]) -> dict[str, Any]:
    """The device with quantities as text, 0 where there is none."""
    capacity = device.get("capacity") or {}
    attributes = device.get("attributes") or {}
    return {
        "allowMultipleAllocations": device.get("allowMultipleAllocations"),
        "attributes": {name: attribute or {} for name, attribute in attributes.items()},
        "capacity": {
            name: {"value": str((entry or {}).get("value", "0"))} for name, entry in capacity.items()
        },
    }


def read_slice(manifest: dict[str, Any], schemas: Mapping[str, Schema]) -> dict[str, Any] | None:
    """The spec of a ResourceSlice in the shape of v1, None for anything else; unknown fields are left out.

    Raises DecodingError for one that the server could not read.
    """
    version = str(manifest.get("apiVersion")).rpartition("/")[2]
    if manifest.get("kind") != _KIND or version not in schemas:
        return None
    spec = hub_object(manifest, schemas, defaults=None).get("spec")
    return spec if isinstance(spec, dict) else {}


def inventory_of(manifests: Iterable[dict[str, Any]], schemas: Mapping[str, Schema]) -> Inventory:
    """The devices of those manifests that are readable ResourceSlices."""
    inventory = Inventory()
    for manifest in manifests:
        try:
            spec = read_slice(manifest, schemas)
        except DecodingError:
            continue
        if spec is not None:
            inventory.add(spec)
    return inventory
