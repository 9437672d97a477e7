"""Where the lines of a text begin."""

from __future__ import annotations


def line_starts(text: str) -> list[int]:
    """The offset of each line, in code points; a text without any line end is one line."""
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
