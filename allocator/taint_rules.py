"""DeviceTaintRules: taints that an administrator puts on devices from outside of their slices (KEP-5055)."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from allocator.devices import PoolId
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


def selected_pools(rule: Object, pools: Collection[PoolId]) -> list[PoolId]:
    """Those of the pools whose devices a rule may be about."""
    selector = _selector(rule)
    if selector is None:
        return []
    driver, pool = selector.get("driver"), selector.get("pool")
    if driver is not None and pool is not None:
        return [known for known in (PoolId(driver, pool),) if known in pools]
    return [known for known in pools if driver in (None, known.driver) and pool in (None, known.pool)]


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
