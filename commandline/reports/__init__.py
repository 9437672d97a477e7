"""Reports of findings, as text for people or in a format for other programs.

Each format is a module with a function ``write(outcome, stream)``, imported only when it is used.
"""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from claimcheck.answers.outcome import Outcome

FORMATS = {
    "text": "commandline.reports.text",
    "json": "commandline.reports.structured",
    "yaml": "commandline.reports.structured",
    "sarif": "commandline.reports.sarif",
    "junit": "commandline.reports.junit",
    "github": "commandline.reports.github",
    "html": "commandline.reports.html",
}
#: The formats that may share standard output: one is for people, the other for the runner that reads its log.
TOGETHER = frozenset(("text", "github"))
# The formats that show the line of every object.
WITH_LINES = frozenset(("json", "yaml"))


def write(
    format: str,
    outcome: Outcome,
    stream: TextIO,
    *,
    color: bool = False,
    show_all: bool = False,
    with_summary: bool = True,
) -> None:
    """Write the report.

    :param format: one of ``FORMATS``; those for programs are complete, and ignore the other options.
    :param color: whether to color ``text``.
    :param show_all: whether to show each of many findings that are alike.
    :param with_summary: whether to end with the numbers of objects and findings.
    """
    module = import_module(FORMATS[format])
    buffer = StringIO()  # a stream may be unbuffered, and reports have many small pieces
    if format == "text":
        module.write(outcome, buffer, color=color, show_all=show_all, with_summary=with_summary)
    elif format == "github":
        module.write(outcome, buffer, show_all=show_all, with_summary=with_summary)
    elif format == "yaml":
        module.write_yaml(outcome, buffer)
    else:
        module.write(outcome, buffer)
    stream.write(buffer.getvalue())
