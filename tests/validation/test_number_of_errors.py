"""An object of a few megabytes has a million errors: the first ten thousand of each generation of rules are told."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi import field_errors
from resourceapi.field_errors import DUPLICATE, MOST_DETAIL, MOST_FOUND, FieldError
from tests.webhook.examples import claim, server
from validation.kind_rules import merge
from validation.requests import CREATE, STATUS, Request

EMPTY_ENTRIES: list[dict[str, Any]] = [{}] * 100_000
SELECTOR = {"nodeSelectorTerms": [{"matchExpressions": EMPTY_ENTRIES}]}
SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "slice"},
    "spec": {"nodeSelector": SELECTOR},
}
STORED = {**claim(), "metadata": {"name": "claim", "namespace": "team", "resourceVersion": "1", "uid": "1"}}
CLASSIC = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClass",
    "metadata": {"name": "class"},
    "driverName": "gpu.example.com",
    "suitableNodes": SELECTOR,
}
WORKLOAD = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "app", "namespace": "team"},
    "spec": {"selector": {"matchExpressions": EMPTY_ENTRIES}, "template": {}},
}


@pytest.mark.parametrize(
    ("release", "verb", "obj", "old"),
    [
        pytest.param("1.37", STATUS, {**STORED, "status": {"devices": EMPTY_ENTRIES}}, STORED, id="status"),
        pytest.param(
            "1.35", STATUS, {**STORED, "status": {"devices": EMPTY_ENTRIES}}, STORED, id="status-1.35"
        ),
        pytest.param("1.37", CREATE, SLICE, None, id="slice"),
        pytest.param("1.30", CREATE, CLASSIC, None, id="classic"),
        pytest.param("1.37", CREATE, WORKLOAD, None, id="workload"),
    ],
)
def test_number_of_errors_is_bounded(
    release: str, verb: str, obj: dict[str, Any], old: dict[str, Any] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The object is refused, and no more errors are made than may be told."""
    made = 0
    make = FieldError.__init__

    def count(self: FieldError, *arguments: Any, **more: Any) -> None:
        nonlocal made
        made += 1
        make(self, *arguments, **more)

    monkeypatch.setattr(field_errors.FieldError, "__init__", count)
    request = Request(
        verb=verb,
        api_version=obj["apiVersion"],
        kind=obj["kind"],
        namespace=obj["metadata"].get("namespace", ""),
        body=obj,
        old=old,
    )
    answer = server(release=release).handle(request)
    assert answer.code == 422, answer.message
    assert MOST_FOUND <= len(answer.errors) <= 2 * MOST_FOUND
    assert made <= 2 * (MOST_FOUND + 1)


def test_size_of_errors_is_bounded() -> None:
    """Each error may name all claims of a pod: an answer has no room for so much."""
    names = [f"{number}-{'a' * 900}" for number in range(900)]
    used = [{"name": f"unknown-{number}"} for number in range(90)]
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod", "namespace": "team"},
        "spec": {
            "containers": [{"name": "main", "image": "image", "resources": {"claims": used}}],
            "resourceClaims": [{"name": name, "resourceClaimName": "claim"} for name in names],
        },
    }
    answer = server().handle(Request("v1", "Pod", "team", CREATE, pod))
    assert answer.code == 422
    details = [len(error.detail) for error in answer.errors]
    assert sum(details) - max(details) <= MOST_DETAIL


def test_an_object_whose_first_errors_all_go_is_refused() -> None:
    """Errors that declared rules stand for go up to 1.35; behind those of a full list there may be others."""
    full = [FieldError(DUPLICATE, ("spec", index), "", covered=True) for index in range(MOST_FOUND)]
    assert merge(full, [], lambda path: path, minor=35) == full
    assert merge(full[:-1], [], lambda path: path, minor=35) == []
    long = [FieldError(DUPLICATE, ("spec",), "", "a" * (MOST_DETAIL // 2 + 1), covered=True)] * 2
    assert merge(long, [], lambda path: path, minor=35) == long
