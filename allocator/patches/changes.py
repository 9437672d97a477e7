"""Patches and rules that have come, changed or gone, and what applies to devices after that."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from allocator.devices import Slice
from allocator.patches.criterion import NO_MATCH, Criterion, Expressions, Filter, Verdict, Verdicts
from allocator.patches.overrides import IN_ORDER, NOTHING, Applied, Failing, PlacedRule
from allocator.patches.patch import NameIndex, Patch
from allocator.time_limit import TimeLimit
from resourceapi.caches import WeighedCache, remember

# Which of certain patches and DeviceTaintRules apply to the devices of a slice.
# Names are looked up rather than compared one by one; expressions are evaluated once for all devices in
# which they see the same.

#: How much memory the combinations of what applies to devices take, and about what one takes for each patch.
_FOUND_BYTES, _PATCH_BYTES = 32 << 20, 100

Conditional = tuple[Patch, Criterion]


class Matcher:
    """Patches and rules that are looked up together; never changed once made."""

    def __init__(
        self,
        patches: Iterable[tuple[Patch, Filter]],
        rules: Iterable[PlacedRule],
        expressions: Expressions,
    ) -> None:
        """`patches`: each with the expressions of its class and its own."""
        plain: list[Patch] = []
        filtered: list[tuple[Patch, Filter]] = []
        for patch, texts in patches:
            if texts:
                filtered.append((patch, texts))
            else:
                plain.append(patch)
        criteria = expressions.criteria(dict.fromkeys(texts for _, texts in filtered))
        named: list[Conditional] = []
        #: patches whose filters name neither a pool nor a device
        self._broad: dict[Criterion, list[Patch]] = {}
        for patch, texts in filtered:
            criterion = criteria[texts]
            if patch.names.pool is None and patch.names.device is None:
                self._broad.setdefault(criterion, []).append(patch)
            else:
                named.append((patch, criterion))
        self._verdicts = list(dict.fromkeys(criterion.verdicts for criterion in self._broad))
        self._plain = NameIndex((each.names, each) for each in plain)
        self._named = NameIndex((each.names, (each, criterion)) for each, criterion in named)
        self._rules = NameIndex((each.names, each) for each in rules if each.names is not None)
        self._found: WeighedCache[tuple[object, ...], Applied] = WeighedCache(_FOUND_BYTES)
        self._last: _VerdictsOnSlice | None = None

    def of(self, slice: Slice, time_limit: TimeLimit) -> list[Applied] | None:
        """What applies to each device of a slice, which is as it was published; the same object for the same.

        :returns: None if nothing applies to any of them.
        :raises allocator.time_limit.OutOfTime: if the time is over before that is known; the next call goes on.
        """
        pool = slice.pool
        plain, named, rules = self._plain.near(pool), self._named.near(pool), self._rules.near(pool)
        known = (
            self._last if self._last is not None and self._last.slice is slice else _VerdictsOnSlice(slice)
        )
        self._last = known
        of_devices = [known.of(each, time_limit) for each in self._verdicts]
        is_chosen = any(verdict is not NO_MATCH for each in of_devices for verdict in each)
        if not (plain or named or rules or is_chosen):
            return None
        found = []
        for place, device in enumerate(slice.devices):
            name = device.id.device
            patches, taints, conditional = plain.of_device(name), rules.of_device(name), named.of_device(name)
            verdicts = tuple([each[place] for each in of_devices])
            chosen, failed = known.outcomes(conditional, place, time_limit) if conditional else ((), ())
            key = (id(patches), id(taints), verdicts, chosen, failed)
            applied = self._found.get(key)
            if applied is None:
                applied = self._applied((*patches, *chosen), taints, failed, verdicts, pool.driver)
                weight = _PATCH_BYTES * (len(applied.patches) + len(applied.failed))
                weight += sum([verdict.weight for verdict in verdicts])
                self._found.put(key, applied, weight, pool.driver)
            found.append(applied)
        return found

    def _applied(
        self,
        patches: tuple[Patch, ...],
        rules: tuple[PlacedRule, ...],
        failed: tuple[Failing, ...],
        verdicts: tuple[Verdict, ...],
        driver: str,
    ) -> Applied:
        matching = chain.from_iterable(verdict.matching for verdict in verdicts)
        failing = chain.from_iterable(verdict.failing.items() for verdict in verdicts)
        return Applied.of(
            chain(patches, (patch for each in matching for patch in self._of(driver, each))),
            rules,
            chain(failed, (Failing(patch, why) for each, why in failing for patch in self._of(driver, each))),
        )

    def _of(self, driver: str, criterion: Criterion) -> Iterable[Patch]:
        """The patches with a criterion that are about devices of a driver."""
        for patch in self._broad.get(criterion, ()):
            if patch.names.driver in (None, driver):
                yield patch


class _VerdictsOnSlice:
    """The verdicts on the devices of a slice, as far as they have been asked for."""

    def __init__(self, slice: Slice) -> None:
        self.slice = slice
        self._known: dict[Verdicts, list[Verdict]] = {}

    def of(self, verdicts: Verdicts, time_limit: TimeLimit) -> list[Verdict]:
        """Of each device one of these."""
        found = self._known.get(verdicts)
        if found is None:
            found = self._known[verdicts] = verdicts.of(self.slice, time_limit)
            time_limit.check()
        return found

    def outcomes(
        self, conditional: Iterable[Conditional], place: int, time_limit: TimeLimit
    ) -> tuple[tuple[Patch, ...], tuple[Failing, ...]]:
        """The patches that choose the device at a place, and those that fail on it."""
        chosen, failed = [], []
        for patch, criterion in conditional:
            verdict = self.of(criterion.verdicts, time_limit)[place]
            if criterion in verdict.matching:
                chosen.append(patch)
            elif criterion in verdict.failing:
                failed.append(Failing(patch, verdict.failing[criterion]))
        return tuple(chosen), tuple(failed)


_MAX_KNOWN = 16_384

Item = TypeVar("Item", Patch, PlacedRule, Failing)
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
