"""Slices without a node's name, and the pools that nodes share which see the same of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.devices import Slice
from allocator.ledgers import PoolState, Signature
from allocator.pools import rank
from resourceapi.records.nodes import Node
from resourceapi.records.pools import PoolId


class Reach:
    """Which slices for some nodes, not by a node's name, reach a node, as a number: a bit for each slice.

    If the devices of a slice are for nodes of their own, it has a bit for each device as well. There may be thousands of nodes
    which all see other slices, so what is kept for each of them has to be small. Bits are never given to another slice.
    """

    def __init__(self, slices: Iterable[Slice] = ()) -> None:
        #: by name of the slice, the place of its first bit and how many it has
        self._ranges: dict[str, tuple[int, int]] = {}
        self._end = 0
        for slice in slices:
            self.put(slice)

    def put(self, slice: Slice) -> None:
        """Give a slice bits of its own, other ones than before."""
        length = 1 + (len(slice.devices) if slice.per_device else 0)
        self._ranges[slice.name] = (self._end, length)
        self._end += length

    def remove(self, name: str) -> None:
        """Take its bits from a slice."""
        self._ranges.pop(name, None)

    def bits(self, name: str) -> int:
        """All bits of a slice; 0 if it has none."""
        start, length = self._ranges.get(name, (0, 0))
        return ((1 << length) - 1) << start

    def of(self, node: Node, slices: Iterable[Slice]) -> int:
        """The bits of those of the slices that reach a node."""
        found = bytearray((self._end + 7) // 8)
        for slice in slices:
            if slice.reaches(node):
                start, length = self._ranges[slice.name]
                bits = 1 | (slice.reached(node) << 1 if slice.per_device else 0)
                first, last = start >> 3, (start + length + 7) >> 3
                piece = int.from_bytes(found[first:last], "little") | bits << (start & 7)
                found[first:last] = piece.to_bytes(len(found[first:last]), "little")
        return int.from_bytes(found, "little")

    def among(self, slices: Iterable[Slice], reached: int) -> list[Slice]:
        """Those of the slices that reach a node which has these bits."""
        known = reached.to_bytes((self._end + 8) // 8, "little")
        found = []
        for slice in slices:
            start, length = self._ranges.get(slice.name, (0, 0))
            if length and known[start >> 3] >> (start & 7) & 1:
                found.append(slice)
        return found


class SharedPools:
    """Pools that are shared by the nodes which see the same slices without a node's name."""

    __slots__ = (
        "__weakref__",
        "_shapes",
        "_signature",
        "_version",
        "node",
        "reached",
        "signature_bytes",
        "stale",
        "states",
    )

    def __init__(self, reached: int, node: Node) -> None:
        """`reached`: which slices are seen beside those for all nodes (`Reach`); `node`: one of the nodes."""
        self.reached = reached
        self.node = node
        #: those that are tried, in order; replaced, never changed
        self.states: dict[PoolId, PoolState] = {}
        #: whether slices have changed
        self.stale = False
        self._shapes: tuple[object, ...] = ()
        #: another one whenever the shapes are others
        self._version = 0
        self._signature: Signature = None
        #: about how much memory a signature takes
        self.signature_bytes = 0

    def fill(self, states: Sequence[PoolState], shapes: Sequence[object]) -> bool:
        """Take these pools; whether they are others than before, or in another order."""
        before = [rank(state.pool) for state in self.states.values()]
        self.states = {state.pool.id: state for state in states}
        if self._shapes != tuple(shapes):
            self._shapes = tuple(shapes)
            self._version += 1
        self.signature_bytes = sum(150 + state.pool.size // 8 for state in states)
        self.stale, self._signature = False, None
        return before != [rank(state.pool) for state in states]

    def update(self, pool: PoolId) -> None:
        """Devices of a pool are held by more or less than before."""
        if pool in self.states:
            self._signature = None

    @property
    def signature(self) -> Signature:
        """Equal if the pools serve claims alike; None if there are none."""
        if self._signature is None and self.states:
            self._signature = self._version, tuple(state.signature for state in self.states.values())
        return self._signature
