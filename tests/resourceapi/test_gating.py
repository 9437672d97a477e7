"""Dropping of fields whose gate is off, on a small schema of its own."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi.gating import without_disabled
from resourceapi.objects import Object
from resourceapi.schema import INT64, STRING, Field, Schema, Struct, list_of, map_of, ref

SCHEMA = Schema(
    "v1",
    (
        Struct(
            "Spec",
            Field("kept", STRING),
            Field("a", STRING, gates=("A",)),
            Field("both", STRING, gates=("A", "B")),
            Field("one", ref("Item"), pointer=True),
            Field("many", list_of(ref("Item"))),
            Field("named", map_of(ref("Item"))),
            Field("rest", ref("Rest"), inline=True),
            Field("whole", ref("Item"), pointer=True, gates=("W",)),
        ),
        Struct(
            "Item",
            Field("kept", INT64),
            Field("a", INT64, gates=("A",)),
            Field("list", list_of(INT64), gates=("B",)),
        ),
        Struct("Rest", Field("inlined", STRING, gates=("B",))),
        Struct("Plain", Field("kept", STRING)),
    ),
)
ITEM: Object = {"kept": 1, "a": 2, "list": [3]}
FULL: Object = {
    "kept": "k",
    "a": "a",
    "both": "ab",
    "one": ITEM,
    "many": [ITEM, {"kept": 4}],
    "named": {"x": ITEM},
    "inlined": "i",
    "whole": {"kept": 5},
}
GATES = ("A", "B", "W")


def dropped(obj: Object, on: set[str], old: Object | None = None) -> Object:
    given = json.loads(json.dumps(obj))  # unlike a deep copy without parts in common
    result = without_disabled(SCHEMA, "Spec", given, old, frozenset(on))
    assert given == obj
    return result


def test_all_gates_on() -> None:
    """With every gate on everything stays."""
    assert dropped(FULL, {"A", "B", "W"}) == FULL


def test_all_gates_off() -> None:
    """Gated fields go wherever they stand: in structs, lists, maps and embedded structs; empty holders stay."""
    kept = {"kept": 1}
    assert dropped(FULL, set()) == {
        "kept": "k",
        "one": kept,
        "many": [kept, {"kept": 4}],
        "named": {"x": kept},
    }


def test_a_field_needs_all_its_gates() -> None:
    """A field with two gates is dropped if one of them is off."""
    assert "both" not in dropped(FULL, {"A"})
    assert "both" not in dropped(FULL, {"B"})
    assert "both" in dropped(FULL, {"A", "B"})


@pytest.mark.parametrize(
    ("old", "kept"),
    [
        pytest.param({"a": "x"}, True, id="same-field"),
        pytest.param({"many": [{"a": 1}]}, True, id="elsewhere-of-the-same-feature"),
        pytest.param({"named": {"y": {"a": 0}}}, True, id="elsewhere-though-zero"),
        pytest.param({"both": "x"}, False, id="another-feature-with-the-same-gate"),
        pytest.param({"kept": "x"}, False, id="something-else"),
        pytest.param({}, False, id="nothing"),
        pytest.param(None, False, id="new-object"),
    ],
)
def test_in_use(old: Object | None, kept: bool) -> None:
    """Fields with the same gates are one feature: if the stored object has one of them, all are kept."""
    obj = dropped(FULL, {"B"}, old)
    assert ("a" in obj) is kept
    assert ("a" in obj["many"][0]) is kept
    assert "both" not in dropped(FULL, {"B"}, {"a": "x"})


def test_an_empty_list_is_no_use() -> None:
    """A list without entries is as good as none."""
    assert "list" not in dropped(FULL, {"A"}, {"one": {"list": []}})["one"]
    assert "list" in dropped(FULL, {"A"}, {"one": {"list": [0]}})["one"]


def test_a_struct_without_gates() -> None:
    """Where nothing is gated nothing happens."""
    obj = {"kept": "x"}
    assert without_disabled(SCHEMA, "Plain", obj, None, frozenset()) is obj


@given(st.sets(st.sampled_from(GATES)), st.sampled_from([None, FULL, {"a": "x"}, {"one": ITEM}]))
def test_dropping_twice_changes_nothing(on: set[str], old: Object | None) -> None:
    once = dropped(FULL, on, old)
    assert dropped(once, on, old) == once
