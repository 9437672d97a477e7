"""ResourceSlicePatches, and which of them and of DeviceTaintRules may be about the devices of a pool."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Generic, TypeVar

from resourceapi import times
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import expressions_of
from resourceapi.records.pools import PoolId
from resourceapi.records.taints import DeviceNames, device_names

Item = TypeVar("Item")


class NearPool(Generic[Item]):
    """Those of the things with names that may be about devices of a pool."""

    __slots__ = ("_by_device", "_on_all")

    def __init__(self, on_all: Iterable[Item], by_device: dict[str, list[Item]]) -> None:
        self._on_all = tuple(on_all)
        self._by_device = {name: (*self._on_all, *items) for name, items in by_device.items()}

    def __bool__(self) -> bool:
        return bool(self._on_all or self._by_device)

    def of_device(self, name: str) -> tuple[Item, ...]:
        """Those that are about the device of this name; the same tuple for all devices that none names."""
        return self._by_device.get(name, self._on_all)


_Filed = dict[str | None, list[Item]]


class NameIndex(Generic[Item]):
    """Things by the names that devices must have; never changed once made."""

    def __init__(self, items: Iterable[tuple[DeviceNames, Item]]) -> None:
        self._filed: dict[tuple[str | None, str | None], _Filed[Item]] = {}
        self._near: dict[tuple[tuple[str | None, str | None], ...], NearPool[Item]] = {}
        for names, item in items:
            filed = self._filed.setdefault(names[:2], {})
            filed.setdefault(names.device, []).append(item)

    def near(self, pool: PoolId) -> NearPool[Item]:
        """Those that may be about devices of a pool; the same object for pools that none tells apart."""
        driver, name = pool
        places = ((None, None), (driver, None), (None, name), (driver, name))
        key = tuple([each for each in places if each in self._filed])
        found = self._near.get(key)
        if found is None:
            by_device: dict[str, list[Item]] = {}
            on_all: list[Item] = []
            for place in key:
                for device, items in self._filed[place].items():
                    (on_all if device is None else by_device.setdefault(device, [])).extend(items)
            found = self._near[key] = NearPool(on_all, by_device)
        return found


def pools_with(names: Iterable[DeviceNames], pools: Collection[PoolId]) -> list[PoolId]:
    """Those of the pools whose devices can have any of these names."""
    known = {each[:2] for each in names}
    if (None, None) in known:
        return list(pools)
    return [
        pool for pool in pools if pool in known or (pool.driver, None) in known or (None, pool.pool) in known
    ]


NULL = "null"
"""The field of an attribute that removes it."""


def removes(entry: Object) -> bool:
    """Whether an entry of a patch removes the attribute, rather than giving it a value."""
    return entry.get(NULL) is not None


class Patch:
    """A ResourceSlicePatch; compared by identity.

    `order` sorts patches: of two that give a device the same attribute or capacity, the first counts.
    """

    __slots__ = ("attributes", "capacity", "class_name", "expressions", "name", "names", "order")

    def __init__(self, obj: Object) -> None:
        """`obj`: a ResourceSlicePatch in normal form."""
        metadata = obj.get("metadata") or EMPTY
        devices = (obj.get("spec") or EMPTY).get("devices") or EMPTY
        filter = devices.get("filter") or EMPTY
        self.name: str = metadata.get("name", "")
        #: priority, age, name; one without a creation time is younger than all others
        self.order = (-(devices.get("priority") or 0), *_age(metadata.get("creationTimestamp")), self.name)
        #: of driver, pool and device, as far as the filter has them
        self.names = device_names(filter)
        #: of the DeviceClass whose selectors must choose a device, if there is one
        self.class_name: str | None = filter.get("deviceClassName")
        #: that must all be true of a device
        self.expressions = tuple([each or "" for each in expressions_of(filter.get("selectors"))])
        #: by full name, without those whose type of value is not known
        self.attributes: Object = {
            name: entry for name, entry in (devices.get("attributes") or EMPTY).items() if entry
        }
        self.capacity: Object = {
            name: entry or {} for name, entry in (devices.get("capacity") or EMPTY).items()
        }


def _age(created: object) -> tuple[bool, str]:
    return not created, times.age(str(created or ""))
