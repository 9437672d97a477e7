"""All ResourceSlices of a cluster, found by node and by pool, with what patches and DeviceTaintRules change."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from allocator.device_shapes import ShapeRegistry
from allocator.devices import Counters, Device, Slice, counters_of
from allocator.features import NEWEST_READING, Reading
from allocator.patches.changes import Changes
from allocator.patches.merge import Merge, PatchFailure
from allocator.patches.overrides import NOTHING, Applied
from allocator.patches.patch import pools_with
from allocator.patches.sources import DeviceSources, sources
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from resourceapi.caches import WeighedCache
from resourceapi.objects import Object
from resourceapi.records.classes import DeviceClass
from resourceapi.records.pools import DeviceId, PoolId, ResourcePool, newest
from resourceapi.records.taints import DeviceTaintRule

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device as PreparedDevice

#: How much memory the devices of slices take that are put together.
TOGETHER_BYTES = 32 << 20
#: What a place in a dictionary takes.
_SET_BYTES = 100
Listener = Callable[[Slice | None, Slice | None], None]
"""Is told of a change: what was there before, and what is there now."""


class CountingSlices(NamedTuple):
    """Of a generation of a pool, how many slices count, and those that matter even on nodes that they are not for."""

    size: int
    #: with counter sets, or with devices that take from them
    counting: tuple[Slice, ...]


class PoolSlices(ResourcePool[Slice]):
    """All slices of a pool, with what the allocator finds out about them."""

    __slots__ = ()

    @property
    def shared(self) -> tuple[Slice, ...]:
        """Slices without a node's name."""
        found: tuple[Slice, ...] | None = self.found_out.get("shared")
        if found is None:
            found = self.found_out["shared"] = tuple(slice for slice in self if not slice.node_name)
        return found

    @property
    def repeats(self) -> bool:
        """Whether any two devices have the same name."""
        found: bool | None = self.found_out.get("repeats")
        if found is None:
            names = [device.id.device for slice in self for device in slice.devices]
            found = self.found_out["repeats"] = len(set(names)) < len(names)
        return found

    def of_generation(self, number: int, *, with_groups: bool) -> CountingSlices:
        """Slices of a generation, those with compatibility groups included or not."""
        found: CountingSlices | None = self.found_out.get((number, with_groups))
        if found is None:
            slices = [each for each in self.generation(number).slices if with_groups or not each.has_groups]
            counting = tuple(each for each in slices if each.is_counting)
            found = self.found_out[number, with_groups] = CountingSlices(len(slices), counting)
        return found


_NO_SLICES = PoolSlices()


