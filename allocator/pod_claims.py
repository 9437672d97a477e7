"""The claims of a pod, node by node: by extended resources it may claim devices on some nodes and none on others."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import nsmallest
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from allocator.node_resources import NodeResources, PodNeeds
from allocator.results import only_node_of
from allocator.rules.standing import declares_node_operations
from resourceapi import times
from resourceapi.manifests import entries, mapping
from resourceapi.model.claims import EXACT_COUNT
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.quantity import from_json
from resourceapi.records.claims import Claim
from resourceapi.records.classes import IMPLICIT_PREFIX, DeviceClass
from resourceapi.records.nodes import Node
from validation.pod_resources import container_requests, is_extended


class ClaimsOnNodes(NamedTuple):
    """What a pod claims on some nodes, where that differs from what it claims elsewhere."""

    nodes: Collection[str]
    claims: Sequence[Claim]


class ClaimsOnNode(NamedTuple):
    """A pod's claims that are to be allocated, those that are, and what these ask of nodes.

    :param selectors: their node selectors.
    :param skips_operations: whether a device of theirs needs a node that can leave out operations.
    """

    unallocated: Sequence[Claim]
    allocated: Sequence[Claim]
    selectors: Sequence[Object]
    skips_operations: bool = False

    @classmethod
    def of(cls, claims: Sequence[Claim]) -> ClaimsOnNode:
        """Those of a pod."""
        unallocated = [each for each in claims if each.allocation is None]
        if len(unallocated) == len(claims):
            return cls(unallocated, (), ())
        held = [each.allocation.node_selector for each in claims if each.allocation is not None]
        allocated = [each for each in claims if each.allocation is not None]
        skips = any(each.object.get("skipNodeOperations") for claim in allocated for each in claim.results)
        return cls(unallocated, allocated, [selector for selector in held if selector is not None], skips)

    @property
    def choose_nodes(self) -> bool:
        """Whether allocated claims may not be available on some nodes."""
        return bool(self.selectors) or self.skips_operations

    @property
    def only_node(self) -> str | None:
        """The node that an allocated claim keeps the pod to, if all are allocated and one of them does."""
        if self.unallocated:
            return None
        return next((name for each in self.selectors if (name := only_node_of(each)) is not None), None)

    def is_away_from(self, node: Node) -> bool:
        """Whether an allocated claim is not available on a node."""
        if self.skips_operations and not declares_node_operations(node):
            return True
        return not all(selects(selector, node) for selector in self.selectors)


class PodClaims:
    """A pod's claims on each node: `on` some by their names, and `elsewhere`."""

    __slots__ = ("elsewhere", "on")

    def __init__(self, claims: Sequence[Claim], instead: Sequence[ClaimsOnNodes]) -> None:
        self.elsewhere = ClaimsOnNode.of(claims)
        self.on: dict[str, ClaimsOnNode] = {}
        for each in instead:
            self.on.update(dict.fromkeys(each.nodes, ClaimsOnNode.of(each.claims)))

    @property
    def are_new(self) -> bool:
        """Whether all are to be allocated, the same on all nodes."""
        return not self.on and not self.elsewhere.allocated


# The claim that kube-scheduler makes for a pod that asks for devices by extended resources (KEP-5004).
# It has a request for each container and resource. Containers that run before the others end use the same
# devices; sidecars keep running. A node with a device plugin for a resource serves it as ever, so the
# claim differs from node to node.

CLAIM_SUFFIX = "-extended-resources"
_REQUEST_NAME = re.compile(r"container-(\d+)-request-(\d+)")


class Request(NamedTuple):
    """A request of the claim for one container and resource."""

    name: str
    device_class: str
    devices: int

    @property
    def as_object(self) -> Object:
        """The request in v1, normal form."""
        details = {"deviceClassName": self.device_class, "allocationMode": EXACT_COUNT, "count": self.devices}
        return {"name": self.name, "exactly": details}


