"""Patches: applied to the one value they give the other."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.examples import apply
from webhook.json_patch import difference

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "a/b", "~1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "a/b", "m~n", ""]), inner, max_size=3)
    ),
    max_leaves=12,
)

CASES: dict[str, tuple[Any, Any, list[dict[str, Any]]]] = {
    "same": ({"a": [1]}, {"a": [1]}, []),
    "order-of-members": ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
    "added": ({}, {"a": 1}, [{"op": "add", "path": "/a", "value": 1}]),
    "removed": ({"a": 1}, {}, [{"op": "remove", "path": "/a"}]),
    "in-a-list": ([{"a": 1}], [{"a": 2}], [{"op": "replace", "path": "/0/a", "value": 2}]),
    "longer-list": ({"a": [1]}, {"a": [1, 2]}, [{"op": "replace", "path": "/a", "value": [1, 2]}]),
    "escaped": ({"a/b~c": 1}, {}, [{"op": "remove", "path": "/a~1b~0c"}]),
    "true-is-not-one": ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
}


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    """The operations are few and at the places that differ."""
    before, after, operations = CASES[name]
    assert difference(before, after) == operations


@given(VALUES, VALUES)
def test_patch_gives_the_other_value(before: Any, after: Any) -> None:
    """Whatever the values are, the patch turns the one into the other."""
    patched = apply(difference(before, after), before)
    assert json.dumps(patched, sort_keys=True) == json.dumps(after, sort_keys=True)


def test_very_long_lists_are_replaced_as_a_whole() -> None:
    """3 MB of empty tolerations were 98 MB of defaults, one by one, and more than 1 GiB in memory."""
    before: dict[str, Any] = {"tolerations": [{}] * 1001}
    after = {"tolerations": [{"operator": "Equal"}] * 1001}
    assert difference(before, after) == [
        {"op": "replace", "path": "/tolerations", "value": after["tolerations"]}
    ]
    assert difference(before, before) == []
    assert difference(after, {"tolerations": [{"operator": "Equal"} for _ in range(1001)]}) == []
