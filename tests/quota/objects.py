"""Objects as the server stores them, in short."""

from __future__ import annotations

from typing import Any

from resourceapi.objects import Object


def exactly(name: str, device_class: str, count: int | None = 1, mode: str = "ExactCount") -> Object:
    """A request without alternatives."""
    return {"name": name, "exactly": _details(device_class, count, mode)}


def alternative(name: str, device_class: str, count: int | None = 1, mode: str = "ExactCount") -> Object:
    """A subrequest."""
    return {"name": name, **_details(device_class, count, mode)}


def first_of(name: str, *alternatives: Object) -> Object:
    """A request with alternatives."""
    return {"name": name, "firstAvailable": list(alternatives)}


def claim(*requests: Object, name: str = "c", **metadata: Any) -> Object:
    return {"metadata": {"name": name, **metadata}, "spec": {"devices": {"requests": list(requests)}}}


def pod(*containers: Object, name: str = "p", **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"containers": list(containers), **spec}}


def container(requests: Object | None = None, limits: Object | None = None, **more: Any) -> Object:
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}, **more}


def device_class(name: str, extended_resource: str = "") -> Object:
    spec = {"extendedResourceName": extended_resource} if extended_resource else {}
    return {"metadata": {"name": name}, "spec": spec}


def _details(device_class: str, count: int | None, mode: str) -> Object:
    details: Object = {"deviceClassName": device_class, "allocationMode": mode}
    return details if count is None else {**details, "count": count}
