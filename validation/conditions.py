"""What must hold for a list of conditions."""

from __future__ import annotations

from resourceapi import names
from resourceapi.field_errors import DUPLICATE, REQUIRED, Path, not_supported, too_long
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks

STATUSES = ("False", "True", "Unknown")
REASON_BYTES = 1024
MESSAGE_BYTES = 32 * 1024
#: The release that tells what is missing from what is wrong.
REQUIRED_SINCE = 37


def check_conditions(conditions: list[Object], path: Path, checks: Checks) -> None:
    """Each condition is complete, and no type occurs twice."""
    seen = set()
    for index, condition in enumerate(conditions):
        type_ = condition.get("type", "")
        if type_ in seen:
            at = (*path, index) if checks.minor >= REQUIRED_SINCE else (*path, index, "type")
            checks.report(DUPLICATE, at, type_)
        seen.add(type_)
        _check_condition(condition, type_, (*path, index), checks)


def _check_condition(condition: Object, type_: str, path: Path, checks: Checks) -> None:
    if not type_ and checks.minor >= REQUIRED_SINCE:
        checks.report(REQUIRED, (*path, "type"), "", "is required")
    else:
        checks.problems(names.label_key(type_), (*path, "type"))
    status = condition.get("status", "")
    if not status and checks.minor >= REQUIRED_SINCE:
        checks.report(REQUIRED, (*path, "status"))
    elif status not in STATUSES:
        checks.errors.append(not_supported((*path, "status"), status, STATUSES))
    if condition.get("observedGeneration", 0) < 0:
        checks.invalid((*path, "observedGeneration"), condition["observedGeneration"], formats.AT_LEAST_ZERO)
    if not condition.get("lastTransitionTime"):
        checks.report(REQUIRED, (*path, "lastTransitionTime"), "", _unset(checks))
    _check_texts(condition, path, checks)


def _unset(checks: Checks) -> str:
    return "" if checks.minor >= 34 else "must be set"


def _check_texts(condition: Object, path: Path, checks: Checks) -> None:
    reason, message = condition.get("reason", ""), condition.get("message", "")
    if not reason:
        checks.report(REQUIRED, (*path, "reason"), "", _unset(checks))
    else:
        checks.problems(names.condition_reason(reason), (*path, "reason"))
        if len(reason.encode()) > REASON_BYTES:
            checks.errors.append(too_long((*path, "reason"), REASON_BYTES))
    if len(message.encode()) > MESSAGE_BYTES:
        checks.errors.append(too_long((*path, "message"), MESSAGE_BYTES))
