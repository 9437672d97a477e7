"""Writes an answer as text or JSON: the reports of every subcommand but ``validate``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from commandline.color import NEVER, is_colored
from commandline.reports.emphasis import emphasized
from commandline.reports.escaping import write_json, write_lines

if TYPE_CHECKING:
    from commandline.results import Failure

Answer = TypeVar("Answer")


def write_answer(
    format: str,
    answer: Answer,
    stream: TextIO,
    *,
    lines: Callable[[Answer], Iterable[str]],
    document: Callable[[Answer], dict[str, Any]],
    color: str = NEVER,
) -> None:
    """Write an answer to a stream.

    :param format: ``text`` or ``json``.
    :param lines: the answer as lines for people.
    :param document: the answer as plain data for programs.
    :param color: the value of ``--color``.
    """
    if format == "json":
        write_json(document(answer), stream)
        return
    buffer = StringIO()  # a stream may be unbuffered
    write_lines(lines(answer), buffer, emphasized if is_colored(color, stream) else None)
    stream.write(buffer.getvalue())


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
