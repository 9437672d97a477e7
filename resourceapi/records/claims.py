"""ResourceClaims: what they hold, for whom, and who has made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple

from resourceapi.caches import WeighedCache
from resourceapi.json_text import PackedRaw, Raw
from resourceapi.manifests import entries, full_name, mapping, name_of, namespace_of, text, uid_of
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Quantity
from resourceapi.records.pools import DeviceId


def allocation_of(claim: Object) -> Object | None:
    """The `status.allocation` of a claim, if it has one: then it is allocated."""
    allocation: Object | None = (claim.get("status") or EMPTY).get("allocation")
    return allocation


class DeviceResult(NamedTuple):
    """A device of an allocation.

    :param request: the name of the request, or of the request and the subrequest, that it serves.
    :param share: the ID of the share that it is; None for all of the device.
    :param is_admin: whether it is used with admin access, beside whoever holds it.
    :param capacity: what the share consumes, if the claim is in normal form.
    :param groups: the compatibility groups that the claim remembers of it (KEP-5963), by counter set.
    :param object: the result itself.
    """

    device: DeviceId
    request: str
    share: str | None
    is_admin: bool
    capacity: Mapping[str, Quantity]
    groups: dict[str, frozenset[str]]
    object: Object


class Allocation:
    """An AllocationResult; equal to one with the same fields."""

    __slots__ = ("node_selector", "object", "results")

    def __init__(self, allocation: Object) -> None:
        #: the AllocationResult itself
        self.object = allocation
        #: the nodes on which the claim is available; None for all
        self.node_selector: Object | None = allocation.get("nodeSelector")
        #: its devices, those with admin access included
        self.results = tuple(map(_result, (allocation.get("devices") or EMPTY).get("results") or ()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Allocation) and self.object == other.object

    __hash__ = None  # type: ignore[assignment]  # as of the object


def _result(result: Object) -> DeviceResult:
    read, remembered = result.get, result.get("compatibilityGroups")
    return DeviceResult(
        DeviceId(read("driver", ""), read("pool", ""), read("device", "")),
        read("request", ""),
        read("shareID"),
        read("adminAccess") is True,
        read("consumedCapacity") or EMPTY,
        {name: frozenset(groups or ()) for name, groups in remembered.items()} if remembered else EMPTY,
        result,
    )


class Consumer(NamedTuple):
    """An entry of `status.reservedFor`."""

    group: str
    resource: str
    name: str
    uid: str


class Owner(NamedTuple):
    """An entry of `metadata.ownerReferences`."""

    kind: str
    name: str
    uid: str
    is_controller: bool


class Claim:
    """A ResourceClaim of v1.

    :ivar key: `namespace/name`.
    :ivar allocation: None while it has no devices.
    :ivar object: the claim itself.
    """

    __slots__ = ("allocation", "key", "name", "namespace", "object", "uid")

    def __init__(self, claim: Object) -> None:
        self.object = claim
        self.namespace, self.name, self.uid = namespace_of(claim, ""), name_of(claim), uid_of(claim)
        self.key = full_name(self.namespace, self.name)
        allocation = allocation_of(claim)
        self.allocation = None if allocation is None else Allocation(allocation)

    @property
    def is_allocated(self) -> bool:
        """Whether it has devices."""
        return self.allocation is not None

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """For whom it is reserved; read when it is asked for, as there may be hundreds that nobody looks at."""
        return tuple(
            Consumer(*(text(each, name) for name in ("apiGroup", "resource", "name", "uid")))
            for each in entries(mapping(self.object, "status"), "reservedFor")
        )

    @property
    def owners(self) -> tuple[Owner, ...]:
        """What has made it."""
        return tuple(
            Owner(text(each, "kind"), text(each, "name"), text(each, "uid"), each.get("controller") is True)
            for each in entries(mapping(self.object, "metadata"), "ownerReferences")
            if isinstance(each, dict)
        )

    def is_reserved_for(self, uid: str) -> bool:
        """Whether it is reserved for a pod."""
        return any(
            text(each, "uid") == uid for each in entries(mapping(self.object, "status"), "reservedFor")
        )

    @property
    def results(self) -> tuple[DeviceResult, ...]:
        """The devices that are allocated to it, those with admin access included."""
        return () if self.allocation is None else self.allocation.results


# What a claim asks for as text, for those who hold many claims that nobody may ever name: decoded it takes
# up to 16 times its bytes.

#: Shorter texts are not worth it, in bytes.
MIN_BYTES = 1024
#: About what the objects of a text take, for each of its bytes.
OBJECT_BYTES = 16
#: How much memory all may take that have been read and are kept for the next time.
MOST_BYTES = 64 << 20


class PackedDevices:
    """The `spec.devices` of a claim as JSON; compared by that."""

    __slots__ = ("_reader", "raw")

    def __init__(self, raw: PackedRaw, reader: DevicesReader) -> None:
        self.raw = raw
        self._reader = reader

    def read(self) -> Object:
        """The same in normal form; nobody may change it."""
        return self._reader.read(self.raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PackedDevices) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash(self.raw.source)


class DevicesReader:
    """Packs what claims ask for, and reads it; what was read last is kept. For several threads."""

    def __init__(self, read: Callable[[Any], Object]) -> None:
        """Begin without any.

        :param read: the normal form of a `spec.devices` as the API server has it.
        """
        self._read = read
        self._lock = Lock()
        self._known: WeighedCache[str, Object] = WeighedCache(MOST_BYTES)

    def packed(self, claim: Object, value: Any) -> Object:
        """A claim with what it asks for as text, if that is long.

        :param claim: in normal form.
        :param value: its `spec.devices` as the API server has it.
        """
        raw = PackedRaw(Raw(value))
        if not claim.get("spec") or len(raw.source) < MIN_BYTES:
            return claim
        return {**claim, "spec": {**claim["spec"], "devices": PackedDevices(raw, self)}}

    def read(self, raw: PackedRaw) -> Object:
        """The normal form of what was packed."""
        with self._lock:
            found = self._known.use(raw.source)
        if found is None:
            found = self._read(raw.value)
            with self._lock:
                self._known.put(raw.source, found, (OBJECT_BYTES + 1) * len(raw.source))
        return found


def devices_of(claim: Object) -> Object:
    """The `spec.devices` of a claim of v1 in normal form, also where it is packed."""
    devices = (claim.get("spec") or EMPTY).get("devices") or EMPTY
    return devices.read() if isinstance(devices, PackedDevices) else devices
