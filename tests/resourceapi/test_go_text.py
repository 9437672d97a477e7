"""Texts as Go writes them, against Go's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi import go_text
from resourceapi.go_text import json_float, json_string, json_text, quote
from resourceapi.printable import is_printable
from resourceapi.quantity import parse
from tests.resourceapi.tables import table


@pytest.mark.parametrize("case", table("quoted_texts"))
def test_quotes_as_go(case: dict[str, Any]) -> None:
    """%q and JSON strings are Go's, for bytes that are no UTF-8 too."""
    text = bytes.fromhex(case["bytes"]).decode("utf-8", "surrogateescape")
    assert quote(text) == case["quoted"]
    assert json_string(text) == case["json"]


def test_quotes_a_lone_surrogate() -> None:
    """What no UTF-8 can hold is printed as the replacement character."""
    assert quote("\ud800") == '"\ufffd"'
    assert json_string("\ud800") == '"\\ufffd"'


@pytest.mark.parametrize("unit", ["é", "\n", "\x80", "\ud800", "\U0001f600", '"'], ids=ascii)
def test_each_different_character_is_looked_at_once(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name of 1.4 million characters took 13 s."""
    looked_at = []

    def remember(character: str) -> bool:
        looked_at.append(character)
        return is_printable(character)

    monkeypatch.setattr(go_text, "is_printable", remember)
    one, many = quote(unit), quote(unit * 1_400_000)
    assert many == f'"{one[1:-1] * 1_400_000}"'
    assert len(looked_at) <= 2


@pytest.mark.parametrize("case", table("floats"))
def test_writes_floats_as_go(case: dict[str, Any]) -> None:
    """The shortest digits, with an exponent where Go's JSON has one."""
    value = float.fromhex(case["hex"])
    assert json_float(value) == case["json"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0, "0"),
        (1.0, "1"),
        ("a<b", '"a\\u003cb"'),
        ([], "[]"),
        ({}, "{}"),
        ([1, [2, []], {}], "[1,[2,[]],{}]"),
        ({"b": 1, "a": {"é": None}}, '{"b":1,"a":{"é":null}}'),
        ((1, "x"), '[1,"x"]'),
        ({"c": parse("1.5Gi")}, '{"c":"1536Mi"}'),
        ({"<": False}, '{"\\u003c":false}'),
    ],
    ids=repr,
)
def test_writes_compact_json(value: object, text: str) -> None:
    """No space, keys in the order given, HTML escaped, quantities as texts."""
    assert json_text(value) == text


def test_writes_deeply_nested_json() -> None:
    """Depth is no matter of Python's stack."""
    value: object = "x"
    for _ in range(20_000):
        value = [{"a": value}]
    assert json_text(value) == '[{"a":' * 20_000 + '"x"' + "}]" * 20_000


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_json_reads_back(value: object) -> None:
    """What is written is JSON for the same value."""
    assert json.loads(json_text(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back(value: float) -> None:
    """The digits are enough to tell floats apart."""
    assert float(json_float(value)) == value


@given(st.text())
def test_quoted_text_is_printable(text: str) -> None:
    """Nothing in a quoted text disturbs a terminal."""
    assert all(map(is_printable, quote(text)))


@pytest.mark.parametrize(
    "character", [" ", "~", "¡", "ÿ", "\u0374", "漢", "\U0001f600", "\U000e01ef"], ids=ascii
)
def test_printable(character: str) -> None:
    """Letters, marks, numbers, punctuation, symbols and the space are printable."""
    assert is_printable(character)


@pytest.mark.parametrize(
    "character",
    ["\x1f", "\x7f", "\x80", "\xa0", "\xad", "\u0378", "\ud800", "\U000e01f0", "\U0010ffff"],
    ids=ascii,
)
def test_not_printable(character: str) -> None:
    """Controls, other spaces, format characters, surrogates and unassigned code points are not."""
    assert not is_printable(character)
