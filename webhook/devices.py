"""The devices of a cluster by what selectors see of them, patches included, and its DeviceClasses."""

from __future__ import annotations

import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TypeVar

from allocator.device_shapes import ShapeRegistry
from allocator.devices import Device, Slice
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.scheduling import SchedulingState
from allocator.time_limit import STEP_SECONDS, TimeLimit
from cluster.store import Change, Collection
from conversion.hub import hub_object
from deviceselectors.device_properties import DeviceGroup, DeviceProperties
from resourceapi.decoding import DecodingError
from resourceapi.kinds import DEVICE_CLASS, RESOURCE_SLICE, RESOURCE_SLICE_PATCH
from resourceapi.logs import log
from resourceapi.manifests import name_of, text
from resourceapi.objects import Object
from resourceapi.records.classes import DeviceClass, read_device_class
from resourceapi.records.nodes import Node
from resourceapi.records.pools import DeviceId, PoolId
from resourceapi.releases import Profile, split_api_version
from webhook.fitting import Fitting

V1 = "resource.k8s.io/v1"
# So many new devices, if they are half of all as well, are kept out of the garbage collector's sight.
_MANY_DEVICES = 1_000


PlacedGroup = DeviceGroup[dict[DeviceId, str]]
"""A group that says of which node each device is; one that is not of one node only is of the node ''."""

Replaced = tuple[Slice | None, Slice | None]
"""A slice with all that patches change about it, before and after."""

_Value = TypeVar("_Value")


