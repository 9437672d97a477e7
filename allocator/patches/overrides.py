"""What patches and DeviceTaintRules that apply to a device change about it, and the shape that it then has."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakValueDictionary

from allocator.capacity_requests import DeviceCapacities
from allocator.device_shapes import DeviceShape
from allocator.patches.applied import Applied
from allocator.patches.patch import removes
from deviceselectors.device_properties import DeviceProperties
from resourceapi.canonical import canonical
from resourceapi.objects import Object


class Overrides:
    """What devices are given, by the names under which drivers publish it; compared by identity, see :class:`MergedShapes`."""

    __slots__ = ("__weakref__", "_removed", "attributes", "capacity", "domain", "key", "taints")

    def __init__(self, driver: str, applied: Applied) -> None:
        self.domain = f"{driver}/"
        self.attributes = first_of_each([each.attributes for each in applied.patches])
        self.capacity = first_of_each([each.capacity for each in applied.patches])
        self._removed = [name for name, entry in self.attributes.items() if removes(entry)]
        self.taints = [each.taint for each in applied.rules]
        parts = (sorted(self.attributes.items()), sorted(self.capacity.items()), self.taints)
        #: equal for those that change the same
        self.key = canonical([driver, *parts])

    def attributes_of(self, attributes: Object) -> Object:
        """The attributes of a device that had these."""
        merged = self._merged(attributes, self.attributes)
        for name in self._removed:
            merged.pop(published_name(self.domain, name, attributes), None)
        return merged

    def capacity_of(self, capacity: Object) -> Object:
        """The capacity of a device that had this one."""
        return self._merged(capacity, self.capacity)

    def _merged(self, own: Object, given: Object) -> Object:
        merged = dict(own)
        for full, entry in given.items():
            name = published_name(self.domain, full, own)
            merged[name] = entry
            if name != full:
                merged.pop(full, None)
        return merged


def first_of_each(given: Sequence[Object]) -> Object:
    """Of each name the first entry."""
    found: Object = {}
    for entries in reversed(given):
        found.update(entries)
    return found


def published_name(domain: str, full: str, own: Object) -> str:
    """How a device has an attribute or capacity of this full name: as its slice spells it, else as drivers do.

    :param domain: that of the driver, with a slash.
    """
    bare = full.removeprefix(domain)
    return full if full in own and bare not in own else bare


class MergedShapes:
    """The shapes of devices with what is changed about them, one object per shape and change."""

    def __init__(self) -> None:
        self._overrides: WeakValueDictionary[str, Overrides] = WeakValueDictionary()
        self._shapes: WeakValueDictionary[tuple[DeviceShape, Overrides], DeviceShape] = WeakValueDictionary()
        self._properties: WeakValueDictionary[tuple[DeviceProperties, Overrides], DeviceProperties] = (
            WeakValueDictionary()
        )
        self._capacities: WeakValueDictionary[str, DeviceCapacities] = WeakValueDictionary()

    def of(self, shape: DeviceShape, applied: Applied) -> DeviceShape:
        """The shape of a device to which patches and rules apply."""
        if not applied.changes:
            return shape
        overrides = self._overrides_of(shape.properties.driver, applied)
        found = self._shapes.get((shape, overrides))
        if found is None:
            found = self._shapes[shape, overrides] = self._merged(shape, overrides)
        return found

    def _overrides_of(self, driver: str, applied: Applied) -> Overrides:
        found: Overrides | None = applied.found_out.get(driver)
        if found is None:
            made = Overrides(driver, applied)
            found = applied.found_out[driver] = self._overrides.setdefault(made.key, made)
        return found

    def _merged(self, shape: DeviceShape, overrides: Overrides) -> DeviceShape:
        properties = self._properties_of(shape.properties, overrides)
        capacities = shape.capacities
        if overrides.capacity:
            key = canonical(properties.capacity)
            known = self._capacities.get(key)
            capacities = known or DeviceCapacities(properties.capacity)
            self._capacities[key] = capacities
        return DeviceShape(with_overrides(shape.spec, properties, overrides.taints), properties, capacities)

    def _properties_of(self, properties: DeviceProperties, overrides: Overrides) -> DeviceProperties:
        if not overrides.attributes and not overrides.capacity:
            return properties
        found = self._properties.get((properties, overrides))
        if found is None:
            attributes = overrides.attributes_of(properties.attributes)
            capacity = (
                overrides.capacity_of(properties.capacity) if overrides.capacity else properties.capacity
            )
            found = self._properties[properties, overrides] = properties.changed(attributes, capacity)
        return found


def with_overrides(spec: Object, properties: DeviceProperties, taints: Sequence[Object]) -> Object:
    """An element of `spec.devices` with other properties and more taints."""
    merged = dict(spec)
    for name, entries in (("attributes", properties.attributes), ("capacity", properties.capacity)):
        if entries:
            merged[name] = entries
        else:
            merged.pop(name, None)
    if taints:
        merged["taints"] = [*(spec.get("taints") or ()), *taints]
    return merged
