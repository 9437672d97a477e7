"""Pools as a node sees them: which slices count, whether they are all there, and whether they make sense.

Source: KEP-4381 ("Publishing node resources": generations, resourceSliceCount), KEP-4815 (shared counters), KEP-5963
(gate off); which slices count on which node is as measured with kube-scheduler 1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from allocator.device_shapes import SliceShape
from allocator.devices import Counters, Device, Slice
from allocator.errors import AllocationError, Mention
from allocator.features import EXPERIMENTAL, Features
from allocator.inventory import Inventory, PoolSlices
from resourceapi.records.nodes import Node
from resourceapi.records.pools import COMPLETE_SINCE, PoolId, by_pool, newest

Shape = tuple[object, ...]


class Counting:
    """The counters of a pool whose slices are for several nodes, the same for all of them; what is wrong, if anything."""

    __slots__ = ("consumers", "counters", "found_out", "has_groups", "problem", "slice_shapes")

    def __init__(self, counters: tuple[Slice, ...], consumers: tuple[Slice, ...], problem: str) -> None:
        self.counters = counters
        self.consumers = consumers
        self.slice_shapes = tuple([slice.shape for slice in (*counters, *consumers)])
        self.problem = problem
        self.has_groups = any(slice.has_groups for slice in consumers)
        #: what others have found out about it
        self.found_out: Any = None


class Pool:
    """A pool with something for a node. Of an incomplete or invalid one no device can be had."""

    __slots__ = (
        "_devices",
        "_shape",
        "binds_late",
        "counter_slices",
        "counting",
        "id",
        "incomplete",
        "invalid",
        "inventory",
        "slice_shapes",
        "slices",
        "usable",
    )

    def __init__(self, id: PoolId, inventory: Inventory) -> None:
        self.id = id
        self.inventory = inventory
        #: not all slices are there
        self.incomplete = False
        #: what is wrong with the slices, if anything
        self.invalid = ""
        #: those for this node that have devices, in the order in which they are tried
        self.slices: tuple[Slice, ...] = ()
        #: those of the slice, if it is the only one
        self._devices: tuple[Device, ...] | None = None
        #: whether a device has binding conditions, even an empty list of them: such pools are tried last
        self.binds_late = False
        #: those of its slices: with devices for this node, and the ones that count for all nodes
        self.slice_shapes: tuple[tuple[SliceShape, ...], ...] = ()
        #: its slices with counters
        self.counter_slices: tuple[Slice, ...] = ()
        #: its counters, if other nodes see other slices of the pool that count here as well
        self.counting: Counting | None = None
        #: whether devices can be taken from it
        self.usable = True
        self._shape: Shape | None = None

    @property
    def is_spread(self) -> bool:
        """Whether devices on other nodes take from its counters."""
        return self.counting is not None and bool(self.counting.consumers)

    @property
    def elsewhere(self) -> tuple[Device, ...]:
        """Devices of the pool's other slices, as far as they matter: those that take from counters."""
        if self.counting is None:
            return ()
        own = set(self.slices)
        return tuple(
            device
            for slice in self.counting.consumers
            if slice not in own
            for device in slice.devices
            if device.consumes
        )

    @property
    def counters(self) -> Counters:
        """Its counter sets, put together when they are asked for, as :attr:`devices` are."""
        return self.inventory.counters(self.counter_slices)

    def shape(self, node: Node) -> Shape:
        """Something to compare: pools of equal shape that are equally used serve claims on their nodes alike."""
        if self._shape is None:
            self._shape = self.id.driver, self.incomplete, bool(self.invalid), self.slice_shapes
        reached = self.reached(node)
        return (*self._shape, reached) if reached else self._shape

    def reached(self, node: Node) -> tuple[int, ...]:
        """Of slices whose devices are for nodes of their own, which can be used on a node: a bit for each device."""
        return tuple([slice.reached(node) for slice in self.slices if slice.per_device])

    @property
    def devices(self) -> Sequence[Device]:
        """Those of the slices, in the order in which they are tried.

        They are put together when they are asked for: every node may see other slices, and these have very many devices.
        """
        return self.inventory.together(self.slices) if self._devices is None else self._devices

    @property
    def size(self) -> int:
        """How many devices there are."""
        return sum([len(slice.devices) for slice in self.slices])

    def place(self, device: str) -> int | None:
        """The index of a device among the pool's devices; None if it is not one of them."""
        if len(self.slices) == 1:
            return self.slices[0].places.get(device)
        before = 0
        for slice in self.slices:
            place = slice.places.get(device)
            if place is not None:
                return before + place
            before += len(slice.devices)
        return None


