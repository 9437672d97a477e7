"""Kinds of devices and slices: what is alike but for names is found out once.

Claims see attributes, capacity, taints and so on of a device, but not its name nor that of its pool or node. So
whatever can be said of a device and a request can be said of all devices of its kind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from resourceapi.json_text import Raw
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import UNSET, Quantity

if TYPE_CHECKING:
    from allocator.capacity import Portions, Share
    from deviceselectors.runtime.device import Device as PreparedDevice

#: What is kept of each kind at most; there may be as many kinds as devices.
PER_KIND = 24

Key = TypeVar("Key")
Value = TypeVar("Value")


def canonical(value: Any) -> str:
    """A text that is the same for values that are alike, of objects in normal form. The order of members counts."""
    return _ENCODER.encode(value)


def _as_json(value: object) -> object:
    if isinstance(value, Quantity):
        # `1000m` and `1` are the same number, but not the same thing to all rules.
        return [value.mantissa, value.scale, value.format, value.big, str(value)]
    if isinstance(value, Raw):
        return [value.source]
    raise TypeError(f"no part of an API object: {value!r}")


_ENCODER = json.JSONEncoder(default=_as_json, check_circular=False, separators=(",", ":"))


class Consumption(NamedTuple):
    """What a device takes from one counter set, and with which compatibility groups it does so."""

    counter_set: str
    counters: dict[str, Quantity]
    groups: frozenset[str]


class Room:
    """The capacities of devices, which kinds may have in common, with what is found out about them."""

    __slots__ = ("__weakref__", "capacities", "portions", "shares", "totals")

    def __init__(self, capacities: dict[str, Object]) -> None:
        self.capacities = capacities
        #: all of each
        self.totals = {name: value_of(capacity) for name, capacity in capacities.items()}
        #: what requests take of them
        self.portions: Portions = {}
        self.shares: dict[tuple[object, ...], Share] = {}


class DeviceKind:
    """What devices have in common that differ only in names; compared by identity, see `Kinds`.

    What has been found out about one of them may be kept here: it goes when the last of them goes.
    """

    def __init__(self, driver: str, spec: Object, room: Room, *, stable: bool = False) -> None:
        """`spec`: an element of `spec.devices` in normal form, of v1, without its name; `room`: its capacities."""
        self.driver = driver
        self.room = room
        self.spec = spec
        self.attributes: dict[str, Object] = spec.get("attributes") or EMPTY
        self.capacity = room.capacities
        self.taints: list[Object] = spec.get("taints") or []
        self.multiple = spec.get("allowMultipleAllocations") is True
        self._stable = stable
        self.consumes = tuple(
            Consumption(
                entry.get("counterSet", ""),
                counter_values(entry.get("counters")),
                frozenset(entry.get("compatibilityGroups") or ()),
            )
            for entry in spec.get("consumesCounters") or ()
        )
        groups = {entry.counter_set: entry.groups for entry in self.consumes}
        #: by counter set, also those for which it declares none; empty if it declares none at all
        self.groups = groups if any(groups.values()) else {}
        #: whether there are conditions to wait for before it can be used
        self.has_conditions = bool(spec.get("bindingConditions"))
        #: outcomes of selectors: whether they choose such a device, or the error
        self.matches: dict[str, bool | str] = {}
        #: attributes that expressions derive
        self.derived: dict[str, Object] = {}

    @cached_property
    def frame(self) -> str:
        """All of it but attributes, to compare."""
        frame = {name: value for name, value in self.spec.items() if name != "attributes"}
        return intern(canonical([self.driver, frame | {"nodeName": "nodeName" in frame}]))

    @cached_property
    def prepared(self) -> PreparedDevice:
        """Such a device as CEL expressions see it."""
        from deviceselectors.runtime.device import prepare_device

        device = {
            # The stable allocator does not tell expressions.
            "allowMultipleAllocations": self.multiple and not self._stable,
            "attributes": {name: attribute or {} for name, attribute in self.attributes.items()},
            "capacity": {name: {"value": str(total)} for name, total in self.room.totals.items()},
        }
        return prepare_device(device, self.driver)


class SliceKind:
    """What slices have in common that differ only in names, nodes and generation; compared by identity."""

    __slots__ = ("__weakref__", "devices", "frame")

    def __init__(self, frame: str, devices: tuple[DeviceKind, ...]) -> None:
        #: all but the devices, to compare
        self.frame = frame
        self.devices = devices


class Kinds:
    """One object per kind, as long as there is something of that kind."""

    def __init__(self, *, stable: bool = False) -> None:
        """`stable`: kinds as kube-scheduler's stable allocator knows them."""
        self.stable = stable
        self._devices: WeakValueDictionary[tuple[str, str], DeviceKind] = WeakValueDictionary()
        self._rooms: WeakValueDictionary[str, Room] = WeakValueDictionary()
        self._slices: WeakValueDictionary[tuple[str, tuple[DeviceKind, ...]], SliceKind] = (
            WeakValueDictionary()
        )

    def of_device(self, driver: str, spec: Object) -> DeviceKind:
        """The kind of a device; a node's name in `spec` is not part of it."""
        own = {name: value for name, value in spec.items() if name != "name"}
        key = (
            driver,
            canonical(own if "nodeName" not in own else {**own, "nodeName": bool(own["nodeName"])}),
        )
        kind = self._devices.get(key)
        if kind is None:
            room = self._room(own.get("capacity") or {})
            kind = self._devices[key] = DeviceKind(driver, own, room, stable=self.stable)
        return kind

    def _room(self, capacities: dict[str, Object]) -> Room:
        key = canonical(capacities)
        room = self._rooms.get(key)
        if room is None:
            room = self._rooms[key] = Room(capacities)
        return room

    def of_slice(self, spec: Object, devices: Iterable[DeviceKind]) -> SliceKind:
        """The kind of a slice; `spec`: a ResourceSlice's, whose node, pool and devices are not looked at."""
        own = {name: value for name, value in spec.items() if name not in ("devices", "pool")}
        if "nodeName" in own:
            own["nodeName"] = True
        key = (intern(canonical(own)), tuple(devices))
        kind = self._slices.get(key)
        if kind is None:
            kind = self._slices[key] = SliceKind(*key)
        return kind


def remember(memory: dict[Key, Value], key: Key, value: Value, limit: int = 1024) -> None:
    """Keep something that could be found out again; not too much of it."""
    if len(memory) >= limit:
        memory.clear()
    memory[key] = value


def counter_values(counters: dict[str, Object] | None) -> dict[str, Quantity]:
    """The quantities of counters by name."""
    return {name: value_of(counter) for name, counter in (counters or EMPTY).items()}


def value_of(entry: Object | None) -> Quantity:
    """The `value` of a capacity or counter; one that is not set is 0."""
    value: Quantity = (entry or EMPTY).get("value", UNSET)
    return value
