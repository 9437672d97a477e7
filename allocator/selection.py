"""Whether CEL selectors choose a device, and attributes that CEL derives; each evaluated once for all devices with the same properties."""

from __future__ import annotations

from typing import Any, NamedTuple

from allocator.bounded_cache import remember
from allocator.devices import Device
from allocator.errors import AllocationError, ExpressionError
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program

#: Expressions of which outcomes are kept with the properties of a device; there may be as many as devices.
_MAX_EXPRESSIONS = 24


class Selector(NamedTuple):
    """One selector of a class or request; `place` says where it stands, as error texts begin."""

    place: str
    expression: str


class Selectors:
    """Evaluates expressions of stored objects, which may use whatever the newest release knows.

    Results are kept with the properties of devices. Not for several threads.
    """

    def __init__(self) -> None:
        self._programs: dict[tuple[str, bool], Program | str] = {}

    def match(self, selector: Selector, device: Device) -> bool:
        """Whether a selector chooses the device. Raises AllocationError if the expression or its evaluation is bad."""
        known = device.shape.properties.matches
        outcome = known.get(selector.expression)
        if outcome is None:
            outcome = self._evaluate(selector, device)
            remember(known, selector.expression, outcome, _MAX_EXPRESSIONS)
        if outcome.__class__ is str:
            raise ExpressionError(f"{selector.place} on device {device.id}: CEL runtime error: {outcome}")
        return outcome  # type: ignore[return-value]

    def _evaluate(self, selector: Selector, device: Device) -> bool | str:
        compiled = self._program(selector.expression, derived=False)
        if isinstance(compiled, str):
            raise AllocationError(f"{selector.place}: CEL compile error: {compiled}")
        try:
            return compiled.matches(device.prepared)
        except EvaluationError as error:
            return str(error)

    def derive(self, name: str, expression: str, device: Device) -> dict[str, Any]:
        """The attribute that an expression derives from a device. Raises AllocationError."""
        known = device.shape.properties.derived
        found = known.get(expression)
        if found is None:
            compiled = self._program(expression, derived=True)
            if isinstance(compiled, str):
                raise AllocationError(f"compile derived attribute {name} failed: {compiled}")
            try:
                found = compiled.attribute(device.prepared)
            except EvaluationError as error:
                text = f"evaluate derived attribute {name} on device {device.id} failed: {error.message}"
                raise ExpressionError(text) from None
            remember(known, expression, found, _MAX_EXPRESSIONS)
        return found

    def _program(self, expression: str, *, derived: bool) -> Program | str:
        """The program of an expression, or what is wrong with it."""
        key = (expression, derived)
        found = self._programs.get(key)
        if found is None:
            compiled = compile_expression(expression, Environment("stored", derived=derived))
            try:
                found = compiled.error if compiled.error is not None else program(compiled)
            except ProgramError as error:
                found = str(error)
            remember(self._programs, key, found)
        return found
