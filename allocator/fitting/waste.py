"""What taking devices of a node wastes: numbers that are compared in order, of which lower ones are better.

1. partitions: by how much the worth of counter sets falls (`allocator.fitting.partitions`);
2. surplus: how big the devices are that are taken whole, as a share of the biggest;
3. shares: how much is taken from mostly free shared devices, so that the fullest are filled up first;
4. groups: how many devices are taken from mostly free topology groups, so that broken groups are used up first;
5. pools: the same for whole pools, so that nodes in use fill up first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocator.allocated import AllocatedState
from allocator.attempt_state import Taken
from allocator.constraint_state import published, values_of
from allocator.devices import Device
from allocator.fitting.partitions import CounterSet, CounterSetState, as_number, worth
from allocator.states import PoolState
from resourceapi.quantity import value_of
from resourceapi.records.pools import DeviceId, PoolId

Waste = tuple[float, ...]
#: Attributes of this domain that say where a device is (KEP-4381: standard attributes).
STANDARD_DOMAIN = "resource.kubernetes.io/"
#: Counter sets with more variants of devices are ignored.
MAX_VARIANTS = 512
_DIGITS = 9


class NodeWaste:
    """The waste of allocations on one node in its present state."""

    def __init__(
        self, states: Iterable[PoolState], allocated: AllocatedState, attributes: Iterable[str]
    ) -> None:
        """Read the state of a node.

        :param attributes: the full names of attributes that `matchAttribute` constraints name.
        """
        self._states = {state.pool.id: state for state in states if state.pool.usable}
        self._allocated = allocated
        self._attributes = tuple(dict.fromkeys(attributes))
        self._sets: dict[PoolId, list[tuple[CounterSet, CounterSetState]]] = {}
        self._free: dict[object, int] = {}
        self._groups: dict[Device, list[object]] = {}
        self._biggest: dict[tuple[str, str], float] = {}
        for state in self._states.values():
            for device in state.pool.devices:
                self._add(device)

    def _add(self, device: Device) -> None:
        keys: list[object] = [device.slice.pool]
        names = [name for name in device.attributes if name.startswith(STANDARD_DOMAIN)]
        for name in dict.fromkeys((*self._attributes, *names)):
            found = published(device, name)
            values = values_of(found) if found is not None else None
            keys += (
                [(device.id.driver, name, value) for value in sorted(values[1], key=str)] if values else []
            )
        self._groups[device] = keys
        if device.id not in self._allocated.whole and not device.multiple:
            for key in keys:
                self._free[key] = self._free.get(key, 0) + 1
        for name, capacity in device.capacity.items():
            amount = as_number(value_of(capacity))
            key = (device.id.driver, name)
            self._biggest[key] = max(self._biggest.get(key, 0.0), amount)

    def of(self, taken: Sequence[Taken]) -> Waste:
        """The waste of taking all these devices."""
        counted = [each for each in taken if not each.alternative.admin_access]
        whole = [each.device for each in counted if each.capacity is None]
        numbers = (
            float(self._partitions(whole)),
            sum(map(self._surplus, whole)),
            self._shares([each for each in counted if each.capacity is not None]),
            self._group_waste(key for device in whole for key in self._groups[device][1:]),
            self._group_waste(self._groups[device][0] for device in whole),
        )
        return tuple(round(number, _DIGITS) for number in numbers)

    def of_device(self, device: Device) -> Waste:
        """The waste of taking one device as a whole; for a shared device, how much of it is free."""
        if device.multiple:
            return (0.0, 0.0, round(self._free_share(device), _DIGITS), 0.0, 0.0)
        numbers = (
            float(self._partitions((device,))),
            self._surplus(device),
            0.0,
            self._group_waste(self._groups[device][1:]),
            self._group_waste(self._groups[device][:1]),
        )
        return tuple(round(number, _DIGITS) for number in numbers)

    def groups_of(self, device: Device) -> list[object]:
        """Keys of the counter sets and topology groups that a device belongs to."""
        return [
            *((device.slice.pool, entry.counter_set) for entry in device.consumes),
            *self._groups[device][1:],
        ]

    def _partitions(self, devices: Iterable[Device]) -> int:
        loss = 0
        by_pool: dict[PoolId, list[Device]] = {}
        for device in devices:
            if device.consumes:
                by_pool.setdefault(device.slice.pool, []).append(device)
        for pool, members in by_pool.items():
            for counter_set, before in self._states_of_sets(pool):
                after = before
                for device in members:
                    if device in counter_set.variant:
                        after = counter_set.after(after, device)
                if after is not before:
                    loss += worth(counter_set.shape, before) - worth(counter_set.shape, after)
        return loss

    def _states_of_sets(self, pool: PoolId) -> list[tuple[CounterSet, CounterSetState]]:
        found = self._sets.get(pool)
        if found is None:
            state = self._states[pool]
            held = [device for device in state.pool.devices if device.id in self._allocated.whole]
            sets = [CounterSet(name, state.pool) for name in state.pool.counters.sets]
            found = self._sets[pool] = [
                (each, each.state(state.ledger, held))
                for each in sets
                if len(each.shape.variants) <= MAX_VARIANTS
            ]
        return found

    def _surplus(self, device: Device) -> float:
        return sum(
            as_number(value_of(capacity)) / biggest
            for name, capacity in device.capacity.items()
            if (biggest := self._biggest[device.id.driver, name]) > 0
        )

    def _shares(self, taken: Iterable[Taken]) -> float:
        """By how much the squares of free shares fall: the same amount costs less if less is free."""
        waste = 0.0
        free: dict[tuple[DeviceId, str], float] = {}
        for device, _, amounts in taken:
            for name, amount in (amounts or {}).items():
                total = as_number(value_of(device.capacity[name]))
                key = (device.id, name)
                before = free[key] if key in free else self._free_part(device, name)
                if total > 0:
                    free[key] = before - as_number(amount) / total
                    waste += before**2 - free[key] ** 2
        return waste

    def _free_share(self, device: Device) -> float:
        return sum(self._free_part(device, name) for name in device.capacity)

    def _free_part(self, device: Device, name: str) -> float:
        """The share of a capacity that is free."""
        total = as_number(value_of(device.capacity[name]))
        used = (self._allocated.capacity.get(device.id) or {}).get(name)
        return 1 - as_number(used) / total if used is not None and total > 0 else 1.0

    def _group_waste(self, keys: Iterable[object]) -> float:
        """By how much the squares of the numbers of free devices fall, summed over groups."""
        drawn: dict[object, int] = {}
        for key in keys:
            drawn[key] = drawn.get(key, 0) + 1
        return float(
            sum(
                self._free.get(key, 0) ** 2 - (self._free.get(key, 0) - count) ** 2
                for key, count in drawn.items()
            )
        )
