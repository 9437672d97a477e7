"""DeviceTaintRules: taints that an administrator puts on devices from outside of their slices (KEP-5055)."""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.objects import Object


def with_rules(slice: Object, rules: Iterable[Object]) -> Object:
    """The slice with the taints of the rules that apply to its devices, after their own, in the order of the rules.

    Slice and rules are objects of v1 in normal form; a slice that no rule concerns is returned as it is.
    """
    spec = slice.get("spec") or {}
    concerned = [rule for rule in rules if _concerns(rule, spec)]
    if not concerned:
        return slice
    devices = [_with_taints(device or {}, concerned) for device in spec.get("devices") or ()]
    return {**slice, "spec": {**spec, "devices": devices}}


def _selector(rule: Object) -> Object | None:
    """What a rule selects; one without selector selects nothing."""
    selector: Object | None = (rule.get("spec") or {}).get("deviceSelector")
    return selector


def _concerns(rule: Object, spec: Object) -> bool:
    selector = _selector(rule)
    if selector is None:
        return False
    where = {"driver": spec.get("driver", ""), "pool": (spec.get("pool") or {}).get("name", "")}
    return all(selector.get(name, value) == value for name, value in where.items())


def _with_taints(device: Object, rules: Iterable[Object]) -> Object:
    name = device.get("name", "")
    more = [
        rule["spec"].get("taint") or {}
        for rule in rules
        if (_selector(rule) or {}).get("device", name) == name
    ]
    return {**device, "taints": [*(device.get("taints") or ()), *more]} if more else device
