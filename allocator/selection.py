"""Whether CEL selectors choose a device, and attributes that CEL derives; evaluated once for all identical devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from threading import Lock
from typing import Any, NamedTuple

from allocator.devices import Device
from allocator.errors import AllocationError, ExpressionError, Mention, Quotation, Text
from allocator.time_limit import TimeLimit
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime import effort
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program
from deviceselectors.runtime.values import with_hint
from resourceapi.caches import remember
from resourceapi.limits import SELECTORS
from resourceapi.measured import NEWEST
from resourceapi.objects import Object
from resourceapi.phrases import shortened

#: Expressions of which outcomes are kept with the properties of a device: as many as one request and its class may have, so that
#: a request that takes several tries goes on where the one before ended. There may be as many properties as devices.
_MAX_EXPRESSIONS = 2 * SELECTORS
#: How long all expressions together may be, with their errors, of which programs are kept. A program takes some sixty times as much memory; the
#: selectors of one request and its class, as long as they may be, are kept together.
_MAX_CHARACTERS = 1_000_000
#: How long all expressions together may be that have a number.
_MAX_NUMBERED_CHARACTERS = 4_000_000
#: Longer errors of evaluations end in an ellipsis: they may quote values of megabytes, and are told for each node.
_MAX_ERROR_CHARACTERS = 1024
#: Errors that quote nothing, and one that quotes what was looked up: a name in the expression, or a value of a device.
_WITHOUT_VALUES = frozenset(
    ("division by zero", "integer overflow", "no such overload", "optional.none() dereference")
)
_NO_SUCH_KEY = "no such key: "
#: Longer errors and derived values are not kept with the devices, which may be many.
_MAX_KEPT_CHARACTERS = 200


class _Numbers:
    """A number for each expression, by which outcomes are kept with devices: they stay when the last claim with the expression is gone.

    For several threads. None is given twice, so what has been forgotten here is not found with the devices any more.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._characters = 0
        self._next = count()
        self._lock = Lock()

    def of(self, expression: str) -> int:
        """Its number."""
        found = self._numbers.get(expression)
        return self._new(expression) if found is None else found

    def _new(self, expression: str) -> int:
        with self._lock:
            if self._characters + len(expression) > _MAX_NUMBERED_CHARACTERS:
                self._numbers = {}
                self._characters = 0
            self._characters += len(expression)
            return self._numbers.setdefault(expression, next(self._next))


_NUMBERS = _Numbers()


class Selector(NamedTuple):
    """One selector of a class or request; `place` says where it stands, as error texts begin."""

    place: Text
    expression: str
    #: of the expression
    number: int

    @classmethod
    def of(cls, place: Text, expression: str) -> Selector:
        """The selector with an expression."""
        return cls(place, expression, _NUMBERS.of(expression))


class CompileError(Exception):
    """An expression is none."""


