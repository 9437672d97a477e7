"""The expressions of a patch and its class, which must all be true of a device; evaluated once for all that they cannot tell apart."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.bounded_cache import remember
from allocator.time_limit import UNLIMITED, TimeLimit
from deviceselectors.ast import Node
from deviceselectors.compiler import compile_expression
from deviceselectors.device_properties import DeviceProperties
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime.device import Device as PreparedDevice
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from deviceselectors.sight import Reads, Sight, reads

#: So many kinds of devices are remembered that the same expressions cannot tell apart.
_MAX_KINDS = 50_000


class Expression:
    """An expression of a stored object, which may use whatever the newest release knows."""

    __slots__ = ("error", "program", "reads")

    def __init__(self, text: str) -> None:
        compiled = compile_expression(text, Environment("stored"))
        self.program: Program | None = None
        self.error = compiled.error or ""
        self.reads: Reads | None = frozenset()
        root: Node | None = compiled.ast
        if not self.error and root is not None:
            self.reads = reads(root)
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

    __slots__ = ("_expressions", "kinds")

    def __init__(self, expressions: Iterable[Expression], kinds: Kinds) -> None:
        self._expressions = tuple(expressions)
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


class Kinds:
    """The kinds of devices that criteria can tell apart which read the same."""

    __slots__ = ("_found", "_sight", "criteria")

    def __init__(self, reads: Reads | None) -> None:
        self.criteria: list[Criterion] = []
        self._sight = Sight(reads)
        self._found: dict[object, Kind] = {}

    def of(self, properties: DeviceProperties, time_limit: TimeLimit = UNLIMITED) -> Kind:
        """The kind of devices with these properties.

        :raises allocator.time_limit.OutOfTime: if the time is over before it is known.
        """
        sight = self._sight.of(properties)
        kind = self._found.get(sight)
        if kind is None:
            time_limit.check()
            with effort.watched(time_limit.check):
                kind = self._evaluated(properties.prepare())
            remember(self._found, sight, kind, _MAX_KINDS)
        return kind

    def _evaluated(self, device: PreparedDevice) -> Kind:
        matching, failing = [], []
        for criterion in self.criteria:
            outcome = criterion.outcome(device)
            if outcome is True:
                matching.append(criterion)
            elif outcome is not False:
                failing.append(criterion)
        return Kind(frozenset(matching), frozenset(failing)) if matching or failing else NO_KIND


def read_by(expressions: Iterable[Expression]) -> Reads | None:
    """What any of the expressions reads."""
    found: set[tuple[str, str, str]] = set()
    for expression in expressions:
        if expression.reads is None:
            return None
        found |= expression.reads
    return frozenset(found)