def pools_of(inventory: Inventory, node: Node, features: Features) -> list[Pool]:
    """The pools that a node sees, in the order in which they are tried."""
    slices = (slice for slice in inventory.candidates(node.name) if slice.reaches(node))
    pools = [
        pool
        for id, each in visible_by_pool(slices, features).items()
        if (pool := pool_of(id, each, inventory, features)) is not None
    ]
    pools.sort(key=rank)
    return pools


def rank(pool: Pool) -> tuple[bool, PoolId]:
    """Pools are tried in this order."""
    return pool.binds_late, pool.id


def namesakes(pools: Sequence[Pool], features: Features) -> tuple[int, ...]:
    """The place of the first pool with each pool's name, where pools of a name share counters (see `AttemptState.account`).

    Empty if no two pools with counters have the same name.
    """
    if features.minor >= 37:
        return ()
    names = [pool.id.pool for pool in pools if pool.counter_slices]
    return tuple(map(names.index, names)) if len(set(names)) < len(names) else ()


def visible_by_pool(slices: Iterable[Slice], features: Features) -> dict[PoolId, list[Slice]]:
    """Of slices that a node sees those that count, by pool."""
    visible = by_pool([slice for slice in slices if _is_visible(slice, features)])
    for id, each in visible.items():
        if len(each) > 1:
            visible[id] = newest(each)
    return visible


def _is_visible(slice: Slice, features: Features) -> bool:
    """Whether the features that the slice uses are on."""
    partitioned = "perDeviceNodeSelection" in slice.spec or (
        bool(slice.counter_sets) and features.minor != 34
    )
    if partitioned and not features.partitionable_devices:
        return False
    return _may_have_groups(features) or not slice.has_groups


def _may_have_groups(features: Features) -> bool:
    """Whether slices with compatibility groups count. While their gate is off, KEP-5963 skips devices, upstream slices."""
    return features.compatibility_groups or features.group_snapshots


def hidden_by_gate(pool: Pool, features: Features) -> str:
    """The slices of a pool's newest generation that do not count as a gate is off, so that it is incomplete; empty if none is."""
    slices = newest(list(pool.inventory.of_pool(pool.id)))
    hidden = sum(slice.has_groups for slice in slices)
    if not pool.incomplete or not hidden or _may_have_groups(features):
        return ""
    return f"{hidden} of {len(slices)} slices of {pool.id} have them"


def pool_of(id: PoolId, slices: Sequence[Slice], inventory: Inventory, features: Features) -> Pool | None:
    """The pool that these slices for a node belong to; None if they are obsolete."""
    pool = Pool(id, inventory)
    everywhere = inventory.of_pool(id)
    if len(slices) > 1 and features.slices_as_they_came:
        slices = _as_they_came(slices, everywhere.by_name, late=features.implementation == EXPERIMENTAL)
    expected, generation = slices[0].count_in_pool, slices[0].generation
    if features.minor < COMPLETE_SINCE:
        return _former_pool(pool, slices, everywhere)
    elsewhere = False
    if len(slices) != expected:
        # Only now slices for other nodes are looked at; a newer generation among them goes unnoticed otherwise.
        if everywhere.newest > generation:
            return None
        known = everywhere.of_generation(generation, with_groups=_may_have_groups(features))
        if known.size != expected:
            pool.incomplete, pool.usable = True, False
            return pool
        names = {slice.name for slice in slices}
        elsewhere = any(slice.name not in names for slice in known.counting)
    if len(slices) > 1 and not features.slices_as_they_came:
        slices = sorted(slices, key=lambda slice: slice.name)
    if elsewhere and features.partitionable_devices:
        _fill_from_afar(pool, slices, _counting(everywhere, generation, features, inventory), everywhere)
    else:
        _fill(pool, slices, features, everywhere)
    pool.usable = not pool.invalid
    return pool


def _former_pool(pool: Pool, slices: Sequence[Slice], everywhere: PoolSlices) -> Pool:
    """As before 1.35: without a look at slices for other nodes, and all but All gets devices of incomplete pools."""
    pool.incomplete = len(slices) != slices[0].count_in_pool
    _take_devices(pool, slices, everywhere)
    pool.slice_shapes = (tuple(slice.shape for slice in pool.slices),)
    return pool