class Selectors:
    """Evaluates expressions of stored objects, which may use whatever a release knows.

    Results are kept with the properties of devices; an evaluation that the time limit ends has none. Not for several threads.
    A time limit is looked at before each evaluation, and meanwhile.
    """

    def __init__(self, minor: int = NEWEST) -> None:
        """Begin without any program, as kube-scheduler 1.`minor`."""
        self.minor = minor
        self._programs: dict[tuple[str, bool], Program | str] = {}
        self._characters = 0  # of the expressions among them

    def match_all(self, selectors: Iterable[Selector], device: Device, time_limit: TimeLimit) -> bool:
        """Whether all selectors choose the device, looked at in order until one does not.

        :raises AllocationError: if an expression or its evaluation is bad.
        :raises OutOfTime: if the time is over before that is known, as all that follow.
        """
        known = device.shape.properties.matches
        for selector in selectors:
            outcome = known.get(selector.number)
            if outcome is not True and (outcome is False or not self._match(selector, device, time_limit)):
                return False
        return True

    def _match(self, selector: Selector, device: Device, time_limit: TimeLimit) -> bool:
        try:
            outcome = self._outcome(selector.expression, selector.number, device, time_limit)
        except CompileError as error:
            raise AllocationError(*selector.place, f": CEL compile error: {error}") from None
        if isinstance(outcome, str):
            if self.minor < 37:
                raise ExpressionError(
                    *selector.place,
                    ": CEL runtime error: ",
                    _quotation(outcome, selector.expression, outcome),
                )
            raise ExpressionError(
                *selector.place,
                Mention(" on device ", device),
                ": CEL runtime error: ",
                _quotation(outcome, selector.expression, with_hint(outcome)),
            )
        return outcome

    def required_driver(self, selectors: Sequence[Selector], time_limit: TimeLimit) -> str:
        """The driver whose devices alone the selectors can choose, as the first of them says; empty if it does not.

        It fails on no other device but one with which no expression can be evaluated (`Slice.is_evaluable`).
        """
        if not selectors:
            return ""
        time_limit.check()
        try:
            return self._program(selectors[0].expression, derived=False).required_driver
        except CompileError:
            return ""

    def outcome(self, expression: str, device: Device, time_limit: TimeLimit) -> bool | str:
        """Whether an expression chooses the device, or the error with which its evaluation fails.

        :raises CompileError: if the expression is not valid.
        """
        return self._outcome(expression, _NUMBERS.of(expression), device, time_limit)

    def _outcome(self, expression: str, number: int, device: Device, time_limit: TimeLimit) -> bool | str:
        known = device.shape.properties.matches
        outcome = known.get(number)
        if outcome is None:
            time_limit.check()
            compiled = self._program(expression, derived=False)
            try:
                with effort.watched(time_limit.check):
                    outcome = compiled.matches(device.prepared)
            except EvaluationError as error:
                outcome = shortened(error.message, _MAX_ERROR_CHARACTERS)
            if isinstance(outcome, bool) or len(outcome) <= _MAX_KEPT_CHARACTERS:
                remember(known, number, outcome, _MAX_EXPRESSIONS)
        return outcome

    def derive(self, name: str, expression: str, device: Device, time_limit: TimeLimit) -> dict[str, Any]:
        """The attribute that an expression derives from a device.

        :param name: the name of the attribute, for the text of an error.
        :raises AllocationError: if the expression or its evaluation is bad.
        """
        known = device.shape.properties.derived
        number = _NUMBERS.of(expression)
        found = known.get(number)
        if found is None:
            time_limit.check()
            try:
                compiled = self._program(expression, derived=True)
                with effort.watched(time_limit.check):
                    found = compiled.attribute(device.prepared)
            except CompileError as error:
                raise AllocationError(f"compile derived attribute {name} failed: {error}") from None
            except EvaluationError as error:
                raise ExpressionError(
                    f"evaluate derived attribute {name}",
                    Mention(" on device ", device),
                    " failed: ",
                    _quotation(error.message, expression, shortened(error.message, _MAX_ERROR_CHARACTERS)),
                ) from None
            if _characters(found) <= _MAX_KEPT_CHARACTERS:
                remember(known, number, found, _MAX_EXPRESSIONS)
        return found

    def _program(self, expression: str, *, derived: bool) -> Program:
        key = (expression, derived)
        found = self._programs.get(key)
        if found is None:
            compiled = compile_expression(
                expression, Environment("stored", derived=derived, release=self.minor)
            )
            try:
                found = compiled.error if compiled.error is not None else program(compiled)
            except ProgramError as error:
                found = str(error)
            self._keep(key, found)
        if isinstance(found, str):
            raise CompileError(found)
        return found

    def _keep(self, key: tuple[str, bool], found: Program | str) -> None:
        """Keep a program, or why there is none."""
        length = len(key[0]) + (len(found) if isinstance(found, str) else 0)
        if self._characters + length > _MAX_CHARACTERS:
            self._programs.clear()
        remember(self._programs, key, found)
        self._characters = length if len(self._programs) == 1 else self._characters + length


def _quotation(error: str, expression: str, shown: str) -> Quotation:
    """The error of an evaluation as it is shown: who may not see devices gets it only if it quotes nothing but the expression."""
    key = error.removeprefix(_NO_SUCH_KEY)
    is_told = error in _WITHOUT_VALUES or (key != error and key in expression)
    return Quotation(shown, shown if is_told else "`claimcheck explain` says which")


def _characters(attribute: Object) -> int:
    """About how long a derived attribute is: a value, or a list of them, each of which takes room, even an empty text."""
    return sum(
        max(8, len(each)) if isinstance(each, str) else 8
        for value in attribute.values()
        for each in (value if isinstance(value, list) else [value])
    )
