"""Counters and compatibility groups: what allocated devices leave of them for one device more."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.compatibility_groups import Common, admits
from allocator.devices import Device, PoolId
from allocator.explaining.snapshot import Snapshot
from allocator.explaining.verdicts import Verdict, named
from allocator.ledgers import CounterKey, Ledger
from allocator.pools import Pool
from resourceapi.quantity import Quantity

#: Counters that are named for one device.
_MAX_COUNTERS = 3


class Accounts:
    """The counter sets of the pools that a node sees."""

    def __init__(self, snapshot: Snapshot, pools: Iterable[Pool]) -> None:
        self._snapshot = snapshot
        self._pools = {pool.id: pool for pool in pools}
        self._ledgers: dict[PoolId, Ledger] = {}

    def counters(self, device: Device) -> Verdict | None:
        """Why counters do not suffice for the device, if so: no counter of the pool may be overdrawn then."""
        ledger = self._ledger(device)
        if ledger is None or self._has_paid(device):
            return None
        wanted: dict[CounterKey, Quantity] = {}
        left = dict(ledger.available)
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                wanted[name, counter] = amount
                left[name, counter] = left[name, counter].sub(amount)
        short = [key for key, amount in left.items() if amount.sign() < 0]
        if not short:
            return None
        name = short[0][0]
        texts = [_shortage(key, wanted.get(key), ledger.available[key]) for key in short if key[0] == name]
        more = f" and {len(texts) - _MAX_COUNTERS} more" if len(texts) > _MAX_COUNTERS else ""
        holders = self._drawing(device.slice.pool, {key[0] for key in short})
        beside = f", beside {named(holders)}" if holders else ""
        return Verdict(f"counter set {name}: {', '.join(texts[:_MAX_COUNTERS])}{more}{beside}", holders)

    def groups(self, device: Device) -> Verdict | None:
        """Why the device may not join those that are on its counter sets, if so."""
        ledger = self._ledger(device)
        if ledger is None or (self._has_paid(device) and not self._snapshot.features.group_snapshots):
            return None
        for name, _, groups in device.consumes:
            common = ledger.groups.get(name)
            if self._snapshot.features.compatibility_groups and admits(common, groups):
                continue
            holders, gone = self._drawing(device.slice.pool, {name}), self._gone(device.slice.pool, name)
            holders = (*holders, *(claim for claim in gone if claim not in holders))
            if self._snapshot.features.compatibility_groups:
                used = f"in use with {_used(common)} by {named(holders)}{_whose(gone)}"
                return Verdict(f"counter set {name}: {used}, the device has {_listed(groups)}", holders)
            if name in ledger.remembered:
                return Verdict(
                    f"counter set {name}: {named(holders)} with groups{_whose(gone)}, but their gate is off",
                    holders,
                )
        return None

    def _has_paid(self, device: Device) -> bool:
        """Whether shares of the device are in use: further ones are not charged."""
        shared = device.multiple and self._snapshot.features.consumable_capacity
        return shared and self._snapshot.allocated.is_shared(device.id)

    def _ledger(self, device: Device) -> Ledger | None:
        """What is left in the device's pool; None if the device draws from no counters."""
        if not device.consumes:
            return None
        pool = device.slice.pool
        ledger = self._ledgers.get(pool)
        if ledger is None:
            ledger = self._ledgers[pool] = Ledger(self._pools[pool], self._snapshot.allocated)
        return ledger

    def _drawing(self, pool: PoolId, names: set[str]) -> tuple[str, ...]:
        """The claims that hold devices on counter sets of a pool."""
        found: dict[str, None] = {}
        for device in (*self._pools[pool].devices, *self._pools[pool].elsewhere):
            holders = self._snapshot.holders.get(device.id)
            if holders and any(entry.counter_set in names for entry in device.consumes):
                found.update(dict.fromkeys(holders))
        return tuple(found)

    def _gone(self, pool: PoolId, counter_set: str) -> dict[str, str]:
        """The claims that remember groups on a counter set of devices that no slice has any more, and those devices."""
        known = {device.id for device in (*self._pools[pool].devices, *self._pools[pool].elsewhere)}
        return {
            claim: id.device
            for id in self._snapshot.allocated.of_pool(pool)
            if id not in known and any(counter_set in each for each in self._snapshot.allocated.groups(id))
            for claim in self._snapshot.holders.get(id, ())
        }


def _whose(gone: dict[str, str]) -> str:
    devices = sorted(set(gone.values()))
    if not devices:
        return ""
    more = f" and {len(devices) - _MAX_COUNTERS} more" if len(devices) > _MAX_COUNTERS else ""
    verb = "is" if len(devices) == 1 else "are"
    return f" ({', '.join(devices[:_MAX_COUNTERS])}{more} {verb} gone from the slices)"


def _shortage(key: CounterKey, wanted: Quantity | None, available: Quantity) -> str:
    if wanted is None:
        return f"{key[1]} is overdrawn: {available}"
    return f"{key[1]} needs {wanted}, has {available}"


def _used(common: Common | None) -> str:
    if common is None or common.groups is None:
        return "no groups"
    if common.without_groups:
        return f"{_listed(common.groups)} and without groups"
    return _listed(common.groups) if common.groups else "groups that have none in common"


def _listed(groups: frozenset[str]) -> str:
    return "groups {" + ", ".join(sorted(groups)) + "}" if groups else "no groups"