class Inventory:
    """Slices by name, with what patches and DeviceTaintRules change about their devices. Not for several threads.

    A change of a slice costs as much as the slice; one of a patch, class or rule counts from the next question on, which
    takes as long as it has devices to look at.

    Who cannot wait for that sets `stepwise`: then changes only count once `settle` has come to them. That is so for slices
    as well while there are patches or rules: a new slice is not there before it has all that applies to it, and one that is
    replaced stays as it was. So no device is ever given away without the taint or the missing attribute that forbids it.
    """

    def __init__(self, slices: Iterable[Object | Slice] = (), reading: Reading = NEWEST_READING) -> None:
        """`slices`: ResourceSlices of v1 in normal form; `reading`: how kube-scheduler's allocator reads them."""
        #: told of every change
        self.listeners: list[Listener] = []
        self._shapes = ShapeRegistry(reading)
        self._slices: dict[str, Slice] = {}
        self._by_pool: dict[PoolId, PoolSlices] = {}
        self._of_node: dict[str, dict[str, Slice]] = {}
        self._shared: dict[str, Slice] = {}
        self._merge = Merge()
        #: slices of which patches or rules change something, as they were published
        self._published: dict[str, Slice] = {}
        #: what applies to the devices of each slice that patches or rules are about
        self._applied: dict[str, list[Applied]] = {}
        #: whether changes wait for `settle` rather than for the next question
        self.stepwise = False
        #: slices as they were published that wait for it
        self._arriving: dict[str, Slice] = {}
        #: slices that have not been looked at since the last of these changes; None if that is not known
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._is_behind = False
        self._failures: dict[str, PatchFailure] | None = {}
        #: how many slices have devices that take CPU and the like of their node
        self._taking = 0
        #: the devices of several slices of a pool that nodes see together
        self._together: WeighedCache[tuple[Slice, ...], tuple[Device, ...]] = WeighedCache(TOGETHER_BYTES)
        #: the counters of slices of a pool, for the same reason
        self._counters: WeighedCache[tuple[Slice, ...], Counters] = WeighedCache(TOGETHER_BYTES)
        for slice in slices:
            self.put(slice)

    def put(self, slice: Object | Slice) -> None:
        """Add a slice, or replace that of the same name.

        A Slice that others share (with shapes of their own) is kept as it is where nothing applies to it.
        """
        self.catch_up()
        published = slice if isinstance(slice, Slice) else Slice(slice, self._shapes)
        self._arriving.pop(published.name, None)
        if self._merge.is_empty:
            self._put(self._merged(published, None))
        elif self.stepwise:
            self._arriving[published.name] = published
        else:
            self._apply_to(published, UNLIMITED)

    def _apply_to(self, published: Slice, time_limit: TimeLimit) -> None:
        """Put in a slice with all that applies to it now."""
        applied = self._merge.everything.applied(published, None, time_limit)
        self._put(self._merged(published, applied))

    def _merged(self, published: Slice, applied: list[Applied] | None) -> Slice:
        """A slice with what applies to it, which is kept in mind."""
        name, merged = published.name, published
        if applied is None or all(each is NOTHING for each in applied):
            if self._applied.pop(name, None) is not None:
                self._failures = None
        else:
            self._applied[name], self._failures = applied, None
            merged = self._merge.merged(published, applied, self._shapes)
        if merged is published:
            self._published.pop(name, None)
        else:
            self._published[name] = published
        return merged

    def _put(self, new: Slice) -> None:
        old = self._slices.get(new.name)
        if old is not None and old.pool != new.pool:
            self._take_out(old)
        elif old is not None and old.node_name != new.node_name:
            self._take_from_place(old)
        self._slices[new.name] = new
        self.of_pool(new.pool, create=True).by_name[new.name] = new
        self._place(new)[new.name] = new
        self._tell(old, new)

    def remove(self, name: str) -> None:
        """Take out the slice of this name, if there is one."""
        self.catch_up()
        self._arriving.pop(name, None)
        old = self._slices.get(name)
        if old is not None:
            self._take_out(old)
            self._published.pop(name, None)
            self._applied.pop(name, None)
            self._failures = None
            self._tell(old, None)

    def put_rule(self, rule: DeviceTaintRule) -> None:
        """Add a DeviceTaintRule, or replace that of the same name."""
        self._merge.put_rule(rule)
        self._fall_behind()

    def remove_rule(self, name: str) -> None:
        """Take out the DeviceTaintRule of this name, if there is one."""
        self._merge.remove_rule(name)
        self._fall_behind()

    def put_patch(self, patch: Object) -> None:
        """Add a ResourceSlicePatch (in normal form), or replace that of the same name."""
        self._merge.put_patch(patch)
        self._fall_behind()

    def remove_patch(self, name: str) -> None:
        """Take out the ResourceSlicePatch of this name, if there is one."""
        self._merge.remove_patch(name)
        self._fall_behind()

    def put_class(self, device_class: DeviceClass) -> None:
        """Add a DeviceClass (v1 in normal form), or replace that of the same name: patches may name it."""
        self._merge.put_class(device_class)
        self._fall_behind()

    def remove_class(self, name: str) -> None:
        """Take out the DeviceClass of this name, if there is one."""
        self._merge.remove_class(name)
        self._fall_behind()

    def _fall_behind(self) -> None:
        if self._merge.has_changes:
            self._failures = None
            self._is_behind = True

    def settle(self, time_limit: TimeLimit) -> bool:
        """Make changes of patches, rules and classes on all slices that they are about, one after the other.

        Slices that wait to be put come first. Each call gets further, whatever the time limit: what has been found out is
        kept, for each kind of device and expression.

        :param time_limit: looked at after each slice and each expression that is evaluated.
        :returns: whether that is done; if not, the next call goes on, and slices that it has not come to are as before.
        """
        self._is_behind = False
        try:
            self._merge.compile(time_limit)
            self._put_arriving(time_limit)
            self._make_changes(time_limit)
        except OutOfTime:
            self._is_behind = True
            return False
        return True

    def _put_arriving(self, time_limit: TimeLimit) -> None:
        for name, published in list(self._arriving.items()):
            self._apply_to(published, time_limit)
            del self._arriving[name]
            time_limit.check()

    def _make_changes(self, time_limit: TimeLimit) -> None:
        if not self._merge.has_changes:
            return
        # Those that wait keep their places: else changes that come again and again would always begin with the same slices.
        for pool in pools_with(self._merge.take_names(), self._by_pool):
            self._waiting.update(dict.fromkeys(self._by_pool[pool].by_name))
        changes = self._merge.changes
        while self._waiting:
            name = next(iter(self._waiting))
            self._look_again(name, changes, time_limit)
            del self._waiting[name]
            time_limit.check()
        self._merge.done()

    def _look_again(self, name: str, changes: Changes, time_limit: TimeLimit) -> None:
        slice = self._slices.get(name)
        if slice is None:
            return
        published, before = self._published.get(name, slice), self._applied.get(name)
        applied = changes.applied(published, before, time_limit)
        if applied is not None:
            merged = self._merged(published, applied)
            if any(
                one.shape is not other.shape for one, other in zip(slice.devices, merged.devices, strict=True)
            ):
                self._put(merged)

    def catch_up(self) -> None:
        """Settle what is to count from the next question on, which this one is."""
        if self._is_behind and not self.stepwise:
            self.settle(UNLIMITED)

    @property
    def failures(self) -> Mapping[str, PatchFailure]:
        """The patches whose filters fail on devices, or whose class does not exist, by name."""
        self.catch_up()
        if self._failures is None:
            published = self._published
            self._failures = self._merge.failures(
                (published.get(name) or self._slices[name], applied)
                for name, applied in self._applied.items()
            )
        return self._failures

    @property
    def patches_in_effect(self) -> frozenset[str]:
        """The names of the patches that apply to some device."""
        return frozenset(patch.name for each in self.applied for patch in each.patches)

    @property
    def applied(self) -> set[Applied]:
        """All that applies to devices, each combination once."""
        self.catch_up()
        return {each for applied in self._applied.values() for each in applied}

    def patches_by_node(self) -> dict[str, set[str]]:
        """The names of the patches that apply to devices of slices of one node, by that."""
        self.catch_up()
        found: dict[str, set[str]] = {}
        for name, applied in self._applied.items():
            patches = {patch.name for each in set(applied) for patch in each.patches}
            if patches and (node := self._slices[name].node_name):
                found.setdefault(node, set()).update(patches)
        return found

    def published(self) -> Iterator[Slice]:
        """All slices as drivers have published them, without what patches and rules change."""
        self.catch_up()
        for name, slice in self._slices.items():
            yield self._published.get(name, slice)

    @property
    def unpatched(self) -> list[PreparedDevice]:
        """All devices as selectors see them without patches; none if no patch is in effect."""
        if not self.patches_in_effect:
            return []
        return [device.prepared for slice in self.published() for device in slice.devices]

    def sources_of(self, id: DeviceId) -> DeviceSources | None:
        """Where all comes from that a device has, in the newest generation of its pool; None if there is no such device."""
        slices = newest([each for each in self.of_pool(PoolId(*id[:2])) if id.device in each.places])
        return self.sources_in(slices[-1].devices[slices[-1].places[id.device]]) if slices else None

    def sources_in(self, device: Device) -> DeviceSources:
        """Where all comes from that a device of one of the slices has."""
        slice = self._slices[device.slice.name]
        published = self._published.get(slice.name, slice)
        own, applied = published.devices[slice.devices.index(device)], self.applied_to(device)
        if applied is NOTHING:
            return sources(own, applied)
        # the same for all devices of a shape, of which a slice mostly has one; patches may be thousands
        key = own.kind, own.id.driver
        known: tuple[object, DeviceSources] | None = applied.found_out.get(DeviceSources)
        if known is None or known[0] != key:
            known = applied.found_out[DeviceSources] = key, sources(own, applied)
        return known[1]

    def applied_to(self, device: Device) -> Applied:
        """What applies to a device of one of the slices."""
        applied = self._applied.get(device.slice.name)
        return NOTHING if applied is None else applied[self._slices[device.slice.name].devices.index(device)]

    def _take_out(self, slice: Slice) -> None:
        name, pool = slice.name, slice.pool
        del self._slices[name], self._by_pool[pool].by_name[name]
        self._by_pool[pool].changed()
        if not self._by_pool[pool].by_name:
            del self._by_pool[pool]
        self._take_from_place(slice)

    def _take_from_place(self, slice: Slice) -> None:
        del self._place(slice)[slice.name]
        if slice.node_name and not self._of_node[slice.node_name]:
            del self._of_node[slice.node_name]

    def _place(self, slice: Slice) -> dict[str, Slice]:
        if not slice.node_name:
            return self._shared
        return self._of_node.setdefault(slice.node_name, {})

    def together(self, slices: tuple[Slice, ...]) -> tuple[Device, ...]:
        """The devices of slices of a pool, in order; made again where too many others have been asked for since."""
        found = self._together.get(slices)
        if found is None:
            found = tuple([device for slice in slices for device in slice.devices])
            if slices:
                weight = 8 * (len(found) + len(slices))
                self._together.put(slices, found, weight, slices[0].pool)
        return found

    def counters(self, slices: tuple[Slice, ...]) -> Counters:
        """The counters of slices of a pool; made again as :meth:`together`."""
        if len(slices) == 1:
            return slices[0].counters
        found = self._counters.get(slices)
        if found is None:
            found = counters_of(each for slice in slices for each in slice.counter_sets)
            if not slices:
                return found
            self._counters.put(slices, found, _SET_BYTES * len(found.sets), slices[0].pool)
        return found

    def _tell(self, old: Slice | None, new: Slice | None) -> None:
        self._taking += (new is not None and new.takes_of_nodes) - (old is not None and old.takes_of_nodes)
        for pool in {slice.pool for slice in (old, new) if slice is not None}:
            self.of_pool(pool).changed()
            self._together.drop(pool)
            self._counters.drop(pool)
        for listener in self.listeners:
            listener(old, new)

    def __iter__(self) -> Iterator[Slice]:
        """All slices, in the order in which they came."""
        self.catch_up()
        return iter(self._slices.values())

    def candidates(self, node: str) -> Iterator[Slice]:
        """Slices that may be for the node: first those with its name, then those without any."""
        yield from self.of_node(node)
        yield from self._shared.values()

    def of_node(self, node: str) -> Iterable[Slice]:
        """Slices with a node's name."""
        self.catch_up()
        return self._of_node.get(node, {}).values()

    def shared(self) -> Iterable[Slice]:
        """Slices without a node's name."""
        self.catch_up()
        return self._shared.values()

    @property
    def takes_of_nodes(self) -> bool:
        """Whether there are devices that take CPU and the like of their node."""
        return self._taking > 0

    @property
    def has_shared(self) -> bool:
        """Whether there are slices without a node's name."""
        return bool(self._shared)

    @property
    def pools(self) -> Mapping[PoolId, PoolSlices]:
        """All pools."""
        self.catch_up()
        return self._by_pool

    def of_pool(self, pool: PoolId, *, create: bool = False) -> PoolSlices:
        """All slices of a pool."""
        self.catch_up()
        found = self._by_pool.get(pool)
        if found is None:
            if not create:
                return _NO_SLICES
            found = self._by_pool[pool] = PoolSlices()
        return found