class Use(NamedTuple):
    """What a container uses for a resource: a request of the claim, in whole or in part."""

    container: str
    resource: str
    request: str

    @property
    def as_object(self) -> Object:
        """The same as an entry of the pod's ``status.extendedResourceClaimStatus.requestMappings``."""
        return {
            "containerName": self.container,
            "resourceName": self.resource,
            "requestName": self.request,
        }


class ClaimOnNodes(NamedTuple):
    """The claim that a pod needs on some nodes; None where device plugins have all that it asks for."""

    nodes: frozenset[str]
    claim: Claim | None


def asks_for_devices(resource: str) -> bool:
    """Whether a resource can stand for a DeviceClass."""
    return is_extended(resource) or resource.startswith(IMPLICIT_PREFIX)


def extended_resources_of(pod_spec: Object) -> set[str]:
    """The resources that a pod's containers ask for and that can stand for a DeviceClass, also of a pod with mistakes."""
    names = {
        name
        for kind in ("initContainers", "containers")
        for container in entries(pod_spec, kind)
        for part in ("requests", "limits")
        for name, amount in mapping(container, "resources", part).items()
        if amount not in (0, "0")
    }
    return {name for name in names if "/" in name and asks_for_devices(name)}


def classes_by_resource(classes: Iterable[DeviceClass]) -> dict[str, str]:
    """The class that stands for each extended resource: of several that share a name, the newest.

    :param classes: DeviceClasses; of those of the same age, the first by name counts.
    """
    found: dict[str, str] = {}
    for each in sorted(
        sorted(classes, key=attrgetter("name")), key=lambda each: times.age(each.created), reverse=True
    ):
        found.setdefault(IMPLICIT_PREFIX + each.name, each.name)
        if each.extended_resource:
            found.setdefault(each.extended_resource, each.name)
    return found


#: Of more requests no claim is made: of those beyond these nothing is looked at.
MOST_REQUESTS = 1_000


class ExtendedRequests:
    """What the containers of a pod request of resources that DeviceClasses stand for, read once for all nodes."""

    def __init__(self, pod_spec: Object, by_class: Mapping[str, str]) -> None:
        """Read the containers.

        :param by_class: the class that stands for each resource.
        """
        self._served = _served(pod_spec, by_class)

    def claim(self, pod_name: str, namespace: str, without: Collection[str] = ()) -> Claim | None:
        """The claim that kube-scheduler makes for the pod; None if it asks for no devices by extended resources.

        :param without: resources that the node has from device plugins.
        """
        parts = [each.first for name, each in self._served.items() if name not in without]
        requests = nsmallest(MOST_REQUESTS, chain.from_iterable(parts))
        if not requests:
            return None
        return Claim(
            {
                "metadata": {"name": f"{pod_name}{CLAIM_SUFFIX}", "namespace": namespace},
                "spec": {"devices": {"requests": [each.as_object for each in requests]}},
            }
        )

    def uses(self, without: Collection[str] = ()) -> list[Use]:
        """Which containers use which requests of the claim, in the order in which kube-scheduler writes it down.

        A container that ends before others begin uses what each of them gets, so there may be as many as the square of the containers.
        """
        parts = [each.uses(name) for name, each in self._served.items() if name not in without]
        return list(chain.from_iterable(parts))

    @cached_property
    def number(self) -> int:
        """How many containers ask for resources, each counted once for each of them."""
        return sum([len(each.users) for each in self._served.values()])


def claim_for(
    pod_name: str,
    namespace: str,
    pod_spec: Object,
    by_class: Mapping[str, str],
    without: Collection[str] = (),
) -> Claim | None:
    """The claim that kube-scheduler makes for a pod; parameters as of :class:`ExtendedRequests`."""
    return ExtendedRequests(pod_spec, by_class).claim(pod_name, namespace, without)


def origins(pod_spec: Object, claim: Claim) -> dict[str, str]:
    """What each request of the claim is made for, by name: `the limit of example.com/gpu of container main`."""
    described = list(_all_containers(pod_spec))
    found = {}
    for request in claim.devices.requests:
        match = _REQUEST_NAME.fullmatch(request.name)
        if match is not None and int(match[1]) < len(described):
            container = described[int(match[1])]
            resource = sorted(container_requests(container))[int(match[2])]
            found[request.name] = f"the limit of {resource} of container {container.get('name', '')}"
    return found


