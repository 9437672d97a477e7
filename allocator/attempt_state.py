"""What the rules look at: a node, what is allocated already, and what the attempt has taken so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.capacity_requests import Amounts
from allocator.compatibility_groups import Common
from allocator.constraint_state import State
from allocator.demand import Alternative, ClaimHeader
from allocator.devices import Device
from allocator.features import Features
from allocator.ledgers import CounterKey, Ledger
from allocator.pools import Pool
from allocator.selection import Selectors
from allocator.time_limit import TimeLimit
from allocator.trail import Trail
from resourceapi.objects import Object
from resourceapi.quantity import Quantity
from resourceapi.records.pools import DeviceId, PoolId


class Taken(NamedTuple):
    """A device taken for an alternative; `capacity` is what a share consumes, None if the device is not shared."""

    device: Device
    alternative: Alternative
    capacity: Amounts | None


class AttemptState:
    """The state of one search on one node. Changes go through the trail, which takes them back."""

    def __init__(
        self,
        node: Object,
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
        self._ledgers: dict[PoolId, Ledger] = {}
        self.trail = Trail()
        #: for which claims exclusive devices are taken
        self.exclusive: dict[DeviceId, frozenset[ClaimHeader]] = {}
        #: what the shares taken of a device consume together
        self.shares: dict[DeviceId, Amounts] = {}
        #: what the devices taken draw from counters
        self.drawn: dict[tuple[PoolId, CounterKey], Quantity] = {}
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

    def constraint_state(self, claim: ClaimHeader, index: int) -> State:
        """What a claim's constraint remembers of the devices taken so far; empty before the first."""
        return self.constraints.get((claim, index), ())

    def capacity_left(self, device: Device) -> Amounts:
        """What allocated claims leave of the device's capacities."""
        left = self.allocated.left(device)
        return device.shape.capacities.totals if left is None else left

    def ledger(self, id: PoolId) -> Ledger:
        """What allocated claims leave of the counters of a pool."""
        ledger = self._ledgers.get(id)
        if ledger is None:
            pool = next(pool for pool in self.pools if pool.id == id)
            ledger = Ledger(pool, self.allocated) if self._make_ledger is None else self._make_ledger(pool)
            self._ledgers[id] = ledger
        return ledger

    def counters_left(self, pool: PoolId) -> dict[CounterKey, Quantity]:
        """What allocated claims and the devices taken leave of a pool's counters."""
        left = dict(self.ledger(pool).available)
        for key, amount in left.items():
            if (drawn := self.drawn.get((pool, key))) is not None:
                left[key] = amount.sub(drawn)
        return left

    def common_groups(self, pool: PoolId, counter_set: str) -> Common | None:
        """What the devices on a counter set have in common; None if there is none yet."""
        return self.groups.get((pool, counter_set)) or self.ledger(pool).groups.get(counter_set)
