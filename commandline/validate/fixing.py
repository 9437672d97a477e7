"""``validate --fix``: makes the changes of hints in the files, where there is but one way to fix a mistake."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from copy import copy
from typing import TYPE_CHECKING, Any

from advice.hints.hint import changed
from claimcheck.answers.convert import rewritten
from commandline.reports.escaping import RENDERED, complain
from commandline.rewriting import InPlace
from documents import Document, DocumentError, parse
from resourceapi.manifests import MISSING
from resourceapi.phrases import number

if TYPE_CHECKING:
    from argparse import Namespace

    from advice.findings import Finding, Result
    from claimcheck.answers.outcome import Outcome
    from resourceapi.field_errors import Path

#: One mistake can hide others: so often the server is asked again.
_MOST_ROUNDS = 10


def fix(options: Namespace, validate: Callable[[Namespace], Outcome]) -> None:
    """Fix what can be fixed in the files that the options name, and say how much that was.

    A file stays as it is if one of its comments would have no place any more, which is said.

    :param validate: what answers the options.
    """
    asked = copy(options)
    asked.quiet, asked.jobs = True, 1
    fixing = _Fixing()
    for _ in range(_MOST_ROUNDS):
        if not fixing.fix(validate(copy(asked))):
            break
    if not options.quiet:
        where = f" in {number(len(fixing.files), 'file')}" if fixing.files else ""
        complain(f"claimcheck: fixed {number(fixing.count, 'mistake')}{where}")


class _Fixing:
    def __init__(self) -> None:
        self.count = 0
        self.files: set[str] = set()
        self._given_up: set[str] = set()

    def fix(self, outcome: Outcome) -> int:
        """Fix findings; returns how many."""
        by_file: dict[str, list[tuple[Document, dict[str, Any], int]]] = {}
        for result in outcome.results:
            document = result.source
            if not isinstance(document, Document) or not self._is_fixable(document):
                continue
            value, count = _fixed(document, result)
            if count:
                by_file.setdefault(document.file, []).append((document, value, count))
        return sum(self._rewrite(file, changes) for file, changes in by_file.items())

    def _is_fixable(self, document: Document) -> bool:
        if document.file in self._given_up or document.has_repeated_keys:
            return False
        # not what Helm or kustomize makes, although a stranger's link may have the name that it is given
        return not document.file.endswith(RENDERED) and os.path.isfile(document.file)

    def _rewrite(self, file: str, changes: list[tuple[Document, dict[str, Any], int]]) -> int:
        source = changes[0][0].source
        try:
            text = rewritten(source.text, [(document, value) for document, value, _ in changes])
            if not _is_as_meant(text, file, changes):
                raise DocumentError(file, 0, 0, "this file cannot be rewritten")
            InPlace().add(file, source.text, text)
        except DocumentError as error:
            complain(f"claimcheck: not fixed: {error}")
            self._given_up.add(file)
            return 0
        count = sum(count for _, _, count in changes)
        self.count += count
        self.files.add(file)
        return count


def _fixed(document: Document, result: Result) -> tuple[dict[str, Any], int]:
    """The object without mistakes that are fixed independently of each other, and how many these are."""
    value, count = document.value, 0
    touched: list[Path] = []
    for finding in result.findings:
        paths = list(_touched(finding))
        if not paths or any(_meet(path, other) for path in paths for other in touched):
            continue
        value = changed(value, finding.changes)
        touched += paths
        count += 1
    return value, 0 if value == document.value else count


def _touched(finding: Finding) -> Iterable[Path]:
    """The paths that a fix changes; of an entry that is taken out of a list the list."""
    for path, new in finding.changes:
        yield path[:-1] if new is MISSING and path and isinstance(path[-1], int) else path


def _meet(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _is_as_meant(text: str, file: str, changes: list[tuple[Document, dict[str, Any], int]]) -> bool:
    """Whether the changed objects are in the new text."""
    found = {(each.index, each.item): each.value for each in parse(text, file) if isinstance(each, Document)}
    return all(found.get((document.index, document.item)) == value for document, value, _ in changes)
