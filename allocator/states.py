"""Which devices of a pool are allocated, updated device by device."""

from __future__ import annotations

from typing import Any

from allocator.allocated import AllocatedState
from allocator.ledgers import Ledger, ledger_of
from allocator.pools import Pool
from resourceapi.records.pools import DeviceId

Signature = Any
"""A hashable value for comparison."""


class PoolState:
    """The state of a pool as some nodes see it. An update takes constant time."""

    __slots__ = ("__weakref__", "_allocated", "_groups", "_ledger", "_shares", "_signature", "_whole", "pool")

    def __init__(self, pool: Pool, allocated: AllocatedState) -> None:
        self.pool = pool
        self._allocated = allocated
        self._whole = 0
        self._shares: dict[int, frozenset[Any]] = {}
        self._groups: dict[str, object] = {}
        self._signature: Signature = None
        self._ledger: Ledger | None = None
        for held in allocated.of_pool(pool.id):
            self._update(held)

    def update(self, device: DeviceId) -> bool:
        """Update the state after the allocation of a device has changed.

        :returns: whether the nodes that see the pool so are affected.
        """
        if not self._update(device):
            return False
        self._signature = self._ledger = None
        return True

    def _update(self, device: DeviceId) -> bool:
        name, allocated = device.device, self._allocated
        place = self.pool.place(name)
        bits = 0 if place is None else 1 << place
        groups = allocated.groups(device)
        remembered = frozenset([frozenset(each.items()) for each in groups] if any(groups) else ())
        if not bits and not remembered and name not in self._groups:
            return self.pool.is_spread
        if device in allocated.whole:
            self._whole |= bits
        else:
            self._whole &= ~bits
        if bits and allocated.is_shared(device):
            self._shares[bits] = frozenset(allocated.capacity.get(device, {}).items())
        else:
            self._shares.pop(bits, None)
        if remembered:
            # A device that is gone from the slices counts with the groups that its claim remembers.
            self._groups[name] = (bits, remembered)
        else:
            self._groups.pop(name, None)
        return True

    @property
    def signature(self) -> Signature:
        """Equal for pools of equal shape in which the same devices and amounts are left."""
        if self._signature is None:
            self._signature = self._whole
            if self._shares or self._groups:
                self._signature = (self._whole, frozenset(self._shares.items()), tuple(self._groups.values()))
            if self.pool.is_spread:
                self._signature = (self._signature, self._allocated.held_in(self.pool.id))
        return self._signature

    @property
    def ledger(self) -> Ledger:
        """What is left of the pool's counters."""
        if self._ledger is None:
            self._ledger = ledger_of(self.pool, self._allocated)
        return self._ledger
