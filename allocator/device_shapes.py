"""Identical devices and slices: what differs only in names is read, compared and judged once.

Claims see attributes, capacity, taints and so on of a device, but neither its name nor that of its pool or node. So
whatever holds for a device and a request holds for all devices of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from allocator.capacity_requests import DeviceCapacities
from allocator.features import NEWEST_READING, Reading
from deviceselectors.device_properties import DeviceProperties, properties_key
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Quantity, values_of
from resourceapi.records.taints import Taint, read_taint
from resourceapi.spelling import canonical, fingerprint


def read_taints(taints: Iterable[Object]) -> tuple[Taint, ...]:
    """The taints of a device, or those that rules give it."""
    return tuple([read_taint(each) for each in taints])


class Consumption(NamedTuple):
    """What a device takes from one counter set, and with which compatibility groups it does so."""

    counter_set: str
    counters: dict[str, Quantity]
    groups: frozenset[str]


_FIELDS: Mapping[type, str] = {str: "string", int: "int", bool: "bool", Quantity: "value"}


class DeviceValues(MutableMapping[str, Object]):
    """Attributes or capacity of a device, without an object for each: nearly all have one field, and such an object takes 200 bytes.

    Devices of a shape share them: who has made them alone may change them.
    """

    __slots__ = ("_values",)

    def __init__(self, entries: Mapping[str, Object]) -> None:
        """`entries`: objects by name, in normal form."""
        self._values: dict[str, Any] = (
            dict(entries._values)
            if type(entries) is DeviceValues
            else {name: _packed(entry) for name, entry in entries.items()}
        )

    def __getitem__(self, name: str) -> Object:
        value = self._values[name]
        if (field := _FIELDS.get(type(value))) is not None:
            return {field: value}
        return {value[0]: value[1]} if type(value) is tuple else value

    def __setitem__(self, name: str, entry: Object) -> None:
        self._values[name] = _packed(entry)

    def __delitem__(self, name: str) -> None:
        del self._values[name]

    def take_over(self, others: DeviceValues) -> None:
        """Set all entries of others."""
        self._values.update(others._values)

    def get(self, name: str, default: Any = None) -> Any:
        """As of any mapping, without an exception where there is none."""
        return self[name] if name in self._values else default

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(dict(self))


def _packed(entry: Object | None) -> Any:
    if not entry or len(entry) > 1:
        return entry
    ((field, value),) = entry.items()
    return value if _FIELDS.get(type(value)) == field else (field, value)


_numbers = count()


class DeviceShape:
    """What devices have in common that differ only in names; compared by identity, see :class:`ShapeRegistry`."""

    def __init__(self, spec: Object, properties: DeviceProperties, capacities: DeviceCapacities) -> None:
        """`spec`: an element of `spec.devices` in normal form, of v1, without its name."""
        #: that of no other shape, not even of one that is gone: to remember something of it without keeping it
        self.number = next(_numbers)
        self.properties = properties
        self.capacities = capacities
        self.spec = spec
        self.taints = read_taints(spec.get("taints") or ())
        self.consumes = tuple(
            Consumption(
                entry.get("counterSet", ""),
                values_of(entry.get("counters")),
                frozenset(entry.get("compatibilityGroups") or ()),
            )
            for entry in spec.get("consumesCounters") or ()
        )
        groups = {entry.counter_set: entry.groups for entry in self.consumes}
        #: by counter set, also those for which it declares none; empty if it declares none at all
        self.groups = groups if any(groups.values()) else {}
        #: whether there are conditions to wait for before it can be used
        self.has_conditions = bool(spec.get("bindingConditions"))

    def changed(
        self,
        properties: DeviceProperties,
        capacities: DeviceCapacities,
        taints: Sequence[Object],
        taints_as_read: tuple[Taint, ...],
    ) -> DeviceShape:
        """A shape that differs in properties, and has more taints."""
        other = DeviceShape.__new__(DeviceShape)
        other.number = next(_numbers)
        other.properties, other.capacities = properties, capacities
        other.spec = dict(self.spec)
        for name, entries in (("attributes", properties.attributes), ("capacity", properties.capacity)):
            if entries:
                other.spec[name] = entries
            else:
                other.spec.pop(name, None)
        other.taints = self.taints + taints_as_read
        if taints:
            other.spec["taints"] = [*(self.spec.get("taints") or ()), *taints]
        other.consumes, other.groups, other.has_conditions = self.consumes, self.groups, self.has_conditions
        return other

    @cached_property
    def without_attributes(self) -> str:
        """All of the shape but attributes, to compare."""
        others = {name: value for name, value in self.spec.items() if name != "attributes"}
        driver = self.properties.driver
        return fingerprint(canonical([driver, others | {"nodeName": "nodeName" in others}]))


class SliceShape:
    """What slices have in common that differ only in names, nodes and generation; compared by identity."""

    __slots__ = ("__weakref__", "devices", "number", "without_devices")

    def __init__(self, without_devices: str, devices: tuple[DeviceShape, ...]) -> None:
        #: as :attr:`DeviceShape.number`
        self.number = next(_numbers)
        #: all but the devices, to compare
        self.without_devices = without_devices
        self.devices = devices


class ShapeRegistry:
    """One object per shape, as long as there is something of that shape."""

    def __init__(self, reading: Reading = NEWEST_READING) -> None:
        """`reading`: how kube-scheduler's allocator reads slices."""
        self.reading = reading
        self._devices: WeakValueDictionary[tuple[str, str], DeviceShape] = WeakValueDictionary()
        self._properties: WeakValueDictionary[str, DeviceProperties] = WeakValueDictionary()
        self._capacities: WeakValueDictionary[str, DeviceCapacities] = WeakValueDictionary()
        self._slices: WeakValueDictionary[tuple[str, tuple[DeviceShape, ...]], SliceShape] = (
            WeakValueDictionary()
        )

    def of_device(self, driver: str, device: Object) -> DeviceShape:
        """The shape of an element of `spec.devices`; whether it names a node is part of it, which one is not."""
        own = {name: value for name, value in device.items() if name != "name"}
        key = (
            driver,
            fingerprint(
                canonical(own if "nodeName" not in own else {**own, "nodeName": bool(own["nodeName"])})
            ),
        )
        shape = self._devices.get(key)
        if shape is None:
            capacities = self._capacities_of(own.get("capacity") or EMPTY)
            properties = self._properties_of(driver, own, capacities)
            for name, entries in (("attributes", properties.attributes), ("capacity", capacities.by_name)):
                if name in own:
                    own[name] = entries
            shape = DeviceShape(own, properties, capacities)
            self._devices[key] = shape
        return shape

    def _properties_of(self, driver: str, device: Object, capacities: DeviceCapacities) -> DeviceProperties:
        key = fingerprint(properties_key(driver, device))
        found = self._properties.get(key)
        if found is None:
            attributes = DeviceValues(device.get("attributes") or EMPTY)
            found = self._properties[key] = DeviceProperties(
                driver,
                {**device, "attributes": attributes, "capacity": capacities.by_name},
                hide_sharing=self.reading.hides_sharing,
                hide_lists=self.reading.hides_lists,
            )
            found.fingerprint = key
        return found

    def _capacities_of(self, capacity: Object) -> DeviceCapacities:
        key = fingerprint(canonical(capacity))
        found = self._capacities.get(key)
        if found is None:
            found = self._capacities[key] = DeviceCapacities(DeviceValues(capacity), self._capacities)
        return found

    def of_slice(self, spec: Object, devices: Iterable[DeviceShape]) -> SliceShape:
        """The shape of a slice; `spec`: a ResourceSlice's, whose node, pool and devices are not looked at."""
        own = {name: value for name, value in spec.items() if name not in ("devices", "pool")}
        if "nodeName" in own:
            own["nodeName"] = True
        return self.of_slice_with(fingerprint(canonical(own)), devices)

    def of_slice_with(self, without_devices: str, devices: Iterable[DeviceShape]) -> SliceShape:
        """The shape of a slice of which all but its devices is known (see :class:`SliceShape`)."""
        key = (without_devices, tuple(devices))
        shape = self._slices.get(key)
        if shape is None:
            shape = self._slices[key] = SliceShape(*key)
        return shape
