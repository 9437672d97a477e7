"""The report for people: a block per finding with the line it is about, and a summary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from advice.findings import ERROR, NOTE, WARNING, Finding, Result
from claimcheck.answers.outcome import Outcome
from commandline.reports.escaping import RENDERED, on_one_line, printable, without_commands
from commandline.reports.grouping import grouped, place_of
from commandline.terminal import BLUE, BOLD, CYAN, RED, YELLOW, paint
from resourceapi.phrases import number

# Longer lines are cut to this many characters around the column they are shown for.
EXCERPT = 120
# So many kinds of skipped objects are named.
_MOST_KINDS = 5
# How far above an object its `# Source:` comment is searched.
_MOST_LINES = 1_000


def write(
    outcome: Outcome,
    stream: TextIO,
    *,
    color: bool = False,
    show_all: bool = False,
    with_summary: bool = True,
) -> None:
    """Write the findings, what could not be done, and the summary line.

    :param show_all: whether to show each of many findings that are alike.
    """
    if with_summary and outcome.has_stored:
        from commandline.reports.stored_objects import summary_lines

        about_stored = "".join(f"{on_one_line(line)}\n" for line in summary_lines(outcome))
        stream.write(without_commands(about_stored) + "\n")
    now = _by_result(grouped(outcome.findings(), show_all=show_all))
    later = _by_result(grouped(outcome.afterwards(), show_all=show_all))
    for result in (*outcome.results, *outcome.skipped_files) if now or later else ():
        blocks = [
            *now.get(id(result), ()),
            *([None] if id(result) in later else ()),
            *later.get(id(result), ()),
        ]
        origin = _origin(result) if blocks else ""
        for shown in blocks:
            text = _heading(color) if shown is None else _block(result, shown[0], origin, shown[1], color)
            stream.write(without_commands(text))
    for failure in outcome.failures:
        place = f"{on_one_line(failure.file)}: " if failure.file else ""
        message = f"{place}{_paint('error', RED, color)}: {printable(failure.message)}\n"
        stream.write(without_commands(message))
    if with_summary:
        stream.write(summary(outcome, show_all=show_all) + "\n")


def _by_result(
    shown: Iterable[tuple[Result, Finding, str]],
) -> dict[int, list[tuple[Finding, str]]]:
    """What is shown of each result, by the result's identity."""
    found: dict[int, list[tuple[Finding, str]]] = {}
    for result, finding, others in shown:
        found.setdefault(id(result), []).append((finding, others))
    return found


def _heading(color: bool) -> str:
    """What parts the server's answer from what it does not report yet."""
    return _paint("also, once that is fixed:", BOLD, color) + "\n\n"


def summary(outcome: Outcome, *, show_all: bool = False) -> str:
    """``3 objects: 2 valid, 1 invalid; 2 errors, 1 warning; 4 skipped: 3 Service, 1 Node (context)``.

    :param show_all: whether to name every kind of which objects were skipped, not only those of most objects.
    """
    total, invalid = len(outcome.results), outcome.invalid
    parts = [f"{number(total, 'object')}: {total - invalid} valid, {invalid} invalid"]
    requests = [f"{count} to {verb}" for verb, count in outcome.verbs()]
    if requests:
        parts.append(", ".join(requests))
    errors, warnings = outcome.count(ERROR), outcome.count(WARNING)
    counted = [number(errors, "error")] * bool(errors) + [number(warnings, "warning")] * bool(warnings)
    notes = outcome.count(NOTE)
    counted += [number(notes, "note")] * bool(notes)
    if counted:
        parts.append(", ".join(counted))
    if later := sum(1 for _ in outcome.afterwards()):
        parts.append(f"{later:,} more once that is fixed")
    if outcome.not_foretold:
        parts.append(f"later mistakes were not looked for in {number(outcome.not_foretold, 'object')}")
    if outcome.hidden_notes:
        parts.append(f"{number(outcome.hidden_notes, 'note')} with --notes")
    if outcome.skipped:
        parts.append(skipped(outcome, show_all=show_all))
    if outcome.skipped_files:
        parts.append(f"{number(len(outcome.skipped_files), 'file')} not read")
    if outcome.failures:
        parts.append(f"{number(len(outcome.failures), 'input')} could not be read")
    return without_commands("; ".join(parts))


