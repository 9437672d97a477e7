"""Reports of findings, as text for people or in a format for other programs.

Each format is a module with a function ``write(outcome, stream)``, imported only when it is used.
"""

from __future__ import annotations

from importlib import import_module
from io import StringIO
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from commandline.results import Outcome

FORMATS = {
    "text": "commandline.reports.text",
    "json": "commandline.reports.structured",
    "yaml": "commandline.reports.structured",
    "sarif": "commandline.reports.sarif",
    "junit": "commandline.reports.junit",
    "github": "commandline.reports.github",
}
# The formats that show the line of every object.
WITH_LINES = frozenset(("json", "yaml"))


def write(format: str, outcome: Outcome, stream: TextIO, *, color: bool = False) -> None:
    """Write the report.

    :param format: one of ``FORMATS``.
    :param color: whether to color ``text``; other formats ignore it.
    """
    module = import_module(FORMATS[format])
    buffer = StringIO()  # a stream may be unbuffered, and reports have many small pieces
    if format == "text":
        module.write(outcome, buffer, color=color)
    elif format == "yaml":
        module.write_yaml(outcome, buffer)
    else:
        module.write(outcome, buffer)
    stream.write(buffer.getvalue())
