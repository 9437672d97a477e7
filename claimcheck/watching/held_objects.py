"""What is held of each object: the fields that scheduling depends on, and that answers name.

What else an object has costs nothing, however large it is (other annotations, managedFields, images of nodes, environments of
containers, parameters for drivers), and nothing is looked at again when it changes, as the heartbeats of nodes do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from claimcheck.answers.cluster_state import IGNORE, LONGEST_IGNORE, managers_of_deprecated
from cluster.group_snapshots import may_be_snapshot
from cluster.live_objects import Resource
from resourceapi.deep_json import most_bytes
from resourceapi.kind import Kind
from resourceapi.kinds import KINDS, claim_spec_of
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES, MIN_BYTES, POD_CLAIM_NAME

_Fields = Mapping[str, Any]
"""Names of fields, each with the fields that are held of it, or of each entry if it is a list; with None for all of it."""


def _all(*names: str, **parts: _Fields) -> _Fields:
    return MappingProxyType({**dict.fromkeys(names), **parts})


_METADATA = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "ownerReferences")
_ANNOTATIONS = MappingProxyType({"annotations": _all(POD_CLAIM_NAME, FOR_EXTENDED_RESOURCES, IGNORE)})
_SILENCING = MappingProxyType({"annotations": _all(IGNORE)})
_MOST_OWNERS = 16
_WITH_LABELS = _all(*_METADATA, "labels")
_CONTAINERS = _all("name", "resources", "restartPolicy")
_POD_STATUSES = (
    "phase",
    "startTime",
    "nominatedNodeName",
    "resourceClaimStatuses",
    "extendedResourceClaimStatus",
)
_CONDITIONS = _all("type", "status", "reason", "message")
_POD = _all(
    metadata=_all(*_METADATA, labels=_all("pod-template-hash"), **_SILENCING),
    spec=_all(
        *("nodeName", "schedulerName", "priority", "resourceClaims", "schedulingGates", "schedulingGroup"),
        *("resources", "overhead", "nodeSelector", "affinity", "tolerations", "topologySpreadConstraints"),
        containers=_CONTAINERS,
        initContainers=_CONTAINERS,
    ),
    status=_all(*_POD_STATUSES, "nodeAllocatableResourceClaimStatuses", conditions=_CONDITIONS),
)
_CLAIM_SPEC = _all(devices=_all("requests", "constraints"))
_FIELDS: Mapping[str, _Fields] = {
    "Namespace": _all(metadata=_WITH_LABELS),
    "Node": _all(
        metadata=_WITH_LABELS,
        spec=_all("taints", "unschedulable"),
        status=_all("declaredFeatures", "allocatable", "capacity"),
    ),
    "Pod": _POD,
    "ResourceClaim": _all(
        metadata=_all(*_METADATA, **_ANNOTATIONS),
        spec=_CLAIM_SPEC,
        status=_all(
            "reservedFor",
            allocation=_all("nodeSelector", "allocationTimestamp", devices=_all("results", "config")),
            devices=_all("driver", "pool", "device", "shareID", "conditions"),
        ),
    ),
    "ResourceClaimTemplate": _all(metadata=_all(*_METADATA), spec=_all(spec=_CLAIM_SPEC)),
}
_OTHERS = _all("spec", "status", metadata=_all(*_METADATA, **_SILENCING))
#: What a pod on a node does not need any more: it is not placed.
_OF_WAITING = ("nodeSelector", "affinity", "tolerations", "topologySpreadConstraints")


def held_of(resource: Resource, item: Object) -> Object:
    """What is held of an object of a list, with its kind and version."""
    held = _picked(item, _FIELDS.get(resource.kind, _OTHERS))
    _shorten_metadata(mapping(held, "metadata"))
    if resource.kind in KINDS:
        _hold_writers(KINDS[resource.kind], held, item)
    if resource.kind == "Pod":
        _shorten_pod(held)
    if resource.kind == "ResourceClaim":
        _shorten_allocation(mapping(held, "status", "allocation", "devices"))
    return {**held, "apiVersion": resource.api_version, "kind": resource.kind}


def without_devices(kind: str, held: Object) -> tuple[Object, Object | None]:
    """What is held of a claim or template, and what it asks for apart from that if it is long; None for all others."""
    path = claim_spec_of(kind)
    devices = mapping(held, *path, "devices") if path is not None else {}
    if path is None or most_bytes(devices) < MIN_BYTES:
        return held, None
    spec: Object = {**mapping(held, *path), "devices": {}}
    for name in reversed(path[1:]):
        spec = {name: spec}
    return {**held, path[0]: spec}, devices


def _picked(value: Any, fields: _Fields | None) -> Any:
    if fields is None:
        return value
    if isinstance(value, list):
        return [_picked(each, fields) for each in value]
    if not isinstance(value, dict):
        return value
    return {name: _picked(value[name], inside) for name, inside in fields.items() if name in value}


def _shorten_metadata(metadata: Object) -> None:
    """Hold the owner that makes an object again, and few others: there may be a megabyte of them. So may be what is ignored."""
    annotations = mapping(metadata, "annotations")
    if ignored := text(annotations, IGNORE)[:LONGEST_IGNORE]:
        annotations[IGNORE] = ignored
    owners = entries(metadata, "ownerReferences")
    if len(owners) > _MOST_OWNERS:
        controllers = [each for each in owners if mapping(each).get("controller") is True]
        metadata["ownerReferences"] = [*controllers, *owners][:_MOST_OWNERS]


def _hold_writers(kind: Kind, held: Object, item: Object) -> None:
    """Hold who writes an object in a deprecated version: of most objects nobody does."""
    writers = [_picked(each, _all("apiVersion", "manager")) for each in managers_of_deprecated(kind, item)]
    if writers:
        mapping(held, "metadata")["managedFields"] = writers


def _shorten_pod(held: Object) -> None:
    spec, status = mapping(held, "spec"), mapping(held, "status")
    for kind in ("containers", "initContainers"):
        for each in entries(spec, kind):
            if isinstance(each, dict):
                each["image"] = "-"  # every container has one, and nothing depends on which
    if spec.get("nodeName"):
        for part, names in ((spec, _OF_WAITING), (status, ("conditions",))):
            for name in part.keys() & set(names):
                del part[name]


def _shorten_allocation(devices: Object) -> None:
    """Hold of what classes and claims configure only the snapshots of compatibility groups."""
    if "config" in devices:
        devices["config"] = [
            each for each in entries(devices, "config") if isinstance(each, dict) and may_be_snapshot(each)
        ]
