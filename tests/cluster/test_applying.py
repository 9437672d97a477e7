"""What `kubectl apply` makes of stored objects (tests/e2e/test_live_access.py asks the real one)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cluster.applying import LAST_APPLIED, applied


def stored(spec: Any, last: Any = None, **metadata: Any) -> dict[str, Any]:
    given = {} if last is None else {"annotations": {LAST_APPLIED: json.dumps({"spec": last})}}
    return {"metadata": {"name": "x", **given, **metadata}, "spec": spec}


@pytest.mark.parametrize(
    ("before", "last", "given", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, None, {"a": 3}, {"a": 3, "b": 2}, id="what-is-not-named-stays"),
        pytest.param({"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}, {"a": 1}, id="what-was-named-goes"),
        pytest.param({"a": 1}, None, {"a": None}, {}, id="null-removes"),
        pytest.param({"a": {"b": 1, "c": 2}}, None, {"a": {"b": 3}}, {"a": {"b": 3, "c": 2}}, id="deep"),
        pytest.param(
            {"requests": [{"name": "a"}]}, None, {"requests": []}, {"requests": []}, id="atomic-list"
        ),
        pytest.param(
            {"containers": [{"name": "a", "image": "1", "tty": False}, {"name": "injected"}]},
            None,
            {"containers": [{"name": "new"}, {"name": "a", "image": "2"}]},
            {
                "containers": [
                    {"name": "a", "image": "2", "tty": False},
                    {"name": "injected"},
                    {"name": "new"},
                ]
            },
            id="list-by-name",
        ),
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "b"}]},
            {"containers": [{"name": "b"}]},
            id="entry-that-was-named-goes",
        ),
        pytest.param({"containers": [1]}, None, {"containers": [2]}, {"containers": [2]}, id="odd-entries"),
        pytest.param({"a": 1}, "text", {"b": 2}, {"a": 1, "b": 2}, id="odd-annotation"),
    ],
)
def test_applied(before: Any, last: Any, given: Any, expected: Any) -> None:
    """The manifest's fields win, others stay, and those that it has given up go."""
    assert applied(stored(before, last), {"spec": given})["spec"] == expected


def test_finalizers_are_added() -> None:
    """Those of controllers stay."""
    result = applied(stored({}, finalizers=["theirs"]), {"metadata": {"finalizers": ["mine"]}})
    assert result["metadata"]["finalizers"] == ["theirs", "mine"]


def test_an_annotation_that_is_no_json() -> None:
    """It counts as if there were none."""
    before = stored({"a": 1})
    before["metadata"]["annotations"] = {LAST_APPLIED: "{"}
    assert applied(before, {"spec": {"b": 2}})["spec"] == {"a": 1, "b": 2}
