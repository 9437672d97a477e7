"""The report as SARIF 2.1.0 (OASIS standard), which code scanning services read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from itertools import chain
from typing import Any, TextIO
from urllib.parse import quote

from advice.findings import AFTERWARDS, ERROR, NOTE, WARNING, Finding, Result
from claimcheck.answers.outcome import Outcome
from commandline.distribution import version
from commandline.reports.escaping import in_repository, write_json
from commandline.reports.text import skipped
from resourceapi.phrases import number
from validation import requests

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_RULES = {
    requests.MALFORMED: "The document is not YAML or JSON that kubectl can read.",
    requests.UNKNOWN_FIELD: "The field does not exist in this version of the API.",
    requests.DUPLICATE_FIELD: "The field appears twice.",
    requests.WRONG_TYPE: "The value has the wrong type.",
    requests.NOT_SERVED: "The release does not serve this version or kind.",
    requests.GENERATED_NAME: "kubectl apply takes no object whose name is to be generated.",
    requests.UPDATE_REFUSED: "kube-apiserver refuses updates of the stored object.",
    requests.REFUSED: "kube-apiserver refuses the object.",
    requests.SKIPPED_FILE: "A file that looks like a manifest is not validated.",
    requests.SERVER_WARNING: "kube-apiserver accepts the object with a warning.",
    "FieldValueRequired": "A value is missing.",
    "FieldValueDuplicate": "A value must be unique but is repeated.",
    "FieldValueInvalid": "A value is not allowed.",
    "FieldValueNotFound": "A value refers to something that does not exist.",
    "FieldValueNotSupported": "A value is not one of the supported values.",
    "FieldValueForbidden": "A value must not be set here.",
    "FieldValueTooLong": "A value is too long.",
    "FieldValueTooMany": "There are too many entries.",
    "InternalError": "kube-apiserver fails on this value.",
}
# to a location of the report by its number, or to another site
_link = re.compile(r"\[(?=[^\[\]]*\]\((?:\d+\)|[A-Za-z][A-Za-z0-9+.-]*:|/))")
#: GitHub's code scanning refuses a run with more.
MOST_RESULTS = 25_000
_WORST_FIRST = (ERROR, WARNING, NOTE)
_HELP = "The message is that of kubectl or kube-apiserver; a hint, if there is one, says how to fix it."


def write(outcome: Outcome, stream: TextIO) -> None:
    """Write the report as one SARIF log with one run."""
    found, later = [*outcome.findings()], [*outcome.afterwards()]
    rules = sorted({finding.rule for _, finding in chain(found, later)})
    more = len(found) + len(later) - MOST_RESULTS
    if more > 0:
        found.sort(key=lambda each: _WORST_FIRST.index(each[1].severity))
    run = {
        "tool": {
            "driver": {
                "name": "claimcheck",
                "version": _version(),
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not outcome.failures,
                "toolExecutionNotifications": [*_notifications(outcome, more)],
            }
        ],
        "properties": {"kubernetesRelease": outcome.release},
        "results": [
            *(_result(result, finding, rules) for result, finding in found[:MOST_RESULTS]),
            *(
                _later_result(result, finding, rules)
                for result, finding in later[: max(0, MOST_RESULTS - len(found))]
            ),
        ],
    }
    write_json({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, stream)


def _notifications(outcome: Outcome, more: int) -> Iterator[dict[str, Any]]:
    """What could not be read, what was not looked at, and how many findings are left out."""
    if more > 0:
        yield {
            "level": WARNING,
            "message": {"text": f"{number(more, 'more finding')} left out (see -o json)"},
        }
    for failure in outcome.failures:
        text = _without_links(f"{failure.file}: {failure.message}")
        yield {"level": "error", "message": {"text": text}}
    for severity, text in outcome.remarks:
        yield {"level": severity, "message": {"text": _without_links(text)}}
    if outcome.skipped:
        yield {"level": NOTE, "message": {"text": _without_links(skipped(outcome, show_all=True))}}


def _version() -> str:
    try:
        return version()
    except PackageNotFoundError:
        return "0"


def _rule(rule: str) -> dict[str, Any]:
    """A rule with both descriptions and a help text, as GitHub's code scanning requires."""
    if not rule.startswith(("CC", "CD")):
        return {"id": rule, **_described(_RULES.get(rule, rule), _HELP)}
    from commandline.lint import described

    name, summary, page = described(rule)
    return {"id": rule, "name": name, **_described(summary, page, markdown=page)}


def _described(summary: str, help: str, **formatted: str) -> dict[str, Any]:
    return {
        "shortDescription": {"text": summary},
        "fullDescription": {"text": summary},
        "help": {"text": help, **formatted},
    }


def _result(result: Result, finding: Finding, rules: list[str]) -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(result.file)}},
        "logicalLocations": [{"fullyQualifiedName": f"{result.title}: {finding.field or '(the object)'}"}],
    }
    if finding.line:
        location["physicalLocation"]["region"] = {
            "startLine": finding.line,
            "startColumn": finding.column,
            "endColumn": finding.column + finding.width,
        }
    text = _without_links(finding.text + (f"\n\nHint: {finding.hint}" if finding.hint else ""))
    return {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": finding.severity,
        "message": {"text": text},
        "locations": [location],
    }


def _later_result(result: Result, finding: Finding, rules: list[str]) -> dict[str, Any]:
    """What the server does not report before the errors are fixed: a note, which fails no check."""
    found = _result(result, finding, rules)
    message = {"text": AFTERWARDS + found["message"]["text"]}
    return {**found, "level": NOTE, "message": message, "properties": {"afterwards": True}}


def _without_links(text: str) -> str:
    """Escape `[…](…)`, which SARIF's messages show as a link (section 3.11.6)."""
    return _link.sub(r"\\[", text)


def _uri(file: str) -> str:
    """The file as a URI reference; standard input has none of its own."""
    if file == "-":
        return "stdin"
    scheme = "file://" if file.startswith("/") else ""
    return scheme + quote(in_repository(file), errors="backslashreplace")  # a name need not be UTF-8
