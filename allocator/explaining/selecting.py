"""Which devices a selector chooses and why it does not choose the others, worked out once per kind of device."""

from __future__ import annotations

from typing import NamedTuple

from allocator.device_shapes import DeviceShape
from allocator.devices import Device
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.lookups import ATTRIBUTES, unguarded
from deviceselectors.runtime.program import EvaluationError, Program, ProgramError, program

#: Of more kinds of devices than this it is only said that they do not match.
MAX_EXPLAINED = 32
_NO_SUCH_KEY = "no such key: "


class Outcome(NamedTuple):
    """What an expression gives on a device: `error` if it fails, and then `missing` if an attribute is (`domain/name`),
    with a condition that would `guard` against that."""

    matches: bool
    reason: str = ""
    error: str = ""
    missing: str = ""
    guard: str = ""


_MATCH = Outcome(True)


class Expressions:
    """Evaluates expressions, with reasons."""

    def __init__(self) -> None:
        self._expressions: dict[str, _Expression] = {}

    def on(self, expression: str, device: Device) -> Outcome:
        """What an expression gives on a device."""
        known = self._expressions.get(expression)
        if known is None:
            known = self._expressions[expression] = _Expression(expression)
        return known.on(device)


class _Expression:
    def __init__(self, expression: str) -> None:
        self._outcomes: dict[DeviceShape, Outcome] = {}
        self._explained = 0
        self._problem = ""
        self._program: Program | None = None
        compiled = compile_expression(expression, Environment("stored"))
        try:
            if compiled.error is None:
                self._program = program(compiled)
        except ProgramError as error:
            self._problem = str(error)
        self._problem = compiled.error or self._problem
        self._root = compiled.ast
        self._explainer = Explainer(compiled.ast) if compiled.ast is not None else None

    def on(self, device: Device) -> Outcome:
        outcome = self._outcomes.get(device.shape)
        if outcome is None:
            outcome = self._outcomes[device.shape] = self._evaluate(device)
        return outcome

    def _evaluate(self, device: Device) -> Outcome:
        if self._program is None:
            return Outcome(False, error=f"CEL compile error: {self._problem}")
        try:
            if self._program.matches(device.prepared):
                return _MATCH
        except EvaluationError as error:
            return Outcome(False, "", error.message, *self._missing(error.message, device))
        return Outcome(False, self._reason(device))

    def _reason(self, device: Device) -> str:
        if self._explainer is None or self._explained >= MAX_EXPLAINED:
            return ""
        self._explained += 1
        return "; ".join(str(reason) for reason in self._explainer.explain(device.prepared)[:3])

    def _missing(self, error: str, device: Device) -> tuple[str, str]:
        """The attribute or capacity that a failed look-up did not find, and a guard."""
        if not error.startswith(_NO_SUCH_KEY) or self._root is None:
            return "", ""
        name = error.removeprefix(_NO_SUCH_KEY)
        for lookup in unguarded(self._root):
            bare = lookup.name if lookup.domain == device.id.driver else ""
            known = device.attributes if lookup.map == ATTRIBUTES else device.capacity
            if lookup.name == name and lookup.qualified not in known and bare not in known:
                return lookup.qualified, f'"{name}" in device.{lookup.map}["{lookup.domain}"]'
        return name, ""
