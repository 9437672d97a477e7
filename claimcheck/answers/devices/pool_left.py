"""What the devices in use leave of a pool: of its counters, and which compatibility groups go with theirs."""

from __future__ import annotations

from typing import NamedTuple

from allocator.allocated import AllocatedState, Common, admits, in_words, listed
from allocator.devices import Device
from allocator.ledgers import Ledger
from allocator.pools import Pool
from allocator.rules.counters import MAX_NAMED, shortage
from resourceapi.phrases import and_others
from resourceapi.quantity import Quantity


class CounterLeft(NamedTuple):
    """A counter from which a device takes: what the device takes, what is left now, and the total."""

    counter_set: str
    counter: str
    takes: Quantity
    left: Quantity | None
    total: Quantity | None

    @property
    def is_short(self) -> bool:
        """Whether too little is left for the device."""
        return self.left is not None and self.takes.cmp(self.left) > 0


class GroupsOn(NamedTuple):
    """The compatibility groups of a device on a counter set, and what is in use there, None if nothing is."""

    counter_set: str
    groups: frozenset[str]
    in_use: Common | None

    @property
    def go_together(self) -> bool:
        """Whether the device goes with what is in use."""
        return admits(self.in_use, self.groups)


class PoolLeft:
    """A pool, of which some devices are in use."""

    def __init__(self, pool: Pool, allocated: AllocatedState) -> None:
        self.pool = pool
        self._ledger = Ledger(pool, allocated)

    @property
    def overdrawn(self) -> list[tuple[str, str]]:
        """The counters of which more is in use than there is."""
        return self._ledger.overdrawn

    def counters(self, device: Device) -> list[CounterLeft]:
        """The counters from which a device takes."""
        return [
            CounterLeft(
                name,
                counter,
                amount,
                self._ledger.left(name, counter),
                self.pool.counters.sets.get(name, {}).get(counter),
            )
            for name, takes, _ in device.consumes
            for counter, amount in sorted(takes.items())
        ]

    def groups(self, device: Device) -> list[GroupsOn]:
        """The counter sets on which a device declares compatibility groups, or others are in use with some."""
        found = [GroupsOn(name, groups, self._ledger.groups.get(name)) for name, _, groups in device.consumes]
        return [
            each
            for each in found
            if each.groups or (each.in_use is not None and each.in_use.groups is not None)
        ]

    def refusal(self, device: Device) -> str:
        """Why a device cannot be used as well; empty if it can."""
        short = [
            f"{each.counter_set}: {shortage(each.counter, each.takes, each.left)}"
            for each in self.counters(device)
            if each.left is not None and each.is_short
        ]
        if short:
            return ", ".join(short[:MAX_NAMED]) + and_others(len(short), MAX_NAMED)
        for each in self.groups(device):
            if not each.go_together:
                return f"{each.counter_set} is in use with {in_words(each.in_use)}, the device has {listed(each.groups)}"
        return ""
