"""Objects, reviews and contexts that the tests share."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

from resourceapi.releases import Profile
from validation.server import Server
from webhook.context import Context

NOW = "2026-01-02T03:04:05Z"
ADMIN = {"resource.kubernetes.io/admin-access": "true"}


def claim(version: str = "v1", **exact: Any) -> dict[str, Any]:
    """A claim for one device of class gpu.example.com."""
    request = {"deviceClassName": "gpu.example.com", **exact}
    body = {"name": "main", **request} if version == "v1beta1" else {"name": "main", "exactly": request}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "team"},
        "spec": {"devices": {"requests": [body]}},
    }


def admission(
    object: dict[str, Any] | None, old: dict[str, Any] | None = None, *, subresource: str = "", **more: Any
) -> dict[str, Any]:
    """An AdmissionReview for the creation of an object, or its update if there is an old one."""
    about = object or old or {}
    group, _, version = about.get("apiVersion", "/").rpartition("/")
    metadata = about.get("metadata") or {}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": group, "version": version, "kind": about.get("kind", "")},
        "operation": "UPDATE" if object and old else "CREATE" if object else "DELETE",
        "subResource": subresource,
        "name": metadata.get("name", ""),
        "namespace": metadata.get("namespace", ""),
        "object": object,
        "oldObject": old,
        "userInfo": {"username": "jane", "groups": ["developers"]},
        **more,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": copy.deepcopy(request)}


def conversion(objects: list[Any], version: str) -> dict[str, Any]:
    """A ConversionReview that asks for objects in a version of the group."""
    request = {
        "uid": "1",
        "desiredAPIVersion": f"resource.k8s.io/{version}",
        "objects": copy.deepcopy(objects),
    }
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}


def server(*, release: str = "1.37", labels: dict[str, str] | None = None, **gates: bool) -> Server:
    """A server that knows one namespace, `team`."""
    namespaces = {"team": labels or {}}
    return Server(Profile(release, gates), namespaces=namespaces, now=lambda: NOW, verbatim=True)


def context(*, rules: bool = True, labels: dict[str, str] | None = None, **more: Any) -> Context:
    """A context with the API server's rules."""
    return Context(server=server(labels=labels), rules=rules, **more)


def patch_of(review: dict[str, Any]) -> list[dict[str, Any]]:
    """The operations in the answer of a mutating webhook."""
    response = review["response"]
    assert ("patch" in response) == (response.get("patchType") == "JSONPatch")
    operations: list[dict[str, Any]] = json.loads(base64.b64decode(response.get("patch", "W10=")))
    return operations


def apply(operations: list[dict[str, Any]], value: Any) -> Any:
    """A copy of the value with the operations (RFC 6902: add, remove, replace) applied."""
    root = {"": copy.deepcopy(value)}
    for operation in operations:
        keys = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")]
        owner: Any = root
        for key in keys[:-1]:
            owner = owner[int(key) if isinstance(owner, list) else key]
        last: Any = int(keys[-1]) if isinstance(owner, list) else keys[-1]
        exists = last < len(owner) if isinstance(owner, list) else last in owner
        assert exists != (operation["op"] == "add"), operation
        if operation["op"] == "remove":
            del owner[last]
        else:
            owner[last] = copy.deepcopy(operation["value"])
    return root[""]
