"""Short ways to write ResourceSlicePatches."""

from __future__ import annotations

from typing import Any

from resourceapi.objects import Object
from resourceapi.records.taints import DeviceTaintRule, read_taint_rule
from tests.allocator.objects import decoded


def patch(
    name: str = "patch",
    filter: Object | None = None,
    *,
    selectors: tuple[str, ...] = (),
    priority: int | None = None,
    created: str | None = None,
    attributes: Object | None = None,
    capacity: Object | None = None,
) -> Object:
    """A patch in normal form; attributes may be given as plain values, None removes one; capacities as texts."""
    devices: Object = {"filter": dict(filter or {})}
    if selectors:
        devices["filter"]["selectors"] = [{"cel": {"expression": each}} for each in selectors]
    if priority is not None:
        devices["priority"] = priority
    if attributes:
        devices["attributes"] = {each: attribute(value) for each, value in attributes.items()}
    if capacity:
        devices["capacity"] = {
            each: value if isinstance(value, dict) else {"value": value} for each, value in capacity.items()
        }
    metadata: Object = {"name": name}
    if created is not None:
        metadata["creationTimestamp"] = created
    return decoded("ResourceSlicePatch", {"metadata": metadata, "spec": {"devices": devices}})


def attribute(value: Any) -> Object:
    """An attribute of a plain value."""
    if value is None:
        return {"null": {}}
    if isinstance(value, dict):
        return value
    if isinstance(value, list):
        return {"strings": value}
    return {{bool: "bool", int: "int"}.get(type(value), "string"): value}


def rule(name: str, selector: Object | None, key: str = "k") -> DeviceTaintRule:
    """A DeviceTaintRule; without a selector it is about no device."""
    spec: Object = {"taint": {"key": key, "effect": "NoSchedule"}}
    if selector is not None:
        spec["deviceSelector"] = selector
    return read_taint_rule(decoded("DeviceTaintRule", {"metadata": {"name": name}, "spec": spec}))
