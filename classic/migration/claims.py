"""ResourceClass, ResourceClaim and ResourceClaimTemplate of v1alpha2, with structured parameters → v1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.context import Context, opaque, selector
from classic.migration.expressions import (
    ExpressionError,
    attribute_name,
    for_devices,
    of_driver,
    of_drivers,
    unless_of_driver,
)
from classic.migration.objects import (
    CLAIM_PARAMETERS,
    CLASS_PARAMETERS,
    RESOURCE_CLAIM_TEMPLATE,
    Reference,
    migrated_metadata,
)
from classic.migration.remarks import CannotMigrate, Remarks, items, members, string
from resourceapi import limits
from resourceapi.field_errors import Path, render
from resourceapi.kinds import DEVICE_CLASS
from resourceapi.manifests import mapping, name_of, text
from resourceapi.model.v1alpha2 import IMMEDIATE
from resourceapi.model.versions import GROUP

if TYPE_CHECKING:
    from documents import Document


# Structured parameters, which kube-scheduler of 1.30 read itself: ResourceClassParameters and
# ResourceClaimParameters.

_PARAMETERS_TYPE = ("apiVersion", "kind", "metadata", "generatedFrom")
#: What 1.30 asked for if a claim had no parameters, and what a selector need not say.
_ANY = "true"


class ClassParameters(NamedTuple):
    """What parameters add to a class.

    :ivar filters: drivers, and the conditions that their devices have to meet.
    :ivar drivers: the drivers that the parameters are about.
    """

    filters: list[tuple[str, str]]
    config: list[dict[str, Any]]
    drivers: list[str]


class ClaimParameters(NamedTuple):
    """What parameters add to a claim: requests without names, and configuration with the numbers of requests."""

    requests: list[dict[str, Any]]
    config: list[tuple[list[int], dict[str, Any]]]


def class_parameters(document: Document, context: Context) -> ClassParameters:
    """What a ResourceClassParameters adds to its class.

    :raises CannotMigrate: with the place in that object, if there is no equivalent.
    """
    value = document.value
    remarks = Remarks(document)
    filters: list[tuple[str, str]] = []
    config: list[dict[str, Any]] = []
    drivers = []
    with _In(document):
        remarks.warn_of_unknown(value, (*_PARAMETERS_TYPE, "vendorParameters", "filters"))
        for path, entry in items(value.get("vendorParameters"), ("vendorParameters",)):
            _insist_on_room(len(config), limits.CONFIGS, path, "a class can have {} configurations")
            driver = context.driver(entry, path)
            if entry.get("parameters") is not None:
                config.append(opaque(driver, entry["parameters"], path))
                drivers.append(driver)
        for number, (path, entry) in enumerate(items(value.get("filters"), ("filters",))):
            _insist_on_room(number, limits.SELECTORS, path, "a class can have {} selectors")
            driver = context.driver(entry, path)
            expression = _selector(entry, path, driver, context)
            drivers.append(driver)
            if expression != _ANY:
                filters.append((driver, expression))
    context.remarks.found += remarks.found
    return ClassParameters(filters, config, drivers)


def claim_parameters(
    document: Document, context: Context, class_name: str, drivers_of_class: list[str]
) -> ClaimParameters:
    """What a ResourceClaimParameters asks for.

    :param class_name: the class that all requests name.
    :param drivers_of_class: the drivers of which the class selects devices; empty if they are not known.
    :raises CannotMigrate: with the place in that object, if there is no equivalent.
    """
    value = document.value
    remarks = Remarks(document)
    requests: list[dict[str, Any]] = []
    config: list[tuple[list[int], dict[str, Any]]] = []
    with _In(document):
        remarks.warn_of_unknown(value, (*_PARAMETERS_TYPE, "shareable", "driverRequests"))
        if not value.get("shareable"):
            remarks.note(
                ("shareable",) if "shareable" in value else (),
                "only one pod could use the claim at a time; now up to 256 can: use a template for a claim per pod",
            )
        for path, entry in items(value.get("driverRequests"), ("driverRequests",)):
            driver = context.driver(entry, path)
            if drivers_of_class and driver not in drivers_of_class:
                raise CannotMigrate(
                    (*path, "driverName"),
                    f"the class {class_name} is about devices of {', '.join(drivers_of_class)} only: a request for devices of "
                    "another driver needs a class of its own",
                )
            numbers = []
            for place, request in items(entry.get("requests"), (*path, "requests")):
                _insist_on_room(len(requests), limits.REQUESTS, place, "a claim can have {} requests")
                numbers.append(len(requests))
                expressions = [of_driver(driver)] if len(drivers_of_class) != 1 else []
                expressions.append(_selector(request, place, driver, context))
                asked: dict[str, Any] = {"deviceClassName": class_name}
                if selectors := [selector(each) for each in expressions if each != _ANY]:
                    asked["selectors"] = selectors
                requests.append(asked)
                if request.get("vendorParameters") is not None:
                    config.append((numbers[-1:], opaque(driver, request["vendorParameters"], place)))
            if entry.get("vendorParameters") is not None:
                config.append((numbers, opaque(driver, entry["vendorParameters"], path)))
    context.remarks.found += remarks.found
    return ClaimParameters(requests, config)


def _insist_on_room(there: int, most: int, path: Path, text: str) -> None:
    """Refuse what will be too much, before it is made: any number of objects may refer to parameters of any length.

    :raises CannotMigrate: if there is no room for one more.
    """
    if there >= most:
        raise CannotMigrate(path, f"{text.format(most)} at most")


def _selector(entry: dict[str, Any], path: Path, driver: str, context: Context) -> str:
    """The condition of a request or filter."""
    resources = members(entry.get("namedResources"), (*path, "namedResources"))
    place = (*path, "namedResources", "selector")
    expression = string(resources, "selector", (*path, "namedResources"))
    if not expression:
        raise CannotMigrate(place, "is missing")
    classic = string(entry, "driverName", path) or driver
    try:
        return for_devices(expression, driver, context.mappings.attributes(classic))
    except ExpressionError as error:
        raise CannotMigrate(place, str(error)) from None


class _In:
    """What goes wrong here is about another object than the one that is migrated: says where that is."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, CannotMigrate):
            place = self._document.locate(error.path)
            where = f"{self._document.file}:{place.line}: {render(error.path)}"
            raise CannotMigrate((), f"{where}: {error.text}", error.hint) from None


# ResourceClass → DeviceClass.

_TYPE = ("apiVersion", "kind", "metadata")
_CLASS_FIELDS = ("driverName", "parametersRef", "suitableNodes", "structuredParameters")


def migrate_resource_class(value: dict[str, Any], context: Context) -> dict[str, Any]:
    """The DeviceClass for a ResourceClass.

    :raises CannotMigrate: if there is none.
    """
    value = migrated_metadata(value, context.remarks)
    fields, path = class_fields(value)
    if path:
        context.remarks.note(path, "a ResourceClass had no spec; its fields are taken from there")
    context.remarks.warn_of_unknown(
        {name: each for name, each in fields.items() if path or name not in _TYPE}, _CLASS_FIELDS, path
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


#: What the requests of migrated claims are called.
REQUEST = "device"
_CLAIM_FIELDS = ("resourceClassName", "parametersRef", "allocationMode")


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
    context.remarks.warn_of_unknown(spec, _CLAIM_FIELDS, path)
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


# ResourceSlice with named resources → ResourceSlice of v1 with devices.

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
