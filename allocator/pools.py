"""Pools as a node sees them: which slices count, whether they are all there, and whether they make sense.

Source: KEP-4381 ("Publishing node resources": generations, resourceSliceCount), KEP-4815 (shared counters), KEP-5963
(gate off); which slices count on which node is as measured with kube-scheduler 1.37.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.devices import Device, Object, PoolId, Slice, node_name
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.kinds import SliceKind
from resourceapi.quantity import Quantity

CounterSets = dict[str, dict[str, Quantity]]
Shape = tuple[object, ...]


class Pool:
    """A pool with something for a node. Of an incomplete or invalid one no device can be had."""

    __slots__ = ("counter_sets", "devices", "elsewhere", "id", "incomplete", "invalid", "kinds", "slices")

    def __init__(self, id: PoolId) -> None:
        self.id = id
        #: not all slices are there
        self.incomplete = False
        #: what is wrong with the slices, if anything
        self.invalid = ""
        #: those for this node that have devices, in the order in which they are tried
        self.slices: tuple[Slice, ...] = ()
        #: of the slices for this node, in the order in which they are tried
        self.devices: tuple[Device, ...] = ()
        #: of the pool's other slices, as far as they matter: those that take from counters
        self.elsewhere: tuple[Device, ...] = ()
        self.counter_sets: CounterSets = {}
        #: those of its slices: with devices for this node, with counters, and of others that matter
        self.kinds: tuple[tuple[SliceKind, ...], ...] = ()

    def shape(self, node: Object) -> Shape:
        """Something to compare: pools of equal shape that are equally used serve claims on their nodes alike."""
        return self.id.driver, self.incomplete, bool(self.invalid), self.kinds, self.reached(node)

    def reached(self, node: Object) -> tuple[tuple[bool, ...], ...]:
        """Of slices whose devices are for nodes of their own, which can be used on a node."""
        return tuple([_reached(slice, node) for slice in self.slices if slice.per_device])

    @property
    def usable(self) -> bool:
        return not (self.incomplete or self.invalid)

    @property
    def binds_late(self) -> bool:
        """Whether a device has binding conditions, even an empty list of them: such pools are tried last."""
        return any("bindingConditions" in device.spec for device in self.devices)


def pools_of(inventory: Inventory, node: Object, features: Features) -> list[Pool]:
    """The pools that a node sees, in the order in which they are tried."""
    slices = (slice for slice in inventory.candidates(node_name(node)) if slice.reaches(node))
    pools = [
        pool
        for id, each in by_pool(slices, features).items()
        if (pool := pool_of(id, each, inventory, features)) is not None
    ]
    pools.sort(key=rank)
    return pools


def rank(pool: Pool) -> tuple[bool, PoolId]:
    """Pools are tried in this order."""
    return pool.binds_late, pool.id


def by_pool(slices: Iterable[Slice], features: Features) -> dict[PoolId, list[Slice]]:
    """Of slices that a node sees those that count, by pool."""
    found: dict[PoolId, list[Slice]] = {}
    for slice in slices:
        if _is_visible(slice, features):
            _add(found.setdefault(slice.pool, []), slice)
    return found


def _is_visible(slice: Slice, features: Features) -> bool:
    """Whether the features that the slice uses are on."""
    partitioned = "perDeviceNodeSelection" in slice.spec or bool(slice.counter_sets)
    if partitioned and not features.partitionable_devices:
        return False
    return _may_have_groups(features) or not slice.has_groups


def _may_have_groups(features: Features) -> bool:
    """Whether slices with compatibility groups count. While their gate is off, KEP-5963 skips devices, upstream slices."""
    return features.compatibility_groups or features.group_snapshots


def _add(slices: list[Slice], slice: Slice) -> None:
    """Only the newest generation counts."""
    if slices and slice.generation > slices[0].generation:
        slices.clear()
    if not slices or slice.generation == slices[0].generation:
        slices.append(slice)


def pool_of(id: PoolId, slices: Sequence[Slice], inventory: Inventory, features: Features) -> Pool | None:
    """The pool that these slices for a node belong to; None if they are obsolete."""
    pool = Pool(id)
    everywhere = inventory.of_pool(id)
    if len(slices) > 1 and features.stable:
        slices = _as_they_came(slices, everywhere.by_name)
    expected, generation = slices[0].count_in_pool, slices[0].generation
    elsewhere: Sequence[Slice] = ()
    if len(slices) != expected:
        # Only now slices for other nodes are looked at; a newer generation among them goes unnoticed otherwise.
        if everywhere.has_newer(generation):
            return None
        known = everywhere.generation(generation, with_groups=_may_have_groups(features))
        if known.size != expected:
            pool.incomplete = True
            return pool
        names = {slice.name for slice in slices}
        elsewhere = [slice for slice in known.counting if slice.name not in names]
    if len(slices) > 1 and not features.stable:
        slices = sorted(slices, key=lambda slice: slice.name)
    _fill(pool, slices, elsewhere, features)
    return pool


def _as_they_came(slices: Sequence[Slice], known: Iterable[str]) -> list[Slice]:
    """In the order in which the stable allocator takes slices, while the others take them by name."""
    order = {name: index for index, name in enumerate(known)}
    return sorted(slices, key=lambda slice: order[slice.name])


def _fill(pool: Pool, here: Sequence[Slice], elsewhere: Sequence[Slice], features: Features) -> None:
    """Take in the slices for the node and the others, or say what is wrong with them."""
    counters = [slice for slice in (*here, *elsewhere) if slice.counter_sets]
    if features.partitionable_devices:
        here = [slice for slice in here if not slice.counter_sets]
        elsewhere = [slice for slice in elsewhere if not slice.counter_sets]
    pool.slices = tuple(here)
    pool.kinds = tuple(tuple(slice.kind for slice in each) for each in (here, counters, elsewhere))
    pool.devices = tuple(device for slice in here for device in slice.devices)
    pool.elsewhere = tuple(device for slice in elsewhere for device in slice.devices if device.consumes)
    pool.invalid = _repeated(pool.devices)
    if features.partitionable_devices and not pool.invalid:
        pool.invalid = _counter_problem(pool, counters)
    if pool.invalid:
        pool.slices = pool.devices = pool.elsewhere = pool.kinds = ()


def _reached(slice: Slice, node: Object) -> tuple[bool, ...]:
    return tuple(device.reaches(node) for device in slice.devices)


def _repeated(devices: Iterable[Device]) -> str:
    names = [device.id.device for device in devices]
    if len(set(names)) == len(names):
        return ""
    seen = set()
    for name in names:
        if name in seen:
            break
        seen.add(name)
    return f"duplicate device name {name}"


def _counter_problem(pool: Pool, slices: Iterable[Slice]) -> str:
    """Fills the pool's counter sets; what is wrong with them or with their use, if anything."""
    for slice in slices:
        for name, counters in slice.counter_sets:
            if name in pool.counter_sets:
                return f"duplicate counter set name {name}"
            pool.counter_sets[name] = counters
    for device in (*pool.devices, *pool.elsewhere):
        for consumption in device.consumes:
            known = pool.counter_sets.get(consumption.counter_set)
            if known is None:
                return f"counter set {consumption.counter_set} not found"
            for counter in consumption.counters:
                if counter not in known:
                    return f"counter {counter} not found in counter set {consumption.counter_set}"
    return ""
