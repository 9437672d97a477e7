"""ResourceSlices and their devices, as the allocator reads them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from resourceapi.nodeselection import selects
from resourceapi.quantity import UNSET, Quantity

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device as PreparedDevice

Object = dict[str, Any]
_EMPTY: Object = {}


class PoolId(NamedTuple):
    """A pool: drivers name their pools as they like."""

    driver: str
    pool: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}"


class DeviceId(NamedTuple):
    """A device in the cluster."""

    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return f"{self.driver}/{self.pool}/{self.device}"


class Consumption(NamedTuple):
    """What a device takes from one counter set, and with which compatibility groups it does so."""

    counter_set: str
    counters: dict[str, Quantity]
    groups: frozenset[str]


class Device:
    """A device of a slice; compared by identity."""

    def __init__(self, spec: Object, slice: Slice) -> None:
        """`spec`: an element of `spec.devices` in normal form, of v1."""
        self.spec = spec
        self.slice = slice
        self.id = DeviceId(slice.pool.driver, slice.pool.pool, spec.get("name", ""))
        self.attributes: dict[str, Object] = spec.get("attributes") or _EMPTY
        self.capacity: dict[str, Object] = spec.get("capacity") or _EMPTY
        self.taints: list[Object] = spec.get("taints") or []
        self.multiple = spec.get("allowMultipleAllocations") is True
        self.consumes = tuple(
            Consumption(
                entry.get("counterSet", ""),
                counter_values(entry.get("counters")),
                frozenset(entry.get("compatibilityGroups") or ()),
            )
            for entry in spec.get("consumesCounters") or ()
        )
        #: the compatibility groups that it declares, by counter set; sets without any are left out
        self.groups = {entry.counter_set: entry.groups for entry in self.consumes if entry.groups}

    def reaches(self, node: Object) -> bool:
        """Whether a node that the slice is for can use the device."""
        return not self.slice.per_device or node_matches(self.spec, node)

    @property
    def placement(self) -> Object:
        """Where `nodeName` and `nodeSelector` stand that hold for the device."""
        return self.spec if self.slice.per_device else self.slice.spec

    @cached_property
    def prepared(self) -> PreparedDevice:
        """The device as CEL expressions see it."""
        from deviceselectors.runtime.device import prepare_device

        device = {
            "allowMultipleAllocations": self.multiple,
            "attributes": {name: attribute or {} for name, attribute in self.attributes.items()},
            "capacity": {
                name: {"value": str(value_of(capacity))} for name, capacity in self.capacity.items()
            },
        }
        return prepare_device(device, self.id.driver)


class Slice:
    """A ResourceSlice; compared by identity."""

    def __init__(self, slice: Object) -> None:
        """`slice`: a ResourceSlice of v1 in normal form (see `resourceapi.decoding`)."""
        self.name: str = (slice.get("metadata") or _EMPTY).get("name", "")
        self.spec: Object = slice.get("spec") or _EMPTY
        pool = self.spec.get("pool") or _EMPTY
        self.pool = PoolId(self.spec.get("driver", ""), pool.get("name", ""))
        self.generation: int = pool.get("generation", 0)
        self.count_in_pool: int = pool.get("resourceSliceCount", 0)
        self.node_name: str = self.spec.get("nodeName") or ""
        self.per_device: bool = self.spec.get("perDeviceNodeSelection") is True
        self.skips: list[str] = self.spec.get("skipNodeOperations") or []
        self.devices = tuple(Device(device or _EMPTY, self) for device in self.spec.get("devices") or ())
        self.counter_sets: list[tuple[str, dict[str, Quantity]]] = [
            (entry.get("name", ""), counter_values(entry.get("counters")))
            for entry in self.spec.get("sharedCounters") or ()
        ]
        self.has_groups = any(device.groups for device in self.devices)

    def reaches(self, node: Object) -> bool:
        """Whether the slice has something for the node; what it is for must be said in a known way."""
        if self.node_name or self.spec.get("allNodes") or "nodeSelector" in self.spec:
            return node_matches(self.spec, node)
        return self.per_device and any(node_matches(device.spec, node) for device in self.devices)


def node_matches(placement: Object, node: Object) -> bool:
    """Whether a slice or device with these `nodeName`, `allNodes` and `nodeSelector` is for the node."""
    if name := placement.get("nodeName"):
        return bool(name == node_name(node))
    if placement.get("allNodes"):
        return True
    selector = placement.get("nodeSelector")
    return selector is not None and selects(selector, node)


def node_name(node: Object) -> str:
    """The name of a Node."""
    return str((node.get("metadata") or _EMPTY).get("name", ""))


def counter_values(counters: dict[str, Object] | None) -> dict[str, Quantity]:
    """The quantities of counters by name."""
    return {name: value_of(counter) for name, counter in (counters or _EMPTY).items()}


def value_of(entry: Object | None) -> Quantity:
    """The `value` of a capacity or counter; one that is not set is 0."""
    value: Quantity = (entry or _EMPTY).get("value", UNSET)
    return value
