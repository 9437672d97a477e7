"""How many devices of a node are left for a request after each rule, looked at one by one: what each rule costs.

A device that passes all steps can be taken for the request as long as the pod takes nothing else; the test suite holds
this to `allocator.attempt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from allocator.attempt import OPTIONAL_NODE_OPERATIONS
from allocator.capacity import CapacityError, added, consumed, has_room
from allocator.constraints import extended, published
from allocator.demand import Alternative
from allocator.devices import Device, Object, PoolId
from allocator.errors import AllocationError
from allocator.explaining.selecting import Expressions
from allocator.explaining.world import World
from allocator.groups import admits
from allocator.kinds import value_of
from allocator.ledgers import Ledger
from allocator.pools import Pool, pools_of
from allocator.selection import Selectors
from allocator.taints import prevents

POOL, NODE, GATE, CLASS, SELECTOR, TAINT, ALLOCATED, CAPACITY, COUNTER, GROUP, ATTRIBUTE, OPERATION = (
    "pool",
    "node",
    "gate",
    "class",
    "selector",
    "taint",
    "allocated",
    "capacity",
    "counters",
    "groups",
    "attribute",
    "operations",
)
#: These say which devices are asked for; what comes after says which of them can be had.
SELECTING = (POOL, NODE, GATE, CLASS, SELECTOR)


class Loss(NamedTuple):
    """Why devices drop out: `devices` of them, the first being `example`, for a reason; `claims` hold what is missing."""

    reason: str
    devices: int
    example: str = ""
    claims: tuple[str, ...] = ()


class Step(NamedTuple):
    """A rule that costs devices: `left` pass it. `about`: the expression, class, constraint, … that it is about.

    `failed`: of the devices that drop out, those on which a selector fails rather than gives false.
    """

    rule: str
    about: str
    left: int
    lost: tuple[Loss, ...]
    failed: int = 0
    missing: str = ""


class Verdict(NamedTuple):
    """Why a device drops out."""

    reason: str
    claims: tuple[str, ...] = ()
    missing: str = ""
    failed: bool = False


Judge = Callable[[Device], Verdict | None]


class NodeView:
    """A node as the steps see it."""

    def __init__(self, world: World, node: str, expressions: Expressions) -> None:
        self.world = world
        self.node = world.nodes[node]
        self.features = world.features
        self.pools = pools_of(world.inventory, self.node, world.features)
        self._by_id = {pool.id: pool for pool in self.pools}
        self._ledgers: dict[PoolId, Ledger] = {}
        self.expressions = expressions
        self._selectors = Selectors()

    def devices(self) -> list[Device]:
        return [device for pool in self.pools if pool.usable for device in pool.devices]

    def steps(self, alternative: Alternative) -> tuple[list[Step], list[Device]]:
        """The steps for a request or alternative whose demand has no problem, and the devices that pass them all.

        The first step is that of pools: it is there even if it costs nothing, to say how many devices there are.
        """
        left = self.devices()
        found = [Step(POOL, "", len(left), tuple(self._pool_losses()))]
        for rule, about, judge in self._rules(alternative):
            step, left = _judged(rule, about, judge, left)
            if step.lost:
                found.append(step)
        return found, left

    def _rules(self, alternative: Alternative) -> Iterable[tuple[str, str, Judge]]:
        yield NODE, "", self._other_node
        yield GATE, "", self._gate
        own = len(alternative.selectors) - len(alternative.details.get("selectors") or ())
        for index, selector in enumerate(alternative.selectors):
            expression = selector.expression
            yield CLASS if index < own else SELECTOR, expression, self._selector(expression)
        if self.features.device_taints:
            yield TAINT, "", lambda device: self._taint(alternative, device)
        yield ALLOCATED, "", lambda device: self._allocated(alternative, device)
        if self.features.consumable_capacity:
            yield CAPACITY, "", lambda device: self._capacity(alternative, device)
        yield COUNTER, "", lambda device: self._counters(device)
        yield GROUP, "", lambda device: self._groups(device)
        yield OPERATION, "", self._operations
        for _, constraint in alternative.constraints:
            judge = self._constraint(alternative, constraint.attribute)
            yield ATTRIBUTE, constraint.attribute, judge

    def _pool_losses(self) -> Iterable[Loss]:
        for pool in self.pools:
            if pool.incomplete:
                slices = list(self.world.inventory.of_pool(pool.id))
                newest = max(slice.generation for slice in slices)
                there = [slice for slice in slices if slice.generation == newest]
                count = sum(len(slice.devices) for slice in there)
                wanted = there[0].count_in_pool
                yield Loss(f"pool {pool.id} is incomplete: it has {len(there)} of {wanted} slices", count)
            elif pool.invalid:
                count = sum(len(slice.devices) for slice in self.world.inventory.of_pool(pool.id))
                yield Loss(f"pool {pool.id} is invalid: {pool.invalid}", count)

    def _other_node(self, device: Device) -> Verdict | None:
        return None if device.reaches(self.node) else Verdict("for other nodes")

    def _gate(self, device: Device) -> Verdict | None:
        features = self.features
        if device.spec.get("bindingConditions") and not features.binding_conditions:
            return Verdict("binding conditions are off (DRADeviceBindingConditions)")
        if device.groups and not features.compatibility_groups:
            return Verdict("compatibility groups are off (DRADeviceCompatibilityGroups)")
        if device.consumes and not features.partitionable_devices:
            return Verdict("partitionable devices are off (DRAPartitionableDevices)")
        return None

    def _selector(self, expression: str) -> Judge:
        def judge(device: Device) -> Verdict | None:
            outcome = self.expressions.on(expression, device)
            if outcome.matches:
                return None
            if outcome.error:
                return Verdict(f"fails: {outcome.error}", missing=outcome.missing, failed=True)
            return Verdict(outcome.reason or "does not match")

        return judge

    def _taint(self, alternative: Alternative, device: Device) -> Verdict | None:
        if not prevents(device.taints, alternative.tolerations):
            return None
        blocking = [taint_text(taint) for taint in blocking_taints(device, alternative)]
        return Verdict(f"tainted {', '.join(blocking)}")

    def _allocated(self, alternative: Alternative, device: Device) -> Verdict | None:
        if alternative.admin_access or device.id not in self.world.allocated.whole:
            return None
        holders = tuple(self.world.holders.get(device.id, ()))
        return Verdict(f"allocated to {named(holders)}", holders)

    def _capacity(self, alternative: Alternative, device: Device) -> Verdict | None:
        fractional = self.features.fractional_capacity_range
        try:
            amounts = consumed(alternative.capacity, device.capacity, fractional)
        except CapacityError as error:
            return Verdict(f"fails: {error}", failed=True)
        if amounts is None:
            return Verdict(_unservable(alternative, device))
        in_use = self.world.allocated.capacity.get(device.id)
        if has_room(amounts, device.capacity, (in_use,)):
            return None
        totals = added(amounts, in_use or {})
        short = []
        for name, amount in amounts.items():
            whole = value_of(device.capacity[name])
            if totals[name].cmp(whole) > 0:
                left = whole.sub(in_use[name]) if in_use and name in in_use else whole
                short.append(f"{name}: {amount} wanted, {left} of {whole} left")
        holders = tuple(self.world.holders.get(device.id, ()))
        return Verdict(", ".join(short) + (f" beside {named(holders)}" if holders else ""), holders)

    def _counters(self, device: Device) -> Verdict | None:
        pool, ledger = self._ledger(device)
        if ledger is None:
            return None
        wanted: dict[tuple[str, str], object] = {}
        available = dict(ledger.available)
        for name, counters, _ in device.consumes:
            for counter, amount in counters.items():
                wanted[name, counter] = amount
                available[name, counter] = available[name, counter].sub(amount)
        short = [key for key, left in available.items() if left.sign() < 0]
        if not short:
            return None
        name = short[0][0]
        texts = [
            f"{counter} needs {wanted[key]}, has {ledger.available[key]}"
            if (key := (name, counter)) in wanted
            else f"{counter} is overdrawn: {ledger.available[key]}"
            for of, counter in short
            if of == name
        ]
        more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
        holders = self._drawing(pool, {of for of, _ in short})
        beside = f", beside {named(holders)}" if holders else ""
        return Verdict(f"counter set {name}: {', '.join(texts[:3])}{more}{beside}", holders)

    def _groups(self, device: Device) -> Verdict | None:
        pool, ledger = self._ledger(device)
        if ledger is None:
            return None
        for name, _, groups in device.consumes:
            if not self.features.compatibility_groups:
                if name in ledger.remembered:
                    holders = self._drawing(pool, {name})
                    return Verdict(f"counter set {name}: claims remember groups, the gate is off", holders)
                continue
            common = ledger.groups.get(name)
            if not admits(common, groups):
                holders = self._drawing(pool, {name})
                used = "devices without groups" if common and common.without_groups else _set(common)
                asked = _set_of(groups) if groups else "no groups"
                return Verdict(
                    f"counter set {name}: in use with {used} by {named(holders)}, the device has {asked}",
                    holders,
                )
        return None

    def _operations(self, device: Device) -> Verdict | None:
        features = self.features
        if not device.slice.skips or not features.knows_node_operations:
            return None
        declared = (self.node.get("status") or {}).get("declaredFeatures") or ()
        if features.optional_node_operations and OPTIONAL_NODE_OPERATIONS in declared:
            return None
        return Verdict(f"the node does not declare {OPTIONAL_NODE_OPERATIONS}")

    def _constraint(self, alternative: Alternative, name: str) -> Judge:
        def judge(device: Device) -> Verdict | None:
            try:
                attribute = self.attribute(alternative, name, device)
            except AllocationError as error:
                return Verdict(f"fails: {error}", failed=True)
            if attribute is None:
                return Verdict(f"has no attribute {name}", missing=name)
            constraint = next(each for _, each in alternative.constraints if each.attribute == name)
            if extended(constraint, (), attribute, self.features.list_attributes) is None:
                return Verdict(f"the value of {name} cannot be compared")
            return None

        return judge

    def attribute(self, alternative: Alternative, name: str, device: Device) -> Object | None:
        """An attribute as constraints see it. Raises AllocationError."""
        expression = alternative.derived.get(name)
        if expression is not None:
            return self._selectors.derive(name, expression, device)
        return published(device, name)

    def _ledger(self, device: Device) -> tuple[Pool, Ledger | None]:
        """The pool, and its ledger if the device would be charged."""
        pool = self._by_id[device.slice.pool]
        shared = device.multiple and self.features.consumable_capacity
        if not device.consumes or (shared and self.world.allocated.is_shared(device.id)):
            return pool, None
        ledger = self._ledgers.get(pool.id)
        if ledger is None:
            ledger = self._ledgers[pool.id] = Ledger(pool, self.world.allocated)
        return pool, ledger

    def _drawing(self, pool: Pool, names: Iterable[str]) -> tuple[str, ...]:
        """The claims that hold devices on counter sets of a pool."""
        sets = set(names)
        found: dict[str, None] = {}
        for device in (*pool.devices, *pool.elsewhere):
            holders = self.world.holders.get(device.id)
            if holders and any(entry.counter_set in sets for entry in device.consumes):
                found.update(dict.fromkeys(holders))
        return tuple(found)


def blocking_taints(device: Device, alternative: Alternative) -> list[Object]:
    """The taints that keep the request from the device."""
    return [taint for taint in device.taints if prevents((taint,), alternative.tolerations)]


def taint_text(taint: Object) -> str:
    """A taint as kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def named(claims: Sequence[str]) -> str:
    """`claim a/b`, `claims a/b, c/d and 4 more`."""
    if not claims:
        return "a claim that is not known"
    shown = ", ".join(claims[:3])
    more = f" and {len(claims) - 3} more" if len(claims) > 3 else ""
    return f"claim{'s' if len(claims) > 1 else ''} {shown}{more}"


