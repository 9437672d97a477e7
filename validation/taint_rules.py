"""What must hold for a DeviceTaintRule (KEP-5055)."""

from __future__ import annotations

from resourceapi import limits, names
from resourceapi.field_errors import too_many
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.conditions import check_conditions
from validation.object_meta import check_metadata, check_metadata_update
from validation.tolerations import check_taint


def check_rule(rule: Object, checks: Checks) -> None:
    """A new rule."""
    check_metadata(rule, checks, namespaced=False)
    _check_spec(rule.get("spec", EMPTY), None, checks)


def check_rule_update(rule: Object, old: Object, checks: Checks) -> None:
    """A changed rule."""
    check_metadata_update(rule, old, checks)
    _check_spec(rule.get("spec", EMPTY), old.get("spec", EMPTY), checks)


def check_rule_status(rule: Object, old: Object, checks: Checks) -> None:
    """A changed status."""
    check_metadata_update(rule, old, checks)
    conditions = rule.get("status", EMPTY).get("conditions") or []
    path = ("status", "conditions")
    check_conditions(conditions, path, checks)
    if len(conditions) > limits.TAINT_RULE_CONDITIONS:
        checks.errors.append(too_many(path, len(conditions), limits.TAINT_RULE_CONDITIONS))


def _check_spec(spec: Object, old: Object | None, checks: Checks) -> None:
    selector, path = spec.get("deviceSelector", EMPTY), ("spec", "deviceSelector")
    if "driver" in selector:
        checks.problems(names.driver_name(selector["driver"]), (*path, "driver"))
    if "pool" in selector:
        checks.problems(formats.pool_name(selector["pool"]), (*path, "pool"))
    if "device" in selector:
        checks.problems(formats.dns_label(selector["device"]), (*path, "device"))
    before = None if old is None else old.get("taint", EMPTY)
    check_taint(spec.get("taint", EMPTY), ("spec", "taint"), checks, before)
