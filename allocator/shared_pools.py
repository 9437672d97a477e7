"""Slices without a node's name, and the pools that nodes share which see the same of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.devices import DeviceId, PoolId, Slice
from allocator.pools import rank
from allocator.states import PoolState, Signature
from resourceapi.objects import Object

ReachingSlices = dict[str, tuple[bool, ...]]
"""The slices, by name, that reach a node; if their devices are for nodes of their own, which of them do."""


def reaching_slices(node: Object, slices: Iterable[Slice]) -> ReachingSlices:
    """Those of the slices that reach a node."""
    return {
        slice.name: tuple(device.reaches(node) for device in slice.devices) if slice.per_device else ()
        for slice in slices
        if slice.reaches(node)
    }


class SharedPools:
    """Pools that are shared by the nodes which see the same slices without a node's name."""

    __slots__ = (
        "__weakref__",
        "_shapes",
        "_signature",
        "_version",
        "names",
        "node",
        "pools",
        "signature_bytes",
        "stale",
        "states",
    )

    def __init__(self, names: Iterable[str], node: Object) -> None:
        """`names`: of the slices; `node`: one of the nodes."""
        self.names = frozenset(names)
        self.node = node
        #: all whose slices are seen, also such as are out of date
        self.pools: frozenset[PoolId] = frozenset()
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

    def fill(
        self, pools: frozenset[PoolId], states: dict[PoolId, PoolState], shapes: Sequence[object]
    ) -> bool:
        """Take these pools; whether they are others than before, or in another order."""
        before = [rank(state.pool) for state in self.states.values()]
        self.pools, self.states = pools, states
        if self._shapes != tuple(shapes):
            self._shapes = tuple(shapes)
            self._version += 1
        self.signature_bytes = sum(150 + len(state.pool.devices) // 8 for state in states.values())
        self.stale, self._signature = False, None
        return before != [rank(state.pool) for state in states.values()]

    def update(self, device: DeviceId) -> None:
        """A device is held by more or less than before."""
        state = self.states.get(PoolId(*device[:2]))
        if state is not None and state.update(device):
            self._signature = None

    @property
    def signature(self) -> Signature:
        """Equal if the pools serve claims alike; None if there are none."""
        if self._signature is None and self.states:
            self._signature = self._version, tuple(state.signature for state in self.states.values())
        return self._signature
