"""What patches make of stored objects (`tests/e2e/test_kubectl.py` asks the real server)."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.patching import JSON, MERGE, MOST_OPERATIONS, STRATEGIC, PatchRefused, patched

STORED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "x", "labels": {"a": "1", "b": "2"}, "finalizers": ["a.b/c", "a.b/d"]},
    "spec": {
        "containers": [{"name": "a", "image": "1", "tty": True}, {"name": "b"}],
        "tolerations": [{"key": "k"}],
    },
}
REJECTED = "the server rejected our request due to an error in our request"


def _with(**changes: Any) -> dict[str, Any]:
    return {**STORED, **changes}


CONTAINERS = STORED["spec"]["containers"]
METADATA = STORED["metadata"]


@pytest.mark.parametrize(
    ("type", "patch", "expected"),
    [
        (MERGE, {"metadata": {"labels": {"a": None, "c": "3"}}}, _with(metadata={**METADATA, "labels": {"b": "2", "c": "3"}})),
        (MERGE, {"spec": {"containers": [{"name": "c"}]}}, _with(spec={**STORED["spec"], "containers": [{"name": "c"}]})),
        (MERGE, {"status": {"a": None, "b": {"c": None}}}, _with(status={"b": {}})),
        (
            STRATEGIC,
            {"metadata": {"finalizers": ["a.b/c", {}, {}]}},
            _with(metadata={**METADATA, "finalizers": ["a.b/c", {}, "a.b/d"]}),
        ),
        (
            STRATEGIC,
            {"spec": {"containers": [{"name": "a", "image": "2"}]}},
            _with(spec={**STORED["spec"], "containers": [{**CONTAINERS[0], "image": "2"}, CONTAINERS[1]]}),
        ),
        (
            STRATEGIC,
            {"spec": {"containers": [{"name": "a", "$patch": "delete"}], "$setElementOrder/containers": [{"name": "b"}]}},
            _with(spec={**STORED["spec"], "containers": [CONTAINERS[1]]}),
        ),
        (
            STRATEGIC,
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "c"}]}},
            _with(spec={**STORED["spec"], "containers": [{"name": "c"}]}),
        ),
        (STRATEGIC, {"spec": {"$patch": "replace", "nodeName": "n"}}, _with(spec={"nodeName": "n"})),
        (STRATEGIC, {"spec": {"$retainKeys": ["tolerations"]}}, _with(spec={"tolerations": [{"key": "k"}]})),
        (
            STRATEGIC,
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c"]}},
            _with(metadata={**METADATA, "finalizers": ["a.b/d"]}),
        ),
        (STRATEGIC, {"kind": "Job", "apiVersion": None}, STORED),
        (STRATEGIC, {"spec": {"tolerations": []}}, _with(spec={**STORED["spec"], "tolerations": []})),
        (
            JSON,
            [{"op": "replace", "path": "/metadata/labels/a", "value": "3"}, {"op": "remove", "path": "/metadata/labels/b"}],
            _with(metadata={**METADATA, "labels": {"a": "3"}}),
        ),
        (JSON, [{"op": "add", "path": "/metadata/labels/a~1b", "value": "~"}], _with(metadata={**METADATA, "labels": {"a": "1", "b": "2", "a/b": "~"}})),
        (JSON, [{"op": "add", "path": "/spec/containers/0", "value": {}}], _with(spec={**STORED["spec"], "containers": [{}, *CONTAINERS]})),
        (JSON, [{"op": "remove", "path": "/spec/containers/-1"}], _with(spec={**STORED["spec"], "containers": CONTAINERS[:1]})),
        (
            JSON,
            [{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/c"}, {"op": "copy", "from": "/kind", "path": "/metadata/labels/b"}],
            _with(metadata={**METADATA, "labels": {"b": "Pod", "c": "1"}}),
        ),
        (JSON, [{"op": "test", "path": "/metadata/nothing", "value": None}], STORED),
        (JSON, [{"op": "replace", "path": "/metadata/new", "value": 1}], _with(metadata={**METADATA, "new": 1})),
        (JSON, [{"op": "copy", "from": "/nothing", "path": "/new"}], _with(new=None)),
    ],
)  # fmt: skip
def test_patched(type: str, patch: Any, expected: Any) -> None:
    """The stored object stays as it was, and so does the patch."""
    import copy

    stored, given = copy.deepcopy(STORED), copy.deepcopy(patch)
    assert patched(stored, given, type) == expected
    assert stored == STORED


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ({"containers": ["c", "a"]}, "abcde -> bcade"),
        ({"containers": ["x"]}, "abcde -> xabcde"),
        ({"containers": ["d", "x"]}, "abcde -> abcdxe"),
        ({"containers": ["x", "d"]}, "abcde -> xabcde"),
        ({"containers": ["e", "-c", "b"]}, "abcde -> adeb"),
        ({"containers": ["x", "d"], "$setElementOrder/containers": ["x", "d", "a"]}, "abcde -> xbcdae"),
        ({"$setElementOrder/containers": ["b", "a"]}, "abcde -> bacde"),
        ({"containers": ["b", "a"]}, " -> ba"),
    ],
)
def test_order_of_merged_entries(patch: dict[str, list[str]], expected: str) -> None:
    """Entries that the patch names stand in its order, new ones ahead of stored ones that it does not name.

    As the server's own code (apimachinery 0.37.1) answers.
    """
    stored, _, result = expected.partition(" -> ")

    def named(name: str) -> dict[str, str]:
        return {"name": name[1:], "$patch": "delete"} if name[0] == "-" else {"name": name}

    made = patched(
        {**STORED, "spec": {"containers": [named(each) for each in stored]}},
        {"spec": {field: [named(each) for each in names] for field, names in patch.items()}},
        STRATEGIC,
    )
    assert "".join(each["name"] for each in made["spec"]["containers"]) == result


@pytest.mark.parametrize(
    ("type", "patch", "message"),
    [
        (MERGE, [], "a merge patch must be a mapping"),
        (MERGE, {"kind": "Job"}, "the patch changes kind, which must stay Pod"),
        (STRATEGIC, {"spec": {"$odd": 1}}, "Invalid key $odd in the patch"),
        (JSON, {}, "a json patch must be a list of operations"),
        (JSON, [{"op": "remove", "path": ""}], "the patch makes something else than an object"),
        (JSON, [{"op": "add", "path": "/nothing/a", "value": 1}], REJECTED),
        (JSON, [{"op": "replace", "path": "/nothing/a", "value": 1}], REJECTED),
        (JSON, [{"op": "replace", "path": "/spec/containers/2", "value": 1}], REJECTED),
        (JSON, [{"op": "test", "path": "/spec/containers/2", "value": None}], REJECTED),
        (JSON, [{"op": "remove", "path": "/metadata/nothing"}], REJECTED),
        (JSON, [{"op": "copy", "from": "/spec/containers", "path": "/spec/containers/-"}] * 40, REJECTED),
        (JSON, [{"op": "remove", "path": "/spec/containers/2"}], REJECTED),
        (JSON, [{"op": "test", "path": "/kind", "value": "Job"}], REJECTED),
        (JSON, [{"op": "odd", "path": "/kind"}], REJECTED),
        (JSON, [{"op": "add", "path": "kind", "value": "Pod"}], REJECTED),
        (
            JSON,
            [{"op": "test", "path": "/kind", "value": "Pod"}] * (MOST_OPERATIONS + 1),
            "The allowed maximum operations in a JSON patch is 10000, got 10001",
        ),
    ],
)
def test_refused(type: str, patch: Any, message: str) -> None:
    """What does not fit is refused before anything is made of it."""
    with pytest.raises(PatchRefused) as refused:
        patched(STORED, patch, type)
    assert str(refused.value) == message
