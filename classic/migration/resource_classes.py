"""ResourceClass → DeviceClass."""

from __future__ import annotations

from typing import Any

from classic.migration.context import Context, opaque, selector
from classic.migration.expressions import of_driver, of_drivers, unless_of_driver
from classic.migration.kinds import CLASS_PARAMETERS
from classic.migration.metadata import migrated_metadata
from classic.migration.remarks import members, string
from classic.migration.structured import ClassParameters, class_parameters
from resourceapi.kinds import DEVICE_CLASS
from resourceapi.model.versions import GROUP

_TYPE = ("apiVersion", "kind", "metadata")
_FIELDS = ("driverName", "parametersRef", "suitableNodes", "structuredParameters")


def migrate_resource_class(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """The DeviceClass for a ResourceClass.

    :raises CannotMigrate: if there is none.
    """
    value = migrated_metadata(value, context.remarks)
    fields, path = class_fields(value)
    if path:
        context.remarks.note(path, "a ResourceClass had no spec; its fields are taken from there")
    context.remarks.warn_of_unknown(
        {name: each for name, each in fields.items() if path or name not in _TYPE}, _FIELDS, path
    )
    if path:
        context.remarks.warn_of_unknown(value, (*_TYPE, "spec"))
    driver = string(fields, "driverName", path)
    today = context.driver(fields, path, "is missing: the class does not say whose devices it is about")
    if today != driver:
        context.remarks.note((*path, "driverName"), f"{driver} is called {today} now")
    if fields.get("suitableNodes") is not None:
        context.remarks.warn(
            (*path, "suitableNodes"),
            "a class does not choose nodes: a node has what its ResourceSlices say; to keep pods off other nodes, use their "
            "nodeSelector or affinity",
        )
    parameters = _parameters(fields, path, context, today)
    spec: dict[str, Any] = {"selectors": [selector(each) for each in _selectors(today, parameters)]}
    if parameters.config:
        spec["config"] = parameters.config
    kept = {name: value[name] for name in ("metadata",) if name in value}
    return {"apiVersion": f"{GROUP}/v1", "kind": DEVICE_CLASS.name, **kept, "spec": spec}


def class_fields(value: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The fields of a ResourceClass, and where they are: in a spec only by mistake."""
    spec = value.get("spec")
    if isinstance(spec, dict) and "driverName" not in value:
        return spec, ("spec",)
    return value, ()


def _selectors(driver: str, parameters: ClassParameters) -> list[str]:
    """A class of one driver selects its devices; of several, each filter is for the devices of its driver only."""
    drivers = list(dict.fromkeys([driver, *parameters.drivers]))
    if len(drivers) == 1:
        return [of_driver(driver), *(expression for _, expression in parameters.filters)]
    return [of_drivers(drivers), *(unless_of_driver(*each) for each in parameters.filters)]


def _parameters(
    fields: dict[str, Any], path: tuple[str, ...], context: Context, driver: str
) -> ClassParameters:
    if fields.get("parametersRef") is None:
        return ClassParameters([], [], [])
    place = (*path, "parametersRef")
    named = members(fields["parametersRef"], place)
    reference = context.reference(named, place, string(named, "namespace", place))
    if (reference.group, reference.kind) == (GROUP, CLASS_PARAMETERS):
        return class_parameters(context.take(reference, place), context)
    if fields.get("structuredParameters") is True:
        generated = context.objects.generated_from(CLASS_PARAMETERS, reference)
        if generated is not None:
            if (source := context.objects.find(reference)) is not None:
                context.used.append(source)
            context.used.append(generated)
            return class_parameters(generated, context)
    found = context.find(reference, place, driver)
    config = found.parameters.config
    return ClassParameters(
        [(found.driver, each) for each in found.parameters.selectors],
        [] if config is None else [opaque(found.driver, config, place)],
        [found.driver] if found.parameters.selectors or config else [],
    )
