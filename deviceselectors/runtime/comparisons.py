"""Calls with a constant on the right: the comparisons that most selectors are made of.

Where cost is not counted, the usual type is looked at first; all others go the way of any call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from deviceselectors.libraries.function import Run
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.frames import Closure, Frame
from deviceselectors.runtime.values import CelError

#: What Python has for CEL's comparisons of two values of the same of these classes.
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "_==_": operator.eq,
    "_!=_": operator.ne,
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
_SAME_IN_PYTHON = frozenset((str, int, bool, bytes))


def with_constant(name: str, run: Run, operand: Closure, constant: Any) -> Closure:
    """A call of a function of that name with a constant as second argument."""
    relation, cls = _RELATIONS.get(name), constant.__class__
    if relation is not None and cls in _SAME_IN_PYTHON:

        def compare(device: Device, frame: Frame) -> Any:
            value = operand(device, frame)
            if value.__class__ is cls:
                return relation(value, constant)
            if value.__class__ is CelError:
                return value
            try:
                return run(value, constant)
            except CelError as error:
                return error.with_traceback(None)

        return compare

    def evaluate(device: Device, frame: Frame) -> Any:
        value = operand(device, frame)
        if value.__class__ is CelError:
            return value
        try:
            return run(value, constant)
        except CelError as error:
            return error.with_traceback(None)

    return evaluate
