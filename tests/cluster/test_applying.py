"""What `kubectl apply` makes of stored objects (tests/e2e/test_live_access.py asks the real one)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cluster.applying import LAST_APPLIED, applied, created


def stored(spec: Any, last: Any = None, **metadata: Any) -> dict[str, Any]:
    given = {} if last is None else {"annotations": {LAST_APPLIED: json.dumps({"spec": last})}}
    return {"metadata": {"name": "x", **given, **metadata}, "spec": spec}


def _applied(before: Any, given: Any) -> dict[str, Any]:
    result = applied(before, given, "default")
    assert result is not None
    return result


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
        pytest.param(
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"containers": [{"name": "a"}, {"name": "a"}]},
            {"containers": [{"name": "a"}]},
            {"containers": [{"name": "b"}]},
            id="entry-that-was-named-twice-goes",
        ),
        pytest.param({"containers": [1]}, None, {"containers": [2]}, {"containers": [2]}, id="odd-entries"),
        pytest.param({"a": 1}, "text", {"b": 2}, {"a": 1, "b": 2}, id="odd-annotation"),
    ],
)
def test_applied(before: Any, last: Any, given: Any, expected: Any) -> None:
    """The manifest's fields win, others stay, and those that it has given up go."""
    assert _applied(stored(before, last), {"spec": given})["spec"] == expected


def test_finalizers_are_added() -> None:
    """Those of controllers stay."""
    result = _applied(stored({}, finalizers=["theirs"]), {"metadata": {"finalizers": ["mine"]}})
    assert result["metadata"]["finalizers"] == ["theirs", "mine"]


def test_an_annotation_that_is_no_json() -> None:
    """It counts as if there were none."""
    before = stored({"a": 1})
    before["metadata"]["annotations"] = {LAST_APPLIED: "{"}
    assert _applied(before, {"spec": {"b": 2}})["spec"] == {"a": 1, "b": 2}


def test_what_has_been_applied_is_asked_for_once() -> None:
    """kubectl asks for nothing where the manifest says what is stored, in whatever order; a new object says the same."""
    manifest = {"metadata": {"name": "x"}, "spec": {"z": {"b": 1, "a": "<&>"}, "y": None}}
    first = _applied({"metadata": {"name": "x", "namespace": "default"}, "spec": {}}, manifest)
    assert first["metadata"]["annotations"][LAST_APPLIED] == (
        r'{"metadata":{"annotations":{},"name":"x","namespace":"default"},"spec":{"y":null,"z":{"a":"\u003c\u0026\u003e","b":1}}}'
        "\n"
    )
    assert json.dumps(first["spec"]) == '{"z": {"a": "<&>", "b": 1}}'
    assert applied(first, manifest, "default") is None
    assert applied(first, {**manifest, "spec": {"z": {"b": 2}}}, "default") is not None


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        pytest.param({"a": None, "b": {"c": None}}, {"b": {}}, id="members"),
        pytest.param({"a": [None, {"b": None}]}, {"a": [None, {}]}, id="entries-stay"),
    ],
)
def test_nulls_are_not_sent(given: Any, sent: Any) -> None:
    """What kubectl creates has no null members, as if it had been applied before."""
    assert created({"metadata": {"name": "x"}, "spec": given}, "")["spec"] == sent


def test_null_annotations_are_empty() -> None:
    """kubectl reads annotations as texts."""
    manifest = {"metadata": {"name": "x", "annotations": {"a": None, LAST_APPLIED: "old"}}}
    assert created(manifest, "")["metadata"]["annotations"] == {"a": ""}


@pytest.mark.parametrize("more", [0, 1])
def test_annotation_of_large_manifests(more: int) -> None:
    """The annotation is there, with every byte, where it can be what makes annotations too large."""
    name, limit = "x", 256 * 1024
    empty = len('{"metadata":{"annotations":{},"name":"x"},"spec":""}\n') + len(LAST_APPLIED)
    body = created({"metadata": {"name": name}, "spec": "x" * (limit - empty + more)}, "")
    annotations = body["metadata"]["annotations"]
    assert sum(len(key) + len(value) for key, value in annotations.items()) == limit + more
