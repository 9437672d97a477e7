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


class Entries:
    """Attributes or capacity that devices of a driver are given, by full name."""

    __slots__ = ("_of_others", "_own", "_removed", "by_name")

    def __init__(self, domain: str, by_name: Object) -> None:
        """`domain`: that of the driver, with a slash."""
        self.by_name = by_name
        #: with the driver's domain, which slices may leave out
        self._own = [
            (full.removeprefix(domain), full, by_name[full]) for full in by_name if full.startswith(domain)
        ]
        self._of_others = {full: by_name[full] for full in by_name if not full.startswith(domain)}
        self._removed = [
            name for full in by_name if removes(by_name[full]) for name in (full, full.removeprefix(domain))
        ]

    def merged(self, own: Object) -> Object:
        """What a device has that had these."""
        found = {**own, **self._of_others}
        for bare, full, entry in self._own:
            if bare in own or full not in own:
                found[bare] = entry
                found.pop(full, None)
            else:
                found[full] = entry
        for name in self._removed:
            found.pop(name, None)
        return found


class Overrides:
    """What devices are given, by the names under which drivers publish it; compared by identity, see :class:`MergedShapes`."""

    __slots__ = ("__weakref__", "attributes", "capacity", "key", "taints")

    def __init__(self, driver: str, applied: Applied) -> None:
        attributes = first_of_each([each.attributes for each in applied.patches if each.attributes])
        capacity = first_of_each([each.capacity for each in applied.patches if each.capacity])
        self.attributes = Entries(f"{driver}/", attributes) if attributes else None
        self.capacity = Entries(f"{driver}/", capacity) if capacity else None
        self.taints = [each.taint for each in applied.rules]
        #: equal for those that change the same
        self.key = canonical([driver, sorted(attributes.items()), sorted(capacity.items()), self.taints])

    def merged(self, properties: DeviceProperties) -> DeviceProperties:
        """The properties of a device that had these."""
        attributes, capacity = properties.attributes, properties.capacity
        if self.attributes is not None:
            attributes = self.attributes.merged(attributes)
        if self.capacity is not None:
            capacity = self.capacity.merged(capacity)
        if attributes is properties.attributes and capacity is properties.capacity:
            return properties
        return properties.changed(attributes, capacity)


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
        if overrides.capacity is not None:
            key = canonical(properties.capacity)
            capacities = self._capacities.get(key) or DeviceCapacities(properties.capacity)
            self._capacities[key] = capacities
        return shape.changed(properties, capacities, overrides.taints)

    def _properties_of(self, properties: DeviceProperties, overrides: Overrides) -> DeviceProperties:
        key = properties, overrides
        found = self._properties.get(key)
        if found is None:
            found = overrides.merged(properties)
            if found is not properties:
                self._properties[key] = found
        return found
