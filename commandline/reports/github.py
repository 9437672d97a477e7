"""The report as workflow commands, which GitHub Actions shows as annotations of the changed lines."""

from __future__ import annotations

from typing import TextIO

from advice.findings import AFTERWARDS, NOTE, Finding, Result
from claimcheck.answers.outcome import Outcome
from commandline.reports.escaping import in_repository, printable
from commandline.reports.grouping import grouped
from commandline.reports.stored_objects import remark
from commandline.reports.text import summary


def write(outcome: Outcome, stream: TextIO, *, show_all: bool = False, with_summary: bool = True) -> None:
    """Write one command per finding and per failure, and the summary as a plain line of the log.

    Of many findings that are alike there is one command: GitHub shows ten errors and ten warnings of a step, no more.

    :param show_all: whether to write a command for each of them.
    """
    for result, finding, others in grouped(outcome.findings(), show_all=show_all):
        severity = "notice" if finding.severity == NOTE else finding.severity
        stream.write(_annotation(severity, result, finding, finding.text, others))
    for result, finding, others in grouped(outcome.afterwards(), show_all=show_all):
        stream.write(_annotation("notice", result, finding, AFTERWARDS + finding.text, others))
    stream.writelines(
        _command("error", {"file": in_repository(failure.file)} if failure.file else {}, failure.message)
        for failure in outcome.failures
    )
    for severity, text in outcome.remarks:
        stream.write(_command("notice" if severity == NOTE else severity, {}, text))
    if with_summary:
        stream.write(summary(outcome, show_all=show_all) + "\n")


def _annotation(severity: str, result: Result, finding: Finding, text: str, others: str) -> str:
    properties = {"file": in_repository(result.file)}
    if finding.line:
        properties |= {
            "line": str(finding.line),
            "col": str(finding.column),
            "endColumn": str(finding.column + finding.width),
        }
    properties["title"] = f"{finding.rule} ({result.title})"
    text += f"\nhint: {finding.hint}" if finding.hint else ""
    if about_stored := remark(result, finding):
        text += f"\nstored: {about_stored}"
    text += f"\nmore: {others}" if others else ""
    return _command(severity, properties, text)


def _command(severity: str, properties: dict[str, str], text: str) -> str:
    given = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{severity}{' ' + given if given else ''}::{_data(text)}\n"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
