"""What patches and DeviceTaintRules that apply to a device change about it, and the shape that it then has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from allocator.capacity_requests import DeviceCapacities
from allocator.device_shapes import DeviceShape, DeviceValues, read_taints
from allocator.patches.patch import Patch, removes
from deviceselectors.device_properties import DeviceProperties
from resourceapi.objects import Object
from resourceapi.records.taints import DeviceTaintRule
from resourceapi.spelling import canonical

# What patches and DeviceTaintRules apply to a device.

#: Patches, rules and failures are kept sorted by this.
IN_ORDER = attrgetter("order")


class PlacedRule:
    """A DeviceTaintRule with its place in the order in which rules add their taints; compared by identity."""

    __slots__ = ("name", "names", "order", "taint")

    def __init__(self, rule: DeviceTaintRule, order: int) -> None:
        self.name, self.names, self.taint = rule
        self.order = order


class Failing(NamedTuple):
    """A patch whose filter fails on a device, and why."""

    patch: Patch
    reason: str

    @property
    def name(self) -> str:
        """That of the patch."""
        return self.patch.name

    @property
    def order(self) -> tuple[Any, ...]:
        """That of the patch."""
        return self.patch.order


class Applied:
    """The patches that apply to a device, the one that counts first; the rules; the patches whose filter fails on it."""

    __slots__ = ("failed", "found_out", "patches", "rules")

    def __init__(
        self, patches: tuple[Patch, ...], rules: tuple[PlacedRule, ...], failed: tuple[Failing, ...]
    ) -> None:
        self.patches = patches
        self.rules = rules
        self.failed = failed
        #: what others have found out about it, by the name of a driver or by what it is
        self.found_out: dict[object, Any] = {}

    @staticmethod
    def of(patches: Iterable[Patch], rules: Iterable[PlacedRule], failed: Iterable[Failing]) -> Applied:
        """Patches and rules in any order."""
        found = Applied(
            tuple(sorted(patches, key=IN_ORDER)),
            tuple(sorted(rules, key=IN_ORDER)),
            tuple(sorted(failed, key=IN_ORDER)),
        )
        return found if found.patches or found.rules or found.failed else NOTHING

    @property
    def changes(self) -> bool:
        """Whether anything about the device is changed."""
        return bool(self.patches or self.rules)

    def equals(self, other: Applied) -> bool:
        """Whether the same applies."""
        return (self.patches, self.rules, self.failed) == (other.patches, other.rules, other.failed)


NOTHING = Applied((), (), ())


class Entries:
    """Attributes or capacity that devices of a driver are given, by full name."""

    __slots__ = ("_of_others", "_own", "_removed")

    def __init__(self, domain: str, by_name: Object) -> None:
        """`domain`: that of the driver, with a slash."""
        #: with the driver's domain, which slices may leave out
        self._own = [
            (full.removeprefix(domain), full, by_name[full]) for full in by_name if full.startswith(domain)
        ]
        self._of_others = DeviceValues(
            {full: by_name[full] for full in by_name if not full.startswith(domain)}
        )
        self._removed = [
            name for full in by_name if removes(by_name[full]) for name in (full, full.removeprefix(domain))
        ]

    def merged(self, own: Mapping[str, Object]) -> DeviceValues:
        """What a device has that had these."""
        found = DeviceValues(own)
        found.take_over(self._of_others)
        for bare, full, entry in self._own:
            if bare in own or full not in own:
                found[bare] = entry
                if full in own:
                    del found[full]
            else:
                found[full] = entry
        for name in self._removed:
            if name in found:
                del found[name]
        return found


class Overrides:
    """What devices are given, by the names under which drivers publish it; compared by identity, see :class:`MergedShapes`."""

    __slots__ = ("__weakref__", "attributes", "capacity", "key", "taints", "taints_as_read")

    def __init__(self, driver: str, applied: Applied) -> None:
        attributes = first_of_each([each.attributes for each in applied.patches if each.attributes])
        capacity = first_of_each([each.capacity for each in applied.patches if each.capacity])
        self.attributes = Entries(f"{driver}/", attributes) if attributes else None
        self.capacity = Entries(f"{driver}/", capacity) if capacity else None
        self.taints = [each.taint for each in applied.rules]
        #: once for all devices, which may be as many as the rules
        self.taints_as_read = read_taints(self.taints)
        #: equal for those that change the same
        self.key = canonical([driver, sorted(attributes.items()), sorted(capacity.items()), self.taints])


def first_of_each(given: Sequence[Object]) -> Object:
    """Of each name the first entry."""
    found: Object = {}
    for entries in reversed(given):
        found.update(entries)
    return found


def published_name(domain: str, full: str, own: Mapping[str, Object]) -> str:
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
        self._capacities: WeakValueDictionary[tuple[DeviceCapacities, Overrides], DeviceCapacities] = (
            WeakValueDictionary()
        )

    def of(self, shape: DeviceShape, applied: Applied) -> DeviceShape:
        """The shape of a device to which patches and rules apply."""
        if not applied.changes:
            return shape
        driver = shape.properties.driver
        overrides: Overrides = applied.found_out.get(driver) or self._overrides_of(driver, applied)
        key = shape, overrides
        found = self._shapes.get(key)
        if found is None:
            found = self._shapes[key] = self._merged(shape, overrides)
        return found

    def _overrides_of(self, driver: str, applied: Applied) -> Overrides:
        made = Overrides(driver, applied)
        found = self._overrides.get(made.key)
        if found is None:
            found = self._overrides[made.key] = made
        applied.found_out[driver] = found
        return found

    def _merged(self, shape: DeviceShape, overrides: Overrides) -> DeviceShape:
        capacities = shape.capacities
        if overrides.capacity is not None:
            key = capacities, overrides
            known = self._capacities.get(key)
            if known is None:
                merged = overrides.capacity.merged(capacities.by_name)
                known = self._capacities[key] = DeviceCapacities(merged, self._capacities)
            capacities = known
        properties = self._properties_of(shape.properties, capacities, overrides)
        return shape.changed(properties, capacities, overrides.taints, overrides.taints_as_read)

    def _properties_of(
        self, properties: DeviceProperties, capacities: DeviceCapacities, overrides: Overrides
    ) -> DeviceProperties:
        if overrides.attributes is None and overrides.capacity is None:
            return properties
        key = properties, overrides
        found = self._properties.get(key)
        if found is None:
            attributes = properties.attributes
            if overrides.attributes is not None:
                attributes = overrides.attributes.merged(attributes)
            found = self._properties[key] = properties.changed(attributes, capacities.by_name)
        return found
