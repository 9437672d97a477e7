"""The nodes of a cluster, sorted into classes: nodes of one class serve any claims alike, but for names.

What a node sees is worked out once, and again after a change of what concerns it: its slices, those that it shares with
others, itself. Pools that have slices with the node's name belong to the node; the others are shared by all nodes of
the same `SharedPools`. A device that is taken or given back concerns the nodes of its pool, which find their new class when
they are asked next. The state of shared pools is looked at when they are asked, so it concerns no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from weakref import WeakValueDictionary

from allocator.allocated import AllocatedState
from allocator.devices import Device, Slice
from allocator.feasible_nodes import NodeChanges
from allocator.features import Features
from allocator.inventory import Inventory
from allocator.ledgers import PoolState
from allocator.pools import Pool, namesakes, pool_of, rank, visible_by_pool
from allocator.results import only_on
from allocator.rules.standing import declares_node_operations
from allocator.shared_pools import Reach, SharedPools
from allocator.time_limit import UNLIMITED, TimeLimit
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from resourceapi.records.pools import DeviceId, PoolId

_MAX_MOVES = 1000

_numbers = count()

Pattern = tuple[int | PoolId, ...]
"""In which order pools are tried: own ones by their place, shared ones by their names."""


class Layout:
    """What nodes have in common that see the same, but for names; what claims hold of it is another matter."""

    __slots__ = ("__weakref__", "number", "pattern", "shared")

    def __init__(self, pattern: Pattern, shared: SharedPools) -> None:
        #: that of no other layout, not even of one that is gone
        self.number = next(_numbers)
        self.pattern = pattern
        self.shared = shared


class NodeClass:
    """Nodes that serve claims alike, as long as the pools that they share with others stay as they are.

    It keeps nothing of what they see: outcomes are remembered by it, also when there is no such node for the time being.
    """

    __slots__ = ("__weakref__",)


class View:
    """What a node sees; after a change it has another."""

    __slots__ = ("_selector", "layout", "name", "node", "own")

    def __init__(self, node: Node, own: tuple[PoolState, ...], layout: Layout) -> None:
        self.node = node
        self.name = node.name
        #: its own pools, in the order in which they are tried
        self.own = own
        self.layout = layout
        self._selector: Object | None = None

    @property
    def selector(self) -> Object:
        """A node selector for this node only."""
        if self._selector is None:
            self._selector = only_on(self.name)
        return self._selector

    def device(self, id: DeviceId) -> Device | None:
        """The device of this name, if the node sees it."""
        for state in self.states():
            if state.pool.id == id[:2] and (place := state.pool.place(id.device)) is not None:
                return state.pool.devices[place]
        return None

    def states(self, shared: Mapping[PoolId, PoolState] | None = None) -> Sequence[PoolState]:
        """All its pools, in the order in which they are tried; `shared`: those that it shares, at another time."""
        layout = self.layout
        if len(self.own) == len(layout.pattern):
            return self.own
        if shared is None:
            shared = layout.shared.states
        return [self.own[each] if isinstance(each, int) else shared[each] for each in layout.pattern]


class NodeEntry:
    """A node with what is known of it; `view` and `node_class` are None if they are to be found anew."""

    __slots__ = ("declares", "name", "node", "node_class", "place", "reached", "seen", "view")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.name = node.name
        self.declares = declares_node_operations(node)
        self.view: View | None = None
        self.node_class: NodeClass | None = None
        #: in the order of nodes, which :meth:`Nodes.settled` makes
        self.place: int | None = None
        #: slices for some nodes, not by a node's name, that reach it (`Reach`)
        self.reached = 0
        #: up to which change of those `reached` is right
        self.seen = -1


class Nodes:
    """Nodes by name, in the order in which they came. Not for several threads."""

    def __init__(
        self, nodes: Iterable[Node], features: Features, inventory: Inventory, allocated: AllocatedState
    ) -> None:
        self._features = features
        self._inventory = inventory
        self._allocated = allocated
        self._entries = {entry.name: entry for entry in map(NodeEntry, nodes)}
        #: own pools of nodes, by pool and node
        self._own: dict[tuple[str, str], dict[str, PoolState]] = {}
        self._shared_pools: WeakValueDictionary[int, SharedPools] = WeakValueDictionary()
        #: the states of pools in them, by the slices that are seen: many nodes may see the same of a pool, and not of others
        self._shared_states: dict[PoolId, WeakValueDictionary[tuple[Slice, ...], PoolState]] = {}
        self._layouts: WeakValueDictionary[object, Layout] = WeakValueDictionary()
        self._classes: WeakValueDictionary[object, NodeClass] = WeakValueDictionary()
        self._reach = Reach(self._chosen())
        #: names of slices that reach other nodes than before, and the bits that they had
        self._moves: list[tuple[str, int]] = []
        #: what has changed since nodes were asked last: the pools of slices, which slices reached nodes before (`Reach`),
        #: whether one was for all nodes, and whether some reach other nodes now; None if all bits are others
        self._changed_pools: set[PoolId] = set()
        self._changed_bits = 0
        self._changed_for_all = False
        self._has_moved: bool | None = False
        #: the names of nodes that have looked at a pool for one of their own
        self._lookers: dict[PoolId, set[str]] = {}
        self._order: list[NodeEntry] | None = None
        #: the nodes that serve claims in another way than before
        self.changes = NodeChanges()
        inventory.listeners.append(self._slice_changed)
        allocated.listeners.append(self._device_changed)

    # --- changes

    def put(self, node: Node) -> None:
        """Add a node, or replace that of the same name, which keeps its place."""
        self._forget(node.name)
        entry = NodeEntry(node)
        self._entries[entry.name] = entry
        self._order = None
        self.changes.note_all()

    def remove(self, name: str) -> None:
        """Take out the node of this name, if there is one."""
        self._forget(name)
        self._entries.pop(name, None)
        self._order = None
        self.changes.note_all()

    def _forget(self, name: str) -> None:
        """What the node sees may be something else now."""
        entry = self._entries.get(name)
        if entry is not None:
            self._look_anew(entry)
            self.changes.note(name)

    def _look_anew(self, entry: NodeEntry) -> None:
        """What the node sees is to be found anew."""
        for state in entry.view.own if entry.view is not None else ():
            of_pool = self._own[state.pool.id]
            of_pool.pop(entry.name, None)
            if not of_pool:
                del self._own[state.pool.id]
        entry.view = entry.node_class = None

    def _slice_changed(self, old: Slice | None, new: Slice | None) -> None:
        """Note what has changed: a pool may have thousands of slices, of which as many may change before nodes are asked."""
        changed = [slice for slice in (old, new) if slice is not None]
        name = changed[0].name
        for slice in changed:
            if slice.node_name:
                self._forget(slice.node_name)
        if _concerns_one_node(old, new):
            return
        self._changed_pools.update(slice.pool for slice in changed)
        self._changed_bits |= self._reach.bits(name)
        self._changed_for_all = self._changed_for_all or any(slice.for_all for slice in changed)
        if _reaches_others(old, new):
            self._move(name, new)

    def _move(self, name: str, slice: Slice | None) -> None:
        before = self._reach.bits(name)
        self._reach.remove(name)
        if slice is not None and not slice.node_name and not slice.for_all:
            self._reach.put(slice)
        if len(self._moves) >= _MAX_MOVES:
            self._moves.clear()
            self._reach = Reach(self._chosen())
            self._shared_pools = WeakValueDictionary()
            self._changed_bits = before = 0
            self._has_moved = None
        elif self._has_moved is not None:
            self._has_moved = True
        self._moves.append((name, before))

    def _look_at_changes(self) -> bool:
        """Forget what nodes see of pools that have changed; whether that concerns what they share."""
        if self._has_moved is False and not self._changed_pools:
            return False
        if self._has_moved is not False:
            for entry in self._entries.values():
                entry.node_class = None
                if self._has_moved is None:
                    entry.seen = -1
            self._has_moved = False
            self.changes.note_all()
        for_all, bits = self._changed_for_all, self._changed_bits
        for pool in self._changed_pools:
            for name in self._lookers.pop(pool, ()):
                self._forget(name)
            self._shared_states.pop(pool, None)
            for slice in self._inventory.of_pool(pool).shared:
                for_all = for_all or slice.for_all
                bits |= 0 if for_all else self._reach.bits(slice.name)
        self._changed_pools, self._changed_bits, self._changed_for_all = set(), 0, False
        has_stale = False
        for shared in list(self._shared_pools.values()) if for_all or bits else ():
            if for_all or shared.reached & bits:
                shared.stale = has_stale = True
        return has_stale

    def _device_changed(self, device: DeviceId) -> None:
        pool = device[:2]
        for name, state in self._own.get(pool, {}).items():
            if state.update(device):
                self._entries[name].node_class = None
                self.changes.note(name)
        if self._inventory.has_shared:
            id, has_changed = PoolId(*pool), False
            for state in list(self._shared_states.get(id, {}).values()):
                has_changed = state.update(device) or has_changed
            for shared in list(self._shared_pools.values()) if has_changed else ():
                shared.update(id)
            if has_changed:
                self.changes.note_all()

    # --- looking

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def devices_take_of_nodes(self) -> bool:
        """Whether devices take CPU and the like of their nodes."""
        return self._inventory.takes_of_nodes and self._features.node_allocatable_resources

    def entry(self, name: str) -> NodeEntry | None:
        """The node of this name."""
        return self._entries.get(name)

    def place_of(self, name: str) -> int | None:
        """The place of a node in the order of nodes."""
        entry = self._entries.get(name)
        return None if entry is None else entry.place

    def settled(self, time_limit: TimeLimit = UNLIMITED) -> list[NodeEntry]:
        """All nodes, in order; to be called before classes are asked for, after any changes.

        :param time_limit: what nodes share is looked at again meanwhile; later, when they are asked, it is found anew.
        """
        self._inventory.catch_up()
        if self._look_at_changes():
            self._refill(time_limit)
            self.changes.note_all()
        if self._order is None:
            self._order = list(self._entries.values())
            for place, entry in enumerate(self._order):
                entry.place = place
        return self._order

    def _refill(self, time_limit: TimeLimit) -> None:
        changed = set()
        for shared in [each for each in self._shared_pools.values() if each.stale]:
            if time_limit.is_over:
                self._shared_pools.pop(shared.reached, None)
            elif not self._fill(shared):
                continue
            changed.add(shared)
        for entry in self._entries.values() if changed else ():
            if entry.view is not None and entry.view.layout.shared in changed:
                self._forget(entry.name)

    def class_of(self, entry: NodeEntry) -> NodeClass:
        """The class that a node is in now."""
        found = entry.node_class
        if found is None:
            view = self.view_of(entry)
            key = (view.layout.number, *[state.signature for state in view.own])
            found = self._classes.get(key)
            if found is None:
                found = self._classes[key] = NodeClass()
            entry.node_class = found
        return found

    def view_of(self, entry: NodeEntry) -> View:
        """What a node sees now."""
        view = entry.view
        if view is not None and entry.seen == len(self._moves):
            return view
        shared = self._shared_pools_of(entry)
        if view is None or view.layout.shared is not shared:
            self._look_anew(entry)
            view = entry.view = self._view(entry, shared)
            for state in view.own:
                self._own.setdefault(state.pool.id, {})[entry.name] = state
        return view

    def _view(self, entry: NodeEntry, shared: SharedPools) -> View:
        ids = {slice.pool for slice in self._inventory.of_node(entry.name)}
        for id in ids:
            self._lookers.setdefault(id, set()).add(entry.name)
        pools = sorted(self._own_pools(entry, ids), key=rank)
        own: dict[PoolId, int | PoolId] = {pool.id: index for index, pool in enumerate(pools)}
        others = [state.pool for id, state in shared.states.items() if id not in ids]
        ordered = sorted([*pools, *others], key=rank)
        pattern = tuple(own.get(pool.id, pool.id) for pool in ordered)
        shapes = tuple(pool.shape(entry.node) for pool in pools)
        key = (entry.declares, shapes, pattern, shared, namesakes(ordered, self._features))
        layout = self._layouts.get(key)
        if layout is None:
            layout = self._layouts[key] = Layout(pattern, shared)
        return View(entry.node, tuple(PoolState(pool, self._allocated) for pool in pools), layout)

    def _own_pools(self, entry: NodeEntry, ids: Iterable[PoolId]) -> list[Pool]:
        """Pools that have slices with the node's name."""
        slices = [
            *self._inventory.of_node(entry.name),
            *(slice for id in ids for slice in self._inventory.of_pool(id).shared),
        ]
        found = visible_by_pool((slice for slice in slices if slice.reaches(entry.node)), self._features)
        return [pool for pool in self._pools(found) if pool is not None]

    # --- shared pools

    def _chosen(self) -> list[Slice]:
        """Slices without a node's name that are not for all nodes."""
        return [slice for slice in self._inventory.shared() if not slice.for_all]

    def _pools(self, slices: dict[PoolId, list[Slice]]) -> list[Pool | None]:
        return [pool_of(id, each, self._inventory, self._features) for id, each in slices.items()]

    def _shared_pools_of(self, entry: NodeEntry) -> SharedPools:
        """The shared pools that a node sees."""
        self._look(entry)
        shared = self._shared_pools.get(entry.reached)
        if shared is None:
            shared = self._shared_pools[entry.reached] = SharedPools(entry.reached, entry.node)
            self._fill(shared)
        entry.reached = shared.reached  # one object for all nodes that see the same
        return shared

    def _look(self, entry: NodeEntry) -> None:
        """Find out which slices without a node's name reach the node."""
        if entry.seen < 0:
            entry.reached = self._reach.of(entry.node, self._chosen())
        elif entry.seen < len(self._moves):
            moved: dict[str, None] = {}
            for name, before in self._moves[entry.seen :]:
                entry.reached &= ~before
                moved[name] = None
            slices = [slice for slice in self._chosen() if slice.name in moved]
            entry.reached |= self._reach.of(entry.node, slices)
        entry.seen = len(self._moves)

    def _fill(self, shared: SharedPools) -> bool:
        """Look at the slices again; whether there are other pools now, or another order of them."""
        reached = {slice.name for slice in self._reach.among(self._chosen(), shared.reached)}
        slices = [slice for slice in self._inventory.shared() if slice.for_all or slice.name in reached]
        found = visible_by_pool(slices, self._features)
        # A pool that is in order but has no devices here is none that anything could come from.
        states = [
            state
            for id, each in found.items()
            if (state := self._shared_state(id, tuple(each))) is not None
            and (state.pool.size or state.pool.incomplete or state.pool.invalid)
        ]
        states.sort(key=lambda state: rank(state.pool))
        return shared.fill(states, [state.pool.shape(shared.node) for state in states])

    def _shared_state(self, id: PoolId, slices: tuple[Slice, ...]) -> PoolState | None:
        """The state of the pool that these slices belong to; None if they are obsolete."""
        known = self._shared_states.get(id)
        if known is None:
            known = self._shared_states[id] = WeakValueDictionary()
        state = known.get(slices)
        if state is None:
            pool = pool_of(id, slices, self._inventory, self._features)
            if pool is not None:
                state = known[slices] = PoolState(pool, self._allocated)
        return state


def _concerns_one_node(old: Slice | None, new: Slice | None) -> bool:
    """Whether a slice has changed in nothing that other nodes could notice, which see other slices of its pool."""
    if old is None or new is None or old.is_counting or new.is_counting:
        return False
    before, after = [
        (slice.node_name, slice.pool, slice.generation, slice.count_in_pool, slice.has_groups)
        for slice in (old, new)
    ]
    return before == after and bool(new.node_name)


def _reaches_others(old: Slice | None, new: Slice | None) -> bool:
    """Whether a slice for some nodes, not by a node's name, reaches other nodes than before."""
    places = [
        None if slice is None or slice.node_name or slice.for_all else slice.place for slice in (old, new)
    ]
    return places[0] != places[1]
