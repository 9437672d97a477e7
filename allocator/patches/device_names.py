"""Driver, pool and device: the names by which patches and DeviceTaintRules say which devices they are about."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Generic, NamedTuple, TypeVar

from resourceapi.records.pools import PoolId


class DeviceNames(NamedTuple):
    """The names that a device must have; None is any."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


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
