"""The AllocationResult of a claim, as kube-scheduler writes it into the claim's status."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from allocator.attempt_state import Taken
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from allocator.features import Features
from resourceapi.json_text import Raw
from resourceapi.manifests import mapping
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import Allocation, Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node


def allocation_result(
    claim: ClaimDemand, taken: Sequence[Taken], node: Node, features: Features, share_id: Callable[[], str]
) -> Object:
    """An AllocationResult of v1 in normal form; `share_id` makes the ID of a share."""
    picks = [(place, 0) for place in range(len(taken))]
    template = ResultTemplate(claim, taken, picks, features)
    return template.result([[device] for device, _, _ in taken], only_on(node.name), share_id)


def _device_result(taken: Taken, features: Features) -> Object:
    """What is known of a device's result before it gets the ID of its share."""
    device, alternative = taken.device, taken.alternative
    result: Object = {
        "request": alternative.name,
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.device,
    }
    if alternative.admin_access:
        result["adminAccess"] = True
    if alternative.tolerations and features.minor >= (36 if features.stable else 35):
        result["tolerations"] = list(alternative.tolerations)
    if features.binding_conditions:
        for name in ("bindingConditions", "bindingFailureConditions"):
            if device.spec.get(name):
                result[name] = device.spec[name]
    if taken.capacity is not None:
        result["shareID"] = ""
        if taken.capacity:
            result["consumedCapacity"] = dict(taken.capacity)
    if features.compatibility_groups and features.group_snapshots and device.groups:
        result["compatibilityGroups"] = {name: sorted(groups) for name, groups in device.groups.items()}
    if device.slice.skips and features.knows_node_operations:
        result["skipNodeOperations"] = device.slice.skips
    return result


def _chosen(claim: ClaimDemand, taken: Sequence[Taken]) -> list[Alternative]:
    """The alternative that serves each request. One that is served without any device is the first."""
    served = {each.alternative.main: each.alternative for each in reversed(taken)}
    return [served.get(request.name, request.alternatives[0]) for request in claim.requests]


def _class_config(chosen: Sequence[Alternative]) -> list[Object]:
    """The configuration of each class once, for all requests that use the class."""
    requests: dict[str, list[str]] = {}
    classes: dict[str, DeviceClass] = {}
    for alternative in chosen:
        name = alternative.device_class.name
        classes[name] = alternative.device_class
        requests.setdefault(name, []).append(alternative.name)
    return [
        {"source": "FromClass", "requests": requests[name], **_parameters(entry)}
        for name, device_class in classes.items()
        for entry in device_class.config
    ]


def _claim_config(claim: ClaimDemand, chosen: Sequence[Alternative], features: Features) -> list[Object]:
    """The claim's own configuration, as far as it is for all requests, for one of them or for a chosen alternative."""
    found = []
    for entry in claim.config:
        requests = entry.get("requests") or []
        times = sum(each.main in requests or each.name in requests for each in chosen) if requests else 1
        if features.minor < 33:
            times = 1  # whatever it is for
        elif features.minor >= 37:
            times = min(times, 1)  # releases before repeat it for each of the requests
        found += [{"source": "FromClaim", "requests": requests, **_parameters(entry)}] * times
    return found


def _parameters(entry: Object) -> Object:
    return {"opaque": entry["opaque"]} if "opaque" in entry else {}


def _without_needless_requests(entry: Object, chosen: Iterable[Alternative], features: Features) -> Object:
    """No requests means all of them, and is used where all of them are listed, which releases before 1.37 leave."""
    requests = entry["requests"]
    if not requests or (
        features.minor >= 37
        and all(alternative.main in requests or alternative.name in requests for alternative in chosen)
    ):
        return {name: value for name, value in entry.items() if name != "requests"}
    return entry


def _shared_selector(taken: Sequence[Taken]) -> Object | None:
    """The nodes on which all devices can be used that are not for one node only; None if those are all nodes."""
    fields: _Requirements = {}
    expressions: _Requirements = {}
    selectors = [device.placement.get("nodeSelector") or EMPTY for device, _, _ in taken]
    for selector in {id(each): each for each in selectors}.values():  # devices of a slice have one
        for term in selector.get("nodeSelectorTerms") or ():
            _add_new(fields, term.get("matchFields") or ())
            _add_new(expressions, term.get("matchExpressions") or ())
    term = {}
    if expressions:
        term["matchExpressions"] = list(expressions.values())
    if fields:
        term["matchFields"] = list(fields.values())
    return {"nodeSelectorTerms": [term]} if term else None


