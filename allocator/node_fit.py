"""What the devices of a pod's claims take of a node's CPU, memory and huge pages, and whether the node has that (KEP-5517).

kube-scheduler finds devices first, and then looks whether the node has what they stand for (`mapping`) and what they need
besides (`overhead`). Where it has not, the node does not fit: no other devices are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple

from allocator.devices import Device
from allocator.errors import FATAL, NODE, UNRESOLVABLE, AllocationError
from allocator.node_resources import NodeResources, PodNeeds, Shortage, needs_of, written
from allocator.plans import Outcome
from allocator.pod_nodes import named_node, node_rules
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Amounts, Quantity, added, amounts_of
from resourceapi.records import pod_groups
from resourceapi.records.claims import Claim, DeviceResult
from resourceapi.records.pools import DeviceId
from resourceapi.releases import Profile

FindDevice = Callable[[DeviceId], Device | None]
"""The device of this name that a node sees."""
_ONE = Quantity(1)


class ClaimFootprint(NamedTuple):
    """What the devices of a pod's claim take of its node: an entry of `status.nodeAllocatableResourceClaimStatuses` of the pod.

    :param claim: the name of the claim.
    :param containers: those of the pod's containers that use the claim.
    :param mapping: what the devices stand for, which counts once: no other pod can use the claim.
    :param per_pod: what they need besides for each pod.
    :param per_container: what they need besides for each container that uses the claim.
    """

    claim: str
    containers: Sequence[str]
    mapping: Amounts
    per_pod: Amounts
    per_container: Amounts

    @property
    def is_empty(self) -> bool:
        """Whether they take nothing."""
        return not (self.mapping or self.per_pod or self.per_container)

    @property
    def total(self) -> Amounts:
        """All of it."""
        count = Quantity(len(self.containers))
        each = {name: amount.times(count) for name, amount in self.per_container.items()}
        return added(added(self.mapping, self.per_pod), each)

    def as_object(self) -> Object:
        """The entry in the pod's status (JSON)."""
        overhead: dict[str, Object] = {}
        for field, amounts in (("perPod", self.per_pod), ("perContainer", self.per_container)):
            for name, amount in amounts.items():
                overhead.setdefault(name, {"name": name})[field] = str(amount)
        fields = {
            "containers": list(self.containers),
            "mapping": [{"name": name, "quantity": str(self.mapping[name])} for name in sorted(self.mapping)],
            "overhead": [overhead[name] for name in sorted(overhead)],
        }
        return {
            "resourceClaimName": self.claim,
            **{name: value for name, value in fields.items() if value},
        }

    @classmethod
    def read(cls, status: Object) -> ClaimFootprint:
        """What an entry in a pod's status (JSON) says.

        :raises resourceapi.quantity.QuantityError: if an amount is no quantity.
        """
        per_pod, per_container = (
            amounts_of(
                {text(each, "name"): each[field] for each in entries(status, "overhead") if field in each}
            )
            for field in ("perPod", "perContainer")
        )
        mapped = amounts_of(
            {text(each, "name"): each.get("quantity", "0") for each in entries(status, "mapping")}
        )
        containers = [str(each) for each in entries(status, "containers")]
        return cls(text(status, "resourceClaimName"), containers, mapped, per_pod, per_container)


_STATUSES = "nodeAllocatableResourceClaimStatuses"


#: The part of a pod's status (JSON) that tells that its claims take nothing of its node any more.
NO_FOOTPRINTS: Object = {_STATUSES: []}


def tells_footprints(status: Object) -> bool:
    """Whether the `status` (JSON) of a pod says that its claims take something of a node."""
    return bool(status.get(_STATUSES))


def footprints_in(status: Object) -> list[ClaimFootprint]:
    """What the claims of a pod take of its node, as kube-scheduler has written it into the pod's `status` (JSON).

    :raises resourceapi.quantity.QuantityError: if an amount is no quantity.
    """
    return [ClaimFootprint.read(each) for each in entries(status, _STATUSES)]


