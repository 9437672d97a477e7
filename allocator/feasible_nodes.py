"""How nodes serve a pod, kept for the next pod that asks for the same: only nodes that have changed since are asked again.

kube-scheduler looks at the nodes in their order until enough of them fit, for each pod anew. But what a node has for a pod stays the
same until devices, CPU or the like of it are taken or given back, or its slices or the node itself change.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import takewhile
from typing import Any, NamedTuple

#: About how much memory the verdict of a node takes.
_VERDICT_BYTES = 120


class NodeChanges:
    """Which nodes have changed, those last that have changed last."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._of_all = 0
        #: how many changes there have been
        self.count = 0

    def note(self, node: str) -> None:
        """Note that a node has changed."""
        self.count += 1
        self._last.pop(node, None)
        self._last[node] = self.count

    def note_all(self) -> None:
        """Note that any node may have changed, or has another place among the nodes."""
        self._last.clear()
        self.count += 1
        self._of_all = self.count

    def since(self, count: int) -> list[str] | None:
        """The nodes that have changed after so many changes; None if any node may have."""
        if count < self._of_all:
            return None
        return [node for node, _ in takewhile(lambda each: each[1] > count, reversed(self._last.items()))]


class Verdict(NamedTuple):
    """How a node serves a pod.

    :param worth: what nodes that fit are compared by.
    :param reasons: what kube-scheduler says of a node that does not fit.
    :param is_fatal: whether there is an error that fails the attempt to schedule the pod.
    :param is_undecided: whether the search was given up.
    """

    fits: bool
    worth: Any = None
    reasons: Sequence[str] = ()
    is_fatal: bool = False
    is_undecided: bool = False


class FeasibleNodes:
    """The verdicts of nodes by their place in the order of nodes, as far as nodes have been asked."""

    def __init__(self) -> None:
        self._verdicts: list[Verdict | None] = []
        self._places: dict[Verdict, list[int]] = {}
        #: a heap: the places of nodes that are to be asked again, and of the first that has not been asked yet
        self._unasked = [0]
        #: the places of the nodes that fit, in order, and of those with an error that fails the attempt to schedule the pod
        self.fitting: list[int] = []
        self.failing: list[int] = []
        self._seen: list[int] = []

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        return _VERDICT_BYTES * len(self._verdicts)

    def follow(self, followed: Sequence[NodeChanges], place_of: Callable[[str], int | None]) -> None:
        """Forget the verdicts of nodes that have changed since the last time.

        :param followed: the same ones each time.
        """
        for changes, seen in zip(followed, self._seen, strict=False):
            names = changes.since(seen)
            if names is None:
                self.__dict__.update(FeasibleNodes().__dict__)
                break
            for name in names:
                place = place_of(name)
                if place is not None:
                    self._forget(place)
        self._seen = [each.count for each in followed]

    def _forget(self, place: int) -> None:
        verdict = self._verdicts[place] if place < len(self._verdicts) else None
        if verdict is None:
            return
        for places in self._with(verdict):
            del places[bisect_left(places, place)]
        if not self._places[verdict]:
            del self._places[verdict]
        self._verdicts[place] = None
        heappush(self._unasked, place)

    @property
    def first_unasked(self) -> int:
        """The place of the first node without a verdict; it may be that after the last node."""
        return self._unasked[0]

    def put(self, verdict: Verdict) -> None:
        """Keep the verdict of the first node without one."""
        place = heappop(self._unasked)
        if place == len(self._verdicts):
            self._verdicts.append(verdict)
            heappush(self._unasked, place + 1)
        else:
            self._verdicts[place] = verdict
        for places in self._with(verdict):
            insort(places, place)

    def _with(self, verdict: Verdict) -> Iterator[list[int]]:
        """The lists of places in which nodes with a verdict are."""
        yield self._places.setdefault(verdict, [])
        if verdict.fits:
            yield self.fitting
        if verdict.is_fatal:
            yield self.failing

    def verdict(self, place: int) -> Verdict | None:
        """The verdict of a node; None if it is to be asked again."""
        return self._verdicts[place]

    def end(self, nodes: int, wanted: int) -> int:
        """The place after the last node that is looked at: with it, `wanted` nodes fit, or there are no more nodes."""
        return self.fitting[wanted - 1] + 1 if 0 < wanted <= len(self.fitting) else nodes

    def before(self, end: int) -> Iterator[tuple[Verdict, int]]:
        """The different verdicts of the nodes before a place, each with the number of nodes there that have it."""
        for verdict, places in self._places.items():
            if places[0] < end:
                yield verdict, bisect_left(places, end)

    def with_verdict(self, verdict: Verdict, end: int) -> list[int]:
        """The places of the nodes before a place that have this verdict."""
        places = self._places[verdict]
        return places[: bisect_left(places, end)]
