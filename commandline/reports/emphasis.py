"""Colors for verdicts in the text of ``explain``, ``simulate``, ``classic-simulate``, ``quota`` and ``cel``.

The lines are finished and escaped; a verdict is known by its words and its place. A name that looks like one is in color too,
which harms nobody.
"""

from __future__ import annotations

import re

from commandline.color import CYAN, GREEN, RED, YELLOW, paint

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
    """An escaped line with its verdict in color."""
    for pattern, color in _VERDICTS:
        if matched := pattern.search(line):
            start, end = matched.span(1)
            return line[:start] + paint(line[start:end], color, True) + line[end:]
    return line
