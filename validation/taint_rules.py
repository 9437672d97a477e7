"""Rules of DeviceTaintRules, and of tolerations."""

from __future__ import annotations

from resourceapi import limits, names
from resourceapi.field_errors import REQUIRED, Path, not_supported, too_many
from resourceapi.kinds import DEVICE_TAINT_RULE
from resourceapi.model import claims as model
from resourceapi.model import slices
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.conditions import check_conditions
from validation.kind_rules import ChangeableSpecRules, Labels
from validation.object_meta import check_metadata_update


def check_toleration(toleration: Object, path: Path, checks: Checks) -> None:
    """`Exists` wants no value; every other operator compares one."""
    fields = model.DeviceToleration
    checks.declared(fields["key"], toleration.get("key", ""), (*path, "key"))
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    if operator == model.EXISTS:
        if value:
            checks.invalid((*path, "value"), value, "must be empty for operator `Exists`")
    elif operator == model.EQUAL:
        checks.problems(names.label_value(value), (*path, "value"))
    elif operator or checks.minor >= 36:
        checks.declared(fields["operator"], operator, (*path, "operator"))
    else:
        checks.report(REQUIRED, (*path, "operator"))
    if effect := toleration.get("effect", ""):
        _check_effect(effect, (*path, "effect"), checks)


def check_taint(taint: Object, path: Path, checks: Checks, old: Object | None = None) -> None:
    """A taint has a key like a label and an effect; an effect that was stored may stay, whatever it is."""
    checks.problems(names.label_key(taint.get("key", "")), (*path, "key"))
    if value := taint.get("value", ""):
        checks.problems(names.label_value(value), (*path, "value"))
    effect = taint.get("effect", "")
    if old is None or old.get("effect", "") != effect or checks.minor < model.NONE_EFFECT_SINCE:
        _check_effect(effect, (*path, "effect"), checks)


def _check_effect(effect: str, path: Path, checks: Checks) -> None:
    if checks.minor >= model.NONE_EFFECT_SINCE or not effect:
        checks.declared(slices.DeviceTaint["effect"], effect, path)
    elif effect not in model.FORMER_TAINT_EFFECTS:
        checks.errors.append(not_supported(path, effect, model.FORMER_TAINT_EFFECTS))


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
