"""What is allocated already, from the status of claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from allocator.capacity_requests import DeviceCapacities
from allocator.devices import Device
from allocator.features import Features
from resourceapi.quantity import Quantity, added
from resourceapi.records.claims import Allocation, DeviceResult
from resourceapi.records.pools import DeviceId, PoolId

# Compatibility groups: which devices may draw from the same counter set at the same time (KEP-5963).
# Either all devices on a counter set declare no groups, or all of them have a group in common.

NO_GROUPS: frozenset[str] = frozenset()
Groups = dict[str, frozenset[str]]
"""The groups of a device by counter set."""


class Common(NamedTuple):
    """What the devices on a counter set have in common.

    `without_groups`: one of them declares none; `groups`: those that all others share, None if there are no others.
    Devices that were allocated before may contradict each other: then nothing more goes with all of them.
    """

    without_groups: bool
    groups: frozenset[str] | None


def admits(common: Common | None, groups: frozenset[str]) -> bool:
    """Whether a device with these groups may join; `common` is None if there is no device yet."""
    if common is None:
        return True
    if not groups:
        return common.groups is None
    return not common.without_groups and (common.groups is None or not common.groups.isdisjoint(groups))


def joined(common: Common | None, groups: frozenset[str]) -> Common:
    """What is common once a device with these groups has joined, in whatever order devices do."""
    if common is None:
        return Common(not groups, groups or None)
    if not groups:
        return Common(True, common.groups)
    return Common(common.without_groups, groups if common.groups is None else common.groups & groups)


def joined_unless_contrary(common: Common | None, groups: frozenset[str]) -> Common:
    """The same as kube-scheduler 1.37.1 sees it: the first decides whether those with groups count, or those without."""
    if common is not None and common.without_groups == bool(groups):
        return common
    return joined(common, groups)


def listed(groups: Iterable[str]) -> str:
    """Groups in words: ``groups {mig, vgpu}``."""
    names = sorted(groups)
    return "groups {" + ", ".join(names) + "}" if names else "no groups"


def in_words(common: Common | None) -> str:
    """What the devices on a counter set have in common, in words."""
    if common is None or common.groups is None:
        return "no groups"
    if common.without_groups:
        return f"{listed(common.groups)} and without groups"
    return listed(common.groups) if common.groups else "groups that have none in common"


class AllocatedState:
    """Devices held by claims: whole ones, shares of others, and how much capacity the shares consume.

    Devices held with admin access do not count. Like kube-scheduler's, the state assumes that no two claims hold the
    same device or share: if they do nevertheless, the first to let go of it frees it.
    """

    def __init__(self, features: Features) -> None:
        self._shares_count, self._minor = features.consumable_capacity, features.minor
        #: whether claims remember compatibility groups
        self.has_snapshots = features.group_snapshots
        self.whole: set[DeviceId] = set()
        #: share IDs by device
        self.shares: dict[DeviceId, set[str]] = {}
        self.capacity: dict[DeviceId, dict[str, Quantity]] = {}
        #: what each claim remembers of a device's compatibility groups (KEP-5963): nothing if it had none
        self._groups: dict[DeviceId, list[Groups]] = {}
        #: what is left of capacity, until that changes
        self._left: dict[DeviceId, tuple[DeviceCapacities, dict[str, Quantity]]] = {}
        self._sets: dict[tuple[str, str], frozenset[DeviceId]] = {}
        #: told of every device of which claims hold more or less than before
        self.listeners: list[Callable[[DeviceId], None]] = []
        self._of_pool: dict[tuple[str, str], dict[DeviceId, None]] = {}

    def of_pool(self, pool: PoolId) -> Iterable[DeviceId]:
        """Devices of a pool that claims hold, or shares of them."""
        return self._of_pool.get(pool, ())

    def holds(self, device: DeviceId) -> bool:
        """Whether a claim holds the device or a share of it."""
        return device in self.whole or self.is_shared(device)

    def draws(self, device: DeviceId) -> bool:
        """Whether what claims hold of the device counts as drawn from counters, as shares do since 1.36."""
        return device in self.whole if self._minor < 36 else self.holds(device)

    def is_shared(self, device: DeviceId) -> bool:
        """Whether a claim holds a share of the device."""
        return device in self.shares or device in self.capacity

    def groups(self, device: DeviceId) -> Sequence[Groups]:
        """What the claims that hold the device, or shares of it, remember of its compatibility groups: one entry each."""
        return self._groups.get(device, ())

    def held_in(self, pool: PoolId) -> frozenset[DeviceId]:
        """The same as a set, made once for all who ask before it changes."""
        found = self._sets.get(pool)
        if found is None:
            found = self._sets[pool] = frozenset(self.of_pool(pool))
        return found

    def left(self, device: Device) -> Mapping[str, Quantity] | None:
        """What claims leave of the device's capacity; None if they use nothing of it."""
        known = self._left.get(device.id)
        if known is not None and known[0] is device.shape.capacities:
            return known[1]
        used = self.capacity.get(device.id)
        if used is None:
            return None
        left = dict(device.shape.capacities.totals)
        for name, amount in used.items():
            if name in left:
                left[name] = left[name].sub(amount)
        self._left[device.id] = (device.shape.capacities, left)
        return left

    def add(self, allocation: Allocation) -> None:
        """Take in what a claim of v1 in normal form holds."""
        for each in self._held(allocation):
            device, share = each.device, each.share if self._shares_count else None
            if self.has_snapshots:
                self._groups.setdefault(device, []).append(each.groups)
            if share is None:
                self.whole.add(device)
            else:
                self.shares.setdefault(device, set()).add(share)
                if each.capacity:
                    self.capacity[device] = added(self.capacity.get(device, {}), each.capacity)
            self._of_pool.setdefault(device[:2], {})[device] = None
            self._tell(device)

    def remove(self, allocation: Allocation) -> None:
        """Undo `add`, when the claim is released."""
        for each in self._held(allocation):
            device, share = each.device, each.share if self._shares_count else None
            if share is None:
                self.whole.discard(device)
            else:
                shares = self.shares.get(device, set())
                shares.discard(share)
                if not shares:
                    self.shares.pop(device, None)
                self._give_back(device, each.capacity)
            if not self.holds(device):
                self._forget(device)
            elif each.groups in self._groups.get(device, ()):
                self._groups[device].remove(each.groups)
            self._tell(device)

    def _forget(self, device: DeviceId) -> None:
        self._groups.pop(device, None)
        pool = self._of_pool.get(device[:2], {})
        pool.pop(device, None)
        if not pool:
            self._of_pool.pop(device[:2], None)

    def _tell(self, device: DeviceId) -> None:
        self._left.pop(device, None)
        self._sets.pop(device[:2], None)
        for listener in self.listeners:
            listener(device)

    def _give_back(self, device: DeviceId, amounts: Mapping[str, Quantity]) -> None:
        left = self.capacity.get(device)
        if left is None:
            return
        left = {name: left[name].sub(amounts[name]) if name in amounts else left[name] for name in left}
        if all(amount.is_zero() for amount in left.values()):
            del self.capacity[device]
        else:
            self.capacity[device] = left

    def _held(self, allocation: Allocation) -> list[DeviceResult]:
        """The results that count."""
        return [each for each in allocation.results if not each.is_admin]
