"""What must hold for a DeviceTaintRule (KEP-5055)."""

from __future__ import annotations

from resourceapi import limits, names
from resourceapi.field_errors import too_many
from resourceapi.kinds import DEVICE_TAINT_RULE
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.conditions import check_conditions
from validation.kind_rules import ChangeableSpecRules, Labels
from validation.object_meta import check_metadata_update
from validation.tolerations import check_taint


class DeviceTaintRuleRules(ChangeableSpecRules):
    """DeviceTaintRule."""

    kind = DEVICE_TAINT_RULE
    declared_since = 37
    unconditional = ("v1beta2", "v1alpha3")

    def tidy(self, obj: Object, old: Object, now: str) -> None:
        """A taint whose effect changes was added now, unless the client says otherwise."""
        taint, before = obj["spec"]["taint"], old.get("spec", EMPTY).get("taint", EMPTY)
        same_time = taint.get("timeAdded") == before.get("timeAdded")
        if taint.get("effect", "") != before.get("effect", "") and same_time:
            obj["spec"] = {**obj["spec"], "taint": {**taint, "timeAdded": now}}

    def check_either_spec(self, spec: Object, old: Object | None, checks: Checks) -> None:
        """A new or changed rule."""
        _check_spec(spec, old, checks)

    def check_status(self, obj: Object, old: Object, checks: Checks, labels: Labels) -> None:
        """A changed status."""
        check_metadata_update(obj, old, checks)
        conditions = obj.get("status", EMPTY).get("conditions") or []
        path = ("status", "conditions")
        check_conditions(conditions, path, checks)
        if len(conditions) > limits.TAINT_RULE_CONDITIONS:
            checks.errors.append(too_many(path, len(conditions), limits.TAINT_RULE_CONDITIONS))


def _check_spec(spec: Object, old: Object | None, checks: Checks) -> None:
    selector, path = spec.get("deviceSelector", EMPTY), ("spec", "deviceSelector")
    if "driver" in selector:
        checks.problems(names.driver_name(selector["driver"], checks.wording), (*path, "driver"))
    if "pool" in selector:
        checks.problems(formats.pool_name(selector["pool"]), (*path, "pool"))
    if "device" in selector:
        checks.problems(formats.dns_label(selector["device"]), (*path, "device"))
    before = None if old is None else old.get("taint", EMPTY)
    check_taint(spec.get("taint", EMPTY), ("spec", "taint"), checks, before)
