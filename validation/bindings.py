"""Binding conditions (KEP-5007) and skipped node operations, which devices and allocation results share."""

from __future__ import annotations

from resourceapi import names
from resourceapi.field_errors import DUPLICATE, INVALID, Path
from resourceapi.model import claims as model
from resourceapi.objects import Object
from validation.checks import Checks

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