def skipped(outcome: Outcome, *, show_all: bool) -> str:
    """``18 skipped: 12 ConfigMap, 3 Job (batch/v1), 2 without a kind, 1 Node (context)``, those of most objects first."""
    kinds = sorted(outcome.skipped_kinds(), key=lambda each: -each[-1])
    most = len(kinds) if show_all or len(kinds) <= _MOST_KINDS + 1 else _MOST_KINDS
    named = [
        f"{count:,} {kind or 'without a kind'}"
        + (f" ({api_version})" if kind and "/" in api_version else "")
        + (" (context)" if context else "")
        for api_version, kind, context, count in kinds[:most]
    ]
    others = f" and {len(kinds) - most} other kinds" if len(kinds) > most else ""
    return f"{len(outcome.skipped):,} skipped: {on_one_line(', '.join(named))}{others}"


def _block(result: Result, finding: Finding, origin: str, others: str, color: bool) -> str:
    tint = {ERROR: RED, NOTE: CYAN}.get(finding.severity, YELLOW)
    label = finding.severity + (f"[{finding.rule}]" if finding.rule.startswith("CC") else "")
    gutter = " " * max(len(str(finding.line)), 4)
    text = printable(finding.text).replace("\n", f"\n{gutter}   ")
    lines = [f"{_paint(place_of(result, finding), BOLD, color)}: {_paint(label, tint, color)}: {text}"]
    if finding.line:
        bar = _paint("|", BLUE, color)
        line_shown, marks = excerpt(result.source.source_line(finding.line), finding.column, finding.width)
        line = _paint(str(finding.line).rjust(len(gutter)), BLUE, color)
        lines.append(f"{line} {bar} {line_shown}")
        lines.append(f"{gutter} {bar} {_paint(marks, tint, color, keep_indent=True)}")
    if origin:
        lines.append(f"{gutter} {_paint('= in:', CYAN, color)} {origin}")
    if finding.hint:
        hint = printable(finding.hint).replace("\n", f"\n{gutter}         ")
        lines.append(f"{gutter} {_paint('= hint:', CYAN, color)} {hint}")
    if result.stored is not None:
        from commandline.reports.stored_objects import remark

        if about_stored := remark(result, finding):
            lines.append(f"{gutter} {_paint('= stored:', CYAN, color)} {about_stored}")
    if others:
        lines.append(f"{gutter} {_paint('= more:', CYAN, color)} {others}")
    return "\n".join(lines) + "\n\n"


def _origin(result: Result) -> str:
    """For standard input and rendered charts: the object, and the template that `helm template` names."""
    if not (result.file == "-" or result.file.endswith(RENDERED)) or not result.findings:
        return ""
    template = ""
    for place in range(result.line, max(result.line - _MOST_LINES, 0), -1):
        line = result.source.source_line(place)
        if line.startswith("# Source: "):
            template = line.removeprefix("# Source: ").strip()
        # An unclosed value is reported at the line where the next document begins.
        if template or (line.startswith("---") and place != result.line):
            break
    if not result.kind:
        return on_one_line(template)
    return on_one_line(result.title + (f" ({template})" if template else ""))


def excerpt(line: str, column: int, width: int) -> tuple[str, str]:
    """The part of a line around a column, and the carets to put under it."""
    start = max(column - 1, 0)
    width = max(min(width, len(line) - start), 1)
    left = max(start - EXCERPT // 2, 0) if len(line) > EXCERPT else 0
    shown = line[left : left + EXCERPT]
    width = min(width, max(len(shown) - (start - left), 1))
    lead, tail = "…" if left else "", "…" if left + EXCERPT < len(line) else ""
    before, marked = lead + shown[: start - left], shown[start - left : start - left + width]
    blank = "".join("\t" if char == "\t" else " " * _cells(char) for char in before)
    return on_one_line(lead + shown + tail), blank + "^" * max(sum(map(_cells, marked)), 1)


def _cells(char: str) -> int:
    """The number of terminal columns that the character takes."""
    if char.isascii():
        return 1 if char.isprintable() or char == "\t" else len(printable(char))
    import unicodedata

    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else len(printable(char))


def _paint(text: str, code: str, color: bool, *, keep_indent: bool = False) -> str:
    bare = text.lstrip() if keep_indent else text
    return text[: len(text) - len(bare)] + paint(bare, code, color)
