"""Which nodes are alike for certain claims, though they are not in all respects.

Most drivers tell the serial numbers of their devices, so no two nodes are of one class. But claims see only what their
selectors make of attributes, and the values of attributes in their constraints. Nodes that do not differ in these, nor in
what is not an attribute, serve the claims alike. To find that out takes longer than an easy search, but not longer
than a hard one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.attempt import selects_shape
from allocator.constraint_state import published
from allocator.demand import MEMORY_BYTES, Alternative, ClaimDemand
from allocator.devices import Device, Slice
from allocator.errors import AllocationError
from allocator.features import Features
from allocator.ledgers import PoolState
from allocator.pools import namesakes
from allocator.selection import Selectors
from allocator.time_limit import TimeLimit
from resourceapi.caches import remember
from resourceapi.records.nodes import Node
from resourceapi.spelling import canonical, fingerprint

_MAX_SHAPES = 256


class NodeEquivalence:
    """Compares nodes as claims see them. It costs as much as evaluating the selectors on every shape of device."""

    def __init__(self, claims: Iterable[ClaimDemand], features: Features, selectors: Selectors) -> None:
        self._alternatives = [
            alternative
            for claim in claims
            for request in claim.requests
            for alternative in request.alternatives
        ]
        self._features = features
        self._selectors = selectors
        #: by the number of their shape
        self._devices: dict[int, object] = {}
        self._slices: dict[int, object] = {}
        #: about how much memory it takes
        self.weight = 8 * len(self._alternatives)

    def of(self, node: Node, declares: bool, states: Sequence[PoolState], time_limit: TimeLimit) -> object:
        """Equal for nodes that serve the claims alike. `declares`: see `declares_node_operations`."""
        alike = namesakes([state.pool for state in states], self._features)
        return declares, alike, *(self._pool(node, state, time_limit) for state in states)

    def _pool(self, node: Node, state: PoolState, time_limit: TimeLimit) -> object:
        pool = state.pool
        if not pool.usable:
            return pool.incomplete
        devices = tuple([self._slice(slice, time_limit) for slice in pool.slices])
        return pool.incomplete, devices, pool.slice_shapes[1:], pool.reached(node), state.signature

    def _slice(self, slice: Slice, time_limit: TimeLimit) -> object:
        known = self._slices.get(slice.shape.number)
        if known is None:
            devices = [self._device(device, time_limit) for device in slice.devices]
            known = (slice.shape.without_devices, *devices)
            remember(self._slices, slice.shape.number, known, _MAX_SHAPES)
            self.weight += MEMORY_BYTES + 8 * len(slice.devices)
        return known

    def _device(self, device: Device, time_limit: TimeLimit) -> object:
        known = self._devices.get(device.kind)
        if known is None:
            time_limit.check()
            known = (
                device.shape.without_attributes,
                *[self._seen_by(each, device, time_limit) for each in self._alternatives],
            )
            remember(self._devices, device.kind, known, _MAX_SHAPES)
            self.weight += 2 * MEMORY_BYTES + 8 * len(self._alternatives)
        return known

    def _seen_by(self, alternative: Alternative, device: Device, time_limit: TimeLimit) -> object:
        """What matters of a device's attributes to an alternative: None if it is not for it."""
        try:
            if not selects_shape(alternative, device, self._features, self._selectors, time_limit):
                return None
        except AllocationError as error:
            return _words(error)
        return tuple(
            [
                self._value(alternative, device, each.attribute, time_limit)
                for _, each in alternative.constraints
            ]
        )

    def _value(self, alternative: Alternative, device: Device, name: str, time_limit: TimeLimit) -> object:
        expression = alternative.derived.get(name)
        if expression is None:
            return fingerprint(canonical(published(device, name)))
        try:
            return fingerprint(canonical(self._selectors.derive(name, expression, device, time_limit)))
        except AllocationError as error:
            return _words(error)


def _words(error: AllocationError) -> object:
    """What an error says, whatever the device is called."""
    return "error", *[each for each in error.text if isinstance(each, str)]
