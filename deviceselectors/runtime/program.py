"""Programs: type-checked expressions that can be evaluated on devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.ast import Node
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.generator import CostExceededError, Generator
from deviceselectors.runtime.planning import Plan, ProgramError
from deviceselectors.runtime.results import as_attribute, as_match
from deviceselectors.runtime.values import CelError, CelPanic

COST_LIMIT = 1_000_000
_LIMIT_ERROR = "operation cancelled: actual cost limit exceeded"
_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with has() for optional "
    "fields"
)


class EvaluationError(ValueError):
    """The evaluation on a device failed; the text is kube-scheduler's."""


class Result:
    """The outcome of an evaluation: a value, or the error's text; `cost` is None if evaluation did not begin."""

    __slots__ = ("cost", "error", "value")

    def __init__(self, value: Any, error: str | None, cost: int | None) -> None:
        self.value = value
        self.error = error
        self.cost = cost


class Program:
    """An expression that can be evaluated on any number of devices, from any number of threads."""

    __slots__ = ("_exact", "_finish", "_plan")

    def __init__(self, root: Node, *, derived: bool = False) -> None:
        """`root` has passed the type checker; `derived` tells the expression of a derived attribute from a selector.

        Raises ProgramError with kube-apiserver's text.
        """
        self._plan = Plan(root)
        self._finish: Callable[[Any], Any] = as_attribute if derived else as_match
        self._exact: Any = None

    def evaluate(self, device: Device) -> Result:
        """The value (a bool, or for a derived attribute the attribute) with the cost that kube-scheduler counts."""
        if device.error is not None:
            return Result(None, with_hint(device.error), None)
        exact = self._exact
        if exact is None:
            exact = self._exact = Generator(self._plan, COST_LIMIT).program()
        try:
            value, cost = exact(device)
        except CostExceededError as error:
            return Result(None, _LIMIT_ERROR, error.cost)
        except CelPanic as panic:
            return Result(None, with_hint(panic.message), panic.cost)
        if value.__class__ is CelError:
            return Result(None, with_hint(value.message), cost)
        try:
            return Result(self._finish(value), None, cost)
        except CelError as error:
            return Result(None, error.message, cost)


def with_hint(message: str) -> str:
    """The error's text with the hint that kube-scheduler adds for missing keys."""
    return message + _HINT if "no such key:" in message else message


__all__ = ["COST_LIMIT", "EvaluationError", "Program", "ProgramError", "Result", "with_hint"]
