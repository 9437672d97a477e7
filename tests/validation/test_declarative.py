"""The declarative pass, on a small schema of its own: what it reports, and what of an update it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from resourceapi import rules
from resourceapi.field_errors import INVALID
from resourceapi.names import FormatError
from resourceapi.objects import Object
from resourceapi.rules import STANDARD
from resourceapi.schema import STRING, Field, Schema, Struct, list_of, map_of, named, ref
from validation.declarative import DeclarativePass

BETA_GATE = "DeclarativeValidationBeta"


def _lower(text: str) -> Sequence[FormatError]:
    return [FormatError(INVALID, text, "must be lowercase")] if text != text.lower() else []


LOWER = rules.Format("lower", _lower)
COLOUR = named("Colour", rules.OneOfValues("red", "blue"), enum=("blue", "red"))
SCHEMA = Schema(
    "v1",
    (
        Struct(
            "Root",
            Field("metadata", ref("Meta"), rules.Subfield("name", rules.Optional(), LOWER)),
            Field("name", STRING, rules.Required(), LOWER, rules.MaxLength(3)),
            Field("note", STRING, rules.Optional(), rules.MaxBytes(3)),
            Field("maybe", STRING, rules.Optional(), LOWER, pointer=True),
            Field("fixed", STRING, rules.Immutable()),
            Field("once", ref("Item"), rules.Optional(), rules.NotModified(), pointer=True),
            Field("colour", COLOUR, rules.Optional()),
            Field("colours", list_of(COLOUR), rules.Optional(), rules.MaxItems(2)),
            Field("words", list_of(STRING), rules.Optional(), rules.EachValue(LOWER), rules.Unique()),
            Field("items", list_of(ref("Item")), rules.Optional(), rules.MaxItems(2), rules.Unique("id")),
            Field("loose", list_of(ref("Item"))),
            Field("named", map_of(ref("Item")), rules.Optional(), rules.EachKey(LOWER)),
            Field("gated", STRING, rules.ForbiddenWithout("G"), rules.Optional(), LOWER, pointer=True),
            Field(
                "always",
                STRING,
                rules.Optional(stage=STANDARD),
                rules.Format("lower", _lower, stage=STANDARD),
            ),
            Field("base", ref("Base"), inline=True),
            Field("plain", ref("Plain")),
        ),
        Struct("Meta", Field("name", STRING), Field("other", STRING)),
        Struct(
            "Item",
            Field("id", STRING),
            Field("text", STRING, rules.Optional(), LOWER),
            Field("a", STRING, pointer=True),
            Field("b", STRING, pointer=True),
            rules=(rules.OneOfFields("a", "b"),),
        ),
        Struct("Base", Field("inherited", STRING, rules.Optional(), LOWER)),
        Struct("Plain", Field("text", STRING), Field("again", ref("Plain"), pointer=True)),
    ),
)
GOOD: Object = {"name": "a"}


def item(**more: Any) -> Object:
    return {"id": "x", "a": "1", **more}


def errors(new: Object, old: Object | None = None, *gates: str) -> list[str]:
    found: list[Any] = []
    DeclarativePass(SCHEMA, frozenset(gates), beta=not gates or BETA_GATE in gates).check(
        "Root", new, old, found
    )
    return [str(error) for error in found]


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({}, [], id="nothing-but-what-is-required"),
        pytest.param({"name": ""}, ["name: Required value"], id="required"),
        pytest.param({"name": "A"}, ['name: Invalid value: "A": must be lowercase'], id="format"),
        pytest.param({"name": "aé\U0001f600"}, [], id="longest"),
        pytest.param(
            {"name": "ABCD"},
            [
                'name: Invalid value: "ABCD": must be lowercase',
                "name: Too long: may not be more than 3 characters",
            ],
            id="several-rules-in-order",
        ),
        pytest.param({"note": "abc"}, [], id="most-bytes"),
        pytest.param({"note": "abé"}, ["note: Too long: may not be more than 3 bytes"], id="bytes"),
        pytest.param({"maybe": ""}, [], id="pointer-to-nothing-is-looked-at"),
        pytest.param({"maybe": "A"}, ['maybe: Invalid value: "A": must be lowercase'], id="pointer"),
        pytest.param({"fixed": "x", "once": item()}, [], id="may-be-set-at-first"),
        pytest.param({"colour": "red"}, [], id="value-of-an-enumeration"),
        pytest.param(
            {"colour": "green"},
            ['colour: Unsupported value: "green": supported values: "blue", "red"'],
            id="other",
        ),
        pytest.param(
            {"colours": ["red", "green"]},
            ['colours[1]: Unsupported value: "green": supported values: "blue", "red"'],
            id="list-of-an-enumeration",
        ),
        pytest.param(
            {"colours": ["x", "y", "z"]},
            ["colours: Too many: 3: must have at most 2 items"],
            id="long-list-is-left",
        ),
        pytest.param(
            {"words": ["a", "B", "a"]},
            ['words[1]: Invalid value: "B": must be lowercase', 'words[2]: Duplicate value: "a"'],
            id="texts",
        ),
        pytest.param({"items": [item(), item(id="y")]}, [], id="entries"),
        pytest.param(
            {"items": [item(), item(text="T")]},
            [
                'items[1]: Duplicate value: {"id":"x","text":"T","a":"1"}',
                'items[1].text: Invalid value: "T": must be lowercase',
            ],
            id="entry-twice-is-shown-whole",
        ),
        pytest.param(
            {"loose": [{}]},
            ['loose[0]: Invalid value: "": must specify one of: `a`, `b`'],
            id="none-of-a-union",
        ),
        pytest.param(
            {"loose": [item(b="2")]},
            ['loose[0]: Invalid value: "{a, b}": must specify exactly one of: `a`, `b`'],
            id="both-of-a-union",
        ),
        pytest.param(
            {"named": {"K": item(text="T")}},
            [
                'named: Invalid value: "K": must be lowercase',
                'named[K].text: Invalid value: "T": must be lowercase',
            ],
            id="map",
        ),
        pytest.param({"gated": "a"}, ["gated: Forbidden"], id="gate-off"),
        pytest.param({"inherited": "A"}, ['inherited: Invalid value: "A": must be lowercase'], id="embedded"),
        pytest.param(
            {"metadata": {"name": "A"}},
            ['metadata.name: Invalid value: "A": must be lowercase'],
            id="subfield",
        ),
        pytest.param({"metadata": {}}, [], id="subfield-unset"),
        pytest.param({"plain": {"text": "A"}}, [], id="without-rules"),
    ],
)
def test_new_objects(more: Object, expected: list[str]) -> None:
    """Rules are checked field by field in the order in which they are declared."""
    assert errors({**GOOD, **more}) == expected


def test_a_gate_that_is_on() -> None:
    """A field that needs a gate is like any other where that is on."""
    assert errors({**GOOD, "gated": "a"}, None, BETA_GATE, "G") == []
    assert errors({**GOOD, "gated": "A"}, None, BETA_GATE, "G") == [
        'gated: Invalid value: "A": must be lowercase'
    ]


def test_rules_that_are_not_enforced() -> None:
    """Without the gate for them only those rules report that always have; the others still keep it from looking on."""
    wrong = {"name": "A", "gated": "x", "always": "A", "colours": ["x", "y", "z"], "items": [item(), item()]}
    assert errors(wrong, None, "other") == [
        "gated: Forbidden",
        'always: Invalid value: "A": must be lowercase',
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"note": "long"}, {"note": "long"}, [], id="unchanged-is-left-alone"),
        pytest.param(
            {"note": "long"},
            {"note": "longer"},
            ["note: Too long: may not be more than 3 bytes"],
            id="changed",
        ),
        pytest.param({"fixed": "a"}, {"fixed": "a"}, [], id="immutable-unchanged"),
        pytest.param(
            {"fixed": "a"}, {"fixed": "b"}, ["fixed: Invalid value: null: field is immutable"], id="immutable"
        ),
        pytest.param(
            {}, {"fixed": "b"}, ["fixed: Invalid value: null: field is immutable"], id="immutable-unset"
        ),
        pytest.param({"once": item()}, {}, [], id="taken-back"),
        pytest.param({}, {"once": item()}, [], id="set-once"),
        pytest.param(
            {"once": item()},
            {"once": item(text="T")},
            ["once: Invalid value: null: field cannot be modified once set"],
            id="set-twice-is-not-looked-into",
        ),
        pytest.param(
            {"items": [item(text="T")]},
            {"items": [item(id="y"), item(text="T")]},
            [],
            id="entry-is-known-by-its-key",
        ),
        pytest.param(
            {"items": [item(text="T")]},
            {"items": [item(text="T", id="y")]},
            ['items[0].text: Invalid value: "T": must be lowercase'],
            id="entry-with-another-key-is-new",
        ),
        pytest.param(
            {"items": [{"id": "x"}]},
            {"items": [{"id": "x", "text": "T"}]},
            ['items[0].text: Invalid value: "T": must be lowercase'],
            id="union-as-wrong-as-before",
        ),
        pytest.param(
            {"items": [{"id": "x"}]},
            {"items": [item(b="2")]},
            ['items[0]: Invalid value: "{a, b}": must specify exactly one of: `a`, `b`'],
            id="union-wrong-in-another-way",
        ),
        pytest.param(
            {"loose": [item(text="T")]},
            {"loose": [item(text="T"), item()]},
            ['loose[0].text: Invalid value: "T": must be lowercase'],
            id="entries-without-a-key-are-all-new",
        ),
        pytest.param(
            {"named": {"K": item(text="T")}},
            {"named": {"K": item(text="T"), "L": item()}},
            ['named: Invalid value: "L": must be lowercase'],
            id="entry-of-a-map-is-known-by-its-key",
        ),
        pytest.param(
            {"named": {"k": item(text="T")}},
            {"named": {"k": item(text="U")}},
            ['named[k].text: Invalid value: "U": must be lowercase'],
            id="changed-entry-of-a-map",
        ),
        pytest.param(
            {"colours": ["x"]},
            {"colours": ["y", "x"]},
            ['colours[0]: Unsupported value: "y": supported values: "blue", "red"'],
            id="texts-that-were-there",
        ),
        pytest.param(
            {"words": ["A"]},
            {"words": ["A", "B"]},
            ['words[1]: Invalid value: "B": must be lowercase'],
            id="words",
        ),
        pytest.param(
            {"metadata": {"name": "A"}}, {"metadata": {"name": "A", "other": "x"}}, [], id="subfield"
        ),
        pytest.param(
            {"metadata": {"name": "A"}},
            {"metadata": {"name": "B"}},
            ['metadata.name: Invalid value: "B": must be lowercase'],
            id="subfield-changed",
        ),
        pytest.param({"gated": "x"}, {"gated": "x"}, [], id="gated-in-use"),
        pytest.param({"gated": "x"}, {"gated": "y"}, ["gated: Forbidden"], id="gated-changed"),
        pytest.param({"gated": "x"}, {}, [], id="gated-taken-back"),
        pytest.param({"items": []}, {}, [], id="empty-is-unset"),
    ],
)
def test_changed_objects(old: Object, new: Object, expected: list[str]) -> None:
    """What an update leaves as it was is not checked again, however wrong it is."""
    assert errors({**GOOD, **new}, {**GOOD, **old}) == expected


def test_structs_without_rules() -> None:
    """A struct with nothing to check is not visited, though it contains itself."""
    found: list[Any] = []
    DeclarativePass(SCHEMA, frozenset(), beta=False).check(
        "Plain", {"text": "A", "again": {"text": "B"}}, None, found
    )
    assert found == []
