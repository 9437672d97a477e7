"""Whether text for people is in color: ``--color``, the kind of stream, and the variables that programs agree on."""

from __future__ import annotations

import os
from typing import TextIO

AUTO, ALWAYS, NEVER = CHOICES = ("auto", "always", "never")
RED, GREEN, YELLOW, BLUE, CYAN, BOLD = "31", "32", "33", "34", "36", "1"


def is_colored(choice: str, stream: TextIO) -> bool:
    """Whether to write in color to a stream.

    :param choice: the value of ``--color``, which counts more than any variable.
    """
    if choice != AUTO:
        return choice == ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if any(os.environ.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, code: str, color: bool) -> str:
    """The text in a color, if there are colors. It must not contain control characters any more."""
    return f"\x1b[{code}m{text}\x1b[0m" if color and code and text else text