class DeviceIndex:
    """A view of ResourceSlices, ResourceSlicePatches and DeviceClasses: all devices, grouped by their properties.

    While a pool is being updated old and new slices count: some nodes see the ones, some the others.

    Readers hold ``lock``, since changes come from other threads; ``revision`` is another one after every change. What patches
    and classes change takes its time: it is done in parts, and readers come between.
    """

    def __init__(self, profile: Profile, nodes: Collection[Node] | None = None) -> None:
        """Make an index with empty collections: ``slices``, as they are published, ``patches`` and ``device_classes``.

        :param nodes: the nodes for :mod:`webhook.fitting`, which is not asked without any.
        """
        self._profile = profile
        features = Features(profile.gates, profile.minor)
        self._shapes = ShapeRegistry(features.reading)
        self.slices = Collection(self._read_slice)
        self.patches = Collection(partial(self._read, RESOURCE_SLICE_PATCH.name))
        self.device_classes = Collection(self._read_class)
        self.lock = Lock()
        self.nodes = nodes
        self.fitting = Fitting(profile.gates, nodes, profile.minor)
        self.revision = 0
        self.groups: dict[DeviceProperties, PlacedGroup] = {}
        self._inventory = Inventory(reading=features.reading)
        self._inventory.stepwise = True
        # what has changed in it and is not indexed yet
        self._replaced: list[Replaced] = []
        self._inventory.listeners.append(lambda old, new: self._replaced.append((old, new)))
        #: devices that are new since all were frozen
        self._unfrozen = 0
        #: the nodes of those that several slices have, as old and new ones of a pool: how often each
        self._shared: dict[tuple[DeviceProperties, DeviceId], Counter[str]] = {}
        self._count = 0
        self._unsettled: set[PoolId] = set()
        self.slices.listen(self._slices_changed)
        self.device_classes.listen(self._classes_changed)
        self._has_patches = features.device_patches
        if self._has_patches:
            self.patches.listen(self._patches_changed)

    @property
    def is_known(self) -> bool:
        """Whether slices and classes have been listed, and patches, if the cluster serves them."""
        return self.slices.is_listed and self.device_classes.is_listed and self._patches_are_known

    @property
    def _patches_are_known(self) -> bool:
        return self.patches.is_known or not self._has_patches

    @property
    def is_settled(self) -> bool:
        """Whether every pool has all its slices and no others; otherwise some are being updated."""
        return not self._unsettled

    def count(self) -> int:
        """The number of devices."""
        return self._count

    def _read_slice(self, obj: Object) -> Slice | None:
        hub = self._read(RESOURCE_SLICE.name, obj)
        return None if hub is None else Slice(hub, self._shapes)

    def _read_class(self, obj: Object) -> DeviceClass | None:
        hub = self._read(DEVICE_CLASS.name, obj)
        return None if hub is None else read_device_class(hub)

    def _read(self, kind: str, obj: Object) -> Object | None:
        """An object in the shape of the hub (v1); None for one that no API server can have stored."""
        _, version = split_api_version(text(obj, "apiVersion") or V1)
        try:
            return hub_object(obj, self._profile.schemas, kind=kind, version=version, defaults=None)
        except DecodingError as error:
            log(logging.DEBUG, "object ignored", kind=kind, name=name_of(obj), reason=str(error))
            return None

    def _slices_changed(self, changes: Sequence[Change[Slice]]) -> None:
        self._change(changes, self._inventory.put, self._inventory.remove)

    def _patches_changed(self, changes: Sequence[Change[Object]]) -> None:
        self._change(changes, self._inventory.put_patch, self._inventory.remove_patch)

    def _classes_changed(self, changes: Sequence[Change[DeviceClass]]) -> None:
        self._change(changes, self._inventory.put_class, self._inventory.remove_class)
        self.fitting.change(partial(_change_classes, changes))

    def _change(
        self,
        changes: Sequence[Change[_Value]],
        put: Callable[[_Value], None],
        remove: Callable[[str], None],
    ) -> None:
        """Have the inventory follow changes, and index what becomes of its slices."""
        with self.lock:
            for name, _, after in changes:
                if after is None:
                    remove(name)
                else:
                    put(after)
            is_done = self._settle_some()
        while not is_done:
            time.sleep(
                STEP_SECONDS
            )  # otherwise this thread would have the lock again before anybody who waits for it
            with self.lock:
                is_done = self._settle_some()

    def _settle_some(self) -> bool:
        """Do a part of what is left of changes; whether that was all. For who holds the lock."""
        is_done = self._inventory.settle(TimeLimit(STEP_SECONDS))
        replaced, self._replaced = self._replaced, []
        for before, after in replaced:
            for device in before.devices if before is not None else ():
                self._remove(device)
            for device in after.devices if after is not None else ():
                self._add(device)
        for pool in {slice.pool for each in replaced for slice in each if slice is not None}:
            self._look_at(pool)
        self.revision += 1
        if replaced:
            self.fitting.change(partial(_change_slices, replaced))
            self._unfrozen += sum(len(after.devices) for _, after in replaced if after is not None)
            if self._unfrozen >= _MANY_DEVICES and self._unfrozen >= self.count() / 2:
                self._unfrozen = 0
                self.fitting.change(_freeze)
        return is_done

    def _look_at(self, pool: PoolId) -> None:
        """Find out whether a pool is being updated."""
        slices = self._inventory.of_pool(pool)
        if slices.by_name and not slices.is_settled:
            self._unsettled.add(pool)
        else:
            self._unsettled.discard(pool)

    def _add(self, device: Device) -> None:
        at = properties, name = device.shape.properties, device.id
        node = _node_of(device)
        group = self.groups.get(properties)
        if group is None:
            group = self.groups[properties] = DeviceGroup(properties, {})
        if name in group.members:
            self._shared.setdefault(at, Counter([group.members[name]]))[node] += 1
        else:
            self._count += 1
        group.members[name] = node

    def _remove(self, device: Device) -> None:
        at = properties, name = device.shape.properties, device.id
        group, nodes = self.groups[properties], self._shared.get(at)
        if nodes is None:
            self._count -= 1
            del group.members[name]
            if not group.members:
                del self.groups[properties]
            return
        node = _node_of(device)
        nodes[node] -= 1
        if not nodes[node]:
            del nodes[node]
        other, times = next(iter(nodes.items()))
        group.members[name] = other
        if len(nodes) == times == 1:
            del self._shared[at]


def _node_of(device: Device) -> str:
    """The only node of a device; empty if it is not of one node."""
    return device.placement.get("nodeName") or ""


def _change_slices(replaced: Sequence[Replaced], cluster: SchedulingState) -> None:
    for before, after in replaced:
        if after is not None:
            cluster.put_slice(after)
        elif before is not None:
            cluster.remove_slice(before.name)


def _freeze(cluster: SchedulingState) -> None:
    """Keep what is here out of the garbage collector's sight.

    Tens of thousands of devices stay for long: looking through them for garbage again and again would take a tenth of a second
    each time. What was here before is garbage by now.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def _change_classes(changes: Sequence[Change[DeviceClass]], cluster: SchedulingState) -> None:
    for name, _, after in changes:
        if after is not None:
            cluster.put_class(after)
        else:
            cluster.remove_class(name)
