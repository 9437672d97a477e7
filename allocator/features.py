"""What of Dynamic Resource Allocation is switched on for the allocator."""

from __future__ import annotations

from collections.abc import Iterable

STABLE, INCUBATING, EXPERIMENTAL = "stable", "incubating", "experimental"

_INCUBATING = ("consumable_capacity", "fractional_capacity_range", "binding_conditions")
_EXPERIMENTAL = ("derived_attributes", "compatibility_groups", "list_attributes", "optional_node_operations")

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
        "DRAOptionalNodeOperations",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
    )
)
"""The gates that matter here."""


class Features:
    """The feature gates of kube-scheduler that change what its allocator answers; never changed once made."""

    __slots__ = (
        "admin_access",
        "binding_conditions",
        "compatibility_groups",
        "consumable_capacity",
        "derived_attributes",
        "device_patches",
        "device_taints",
        "fractional_capacity_range",
        "gates",
        "group_snapshots",
        "implementation",
        "list_attributes",
        "optional_node_operations",
        "partitionable_devices",
        "prioritized_list",
    )

    def __init__(self, gates: Iterable[str] = (), *, group_snapshots: bool = True) -> None:
        """`gates`: the names of those that are on; others than the allocator's are ignored.

        `group_snapshots`: compatibility groups as KEP-5963 has them, remembered in claims; without, as in kube-scheduler
        1.37, which knows only what slices say now.
        """
        on = frozenset(gates)
        #: those of the allocator's gates that are on
        self.gates = on & GATES
        self.admin_access = "DRAAdminAccess" in on
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
        self.list_attributes = "DRAListTypeAttributes" in on
        self.optional_node_operations = "DRAOptionalNodeOperations" in on
        self.partitionable_devices = "DRAPartitionableDevices" in on
        self.prioritized_list = "DRAPrioritizedList" in on
        #: which of its three allocators kube-scheduler uses: the oldest that knows all features that are on
        self.implementation = self._implementation()

    def _implementation(self) -> str:
        if any(getattr(self, name) for name in _EXPERIMENTAL):
            return EXPERIMENTAL
        return INCUBATING if any(getattr(self, name) for name in _INCUBATING) else STABLE

    @property
    def knows_node_operations(self) -> bool:
        """Whether `skipNodeOperations` of slices is looked at; older allocators use such devices like any others."""
        return self.implementation == EXPERIMENTAL

    @property
    def stable(self) -> bool:
        """Whether kube-scheduler uses its stable allocator, which differs in some ways without any gate."""
        return self.implementation == STABLE
