"""Devices in slices and allocations: attributes, capacities and binding conditions."""

from __future__ import annotations

from typing import NamedTuple

from resourceapi import limits, names
from resourceapi.field_errors import DUPLICATE, FORBIDDEN, INVALID, REQUIRED, FieldError, Path, too_long
from resourceapi.model import claims as model
from resourceapi.model.slices import DeviceAttribute
from resourceapi.objects import Object
from resourceapi.quantity import Quantity, parse
from validation import formats
from validation.checks import STOPS_AT_LIMITS_SINCE, Checks, ServerPanic

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


CONDITIONS, FAILURES = "bindingConditions", "bindingFailureConditions"


def check_binding_conditions(owner: Object, path: Path, checks: Checks) -> None:
    """Conditions to wait for and conditions to give up on come together and do not overlap."""
    conditions, failures = owner.get(CONDITIONS) or [], owner.get(FAILURES) or []
    if not conditions and not failures:
        return
    for field, items in (
        (model.BINDING_CONDITIONS, conditions),
        (model.BINDING_FAILURE_CONDITIONS, failures),
    ):
        checks.entries(
            field, items, (*path, field.name), lambda item, at: checks.problems(names.label_key(item), at)
        )
    checks.unique(conditions, (*path, CONDITIONS))
    seen = set()
    for index, failure in enumerate(failures):
        if failure in seen:
            checks.report(DUPLICATE, (*path, FAILURES, index), failure)
        seen.add(failure)
        if failure in conditions:
            detail = "bindingFailureConditions must not overlap with bindingConditions"
            checks.invalid((*path, FAILURES, index), failure, detail)
    _check_both(owner, conditions, failures, path, checks)


def _check_both(
    owner: Object, conditions: list[str], failures: list[str], path: Path, checks: Checks
) -> None:
    for name, missing, other, present in (
        (CONDITIONS, conditions, FAILURES, failures),
        (FAILURES, failures, CONDITIONS, conditions),
    ):
        if present and not missing:
            shown = checks.internal(model.BINDING_CONDITIONS.type, owner.get(name))
            checks.invalid((*path, name), shown, f"{name} are required to use {other}")


def check_skipped_operations(operations: list[str] | None, path: Path, checks: Checks) -> None:
    """What was prepared must be unprepared, so preparing can be skipped only together with it."""
    if not operations:
        return
    if (
        model.PREPARE in operations
        and model.UNPREPARE not in operations
        and model.ALL_OPERATIONS not in operations
    ):
        checks.report(
            INVALID,
            path,
            checks.internal(model.SKIP_NODE_OPERATIONS.type, operations),
            "NodePrepareResources cannot be skipped unless NodeUnprepareResources is also skipped",
        )


#: The release that wants steps to be more than zero, and numbers that it can calculate with.
CHECKED_STEPS_SINCE = 37
FRACTIONAL = "DRAFractionalCapacityRange"
MAX_INT64 = 2**63 - 1
ZERO = parse("0")


def check_capacity(capacity: Object, path: Path, checks: Checks, *, shared: bool) -> None:
    """Only a device that can be allocated several times has a policy for its capacity."""
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    at = (*path, "requestPolicy")
    if not shared:
        checks.report(FORBIDDEN, at, "", "allowMultipleAllocations must be true")
        return
    total, default = capacity.get("value", ZERO), policy.get("default")
    values, range_ = policy.get("validValues"), policy.get("validRange")
    if values and range_ is not None:
        detail = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        checks.report(FORBIDDEN, at, "", detail)
    elif values:
        if default is None:
            checks.report(REQUIRED, (*at, "default"), "", "required when validValues is defined")
        else:
            _check_values(default, total, values, (*at, "validValues"), checks)
    elif range_ is not None:
        if default is None:
            checks.report(REQUIRED, (*at, "default"), "", "required when validRange is defined")
        else:
            _check_range(default, total, range_, (*at, "validRange"), checks)


def _check_values(
    default: Quantity, total: Quantity, values: list[Quantity], path: Path, checks: Checks
) -> None:
    """Values ascend, fit into the capacity, occur once, and the default is one of them."""
    for index in range(1, len(values)):
        if values[index - 1].cmp(values[index]) > 0:
            checks.invalid((*path, index), str(values[index]), "values must be sorted in ascending order")
    stops = checks.minor >= STOPS_AT_LIMITS_SINCE
    if not stops or checks.at_most(limits.CAPACITY_VALID_VALUES, values, path):
        for index, value in enumerate(values):
            if value.cmp(total) > 0:
                checks.invalid((*path, index), str(value), f"option is larger than capacity value: {total}")
        if not stops:
            checks.at_most(limits.CAPACITY_VALID_VALUES, values, path)
        fractional = FRACTIONAL in checks.gates
        checks.unique((value.dec_string() if fractional else str(value.value()) for value in values), path)
        if any(value.cmp(default) == 0 for value in values):
            return
    checks.invalid(path, str(default), "default value is not valid according to the requestPolicy")