def claims_by_nodes(
    pod_name: str,
    namespace: str,
    pod_spec: Object,
    needs: PodNeeds,
    by_class: Mapping[str, str],
    resources: NodeResources,
) -> list[ClaimOnNodes]:
    """The claims on the nodes that have some of a pod's extended resources from device plugins."""
    had: dict[str, set[str]] = {}
    for resource in sorted(needs.by_claim):
        for node in resources.providing(resource):
            had.setdefault(node, set()).add(resource)
    grouped: dict[frozenset[str], list[str]] = {}
    for node, names in had.items():
        grouped.setdefault(frozenset(names), []).append(node)
    asked = ExtendedRequests(pod_spec, by_class)
    return [
        ClaimOnNodes(frozenset(nodes), asked.claim(pod_name, namespace, names))
        for names, nodes in grouped.items()
    ]


def _all_containers(pod_spec: Object) -> list[Object]:
    return [*(pod_spec.get("initContainers") or ()), *(pod_spec.get("containers") or ())]


class _User(NamedTuple):
    """A container that wants a resource.

    :param place: that of the container in the pod.
    :param nth: that of the resource among its requests.
    """

    place: int
    name: str
    keeps_running: bool
    nth: int
    wanted: int

    def request(self, device_class: str, count: int) -> Request:
        """A request of the claim; its name has both places."""
        return Request(f"container-{self.place}-request-{self.nth}", device_class, count)


class _Served(NamedTuple):
    """How the containers that want a resource get it.

    :param own: the requests of those that keep running.
    :param largest: that of the container, of those that end before others begin, which lacks most: it uses, as these do, what
        the others get after it.
    :param first: those of both that come first in the claim.
    """

    users: list[_User]
    own: list[tuple[_User, Request]]
    largest: Request | None
    first: list[Request]

    @classmethod
    def of(cls, users: list[_User], device_class: str) -> _Served:
        """For one resource."""
        own, largest, after = [], None, 0
        for each in reversed(users):
            if each.keeps_running:
                own.append((each, each.request(device_class, each.wanted)))
                after += each.wanted
            elif each.wanted > after and (largest is None or each.wanted - after >= largest.devices):
                largest = each.request(device_class, each.wanted - after)
        requests = [request for _, request in own] + ([] if largest is None else [largest])
        return cls(users, own[::-1], largest, nsmallest(MOST_REQUESTS, requests))

    def uses(self, resource: str) -> Iterator[Use]:
        """Those that keep running come first; the others use what they need of what these get after them."""
        for each, request in self.own:
            yield Use(each.name, resource, request.name)
        for each in self.users:
            if each.keeps_running:
                continue
            missing = each.wanted
            for later, request in self.own:
                if missing <= 0:
                    break
                if later.place > each.place:
                    yield Use(each.name, resource, request.name)
                    missing -= request.devices
            if missing > 0 and self.largest is not None:
                yield Use(each.name, resource, self.largest.name)


def _served(pod_spec: Object, by_class: Mapping[str, str]) -> dict[str, _Served]:
    """How each resource is served that a class stands for, in order; each container is looked at once."""
    users: dict[str, list[_User]] = {}
    first = len(pod_spec.get("initContainers") or ())
    for place, container in enumerate(_all_containers(pod_spec)):
        requests, limits = (mapping(container, "resources", part) for part in ("requests", "limits"))
        amounts = {**limits, **requests}  # what a container requests once the server has stored its pod
        asked = amounts.keys() & by_class.keys()
        names = sorted(amounts) if asked else []
        for resource in asked:
            wanted = from_json(amounts[resource]).value()
            if wanted:
                keeps_running = place >= first or container.get("restartPolicy") == "Always"
                nth = bisect_left(names, resource)
                users.setdefault(resource, []).append(
                    _User(place, container.get("name", ""), keeps_running, nth, wanted)
                )
    return {name: _Served.of(users[name], by_class[name]) for name in sorted(users)}
