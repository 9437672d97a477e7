"""The devices of ResourceSlices, grouped by what selectors see of them."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from conversion.hub import hub_object
from deviceselectors.device_properties import DeviceGroup, DeviceProperties, properties_key
from resourceapi.decoding import DecodingError
from resourceapi.kind import Kind
from resourceapi.kinds import RESOURCE_SLICE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.objects import EMPTY, Object
from resourceapi.records.classes import DeviceClass
from resourceapi.records.pools import DeviceId, SliceRecord, by_pool, newest

if TYPE_CHECKING:
    from resourceapi.releases import Profile
    from resourceapi.schema import Schema


NamedGroup = DeviceGroup[list[DeviceId]]


class _Slice(SliceRecord):
    """A slice with its devices (v1)."""

    __slots__ = ("devices",)

    def __init__(self, slice: Object) -> None:
        super().__init__(slice)
        self.devices: Sequence[Object] = (slice.get("spec") or EMPTY).get("devices") or ()


class DeviceInventory:
    """The devices of slices, in their order; of each pool only those of the newest generation."""

    def __init__(self, slices: Iterable[Object]) -> None:
        """`slices`: ResourceSlices of v1 in normal form."""
        self._pools = by_pool(map(_Slice, slices))

    @cached_property
    def groups(self) -> list[NamedGroup]:
        """All devices by their properties."""
        found: dict[str, NamedGroup] = {}
        # patched devices of a shape share what patches have merged, which may be thousands of attributes
        keys: dict[tuple[object, ...], str] = {}
        for id, device in self.devices():
            parts = device.get("attributes"), device.get("capacity")
            same = (id.driver, device.get("allowMultipleAllocations") is True, *map(builtins.id, parts))
            key = keys.get(same)
            if key is None:
                key = keys[same] = properties_key(id.driver, device)
            group = found.get(key)
            if group is None:
                group = found[key] = DeviceGroup(DeviceProperties(id.driver, device), [])
            group.members.append(id)
        return list(found.values())

    def devices(self) -> Iterator[tuple[DeviceId, Object]]:
        """Each device with its name, and what its slice says of it."""
        for pool, slices in self._pools.items():
            for device in (device or EMPTY for slice in newest(slices) for device in slice.devices):
                yield DeviceId(*pool, device.get("name") or ""), device

    def __len__(self) -> int:
        return sum(len(group.members) for group in self.groups)


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
    slices: Sequence[Object], patches: Sequence[Object], classes: Mapping[str, DeviceClass], profile: Profile
) -> DeviceInventory:
    """The effective devices of slices: as patches change them.

    :param slices: in the shape of v1, like the patches.
    :param classes: the DeviceClasses that patches may name, by name.
    """
    if patches:
        from allocator.features import Features
        from allocator.patches import merged_slices

        slices = merged_slices(slices, patches, (), classes, Features(profile.gates, profile.minor))
    return DeviceInventory(slices)


def inventory_of(
    manifests: Iterable[Object], class_selectors: Mapping[str, Sequence[str]], profile: Profile
) -> DeviceInventory:
    """The devices of those manifests that are ResourceSlices, as those that are ResourceSlicePatches change them."""
    return effective_devices(*objects_of(manifests, class_selectors, profile), profile)


def objects_of(
    manifests: Iterable[Object], class_selectors: Mapping[str, Sequence[str]], profile: Profile
) -> tuple[list[Object], list[Object], dict[str, DeviceClass]]:
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
    return slices, patches, {name: DeviceClass(name, tuple(each)) for name, each in class_selectors.items()}
