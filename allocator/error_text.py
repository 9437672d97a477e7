"""The texts of errors for other pods and nodes than those where they were found: only names differ.

So an error is found once, and its text is made for each pod and node when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from allocator.errors import Mention, Named, Text, naming
from allocator.states import PoolState


class _Spot(NamedTuple):
    """What a text mentions, by its place in the pools of a node; without a `device` the pool itself."""

    words: str
    otherwise: str
    short: bool
    pool: int
    device: int | None


class ErrorText:
    """A text for all pods with like claims, on all nodes of a kind."""

    __slots__ = ("_parts",)

    def __init__(self, text: Text, claims: Sequence[Named], states: Sequence[PoolState]) -> None:
        """Take the text that was found for some claims on a node, where the pools were in these states."""
        self._parts = [_part(each, claims, states) for each in text]

    def on(self, names: Sequence[str], states: Sequence[PoolState]) -> str:
        """The text for claims with these names, on a node where the pools are in these states."""
        return "".join([self._words(each, names, states) for each in self._parts])

    def anywhere(self, names: Sequence[str]) -> str:
        """The text for claims with these names, without names of devices and pools."""
        return "".join([self._words(each, names, None) for each in self._parts])

    @staticmethod
    def _words(part: str | int | _Spot, names: Sequence[str], states: Sequence[PoolState] | None) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, int):
            return names[part]
        if states is None:
            return part.otherwise
        pool = states[part.pool].pool
        what = pool if part.device is None else pool.devices[part.device]
        return naming(part.words, what, short=part.short)


def _part(
    part: str | Named | Mention, claims: Sequence[Named], states: Sequence[PoolState]
) -> str | int | _Spot:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mention):
        return claims.index(part)
    id = part.what.id
    place = next(place for place, state in enumerate(states) if state.pool.id == id[:2])
    device = states[place].pool.place(id[2]) if len(id) > 2 else None
    return _Spot(part.words, part.otherwise, part.short, place, device)