def _judged(rule: str, about: str, judge: Judge, devices: Sequence[Device]) -> tuple[Step, list[Device]]:
    left: list[Device] = []
    lost: dict[tuple[str, tuple[str, ...]], list[Device]] = {}
    failed, missing = 0, ""
    for device in devices:
        verdict = judge(device)
        if verdict is None:
            left.append(device)
            continue
        lost.setdefault((verdict.reason, verdict.claims), []).append(device)
        failed += verdict.failed
        missing = missing or verdict.missing
    losses = tuple(
        Loss(reason, len(members), str(members[0].id), claims) for (reason, claims), members in lost.items()
    )
    return Step(rule, about, len(left), losses, failed, missing), left


def _unservable(alternative: Alternative, device: Device) -> str:
    lacking = [name for name in alternative.capacity if name not in device.capacity]
    if lacking:
        return f"has no capacity {', '.join(sorted(lacking))}"
    wanted = ", ".join(f"{name}: {amount}" for name, amount in alternative.capacity.items())
    return f"the policy of the device admits no {wanted or 'default request'}"


def _set(common: object) -> str:
    return _set_of(getattr(common, "groups", ()) or ())


def _set_of(groups: Iterable[str]) -> str:
    return "groups {" + ", ".join(sorted(groups)) + "}"
