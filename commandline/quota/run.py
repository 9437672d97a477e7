"""Runs ``claimcheck quota``: charges claims and pods to quotas, and writes what they count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.exit_codes import NEGATIVE, SUCCESS, UNFINISHED

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Charge everything that the options name, and write the answer.

    :raises UsageError: for a release or gates that do not exist.
    """
    from commandline.quota import json_report, text_report
    from commandline.quota.charging import charge
    from commandline.reports.writing import write_answer

    answer = charge(options)
    write_answer(options, answer, lines=text_report.lines, document=json_report.document)
    if answer.failures:
        return UNFINISHED
    return NEGATIVE if any(statement.problems for statement in answer.account.statements) else SUCCESS
