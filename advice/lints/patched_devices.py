"""The devices of the slices that lints know, as ResourceSlicePatches change them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from allocator.inventory import Inventory
from allocator.patches import PatchFailure
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from resourceapi.records.classes import DeviceClass
from resourceapi.records.pools import DeviceId


class PatchedDevices:
    """The devices of all slices that are known, and the patches that apply to them."""

    def __init__(
        self, slices: Sequence[Object], patches: Iterable[Object], classes: Mapping[str, DeviceClass]
    ) -> None:
        """Slices and patches are in the shape of v1."""
        self._inventory = Inventory(slices)
        for each in classes.values():
            self._inventory.put_class(each)
        self._patches: dict[str, Object] = {}
        self._in_effect: frozenset[str] | None = None
        for patch in patches:
            self.put(patch)

    def put(self, patch: Object) -> None:
        """Add a patch, or replace that of the same name."""
        name = name_of(patch)
        if self._patches.get(name) != patch:
            self._patches[name], self._in_effect = patch, None
            self._inventory.put_patch(patch)

    def failure_of(self, name: str) -> PatchFailure | None:
        """Why a patch does not apply to devices, if its filter fails on some."""
        return self._inventory.failures.get(name)

    def has_effect(self, name: str) -> bool:
        """Whether a patch applies to some device."""
        if self._in_effect is None:
            self._in_effect = self._inventory.patches_in_effect
        return name in self._in_effect

    def ids(self) -> list[DeviceId]:
        """The devices."""
        return [device.id for slice in self._inventory.published() for device in slice.devices]
