"""What only 1.31 had in v1alpha3, for drivers with a controller of their own, and the rest of that version → v1."""

from __future__ import annotations

from typing import Any

from classic.migration.context import Context
from classic.migration.kinds import RESOURCE_CLAIM_TEMPLATE, RESOURCE_SLICE
from classic.migration.metadata import migrated_metadata
from classic.migration.remarks import CannotMigrate
from conversion.documents import ConversionError, convert_document
from resourceapi.kinds import CLAIM, DEVICE_CLASS
from resourceapi.manifests import entries, mapping, text
from resourceapi.model.versions import GROUP


def migrate_v1alpha3(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """An object of v1alpha3 as 1.31 had it in v1.

    :raises CannotMigrate: if there is no equivalent.
    """
    kind = text(value, "kind")
    value = migrated_metadata(value, context.remarks)
    if kind == CLAIM.name:
        if value.get("status"):
            context.remarks.warn(("status",), "not carried over: the devices are allocated anew")
        value = {name: each for name, each in value.items() if name != "status"}
        value = _without_controller(value, ("spec",), context)
    elif kind == RESOURCE_CLAIM_TEMPLATE:
        value = _without_controller(value, ("spec", "spec"), context)
    elif kind == DEVICE_CLASS.name:
        if mapping(value, "spec").get("suitableNodes") is not None:
            context.remarks.warn(
                ("spec", "suitableNodes"),
                "a class does not choose nodes: a node has what its ResourceSlices say; to keep pods off other nodes, use "
                "their nodeSelector or affinity",
            )
        value = _without(value, ("spec",), "suitableNodes")
    elif kind == RESOURCE_SLICE:
        value = _with_capacities(value)
    try:
        # v1alpha3 of 1.31 differs from v1beta1 only in what has been taken out here
        return convert_document({**value, "apiVersion": f"{GROUP}/v1beta1"}, "v1")
    except ConversionError as error:
        raise CannotMigrate(error.path, error.text) from None


def _without_controller(value: dict[str, Any], path: tuple[str, ...], context: Context) -> dict[str, Any]:
    controller = mapping(value, *path).get("controller")
    if controller is not None:
        context.remarks.warn(
            (*path, "controller"),
            f"kube-scheduler allocates all devices now: {controller} has to publish them in ResourceSlices",
        )
    return _without(value, path, "controller")


def _without(value: dict[str, Any], path: tuple[str, ...], name: str) -> dict[str, Any]:
    """The object without a member of the mapping at a path."""
    if not path:
        return {key: each for key, each in value.items() if key != name}
    inner = value.get(path[0])
    return {**value, path[0]: _without(inner, path[1:], name)} if isinstance(inner, dict) else value


def _with_capacities(value: dict[str, Any]) -> dict[str, Any]:
    """A slice whose capacities are mappings with a value."""
    devices = []
    for device in entries(value.get("spec"), "devices"):
        capacity = mapping(device, "basic", "capacity")
        if capacity:
            wrapped = {
                name: each if isinstance(each, dict) else {"value": each} for name, each in capacity.items()
            }
            device = {**device, "basic": {**device["basic"], "capacity": wrapped}}
        devices.append(device)
    return {**value, "spec": {**value["spec"], "devices": devices}} if devices else value
