"""Turns the server's answers and the lints' warnings into findings: where in the source, and how to fix them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from advice.findings import ERROR, NOTE, WARNING, Finding, Result
from advice.hints import hint_for
from advice.hints.hint import NO_ADVICE, Advice, Problem
from advice.lints.table import (
    BOOLEAN_KEY,
    DROPPED,
    IGNORED_TEXT,
    REPEATED_KEY,
    Warning,
)
from advice.silencing import is_ignored
from conversion.hub import path_to_version
from documents.positions import Place
from resourceapi.field_errors import Path, render
from resourceapi.manifests import MISSING, value_at
from resourceapi.recognition import refusal
from validation.requests import (
    DUPLICATE_FIELD,
    NOT_SERVED,
    REFUSED,
    SERVER_WARNING,
    UNKNOWN_FIELD,
    WRONG_TYPE,
)

if TYPE_CHECKING:
    from documents.errors import DocumentError
    from documents.manifest import Manifest
    from resourceapi.decoding import StrictError
    from resourceapi.releases import Profile
    from validation.requests import Answer

# Rules about the presence of a key, whatever its value.
KEY_RULES = frozenset((UNKNOWN_FIELD, DUPLICATE_FIELD, DROPPED.code, BOOLEAN_KEY.code))
# An object with so many errors has the same one over and over.
MAX_HINTED = 100
STRICT_DECODING = "strict decoding error: "
_MOST_REPEATED_KEYS = 100


class Interpreter:
    """Adds findings to the results of objects.

    :param profile: the release and feature gates of the server.
    :param namespaces: the labels of namespaces by name.
    :param migrates: says of a manifest whether `claimcheck migrate` rewrites it.
    :param severities: those of lints that have others than their own, by code.
    """

    def __init__(
        self,
        profile: Profile,
        namespaces: Mapping[str, dict[str, str]],
        severities: Mapping[str, str] = MappingProxyType({}),
        migrates: Callable[[Manifest], bool] | None = None,
    ) -> None:
        self.migrates = migrates
        self.profile = profile
        self.namespaces = namespaces
        self.severities = severities

    def add_answer(self, result: Result, manifest: Manifest, answer: Answer) -> None:
        """Add the server's answer: its errors and warnings."""
        result.answer = answer
        for rule, path, message in problems_of(result, answer):
            self.add_error(result, manifest, rule, path, message)
        for text in answer.warnings:
            path = ("apiVersion",) if " is deprecated in " in text else ()
            hint = self._hint(result, manifest, SERVER_WARNING, path, text).text
            result.findings.append(_finding(WARNING, SERVER_WARNING, manifest, path, text, hint))

    def add_error(self, result: Result, manifest: Manifest, rule: str, path: Path, message: str) -> None:
        """Add an error of the server at a path in the version of the manifest."""
        hint = self._hint(result, manifest, rule, path, message)
        result.findings.append(
            _finding(ERROR, rule, manifest, path, message, hint.text, changes=hint.changes)
        )

    def _hint(self, result: Result, manifest: Manifest, rule: str, path: Path, message: str) -> Advice:
        """The hint for a problem; its text is given once per object, and only for its first ``MAX_HINTED`` problems."""
        if len(result.findings) >= MAX_HINTED:
            return NO_ADVICE
        problem = Problem(
            rule,
            message,
            path,
            manifest.value,
            self.profile,
            namespace=result.namespace,
            namespace_labels=self.namespaces.get(result.namespace),
            text_of=manifest.written,
            tag_of=manifest.tag,
            migrates=None if self.migrates is None else partial(self.migrates, manifest),
        )
        advice = hint_for(problem)[1]
        is_new = all(finding.hint != advice.text for finding in result.findings)
        return advice if is_new else Advice("", *advice.changes)

    def add_not_served(self, result: Result, manifest: Manifest) -> None:
        """Add that no release serves this version and kind, in kubectl's words."""
        message, path = refusal(manifest.value, self.profile)
        hint = self._hint(result, manifest, NOT_SERVED, path, message)
        result.findings.append(
            _finding(ERROR, NOT_SERVED, manifest, path, message, hint.text, field="", changes=hint.changes)
        )

    def add_refusal(self, result: Result, manifest: Manifest, rule: str, message: str, path: Path) -> None:
        """Add why an object is refused before anybody looks at it."""
        result.findings.append(_finding(ERROR, rule, manifest, path, message, "", field=""))

    def add_lint(self, result: Result, manifest: Manifest, warning: Warning) -> None:
        """Add a lint's warning, unless a comment silences it."""
        known = any(finding.hint == warning.hint for finding in result.findings[-MAX_HINTED:])
        hint = "" if known else warning.hint
        severity = self.severities.get(warning.code) or (NOTE if warning.is_note else WARNING)
        finding = _finding(
            severity, warning.code, manifest, warning.path, warning.message, hint, changes=warning.changes
        )
        place = warning.place
        if warning.stretch is not None:
            place = manifest.locate_in_scalar(warning.path, *warning.stretch)
        if place is not None:
            finding = finding._replace(line=place.line, column=place.column, width=place.length)
        if not is_ignored(manifest, finding):
            result.findings.append(finding)

    def add_notice(self, result: Result, manifest: Manifest, notice: DocumentError) -> None:
        """Add what kubectl ignores without a message, unless a comment silences it."""
        code = IGNORED_TEXT.code
        finding = Finding(
            self.severities.get(code, WARNING),
            code,
            notice.message,
            line=notice.line,
            column=notice.column,
            hint=notice.hint,
        )
        if not is_ignored(manifest, finding):
            result.findings.append(finding)

    def add_repeated_keys(self, result: Result, manifest: Manifest) -> None:
        """Add the repeated keys; of those beyond a limit only the number."""
        repeated = manifest.locate_repeated_keys()
        severity = self.severities.get(REPEATED_KEY.code, WARNING)
        for path, first, again in repeated[:_MOST_REPEATED_KEYS]:
            message = f"the key is already in line {first.line}; kubectl sends only the last value"
            finding = Finding(
                severity,
                REPEATED_KEY.code,
                message,
                field=render(path),
                pointer=manifest.json_pointer(path),
                line=again.line,
                column=again.column,
                width=again.length,
            )
            if not is_ignored(manifest, finding):
                result.findings.append(finding)
        if len(repeated) > _MOST_REPEATED_KEYS:
            message = f"{len(repeated) - _MOST_REPEATED_KEYS:,} more keys are repeated"
            result.findings.append(Finding(severity, REPEATED_KEY.code, message, line=manifest.line))


