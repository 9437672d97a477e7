"""How many devices of a node are left for a request after each rule, looked at one by one: what each rule costs.

A device that passes all steps can be taken for the request as long as the pod takes nothing else; the test suite holds
this to `allocator.attempt`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from allocator.attempt import OPTIONAL_NODE_OPERATIONS
from allocator.capacity_requests import CapacityError, added, consumed, has_room
from allocator.constraint_state import extended, published
from allocator.demand import Alternative
from allocator.devices import Device
from allocator.errors import AllocationError
from allocator.explaining.objections import Accounts
from allocator.explaining.selecting import Expressions
from allocator.explaining.snapshot import Snapshot
from allocator.explaining.verdicts import (
    ALLOCATED,
    ATTRIBUTE,
    CAPACITY,
    CLASS,
    COUNTER,
    GATE,
    GROUP,
    NODE,
    OPERATION,
    POOL,
    SELECTING,
    SELECTOR,
    TAINT,
    Judge,
    Loss,
    Step,
    Verdict,
    judged,
    named,
)
from allocator.pools import pools_of
from allocator.selection import Selectors
from allocator.taints import prevents
from resourceapi.amounts import value_of
from resourceapi.objects import Object


class Passed(NamedTuple):
    """The steps, the devices that are what is asked for, those that can be had as well, and those on which the class or
    a selector fails."""

    steps: list[Step]
    selected: list[Device]
    left: list[Device]
    failing: list[Device]


class NodeView:
    """A node as the steps see it."""

    def __init__(self, snapshot: Snapshot, node: str, expressions: Expressions) -> None:
        self.snapshot = snapshot
        self.node = snapshot.nodes[node]
        self.features = snapshot.features
        self.pools = pools_of(snapshot.inventory, self.node, snapshot.features)
        self._accounts = Accounts(snapshot, self.pools)
        self.expressions = expressions
        self._selectors = Selectors()

    def devices(self) -> list[Device]:
        return [device for pool in self.pools if pool.usable for device in pool.devices]

    def steps(self, alternative: Alternative) -> Passed:
        """The steps for a request or alternative whose demand has no problem.

        The first step is that of pools: it is there even if it costs nothing, to say how many devices there are.
        """
        left = selected = self.devices()
        failing: list[Device] = []
        found = [Step(POOL, "", len(left), tuple(self._pool_losses()))]
        for rule, about, judge in self._rules(alternative):
            step, left, failed = judged(rule, about, judge, left)
            if rule in SELECTING:
                selected = left
                failing += failed
            if step.lost:
                found.append(step)
        return Passed(found, selected, left, failing)

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
        yield COUNTER, "", self._accounts.counters
        yield GROUP, "", self._accounts.groups
        yield OPERATION, "", self._operations
        for _, constraint in alternative.constraints:
            judge = self._constraint(alternative, constraint.attribute)
            yield ATTRIBUTE, constraint.attribute, judge

    def _pool_losses(self) -> Iterable[Loss]:
        for pool in self.pools:
            if pool.incomplete:
                slices = list(self.snapshot.inventory.of_pool(pool.id))
                newest = max(slice.generation for slice in slices)
                there = [slice for slice in slices if slice.generation == newest]
                count = sum(len(slice.devices) for slice in there)
                wanted = there[0].count_in_pool
                yield Loss(f"pool {pool.id} is incomplete: it has {len(there)} of {wanted} slices", count)
            elif pool.invalid:
                count = sum(len(slice.devices) for slice in self.snapshot.inventory.of_pool(pool.id))
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
        if alternative.admin_access or device.id not in self.snapshot.allocated.whole:
            return None
        holders = tuple(self.snapshot.holders.get(device.id, ()))
        return Verdict(f"allocated to {named(holders)}", holders)

    def _capacity(self, alternative: Alternative, device: Device) -> Verdict | None:
        fractional = self.features.fractional_capacity_range
        try:
            amounts = consumed(alternative.capacity, device.capacity, fractional)
        except CapacityError as error:
            return Verdict(f"fails: {error}", failed=True)
        if amounts is None:
            return Verdict(_unservable(alternative, device))
        in_use = self.snapshot.allocated.capacity.get(device.id)
        if has_room(amounts, device.capacity, (in_use,)):
            return None
        totals = added(amounts, in_use or {})
        short = []
        for name, amount in amounts.items():
            whole = value_of(device.capacity[name])
            if totals[name].cmp(whole) > 0:
                left = whole.sub(in_use[name]) if in_use and name in in_use else whole
                short.append(f"{name}: {amount} wanted, {left} of {whole} left")
        holders = tuple(self.snapshot.holders.get(device.id, ()))
        return Verdict(", ".join(short) + (f" beside {named(holders)}" if holders else ""), holders)

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


def blocking_taints(device: Device, alternative: Alternative) -> list[Object]:
    """The taints that keep the request from the device."""
    return [taint for taint in device.taints if prevents((taint,), alternative.tolerations)]


def taint_text(taint: Object) -> str:
    """A taint as kubectl writes it."""
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _unservable(alternative: Alternative, device: Device) -> str:
    lacking = [name for name in alternative.capacity if name not in device.capacity]
    if lacking:
        has = f"; it has {', '.join(sorted(device.capacity))}" if device.capacity else ""
        return f"has no capacity {', '.join(sorted(lacking))}{has}"
    wanted = ", ".join(f"{name}: {amount}" for name, amount in alternative.capacity.items())
    return f"the policy of the device admits no {wanted or 'default request'}"
