"""The expressions of a patch and its class, which must all be true of a device; evaluated once for all that they cannot tell apart."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from itertools import chain, count
from weakref import WeakSet

from allocator.devices import Slice
from allocator.time_limit import TimeLimit
from deviceselectors.ast import Node
from deviceselectors.compiler import compile_expression
from deviceselectors.device_properties import (
    DeviceProperties,
    Reads,
    Sight,
    Wanted,
    reads,
    scalar_value,
    wanted_value,
)
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import Device as PreparedDevice
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from resourceapi.caches import WeighedCache, remember
from resourceapi.limits import PATCH_SELECTOR_STEPS
from resourceapi.phrases import shortened

Filter = tuple[str, ...]
"""The expressions of a patch and its class, as texts."""

#: So many kinds of devices are known that the same expressions cannot tell apart, and so much memory what expressions say of
#: them takes. Drivers decide how many kinds there are, and may publish others again and again.
_MAX_KINDS, VERDICT_BYTES = 50_000, 64 << 20
#: About what a criterion takes in a verdict, beside the reason why it fails.
_CRITERION_BYTES = 150
#: Longer reasons end in an ellipsis.
_MAX_REASON_CHARACTERS = 256
#: With each slice it is kept what so many sets of expressions see of its devices.
_MAX_SIGHTS = 16
_numbers = count()
_TOO_MUCH = f"selectors take more than {PATCH_SELECTOR_STEPS:,} steps of evaluation on a device"


class Expression:
    """An expression of a stored object, which may use whatever the newest release knows."""

    __slots__ = ("failure", "program", "reads", "wanted")

    def __init__(self, text: str) -> None:
        compiled = compile_expression(text, Environment("stored"))
        self.program: Program | None = None
        #: why it fails on all devices, if it does
        self.failure = f"CEL compile error: {compiled.error}" if compiled.error else ""
        self.reads: Reads | None = frozenset()
        #: an attribute, and the only value of it with which the expression can be true
        self.wanted: Wanted | None = None
        root: Node | None = compiled.ast
        if not self.failure and root is not None:
            self.reads, self.wanted = reads(root), wanted_value(root)
            try:
                self.program = program(compiled, PATCH_SELECTOR_STEPS)
            except ProgramError as error:
                self.failure = f"CEL compile error: {error}"

    @property
    def cost_bound(self) -> float:
        """What it costs at most."""
        return 0 if self.program is None else self.program.cost_bound

    def outcome(self, device: PreparedDevice, *, counted: bool) -> tuple[bool | str, int, int]:
        """Whether it chooses a device, or why it fails; what that costs, if it is to be counted; the steps of what cost does not see."""
        if self.program is None:
            return self.failure, 0, 0
        outcome: bool | str
        cost = 0
        try:
            if counted:
                result = self.program.evaluate(device)
                cost = result.cost or 0
                outcome = result.value if result.error is None else _runtime_error(result.error)
            else:
                outcome = self.program.matches(device)
        except EvaluationError as error:
            outcome = _runtime_error(error.message)
        return outcome, cost, effort.spent()


def _runtime_error(message: str) -> str:
    return shortened(f"CEL runtime error: {message}", _MAX_REASON_CHARACTERS)


class _TooLong(Expression):
    """Stands for expressions that are too long to be compiled."""

    __slots__ = ()

    def __init__(self) -> None:
        self.program, self.reads, self.wanted = None, frozenset(), None
        self.failure = f"selectors are longer than {PATCH_SELECTOR_STEPS:,} characters"


_TOO_LONG: Expression = _TooLong()


class Expressions:
    """Expressions by text, those in use, and what has been found out about them."""

    def __init__(self) -> None:
        self._known: dict[str, Expression] = {}
        #: those in use, by what they read
        self._verdicts: dict[Reads | None, WeakSet[Verdicts]] = {}
        self._sights = Sights()

    def of(self, text: str) -> Expression:
        """The expression of this text."""
        self.compile(text)
        return self._known[text]

    def compile(self, text: str) -> bool:
        """Have it ready; whether it was not."""
        is_new = text not in self._known
        if is_new:
            self._known[text] = Expression(text)
        return is_new

    def criteria(self, filters: Iterable[Filter]) -> dict[Filter, Criterion]:
        """A criterion for each, those of which the same is known as long as somebody uses it."""
        by_reads: dict[Reads | None, dict[Filter, list[Expression]]] = {}
        for texts in filters:
            expressions = [self.of(text) for text in texts] if not is_too_long(texts) else [_TOO_LONG]
            by_reads.setdefault(read_by(expressions), {})[texts] = expressions
        found: dict[Filter, Criterion] = {}
        for what, group in by_reads.items():
            found |= self._in_groups(what, group)
        return found

    def _in_groups(
        self, what: Reads | None, filters: dict[Filter, list[Expression]]
    ) -> dict[Filter, Criterion]:
        """Criteria that read the same, in few groups; those of before stay, with what they have found out, as far as they have most.

        So expressions that change again and again do not have others begin anew each time. Each group is at least as large as
        all smaller ones together.
        """
        found: dict[Filter, Criterion] = {}
        known = self._verdicts.setdefault(what, WeakSet())
        shared = [(each.criteria.keys() & filters.keys(), each) for each in known]
        for texts, verdicts in sorted(shared, key=lambda each: -len(each[0])):
            own = texts - found.keys()
            if 2 * len(own) >= max(len(verdicts.criteria), len(filters) - len(found)):
                found |= {each: verdicts.criteria[each] for each in own}
        left = {texts: expressions for texts, expressions in filters.items() if texts not in found}
        if left:
            made = Verdicts(left, what, self._sights)
            known.add(made)
            found |= made.criteria
        return found

    def keep(self, texts: Iterable[str]) -> None:
        """Forget all other expressions."""
        self._verdicts = {what: found for what, found in self._verdicts.items() if found}
        self._known = {text: found for text in texts if (found := self._known.get(text)) is not None}


class Criterion:
    """Expressions that must all be true, looked at in order until one is not; compared by identity."""

    __slots__ = ("_cost_bound", "expressions", "verdicts", "wanted")

    def __init__(self, expressions: Iterable[Expression], verdicts: Verdicts) -> None:
        self.expressions = tuple(expressions)
        #: as of :class:`Expression`: nothing comes before the first
        self.wanted = self.expressions[0].wanted
        #: what it says of devices, together with others that read the same
        self.verdicts = verdicts
        self._cost_bound: float | None = None

    def may_cost_too_much(self, device: PreparedDevice) -> bool:
        """Whether the cost of all expressions has to be counted."""
        if self._cost_bound is None:
            self._cost_bound = sum(each.cost_bound for each in self.expressions)
        return self._cost_bound > PATCH_SELECTOR_STEPS or not device.plain


class Verdict:
    """What criteria say of devices that they cannot tell apart: which choose them, which fail on them, and why."""

    __slots__ = ("failing", "matching")

    def __init__(self, matching: frozenset[Criterion], failing: Mapping[Criterion, str]) -> None:
        self.matching = matching
        self.failing = failing

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        reasons = sum(map(len, self.failing.values()))
        return _CRITERION_BYTES * (len(self.matching) + len(self.failing)) + reasons


NO_MATCH = Verdict(frozenset(), {})


class Evaluation:
    """Criteria that are evaluated on a kind of device, one after the other; who has no more time goes on with it later."""

    __slots__ = ("_cost", "_failing", "_left", "_matching", "_number", "_steps", "_was_ended")

    def __init__(self, criteria: Iterable[Criterion]) -> None:
        self._left = list(criteria)
        self._matching: list[Criterion] = []
        self._failing: dict[Criterion, str] = {}
        #: so many expressions of the last of those that are left are true, and have taken so much
        self._number = self._cost = self._steps = 0
        #: whether the time was over while an expression was being evaluated
        self._was_ended = False

    def verdict(self, device: PreparedDevice, time_limit: TimeLimit) -> Verdict:
        """What they say of a device of the kind. Each call evaluates at least one expression, of two calls at the most.

        :raises allocator.time_limit.OutOfTime: if the time is over before that is known.
        """
        with effort.limited(PATCH_SELECTOR_STEPS):
            if self._was_ended:
                self._evaluate(device)  # to the end now: it might always take longer than there is time
                time_limit.check()
            with effort.watched(time_limit.check):
                while self._left:
                    self._evaluate(device)
                    time_limit.check()
        if not self._matching and not self._failing:
            return NO_MATCH
        return Verdict(frozenset(self._matching), self._failing)

    def _evaluate(self, device: PreparedDevice) -> None:
        """Evaluate one expression."""
        criterion = self._left[-1]
        self._was_ended = True
        counted = criterion.may_cost_too_much(device)
        outcome, cost, steps = criterion.expressions[self._number].outcome(device, counted=counted)
        self._was_ended = False
        self._number += 1
        self._cost += cost
        self._steps += steps
        if max(self._cost, self._steps) > PATCH_SELECTOR_STEPS:
            outcome = _TOO_MUCH
        if outcome is True and self._number < len(criterion.expressions):
            return
        self._left.pop()
        self._number = self._cost = self._steps = 0
        if outcome is True:
            self._matching.append(criterion)
        elif outcome is not False:
            self._failing[criterion] = outcome


class Sights:
    """What expressions see of the devices of slices, which is kept with the slices."""

    def __init__(self) -> None:
        #: of all :class:`Verdicts`, by their number and what they see; the driver with most makes room
        self.verdicts: WeighedCache[tuple[int, Hashable], Verdict] = WeighedCache(VERDICT_BYTES)
        self._of: dict[Reads | None, Sight] = {}
        self._known: dict[Hashable, Hashable] = {}

    def of(self, slice: Slice, reads: Reads | None) -> tuple[Hashable, ...]:
        """For each device something that is equal where expressions that read this see the same."""
        found = slice.sights.get(reads)
        if found is None:
            sight = self._of.get(reads)
            if sight is None:
                sight = Sight(reads)
                remember(self._of, reads, sight)
            seen = [sight.of(device.shape.properties) for device in slice.devices]
            found = tuple([self._same(each) for each in seen])
            remember(slice.sights, reads, found, _MAX_SIGHTS)
        return found

    def _same(self, sight: Hashable) -> Hashable:
        """The object that is known of those that are equal."""
        known = self._known.get(sight)
        if known is None:
            remember(self._known, sight, sight, _MAX_KINDS)
            known = sight
        return known


class Verdicts:
    """What criteria that read the same say of each kind of devices that they can tell apart."""

    __slots__ = ("__weakref__", "_begun", "_by_value", "_number", "_reads", "_rest", "_sights", "criteria")

    def __init__(
        self, filters: Mapping[Filter, Iterable[Expression]], reads: Reads | None, sights: Sights
    ) -> None:
        #: by their expressions
        self.criteria = {texts: Criterion(expressions, self) for texts, expressions in filters.items()}
        self._reads = reads
        self._sights = sights
        #: that of no others, not even of those that are gone
        self._number = next(_numbers)
        #: what there was not time enough for
        self._begun: dict[Hashable, Evaluation] = {}
        self._by_value: dict[str, dict[str, dict[object, list[Criterion]]]] | None = None
        #: those that more than one value of an attribute can make true
        self._rest: list[Criterion] = []

    def of(self, slice: Slice, time_limit: TimeLimit) -> list[Verdict]:
        """The verdicts on the devices of a slice, which is as it was published.

        :raises allocator.time_limit.OutOfTime: if the time is over before they are known; the next call goes on.
        """
        found = self._sights.verdicts
        verdicts = []
        for place, sight in enumerate(self._sights.of(slice, self._reads)):
            verdict = found.get((self._number, sight))
            if verdict is None:
                verdict = self._evaluated(sight, slice.devices[place].shape.properties, time_limit)
                found.put((self._number, sight), verdict, verdict.weight, slice.pool.driver)
            verdicts.append(verdict)
        return verdicts

    def _evaluated(self, sight: Hashable, properties: DeviceProperties, time_limit: TimeLimit) -> Verdict:
        evaluation = self._begun.get(sight)
        if evaluation is None:
            criteria = self._to_evaluate(properties)
            if not criteria:
                return NO_MATCH
            evaluation = Evaluation(criteria)
            remember(self._begun, sight, evaluation)
        verdict = evaluation.verdict(properties.prepare(), time_limit)
        del self._begun[sight]
        return verdict

    def _to_evaluate(self, properties: DeviceProperties) -> Collection[Criterion]:
        """Those that need to be evaluated: the others want another value than the device has, which makes them false."""
        if not properties.is_plain:
            return self.criteria.values()
        if self._by_value is None:
            self._by_value = self._by_wanted_value()
        found = self._rest
        domain = f"{properties.driver}/"
        for name, by_value in self._by_value.items():
            value = scalar_value(properties, name, name.removeprefix(domain))
            by_type = None if value is None else by_value.get(value[0])
            if value is None or by_type is None or len(by_value) > 1:
                all_ = (each for by_type in by_value.values() for each in by_type.values())
                found = [*found, *chain.from_iterable(all_)]
            elif value[1] in by_type:
                found = [*found, *by_type[value[1]]]
        return found

    def _by_wanted_value(self) -> dict[str, dict[str, dict[object, list[Criterion]]]]:
        found: dict[str, dict[str, dict[object, list[Criterion]]]] = {}
        for criterion in self.criteria.values():
            wanted = criterion.wanted
            if wanted is None:
                self._rest.append(criterion)
            else:
                name, (of_type, value) = wanted
                by_value = found.setdefault(name, {}).setdefault(of_type, {})
                by_value.setdefault(value, []).append(criterion)
        return found


def is_too_long(filter: Filter) -> bool:
    """Whether expressions are too long together for being compiled: that takes time, too."""
    return sum(map(len, filter)) > PATCH_SELECTOR_STEPS


def read_by(expressions: Iterable[Expression]) -> Reads | None:
    """What any of the expressions reads."""
    found: set[tuple[str, str, str]] = set()
    for expression in expressions:
        if expression.reads is None:
            return None
        found |= expression.reads
    return frozenset(found)