def _is_bound(taken: Iterable[Taken], features: Features) -> bool:
    """Whether a device can be used on one node only."""
    return any(
        "nodeName" in device.placement or (device.spec.get("bindsToNode") is True and not features.basic)
        for device, _, _ in taken
    )


def places_of(claim: Claim, allocation: Allocation | None) -> list[int]:
    """How far down its list each alternative is that a claim gets with an allocation; nothing without one."""
    if allocation is None:
        return []
    taken = {each.request for each in allocation.results}
    return [
        next((place for place in range(len(each.alternatives)) if each.name_of(place) in taken), 0)
        for each in claim.devices.requests
        if each.is_list
    ]


def only_on(name: str) -> Object:
    """A node selector for one node."""
    requirement = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeSelectorTerms": [{"matchFields": [requirement]}]}


def only_node_of(selector: Object) -> str | None:
    """The node of a selector that :func:`only_on` has made, or kube-scheduler; None for others."""
    try:
        (term,) = selector["nodeSelectorTerms"]
        (requirement,) = term["matchFields"]
        (name,) = requirement["values"]
    except (KeyError, ValueError):
        return None
    return name if selector == only_on(name) else None


_Requirements = dict[tuple[object, ...], Object]
"""Requirements of a node selector, in order, by what tells them apart: a slice may have tens of thousands."""


def _add_new(requirements: _Requirements, more: Iterable[Object]) -> None:
    """Adds requirements that are not there yet; the order of their values does not matter."""
    for requirement in more:
        requirements.setdefault(_signature(requirement), requirement)


def _signature(requirement: Object) -> tuple[object, ...]:
    return (
        requirement.get("key", ""),
        requirement.get("operator", ""),
        frozenset(requirement.get("values") or ()),
    )


_TEMPLATE_BYTES, _DEVICE_BYTES = 400, 420

Pick = tuple[int, int]
"""A device by its place: which of the pools that the node sees, which device of the pool."""


def is_ordinary(taken: Taken) -> bool:
    """Whether the device has nothing to say in a result but who it is: it is on a node, and all of it is taken."""
    device = taken.device
    return (
        taken.capacity is None
        and not device.groups
        and not device.slice.skips
        and "nodeName" in device.slice.spec
        and not device.slice.per_device
        and "bindingConditions" not in device.spec
        and "bindingFailureConditions" not in device.spec
    )


class ResultTemplate:
    """What the results of a claim on nodes that serve it alike have in common.

    The results share parts, which must not be changed.
    """

    __slots__ = ("_config", "_devices", "_is_bound", "_selector", "places")

    @property
    def config_bytes(self) -> int:
        """How long the parameters of drivers are in it, which are those of the claim."""
        found = [mapping(each, "opaque").get("parameters") for each in self._config]
        return sum([len(each.source) for each in found if isinstance(each, Raw)])

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        return _TEMPLATE_BYTES + _DEVICE_BYTES * len(self._devices)

    def __init__(
        self, claim: ClaimDemand, taken: Sequence[Taken], picks: Sequence[Pick], features: Features
    ) -> None:
        """`taken`: on one of the nodes, `picks`: the places of those devices."""
        self._devices = [
            (_device_result(each, features), *pick) for each, pick in zip(taken, picks, strict=True)
        ]
        chosen = _chosen(claim, taken)
        #: how far down its list each alternative is, for the requests that have a list
        self.places = [
            request.alternatives.index(alternative)
            for request, alternative in zip(claim.requests, chosen, strict=True)
            if request.is_list
        ]
        config = [*_class_config(chosen), *_claim_config(claim, chosen, features)]
        self._config = [_without_needless_requests(entry, chosen, features) for entry in config]
        self._is_bound = _is_bound(taken, features)
        self._selector = None if self._is_bound else _shared_selector(taken)

    def result(self, pools: Sequence[Sequence[Device]], only: Object, share_id: Callable[[], str]) -> Object:
        """The AllocationResult on a node whose pools have these devices, and which has this node selector to itself.

        `share_id` makes the ID of a share.
        """
        devices: Object = {}
        if self._devices:
            devices["results"] = results = []
            for common, pool, place in self._devices:
                device = pools[pool][place].id
                result = {**common, "pool": device.pool, "device": device.device}
                if "shareID" in common:
                    result["shareID"] = share_id()
                results.append(result)
        if self._config:
            devices["config"] = self._config
        if self._is_bound:
            return {"devices": devices, "nodeSelector": only}
        if self._selector is None:
            return {"devices": devices}
        return {"devices": devices, "nodeSelector": self._selector}
