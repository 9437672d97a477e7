"""Structured parameters, which kube-scheduler of 1.30 read itself: ResourceClassParameters and ResourceClaimParameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.context import Context, opaque, selector
from classic.migration.expressions import ExpressionError, for_devices, of_driver
from classic.migration.remarks import CannotMigrate, Remarks, items, members, string
from resourceapi import limits
from resourceapi.field_errors import render

if TYPE_CHECKING:
    from documents import Document
    from resourceapi.field_errors import Path

_TYPE = ("apiVersion", "kind", "metadata", "generatedFrom")
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
        remarks.warn_of_unknown(value, (*_TYPE, "vendorParameters", "filters"))
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
        remarks.warn_of_unknown(value, (*_TYPE, "shareable", "driverRequests"))
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
