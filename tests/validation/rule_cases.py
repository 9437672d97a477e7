"""Cases of the rules: files of `cases`, one per area, each case a good object from `fixtures` and what is other with it.

A file has `about`, perhaps `defaults` for keys that its cases have in common, and `cases`. Keys of a case:

* `case`: its name; `base`: the fixture; `at`: what paths stand under (a path that starts with `/` stands on its own)
* `set`: {path: value}; `remove`: [path]
* `verb`: create (the default), create-warn, update, status. For update and status `stored` has `set` and `remove` of its
  own that make the stored object out of the fixture; `set` and `remove` make the request out of the stored object, or
  out of the fixture `request`. Objects are stored by a server with all gates on.
* `namespace`: the request's, with the labels that it has in `tests/corpus/tables.json`
* `deleted`: the stored object is being deleted (and has a finalizer that keeps it); `noResourceVersion`: the request has none
* `profiles`: the servers that are asked (see `tests.validation.profiles`)
* `source`: where the answer comes from, if it is not a server's (a KEP)
* `expect`: by server (several, if they answer the same) the answer in short, as `summary` makes it
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tests.case_files import read_yaml
from tests.conformance.answers import Case, unordered
from tests.corpus.tables import NAMESPACES
from tests.validation.patches import changes, patched

CASES = Path(__file__).parent / "cases"
FIXTURES = Path(__file__).parent / "fixtures"
PROFILE_SEPARATOR = "; "
FINALIZER = "resource.kubernetes.io/delete-protection"


@cache
def fixture(name: str) -> Any:
    """The good object of that name; not to be changed."""
    return read_yaml(FIXTURES / f"{name}.yaml")


def areas() -> dict[str, Any]:
    """The content of the case files by area."""
    return {path.stem: read_yaml(path) for path in sorted(CASES.glob("*.yaml"))}


class RuleCase:
    """One case, to be put to several servers."""

    def __init__(self, area: str, entry: dict[str, Any], defaults: dict[str, Any]) -> None:
        self.entry = entry
        self._settings = {**defaults, **entry}
        self.id = f"{area}-{entry['case']}"

    @property
    def profiles(self) -> list[str]:
        return [str(name) for name in self._settings["profiles"]]

    @property
    def measured(self) -> bool:
        """Whether there is a server that can be asked."""
        return "source" not in self._settings

    def expected(self, profile: str) -> Any:
        """The answer in short, or None if it is not recorded yet."""
        for names, answer in self.entry.get("expect", {}).items():
            if profile in str(names).split(PROFILE_SEPARATOR):
                return answer
        return None

    def request(self, profile: str) -> Case:
        """The case in the form of the conformance corpus, without an answer."""
        settings = self._settings
        base = fixture(settings["base"])
        case: Case = {
            "id": self.id,
            "note": self.id,
            "profile": profile,
            "verb": settings.get("verb", "create"),
            "apiVersion": base["apiVersion"],
            "kind": base["kind"],
        }
        if namespace := settings.get("namespace", base["metadata"].get("namespace")):
            case["namespace"] = namespace
            case["namespaceLabels"] = NAMESPACES[namespace]
            base = patched(base, {"metadata.namespace": namespace})
        if case["verb"] in ("update", "status"):
            base = case["old"] = self._patched(base, settings.get("stored", {}))
        if "request" in settings:
            base = fixture(settings["request"])
        case["object"] = self._patched(base, settings)
        case.update({key: settings[key] for key in ("deleted", "noResourceVersion") if key in settings})
        return case

    def _patched(self, base: Any, patch: dict[str, Any]) -> Any:
        values = {self._path(path): value for path, value in patch.get("set", {}).items()}
        return patched(copy.deepcopy(base), values, map(self._path, patch.get("remove", ())))

    def _path(self, path: str) -> str:
        at = self._settings.get("at")
        if path.startswith("/") or not at:
            return path.removeprefix("/")
        return at + path if path.startswith("[") else f"{at}.{path}"


def as_stored(case: Case) -> Case:
    """The case with the stored object as it is in a server: one that is being deleted has a finalizer and a time."""
    if not case.get("deleted"):
        return case
    metadata = {
        **case["old"]["metadata"],
        "finalizers": [FINALIZER],
        "deletionTimestamp": "<now>",
        "deletionGracePeriodSeconds": 0,
    }
    return {**case, "old": {**case["old"], "metadata": metadata}}


def rule_cases() -> Iterator[RuleCase]:
    """All cases of all files."""
    for area, content in areas().items():
        for entry in content["cases"]:
            yield RuleCase(area, entry, content.get("defaults", {}))


def summary(case: Case, expect: dict[str, Any]) -> dict[str, Any]:
    """An answer (in the form of `expect` in the corpus) in short.

    `accepted`: `unchanged`, or what the returned object has otherwise than the one sent. `refused`: the field errors in
    the server's order (sorted where that is up to chance), or code, reason and message. `warnings`, if there are any.
    """
    short: dict[str, Any] = {}
    if expect["code"] < 400:
        returned = case["object"] if expect.get("unchanged") else expect["object"]
        short["accepted"] = changes(case["object"], returned) or "unchanged"
    elif expect["code"] == 422 and expect.get("causes"):
        causes = expect["causes"]
        lines = [f"{cause['field']}: {cause['message']}" for cause in causes]
        short["refused"] = sorted(lines) if unordered(causes) else lines
    else:
        short["refused"] = {key: expect[key] for key in ("code", "reason", "message")}
    if expect.get("warnings"):
        short["warnings"] = expect["warnings"]
    return short