def pod_status(footprints: Iterable[ClaimFootprint]) -> Object:
    """The part of a pod's `status` (JSON) that tells what its claims take of its node."""
    found = [each.as_object() for each in sorted(footprints, key=lambda each: each.claim)]
    return {_STATUSES: found} if found else {}


def with_footprints(needs: PodNeeds, footprints: Iterable[ClaimFootprint]) -> PodNeeds:
    """What a pod needs of a node, the devices of its claims included."""
    for each in footprints:
        needs = needs.adding(each.total)
    return needs


def needs_on_node(pod: Object, profile: Profile, *, with_devices: bool) -> PodNeeds:
    """What a pod on a node takes of it, as its spec says, and its status.

    :param with_devices: whether what its devices take counts.
    :raises resourceapi.quantity.QuantityError: if an amount is no quantity.
    """
    needs = needs_of(mapping(pod, "spec"), profile)
    return with_footprints(needs, footprints_in(mapping(pod, "status"))) if with_devices else needs


class PodOnNode(NamedTuple):
    """A pod as nodes see it.

    :param spec: its `spec` (JSON); empty for claims without a pod.
    :param needs: what it needs beside devices; None for claims without a pod.
    :param resources: what nodes have left; None if that does not count.
    :param closed: the nodes that its spec excludes.
    :param rejections: what kube-scheduler says of them.
    :param containers: those of its containers that use each claim, by `namespace/name`, in the order of the claims.
    :param uid: its `metadata.uid`.
    :param fits_itself: whether its own needs are no matter, as it has been found out where they are met.
    :param pending: the claims, by `namespace/name`, that other pods of its PodGroup have got in the same attempt.
    """

    spec: Mapping[str, Any] = MappingProxyType({})
    needs: PodNeeds | None = None
    resources: NodeResources | None = None
    closed: AbstractSet[str] = frozenset()
    rejections: Mapping[str, Sequence[str]] = MappingProxyType({})
    containers: Mapping[str, Sequence[str]] = MappingProxyType({})
    uid: str = ""
    fits_itself: bool = False
    pending: AbstractSet[str] = frozenset()

    @property
    def kind(self) -> object:
        """Equal for pods that nodes do not tell apart."""
        uses = tuple(map(len, self.containers.values()))
        return node_rules(self.spec), frozenset(self.closed), self.needs and self.needs.key, uses

    def rejection(self, node: str) -> Sequence[str] | None:
        """What kube-scheduler says of a node on which it does not look for devices; None of other nodes."""
        if node in self.closed:
            return tuple(self.rejections.get(node, ()))
        if self.fits_itself or self.resources is None or self.needs is None or named_node(self.spec):
            return None
        return tuple([each.reason for each in self.resources.shortages(node, self.needs)]) or None

    def footprints(self, claims: Iterable[Claim], find: FindDevice) -> list[ClaimFootprint]:
        """What its claims take of the node that sees these devices; devices that it does not see take nothing.

        :param claims: all allocated.
        :raises AllocationError: if a device takes as much as is consumed of a capacity, and the allocation does not say how much.
        """
        found = [
            ClaimFootprint(each.name, self.containers.get(each.key, ()), *_amounts(each, find))
            for each in claims
        ]
        return [each for each in found if not each.is_empty]

    def refusal(self, node: str, claims: Sequence[Claim], find: FindDevice) -> Outcome | None:
        """Why a node does not fit on which its claims would have these devices; None if it does.

        :param claims: as they would be on the node, all allocated.
        """
        try:
            footprints = self.footprints(claims, find)
        except AllocationError as error:
            return Outcome(error=str(error), error_kind=FATAL)
        if not footprints:
            return None
        mapped = {each.claim for each in footprints if each.mapping}
        for claim in claims:
            if claim.name in mapped and self._is_of_others(claim):
                return Outcome(error=_not_shared(claim), error_kind=UNRESOLVABLE)
        needs = with_footprints(self.needs or PodNeeds(), footprints)
        for resource, room in needs.room.items():
            if needs.by_devices.get(resource, 0) > room:
                return Outcome(error=_beyond_pod_level(resource), error_kind=UNRESOLVABLE)
        return None if self.resources is None else _lack(self.resources, node, needs)

    def _is_of_others(self, claim: Claim) -> bool:
        """Whether a claim is reserved for others, or has been found for a pod of its PodGroup that is not bound."""
        return claim.key in self.pending or bool(claim.consumers and not self._has_reserved(claim))

    def _has_reserved(self, claim: Claim) -> bool:
        """Whether a claim is reserved for the pod or its PodGroup, of which the pod says no more than the name."""
        group = text(mapping(self.spec, "schedulingGroup"), "podGroupName")
        return claim.is_reserved_for(self.uid) or any(
            (each.group, each.resource, each.name) == (pod_groups.GROUP, pod_groups.RESOURCE, group)
            for each in claim.consumers
        )


