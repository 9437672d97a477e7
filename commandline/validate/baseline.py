"""``--baseline``: findings that are known from an earlier report, and are left out of this one."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from commandline.errors import UsageError
from documents.errors import DocumentError
from documents.parsing import first_document
from documents.source import read_file
from resourceapi.manifests import entries, text

if TYPE_CHECKING:
    from advice.findings import Finding, Result
    from claimcheck.answers.outcome import Outcome

# File, kind, namespace and name of an object, rule, field and message: what stays when lines are added above it.
_Known = tuple[str, ...]


class Baseline:
    """The findings of an earlier report, each as often as it is there."""

    def __init__(self, report: dict[str, Any]) -> None:
        self._left: Counter[_Known] = Counter(_of_report(report))
        #: how many findings have been left out
        self.left_out = 0

    def leave_out(self, outcome: Outcome) -> None:
        """Take the findings that are known out of an outcome."""
        for result in (*outcome.results, *outcome.skipped_files):
            result.findings = [each for each in result.findings if not self._knows(result, each)]
            result.afterwards = [each for each in result.afterwards if not self._knows(result, each)]
        outcome.skipped_files = [each for each in outcome.skipped_files if each.findings]

    @property
    def gone(self) -> int:
        """How many findings of the report were not found any more."""
        return sum(self._left.values())

    def _knows(self, result: Result, finding: Finding) -> bool:
        known = (
            os.path.normpath(result.file),
            result.kind,
            result.namespace,
            result.name,
            finding.rule,
            finding.field,
            finding.message,
        )
        if not self._left[known]:
            return False
        self._left[known] -= 1
        self.left_out += 1
        return True


def read_baseline(file: str) -> Baseline:
    """Read a report.

    :raises UsageError: if the file is no report in JSON.
    """
    try:
        report: Any = first_document(read_file(file), file).value
    except DocumentError as error:
        raise UsageError(f"--baseline {error}", "-o json=FILE writes a report that can be one") from None
    if not isinstance(report, dict) or not isinstance(report.get("results"), list):
        raise UsageError(f"--baseline {file}: no report of validate, as -o json=FILE writes it")
    return Baseline(report)


def _of_report(report: dict[str, Any]) -> Iterator[_Known]:
    for result in (*entries(report, "results"), *entries(report, "skippedFiles")):
        of_object = (
            os.path.normpath(text(result, "file")),
            *(text(result, key) for key in ("kind", "namespace", "name")),
        )
        for finding in (*entries(result, "findings"), *entries(result, "afterwards")):
            yield *of_object, text(finding, "rule"), text(finding, "field"), text(finding, "message")
