"""Writes an answer as text or JSON: the reports of every subcommand but ``validate``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, TypeVar

from commandline.color import is_colored
from commandline.reports.emphasis import emphasized
from commandline.reports.escaping import write_json, write_lines

if TYPE_CHECKING:
    from argparse import Namespace

    from claimcheck.answers.outcome import Failure

Answer = TypeVar("Answer")


def write_answer(
    options: Namespace,
    answer: Answer,
    *,
    lines: Callable[[Answer], Iterable[str]],
    document: Callable[[Answer], dict[str, Any]],
) -> None:
    """Write an answer to standard output, in the format and color that the options ask for.

    :param lines: the answer as lines for people.
    :param document: the answer as plain data for programs.
    """
    if options.output == "json":
        write_json(document(answer), sys.stdout)
        return
    if options.output == "yaml":
        from documents.emitting import block

        sys.stdout.writelines(line + "\n" for line in block(document(answer)))
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
