"""The devices of a cluster, each with what can be said about it: who uses it, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from allocator.devices import Device
from allocator.evictions import Eviction
from allocator.explaining.holders import Holder, holder
from allocator.explaining.snapshot import Snapshot
from allocator.patches import PatchFailure
from allocator.patches.sources import DeviceSources
from allocator.pod_nodes import Refusal, closed_by_taints
from allocator.pools import Pool, hidden_by_gate, pool_of, visible_by_pool
from allocator.rules.standing import GROUPS_OFF, is_selectable, is_tainted
from allocator.selection import CompileError, Selectors
from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.devices.pool_left import CounterLeft, GroupsOn, PoolLeft
from claimcheck.answers.evictions import evicted
from claimcheck.answers.scenario import snapshot_of
from resourceapi.kinds import RESOURCE_SLICE_PATCH
from resourceapi.quantity import Quantity
from resourceapi.records.claims import DeviceResult
from resourceapi.records.classes import DeviceClass
from resourceapi.records.pools import DeviceId, PoolId, newest

FREE, ALLOCATED, SHARED = "free", "allocated", "shared"
OBSOLETE, INCOMPLETE, INVALID = "obsolete", "incomplete pool", "invalid pool"
GATE_OFF, USED_UP, OTHER_GROUPS = "feature gate off", "counters used up", "other groups in use"

#: As much of a kind is listed of a device: thousands of patches and rules may apply to each of thousands of devices.
MOST_LISTED = 100


class Use(NamedTuple):
    """A device in the allocation of a claim.

    :param result: the part of the allocation that is about the device.
    """

    holder: Holder
    result: DeviceResult


class ClusterDevices:
    """All devices in the slices of a cluster."""

    #: whether it is known which claims there are
    holders_are_known = True

    def __init__(self, state: ClusterState, limit: TimeLimit, snapshot: Snapshot | None = None) -> None:
        """Apply patches to them.

        :param limit: how long that may take, and finding out which pods are evicted.
        :param snapshot: the cluster as it would be after a change, instead of as it is.
        :raises OutOfTime: if it takes longer.
        """
        self.state = state
        self._limit = limit
        self._evictions: list[Eviction] | None = None
        #: when all of it is so
        self.now = datetime.now(UTC)
        self.snapshot = snapshot or snapshot_of(state, limit)
        self.cluster, self._nodes = self.snapshot.cluster, self.snapshot.nodes
        self.inventory, self.allocated = self.cluster.inventory, self.cluster.allocated
        self._pools = self._read_pools()
        self._left: dict[PoolId, PoolLeft] = {}

    @cached_property
    def all_uses(self) -> dict[DeviceId, list[Use]]:
        """Which claims have a device, by the device, also those with admin access."""
        found: dict[DeviceId, list[Use]] = {}
        for claim in self.snapshot.claims.values():
            who = holder(claim)
            for result in claim.results:
                found.setdefault(result.device, []).append(Use(who, result))
        return found

    def _read_pools(self) -> dict[PoolId, Pool]:
        """Pools with all their devices, for whichever nodes these are."""
        features = self.state.features
        slices = (slice for pool in self.inventory.pools.values() for slice in newest(list(pool)))
        found = visible_by_pool(slices, features)
        pools = {id: pool_of(id, each, self.inventory, features) for id, each in found.items()}
        return {id: pool for id, pool in pools.items() if pool is not None}

    def __iter__(self) -> Iterator[Device]:
        """The devices, sorted by driver, pool and name; of slices of several generations, the newest first."""
        for _, slices in sorted(self.inventory.pools.items()):
            devices = [device for slice in slices for device in slice.devices]
            yield from sorted(
                devices, key=lambda each: (each.id.device, -each.slice.generation, each.slice.name)
            )

    def kinds(self) -> list[list[Device]]:
        """The devices of the newest generations, those together between which no selector tells a difference."""
        found: dict[object, list[Device]] = {}
        for device in self:
            if not self.is_obsolete(device):
                found.setdefault(device.shape.properties, []).append(device)
        return list(found.values())

    @property
    def drivers(self) -> set[str]:
        """The drivers of all slices."""
        return {pool.driver for pool in self.inventory.pools}

    @property
    def pools(self) -> Iterable[PoolId]:
        """The pools of all slices."""
        return self.inventory.pools

    def is_obsolete(self, device: Device) -> bool:
        """Whether the pool has slices of a newer generation than that of the device."""
        return device.slice.generation < self.inventory.of_pool(device.slice.pool).newest

    def evictions(self) -> list[Eviction]:
        """The pods that are evicted from devices, as things are now.

        :raises OutOfTime: if it takes too long to find out.
        """
        if self._evictions is None:
            rules = self.state.taint_rules.values()
            self._evictions = evicted(self.state, self.inventory.published(), rules, self.now, self._limit)
        return self._evictions

    def evicted_from(self, device: Device) -> list[Eviction]:
        """Those of them that use a device."""
        pods = {pod for use in self.uses(device) for pod in use.holder.pods}
        return [each for each in self.evictions() if each.pod.key in pods] if pods else []

    def uses(self, device: Device) -> list[Use]:
        """The claims that have the device, those with admin access last; no claim has a device of an obsolete slice."""
        if self.is_obsolete(device):
            return []
        return sorted(
            self.all_uses.get(device.id, ()), key=lambda each: (each.result.is_admin, each.holder.claim)
        )

    def sources_of(self, device: Device) -> DeviceSources:
        """Who gives the device its attributes, capacity and taints."""
        return self.inventory.sources_in(device)

    def vanished(self) -> dict[DeviceId, list[Use]]:
        """What claims hold although no slice has it."""
        known = {device.id for slice in self.inventory for device in slice.devices}
        return {device: uses for device, uses in sorted(self.all_uses.items()) if device not in known}

    def status(self, device: Device) -> str:
        """Whether the device is free, or why not, in a word or two."""
        if self.is_obsolete(device):
            return OBSOLETE
        if self.allocated.holds(device.id):
            return ALLOCATED if device.id in self.allocated.whole else SHARED
        pool = self._pools.get(device.slice.pool)
        if pool is None:
            return GATE_OFF
        if pool.incomplete and not pool.usable:
            return GATE_OFF if hidden_by_gate(pool, self.state.features) else INCOMPLETE
        if pool.invalid:
            return INVALID
        if all(each.name != device.slice.name for each in pool.slices):
            return GATE_OFF
        if not is_selectable(device.shape, self.state.features):
            return GATE_OFF
        if any(each.is_short for each in self.counters(device)):
            return USED_UP
        return FREE if all(each.go_together for each in self.groups(device)) else OTHER_GROUPS

    def is_tainted(self, device: Device) -> bool:
        """Whether requests without tolerations do not get the device."""
        return is_tainted(device, self.state.features)

    def problem(self, device: Device) -> str:
        """Why no device of its pool can be allocated; empty if that is possible."""
        pool = self._pools.get(device.slice.pool)
        if pool is None:
            return ""
        if hidden := hidden_by_gate(pool, self.state.features):
            return f"{GROUPS_OFF}, and {hidden}"
        if pool.incomplete and not pool.usable:
            has = len(self.inventory.of_pool(pool.id).generation(device.slice.generation).slices)
            return f"the pool has {has} of {device.slice.count_in_pool} slices of generation {device.slice.generation}"
        return pool.invalid

    def invalid_pools(self) -> Iterator[tuple[PoolId, str]]:
        """The pools whose slices contradict each other, and how."""
        return ((id, pool.invalid) for id, pool in sorted(self._pools.items()) if pool.invalid)

    def overdrawn(self) -> Iterator[tuple[PoolId, list[tuple[str, str]]]]:
        """The pools of which more is allocated than their counters have, with these (counter set and counter)."""
        for id, pool in sorted(self._pools.items()):
            if counters := self._left_of(pool).overdrawn:
                yield id, counters

    def closed(self, device: Device) -> Refusal | None:
        """Why pods without tolerations do not come to the device's node; None if they do, or if it is for several nodes."""
        node = self._nodes.get(device.placement.get("nodeName", ""))
        return next(closed_by_taints({}, node), None) if node is not None else None

    def capacity_left(self, device: Device) -> dict[str, Quantity]:
        """What claims leave of the capacity of a device that they share; empty if they use nothing of it."""
        return dict(self.allocated.left(device) or {})

    def counters(self, device: Device) -> list[CounterLeft]:
        """The counters from which the device takes."""
        pool = self._pools.get(device.slice.pool)
        if pool is not None:
            return self._left_of(pool).counters(device)
        return [
            CounterLeft(name, counter, amount, None, None)
            for name, takes, _ in device.consumes
            for counter, amount in sorted(takes.items())
        ]

    def groups(self, device: Device) -> list[GroupsOn]:
        """The counter sets on which the device declares compatibility groups, or others are in use with some."""
        pool = self._pools.get(device.slice.pool)
        return [] if pool is None else self._left_of(pool).groups(device)

    def pool(self, id: PoolId) -> Pool | None:
        """A pool with all its devices; None if there is none, or a feature gate hides it."""
        return self._pools.get(id)

    def _left_of(self, pool: Pool) -> PoolLeft:
        left = self._left.get(pool.id)
        if left is None:
            left = self._left[pool.id] = PoolLeft(pool, self.allocated)
        return left


def chooses(device_class: DeviceClass, device: Device, selectors: Selectors, limit: TimeLimit) -> bool | str:
    """Whether a class chooses a device, or why that fails.

    :raises OutOfTime: if the time is over before that is known.
    """
    for expression in device_class.expressions:
        try:
            outcome = selectors.outcome(expression, device, limit)
        except CompileError as error:
            return str(error)
        if outcome is not True:
            return outcome
    return True


def patch_failures(devices: ClusterDevices) -> Iterator[str]:
    """The patches that do not apply to devices because their filters fail there."""
    return (failure_text(name, each) for name, each in sorted(devices.inventory.failures.items()))


def failure_text(patch: str, failure: PatchFailure) -> str:
    """Why a patch does not apply to devices."""
    return f"{RESOURCE_SLICE_PATCH.name} {patch} {failure}"
