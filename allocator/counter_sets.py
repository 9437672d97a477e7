"""The counters from which devices draw that are parts of something larger (KEP-4815)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from resourceapi.quantity import Quantity


class Counters(NamedTuple):
    """The counter sets of slices by name, and by name of the counter."""

    sets: dict[str, dict[str, Quantity]]
    #: counter set and counter, of which less than nothing is there
    negative: list[tuple[str, str]]
    #: the name of a counter set that there is twice; what comes after it is left out
    repeated: str | None = None


def counters_of(counter_sets: Iterable[tuple[str, dict[str, Quantity]]]) -> Counters:
    """Put the counter sets of a pool together, each with its name."""
    found = Counters({}, [])
    for name, counters in counter_sets:
        if name in found.sets:
            return found._replace(repeated=name)
        found.sets[name] = counters
        found.negative.extend((name, each) for each, amount in counters.items() if amount.sign() < 0)
    return found
