"""ResourceClaim and ResourceClaimTemplate of v1alpha2 → v1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from classic.migration.context import Context, opaque, selector
from classic.migration.kinds import CLAIM_PARAMETERS, RESOURCE_CLAIM_TEMPLATE
from classic.migration.metadata import migrated_metadata
from classic.migration.remarks import CannotMigrate, members, string
from classic.migration.resource_classes import class_fields
from classic.migration.structured import claim_parameters
from resourceapi.manifests import mapping, text
from resourceapi.model.v1alpha2 import IMMEDIATE
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    from classic.migration.objects import Reference
    from resourceapi.field_errors import Path

#: What the requests of migrated claims are called.
REQUEST = "device"
_TYPE = ("apiVersion", "kind", "metadata")
_FIELDS = ("resourceClassName", "parametersRef", "allocationMode")


def migrate_claim(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """A claim of v1, or a template.

    :raises CannotMigrate: if there is no equivalent.
    """
    value = migrated_metadata(value, context.remarks)
    migrated = {**value, "apiVersion": f"{GROUP}/v1"}
    spec = members(value.get("spec"), ("spec",))
    if text(value, "kind") == RESOURCE_CLAIM_TEMPLATE:
        context.remarks.warn_of_unknown(value, (*_TYPE, "spec"))
        context.remarks.warn_of_unknown(spec, ("metadata", "spec"), ("spec",))
        inner = members(spec.get("spec"), ("spec", "spec"))
        kept = {name: each for name, each in spec.items() if name in ("metadata", "spec")}
        kept["spec"] = _spec(inner, ("spec", "spec"), context)
        return {**{name: each for name, each in migrated.items() if name in _TYPE}, "spec": kept}
    context.remarks.warn_of_unknown(value, (*_TYPE, "spec", "status"))
    if value.get("status"):
        context.remarks.warn(
            ("status",),
            "not carried over: the devices are allocated anew, as soon as a pod uses the claim; drain what uses them now",
        )
    kept = {name: each for name, each in migrated.items() if name in _TYPE}
    return {**kept, "spec": _spec(spec, ("spec",), context)}


def _spec(spec: dict[str, Any], path: Path, context: Context) -> dict[str, Any]:
    class_name = string(spec, "resourceClassName", path)
    if not class_name:
        raise CannotMigrate(
            (*path, "resourceClassName"),
            "is missing: no release has served such an object, so there is nothing to migrate it from",
        )
    context.remarks.warn_of_unknown(spec, _FIELDS, path)
    if spec.get("allocationMode") == IMMEDIATE:
        context.remarks.warn(
            (*path, "allocationMode"),
            "a claim is always allocated when a pod that uses it is scheduled, not as soon as it exists",
        )
    elif spec.get("allocationMode") is not None:
        context.remarks.note((*path, "allocationMode"), "left out: there is no other way any more")
    return {"devices": _devices(spec, path, class_name, context)}


def _devices(spec: dict[str, Any], path: Path, class_name: str, context: Context) -> dict[str, Any]:
    place = (*path, "parametersRef")
    resource_class = context.objects.resource_class(class_name)
    today = class_name if resource_class is not None else context.mappings.device_class(class_name)
    if today != class_name:
        context.remarks.note(
            (*path, "resourceClassName"), f"the driver's class {class_name} is called {today} now"
        )
    if spec.get("parametersRef") is None:
        return _of_one_request({"deviceClassName": today})
    reference = context.reference(members(spec["parametersRef"], place), place, context.namespace)
    structured = _structured(reference, place, resource_class, context)
    if structured is not None:
        context.used += structured
        return _of_structured(
            claim_parameters(structured[-1], context, today, _drivers(resource_class, context))
        )
    found = context.find(reference, place, _driver(resource_class, context))
    if resource_class is None and today in found.device_class_names:
        context.remarks.note(
            (*path, "resourceClassName"),
            f"for {reference.kind} the driver's class is {found.device_class_names[today]} now",
        )
        today = found.device_class_names[today]
    exactly: dict[str, Any] = {"deviceClassName": today}
    parameters = found.parameters
    if parameters.devices > 1:
        exactly["count"] = parameters.devices
    if parameters.selectors:
        exactly["selectors"] = [selector(each) for each in parameters.selectors]
    devices = _of_one_request(exactly)
    if parameters.config is not None:
        devices["config"] = [opaque(found.driver, parameters.config, place)]
    return devices


def _structured(
    reference: Reference, path: Path, resource_class: dict[str, Any] | None, context: Context
) -> list[Any] | None:
    """The structured parameters of a claim, last, and what they were made from; None if it has none."""
    if (reference.group, reference.kind) == (GROUP, CLAIM_PARAMETERS):
        return [context.named(reference, path)]
    fields = class_fields(resource_class)[0] if resource_class else {}
    if fields.get("structuredParameters") is not True:
        return None
    generated = context.objects.generated_from(CLAIM_PARAMETERS, reference)
    if generated is None:
        return None
    source = context.objects.find(reference)
    return [generated] if source is None else [source, generated]


def _of_one_request(exactly: dict[str, Any]) -> dict[str, Any]:
    return {"requests": [{"name": REQUEST, "exactly": exactly}]}


def _of_structured(parameters: Any) -> dict[str, Any]:
    several = len(parameters.requests) > 1
    names = [f"{REQUEST}-{index}" if several else REQUEST for index in range(len(parameters.requests))]
    devices: dict[str, Any] = {
        "requests": [
            {"name": name, "exactly": asked} for name, asked in zip(names, parameters.requests, strict=True)
        ]
    }
    config = []
    for numbers, configuration in parameters.config:
        if len(numbers) < len(names):
            configuration = {"requests": [names[number] for number in numbers], **configuration}
        config.append(configuration)
    if config:
        devices["config"] = config
    return devices


def _driver(resource_class: dict[str, Any] | None, context: Context) -> str:
    """The driver of a class, as it is called now; empty if the class is not known."""
    if resource_class is None:
        return ""
    return context.mappings.driver(text(class_fields(resource_class)[0], "driverName"))


def _drivers(resource_class: dict[str, Any] | None, context: Context) -> list[str]:
    """The drivers of which a class selects devices, as they are called now; empty if the class is not known."""
    if resource_class is None:
        return []
    drivers = [_driver(resource_class, context)]
    reference = mapping(class_fields(resource_class)[0], "parametersRef")
    for each in context.objects.class_parameters(reference):
        for key in ("vendorParameters", "filters"):
            entries = each.get(key)
            for entry in entries if isinstance(entries, list) else []:
                drivers.append(context.mappings.driver(text(entry, "driverName")))
    return [name for name in dict.fromkeys(drivers) if name]
