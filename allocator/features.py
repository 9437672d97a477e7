"""What of Dynamic Resource Allocation is switched on for the allocator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from allocator.capacity_requests import Arithmetic
from resourceapi.measured import NEWEST

STABLE, INCUBATING, EXPERIMENTAL = "stable", "incubating", "experimental"

#: The first release (minor number) with more than one allocator.
_SEVERAL_SINCE = 34
# By the first release (minor number): what kube-scheduler's stable allocator does not know, and its incubating one neither.
_INCUBATING = {
    0: ("admin_access", "prioritized_list", "partitionable_devices", "device_taints"),
    36: ("consumable_capacity", "fractional_capacity_range", "binding_conditions"),
}
_EXPERIMENTAL = {
    0: ("device_status", "binding_conditions", "consumable_capacity"),
    35: ("binding_conditions", "consumable_capacity"),
    36: ("derived_attributes", "compatibility_groups", "list_attributes", "optional_node_operations"),
}

GATES = frozenset(
    (
        "DRAAdminAccess",
        "DRAAdminControlledDeviceAttributes",
        "DRAConsumableCapacity",
        "DRADerivedAttributes",
        "DRADeviceBindingConditions",
        "DRADeviceCompatibilityGroups",
        "DRADeviceTaints",
        "DRAFractionalCapacityRange",
        "DRAListTypeAttributes",
        "DRANodeAllocatableResources",
        "DRAOptionalNodeOperations",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
    )
)
"""The gates that matter here."""


class Reading(NamedTuple):
    """How kube-scheduler's allocator reads slices, where releases and implementations differ."""

    #: whether selectors always see a device that cannot be shared
    hides_sharing: bool = False
    #: whether selectors fail on devices with attributes that are lists
    hides_lists: bool = False
    #: whether slices with counter sets count on all nodes, whatever they say
    counters_everywhere: bool = False


NEWEST_READING = Reading()


class Features:
    """The feature gates of kube-scheduler that change what its allocator answers; never changed once made."""

    __slots__ = (
        "admin_access",
        "arithmetic",
        "binding_conditions",
        "compatibility_groups",
        "consumable_capacity",
        "derived_attributes",
        "device_patches",
        "device_status",
        "device_taints",
        "fractional_capacity_range",
        "gates",
        "group_snapshots",
        "implementation",
        "list_attributes",
        "minor",
        "node_allocatable_resources",
        "only_own_counters",
        "optional_node_operations",
        "partitionable_devices",
        "prioritized_list",
    )

    def __init__(
        self, gates: Iterable[str] = (), minor: int = NEWEST, *, group_snapshots: bool = True
    ) -> None:
        """`gates`: the names of those that are on; others than the allocator's are ignored.

        `minor`: the release whose kube-scheduler it is, 1.`minor`.

        `group_snapshots`: compatibility groups as KEP-5963 has them, remembered in claims; without, as in kube-scheduler
        1.37, which knows only what slices say now.
        """
        on = frozenset(gates)
        #: those of the allocator's gates that are on
        self.gates = on & GATES
        self.minor = minor
        self.admin_access = "DRAAdminAccess" in on
        self.device_status = "DRAResourceClaimDeviceStatus" in on
        #: one works only with the other
        self.binding_conditions = on >= {"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}
        self.compatibility_groups = "DRADeviceCompatibilityGroups" in on
        self.consumable_capacity = "DRAConsumableCapacity" in on
        self.derived_attributes = "DRADerivedAttributes" in on
        #: whether ResourceSlicePatches count (KEP-5027); no kube-scheduler knows them
        self.device_patches = "DRAAdminControlledDeviceAttributes" in on
        self.group_snapshots = group_snapshots
        self.device_taints = "DRADeviceTaints" in on
        self.fractional_capacity_range = "DRAFractionalCapacityRange" in on
        self.arithmetic = Arithmetic.of(minor, fractional=self.fractional_capacity_range)
        self.list_attributes = "DRAListTypeAttributes" in on
        #: whether devices take CPU and the like of their node; 1.36 had other fields for it
        self.node_allocatable_resources = "DRANodeAllocatableResources" in on and minor >= 37
        #: whether a device is judged by the counters that it draws from: it needs all of them, and others do not matter
        self.only_own_counters = minor < _SEVERAL_SINCE
        self.optional_node_operations = "DRAOptionalNodeOperations" in on
        self.partitionable_devices = "DRAPartitionableDevices" in on
        self.prioritized_list = "DRAPrioritizedList" in on
        #: which of its three allocators kube-scheduler uses: the oldest that knows all features that are on
        self.implementation = self._implementation()

    def _implementation(self) -> str:
        if self.minor < _SEVERAL_SINCE:
            return STABLE
        if self._has_any(_EXPERIMENTAL):
            return EXPERIMENTAL
        return INCUBATING if self._has_any(_INCUBATING) else STABLE

    def _has_any(self, by_release: Mapping[int, Iterable[str]]) -> bool:
        names = by_release[max(since for since in by_release if since <= self.minor)]
        return any(getattr(self, name) for name in names)

    @property
    def knows_node_operations(self) -> bool:
        """Whether `skipNodeOperations` of slices is looked at; older allocators use such devices like any others."""
        return self.implementation == EXPERIMENTAL

    @property
    def stable(self) -> bool:
        """Whether kube-scheduler uses its stable allocator, which differs in some ways without any gate."""
        return self.implementation == STABLE

    @property
    def keeps_all(self) -> bool:
        """Whether devices of a request for all devices stay taken when the search goes back."""
        return self.minor < _SEVERAL_SINCE

    @property
    def repeats_admin_access(self) -> bool:
        """Whether requests with admin access neither look at what the claim has taken already, nor take it from others."""
        return self.minor < _SEVERAL_SINCE

    @property
    def crashes_on_counters(self) -> bool:
        """Whether a request for all devices crashes kube-scheduler where one of them draws from counters."""
        return self.minor == 35 and self.partitionable_devices

    @property
    def all_can_be_none(self) -> bool:
        """Whether a request for all devices is served by none, and ends the search if it is not served."""
        return self.minor < 33

    @property
    def basic(self) -> bool:
        """Whether kube-scheduler uses an allocator without what came with consumable capacity and binding conditions.

        It ignores capacity requests and `bindsToNode`, refuses `distinctAttribute`, and hides from selectors which devices
        can be shared.
        """
        return self.stable or (self.implementation == INCUBATING and self.minor < 36)

    @property
    def counters_by_slice(self) -> bool:
        """Whether devices draw only from counters of their own slices."""
        return self.minor < 35 or (self.minor < 36 and self.stable)

    @property
    def reading(self) -> Reading:
        """How its allocator reads slices."""
        return Reading(
            hides_sharing=self.basic,
            hides_lists=self.minor < 37 and not self.list_attributes,
            counters_everywhere=self.minor == 36
            or ((self.minor == 35) is not self.stable and self.minor >= 35),
        )

    @property
    def slices_as_they_came(self) -> bool:
        """Whether the slices of a pool are taken in no certain order, rather than by name."""
        return self.stable or self.minor < 36
