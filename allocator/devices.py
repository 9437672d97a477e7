"""ResourceSlices and their devices, as the allocator reads them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from allocator.device_shapes import DeviceShape, ShapeRegistry
from allocator.time_limit import TimeLimit
from resourceapi.node_selection import selects
from resourceapi.objects import EMPTY, Object
from resourceapi.phrases import number
from resourceapi.quantity import Quantity, values_of
from resourceapi.records.nodes import Node
from resourceapi.records.pools import DeviceId, SliceRecord
from resourceapi.spelling import canonical

if TYPE_CHECKING:
    from deviceselectors.runtime.device import Device as PreparedDevice


# The counters from which devices draw that are parts of something larger (KEP-4815).


class Counters(NamedTuple):
    """The counter sets of slices by name, and by name of the counter."""

    sets: dict[str, dict[str, Quantity]]
    #: counter set and counter, of which less than nothing is there
    negative: list[tuple[str, str]]
    #: the name of a counter set that there is twice; what comes after it is left out
    repeated: str | None = None


def counters_of(counter_sets: Iterable[tuple[str, dict[str, Quantity]]]) -> Counters:
    """Put the counter sets of a pool together, each with its name."""
    found = Counters({}, [])
    for name, counters in counter_sets:
        if name in found.sets:
            return found._replace(repeated=name)
        found.sets[name] = counters
        found.negative.extend((name, each) for each, amount in counters.items() if amount.sign() < 0)
    return found


class SliceHeader(SliceRecord):
    """A ResourceSlice without its devices, as they refer to it: so a slice and its devices form no circle."""

    def __init__(self, slice: Object, *, counters_everywhere: bool = False) -> None:
        """`slice`: a ResourceSlice of v1 in normal form (see `resourceapi.decoding`); the rest as of `Reading`."""
        super().__init__(slice)
        spec: Object = slice.get("spec") or EMPTY
        #: without devices
        self.spec: Object = {name: value for name, value in spec.items() if name != "devices"}
        #: whether it counts on all nodes, whatever it says
        self.everywhere = counters_everywhere and bool(self.spec.get("sharedCounters"))
        if self.everywhere:
            self.node_name = ""
        self.per_device: bool = self.spec.get("perDeviceNodeSelection") is True
        #: whether it is for all nodes, and its devices are for each of them
        self.for_all: bool = self.everywhere or (bool(self.spec.get("allNodes")) and not self.per_device)
        self.skips: list[str] = self.spec.get("skipNodeOperations") or []


class Device:
    """A device of a slice; compared by identity. What does not depend on its name is that of its shape."""

    __slots__ = (
        "attributes",
        "capacity",
        "consumes",
        "groups",
        "id",
        "kind",
        "multiple",
        "shape",
        "slice",
        "spec",
        "taints",
    )

    def __init__(self, id: DeviceId, spec: Object, slice: SliceHeader, shape: DeviceShape) -> None:
        """`spec`: an element of `spec.devices` in normal form, of v1."""
        self.shape = shape
        #: the number of its shape
        self.kind = shape.number
        self.slice = slice
        self.id = id
        #: but for the name the same for all devices of the shape, unless each has a place of its own
        self.spec = _with_place(shape.spec, spec) if slice.per_device else shape.spec
        self.attributes = shape.properties.attributes
        self.capacity = shape.properties.capacity
        self.taints = shape.taints
        self.multiple = shape.properties.multiple
        self.consumes = shape.consumes
        self.groups = shape.groups

    def reaches(self, node: Node) -> bool:
        """Whether a node that the slice is for can use the device."""
        return not self.slice.per_device or node_matches(self.spec, node)

    def is_for(self, node: Node) -> bool:
        """Whether a node can use the device."""
        everywhere = self.slice.everywhere and not self.slice.per_device
        return everywhere or node_matches(self.placement, node)

    @property
    def placement(self) -> Object:
        """Where `nodeName` and `nodeSelector` stand that hold for the device."""
        return self.spec if self.slice.per_device else self.slice.spec

    @property
    def prepared(self) -> PreparedDevice:
        """The device as CEL expressions see it."""
        return self.shape.properties.prepared


class DeviceNodes:
    """For which nodes the devices of a slice are, if each says so itself: as large as what they say."""

    __slots__ = ("_by_name", "_everywhere", "_selected")

    def __init__(self, devices: Sequence[Device]) -> None:
        self._everywhere = 0
        self._by_name: dict[str, int] = {}
        selected: dict[str, tuple[Object, int]] = {}
        for place, device in enumerate(devices):
            bit, spec = 1 << place, device.spec
            if name := spec.get("nodeName"):
                self._by_name[name] = self._by_name.get(name, 0) | bit
            elif spec.get("allNodes"):
                self._everywhere |= bit
            elif (selector := spec.get("nodeSelector")) is not None:
                key = canonical(selector)
                selected[key] = (selector, selected.get(key, (selector, 0))[1] | bit)
        self._selected = list(selected.values())

    def on(self, node: Node) -> int:
        """The devices that a node can use: a bit for each, at its place in the slice."""
        found = self._everywhere | self._by_name.get(node.name, 0)
        for selector, bits in self._selected:
            if selects(selector, node):
                found |= bits
        return found


class Slice(SliceHeader):
    """A ResourceSlice; compared by identity."""

    def __init__(self, slice: Object, shapes: ShapeRegistry | None = None) -> None:
        """`slice`: a ResourceSlice of v1 in normal form (see `resourceapi.decoding`); `shapes` are those known."""
        shapes = shapes or ShapeRegistry()
        header = SliceHeader(slice, counters_everywhere=shapes.reading.counters_everywhere)
        vars(self).update(vars(header))
        driver, spec = self.pool.driver, slice.get("spec") or EMPTY
        self.devices = tuple(
            Device(
                DeviceId(*self.pool, device.get("name", "")), device, header, shapes.of_device(driver, device)
            )
            for device in (each or EMPTY for each in spec.get("devices") or ())
        )
        self.shape = shapes.of_slice(spec, (device.shape for device in self.devices))
        self.counter_sets: list[tuple[str, dict[str, Quantity]]] = [
            (entry.get("name", ""), values_of(entry.get("counters")))
            for entry in self.spec.get("sharedCounters") or ()
        ]
        #: what expressions see of the devices (see `allocator.patches.criterion`)
        self.sights: dict[object, tuple[Hashable, ...]] = {}
        self._device_nodes: DeviceNodes | None = None
        self._is_evaluable: bool | None = None
        self.has_groups = any(device.groups for device in self.devices)
        #: whether devices take CPU and the like of their node (`allocator.node_fit`)
        self.takes_of_nodes = any("nodeAllocatableResources" in device.spec for device in self.devices)
        #: whether a device has binding conditions, even an empty list of them
        self.binds_late = any("bindingConditions" in device.spec for device in self.devices)
        #: whether it matters beyond its nodes: it has counters, or devices take from some
        self.is_counting = bool(self.counter_sets) or any(device.consumes for device in self.devices)

    def with_shapes(self, devices: Sequence[DeviceShape], shapes: ShapeRegistry) -> Slice:
        """A slice that differs in the shapes of its devices; they share all else."""
        other = Slice.__new__(Slice)
        vars(other).update(vars(self))
        other.sights = {}
        other._device_nodes = other._is_evaluable = None
        other.devices = tuple(
            [
                Device(device.id, _reshaped(device, shape), device.slice, shape)
                for device, shape in zip(self.devices, devices, strict=True)
            ]
        )
        other.shape = shapes.of_slice_with(self.shape.without_devices, devices)
        return other

    @property
    def place(self) -> str:
        """What decides which nodes it reaches, and for which of them its devices are; to compare."""
        if self.for_all:
            return "all"
        names = ("nodeName", "nodeSelector", "allNodes")
        specs = (self.spec, *(device.spec for device in self.devices if self.per_device))
        return canonical([self.per_device, *([spec.get(name) for name in names] for spec in specs)])

    def as_object(self) -> Object:
        """What it has been made from, as far as it matters."""
        devices = [
            {
                name: dict(value) if isinstance(value, Mapping) else value
                for name, value in {**device.spec, "name": device.id.device}.items()
            }
            for device in self.devices
        ]
        return {"metadata": {"name": self.name}, "spec": {**self.spec, "devices": devices}}

    def reaches(self, node: Node) -> bool:
        """Whether the slice has something for the node; what it is for must be said in a known way."""
        if self.everywhere:
            return True
        if self.node_name or self.spec.get("allNodes") or "nodeSelector" in self.spec:
            return node_matches(self.spec, node)
        return self.per_device and bool(self.reached(node))

    def reached(self, node: Node) -> int:
        """Of a slice whose devices are for nodes of their own, those that a node can use: a bit for each, at its place."""
        if self._device_nodes is None:
            self._device_nodes = DeviceNodes(self.devices)
        return self._device_nodes.on(node)

    def is_evaluable(self, time_limit: TimeLimit) -> bool:
        """Whether expressions can be evaluated on all devices: one with an attribute of no known type fails with any.

        :raises OutOfTime: if the time is over before all devices have been looked at.
        """
        if self._is_evaluable is None:
            for device in self.devices:
                time_limit.check()
                if device.prepared.error is not None:
                    self._is_evaluable = False
                    return False
            self._is_evaluable = True
        return self._is_evaluable

    @cached_property
    def counters(self) -> Counters:
        """Its counter sets."""
        return counters_of(self.counter_sets)

    @cached_property
    def places(self) -> dict[str, int]:
        """The places of the devices by name, of the last one where several have the same."""
        return {each.id.device: place for place, each in enumerate(self.devices)}


def _reshaped(device: Device, shape: DeviceShape) -> Object:
    """The spec of a device that is of another shape."""
    if not device.slice.per_device:
        return shape.spec
    return _with_place(shape.spec, device.spec)


def _with_place(spec: Object, own: Object) -> Object:
    """The spec of a shape for a device that says itself where it is."""
    return {**spec, **{name: own[name] for name in ("name", "nodeName") if name in own}}


def node_matches(placement: Object, node: Node) -> bool:
    """Whether a slice or device with these `nodeName`, `allNodes` and `nodeSelector` is for the node."""
    if name := placement.get("nodeName"):
        return bool(name == node.name)
    if placement.get("allNodes"):
        return True
    selector = placement.get("nodeSelector")
    return selector is not None and selects(selector, node)


def first_of(count: int, first: DeviceId) -> str:
    """The only device, or the number of devices with the name of the first: ``4 devices, such as a/b/c``."""
    return str(first) if count == 1 else f"{number(count, 'device')}, such as {first}"
