"""What a terminal is shown besides text: colors, and the progress of a long run."""

from __future__ import annotations

import os
import sys
import time
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


QUIET_SECONDS = 1.0  # shorter runs show nothing
INTERVAL_SECONDS = 0.2


class Progress:
    """Counts steps and, if they take long, shows their number on stderr.

    :param what: what is counted, such as ``objects``.
    :param total: the number of steps; 0 if it is unknown.
    :param shown: whether to show anything; only one of several processes does.
    """

    def __init__(self, what: str, total: int = 0, *, shown: bool = True) -> None:
        self._what = what
        self._of_total = f"/{total:,}" if total else ""
        self._count = 0
        self._shown = False
        visible = shown and sys.stderr.isatty()
        self._due = time.monotonic() + QUIET_SECONDS if visible else float("inf")

    def step(self) -> None:
        """Count a step that is about to start."""
        self.show()
        self._count += 1

    def show(self) -> None:
        """Show how many steps have started, if it is time to: to be called now and then in long steps."""
        if (now := time.monotonic()) >= self._due:
            sys.stderr.write(f"\r{self._count:,}{self._of_total} {self._what}")
            sys.stderr.flush()
            self._due, self._shown = now + INTERVAL_SECONDS, True

    def clock(self) -> float:
        """The time, for a time limit that is checked in long steps: shows how many have started."""
        self.show()
        return time.monotonic()

    def done(self) -> None:
        """Clear the line."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
