"""The devices that an expression is evaluated on: those of ResourceSlices, as ResourceSlicePatches change them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from advice.device_inventory import DeviceInventory, effective_devices, read
from resourceapi.decoding import DecodingError
from resourceapi.errors import Unanswerable
from resourceapi.kind import Kind
from resourceapi.kinds import DEVICE_CLASS, RESOURCE_SLICE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.manifests import mapping, name_of, text
from resourceapi.phrases import plural
from resourceapi.records.classes import DeviceClass, read_device_class

if TYPE_CHECKING:
    from allocator.inventory import Inventory
    from documents.manifest import Manifest
    from resourceapi.objects import Object
    from resourceapi.releases import Profile

#: The kinds that the devices of a live cluster depend on; on classes only where patches name some.
KINDS = (RESOURCE_SLICE.name, RESOURCE_SLICE_PATCH.name)


class Devices:
    """The objects that make up devices; others are passed over."""

    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._slices: list[Object] = []
        self._patches: dict[str, Object] = {}
        self._classes: dict[str, Manifest] = {}

    def learn(self, manifest: Manifest, value: dict[str, Any]) -> None:
        """Add an object.

        :param manifest: where it is written.
        :raises Unanswerable: if it cannot be read.
        """
        kind = kind_of(value.get("apiVersion"), value.get("kind"))
        if value.get("kind") == RESOURCE_SLICE.name:
            self._slices.append(self._read(manifest, value, RESOURCE_SLICE))
        elif kind is RESOURCE_SLICE_PATCH:
            self._patches[name_of(value)] = self._read(manifest, value, RESOURCE_SLICE_PATCH)
        elif kind is DEVICE_CLASS:
            self._classes[name_of(value)] = manifest

    def inventory(self) -> DeviceInventory:
        """The devices as they are with all patches.

        :raises Unanswerable: if a class cannot be read that a patch names.
        """
        patches = list(self._patches.values())
        return effective_devices(self._slices, patches, self._read_classes(), self._profile)

    def _read_classes(self) -> dict[str, DeviceClass]:
        named = self.named_classes
        return {
            name: read_device_class(self._read(manifest, manifest.value, DEVICE_CLASS))
            for name, manifest in self._classes.items()
            if name in named
        }

    def patched(self) -> Inventory | None:
        """The devices of slices with who gives them their values; None without patches.

        :raises Unanswerable: as `inventory`.
        """
        from allocator.features import Features
        from allocator.inventory import Inventory

        if not self._patches or not Features(self._profile.gates).device_patches:
            return None
        found = Inventory(each for each in self._slices if name_of(each))
        for device_class in self._read_classes().values():
            found.put_class(device_class)
        for patch in self._patches.values():
            found.put_patch(patch)
        return found

    @property
    def named_classes(self) -> set[str]:
        """The DeviceClasses that patches name."""
        filters = (mapping(patch, "spec", "devices", "filter") for patch in self._patches.values())
        return {name for each in filters if (name := text(each, "deviceClassName"))}

    def _read(self, manifest: Manifest, value: dict[str, Any], kind: Kind) -> Object:
        try:
            obj = read(value, kind, self._profile.schemas)
        except DecodingError as error:
            place = manifest.locate(error.path)
            raise Unanswerable(f"{manifest.file}:{place.line}:{place.column}: {error.text}") from None
        if obj is None:
            version = value.get("apiVersion")
            message = f"{manifest.file}:{manifest.line}: {plural(kind.name)} have no version {version}"
            raise Unanswerable(message)
        return obj
