"""Taints and the tolerations that go with them (KEP-5055)."""

from __future__ import annotations

from resourceapi import names
from resourceapi.field_errors import REQUIRED, Path, not_supported
from resourceapi.model import claims as model
from resourceapi.model import slices
from resourceapi.objects import Object
from validation.checks import Checks


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
