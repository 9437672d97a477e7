"""What an explanation takes into account and what not, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimcheck.answers.explain import Answer


def scope(answer: Answer) -> Iterator[str]:
    """Lines for the end of a report: which checks were made, and that pods are looked at one by one."""
    yield from answer.notes
    if sum(each.workload.copies for each in answer.explained) > 1:
        yield (
            "Each pod is explained by itself, as if the others in these files did not exist; "
            "claimcheck simulate places them together."
        )
