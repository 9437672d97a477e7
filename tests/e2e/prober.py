"""Sends cases to a real API server and writes down what it answers, in the format of the conformance corpus."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from resourceapi.go_syntax import ADDRESS
from tests.conformance.answers import (
    Case,
    expectation,
    extract,
    name_prefix,
    with_name_marked,
    without_storage_fields,
)
from tests.conformance.profiles import PROFILES
from tests.corpus.tables import NAMESPACES
from tests.e2e.client import Answer
from tests.e2e.control_plane import ApiServer

_STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
_WARN = {"dryRun": "All", "fieldValidation": "Warn"}
_FINALIZER = "resource.kubernetes.io/delete-protection"
_NOW_SECONDS = 120
_ALREADY_EXISTS = 409
# Pointers in the internal objects that servers up to 1.30 print.
_ADDRESS = re.compile(r"\b0x[0-9a-f]{9,16}\b")


class Prober:
    """Asks one server; creates the namespaces that cases use.

    `stored_by`: another server on the same etcd that stores `old`, so that it can have what the one asked would drop.
    """

    def __init__(self, server: ApiServer, stored_by: ApiServer | None = None) -> None:
        self._client = server.client
        self._storing = (stored_by or server).client
        self._served = PROFILES[server.profile].served
        for name, labels in NAMESPACES.items():
            namespace = {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name, "labels": labels},
            }
            answer = self._client.ask("POST", "/api/v1/namespaces", namespace)
            if answer.code not in (201, _ALREADY_EXISTS):
                raise RuntimeError(f"no Namespace: {answer.body}")

    def record(self, cases: Iterable[Case], threads: int = 4) -> Iterator[Case]:
        """The cases with what the server had stored (`old`) and answered (`expect`), in order.

        Left out are updates whose `old` the server refuses to store, names that happen to be taken, and what makes
        the server drop the connection (numbers like 1e400 in opaque parameters).
        """
        with ThreadPoolExecutor(threads) as pool:
            yield from (case for case in pool.map(self._answered, cases) if case)

    def _answered(self, case: Case) -> Case | None:
        try:
            return self._probe(case)
        except ConnectionError:
            return None

    def _probe(self, case: Case) -> Case | None:
        verb = case["verb"]
        if verb in ("update", "status"):
            return self._change(case)
        if verb == "convert":
            return self._convert(case)
        query = _WARN if verb == "create-warn" else _STRICT
        return _recorded(case, self._client.ask("POST", _path(case), _body(case), query))

    def _convert(self, case: Case) -> Case | None:
        """Really create the object, read it in every version, and delete it again."""
        answer = self._client.ask("POST", _path(case), _body(case), {"fieldValidation": "Strict"})
        if answer.code >= 400:
            return _recorded(case, answer)
        name = answer.body["metadata"]["name"]
        group = case["apiVersion"].rpartition("/")[0]
        converted = {}
        for version in self._served[case["kind"]]:
            read = self._client.ask("GET", _path({**case, "apiVersion": f"{group}/{version}"}, name))
            converted[version] = _normal(case, read.body)
        self._remove(case, name)
        return _recorded(case, answer, converted)

    def _change(self, case: Case) -> Case | None:
        """Store `old`, then ask for the change without having it done."""
        stored = self._store(case)
        if stored is None:
            return None
        name = stored["metadata"]["name"]
        # All of it, also of pods: an update is compared with it.
        recorded = {**case, "old": _times_marked(without_storage_fields(stored))}
        body = copy.deepcopy(case["object"])
        metadata = body.get("metadata") if isinstance(body, dict) else None
        if (
            isinstance(metadata, dict)
            and "resourceVersion" not in metadata
            and not case.get("noResourceVersion")
        ):
            metadata["resourceVersion"] = stored["metadata"]["resourceVersion"]
        path = _path(case, name) + ("/status" if case["verb"] == "status" else "")
        answer = self._client.ask("PUT", path, body, _STRICT)
        self._remove(case, name)
        return _recorded(recorded, answer, uid=stored["metadata"]["uid"])

    def _store(self, case: Case) -> Any:
        old = copy.deepcopy(case["old"])
        if case.get("deleted"):
            old["metadata"].setdefault("finalizers", []).append(_FINALIZER)
        answer = self._storing.ask("POST", _path(case), old)
        if answer.code >= 400:
            return None
        path = _path(case, old["metadata"]["name"])
        if old.get("status"):
            self._storing.ask("PUT", f"{path}/status", {**answer.body, "status": old["status"]})
        if case.get("deleted"):
            self._storing.ask("DELETE", path)
        read = self._client.ask("GET", path)
        return read.body if read.code == 200 else None

    def _remove(self, case: Case, name: str) -> None:
        patch = {"metadata": {"finalizers": None}}
        path = _path(case, name)
        self._client.ask("PATCH", path, patch, content_type="application/merge-patch+json")
        self._client.ask(
            "DELETE", path, query={"propagationPolicy": "Background"}
        )  # some leave their pods by default


def _path(case: Case, name: str = "") -> str:
    version, kind = case["apiVersion"], case["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    namespace = f"/namespaces/{case['namespace']}" if "namespace" in case else ""
    resource = kind.lower() + _plural_ending(kind)
    return f"{root}{namespace}/{resource}" + (f"/{name}" if name else "")


def _plural_ending(kind: str) -> str:
    if kind.endswith("Parameters"):
        return ""
    return "es" if kind.endswith("s") else "s"


def _body(case: Case) -> Any:
    # "null" is a body too, unlike None.
    return case["raw"] if "raw" in case else case["object"]


def _recorded(case: Case, answer: Answer, converted: Any = None, *, uid: str = "") -> Case | None:
    if answer.code == _ALREADY_EXISTS and answer.body.get("reason") == "AlreadyExists":
        return None
    refused = answer.code >= 400
    status = _without_chance(case, answer.body, uid) if refused else None
    expect = expectation(
        answer.code,
        case=case,
        status=status,
        object=None if refused else _normal(case, answer.body),
        converted=converted,
        warnings=answer.warnings,
    )
    return {**case, "expect": expect}


# --- what no second server would say is replaced


def _normal(case: Case, object: Any) -> Any:
    """An object as answers are written down: without what storage sets, new times and generated names marked."""
    object = extract(case["kind"], object)
    object = _times_marked(object)
    if name_prefix(case):
        object = {**object, "metadata": {**object["metadata"], "name": "<generated>"}}
    return object


def _times_marked(value: Any, field: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _times_marked(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_times_marked(item) for item in value]
    return "<now>" if field in ("timeAdded", "deletionTimestamp") and _is_now(value) else value


def _is_now(time: Any) -> bool:
    if not isinstance(time, str):
        return False
    try:
        distance = datetime.fromisoformat(time) - datetime.now(UTC)
    except (ValueError, TypeError):
        return False
    return abs(distance.total_seconds()) < _NOW_SECONDS


def _without_chance(case: Case, status: Any, uid: str) -> Any:
    """A refusal with the generated name and the stored uid marked, wherever they occur."""
    if not isinstance(status, dict):
        return {"message": str(status)}
    if name_prefix(case) and status.get("details", {}).get("name"):
        status = with_name_marked(status, status["details"]["name"])
    status = _replaced(status, _ADDRESS, ADDRESS)
    return _replaced(status, re.compile(re.escape(uid)), "<uid>") if uid else status


def _replaced(value: Any, pattern: re.Pattern[str], mark: str) -> Any:
    if isinstance(value, str):
        return pattern.sub(mark, value)
    if isinstance(value, list):
        return [_replaced(item, pattern, mark) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, pattern, mark) for key, item in value.items()}
    return value
