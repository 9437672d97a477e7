"""ResourceSlice with named resources → ResourceSlice of v1 with devices."""

from __future__ import annotations

from typing import Any

from classic.migration.context import Context
from classic.migration.expressions import ExpressionError, attribute_name
from classic.migration.objects import migrated_metadata
from classic.migration.remarks import CannotMigrate, items, members, string
from resourceapi import limits
from resourceapi.field_errors import Path
from resourceapi.manifests import name_of
from resourceapi.model.versions import GROUP

_TYPE = ("apiVersion", "kind", "metadata")
_SCALARS = ("bool", "int", "string", "version")
_NAME_CHARACTERS = 63


def migrate_slice(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """A slice of v1, of a pool with the name of the node.

    :raises CannotMigrate: if there is no equivalent.
    """
    value = migrated_metadata(value, context.remarks)
    context.remarks.warn_of_unknown(value, (*_TYPE, "nodeName", "driverName", "namedResources"))
    driver, node = string(value, "driverName", ()), string(value, "nodeName", ())
    if not driver:
        raise CannotMigrate(("driverName",), "is missing")
    resources = members(value.get("namedResources"), ("namedResources",))
    place: dict[str, Any] = {"nodeName": node}
    if not node:
        context.remarks.note((), "a slice without nodeName: its devices are for all nodes now")
        place = {"allNodes": True}
    context.remarks.note((), "drivers publish their slices themselves; this one is for tests and inventories")
    slices = context.objects.slices_of(driver, node) if node else []
    pool = {"name": node or name_of(value), "generation": 1, "resourceSliceCount": max(len(slices), 1)}
    names = context.mappings.attributes(driver)
    devices = [
        _device(instance, path, names, context)
        for path, instance in items(resources.get("instances"), ("namedResources", "instances"))
    ]
    if len(devices) > limits.DEVICES:
        raise CannotMigrate(
            ("namedResources", "instances"), f"a slice has at most {limits.DEVICES} devices now: split it"
        )
    spec = {"driver": context.mappings.driver(driver), "pool": pool, **place, "devices": devices}
    kept = {name: each for name, each in value.items() if name in _TYPE}
    return {**kept, "apiVersion": f"{GROUP}/v1", "spec": spec}


def _device(instance: dict[str, Any], path: Path, names: Any, context: Context) -> dict[str, Any]:
    remarks = context.remarks
    remarks.warn_of_unknown(instance, ("name", "attributes"), path)
    name = string(instance, "name", path)
    label = name.replace(".", "-")[:_NAME_CHARACTERS].strip("-")
    if label != name:
        remarks.note((*path, "name"), f"the name of a device is a DNS label now: {label}")
    attributes: dict[str, Any] = {}
    capacity: dict[str, Any] = {}
    for place, attribute in items(instance.get("attributes"), (*path, "attributes")):
        try:
            today = attribute_name(string(attribute, "name", place), names)
        except ExpressionError as error:
            remarks.warn((*place, "name"), f"left out: {error}")
            continue
        if today in attributes or today in capacity:
            remarks.warn((*place, "name"), f"left out: another attribute is called {today} now")
            continue
        remarks.warn_of_unknown(attribute, ("name", *_SCALARS, "quantity", "intSlice", "stringSlice"), place)
        if attribute.get("quantity") is not None:
            capacity[today] = {"value": attribute["quantity"]}
        elif kind := next((each for each in _SCALARS if attribute.get(each) is not None), ""):
            if len(str(attribute[kind]).encode("utf-8", "surrogatepass")) > limits.ATTRIBUTE_VALUE_BYTES:
                remarks.warn((*place, kind), f"left out: longer than {limits.ATTRIBUTE_VALUE_BYTES} bytes")
            else:
                attributes[today] = {kind: attribute[kind]}
        else:
            remarks.warn(
                place, "left out: attributes that are lists need the feature gate DRAListTypeAttributes"
            )
    device: dict[str, Any] = {"name": label}
    if attributes:
        device["attributes"] = attributes
    if capacity:
        device["capacity"] = capacity
    return device
