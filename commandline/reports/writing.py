"""Writes an answer as text or JSON: the reports of every subcommand but ``validate``."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from commandline.options import HTML
from commandline.reports.escaping import write_json, write_lines
from commandline.terminal import CYAN, GREEN, RED, YELLOW, is_colored, paint
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation

if TYPE_CHECKING:
    from argparse import Namespace

    from claimcheck.answers.outcome import Failure


def device_documents(allocations: Iterable[tuple[str, Object]]) -> list[dict[str, str]]:
    """The devices of AllocationResults, each of a claim with this name, for programs."""
    return [
        {"claim": claim, "request": each.request, **each.device._asdict()}
        for claim, allocation in allocations
        for each in Allocation(allocation).results
    ]


def device_lines(allocation: Object) -> Iterator[str]:
    """The devices of an AllocationResult, a line for each."""
    for each in Allocation(allocation).results:
        yield f"    {each.request}: {each.device}{', admin access' if each.is_admin else ''}"


# The file and line of what a verdict is about, at the end of the head: the first one that a verdict follows.
_HEAD = r"^\S.{0,600}?:\d+(?:, one of \d+ pods)?\): (?:(?:a|\d+) claims? from template \S{1,300}: )?"
#: Where verdicts stand, with their colors. The first line of this table that a line matches colors what is in parentheses.
_VERDICTS = tuple(
    (re.compile(pattern), color)
    for pattern, color in (
        (
            _HEAD
            + r"(fits, but|not decided|is there already|gets no devices|per claim|waits for|kube-scheduler does not look at it)",
            YELLOW,
        ),
        (_HEAD + r"(fits|is on|is allocated)\b", GREEN),
        (_HEAD + r"(does not fit|cannot be \w+|invalid|binding its devices failed)\b", RED),
        (r"^\s+\S.*?  (not placed)(?=: )", RED),
        (r"^\s+(not placed|error)(?=: )", RED),
        (r"^(error)(?=: )", RED),
        (r"^(warning\[CC\d+\])(?=: )", YELLOW),
        (r"^\s*(hint|it would fit)(?=:)", CYAN),
        (r"^(match)(?=, cost |: )", GREEN),
        (r"^(no match)(?=, cost |: )", YELLOW),
        (r"^(failed)(?=, cost |: )", RED),
        (r"^\S.{0,600}?: (error)(?=: )", RED),
        # the timeline of classic-simulate
        (r"^\s+\d+\.\d{3} s\s.{0,600}?[ :] (Pending|Unschedulable)(?=: )", YELLOW),
        (r"^\s+\d+\.\d{3} s\s.{0,600}?[ :] (Error)(?=: )", RED),
        (r"^\S{1,600}: (bound to \S{1,300})(?= after )", GREEN),
        (r"^\S{1,600}: (not bound)(?=, )", RED),
    )
)


def emphasized(line: str) -> str:
    """An escaped line with its verdict in color.

    A verdict is known by its words and its place. A name that looks like one is in color too, which harms nobody.
    """
    for pattern, color in _VERDICTS:
        if matched := pattern.search(line):
            start, end = matched.span(1)
            return line[:start] + paint(line[start:end], color, True) + line[end:]
    return line


Answer = TypeVar("Answer")


def write_answer(
    options: Namespace,
    answer: Answer,
    *,
    lines: Callable[[Answer], Iterable[str]],
    document: Callable[[Answer], dict[str, Any]],
    page: Callable[[TextIO, dict[str, Any]], None] | None = None,
) -> None:
    """Write an answer to standard output, in the format and color that the options ask for.

    :param lines: the answer as lines for people.
    :param document: the answer as plain data for programs.
    :param page: writes that as a page, where there is such a format.
    """
    if options.output == "json":
        write_json(document(answer), sys.stdout)
        return
    if options.output == "yaml":
        from documents.emitting import block

        sys.stdout.writelines(line + "\n" for line in block(document(answer)))
        return
    if options.output == HTML and page is not None:
        page(sys.stdout, document(answer))
        return
    write_text(options, lines(answer))


def write_text(options: Namespace, lines: Iterable[str]) -> None:
    """Write lines for people to standard output, in the color that the options ask for."""
    buffer = StringIO()  # standard output may be unbuffered
    write_lines(lines, buffer, emphasized if is_colored(options.color, sys.stdout) else None)
    sys.stdout.write(buffer.getvalue())


def failure_lines(failures: Iterable[Failure]) -> Iterator[str]:
    """A line for each input that could not be read."""
    return (f"{failure.file}: error: {failure.message}" for failure in failures)


def failure_documents(failures: Iterable[Failure]) -> list[dict[str, str]]:
    """The inputs that could not be read, as plain data."""
    return [{"file": failure.file, "message": failure.message} for failure in failures]


def table(rows: Sequence[Sequence[str]], left: Iterable[int] = (0,)) -> Iterator[str]:
    """Indented lines with aligned columns; all rows have the same number of cells.

    :param left: the columns that are aligned to the left; the others are numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield ("  " + "  ".join(cells)).rstrip()
