"""The measured answers of a real API server, given by the webhooks in the order in which CRDs ask them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from resourceapi.releases import Profile
from tests.conformance.answers import Case, without_storage_fields
from tests.conformance.cases import read_cases
from tests.conformance.profiles import PROFILES
from tests.conformance.replay import NODES, NOW
from tests.webhook.examples import admission, apply, conversion, patch_of
from validation.server import Server
from webhook.context import Context
from webhook.converting import convert
from webhook.mutating import mutate
from webhook.validating import validate

FILES = ("resourceclaim", "resourceclaimtemplate", "deviceclass", "resourceslice")
# Raw JSON is limited as it was sent; an API server sends it to webhooks without the spaces.
SENT_WITH_SPACES = "may not be more than 10240 bytes"


def cases(shared: Path, file: str) -> Iterator[Case]:
    """The cases of the newest release with default gates."""
    return (case for case in read_cases(shared / "corpus" / f"{file}.jsonl") if case["profile"] == "1.37")


def comes_to_webhooks(case: Case) -> bool:
    """Whether an API server would ask about the request: it reads and prunes the body itself."""
    obj = case["object"]
    return (
        case["verb"] in ("create", "update", "status")
        and case.get("raw") is None
        and case["expect"]["code"] != 400
        and isinstance(obj, dict)
        and isinstance(obj.get("metadata"), dict)
        and (obj.get("apiVersion"), obj.get("kind")) == (case["apiVersion"], case["kind"])
    )


@cache
def context(namespace: str, labels: tuple[tuple[str, str], ...]) -> Context:
    settings = PROFILES["1.37"]
    profile = Profile(settings.release, settings.gates)
    namespaces = {namespace: dict(labels)}
    server = Server(profile, namespaces=namespaces, nodes=NODES, now=lambda: NOW, verbatim=True)
    return Context(server=server, rules=True)


def timed(value: Any) -> Any:
    """The value with the mark that stands for the time of the measurement replaced."""
    if isinstance(value, dict):
        return {key: timed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [timed(item) for item in value]
    return NOW if value == "<now>" else value


def review_of(case: Case) -> dict[str, Any]:
    old = timed(case.get("old"))
    if old is not None:
        metadata = {"uid": "<uid>", "resourceVersion": "4242", **old["metadata"]}
        if case.get("deleted"):
            metadata["deletionTimestamp"] = NOW
        old = {"apiVersion": case["apiVersion"], "kind": case["kind"], **old, "metadata": metadata}
    subresource = "status" if case["verb"] == "status" else ""
    name = old["metadata"]["name"] if old else ""
    namespace = case.get("namespace", "")
    return admission(timed(case["object"]), old, subresource=subresource, name=name, namespace=namespace)


@pytest.mark.parametrize("file", FILES)
def test_crds_with_webhooks_answer_as_measured(shared: Path, file: str) -> None:
    """First the mutating webhook, then the validating one: same verdict, same causes, same object."""
    asked = 0
    different = []
    for case in filter(comes_to_webhooks, cases(shared, file)):
        expected = case["expect"]
        if SENT_WITH_SPACES in expected.get("message", ""):
            continue
        judged = context(case.get("namespace", ""), tuple(sorted(case.get("namespaceLabels", {}).items())))
        review = review_of(case)
        patched = apply(patch_of(mutate(review, judged)), review["request"]["object"])
        review["request"]["object"] = patched
        response = validate(review, judged)["response"]
        asked += 1
        if expected["code"] < 400:
            whole = timed(expected.get("object", case["object"]))  # left out where nothing changes
            same = response["allowed"] and _content(patched) == _content(whole)
        else:
            status = response.get("status", {})
            same = (status.get("code"), causes(status.get("details", {}))) == (
                expected["code"],
                causes(expected),
            )
        if not same:
            different.append((case["id"], case["note"], response))
    assert asked > 20
    assert different == []


def _content(obj: dict[str, Any]) -> dict[str, Any]:
    """The object without what an API server fills in by itself."""
    return {name: value for name, value in without_storage_fields(obj).items() if name != "metadata"}


def causes(details: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = details.get("causes", [])
    return sorted((cause["field"], cause["message"], cause["reason"]) for cause in found)


@pytest.mark.parametrize("file", FILES)
def test_conversion_as_measured(shared: Path, file: str) -> None:
    """An object read in any version is converted to any other as the API server gives it there."""
    judged = context("", ())
    compared = 0
    for case in cases(shared, file):
        read = {
            version: {"apiVersion": f"resource.k8s.io/{version}", "kind": case["kind"], **timed(obj)}
            for version, obj in case["expect"].get("converted", {}).items()
        }
        for one in read.values():
            for version, other in read.items():
                result = convert(conversion([one], version), judged)["response"]["convertedObjects"]
                assert result == [other], case["id"]
                compared += 1
    assert compared > 20
