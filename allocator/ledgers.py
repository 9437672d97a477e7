"""What allocated devices leave of a pool's counters, and the compatibility groups in use."""

from __future__ import annotations

from typing import Any

from allocator.allocated import (
    NO_GROUPS,
    AllocatedState,
    Common,
    Groups,
    joined,
    joined_unless_contrary,
)
from allocator.devices import Slice
from allocator.pools import Pool
from resourceapi.quantity import Quantity
from resourceapi.records.pools import DeviceId

CounterKey = tuple[str, str]
"""The names of a counter set and of a counter in it."""


class Ledger:
    """The state of a pool's counter sets before an attempt.

    Allocated devices draw what their slices say now; devices in slices for other nodes count, devices that are gone
    from the slices do not. Compatibility groups are those that claims remember, if claims remember any (KEP-5963), even if
    the device has changed or gone. If a claim remembers no groups for a counter set, the device had none.
    """

    __slots__ = ("_changed", "_inventory", "_slices", "groups", "overdrawn", "remembered")

    def __init__(
        self, pool: Pool, allocated: AllocatedState, slices: tuple[Slice, ...] | None = None
    ) -> None:
        """`slices`: those with the counters and the devices, if not all of the pool count."""
        self._inventory, self._slices = pool.inventory, slices or pool.counter_slices
        #: what is left of the counters from which allocated devices draw; thousands of nodes may see the same counters
        self._changed: dict[CounterKey, Quantity] = {}
        self.groups: dict[str, Common] = {}
        #: counter sets with groups that claims remember
        self.remembered: set[str] = set()
        for id in allocated.of_pool(pool.id) if allocated.has_snapshots else ():
            for snapshot in allocated.groups(id):
                self._join_remembered(snapshot)
        devices = [each for slice in slices for each in slice.devices] if slices else pool.devices
        for device in (*devices, *pool.elsewhere):
            if not device.consumes or not allocated.draws(device.id):
                continue
            for name, counters, groups in device.consumes:
                if not allocated.has_snapshots:
                    self.groups[name] = joined_unless_contrary(self.groups.get(name), groups)
                elif any(name not in snapshot for snapshot in allocated.groups(device.id)):
                    self.groups[name] = joined(self.groups.get(name), NO_GROUPS)
                for counter, amount in counters.items():
                    left = self.left(name, counter)
                    if left is not None:
                        self._changed[name, counter] = left.sub(amount)
        #: counters of which less than nothing is left
        self.overdrawn = [key for key, left in self._changed.items() if left.sign() < 0]
        negative = self._inventory.counters(self._slices).negative
        self.overdrawn += [key for key in negative if key not in self._changed]

    def left(self, counter_set: str, counter: str) -> Quantity | None:
        """What is left of a counter, maybe less than nothing; None if there is no such counter."""
        changed = self._changed.get((counter_set, counter))
        if changed is not None:
            return changed
        return self._inventory.counters(self._slices).sets.get(counter_set, {}).get(counter)

    @property
    def available(self) -> dict[CounterKey, Quantity]:
        """What is left of each counter, maybe less than nothing."""
        sets = self._inventory.counters(self._slices).sets
        return {(name, each): amount for name in sets for each, amount in sets[name].items()} | self._changed

    def _join_remembered(self, snapshot: Groups) -> None:
        for name, groups in snapshot.items():
            self.groups[name] = joined(self.groups.get(name), groups)
            if groups:
                self.remembered.add(name)


def ledger_of(pool: Pool, allocated: AllocatedState) -> Ledger:
    """The ledger of a pool, one for all nodes whose devices draw from the same counters.

    Except where it matters which devices come first, as it does for groups (`joined_unless_contrary`).
    """
    counting = pool.counting
    if counting is None or (counting.has_groups and not allocated.has_snapshots):
        return Ledger(pool, allocated)
    held = allocated.held_in(pool.id)  # another set after each change
    known: tuple[object, Ledger] | None = counting.found_out
    if known is None or known[0] is not held:
        known = counting.found_out = held, Ledger(pool, allocated)
    return known[1]


# Which devices of a pool are allocated, updated device by device.

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
