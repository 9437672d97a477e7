"""What the remaining requests could still have; or a proof that not all of them can be served.

Every rule here only ever leaves out devices that no solution has, and gives up only where there is none: soundness in
docs/explanation/allocator.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from allocator.pruning.bits import bits
from allocator.pruning.matching import Matching, can_serve_all
from allocator.pruning.problem import Option, Problem, Slot
from allocator.pruning.state import State, States
from allocator.pruning.values import Value, ValueMap
from allocator.search import Goal
from resourceapi.limits import ALLOCATION_RESULTS

_MAX_VALUES_MATCHED = 128


class Task(NamedTuple):
    """A request that is to be served, or the rest of it."""

    slot: Slot
    #: the option that has been chosen, if one has
    option: Option | None = None
    #: how many devices the option still wants
    wanted: int = 0
    #: candidates that may be taken for it; each combination is tried once only
    untried: int = -1


class Outlook:
    """An option that may still serve its request: how many devices it wants, and which ones it could have."""

    __slots__ = ("devices", "option", "wanted")

    def __init__(self, option: Option, wanted: int, devices: int) -> None:
        self.option = option
        self.wanted = wanted
        self.devices = devices

    def is_hopeless(self) -> bool:
        if self.option.everything is not None:
            return self.devices.bit_count() != self.wanted or not self.option.everything
        return self.devices.bit_count() < self.wanted


class Prospect:
    """A request that is yet to be served, with the options that are left."""

    __slots__ = ("options", "slot")

    def __init__(self, slot: Slot, options: list[Outlook]) -> None:
        self.slot = slot
        self.options = options

    @property
    def least(self) -> int:
        """How many devices it takes at least."""
        return min(each.wanted for each in self.options)

    @property
    def devices(self) -> int:
        """All devices that it could have."""
        found = 0
        for each in self.options:
            found |= each.devices
        return found

    def drop_hopeless(self) -> bool:
        """Whether there still is an option."""
        self.options = [each for each in self.options if not each.is_hopeless()]
        return bool(self.options)


class HopelessError(Exception):
    """Not all requests can be served."""


class Propagation:
    """Looks ahead from any point of a search."""

    def __init__(self, problem: Problem, states: States) -> None:
        self._problem = problem
        self._states = states
        self._drawing_kinds = _drawing_kinds(problem)

    def tasks(self, goal: Goal) -> list[Task]:
        """What is to be done from a goal on, up to where looking at devices may be an error."""
        problem = self._problem
        start = problem.first[goal.claim] + goal.request
        tasks = [Task(slot) for slot in problem.slots[start : problem.horizons[start]]]
        if goal.alternative is not None:
            slot = problem.slots[start]
            option = next(each for each in slot.options if each.alternative is goal.alternative)
            tasks[0] = Task(slot, option, option.wanted - goal.devices, self._untried(goal, option))
        return tasks

    def _untried(self, goal: Goal, option: Option) -> int:
        if option.everything is None:
            return -1 << goal.start
        rest = self._problem.all_of(option)[goal.devices :]
        return sum(1 << index for index in rest)

    def prospects(self, tasks: Sequence[Task], state: State) -> list[Prospect] | None:
        """What each task could have; None if it is all in vain."""
        try:
            prospects = self._alone(tasks, state)
            self._narrow(prospects, state)
            self._check(prospects, state)
        except HopelessError:
            return None
        return prospects

    # --- what each request could have if it were alone

    def _alone(self, tasks: Sequence[Task], state: State) -> list[Prospect]:
        allowed = ~state.blocked()
        prospects = []
        for slot, chosen, wanted, untried in tasks:
            if chosen is not None:
                devices = self._available(chosen, chosen.static & allowed & untried, state)
                options = [Outlook(chosen, wanted, devices)]
            else:
                options = [
                    Outlook(option, option.wanted, self._available(option, option.static & allowed, state))
                    for option in slot.options
                ]
            prospects.append(Prospect(slot, options))
        self._drop_hopeless(prospects)
        self._check_limit(prospects)
        return prospects

    def _available(self, option: Option, devices: int, state: State) -> int:
        problem, alternative = self._problem, option.alternative
        if alternative.admin_access:
            devices &= ~state.held.get(option.claim, 0)
        else:
            devices &= state.free
        for place, distinct, values in option.bonds:
            remembered = problem.attempt.constraint_state(alternative.claim, place)
            if remembered and distinct:
                devices &= ~values.unlike(remembered)
            elif remembered:
                devices &= values.having(remembered)
        for index in bits(devices & state.in_use):
            if not problem.attempt.has_capacity(alternative, problem.devices[index]):
                devices &= ~(1 << index)
        return devices

    def _drop_hopeless(self, prospects: Iterable[Prospect]) -> None:
        hopeful = [prospect.drop_hopeless() for prospect in prospects]
        if not all(hopeful):
            raise HopelessError

    def _check_limit(self, prospects: Iterable[Prospect]) -> None:
        """A claim's status holds only so many devices."""
        problem = self._problem
        room: dict[int, int] = {}
        for prospect in prospects:
            claim = prospect.slot.claim
            if claim not in room:
                room[claim] = ALLOCATION_RESULTS - len(problem.attempt.taken(problem.claims[claim]))
            room[claim] -= prospect.least
            if room[claim] < 0:
                raise HopelessError

    # --- what they could have together

    def _narrow(self, prospects: list[Prospect], state: State) -> None:
        """Leave out devices until nothing changes any more."""
        bonds = self._open_bonds(prospects)
        size = -1
        while size != (size := sum(each.devices.bit_count() for p in prospects for each in p.options)):
            for bonded in bonds:
                self._agree(bonded)
                self._drop_hopeless(prospects)
            self._reserve(prospects, state)

    def _open_bonds(
        self, prospects: list[Prospect]
    ) -> list[list[tuple[Prospect, list[tuple[Outlook, ValueMap]]]]]:
        """Of each `matchAttribute` without a value yet: the requests that it binds, with the options that it concerns."""
        attempt = self._problem.attempt
        found: dict[tuple[int, int], list[tuple[Prospect, list[tuple[Outlook, ValueMap]]]]] = {}
        for prospect in prospects:
            bound: dict[tuple[int, int], list[tuple[Outlook, ValueMap]]] = {}
            for each in prospect.options:
                for place, distinct, values in each.option.bonds:
                    if not distinct:
                        bound.setdefault((prospect.slot.claim, place), []).append((each, values))
            for key, outlooks in bound.items():
                if not attempt.constraint_state(self._problem.claims[key[0]], key[1]):
                    found.setdefault(key, []).append((prospect, outlooks))
        return list(found.values())

    def _agree(self, bonded: Sequence[tuple[Prospect, list[tuple[Outlook, ValueMap]]]]) -> None:
        """All requests that are bound have one value in common: leave out devices with values that some lack."""
        bound = [
            (prospect, outlooks)
            for prospect, outlooks in bonded
            if len(outlooks) == len(prospect.options) and prospect.least
        ]
        if not bound:
            return
        if sum(prospect.least for prospect, _ in bound) == 1:
            return  # One device is always of one value; and it may be one whose value is not looked at.
        bound.sort(key=lambda entry: entry[0].devices.bit_count())
        values = self._common_values(bound)
        if len(values) <= _MAX_VALUES_MATCHED and len(bound) > 1:
            values = [value for value in values if self._suffices(value, bound)]
        if not values:
            raise HopelessError
        # A request that another alternative may free from the constraint still has to agree if it is not freed.
        for _, outlooks in bonded:
            for each, of in outlooks:
                devices = [of.masks.get(value, 0) for value in values]
                if each.wanted:
                    devices = [mask for mask in devices if (mask & each.devices).bit_count() >= each.wanted]
                    each.devices &= _union(devices)

    def _common_values(self, bound: Sequence[tuple[Prospect, list[tuple[Outlook, ValueMap]]]]) -> list[Value]:
        first = {
            value
            for each, of in bound[0][1]
            for index in bits(each.devices)
            for value in of.of_device.get(index, ())
        }
        return [
            value
            for value in sorted(first)
            if all(
                any(
                    (each.devices & of.masks.get(value, 0)).bit_count() >= each.wanted
                    for each, of in outlooks
                )
                for _, outlooks in bound
            )
        ]

    def _suffices(
        self, value: Value, bound: Sequence[tuple[Prospect, list[tuple[Outlook, ValueMap]]]]
    ) -> bool:
        """Whether there are enough devices with a value for all requests together."""
        # They are of one claim, so not even admin access lets two of them have the same device.
        return can_serve_all(
            [
                self._own(
                    prospect.least, _union(each.devices & of.masks.get(value, 0) for each, of in outlooks)
                )
                for prospect, outlooks in bound
            ]
        )

    def _own(self, wanted: int, devices: int) -> tuple[int, int]:
        """The devices that a request must have for itself: each shared one may serve it, too."""
        shared = devices & self._problem.shared
        return max(wanted - shared.bit_count(), 0), devices & ~shared

    def _reserve(self, prospects: Sequence[Prospect], state: State) -> None:
        """Where requests need all devices that they could have, others cannot have those, nor what they draw."""
        wanted: dict[int, int] = {}
        for prospect in prospects:
            if self._is_plain(prospect):
                devices = prospect.options[0].devices
                wanted[devices] = wanted.get(devices, 0) + prospect.least
        needed = 0
        for devices, count in wanted.items():
            if count == devices.bit_count() and not devices & self._problem.shared:
                if needed & devices:
                    raise HopelessError
                needed |= devices
        if not needed:
            return
        after = self._states.all_drawn(state, needed)
        if after is None:
            raise HopelessError
        blocked = after.blocked() | needed
        for prospect in prospects:
            for each in prospect.options:
                if each.option.alternative.admin_access:
                    continue
                if not (self._is_plain(prospect) and not each.devices & ~needed):
                    each.devices &= ~blocked
        self._drop_hopeless(prospects)

    def _is_plain(self, prospect: Prospect) -> bool:
        return len(prospect.options) == 1 and not prospect.options[0].option.alternative.admin_access

    # --- whether there is enough for all

    def _check(self, prospects: Sequence[Prospect], state: State) -> None:
        normal = [
            prospect
            for prospect in prospects
            if not any(each.option.alternative.admin_access for each in prospect.options)
        ]
        demands = [self._own(prospect.least, prospect.devices) for prospect in normal]
        if not Matching(demands, self._limits(normal, state)).complete():
            raise HopelessError
        self._check_counters(normal, state)
        if self._problem.has_admin:
            self._check_admin(prospects)
        self._check_distinct(prospects)

    def _check_admin(self, prospects: Sequence[Prospect]) -> None:
        """Requests of one claim never have a device in common, with admin access or without."""
        for claim in {prospect.slot.claim for prospect in prospects}:
            own = [prospect for prospect in prospects if prospect.slot.claim == claim]
            if not can_serve_all([self._own(prospect.least, prospect.devices) for prospect in own]):
                raise HopelessError

    def _limits(self, prospects: Sequence[Prospect], state: State) -> dict[int, int]:
        """How many devices of each counter set can be taken; devices of several sets are counted in the first."""
        sets = self._problem.counters.sets
        if not sets:
            return {}
        wanted = 0
        for prospect in prospects:
            wanted |= prospect.devices
        wanted &= ~self._problem.shared
        limits: dict[int, int] = {}
        for each, left in zip(sets, state.left, strict=True):
            devices = each.members & wanted
            if devices:
                limits[devices] = each.at_most(devices, left)
                wanted &= ~devices
        return {devices: limit for devices, limit in limits.items() if limit < devices.bit_count()}

    def _check_counters(self, prospects: Sequence[Prospect], state: State) -> None:
        """What all requests draw at least, counter by counter over all sets together."""
        for amounts, members, shares in self._drawing_kinds:
            available = 0
            for place, counters in members:
                left = state.left[place]
                for counter in counters:
                    available += left[counter]
            for prospect in prospects:
                available -= min(
                    each.wanted * _least(each.devices, amounts, shares) for each in prospect.options
                )
                if available < 0:
                    raise HopelessError

    def _check_distinct(self, prospects: Sequence[Prospect]) -> None:
        """Devices with distinct values need as many values."""
        bound: dict[tuple[int, int, ValueMap], list[tuple[int, int]]] = {}
        for prospect in prospects:
            for place, values in self._distinct(prospect):
                key = (prospect.slot.claim, place, values)
                bound.setdefault(key, []).append((prospect.least, prospect.devices))
        for (_, _, values), demands in bound.items():
            one_each = {devices: 1 for devices in values.partition if devices & (devices - 1)}
            if not Matching(demands, one_each).complete():
                raise HopelessError

    def _distinct(self, prospect: Prospect) -> Iterable[tuple[int, ValueMap]]:
        """The `distinctAttribute` constraints that hold for all options of a request, and look at the same attribute."""
        first, *others = prospect.options
        for place, distinct, values in first.option.bonds:
            if distinct and all((place, True, values) in each.option.bonds for each in others):
                yield place, values


