"""Asks the product what the server was asked: from a corpus line to an answer in the form of `expect`."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from resourceapi.records.nodes import Node
from resourceapi.releases import Profile
from tests.conformance.answers import (
    Case,
    expectation,
    extract,
    name_prefix,
    with_name_marked,
    without_storage_fields,
)
from tests.conformance.profiles import PROFILES
from validation.requests import CREATE, STATUS, STRICT, UPDATE, WARN, Request
from validation.server import Server
from validation.statuses import generated_name

# The only Node of the measured servers.
NODES = [Node("node-a", declared_features=frozenset(("DRANodeAllocatableResources",)))]

# Stands for the time of the measurement, which the corpus writes as `<now>`.
NOW = "2001-02-03T04:05:06Z"
_MARK = "<now>"

_VERBS = {"create": CREATE, "create-warn": CREATE, "convert": CREATE, "update": UPDATE, "status": STATUS}


def answer(case: Case) -> dict[str, Any]:
    """What the product answers to a case."""
    answered = _answer(case)
    prefix = name_prefix(case)
    return with_name_marked(answered, generated_name(prefix)) if prefix else answered


def _answer(case: Case) -> dict[str, Any]:
    server = _server(case["profile"], *_namespace(case))
    reply = server.handle(_request(case))
    status = None if reply.accepted else reply.status()
    converted = None
    if case["verb"] == "convert" and reply.accepted:
        assert reply.object is not None
        converted = _converted(server, case, reply.object)
    return expectation(
        reply.code,
        case=case,
        status=status,
        object=_returned(case, reply.object),
        converted=converted,
        warnings=reply.warnings,
    )


def _namespace(case: Case) -> tuple[str, tuple[tuple[str, str], ...]]:
    return case.get("namespace", ""), tuple(sorted(case.get("namespaceLabels", {}).items()))


@cache
def _server(profile: str, namespace: str, labels: tuple[tuple[str, str], ...]) -> Server:
    settings = PROFILES[profile]
    namespaces = {namespace: dict(labels)} if namespace else {}
    asked = Profile(settings.release, settings.gates)
    return Server(asked, namespaces=namespaces, nodes=NODES, now=lambda: NOW)


def _request(case: Case) -> Request:
    old = _stored(_replaced(case.get("old"), _MARK, NOW))
    return Request(
        verb=_VERBS[case["verb"]],
        api_version=case["apiVersion"],
        kind=case["kind"],
        namespace=case.get("namespace", ""),
        body=case["object"],
        # the size of raw JSON counts as it was sent, with spaces
        raw=case["raw"] if case.get("raw") is not None else json.dumps(case["object"]),
        old=old,
        name=old["metadata"]["name"] if old else "",
        field_validation=WARN if case["verb"] == "create-warn" else STRICT,
        deleted=case.get("deleted", False),
        has_resource_version=not case.get("noResourceVersion", False)
        and "resourceVersion" not in _metadata(case),
    )


def _metadata(case: Case) -> dict[str, Any]:
    object = case["object"]
    metadata = object.get("metadata") if isinstance(object, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _converted(server: Server, case: Case, object: dict[str, Any]) -> dict[str, Any]:
    group = case["apiVersion"].rpartition("/")[0]
    versions = PROFILES[case["profile"]].served[case["kind"]]
    return {
        version: _replaced(
            without_storage_fields(server.read(object, f"{group}/{version}", answered=True)), NOW, _MARK
        )
        for version in versions
    }


def _returned(case: Case, object: Any) -> Any:
    if object is None:
        return None
    object = _replaced(object, NOW, _MARK)
    return extract(case["kind"], object)


def _stored(old: Any) -> Any:
    """The stored object with what the corpus leaves out, so that preconditions have something to compare with."""
    if old is None:
        return None
    return {**old, "metadata": {"uid": "<uid>", "resourceVersion": "4242", **old["metadata"]}}


def _replaced(value: Any, text: str, by: str) -> Any:
    """The value with every text that is ``text`` replaced."""
    if isinstance(value, dict):
        return {key: _replaced(item, text, by) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, text, by) for item in value]
    return by if value == text else value
