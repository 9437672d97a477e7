"""What pods need of a node beside devices (CPU, memory, extended resources of device plugins), and what nodes have left.

Counted as kube-scheduler's plugin NodeResourcesFit does: CPU in thousandths, all else in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from allocator.feasible_nodes import NodeChanges
from resourceapi.objects import Object
from resourceapi.quantity import BINARY_SI, DECIMAL_SI, Quantity
from resourceapi.records.nodes import Node
from resourceapi.releases import Profile
from validation.pod_resources import requests_of, room_of

Counts = Mapping[str, int]
"""Amounts by resource."""

CPU, MEMORY, STORAGE, PODS = "cpu", "memory", "ephemeral-storage", "pods"
_FIRST = (PODS, CPU, MEMORY, STORAGE)
_BYTES = (MEMORY, STORAGE)
#: What a container that requests none of it counts for where kube-scheduler compares nodes (`GetNonzeroRequests`).
ASSUMED_REQUESTS: Counts = MappingProxyType({CPU: 100, MEMORY: 200 << 20})
_ASSUMED = {CPU: Quantity(100, -3, DECIMAL_SI), MEMORY: Quantity(200 << 20, 0, BINARY_SI)}


class PodNeeds(NamedTuple):
    """What a pod needs of a node.

    :param requests: its requests, see :func:`counted`.
    :param by_claim: extended resources that a DeviceClass stands for: a node without a device plugin for one gives devices
        of the class instead (KEP-5004).
    :param assumed: its requests for CPU and memory with :data:`ASSUMED_REQUESTS` for the containers that have none.
    :param room: what its containers leave of the resources that it requests as a whole.
    :param by_devices: what of its requests the devices of its claims take (KEP-5517).
    """

    requests: Counts = MappingProxyType({})
    by_claim: frozenset[str] = frozenset()
    assumed: Counts = ASSUMED_REQUESTS
    room: Counts = MappingProxyType({})
    by_devices: Counts = MappingProxyType({})

    @property
    def key(self) -> object:
        """Equal for pods with equal needs."""
        amounts = (self.requests, self.assumed, self.room)
        return self.by_claim, *(frozenset(each.items()) for each in amounts)

    def adding(self, amounts: Mapping[str, Quantity]) -> PodNeeds:
        """The same with what devices of its claims take; of what it requests as a whole, that is a part."""
        more = counted(amounts)
        if not more:
            return self
        beyond = {name: count for name, count in more.items() if name not in self.room}
        return self._replace(
            requests=_sum(self.requests, beyond),
            assumed=_sum(self.assumed, {name: beyond[name] for name in ASSUMED_REQUESTS if name in beyond}),
            by_devices=_sum(self.by_devices, more),
        )


class Load(NamedTuple):
    """CPU or memory of a node, as a pod finds it.

    :param used: what the pods on it have requested.
    :param wanted: what the pod requests.
    :param assumed: both together, with what is assumed for containers that request none.
    """

    allocatable: int
    used: int
    wanted: int
    assumed: int


class Shortage(NamedTuple):
    """A resource of which a node has too little left for a pod."""

    resource: str
    wanted: int
    used: int
    allocatable: int

    @property
    def left(self) -> int:
        """What the node has left of it; pods may have taken more than there is."""
        return self.allocatable - self.used

    @property
    def reason(self) -> str:
        """What kube-scheduler says."""
        return "Too many pods" if self.resource == PODS else f"Insufficient {self.resource}"

    @property
    def amounts(self) -> str:
        """How much is wanted, and how much is there."""
        wanted, left, allocatable = (
            written(self.resource, amount)
            for amount in (self.wanted, max(self.allocatable - self.used, 0), self.allocatable)
        )
        if self.resource == PODS:
            return f"{left} of {allocatable} left"
        return f"{wanted} requested, {left} of {allocatable} left"


def counted(amounts: Mapping[str, Quantity], *, keep_zero: bool = False) -> dict[str, int]:
    """Amounts as kube-scheduler counts them; without those that are 0, unless they are to be kept."""
    found = {
        name: amount.milli_value() if name == CPU else amount.value() for name, amount in amounts.items()
    }
    return {name: count for name, count in found.items() if count or keep_zero}


def _sum(one: Counts, other: Counts) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one.keys() | other.keys()}


def needs_of(spec: Object, profile: Profile) -> PodNeeds:
    """What a pod needs beside devices, except for what depends on DeviceClasses.

    :param spec: the pod's spec (JSON), with or without the server's defaults.
    :raises QuantityError: if an amount is no quantity.
    """
    assumed = counted(requests_of(spec, profile, _ASSUMED))
    return PodNeeds(
        counted(requests_of(spec, profile)),
        assumed={name: assumed[name] for name in ASSUMED_REQUESTS if name in assumed},
        room=counted(room_of(spec, profile), keep_zero=True),
    )


def written(resource: str, count: int) -> str:
    """A count as a quantity."""
    if resource == CPU:
        return str(Quantity(count, -3, DECIMAL_SI))
    return str(Quantity(count, 0, BINARY_SI if resource in _BYTES else DECIMAL_SI))


class NodeResources:
    """What nodes have, and what pods on them have requested. Not for several threads."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._allocatable: dict[str, Counts] = {}
        self._used: dict[str, dict[str, int]] = {}
        #: the same for CPU and memory, with what is assumed for containers that request none
        self._assumed: dict[str, dict[str, int]] = {}
        #: the nodes that have other amounts left than before
        self.changes = NodeChanges()
        for node in nodes:
            self.put(node)

    def copy(self) -> NodeResources:
        """The same nodes with the same pods, to be changed independently."""
        return self.of(self._allocatable.keys() | self._used.keys())

    def of(self, names: Iterable[str]) -> NodeResources:
        """Some of the nodes with their pods, to be changed independently."""
        other = NodeResources()
        for name in names:
            if name in self._allocatable:
                other._allocatable[name] = self._allocatable[name]
            if name in self._used:
                other._used[name] = dict(self._used[name])
                other._assumed[name] = dict(self._assumed[name])
        return other

    @property
    def are_known(self) -> bool:
        """Whether any node says what it has."""
        return bool(self._allocatable)

    def put(self, node: Node) -> None:
        """Add a Node, or replace that of the same name; its pods stay."""
        name = node.name
        if node.allocatable:
            self._allocatable[name] = counted(node.allocatable)
        else:
            self._allocatable.pop(name, None)
        self.changes.note(name)

    def remove(self, name: str) -> None:
        """Take out a node with its pods."""
        self._allocatable.pop(name, None)
        self._used.pop(name, None)
        self._assumed.pop(name, None)
        self.changes.note(name)

    def lose(self, name: str) -> None:
        """Take out a node; its pods stay, which may be on it still when it is back."""
        self._allocatable.pop(name, None)
        self.changes.note(name)

    def take(self, name: str, needs: PodNeeds) -> None:
        """Put a pod on a node."""
        self._change(name, needs, 1)

    def give_back(self, name: str, needs: PodNeeds) -> None:
        """Take a pod from a node."""
        self._change(name, needs, -1)

    def provides(self, name: str, resource: str) -> bool:
        """Whether a node has an extended resource of a device plugin."""
        return self._allocatable.get(name, {}).get(resource, 0) > 0

    def providing(self, resource: str) -> list[str]:
        """The nodes with an extended resource of a device plugin."""
        return [name for name in self._allocatable if self.provides(name, resource)]

    @property
    def extended_resources(self) -> set[str]:
        """The extended resources that nodes have from device plugins."""
        return {
            name
            for allocatable in self._allocatable.values()
            for name, amount in allocatable.items()
            if "/" in name and amount > 0
        }

    def closed(self, needs: PodNeeds) -> set[str]:
        """The nodes that have too little left for a pod."""
        return {name for name in self._allocatable if any(self._shortages(name, needs))}

    def shortages(self, name: str, needs: PodNeeds) -> list[Shortage]:
        """What a node lacks for a pod."""
        return list(self._shortages(name, needs))

    def loads(self, name: str, needs: PodNeeds) -> tuple[Load, Load]:
        """What a node has of CPU and memory, and how much of it pods would take with this one."""
        has, used, assumed = (each.get(name, {}) for each in (self._allocatable, self._used, self._assumed))
        cpu, memory = (
            Load(
                has.get(resource, 0),
                used.get(resource, 0),
                needs.requests.get(resource, 0),
                assumed.get(resource, 0) + needs.assumed.get(resource, 0),
            )
            for resource in ASSUMED_REQUESTS
        )
        return cpu, memory

    def _shortages(self, name: str, needs: PodNeeds) -> Iterator[Shortage]:
        allocatable = self._allocatable.get(name)
        if allocatable is None:
            return
        used = self._used.get(name, {})
        others = sorted(set(needs.requests).difference(_FIRST))
        for resource in (*_FIRST, *others):
            wanted = 1 if resource == PODS else needs.requests.get(resource, 0)
            has = allocatable.get(resource, 0)
            if resource in needs.by_claim and has <= 0:
                continue
            if wanted > 0 and wanted > has - used.get(resource, 0):
                yield Shortage(resource, wanted, used.get(resource, 0), has)

    def _change(self, name: str, needs: PodNeeds, sign: int) -> None:
        used = self._used.setdefault(name, {})
        for resource, count in (*needs.requests.items(), (PODS, 1)):
            used[resource] = used.get(resource, 0) + sign * count
            if not used[resource]:
                del used[resource]
        assumed = self._assumed.setdefault(name, {})
        for resource, count in needs.assumed.items():
            assumed[resource] = assumed.get(resource, 0) + sign * count
        if not used:
            del self._used[name], self._assumed[name]
        self.changes.note(name)
