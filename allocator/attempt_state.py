"""What the rules look at: a node, what is allocated already, and what the attempt has taken so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from allocator.allocated import AllocatedState, Common
from allocator.capacity_requests import Amounts
from allocator.constraint_state import State
from allocator.demand import Alternative, ClaimHeader
from allocator.devices import Device, Slice
from allocator.features import Features
from allocator.ledgers import CounterKey, Ledger
from allocator.pools import Pool, closed_pool
from allocator.selection import Selectors
from allocator.time_limit import TimeLimit
from resourceapi.quantity import Quantity
from resourceapi.records.nodes import Node
from resourceapi.records.pools import DeviceId, PoolId

# A log of changes to mappings, so that a search can undo them when it backtracks.


class Trail:
    """Records the value that each change of a mapping replaced."""

    __slots__ = ("_changes",)

    def __init__(self) -> None:
        self._changes: list[tuple[dict[Any, Any], Any, Any]] = []

    def mark(self) -> int:
        """A point to which :meth:`undo` can return."""
        return len(self._changes)

    def set(self, mapping: dict[Any, Any], key: Any, value: Any) -> None:
        """Set an entry. Values must be immutable."""
        self._changes.append((mapping, key, mapping.get(key, _ABSENT)))
        mapping[key] = value

    def undo(self, mark: int) -> None:
        """Undo all changes since `mark`."""
        while len(self._changes) > mark:
            mapping, key, before = self._changes.pop()
            if before is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = before


_ABSENT = object()


Account = PoolId | str
"""What has counters of its own: a pool, or all pools of a name."""


class Taken(NamedTuple):
    """A device taken for an alternative; `capacity` is what a share consumes, None if the device is not shared."""

    device: Device
    alternative: Alternative
    capacity: Amounts | None


class AttemptState:
    """The state of one search on one node. Changes go through the trail, which takes them back."""

    def __init__(
        self,
        node: Node,
        pools: Sequence[Pool],
        allocated: AllocatedState,
        features: Features,
        selectors: Selectors,
        time_limit: TimeLimit,
        ledger: Callable[[Pool], Ledger] | None = None,
    ) -> None:
        """Begin with nothing taken.

        :param node: a Node as JSON.
        :param pools: those that the node sees.
        :param time_limit: of all that is done with it.
        :param ledger: what allocated claims leave of a pool's counters, if somebody keeps account; worked out otherwise.
        """
        self.node = node
        self.pools = pools
        self.allocated = allocated
        self.features = features
        self.selectors = selectors
        self.time_limit = time_limit
        self._make_ledger = ledger
        self._ledgers: dict[Account, Ledger] = {}
        self.trail = Trail()
        #: for which claims exclusive devices are taken
        self.exclusive: dict[DeviceId, frozenset[ClaimHeader]] = {}
        #: what the shares taken of a device consume together
        self.shares: dict[DeviceId, Amounts] = {}
        #: what the devices taken draw from counters
        self.drawn: dict[tuple[Account, CounterKey], Quantity] = {}
        #: the same of devices that are not, in former releases (see `FormerAttempt`)
        self.kept: dict[tuple[Account, CounterKey], Quantity] = {}
        #: what constraints remember at least, likewise
        self.stuck: dict[tuple[ClaimHeader, int], State] = {}
        #: pools at which a search ends
        self.closed = (
            {pool.id: closed_pool(pool) for pool in pools if pool.invalid} if features.minor < 35 else {}
        )
        #: what the devices on a counter set have in common, those taken included
        self.groups: dict[tuple[PoolId, str], Common] = {}
        #: what claims' constraints, by their place, remember of the devices taken
        self.constraints: dict[tuple[ClaimHeader, int], State] = {}
        self._taken: dict[ClaimHeader, tuple[Taken, ...]] = {}

    def taken(self, claim: ClaimHeader) -> tuple[Taken, ...]:
        """What is taken for a claim, in order."""
        return self._taken.get(claim, ())

    def is_shared(self, device: Device) -> bool:
        """Whether claims take shares of the device rather than all of it."""
        return device.multiple and self.features.consumable_capacity

    def slot(self, alternative: Alternative) -> str:
        """As what `distinctAttribute` remembers devices of an alternative: see `extended`."""
        return alternative.main if self.features.minor < 37 else ""

    def constraint_state(self, claim: ClaimHeader, index: int) -> State:
        """What a claim's constraint remembers of the devices taken so far; empty before the first."""
        return self.constraints.get((claim, index), ())

    def capacity_left(self, device: Device) -> Amounts:
        """What allocated claims leave of the device's capacities."""
        left = self.allocated.left(device)
        return device.shape.capacities.totals if left is None else left

    def account(self, device: Device) -> Account:
        """Under what the counters are kept from which a device draws.

        Before 1.37 that is the name of its pool: of pools that have it from several drivers, the counters of the first
        count that a device is looked at of, for all of them. Before 1.35 it is the name of its slice.
        """
        if self.features.minor >= 37:
            return device.slice.pool
        return device.slice.name if self.features.counters_by_slice else device.slice.pool.pool

    def ledger(self, device: Device) -> Ledger:
        """What allocated claims leave of the counters from which a device draws."""
        account = self.account(device)
        found = self._ledgers.get(account)
        if found is not None:
            return found
        slices = (self.slice_of(device),) if self.features.counters_by_slice else None
        return self._open(account, device.slice.pool, slices)

    def _open(self, account: Account, id: PoolId, slices: tuple[Slice, ...] | None = None) -> Ledger:
        pool = next(pool for pool in self.pools if pool.id == id)
        if slices is not None or self._make_ledger is None:
            ledger = Ledger(pool, self.allocated, slices)
        else:
            ledger = self._make_ledger(pool)
        self._ledgers[account] = ledger
        return ledger

    def counters_left(self, device: Device) -> dict[CounterKey, Quantity]:
        """What allocated claims and the devices taken leave of the counters from which a device draws."""
        left = dict(self.ledger(device).available)
        for key, amount in left.items():
            for taken in (self.drawn, self.kept):
                if (drawn := taken.get((self.account(device), key))) is not None:
                    amount = left[key] = amount.sub(drawn)
        return left

    def after(self, alternative: Alternative, device: Device, place: int) -> int:
        """From which candidate on the next device of a request is looked for, after this one at a place.

        Before 1.36 a request may get several shares of a device. All orders are tried, which makes no other difference but
        before 1.35, where it depends on the order whose capacity is looked at (`FormerAttempt`).
        """
        features = self.features
        if alternative.admin_access and features.repeats_admin_access:
            return place
        if features.minor >= 36 or not features.consumable_capacity:
            return place + 1
        if features.minor < 35:
            return 0
        return place if device.multiple else place + 1

    def slice_of(self, device: Device) -> Slice:
        """The slice of a device that the node sees."""
        slices = next(pool.slices for pool in self.pools if pool.id == device.slice.pool)
        return next(slice for slice in slices if slice.name == device.slice.name)

    def common_groups(self, pool: PoolId, counter_set: str) -> Common | None:
        """What the devices on a counter set have in common; None if there is none yet."""
        ledger = self._ledgers.get(pool) or self._open(pool, pool)
        return self.groups.get((pool, counter_set)) or ledger.groups.get(counter_set)
