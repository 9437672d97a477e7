"""The devices of a cluster and its classes, as far as selectors can tell devices apart.

Slices come and go one by one; what is found out about a kind of device stays as long as there are such devices.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterable, Iterator
from functools import partial
from threading import Lock

from allocator.devices import Device, DeviceId, PoolId, Slice
from allocator.scheduling import SchedulingState
from conversion.hub import hub_object
from resourceapi.decoding import DecodingError
from resourceapi.manifests import name_of, text
from resourceapi.objects import Object
from resourceapi.releases import Profile, split_api_version
from serving.logs import log
from webhook.fitting import Fitting

V1 = "resource.k8s.io/v1"


class DeviceKind:
    """Devices that no request can tell apart but by where they are; ``members`` say of which node each is.

    A device that is not of one node only is of the node ''.
    """

    __slots__ = ("device", "members")

    def __init__(self, device: Device) -> None:
        self.device = device
        self.members: dict[DeviceId, str] = {}


class KnownDevices:
    """All devices by kinds, and the classes.

    While a pool is being updated old and new slices count: some nodes see the ones, some the others.

    Whoever reads takes ``lock``: changes come from other threads.  ``revision`` tells that something has changed.
    Nothing is known (``is_known``) before slices and classes have come.
    """

    def __init__(self, profile: Profile) -> None:
        self.lock = Lock()
        self.fitting = Fitting(profile.gates)
        self.revision = 0
        self.classes: dict[str, Object] = {}
        self.kinds: dict[str, DeviceKind] = {}
        self.slices = _Slices(self)
        self.device_classes = _Classes(self)
        self.has_slices = self.has_classes = False
        self._profile = profile
        self._pools: dict[PoolId, dict[str, Slice]] = {}
        self._pool_of: dict[str, PoolId] = {}
        self._counted: dict[PoolId, list[tuple[str, DeviceId]]] = {}
        self._incomplete: set[PoolId] = set()

    @property
    def is_known(self) -> bool:
        return self.has_slices and self.has_classes

    @property
    def is_complete(self) -> bool:
        """Whether every pool has its slices, all of them and no others; the rest are being updated."""
        return not self._incomplete

    def count(self) -> int:
        """How many devices there are."""
        return sum(map(len, self._counted.values()))

    def read(self, kind: str, obj: Object) -> Object | None:
        """An object in the shape of the hub (v1), None for one that no API server can have stored."""
        _, version = split_api_version(text(obj, "apiVersion") or V1)
        try:
            return hub_object(obj, self._profile.schemas, kind=kind, version=version, defaults=None)
        except DecodingError as error:
            log(logging.DEBUG, "not understood", kind=kind, name=name_of(obj), reason=str(error))
            return None

    def put(self, slice: Slice) -> None:
        """Add a slice, or replace that of its name; ``lock`` is held."""
        if self._pool_of.get(slice.name, slice.pool) != slice.pool:
            self.remove(slice.name)
        self._pool_of[slice.name] = slice.pool
        of_pool = self._pools.setdefault(slice.pool, {})
        before = of_pool.get(slice.name)
        of_pool[slice.name] = slice
        self._count(slice.pool)
        if before is not None:
            _take_apart(before)

    def remove(self, name: str) -> None:
        """Take out the slice of this name, if there is one; ``lock`` is held."""
        pool = self._pool_of.pop(name, None)
        if pool is None:
            return
        gone = self._pools[pool].pop(name)
        if not self._pools[pool]:
            del self._pools[pool]
        self._count(pool)
        _take_apart(gone)

    def clear(self) -> None:
        """Take out all slices; ``lock`` is held."""
        for kind in self.kinds.values():
            kind.members.clear()  # who remembers it is to see that it is gone
        for slices in self._pools.values():
            for slice in slices.values():
                _take_apart(slice)
        self._pools.clear()
        self._pool_of.clear()
        self._counted.clear()
        self._incomplete.clear()
        self.kinds.clear()
        self.revision += 1

    def _count(self, pool: PoolId) -> None:
        """Sort the devices of a pool anew."""
        self.revision += 1
        for signature, device in self._counted.pop(pool, ()):
            kind = self.kinds[signature]
            kind.members.pop(device, None)
            if not kind.members:
                del self.kinds[signature]
        slices = self._pools.get(pool, {}).values()
        self._incomplete.discard(pool)
        if any(slice.count_in_pool != len(slices) for slice in slices):
            self._incomplete.add(pool)
        counted = list(dict.fromkeys(self._take(device) for slice in slices for device in slice.devices))
        if counted:
            self._counted[pool] = counted

    def _take(self, device: Device) -> tuple[str, DeviceId]:
        signature = _signature(device)
        kind = self.kinds.get(signature)
        if kind is None:
            kind = self.kinds[signature] = DeviceKind(device)
        kind.members[device.id] = device.placement.get("nodeName") or ""
        return signature, device.id


def _take_apart(slice: Slice) -> None:
    """Undo the circle of a slice and its devices, so that they go at once, garbage collection or not."""
    for device in slice.devices:
        del device.slice


def _signature(device: Device) -> str:
    """The same text for devices that are alike."""
    return f"{device.id.driver} {device.multiple} {device.attributes!r} {device.capacity!r}"


class _Slices:
    """Receives ResourceSlices."""

    def __init__(self, known: KnownDevices) -> None:
        self._known = known

    def replace(self, objects: Iterable[Object]) -> None:
        hubs = list(self._read(objects))
        slices = [Slice(hub) for hub in hubs]
        with self._known.lock:
            self._known.clear()
            for slice in slices:
                self._known.put(slice)
            self._known.has_slices = True
        self._known.fitting.change(lambda cluster: _replace_slices(cluster, hubs))

    def put(self, obj: Object) -> None:
        for hub in self._read([obj]):
            with self._known.lock:
                self._known.put(Slice(hub))
            self._known.fitting.change(partial(_put_slice, hub))

    def remove(self, obj: Object) -> None:
        name = name_of(obj)
        with self._known.lock:
            self._known.remove(name)
        self._known.fitting.change(lambda cluster: cluster.remove_slice(name))

    def lose(self) -> None:
        with self._known.lock:
            self._known.clear()
            self._known.has_slices = False
        self._known.fitting.change(lambda cluster: _replace_slices(cluster, []))

    def _read(self, objects: Iterable[Object]) -> Iterator[Object]:
        for obj in objects:
            hub = self._known.read("ResourceSlice", obj)
            if hub is not None:
                yield hub


def _put_slice(hub: Object, cluster: SchedulingState) -> None:
    cluster.put_slice(hub)


def _replace_slices(cluster: SchedulingState, hubs: list[Object]) -> None:
    wanted = {name_of(hub) for hub in hubs}
    for name in [slice.name for slice in cluster.inventory if slice.name not in wanted]:
        cluster.remove_slice(name)
    for hub in hubs:
        cluster.put_slice(hub)
    # Tens of thousands of devices stay for long: looking through them for garbage again and again would take a tenth of
    # a second each time. What was here before is garbage by now.
    gc.unfreeze()
    gc.collect()
    gc.freeze()


class _Classes:
    """Receives DeviceClasses."""

    def __init__(self, known: KnownDevices) -> None:
        self._known = known

    def replace(self, objects: Iterable[Object]) -> None:
        classes = {name_of(obj): hub for obj in objects if (hub := self._read(obj)) is not None}
        self._change(classes, True)

    def put(self, obj: Object) -> None:
        hub = self._read(obj)
        if hub is not None:
            self._change({**self._known.classes, name_of(obj): hub}, self._known.has_classes)

    def remove(self, obj: Object) -> None:
        classes = {name: hub for name, hub in self._known.classes.items() if name != name_of(obj)}
        self._change(classes, self._known.has_classes)

    def lose(self) -> None:
        self._change({}, False)

    def _change(self, classes: dict[str, Object], is_known: bool) -> None:
        before = self._known.classes
        with self._known.lock:
            self._known.classes = classes
            self._known.revision += 1
            self._known.has_classes = is_known
        self._known.fitting.change(lambda cluster: _change_classes(cluster, before, classes))

    def _read(self, obj: Object) -> Object | None:
        return self._known.read("DeviceClass", obj)


def _change_classes(cluster: SchedulingState, before: dict[str, Object], after: dict[str, Object]) -> None:
    for name in before.keys() - after.keys():
        cluster.remove_class(name)
    for name, hub in after.items():
        if before.get(name) is not hub:
            cluster.put_class(hub)
