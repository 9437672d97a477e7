"""Values that are nested more deeply than the json module can follow."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi import deep_json
from resourceapi.deep_json import dumps, equal, loads
from resourceapi.json_values import JSONError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(), values, max_size=4),
    max_leaves=40,
)


def deep(levels: int) -> str:
    """Lists in objects, with members before and after; 2 levels for each."""
    return '{"a": [1.5, ' * levels + '"x"' + '], "b": "[NaN]\\""}' * levels


@given(JSON, st.sampled_from([None, 2]))
def test_like_the_json_module(value: Any, indent: int | None) -> None:
    """Part by part the value is the same, whatever it is."""
    text = json.dumps(value, indent=indent)
    levels, deep_json._LEVELS_AT_ONCE = deep_json._LEVELS_AT_ONCE, 2
    try:
        assert deep_json._joined(text) == json.loads(text)
    finally:
        deep_json._LEVELS_AT_ONCE = levels


@pytest.mark.parametrize("levels", [1, 700, 5000])
def test_deep_values(levels: int) -> None:
    """Nothing is lost, up to the deepest objects that an API server stores."""
    value = loads(deep(levels).encode())
    assert loads(dumps(value)) is not None
    for _ in range(levels):
        assert value["b"] == '[NaN]"'
        number, value = value["a"]
        assert (type(number), number) == (float, 1.5)
    assert value == "x"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ('{"a": 1, "b": [2]}', '{"b": [2], "a": 1}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ('{"a": 1}', '{"b": 1}', False),
        ("[1]", "[1, 2]", False),
        ("[1]", "{}", False),
    ],
)
def test_equal(one: str, other: str, expected: bool) -> None:
    """The order of members does not count, whatever the depth."""
    for levels in (0, 5000):
        nested = [loads("[" * levels + text + "]" * levels) for text in (one, other)]
        assert equal(*nested) == expected


@pytest.fixture
def usual_recursion() -> Iterator[None]:
    """As deep as Python goes by itself: whoever has parsed CEL may go deeper."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1000)
    yield
    sys.setrecursionlimit(limit)


@pytest.mark.usefixtures("usual_recursion")
@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[-Infinity]",
        "[" * 1500,
        "[" * 1500 + "]" * 1499,
        "[" * 1500 + "]" * 1501,
        "[" * 1500 + "}" + "]" * 1499,
        "[" * 1500 + "NaN" + "]" * 1500,
        "[" * 1500 + '"' + "]" * 1500,
        "[" * 10_003 + "]" * 10_003,
    ],
)
def test_no_json(text: str) -> None:
    """Mistakes in deep texts are found."""
    with pytest.raises(JSONError):
        loads(text)
