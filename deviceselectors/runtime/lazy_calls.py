"""Calls that leave operands alone: `&&`, `||` and `?:`, `or` and `orValue` of optionals, and what ends loops."""

from __future__ import annotations

from typing import Any

from deviceselectors.ast import Call
from deviceselectors.runtime.accesses import unpaid
from deviceselectors.runtime.closures import Compiler
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.frames import Closure, Frame
from deviceselectors.runtime.shapes import flatten
from deviceselectors.runtime.values import NONE, CelError, Optional

_NO_OVERLOAD = "no such overload"


def logic(compiler: Compiler, node: Call) -> Closure:
    """`&&` and `||` cost nothing: the first decisive operand decides, if there is none the first error."""
    decisive = node.function == "_||_"
    neutral = not decisive
    terms = [compiler.closure(term) for term in flatten(node)]

    def evaluate(device: Device, frame: Frame) -> Any:
        failure = None
        for term in terms:
            value = term(device, frame)
            if value is decisive:
                return decisive
            if value is not neutral and failure is None:
                failure = as_error(value)
        return neutral if failure is None else failure

    return evaluate


def conditional(compiler: Compiler, node: Call) -> Closure:
    """`condition ? if_true : if_false` costs nothing."""
    condition = compiler.closure(node.args[0])
    if_true, if_false = [unpaid(compiler, branch) for branch in node.args[1:]]

    def evaluate(device: Device, frame: Frame) -> Any:
        value = condition(device, frame)
        if value is True:
            return if_true(device, frame)
        if value is False:
            return if_false(device, frame)
        return as_error(value)

    return evaluate


def optional_or(compiler: Compiler, node: Call) -> Closure:
    """`optional.or(optional)` and `optional.orValue(value)` cost nothing."""
    assert node.target is not None
    target, otherwise = compiler.closure(node.target), compiler.closure(node.args[0])
    unwraps = node.function == "orValue"

    def evaluate(device: Device, frame: Frame) -> Any:
        optional = target(device, frame)
        if optional.__class__ is not Optional:
            return as_error(optional)
        if optional is NONE:
            return otherwise(device, frame)
        return optional.value if unwraps else optional

    return evaluate


def not_strictly_false(compiler: Compiler, node: Call) -> Closure:
    """Whether a loop goes on: costs 1."""
    operand = compiler.closure(node.args[0])
    return compiler.paid(lambda device, frame: operand(device, frame) is not False, 1)


def as_error(value: Any) -> CelError:
    """What becomes of a value of the wrong type: itself if it is an error."""
    return value if value.__class__ is CelError else CelError(_NO_OVERLOAD)
