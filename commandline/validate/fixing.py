"""``validate --fix``: makes the changes of hints in the files, where there is but one way to fix a mistake."""

from __future__ import annotations

import os
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

from claimcheck.answers.validate.fixes import Fixed, fixed, text_with
from commandline.reports.escaping import RENDERED, complain
from commandline.rewriting import InPlace
from documents import Document, DocumentError
from resourceapi.phrases import number

if TYPE_CHECKING:
    from argparse import Namespace

    from claimcheck.answers.outcome import Outcome

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
        by_file: dict[str, list[Fixed]] = {}
        for result in outcome.results:
            document = result.source
            if not isinstance(document, Document) or not self._is_fixable(document):
                continue
            found = fixed(document, result.findings)
            if found.mistakes:
                by_file.setdefault(document.file, []).append(found)
        return sum(self._rewrite(file, changes) for file, changes in by_file.items())

    def _is_fixable(self, document: Document) -> bool:
        if document.file in self._given_up or document.has_repeated_keys:
            return False
        # not what Helm or kustomize makes, although a stranger's link may have the name that it is given
        return not document.file.endswith(RENDERED) and os.path.isfile(document.file)

    def _rewrite(self, file: str, changes: list[Fixed]) -> int:
        try:
            InPlace().add(file, changes[0].document.source.text, text_with(changes))
        except DocumentError as error:
            complain(f"claimcheck: not fixed: {error}")
            self._given_up.add(file)
            return 0
        count = sum(each.mistakes for each in changes)
        self.count += count
        self.files.add(file)
        return count
