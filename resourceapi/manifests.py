"""Reading manifests of any version, also those with mistakes: what is not of the right type counts as absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resourceapi.field_errors import Path
from resourceapi.kinds import claim_spec_of
from resourceapi.model.workloads import POD_COUNTS, TEMPLATES
from resourceapi.objects import EMPTY, Object

POD_SPECS: dict[str, Path] = {
    "Pod": ("spec",),
    **{kind: (*template, "spec") for kind, template in TEMPLATES.items()},
}
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
#: What :func:`value_at` returns for a path that does not exist.
MISSING: Any = type("Missing", (), {"__repr__": lambda self: "<missing>"})()


def mapping(value: Any, *keys: str) -> dict[str, Any]:
    """The mapping at these keys, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else EMPTY


def entries(value: Any, key: str) -> list[Any]:
    """The list at a key, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def text(value: Any, key: str) -> str:
    """The text at a key, or an empty one."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def name_of(manifest: Any) -> str:
    """``metadata.name``, or an empty text."""
    return text(mapping(manifest, "metadata"), "name")


def uid_of(manifest: Any) -> str:
    """``metadata.uid``, or an empty text."""
    return text(mapping(manifest, "metadata"), "uid")


def full_name(namespace: str, name: str) -> str:
    """``namespace/name``, or the name of an object without a namespace."""
    return f"{namespace}/{name}" if namespace else name


def key_of(manifest: Any) -> str:
    """The full name of an object, by which collections look it up."""
    metadata = manifest.get("metadata") if isinstance(manifest, dict) else None
    if not isinstance(metadata, dict):
        return ""
    # as namespace_of and name_of, in less time: it is asked for each change, and for each claim of a pod
    namespace, name = metadata.get("namespace"), metadata.get("name")
    name = name if isinstance(name, str) else ""
    return f"{namespace}/{name}" if namespace and isinstance(namespace, str) else name


def labels_of(manifest: Any) -> dict[str, str]:
    """The labels of an object."""
    labels = mapping(manifest, "metadata", "labels")
    return {str(key): value for key, value in labels.items() if isinstance(value, str)}


def displayed_name(manifest: Any) -> str:
    """``metadata.name``, or ``metadata.generateName`` with an asterisk for what the server will append."""
    metadata = mapping(manifest, "metadata")
    prefix = text(metadata, "generateName")
    return text(metadata, "name") or (f"{prefix}*" if prefix else "")


def namespace_of(manifest: Any, default: str) -> str:
    """``metadata.namespace``, or the default for a manifest that does not name one."""
    return text(mapping(manifest, "metadata"), "namespace") or default


def group_of(manifest: Any) -> str:
    """The API group; empty for the core group."""
    return text(manifest, "apiVersion").rpartition("/")[0]


def pod_count(manifest: Any) -> int:
    """How many pods a workload runs at a time: 1 unless a field says so, also for a DaemonSet, which depends on nodes."""
    count = mapping(manifest, "spec").get(POD_COUNTS.get(text(manifest, "kind"), ""), 1)
    return max(count, 0) if isinstance(count, int) else 1


def existing_pods(manifest: Any) -> int:
    """How many pods a workload has, as its status says; 0 if it does not."""
    status = mapping(manifest, "status")
    counts = (status.get(field, 0) for field in ("replicas", "active"))
    return max((count for count in counts if isinstance(count, int)), default=0)


def has_ended(pod: Any) -> bool:
    """Whether a pod is over: then it holds nothing of its node, and counts against no quota but as an object."""
    return text(mapping(pod, "status"), "phase") in ("Succeeded", "Failed")


def claim_from_template(template: Any, namespace: str, name: str) -> Object:
    """The ResourceClaim that kube-controller-manager creates for a pod from a ResourceClaimTemplate."""
    spec = mapping(template, "spec")
    metadata = {**mapping(spec, "metadata"), "namespace": namespace, "name": name}
    return {"metadata": metadata, "spec": mapping(spec, "spec")}


def claim_devices(manifest: Any) -> tuple[Path, dict[str, Any]]:
    """Where a claim or template has its ``devices``, and what they are."""
    path = (*(claim_spec_of(text(manifest, "kind")) or ("spec",)), "devices")
    return path, mapping(manifest, *path)


def request_details(manifest: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """All exact requests and all subrequests of a claim or template of any version.

    :returns: pairs of the path and the request's fields.
    """
    path, devices = claim_devices(manifest)
    for index, request in enumerate(entries(devices, "requests")):
        if not isinstance(request, dict):
            continue
        place = (*path, "requests", index)
        subrequests = entries(request, "firstAvailable")
        for position, subrequest in enumerate(subrequests):
            if isinstance(subrequest, dict):
                yield (*place, "firstAvailable", position), subrequest
        exactly = request.get("exactly")
        if isinstance(exactly, dict):
            yield (*place, "exactly"), exactly
        elif not subrequests:
            yield place, request


def has_alternatives(manifest: Any) -> bool:
    """Whether any request of a claim or template has more than one alternative."""
    _, devices = claim_devices(manifest)
    return any(len(entries(request, "firstAvailable")) > 1 for request in entries(devices, "requests"))


def request_names(manifest: Any) -> frozenset[str]:
    """The names of a claim's requests, without those of subrequests."""
    _, devices = claim_devices(manifest)
    return frozenset(text(request, "name") for request in entries(devices, "requests"))


def pod_spec(manifest: Any) -> tuple[Path, dict[str, Any]]:
    """Where an object has the spec of a pod, and that spec; empty for kinds without."""
    path = POD_SPECS.get(text(manifest, "kind"), ())
    return path, mapping(manifest, *(str(key) for key in path)) if path else EMPTY


def containers(spec: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The containers of a pod's spec with their paths in it."""
    for kind in CONTAINERS:
        for index, container in enumerate(entries(spec, kind)):
            if isinstance(container, dict):
                yield (kind, index), container


def devices_of(manifest: Any) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The devices of a ResourceSlice, without v1beta1's ``basic`` around them."""
    for index, device in enumerate(entries(mapping(manifest, "spec"), "devices")):
        if isinstance(mapping(device).get("basic"), dict):
            yield ("spec", "devices", index, "basic"), device["basic"]
        elif isinstance(device, dict):
            yield ("spec", "devices", index), device


def value_at(value: Any, path: Path) -> Any:
    """The value at a path of plain data, or MISSING."""
    for segment in path:
        if isinstance(segment, int):
            if not isinstance(value, list) or segment >= len(value):
                return MISSING
            value = value[segment]
        else:
            if not isinstance(value, dict) or segment not in value:
                return MISSING
            value = value[segment]
    return value