def closed_pool(pool: Pool) -> AllocationError:
    """The error with which a search ends that comes to an invalid pool, before 1.35."""
    name = pool.invalid.rpartition(" ")[2]
    device = next(each for each in pool.devices if each.id.device == name)
    return AllocationError(
        Mention("pool ", pool, "a pool", short=True),
        " is invalid: duplicate device name",
        Mention(" ", device, short=True),
    )


def _as_they_came(slices: Sequence[Slice], known: Iterable[str], *, late: bool) -> list[Slice]:
    """In the order in which they came, for allocators that do not take them by name.

    :param late: whether those with binding conditions come last.
    """
    order = {name: index for index, name in enumerate(known)}
    return sorted(slices, key=lambda slice: (slice.binds_late and late, order[slice.name]))


def _fill(pool: Pool, slices: Sequence[Slice], features: Features, everywhere: PoolSlices) -> None:
    """Take in the slices of a pool, which are all for the node, or say what is wrong with them."""
    counters = [slice for slice in slices if slice.counter_sets]
    with_devices = [slice for slice in slices if not (features.partitionable_devices and slice.counter_sets)]
    _take_devices(pool, with_devices, everywhere)
    pool.slice_shapes = (
        tuple(slice.shape for slice in pool.slices),
        tuple(slice.shape for slice in counters),
    )
    if features.partitionable_devices and not pool.invalid:
        pool.counter_slices = tuple(counters)
        pool.invalid = _counter_problem(pool.counters, pool.slices)
    if pool.invalid:
        pool.slices = pool.slice_shapes = ()
        pool.binds_late, pool._devices = False, None


def _fill_from_afar(pool: Pool, slices: Sequence[Slice], counting: Counting, everywhere: PoolSlices) -> None:
    """Take in the slices for the node of a pool with counters that other slices have or take from."""
    pool.counting = counting
    pool.counter_slices = counting.counters
    _take_devices(pool, [slice for slice in slices if not slice.counter_sets], everywhere)
    pool.slice_shapes = (tuple(slice.shape for slice in pool.slices), counting.slice_shapes)
    pool.invalid = pool.invalid or counting.problem
    if pool.invalid:
        pool.slices = pool.slice_shapes = ()
        pool.binds_late, pool._devices = False, None


def _take_devices(pool: Pool, slices: Iterable[Slice], everywhere: PoolSlices) -> None:
    pool.slices = tuple(slices)
    pool._devices = pool.slices[0].devices if len(pool.slices) == 1 else None
    pool.binds_late = any(slice.binds_late for slice in pool.slices)
    pool.invalid = _repeated(pool.slices) if everywhere.repeats else ""


def _counting(everywhere: PoolSlices, generation: int, features: Features, inventory: Inventory) -> Counting:
    """The counters of a generation of a pool. There may be thousands of nodes, so it is found out once."""
    key = (Counting, generation, _may_have_groups(features))
    found: Counting | None = everywhere.found_out.get(key)
    if found is None:
        slices = everywhere.of_generation(generation, with_groups=key[2]).counting
        consumers = tuple(slice for slice in slices if not slice.counter_sets)
        counters = tuple(slice for slice in slices if slice.counter_sets)
        problem = _counter_problem(inventory.counters(counters), consumers)
        found = everywhere.found_out[key] = Counting(counters, consumers, problem)
    return found


def _repeated(slices: Sequence[Slice]) -> str:
    names = [device.id.device for slice in slices for device in slice.devices]
    if len(set(names)) == len(names):
        return ""
    seen = set()
    for name in names:
        if name in seen:
            break
        seen.add(name)
    return f"duplicate device name {name}"


def _counter_problem(counters: Counters, consumers: Iterable[Slice]) -> str:
    """What is wrong with counter sets or with their use, if anything."""
    if counters.repeated is not None:
        return f"duplicate counter set name {counters.repeated}"
    for device in (device for slice in consumers for device in slice.devices):
        for consumption in device.consumes:
            known = counters.sets.get(consumption.counter_set)
            if known is None:
                return f"counter set {consumption.counter_set} not found"
            for counter in consumption.counters:
                if counter not in known:
                    return f"counter {counter} not found in counter set {consumption.counter_set}"
    return ""
