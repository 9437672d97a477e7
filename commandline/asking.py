"""Asking the server about manifests, whether somebody wrote them or a cluster has stored them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from resourceapi.kinds import KINDS
from resourceapi.objects import Object
from resourceapi.releases import split_api_version
from validation.requests import Answer, Request

if TYPE_CHECKING:
    from commandline.treatment import Manifest
    from validation.server import Server

# Set by the server; a request to create an object has none of them.
_OF_STORAGE = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")
# Where workloads say how many pods they want at a time; a DaemonSet's depends on the nodes.
COPIES = {
    "Deployment": "replicas",
    "StatefulSet": "replicas",
    "ReplicaSet": "replicas",
    "ReplicationController": "replicas",
    "Job": "parallelism",
}


def answer_to_create(server: Server, manifest: Manifest, default_namespace: str) -> Answer:
    """What the server answers when the object is created."""
    value = manifest.value
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        kept = {key: item for key, item in metadata.items() if key not in _OF_STORAGE}
        value = {**value, "metadata": kept}
    kind = KINDS.get(value["kind"])
    request = Request(
        api_version=value["apiVersion"],
        kind=value["kind"],
        namespace=""
        if kind is not None and not kind.namespaced
        else namespace_of(manifest, default_namespace),
        body=value,
    )
    return server.handle(request)


def namespace_of(manifest: Manifest, default: str) -> str:
    """The namespace that the object names, or the default."""
    metadata = manifest.value.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    return namespace if isinstance(namespace, str) and namespace else default


def group_of(manifest: Manifest) -> str:
    """The API group of the object; the core group is empty."""
    return split_api_version(manifest.value["apiVersion"])[0]


def name_of(value: Object) -> str:
    """An object's name; of one whose name the server makes, the prefix with an asterisk."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return ""
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if isinstance(name, str) and name:
        return name
    return f"{prefix}*" if isinstance(prefix, str) else ""
