"""What allocated devices leave of a pool's counters, and the compatibility groups in use."""

from __future__ import annotations

from allocator.allocated import AllocatedState
from allocator.compatibility_groups import NO_GROUPS, Common, Groups, joined, joined_unless_contrary
from allocator.pools import Pool
from resourceapi.quantity import Quantity

CounterKey = tuple[str, str]
"""The names of a counter set and of a counter in it."""


class Ledger:
    """The state of a pool's counter sets before an attempt.

    Allocated devices draw what their slices say now; devices in slices for other nodes count, devices that are gone
    from the slices do not. Compatibility groups are those that claims remember, if claims remember any (KEP-5963), even if
    the device has changed or gone. If a claim remembers no groups for a counter set, the device had none.
    """

    __slots__ = ("available", "groups", "remembered")

    def __init__(self, pool: Pool, allocated: AllocatedState) -> None:
        #: may be negative
        self.available: dict[CounterKey, Quantity] = {
            (name, counter): amount
            for name, counters in pool.counter_sets.items()
            for counter, amount in counters.items()
        }
        self.groups: dict[str, Common] = {}
        #: counter sets with groups that claims remember
        self.remembered: set[str] = set()
        for id in allocated.of_pool(pool.id) if allocated.has_snapshots else ():
            for snapshot in allocated.groups(id):
                self._join_remembered(snapshot)
        for device in (*pool.devices, *pool.elsewhere):
            if not device.consumes or not allocated.holds(device.id):
                continue
            for name, counters, groups in device.consumes:
                if not allocated.has_snapshots:
                    self.groups[name] = joined_unless_contrary(self.groups.get(name), groups)
                elif any(name not in snapshot for snapshot in allocated.groups(device.id)):
                    self.groups[name] = joined(self.groups.get(name), NO_GROUPS)
                for counter, amount in counters.items():
                    key = (name, counter)
                    if key in self.available:
                        self.available[key] = self.available[key].sub(amount)

    def _join_remembered(self, snapshot: Groups) -> None:
        for name, groups in snapshot.items():
            self.groups[name] = joined(self.groups.get(name), groups)
            if groups:
                self.remembered.add(name)