def _union(masks: Iterable[int]) -> int:
    found = 0
    for mask in masks:
        found |= mask
    return found


_Amounts = list[tuple[int, int]]


def _least(devices: int, amounts: _Amounts, shared: int) -> int:
    """The least that one of the devices draws; shared ones may draw nothing."""
    if devices & shared:
        return 0
    for amount, having in amounts:
        if devices & having:
            return amount
    return 0


def _drawing_kinds(problem: Problem) -> list[tuple[_Amounts, list[tuple[int, tuple[int, ...]]], int]]:
    """Per kind of counter: amounts, ascending, with the candidates that draw as much; and the sets that have it."""
    drawn: dict[str, dict[int, int]] = {}
    members: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
    for place, each in enumerate(problem.counters.sets):
        for kind, counters in each.kinds.items():
            members.setdefault(kind, []).append((place, counters))
            amounts = drawn.setdefault(kind, {})
            for index, draws in each.draws.items():
                amounts[index] = amounts.get(index, 0) + sum(draws[counter] for counter in counters)
    found = []
    for kind, amounts in drawn.items():
        by_amount: dict[int, int] = {0: 0}
        everyone = (1 << len(problem.devices)) - 1
        for index, amount in amounts.items():
            everyone &= ~(1 << index)
            by_amount[amount] = by_amount.get(amount, 0) | 1 << index
        by_amount[0] |= everyone
        found.append((sorted(by_amount.items()), members[kind], problem.shared))
    return found