class _Range(NamedTuple):
    """A CapacityRequestPolicyRange, with the default and the capacity that it is about."""

    default: Quantity
    total: Quantity
    low: Quantity
    high: Quantity | None
    step: Quantity | None

    @property
    def numbers(self) -> list[tuple[str, Quantity]]:
        """Those of the policy that are given, with their names."""
        numbers = (("default", self.default), ("min", self.low), ("max", self.high), ("step", self.step))
        return [(name, number) for name, number in numbers if number is not None]


def _check_range(default: Quantity, total: Quantity, given: Object, path: Path, checks: Checks) -> None:
    """Minimum, maximum and default are in order and fit into the capacity; steps lead from one to the others."""
    low = given.get("min")
    if low is None:
        checks.report(REQUIRED, (*path, "min"), "", "required when validRange is defined")
        return
    range = _Range(default, total, low, given.get("max"), given.get("step"))
    _check_bounds(range, path, checks)
    milli = FRACTIONAL in checks.gates and any(number.is_fractional() for _, number in range.numbers)
    if milli and not _all_in_thousandths(range.numbers, path, checks):
        return
    if range.step is not None and checks.minor >= CHECKED_STEPS_SINCE:
        _check_step(range, range.step, milli, path, checks)
    elif range.step is not None:
        _check_any_step(range, range.step, path, checks)


def _check_bounds(range: _Range, path: Path, checks: Checks) -> None:
    default, total, low, high, _ = range
    if low.cmp(total) > 0:
        checks.invalid((*path, "min"), str(low), f"min is larger than capacity value: {total}")
    # up to 1.36 the bound is named, not the default
    own = checks.minor >= 37
    if default.cmp(low) < 0:
        checks.invalid((*path, "default" if own else "min"), str(default), f"default is less than min: {low}")
    if high is None:
        return
    if low.cmp(high) > 0:
        checks.invalid((*path, "max"), str(low), f"min is larger than max: {high}")
    if high.cmp(total) > 0:
        checks.invalid((*path, "max"), str(high), f"max is larger than capacity value: {total}")
    if default.cmp(high) > 0:
        checks.invalid(
            (*path, "default" if own else "max"), str(default), f"default is more than max: {high}"
        )


def _all_in_thousandths(numbers: list[tuple[str, Quantity]], path: Path, checks: Checks) -> bool:
    """Whether each number is a whole number of thousandths, so that steps can be counted in those."""
    exact = True
    for name, number in numbers:
        if not number.is_milli():
            checks.invalid((*path, name), str(number), "value cannot be represented as a milli value")
            exact = False
    return exact


def _check_step(range: _Range, step: Quantity, milli: bool, path: Path, checks: Checks) -> None:
    default, total, low, high, _ = range
    at = (*path, "step")
    if step.sign() <= 0:
        checks.invalid(at, str(step), "must be greater than zero")
        return
    first = low.add(step)
    if first.cmp(total) > 0:
        checks.invalid(at, str(step), f"one step {first} is larger than capacity value: {total}")
    if not milli and not _all_in_int64(range.numbers, path, checks):
        return
    for number in (default, high):
        if number is not None and _offset(number, low, step, milli):
            checks.invalid(at, str(number), f"value is not a multiple of a given step ({step}) from ({low})")


def _check_any_step(range: _Range, step: Quantity, path: Path, checks: Checks) -> None:
    """Up to 1.36 the server divides by a step that it has not looked at.

    :raises ServerPanic: if that is zero.
    """
    default, total, low, high, _ = range
    at = (*path, "step")
    first = low.add(step)
    if first.cmp(total) > 0:
        checks.invalid(at, str(step), f"one step {first} is larger than capacity value: {total}")
    if step.value() == 0:
        raise ServerPanic(at)
    for number in (default, high):
        if number is not None and (number.value() - low.value()) % step.value():
            checks.invalid(at, str(number), f"value is not a multiple of a given step ({step}) from ({low})")


def _all_in_int64(numbers: list[tuple[str, Quantity]], path: Path, checks: Checks) -> bool:
    fits = True
    for name, number in numbers:
        if number.sign() < 0:
            checks.invalid((*path, name), str(number), formats.NOT_NEGATIVE)
            fits = False
        elif number.cmp_int(MAX_INT64) > 0:
            checks.invalid((*path, name), str(number), f"must not be larger than {MAX_INT64}")
            fits = False
    return fits


def _offset(number: Quantity, low: Quantity, step: Quantity, milli: bool) -> int:
    """By how much a number misses the next step, counted in thousandths or in (rounded up) whole numbers."""
    if milli:
        return (number.milli_value() - low.milli_value()) % step.milli_value()
    return (number.value() - low.value()) % step.value()
