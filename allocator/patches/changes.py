"""Patches and rules that have come, changed or gone, and what applies to devices after that."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from allocator.devices import Slice
from allocator.patches.applied import IN_ORDER, NOTHING, Applied, Failing
from allocator.patches.matcher import Matcher
from allocator.patches.patch import Patch
from allocator.patches.taint_rule import TaintRule
from allocator.time_limit import TimeLimit
from resourceapi.caches import remember

_MAX_KNOWN = 16_384

Item = TypeVar("Item", Patch, TaintRule, Failing)
_name = attrgetter("name")


class Changes:
    """Changes that are made together; making them twice does no harm."""

    def __init__(
        self,
        matcher: Matcher,
        patches: AbstractSet[str],
        rules: AbstractSet[str],
    ) -> None:
        """Take what has changed.

        :param matcher: finds those that there are now.
        :param patches: the names of the patches that have changed, or are gone, as `rules` those of rules.
        """
        self._matcher = matcher
        self._patches = patches
        self._rules = rules
        self._known: dict[tuple[Applied, Applied], Applied] = {}

    def applied(
        self, slice: Slice, before: Sequence[Applied] | None, time_limit: TimeLimit
    ) -> list[Applied] | None:
        """What applies to the devices of a slice after the changes; None if nothing changes about them.

        :param slice: as it was published.
        :param before: what has applied to them, None if nothing.
        :raises allocator.time_limit.OutOfTime: if the time is over before that is known.
        """
        now = self._matcher.of(slice, time_limit)
        if before is None:
            return now if now and any(each is not NOTHING for each in now) else None
        if now is None:
            now = [NOTHING] * len(before)
        found = [self._after(old, new) for old, new in zip(before, now, strict=True)]
        return found if any(new is not old for old, new in zip(before, found, strict=True)) else None

    def _after(self, before: Applied, now: Applied) -> Applied:
        found = self._known.get((before, now))
        if found is None:
            found = self._find(before, now)
            remember(self._known, (before, now), found, _MAX_KNOWN)
        return found

    def _find(self, before: Applied, now: Applied) -> Applied:
        if now is NOTHING and not self._concern(before):
            return before
        found = Applied(
            _replaced(before.patches, self._patches, now.patches),
            _replaced(before.rules, self._rules, now.rules),
            _replaced(before.failed, self._patches, now.failed),
        )
        if found.equals(before):
            return before
        return NOTHING if found.equals(NOTHING) else found

    def _concern(self, applied: Applied) -> bool:
        """Whether any of what applies has changed."""
        return not (
            self._patches.isdisjoint(map(_name, chain(applied.patches, applied.failed)))
            and self._rules.isdisjoint(map(_name, applied.rules))
        )


def _replaced(before: Sequence[Item], changed: AbstractSet[str], now: Iterable[Item]) -> tuple[Item, ...]:
    """What was there before, in order, without what has changed, and with what there is of that now."""
    found = [each for each in before if each.name not in changed]
    for each in now:
        insort(found, each, key=IN_ORDER)
    return tuple(found)
