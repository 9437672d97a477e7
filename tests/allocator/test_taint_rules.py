"""Taints that DeviceTaintRules put on devices."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from allocator.patches import merged_slices
from resourceapi.objects import Object
from resourceapi.records.taints import DeviceTaintRule
from tests.allocator.objects import (
    ALL_FEATURES,
    DRIVER,
    ask,
    claim,
    cluster,
    device,
    devices_of,
    exactly,
    slice_of,
)
from tests.allocator.patches.objects import rule as named_rule

OWN = {"key": "own", "effect": "None"}


def rule(selector: Object | None, key: str = "k") -> DeviceTaintRule:
    return named_rule(key, selector, key)


def with_rules(slice: Object, rules: Sequence[DeviceTaintRule]) -> Object:
    (found,) = merged_slices([slice], (), rules, {}, ALL_FEATURES)
    return found


SELECTORS: dict[str, tuple[Object | None, list[str]]] = {
    "no-selector": (None, []),
    "empty-selector": ({}, ["d", "e"]),
    "driver": ({"driver": DRIVER}, ["d", "e"]),
    "other-driver": ({"driver": "x.example.com"}, []),
    "pool": ({"pool": "pool"}, ["d", "e"]),
    "other-pool": ({"driver": DRIVER, "pool": "x"}, []),
    "device": ({"device": "e"}, ["e"]),
    "device-of-pool": ({"driver": DRIVER, "pool": "pool", "device": "d"}, ["d"]),
    "other-device": ({"device": "x"}, []),
}


@pytest.mark.parametrize(("selector", "tainted"), SELECTORS.values(), ids=SELECTORS)
def test_selector(selector: Object | None, tainted: list[str]) -> None:
    """All that the selector names must be the same; what it leaves out is any."""
    slice = slice_of("d", "e")
    devices = with_rules(slice, [rule(selector)])["spec"]["devices"]
    assert [each["name"] for each in devices if each.get("taints")] == tainted
    assert slice == slice_of("d", "e")


def test_order() -> None:
    """The device's own taints come first, then those of the rules as they come."""
    slice = slice_of(device("d", taints=[OWN]))
    (found,) = with_rules(slice, [rule({}, "a"), rule({"device": "d"}, "b")])["spec"]["devices"]
    assert [taint["key"] for taint in found["taints"]] == ["own", "a", "b"]


def test_rule_prevents_allocation() -> None:
    """A taint of a rule is as good as one of the slice."""
    slice = with_rules(slice_of("d", "e"), [rule({"device": "d"})])
    assert devices_of(ask(cluster(slice), claim(exactly()))) == ["r=e"]
