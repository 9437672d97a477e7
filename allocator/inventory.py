"""All ResourceSlices of a cluster, found by node and by pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from allocator.devices import Object, PoolId, Slice


class Inventory:
    """Slices by name; a change costs as much as the slice that changes."""

    def __init__(self, slices: Iterable[Object] = ()) -> None:
        """`slices`: ResourceSlices of v1 in normal form, with the taints of DeviceTaintRules in their devices."""
        self._slices: dict[str, Slice] = {}
        self._by_pool: dict[PoolId, dict[str, Slice]] = {}
        self._of_node: dict[str, dict[str, Slice]] = {}
        self._shared: dict[str, Slice] = {}
        for slice in slices:
            self.put(slice)

    def put(self, slice: Object) -> None:
        """Add a slice, or replace that of the same name."""
        new = Slice(slice)
        old = self._slices.get(new.name)
        if old is not None and (old.pool, old.node_name) != (new.pool, new.node_name):
            self.remove(new.name)
        self._slices[new.name] = new
        self._by_pool.setdefault(new.pool, {})[new.name] = new
        self._place(new)[new.name] = new

    def remove(self, name: str) -> None:
        """Take out the slice of this name, if there is one."""
        old = self._slices.pop(name, None)
        if old is None:
            return
        del self._place(old)[name], self._by_pool[old.pool][name]
        if not self._by_pool[old.pool]:
            del self._by_pool[old.pool]
        if old.node_name and not self._of_node[old.node_name]:
            del self._of_node[old.node_name]

    def _place(self, slice: Slice) -> dict[str, Slice]:
        if not slice.node_name:
            return self._shared
        return self._of_node.setdefault(slice.node_name, {})

    def __iter__(self) -> Iterator[Slice]:
        """All slices, in the order in which they came."""
        return iter(self._slices.values())

    def candidates(self, node: str) -> Iterator[Slice]:
        """Slices that may be for the node: first those with its name, then those without any."""
        yield from self._of_node.get(node, {}).values()
        yield from self._shared.values()

    def of_pool(self, pool: PoolId) -> Iterable[Slice]:
        """All slices of a pool, of any generation and for any node."""
        return self._by_pool.get(pool, {}).values()
