"""The expressions of a patch and its class, which must all be true of a device; evaluated once for all that they cannot tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import chain

from allocator.bounded_cache import remember
from allocator.devices import Slice
from allocator.time_limit import UNLIMITED, TimeLimit
from deviceselectors.ast import Node
from deviceselectors.compiler import compile_expression
from deviceselectors.device_properties import DeviceProperties
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import Device as PreparedDevice
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from deviceselectors.sight import Reads, Sight, Wanted, reads, scalar_value, wanted_value

#: So many kinds of devices are remembered that the same expressions cannot tell apart.
_MAX_KINDS = 50_000
#: With each slice it is kept what so many sets of expressions see of its devices.
_MAX_SIGHTS = 16


class Expression:
    """An expression of a stored object, which may use whatever the newest release knows."""

    __slots__ = ("error", "program", "reads", "wanted")

    def __init__(self, text: str) -> None:
        compiled = compile_expression(text, Environment("stored"))
        self.program: Program | None = None
        self.error = compiled.error or ""
        self.reads: Reads | None = frozenset()
        #: an attribute, and the only value of it with which the expression can be true
        self.wanted: Wanted | None = None
        root: Node | None = compiled.ast
        if not self.error and root is not None:
            self.reads, self.wanted = reads(root), wanted_value(root)
            try:
                self.program = program(compiled)
            except ProgramError as error:
                self.error = str(error)

    def outcome(self, device: PreparedDevice) -> bool | str:
        """Whether it chooses a device, or why it fails."""
        if self.program is None:
            return f"CEL compile error: {self.error}"
        try:
            return self.program.matches(device)
        except EvaluationError as error:
            return f"CEL runtime error: {error.message}"


class Expressions:
    """Expressions by text, those in use."""

    def __init__(self) -> None:
        self._known: dict[str, Expression] = {}
        self.sights = Sights()

    def of(self, text: str) -> Expression:
        """The expression of this text."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = Expression(text)
        return found

    def keep(self, texts: Iterable[str]) -> None:
        """Forget all others."""
        self._known = {text: found for text in texts if (found := self._known.get(text)) is not None}


class Criterion:
    """Expressions that must all be true, looked at in order until one is not; compared by identity."""

    __slots__ = ("_expressions", "kinds", "wanted")

    def __init__(self, expressions: Iterable[Expression], kinds: Kinds) -> None:
        self._expressions = tuple(expressions)
        #: as of :class:`Expression`: nothing comes before the first
        self.wanted = self._expressions[0].wanted
        #: the kinds of devices that it can tell apart
        self.kinds = kinds
        kinds.criteria.append(self)

    def outcome(self, device: PreparedDevice) -> bool | str:
        """Whether all choose a device, or why one fails."""
        for expression in self._expressions:
            outcome = expression.outcome(device)
            if outcome is not True:
                return outcome
        return True


class Kind:
    """Devices that criteria cannot tell apart: those that choose them, and those that fail on them."""

    __slots__ = ("failing", "matching")

    def __init__(self, matching: frozenset[Criterion], failing: frozenset[Criterion]) -> None:
        self.matching = matching
        self.failing = failing


NO_KIND = Kind(frozenset(), frozenset())


class Sights:
    """What expressions see of the devices of slices, which is kept with the slices."""

    def __init__(self) -> None:
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


class Kinds:
    """The kinds of devices that criteria can tell apart which read the same."""

    __slots__ = ("_by_value", "_found", "_reads", "_rest", "_sights", "criteria")

    def __init__(self, reads: Reads | None, sights: Sights) -> None:
        self.criteria: list[Criterion] = []
        self._reads = reads
        self._sights = sights
        self._found: dict[Hashable, Kind] = {}
        self._by_value: dict[str, dict[str, dict[object, list[Criterion]]]] | None = None
        #: those that more than one value of an attribute can make true
        self._rest: list[Criterion] = []

    def of(self, slice: Slice, time_limit: TimeLimit = UNLIMITED) -> list[Kind]:
        """The kinds of the devices of a slice, which is as it was published.

        :raises allocator.time_limit.OutOfTime: if the time is over before they are known.
        """
        found = self._found
        kinds = []
        for place, sight in enumerate(self._sights.of(slice, self._reads)):
            kind = found.get(sight)
            if kind is None:
                kind = self._evaluated(slice.devices[place].shape.properties, time_limit)
                remember(found, sight, kind, _MAX_KINDS)
            kinds.append(kind)
        return kinds

    def _evaluated(self, properties: DeviceProperties, time_limit: TimeLimit) -> Kind:
        criteria = self._possible(properties)
        if not criteria:
            return NO_KIND
        time_limit.check()
        device = properties.prepare()
        matching, failing = [], []
        with effort.watched(time_limit.check):
            for criterion in criteria:
                outcome = criterion.outcome(device)
                if outcome is True:
                    matching.append(criterion)
                elif outcome is not False:
                    failing.append(criterion)
        return Kind(frozenset(matching), frozenset(failing)) if matching or failing else NO_KIND

    def _possible(self, properties: DeviceProperties) -> list[Criterion]:
        """Those that need to be evaluated: the others want another value than the device has, which makes them false."""
        if not properties.is_plain:
            return self.criteria
        if self._by_value is None:
            self._by_value = self._sorted()
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

    def _sorted(self) -> dict[str, dict[str, dict[object, list[Criterion]]]]:
        found: dict[str, dict[str, dict[object, list[Criterion]]]] = {}
        for criterion in self.criteria:
            wanted = criterion.wanted
            if wanted is None:
                self._rest.append(criterion)
            else:
                name, (of_type, value) = wanted
                by_value = found.setdefault(name, {}).setdefault(of_type, {})
                by_value.setdefault(value, []).append(criterion)
        return found


def read_by(expressions: Iterable[Expression]) -> Reads | None:
    """What any of the expressions reads."""
    found: set[tuple[str, str, str]] = set()
    for expression in expressions:
        if expression.reads is None:
            return None
        found |= expression.reads
    return frozenset(found)
