"""ResourceClaims: what they ask for, what they hold, for whom, and who has made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Any, NamedTuple

from resourceapi.caches import WeighedCache
from resourceapi.json_text import PackedRaw, Raw
from resourceapi.manifests import entries, full_name, mapping, text
from resourceapi.model.claims import ALL
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import UNSET, Quantity
from resourceapi.records.pools import DeviceId
from resourceapi.spelling import canonical

#: The annotation with which kube-controller-manager says for which entry of a pod or PodGroup it has made a claim.
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
#: The annotation, `true`, with which a scheduler says that it has made a claim for the extended resources of the pod that owns it (KEP-5004).
FOR_EXTENDED_RESOURCES = "resource.kubernetes.io/extended-resource-claim"


def allocation_of(claim: Object) -> Object | None:
    """The `status.allocation` of a claim, if it has one: then it is allocated."""
    allocation: Object | None = (claim.get("status") or EMPTY).get("allocation")
    return allocation


def reservations(claim: Object) -> Sequence[Object]:
    """The `status.reservedFor` of a claim."""
    return entries(mapping(claim, "status"), "reservedFor")


def finalizers_of(claim: Object) -> list[str]:
    """The `metadata.finalizers` of a claim, also of one that has them as text."""
    found = mapping(claim, "metadata").get("finalizers")
    return found.value if isinstance(found, Raw) else entries(mapping(claim, "metadata"), "finalizers")


def has_finalizer(claim: Object, name: str) -> bool:
    """Whether a claim has a finalizer; a text of many is not read for that."""
    found = mapping(claim, "metadata").get("finalizers")
    return f'"{name}"' in found.source if isinstance(found, Raw) else name in (found or ())


def pod_served_by(claim: Object) -> tuple[str, str] | None:
    """Name and uid of the pod for whose extended resources a scheduler has made a claim; None for any other claim."""
    metadata = claim.get("metadata") or EMPTY
    if (metadata.get("annotations") or EMPTY).get(FOR_EXTENDED_RESOURCES) != "true":
        return None
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            is_pod = owner.get("kind") == "Pod" and owner.get("apiVersion") == "v1"
            return (owner.get("name", ""), owner.get("uid", "")) if is_pod else None
    return None


def is_reserved(claim: Object, uid: str) -> bool:
    """Whether a claim is reserved for a pod or a PodGroup."""
    return any(text(each, "uid") == uid for each in reservations(claim))


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

    @classmethod
    def pod(cls, name: str, uid: str) -> Consumer:
        """A pod."""
        return cls("", "pods", name, uid)

    @property
    def reference(self) -> Object:
        """The entry itself."""
        group = {"apiGroup": self.group} if self.group else EMPTY
        return {**group, "resource": self.resource, "name": self.name, "uid": self.uid}


class Owner(NamedTuple):
    """An entry of `metadata.ownerReferences`."""

    kind: str
    name: str
    uid: str
    is_controller: bool


class ExactRequest(NamedTuple):
    """An ExactDeviceRequest, or a DeviceSubRequest, which has a name.

    :param mode: its allocationMode; whatever a claim without an API server may have.
    :param number: its count.
    :param admin_access: None if it is not given.
    :param selectors: the CEL expressions; None for a selector of another kind.
    :param capacity: how much it wants of capacities, `UNSET` where that is null; None without the field.
    :param derived: the expressions of its derived attributes, by name.
    """

    name: str
    device_class: str
    mode: str
    number: int
    admin_access: bool | None
    selectors: tuple[str | None, ...]
    tolerations: tuple[Object, ...]
    capacity: Mapping[str, Quantity] | None
    derived: Mapping[str, str]

    @property
    def takes_all(self) -> bool:
        """Whether it wants all devices that match."""
        return self.mode == ALL


class DeviceRequest(NamedTuple):
    """A DeviceRequest with its alternatives, of which one is to be served: `firstAvailable`, or else `exactly`."""

    name: str
    alternatives: tuple[ExactRequest, ...]
    is_list: bool

    def name_of(self, place: int) -> str:
        """How results name an alternative: `main/sub`, or `main` for a request without a list."""
        return f"{self.name}/{self.alternatives[place].name}" if self.is_list else self.name


class DeviceConstraint(NamedTuple):
    """A DeviceConstraint; of no kind that is known if it has neither `match` nor `distinct` (their attributes)."""

    requests: tuple[str, ...]
    match: str | None
    distinct: str | None


class DeviceClaim(NamedTuple):
    """What a claim asks for: its `spec.devices`."""

    requests: tuple[DeviceRequest, ...]
    constraints: tuple[DeviceConstraint, ...]
    config: Sequence[Object]


class _Asked:
    """The `spec.devices` of claims, decoded once for all copies of a claim, when that is first needed."""

    __slots__ = ("_decoded", "source")

    def __init__(self, source: Object | PackedDevices | DeviceClaim) -> None:
        self.source = source
        self._decoded = source if isinstance(source, DeviceClaim) else None

    def spelled(self) -> str:
        """A text that is the same for others only if they ask for the same (:func:`resourceapi.spelling.canonical`)."""
        return canonical(self.source.read() if isinstance(self.source, PackedDevices) else self.source)

    def read(self) -> DeviceClaim:
        """The record."""
        if self._decoded is None:
            devices: Any = self.source.read() if isinstance(self.source, PackedDevices) else self.source
            self._decoded = DeviceClaim(
                tuple([_request(each or EMPTY) for each in devices.get("requests") or ()]),
                tuple([_constraint(each or EMPTY) for each in devices.get("constraints") or ()]),
                devices.get("config") or (),
            )
        return self._decoded


def _request(request: Object) -> DeviceRequest:
    several = request.get("firstAvailable") or ()
    details = several or (request.get("exactly") or EMPTY,)
    return DeviceRequest(
        request.get("name", ""), tuple([_exact(each or EMPTY) for each in details]), bool(several)
    )


def _exact(details: Object) -> ExactRequest:
    read = details.get
    selectors, derived = read("selectors"), read("derivedAttributes")
    capacity: Mapping[str, Quantity] | None = None
    if "capacity" in details:
        amounts = (details["capacity"] or EMPTY).get("requests") or EMPTY
        capacity = {name: UNSET if amount is None else amount for name, amount in amounts.items()}
    return ExactRequest(
        read("name", ""),
        read("deviceClassName", ""),
        read("allocationMode", ""),
        read("count", 0),
        read("adminAccess") is True if "adminAccess" in details else None,
        expressions_of(selectors) if selectors else (),
        tuple(read("tolerations") or ()),
        capacity,
        {each.get("name", ""): each.get("expression", "") for each in derived} if derived else EMPTY,
    )


def expressions_of(selectors: Sequence[Object | None] | None) -> tuple[str | None, ...]:
    """The CEL expressions of DeviceSelectors; None for one of another kind."""
    return tuple(
        [
            text(mapping(each, "cel"), "expression") if "cel" in mapping(each) else None
            for each in selectors or ()
        ]
    )


def _constraint(constraint: Object) -> DeviceConstraint:
    return DeviceConstraint(
        tuple(constraint.get("requests") or ()),
        constraint.get("matchAttribute"),
        constraint.get("distinctAttribute"),
    )


class Claim:
    """A ResourceClaim of v1.

    :ivar key: `namespace/name`.
    :ivar allocation: None while it has no devices.
    :ivar asked: what it asks for, before it is read; its `source` is the same object as long as that is the same.
    :ivar object: the claim itself, as it was read.
    """

    __slots__ = ("allocation", "asked", "key", "name", "namespace", "object", "uid")

    def __init__(self, claim: Object) -> None:
        self.object = claim
        metadata = claim.get("metadata") or EMPTY
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata.get("name", "")
        self.uid: str = metadata.get("uid", "")
        self.key = full_name(self.namespace, self.name)
        allocation = allocation_of(claim)
        self.allocation = None if allocation is None else Allocation(allocation)
        self.asked = _Asked((claim.get("spec") or EMPTY).get("devices") or EMPTY)

    @property
    def devices(self) -> DeviceClaim:
        """What it asks for."""
        return self.asked.read()

    def for_a_moment(self) -> Claim:
        """The same claim for somebody who reads what it asks for: decoded, that may be large, and is gone with the reader's."""
        return self._copied(self.object, _Asked(self.asked.source))

    def named(self, name: str) -> Claim:
        """A claim that asks for the same, with another name."""
        return self._copied({**self.object, "metadata": {**self.object["metadata"], "name": name}})

    def requested(self, name: str) -> Claim:
        """What a claim with another name is that asks for the same, has no devices, and nothing else."""
        metadata = {"namespace": self.namespace, "name": name}
        return self._copied({"metadata": metadata, "spec": self.object.get("spec") or EMPTY, "status": EMPTY})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Claim):
            return NotImplemented
        return self is other or (self.object == other.object and self.asked.source == other.asked.source)

    def __hash__(self) -> int:
        return hash(self.key)

    def with_status(self, status: Object) -> Claim:
        """The same claim with another status."""
        return self._copied({**self.object, "status": status})

    def allocated(self, allocation: Object) -> Claim:
        """The same claim with these devices (an AllocationResult)."""
        return self.with_status({**(self.object.get("status") or EMPTY), "allocation": allocation})

    def reserved_for(self, pod: str, user: Object | None = None) -> Claim:
        """The same claim reserved for a pod that exists only here, and has its name for a UID, or for another user."""
        user = user or {"resource": "pods", "name": pod.rpartition("/")[2], "uid": pod}
        return self.with_status({**self.object["status"], "reservedFor": [user]})

    def asking_for(self, devices: DeviceClaim) -> Claim:
        """The same claim if it asked for something else; its object is as it was."""
        return self._copied(self.object, _Asked(devices))

    def _copied(self, value: Object, asked: _Asked | None = None) -> Claim:
        copied = Claim(value)
        copied.asked = asked or self.asked
        return copied

    @property
    def is_allocated(self) -> bool:
        """Whether it has devices."""
        return self.allocation is not None

    @property
    def is_leaving(self) -> bool:
        """Whether it is being deleted."""
        return bool(mapping(self.object, "metadata").get("deletionTimestamp"))

    @property
    def consumers(self) -> tuple[Consumer, ...]:
        """For whom it is reserved; read when it is asked for, as there may be hundreds that nobody looks at."""
        return tuple(
            Consumer(*(text(each, name) for name in ("apiGroup", "resource", "name", "uid")))
            for each in reservations(self.object)
        )

    @property
    def owners(self) -> tuple[Owner, ...]:
        """What has made it."""
        return tuple(
            Owner(text(each, "kind"), text(each, "name"), text(each, "uid"), each.get("controller") is True)
            for each in entries(mapping(self.object, "metadata"), "ownerReferences")
            if isinstance(each, dict)
        )

    @property
    def entry(self) -> str:
        """The entry of the pod or PodGroup for which it has been made; empty if somebody has written it."""
        return text(mapping(self.object, "metadata", "annotations"), POD_CLAIM_NAME)

    def is_reserved_for(self, uid: str) -> bool:
        """Whether it is reserved for a pod or a PodGroup."""
        return is_reserved(self.object, uid)

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

    def get(self, name: str, default: Any = None) -> Any:
        """A field of it, for those who read it from the object of a claim."""
        return self.read().get(name, default)

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
