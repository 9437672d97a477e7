"""The evaluator: a checked expression as nested closures, which are put together here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.ast import CALL, COMPREHENSION, IDENT, LIST, MAP, SELECT, STRUCT, Call
from deviceselectors.runtime import accesses, closures, effort, lazy_calls, literals, loops
from deviceselectors.runtime.closures import Compiler
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.eager_calls import eager_call
from deviceselectors.runtime.frames import Closure, Frame
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.values import CelError, CelPanic

_NO_VARIABLES = Frame(0)


class Evaluator:
    """An expression that can be evaluated on any number of devices, in any number of threads."""

    __slots__ = ("_closure", "_variables")

    def __init__(self, plan: Plan, *, counts: bool = True) -> None:
        """`counts`: whether evaluations may be asked for their cost."""
        compiler = Compiler(plan, _MAKERS, counts=counts)
        self._closure = compiler.closure(plan.root)
        #: how many variables a frame has to have
        self._variables = compiler.variables

    def value(self, device: Device) -> Any:
        """The value, from closures that do not count.

        :raises CelError: if the evaluation fails
        """
        effort.begin()
        try:
            value = self._closure(device, Frame(self._variables) if self._variables else _NO_VARIABLES)
        except CelPanic as panic:
            raise CelError(panic.message) from None
        if value.__class__ is CelError:
            raise value
        return value

    def counted(self, device: Device, limit: int) -> tuple[Any, int]:
        """The value or error, and the cost that kube-scheduler counts.

        :raises CostExceededError: if the cost exceeds the limit
        :raises CelPanic: with the cost until then
        """
        frame = Frame(self._variables, limit)
        try:
            return self._closure(device, frame), frame.cost
        except CelPanic as panic:
            panic.cost = frame.cost
            raise


def _call(compiler: Compiler, node: Call) -> Closure:
    return _CALLS.get(node.function, eager_call)(compiler, node)


#: By kind of node; literals are among the plan's constants.
_MAKERS: dict[int, Callable[[Compiler, Any], Closure]] = {
    IDENT: closures.identifier,
    SELECT: accesses.select,
    CALL: _call,
    LIST: literals.list_literal,
    MAP: literals.map_literal,
    STRUCT: literals.message_literal,
    COMPREHENSION: loops.comprehension,
}

_CALLS: dict[str, Callable[[Compiler, Call], Closure]] = {
    "_[_]": accesses.access,
    "_[?_]": accesses.access,
    "_?._": accesses.access,
    "or": lazy_calls.optional_or,
    "orValue": lazy_calls.optional_or,
    "@not_strictly_false": lazy_calls.not_strictly_false,
    "_&&_": lazy_calls.logic,
    "_||_": lazy_calls.logic,
    "_?_:_": lazy_calls.conditional,
}
