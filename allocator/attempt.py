"""May this device be taken now? All rules about that are here, none about which device is tried when.

An attempt is one search on one node: what is allocated already, what the attempt has taken so far, and for each
further device whether it can be taken as well. Rules and their order: KEP-4381, KEP-4815, KEP-4816, KEP-5018,
KEP-5055, KEP-5075, KEP-5963, as kube-scheduler 1.37.1 applies them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.bounded_cache import remember
from allocator.capacity_requests import Amounts, CapacityError, Share, added, share_of
from allocator.compatibility_groups import Common, admits, joined
from allocator.constraint_state import State, extended, published
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device, DeviceId, PoolId
from allocator.errors import AllocationError, RefusedDeviceError
from allocator.features import Features
from allocator.ledgers import CounterKey, Ledger
from allocator.pools import Pool
from allocator.selection import Selectors
from allocator.taints import prevents
from allocator.trail import Trail
from resourceapi.objects import Object
from resourceapi.quantity import Quantity

OPTIONAL_NODE_OPERATIONS = "DRAOptionalNodeOperations"


def declares_node_operations(node: Object) -> bool:
    """Whether a node says that it can leave out operations."""
    return OPTIONAL_NODE_OPERATIONS in ((node.get("status") or {}).get("declaredFeatures") or ())


def selects_kind(alternative: Alternative, device: Device, features: Features, selectors: Selectors) -> bool:
    """Whether devices of a device's kind are what is asked for, wherever they are. Raises AllocationError."""
    outcome = alternative.selected.get(device.shape)
    if outcome is None:
        outcome = (
            (features.binding_conditions or not device.shape.has_conditions)
            and (features.compatibility_groups or not device.groups)
            and all(selectors.match(selector, device) for selector in alternative.selectors)
        )
        remember(alternative.selected, device.shape, outcome)
    return outcome


class Taken(NamedTuple):
    """A device taken for an alternative; `capacity` is what a share consumes, None if the device is not shared."""

    device: Device
    alternative: Alternative
    capacity: Amounts | None


