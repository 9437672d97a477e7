"""What must hold for an attribute of a device: one value, of one type."""

from __future__ import annotations

from resourceapi import limits, names
from resourceapi.field_errors import INVALID, REQUIRED, FieldError, Path, too_long
from resourceapi.model.slices import DeviceAttribute
from resourceapi.objects import Object
from validation.checks import Checks

LISTS = ("bools", "ints", "strings", "versions")
QUALIFIED_NAME_BYTES = limits.DOMAIN_BYTES + 1 + limits.IDENTIFIER_BYTES


def check_totals(attributes: Object, capacity: Object, path: Path, checks: Checks) -> None:
    """There are not too many attributes and capacities together, and not too many values in attributes."""
    total = len(attributes) + len(capacity)
    if total > limits.ATTRIBUTES_AND_CAPACITIES:
        detail = f"the total number of attributes and capacities must not exceed {limits.ATTRIBUTES_AND_CAPACITIES}"
        checks.invalid(path, total, detail)
    values = sum(
        sum(len(attribute.get(name) or ()) for name in LISTS) or 1 for attribute in attributes.values()
    )
    if values > limits.ATTRIBUTE_VALUES and checks.minor >= 36:
        detail = f"the total number of attribute values must not exceed {limits.ATTRIBUTE_VALUES}"
        checks.invalid(path, values, detail)


def check_attribute(
    attribute: Object, path: Path, checks: Checks, *, struct: str = DeviceAttribute.name
) -> None:
    """Texts are short, versions are semantic versions, lists are not empty, and there is just one value.

    :param struct: what the attribute is.
    """
    if "string" in attribute:
        _check_text(attribute["string"], (*path, "string"), checks)
    if "version" in attribute:
        _check_version(attribute["version"], (*path, "version"), checks)
    for name in LISTS:
        if name in attribute:
            _check_list(name, attribute[name], (*path, name), checks)
    if len(attribute) != 1:
        shown: object = checks.internal(struct, attribute) if attribute else ""
        detail = "exactly one value must be specified"
        kind = REQUIRED if not attribute and checks.minor < 35 else INVALID
        checks.report(kind, path, shown, detail, origin="union", covered=True)


def _check_list(name: str, items: list[object], path: Path, checks: Checks) -> None:
    if not items:
        checks.invalid(
            path, checks.internal(DeviceAttribute[name].type, items), "must not be empty if specified"
        )
    for index, item in enumerate(items):
        if name == "strings":
            _check_text(str(item), (*path, index), checks, origin="maxBytes")
        elif name == "versions":
            _check_version(str(item), (*path, index), checks)


def _check_text(text: str, path: Path, checks: Checks, *, origin: str = "") -> None:
    if len(text.encode()) > limits.ATTRIBUTE_VALUE_BYTES:
        error: FieldError = too_long(path, limits.ATTRIBUTE_VALUE_BYTES, origin=origin)
        checks.errors.append(error)


def _check_version(text: str, path: Path, checks: Checks) -> None:
    checks.problems(names.semantic_version(text), path)
    _check_text(text, path, checks)