#: For claims without a pod, where it does not matter what nodes have left.
NO_POD = PodOnNode()


def _lack(resources: NodeResources, node: str, needs: PodNeeds) -> Outcome | None:
    """What a node lacks of CPU, memory and huge pages; whatever else it may lack is checked before devices are looked for."""
    short = [
        each
        for each in resources.shortages(node, needs)
        if each.resource in needs.requests and "/" not in each.resource
    ]
    if not short:
        return None
    kind = UNRESOLVABLE if any(each.wanted > each.allocatable for each in short) else NODE
    return Outcome(
        error=" and ".join([_words(each, needs) for each in short]), error_kind=kind, shortages=tuple(short)
    )


def _amounts(claim: Claim, find: FindDevice) -> tuple[Amounts, Amounts, Amounts]:
    """What devices stand for, what they need for each pod, and for each container."""
    totals: tuple[Amounts, Amounts, Amounts] = ({}, {}, {})
    for result in claim.results:
        device = find(result.device)
        taken = EMPTY if device is None else device.spec.get("nodeAllocatableResources") or EMPTY
        for resource, how in taken.items():
            mapped = _mapped(claim, result, resource, mapping(how, "mapping"))
            overhead = mapping(how, "overhead")
            amounts = (mapped, overhead.get("perPod"), overhead.get("perContainer"))
            for total, each in zip(totals, amounts, strict=True):
                if each is not None:
                    total[resource] = total[resource].add(each) if resource in total else each
    return totals


def _mapped(claim: Claim, result: DeviceResult, resource: str, how: Object) -> Quantity | None:
    """How much of a resource a device stands for; None if it stands for none."""
    key = how.get("capacityKey")
    if not key:
        return how.get("deviceMultiplier")
    if "consumedCapacity" not in result.object:
        raise AllocationError(
            f"claim {claim.key}, device {result.device.device}: ConsumedCapacity is nil, but Capacity key '{key}' "
            f"is set in NodeAllocatableResources for resource {resource}"
        )
    consumed = result.capacity.get(key)
    return None if consumed is None else consumed.times(how.get("capacityMultiplier", _ONE))


def _words(shortage: Shortage, needs: PodNeeds) -> str:
    """What is short, and how much of it is for devices."""
    resource, left = shortage.resource, max(shortage.left, 0)
    wanted, devices, free, has = (
        written(resource, each)
        for each in (shortage.wanted, needs.by_devices.get(resource, 0), left, shortage.allocatable)
    )
    return f"{shortage.reason}: {wanted} requested, {devices} of it by the devices of its claims; {free} of {has} left"


def _not_shared(claim: Claim) -> str:
    return (
        f"node allocatable resource claim {claim.name} has a mapped device and cannot be shared across pods"
    )


def _beyond_pod_level(resource: str) -> str:
    return (
        f"pod level request for {resource} is insufficient to cover the aggregated container and "
        "node-allocatable DRA requests"
    )
