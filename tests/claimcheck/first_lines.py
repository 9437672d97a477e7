"""The first line of `explain` about a pod, and what events keep of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from allocator.explaining import in_words
from claimcheck.answers.explain import Answer, Explained
from commandline.explain import text_report

_FIRST_LINE = re.compile(r"^Pod (\S+) \(.*?\): (.*)$")


class FirstLine(NamedTuple):
    """What `explain` says first of a pod, without its name, and all that it has found."""

    text: str
    explained: Explained


def first_lines(answer: Answer) -> Iterator[FirstLine]:
    """Those of pods, in the order of the answer."""
    matches = filter(None, map(_FIRST_LINE.match, text_report.lines(answer)))
    lines = {each[1]: each[2] for each in matches}
    for each in answer.explained:
        yield FirstLine(lines[each.workload.full_name], each)


def for_events(line: FirstLine) -> str:
    """The line without what `in_words.verdict` and docs/how-to/schedule.md say that events leave out."""
    text, explanation = line.text, line.explained.explanation
    assert explanation is not None
    error = explanation.error
    cause = in_words.in_the_way(explanation)
    if cause:
        text = re.sub(rf"[:;]? {re.escape(cause)}$", "", text)
    for mistake in explanation.mistakes[:1]:
        if not mistake.for_tenants and text.endswith(f": {mistake}"):
            text = text.removesuffix(f": {mistake}")
            # the error that the mistake stands for
            if error is not None:
                text += f" because of an error on {error.node}: {error.error}"
    return text if error is None else text.replace(error.error, error.unnamed)


def begins(event: str, line: str) -> bool:
    """Whether an event's first sentence is this one; others follow a semicolon, or a space after a question."""
    return f"{event}; ".replace("? ", "?; ").startswith(f"{line}; ".replace("? ", "?; "))
