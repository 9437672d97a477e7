"""The report as JUnit XML: a test suite per file, a test case per object."""

from __future__ import annotations

from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from advice.findings import AFTERWARDS, Finding, Result
from claimcheck.answers.outcome import Outcome, Skipped
from commandline.reports.escaping import on_one_line, printable, without_commands


def write(outcome: Outcome, stream: TextIO) -> None:
    """Write the report; what could not be read is a test case with an ``error``."""
    suites: dict[str, list[str]] = {}
    counts: dict[str, list[int]] = {}  # per file: cases, failures, errors, skipped
    for result in outcome.results:
        failing, others = (
            [finding for finding in result.findings if outcome.fails(finding) is fails]
            for fails in (True, False)
        )
        _add(suites, counts, result.file, _case(result, failing, others), failed=bool(failing))
    for skipped in outcome.skipped:
        _add(suites, counts, skipped.file, _skipped_case(skipped), skipped=True)
    for result in outcome.skipped_files:
        fails = outcome.skipped_files_fail
        case = f'    <testcase name="read" classname={_attribute(result.file)}>\n'
        case += (
            f"      <{'failure' if fails else 'skipped'} message={_attribute(result.findings[0].text)}/>\n"
        )
        _add(suites, counts, result.file, case + "    </testcase>\n", failed=fails, skipped=not fails)
    for failure in outcome.failures:
        case = f'    <testcase name="read" classname={_attribute(failure.file)}>\n'
        case += f'      <error message={_attribute(failure.message)} type="Unreadable"/>\n    </testcase>\n'
        _add(suites, counts, failure.file, case, error=True)
    totals = [sum(column) for column in zip(*counts.values(), strict=True)] or [0, 0, 0, 0]
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    stream.write(f'<testsuites name="claimcheck" {_numbers(totals)}>\n')
    for file, cases in suites.items():
        stream.write(f"  <testsuite name={_attribute(file)} {_numbers(counts[file])}>\n")
        stream.writelines(cases)
        stream.write("  </testsuite>\n")
    stream.write("</testsuites>\n")


def _add(
    suites: dict[str, list[str]],
    counts: dict[str, list[int]],
    file: str,
    case: str,
    *,
    failed: bool = False,
    error: bool = False,
    skipped: bool = False,
) -> None:
    suites.setdefault(file, []).append(case)
    numbers = counts.setdefault(file, [0, 0, 0, 0])
    for index, counted in enumerate((True, failed, error, skipped)):
        numbers[index] += counted


def _numbers(counts: list[int]) -> str:
    tests, failures, errors, skipped = counts
    return f'tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}"'


def _case(result: Result, failing: list[Finding], others: list[Finding]) -> str:
    head = f"    <testcase name={_attribute(result.title)} classname={_attribute(result.file)}"
    if not result.findings and not result.afterwards:
        return head + "/>\n"
    text = head + ">\n"
    if failing:
        first = f"message={_attribute(failing[0].text)} type={_attribute(failing[0].rule)}"
        text += f"      <failure {first}>{_text(result, failing)}</failure>\n"
    if others or result.afterwards:
        texts = [_text(result, others)] * bool(others)
        texts += [AFTERWARDS.rstrip() + "\n" + _text(result, result.afterwards)] * bool(result.afterwards)
        text += "      <system-out>" + "\n".join(texts) + "</system-out>\n"
    return text + "    </testcase>\n"


def _skipped_case(skipped: Skipped) -> str:
    name = " ".join(filter(None, (skipped.kind, skipped.name))) or f"document {skipped.document}"
    reason = (
        "read as context" if skipped.context else f"{skipped.api_version} {skipped.kind} is not validated"
    )
    return (
        f"    <testcase name={_attribute(name)} classname={_attribute(skipped.file)}>\n"
        f"      <skipped message={_attribute(reason)}/>\n    </testcase>\n"
    )


def _text(result: Result, findings: list[Finding]) -> str:
    lines = []
    file = on_one_line(result.file)
    for finding in findings:
        place = f"{file}:{finding.line}:{finding.column}" if finding.line else file
        lines.append(f"{place}: {finding.rule}: {finding.text}")
        if finding.hint:
            lines.append(f"hint: {finding.hint}")
    return escape(without_commands(printable("\n".join(lines))))


def _attribute(text: str) -> str:
    # what XML cannot hold, not even escaped, is not printable
    return quoteattr(printable(text), {"\n": "&#10;", "##[": "##&#91;"})
