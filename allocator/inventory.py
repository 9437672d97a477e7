"""All ResourceSlices of a cluster, found by node and by pool, with the taints of DeviceTaintRules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from allocator.device_shapes import ShapeRegistry
from allocator.devices import PoolId, Slice
from allocator.taint_rules import selected_pools, with_rules
from resourceapi.objects import Object

Listener = Callable[[Slice | None, Slice | None], None]
"""Is told of a change: what was there before, and what is there now."""


class Generation(NamedTuple):
    """The slices of one generation of a pool: how many, and those that matter even on nodes that they are not for."""

    size: int
    #: with counter sets, or with devices that take from them
    counting: tuple[Slice, ...]


class PoolSlices:
    """All slices of a pool, of any generation and for any node, by name."""

    __slots__ = ("_generations", "_shared", "by_name", "found_out")

    def __init__(self) -> None:
        self.by_name: dict[str, Slice] = {}
        #: what others have found out about these slices; gone when they change
        self.found_out: dict[object, Any] = {}
        self._generations: dict[tuple[int, bool], Generation] | None = None
        self._shared: tuple[Slice, ...] | None = None

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.by_name.values())

    def changed(self) -> None:
        """What has been found out does not hold any more."""
        self._generations = self._shared = None
        self.found_out = {}

    @property
    def shared(self) -> tuple[Slice, ...]:
        """Slices without a node's name."""
        if self._shared is None:
            self._shared = tuple(slice for slice in self.by_name.values() if not slice.node_name)
        return self._shared

    def has_newer(self, generation: int) -> bool:
        """Whether the pool has slices of a newer generation."""
        return any(known > generation for known, _ in self._by_generation())

    def generation(self, generation: int, *, with_groups: bool) -> Generation:
        """Slices of a generation, those with compatibility groups included or not."""
        return self._by_generation().get((generation, with_groups), Generation(0, ()))

    def _by_generation(self) -> dict[tuple[int, bool], Generation]:
        if self._generations is None:
            found: dict[tuple[int, bool], list[Slice]] = {}
            for slice in self.by_name.values():
                found.setdefault((slice.generation, True), []).append(slice)
                others = found.setdefault((slice.generation, False), [])
                if not slice.has_groups:
                    others.append(slice)
            self._generations = {
                key: Generation(len(slices), tuple(each for each in slices if each.is_counting))
                for key, slices in found.items()
            }
        return self._generations


_NO_SLICES = PoolSlices()


class Inventory:
    """Slices by name; a change costs as much as the slice that changes. Not for several threads."""

    def __init__(self, slices: Iterable[Object | Slice] = (), *, stable: bool = False) -> None:
        """`slices`: ResourceSlices of v1 in normal form; `stable`: as kube-scheduler's stable allocator reads them."""
        #: told of every change
        self.listeners: list[Listener] = []
        self._shapes = ShapeRegistry(stable=stable)
        self._slices: dict[str, Slice] = {}
        self._by_pool: dict[PoolId, PoolSlices] = {}
        self._of_node: dict[str, dict[str, Slice]] = {}
        self._shared: dict[str, Slice] = {}
        self._rules: dict[str, Object] = {}
        #: slices that are concerned by rules, as they are without them
        self._without_rules: dict[str, Object] = {}
        for slice in slices:
            self.put(slice)

    def put(self, slice: Object | Slice) -> None:
        """Add a slice, or replace that of the same name; it gets the taints of the rules that are known.

        A Slice that others share (with shapes of their own) is kept as it is where there are no rules.
        """
        if isinstance(slice, Slice) and self._rules:
            slice = slice.as_object()
        if isinstance(slice, Slice):
            self._put(slice)
            self._without_rules.pop(slice.name, None)
            return
        merged = with_rules(slice, self._rules.values()) if self._rules else slice
        new = Slice(merged, self._shapes)
        self._put(new)
        if merged is not slice:
            self._without_rules[new.name] = slice
        else:
            self._without_rules.pop(new.name, None)

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
        old = self._slices.get(name)
        if old is not None:
            self._take_out(old)
            self._without_rules.pop(name, None)
            self._tell(old, None)

    def put_rule(self, rule: Object) -> None:
        """Add a DeviceTaintRule (v1 in normal form), or replace that of the same name."""
        name = _name(rule)
        before = self._rules.get(name)
        self._rules[name] = rule
        self._apply([rule] if before is None else [before, rule])

    def remove_rule(self, name: str) -> None:
        """Take out the rule of this name, if there is one."""
        before = self._rules.pop(name, None)
        if before is not None:
            self._apply([before])

    def _apply(self, rules: Iterable[Object]) -> None:
        """Put in again what these rules concern."""
        pools = {pool for rule in rules for pool in selected_pools(rule, self._by_pool)}
        for slice in [slice for pool in pools for slice in self._by_pool[pool].by_name.values()]:
            self.put(self._without_rules.get(slice.name) or slice.as_object())

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

    def _tell(self, old: Slice | None, new: Slice | None) -> None:
        for slice in (old, new):
            if slice is not None:
                self.of_pool(slice.pool).changed()
        for listener in self.listeners:
            listener(old, new)

    def __iter__(self) -> Iterator[Slice]:
        """All slices, in the order in which they came."""
        return iter(self._slices.values())

    def candidates(self, node: str) -> Iterator[Slice]:
        """Slices that may be for the node: first those with its name, then those without any."""
        yield from self.of_node(node)
        yield from self._shared.values()

    def of_node(self, node: str) -> Iterable[Slice]:
        """Slices with a node's name."""
        return self._of_node.get(node, {}).values()

    def shared(self) -> Iterable[Slice]:
        """Slices without a node's name."""
        return self._shared.values()

    @property
    def has_shared(self) -> bool:
        """Whether there are slices without a node's name."""
        return bool(self._shared)

    def of_pool(self, pool: PoolId, *, create: bool = False) -> PoolSlices:
        """All slices of a pool."""
        found = self._by_pool.get(pool)
        if found is None:
            if not create:
                return _NO_SLICES
            found = self._by_pool[pool] = PoolSlices()
        return found


def _name(obj: Object) -> str:
    return str((obj.get("metadata") or {}).get("name", ""))
