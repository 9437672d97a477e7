"""The devices of ResourceSlices, grouped by what selectors see of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from conversion.hub import hub_object
from deviceselectors.device_properties import DeviceGroup, DeviceProperties, properties_key
from resourceapi.decoding import DecodingError
from resourceapi.kind import Kind
from resourceapi.kinds import RESOURCE_SLICE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.objects import EMPTY, Object

if TYPE_CHECKING:
    from resourceapi.releases import Profile
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


def read(manifest: Object, kind: Kind, schemas: Mapping[str, Schema]) -> Object | None:
    """An object of a kind in the shape of v1, None for anything else; unknown fields are left out.

    :raises DecodingError: if the server could not decode it.
    """
    api_version = str(manifest.get("apiVersion"))
    version = api_version.rpartition("/")[2]
    if kind_of(api_version, manifest.get("kind")) is not kind or version not in schemas:
        return None
    return hub_object(manifest, schemas, defaults=None)


def effective_devices(
    slices: Sequence[Object], patches: Sequence[Object], classes: Mapping[str, Object], profile: Profile
) -> DeviceInventory:
    """The effective devices of slices: as patches change them.

    :param slices: in the shape of v1, like the patches.
    :param classes: the DeviceClasses that patches may name, by name, in the shape of v1.
    """
    if patches:
        from allocator.features import Features
        from allocator.patches import merged_slices

        slices = merged_slices(slices, patches, (), classes, Features(profile.gates))
    inventory = DeviceInventory()
    for slice in slices:
        inventory.add(slice.get("spec") or EMPTY)
    return inventory


def inventory_of(
    manifests: Iterable[Object], class_selectors: Mapping[str, Sequence[str]], profile: Profile
) -> DeviceInventory:
    """The devices of those manifests that are ResourceSlices, as those that are ResourceSlicePatches change them."""
    return effective_devices(*objects_of(manifests, class_selectors, profile), profile)


def objects_of(
    manifests: Iterable[Object], class_selectors: Mapping[str, Sequence[str]], profile: Profile
) -> tuple[list[Object], list[Object], dict[str, Object]]:
    """Those of the manifests that are ResourceSlices, those that are ResourceSlicePatches, and the DeviceClasses by name.

    What cannot be decoded is left out.

    :param class_selectors: the selectors of the classes, by name.
    """
    slices, patches = [], []
    for manifest in manifests:
        with suppress(DecodingError):
            if obj := read(manifest, RESOURCE_SLICE, profile.schemas):
                slices.append(obj)
            elif obj := read(manifest, RESOURCE_SLICE_PATCH, profile.schemas):
                patches.append(obj)
    return slices, patches, {name: _class_of(name, each) for name, each in class_selectors.items()}


def _class_of(name: str, expressions: Sequence[str]) -> Object:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return {"metadata": {"name": name}, "spec": {"selectors": selectors}}
