"""The part of the report of ``claimcheck simulate`` about pods that are not placed: each reason once, with what would help."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from allocator.explaining import in_words
from commandline.explain import node_report, remedy_report
from resourceapi.phrases import number

if TYPE_CHECKING:
    from claimcheck.answers.unplaced import Unplaced

#: Reasons, and pods of each, that are listed.
MAX_REASONS, MAX_PODS = 8, 4


def lines(groups: Sequence[Unplaced]) -> Iterator[str]:
    """The reasons, those of most pods first."""
    if not groups:
        return
    yield ""
    yield f"not placed: {number(sum(len(each.pods) for each in groups), 'pod')}"
    for each in groups[:MAX_REASONS]:
        yield from (f"  {line}" for line in _group(each))
    if more := groups[MAX_REASONS:]:
        pods = sum(len(each.pods) for each in more)
        yield f"  {number(pods, 'more pod')}, for {number(len(more), 'other reason')} (see -o json)"


def _group(group: Unplaced) -> Iterator[str]:
    shown = ", ".join(group.pods[:MAX_PODS])
    more = f" and {number(len(group.pods) - MAX_PODS, 'other')}" if len(group.pods) > MAX_PODS else ""
    count = f"{number(len(group.pods), 'pod')}: " if len(group.pods) > 1 else ""
    explained = group.explained
    if explained is None or explained.explanation is None:
        yield f"{count}{shown}{more}: {group.said or 'fits on no node'}"
        return
    explanation = explained.explanation
    first, *others = in_words.causes(explanation)
    yield f"{count}{shown}{more}: {first}"
    yield from node_report.messages(explained)
    yield from (f"  {line}" for line in others)
    yield from remedy_report.later(explained.later)
    yield from remedy_report.remedies(explanation, "one of them" if len(group.pods) > 1 else "it")