class Attempt:
    """The state of one search on one node. `mark` and `undo` go back to an earlier state."""

    def __init__(
        self,
        node: Object,
        pools: Sequence[Pool],
        allocated: AllocatedState,
        features: Features,
        selectors: Selectors,
        ledger: Callable[[Pool], Ledger] | None = None,
    ) -> None:
        """`ledger`: what is left of a pool's counters, if somebody keeps account."""
        self._node = node
        self._pools = pools
        self._allocated = allocated
        self._features = features
        self._selectors = selectors
        self._make_ledger = ledger
        self._ledgers: dict[PoolId, Ledger] = {}
        self._trail = Trail()
        #: for which claims exclusive devices are taken
        self._holders: dict[DeviceId, frozenset[ClaimDemand]] = {}
        #: what the shares taken of a device consume together
        self._shares: dict[DeviceId, Amounts] = {}
        self._counters: dict[tuple[PoolId, CounterKey], Quantity] = {}
        self._groups: dict[tuple[PoolId, str], Common] = {}
        self._constraints: dict[tuple[ClaimDemand, int], State] = {}
        self._taken: dict[ClaimDemand, tuple[Taken, ...]] = {}

    def mark(self) -> int:
        """The state now, for `undo`."""
        return self._trail.mark()

    def undo(self, mark: int) -> None:
        """Give back what was taken since then."""
        self._trail.undo(mark)

    def taken(self, claim: ClaimDemand) -> tuple[Taken, ...]:
        """What is taken for a claim, in order."""
        return self._taken.get(claim, ())

    # --- for searches that look ahead: what the attempt has come to

    def constraint_state(self, claim: ClaimDemand, index: int) -> State:
        """What a claim's constraint remembers of the devices taken so far; empty before the first."""
        return self._constraints.get((claim, index), ())

    def shares(self, device: Device) -> Amounts:
        """What the shares that were taken of a device consume together."""
        return self._shares.get(device.id, {})

    def capacity_left(self, device: Device) -> Amounts:
        """What allocated claims leave of the device's capacities."""
        left = self._allocated.left(device)
        return device.shape.capacities.totals if left is None else left

    def consumption(self, alternative: Alternative, device: Device) -> Amounts:
        """What a request takes of a shared device that could serve it."""
        return self._share(alternative, device, "").amounts or {}

    def pays_counters(self, device: Device) -> bool:
        """Whether taking the device draws from counters: a shared one that is in use already does not."""
        shared = device.multiple and self._features.consumable_capacity
        return not (shared and (self._allocated.is_shared(device.id) or device.id in self._shares))

    def counters_left(self, pool: PoolId) -> dict[CounterKey, Quantity]:
        """What is left of a pool's counters."""
        left = dict(self._ledger(pool).available)
        for key, amount in left.items():
            if (drawn := self._counters.get((pool, key))) is not None:
                left[key] = amount.sub(drawn)
        return left

    def common_groups(self, pool: PoolId, counter_set: str) -> Common | None:
        """What the devices on a counter set have in common; None if there is none yet."""
        return self._groups.get((pool, counter_set)) or self._ledger(pool).groups.get(counter_set)

    def attribute(self, alternative: Alternative, device: Device, name: str) -> Object | None:
        """An attribute for a constraint: what the request derives comes before what the device has."""
        expression = alternative.derived.get(name)
        if expression is not None:
            return self._selectors.derive(name, expression, device)
        return published(device, name)

    # --- before anything is taken

    def selects(self, alternative: Alternative, device: Device) -> bool:
        """Whether the device is one that is asked for, on this node. Raises AllocationError for bad expressions."""
        outcome = alternative.selected.get(device.shape)
        if outcome is None:
            outcome = selects_kind(alternative, device, self._features, self._selectors)
        # Selectors come first, so their errors count even on a device for another node.
        return outcome and (not device.slice.per_device or device.reaches(self._node))

    def could_serve(self, alternative: Alternative, device: Device) -> bool:
        """Whether the capacity of the device would do if nobody else used it."""
        if not self._features.consumable_capacity:
            return True
        return self._share(alternative, device, f"checking capacity for device {device.id.device}").fits

    # --- one device after the other

    def is_free(self, alternative: Alternative, device: Device) -> bool:
        """Whether nobody has the device: with admin access only requests of the same claim count."""
        holders = self._holders.get(device.id) if self._holders else None
        if alternative.admin_access:
            return not holders or alternative.claim not in holders
        return not holders and device.id not in self._allocated.whole

    def is_candidate(self, alternative: Alternative, device: Device) -> bool:
        """`is_free`, `selects` and `has_capacity` in one, in this order."""
        if self._holders or alternative.admin_access:
            if not self.is_free(alternative, device):
                return False
        elif device.id in self._allocated.whole:
            return False
        selected = alternative.selected.get(device.shape)
        if selected is None or device.slice.per_device:
            selected = self.selects(alternative, device)
        return selected and self.has_capacity(alternative, device)

    def has_capacity(self, alternative: Alternative, device: Device) -> bool:
        """Whether what others use of the device's capacity leaves enough."""
        if not self._features.consumable_capacity:
            return True
        share = alternative.shares.get(device.shape.capacities) or self._share(alternative, device, "")
        amounts = share.amounts
        left, mine = self._allocated.left(device), self._shares.get(device.id) if self._shares else None
        if amounts is None or (left is None and mine is None):
            return share.fits
        if left is None:
            left = device.shape.capacities.totals
        if mine:
            amounts = added(amounts, mine)
        for name, amount in amounts.items():
            if name in left and amount.cmp(left[name]) > 0:
                break
        else:
            return True
        return False

    def take(self, alternative: Alternative, device: Device, *, must: bool) -> bool:
        """Take a selected device, or leave all as it was and return False.

        `must`: the request cannot do without the device; then a constraint that refuses it is an error.
        Raises AllocationError.
        """
        mark = self._trail.mark()
        if self._take(alternative, device, must):
            return True
        self._trail.undo(mark)
        return False

    def _take(self, alternative: Alternative, device: Device, must: bool) -> bool:
        shared = device.multiple and self._features.consumable_capacity
        if not (shared and alternative.admin_access) and not self.is_free(alternative, device):
            return False
        if not self._node_can_skip(device) or not self._draw_counters(device):
            return False
        if (
            device.taints
            and self._features.device_taints
            and prevents(device.taints, alternative.tolerations)
        ):
            return False
        if not self._satisfy_constraints(alternative, device):
            if must:
                raise RefusedDeviceError(
                    f"{alternative.place}: cannot add device {device.id} because a claim constraint "
                    "would not be satisfied"
                )
            return False
        if not self.has_capacity(alternative, device):
            return False
        self._record(alternative, device, shared)
        return True

    def _node_can_skip(self, device: Device) -> bool:
        """Whether the node can leave out the operations that a driver does not need."""
        if not device.slice.skips or not self._features.knows_node_operations:
            return True
        return self._features.optional_node_operations and declares_node_operations(self._node)

    def _draw_counters(self, device: Device) -> bool:
        """Charge the device's counters, if they and the compatibility groups admit it; a shared device pays once."""
        if not device.consumes:
            return True
        if not self._features.partitionable_devices:
            return False
        pays = self.pays_counters(device)
        # One that has paid declares other groups now than its claims remember, if its slice has changed (KEP-5963).
        if not pays and not self._features.group_snapshots:
            return True
        pool = device.slice.pool
        ledger = self._ledger(pool)
        return self._join_groups(pool, ledger, device) and (not pays or self._pay(pool, ledger, device))

    def _ledger(self, id: PoolId) -> Ledger:
        ledger = self._ledgers.get(id)
        if ledger is None:
            pool = next(pool for pool in self._pools if pool.id == id)
            ledger = Ledger(pool, self._allocated) if self._make_ledger is None else self._make_ledger(pool)
            self._ledgers[id] = ledger
        return ledger

    def _join_groups(self, pool: PoolId, ledger: Ledger, device: Device) -> bool:
        if not self._features.compatibility_groups:
            return all(entry.counter_set not in ledger.remembered for entry in device.consumes)
        for name, _, groups in device.consumes:
            common = self._groups.get((pool, name)) or ledger.groups.get(name)
            if not admits(common, groups):
                return False
            self._trail.set(self._groups, (pool, name), joined(common, groups))
        return True

    def _pay(self, pool: PoolId, ledger: Ledger, device: Device) -> bool:
        """No counter of the pool may be overdrawn, not even one that the device does not use."""
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                key = (pool, (name, counter))
                before = self._counters.get(key)
                self._trail.set(self._counters, key, amount if before is None else before.add(amount))
        return all(
            available.sign() >= 0
            if (drawn := self._counters.get((pool, key))) is None
            else available.cmp(drawn) >= 0
            for key, available in ledger.available.items()
        )

    def _satisfy_constraints(self, alternative: Alternative, device: Device) -> bool:
        for index, constraint in alternative.constraints:
            key = (alternative.claim, index)
            attribute = self.attribute(alternative, device, constraint.attribute)
            state = extended(
                constraint, self._constraints.get(key, ()), attribute, self._features.list_attributes
            )
            if state is None:
                return False
            self._trail.set(self._constraints, key, state)
        return True

    def _record(self, alternative: Alternative, device: Device, shared: bool) -> None:
        claim, capacity = alternative.claim, None
        if shared:
            capacity = self.consumption(alternative, device)
            total = added(self._shares.get(device.id, {}), capacity)
            self._trail.set(self._shares, device.id, total)
        else:
            holders = self._holders.get(device.id, frozenset())
            self._trail.set(self._holders, device.id, holders | {claim})
        self._trail.set(self._taken, claim, (*self.taken(claim), Taken(device, alternative, capacity)))

    def _share(self, alternative: Alternative, device: Device, doing: str) -> Share:
        """What the request takes of the device's capacity."""
        share = alternative.shares.get(device.shape.capacities)
        if share is not None:
            return share
        fractional = self._features.fractional_capacity_range
        try:
            share = share_of(
                alternative.capacity, alternative.capacity_key, device.shape.capacities, fractional
            )
        except CapacityError as error:
            doing = doing or f"checking capacity for device {device.id}"
            raise AllocationError(f"{alternative.place}: {doing}: {error}") from None
        remember(alternative.shares, device.shape.capacities, share)
        return share