def problems_of(result: Result, answer: Answer) -> Iterator[tuple[str, Path, str]]:
    """Rule, path in the version of the manifest, and message of every error."""
    if answer.accepted:
        return
    prefix, unreadable, reason = answer.message.partition(" cannot be handled as a ")
    if answer.errors:
        version = result.api_version.rpartition("/")[2]
        for error in answer.errors:
            yield error.kind, path_to_version(error.path, result.kind, version), error.message
    elif unreadable and STRICT_DECODING in reason:
        yield from map(strict_error, answer.decoding)
    elif unreadable and prefix:
        yield WRONG_TYPE, answer.path, reason.partition(": ")[2]
    else:
        yield REFUSED, answer.path, answer.message


def strict_error(problem: StrictError) -> tuple[str, Path, str]:
    """Rule, path and message of a field that the server does not take."""
    rule = DUPLICATE_FIELD if problem.text.startswith("duplicate") else UNKNOWN_FIELD
    return rule, problem.path, _without_path(problem.text)


def _without_path(text: str) -> str:
    """`unknown field "spec.x"` without the path, which every report shows in front."""
    return re.sub(r'^((?:unknown|duplicate) field) ".*"$', r"\1", text, flags=re.DOTALL)


def _finding(
    severity: str,
    rule: str,
    manifest: Manifest,
    path: Path,
    message: str,
    hint: str,
    *,
    field: str | None = None,
    changes: tuple[tuple[Path, Any], ...] = (),
) -> Finding:
    if rule in KEY_RULES and value_at(manifest.value, path) is not MISSING:
        place = manifest.locate_key(path)
    else:
        place = place_of(manifest, path, message)
    return Finding(
        severity,
        rule,
        message,
        field=(render(path) if path else "") if field is None else field,
        pointer=manifest.json_pointer(path),
        line=place.line,
        column=place.column,
        width=place.length,
        hint=hint,
        changes=changes,
    )


def place_of(manifest: Manifest, path: Path, message: str = "") -> Place:
    """The position for a path: a scalar, the key of a larger value, or the nearest parent of a missing one.

    :param message: the server's message; for a CEL expression it has the position in the expression.
    """
    value = value_at(manifest.value, path)
    while value is MISSING and path:
        path = path[:-1]
        value = value_at(manifest.value, path)
    if isinstance(value, str) and "ERROR: <input>:" in message:
        offset = _offset_in_expression(value, message)
        if offset is not None:
            return manifest.locate_in_scalar(path, offset)
    if isinstance(value, dict) and (key := _quoted_key(value, message)):
        return manifest.locate_key((*path, key))
    if isinstance(value, (dict, list)) or value is None:
        return manifest.locate_key(path)
    return manifest.locate(path)


def _quoted_key(value: dict[str, Any], message: str) -> str:
    """The key that the server's message quotes, if its path ends at the map."""
    matched = re.match(r'Invalid value: "([^"\\]+)": ', message)
    return matched[1] if matched is not None and matched[1] in value else ""


def _offset_in_expression(expression: str, message: str) -> int | None:
    matched = re.search(r"ERROR: <input>:(\d+):(\d+):", message)
    if matched is None:
        return None
    line, column = int(matched[1]), int(matched[2])
    lines = expression.split("\n")
    if not 1 <= line <= len(lines):
        return None
    return sum(len(text) + 1 for text in lines[: line - 1]) + column - 1
