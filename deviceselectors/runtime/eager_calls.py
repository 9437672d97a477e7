"""Calls that compute all of their arguments: the first error among these is the result."""

from __future__ import annotations

from typing import Any

from deviceselectors.ast import Call
from deviceselectors.libraries import known
from deviceselectors.libraries.calls import resolve
from deviceselectors.libraries.function import Cost, Function, Run
from deviceselectors.runtime import operators
from deviceselectors.runtime.closures import Compiler, constantly
from deviceselectors.runtime.comparisons import with_constant
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.frames import Closure, Frame
from deviceselectors.runtime.shapes import exits_early, operands
from deviceselectors.runtime.values import LIST_CLASSES, MISSING, CelError, CelPanic

#: Larger values than that, computed of constants, are computed again with each evaluation.
_MAX_FOLDED = 4096
_LARGE = frozenset((str, bytes, *LIST_CLASSES))


def eager_call(compiler: Compiler, node: Call) -> Closure:
    """A call of a library's function or of an operator."""
    members = compiler.plan.members.get(id(node))
    if members is not None:
        return _of_one(lambda element: operators.in_members(element, members), compiler.closure(node.args[0]))
    nodes = operands(node)
    arguments = [compiler.closure(each) for each in nodes]
    function = known(node.function)
    run = compiler.plan.patterns.get(id(node))
    # where an error in an argument ends the call before the next is computed
    ends = run is not None or exits_early(node, function)
    run = run or resolve(node.function, node.overloads)
    if compiler.counts:
        return _counted(run, arguments, ends, function, node.overloads)
    constants = [compiler.constants.get(id(each), MISSING) for each in nodes]
    folded = _fold(run, constants)
    if folded is not MISSING:
        compiler.constants[id(node)] = folded
        return constantly(folded)
    if len(arguments) == 1:
        return _of_one(run, arguments[0])
    if len(arguments) == 2:
        constant = constants[1]
        if constant is not MISSING and constant.__class__ is not CelError:
            return with_constant(node.function, run, arguments[0], constant)
        return _of_two(run, arguments[0], arguments[1], ends)
    return _of_many(run, arguments)


def _fold(run: Run, constants: list[Any]) -> Any:
    """What a call of constants gives, `MISSING` if that is not known beforehand."""
    if not constants or any(each is MISSING or each.__class__ is CelError for each in constants):
        return MISSING
    try:
        value = run(*constants)
    except (CelError, CelPanic):
        return MISSING
    return MISSING if value.__class__ in _LARGE and len(value) > _MAX_FOLDED else value


def _counted(
    run: Run, arguments: list[Closure], ends: bool, function: Function, overloads: tuple[str, ...]
) -> Closure:
    """A call that pays what it costs, before or after it is computed; errors among the arguments are paid for, too."""
    cost: Cost = function.call_cost(overloads)
    is_paid_after = function.is_paid_after(overloads)
    last = len(arguments) - 1

    def evaluate(device: Device, frame: Frame) -> Any:
        values: list[Any] = []
        for position, argument in enumerate(arguments):
            value = argument(device, frame)
            if ends and value.__class__ is CelError and position < last:
                return value
            values.append(value)
        if not is_paid_after:
            frame.pay(cost if isinstance(cost, int) else cost(*values))
        result = _applied(run, values)
        if is_paid_after:
            frame.pay(cost if isinstance(cost, int) else cost(*values))
        return result

    return evaluate


def _applied(run: Run, values: list[Any]) -> Any:
    for value in values:
        if value.__class__ is CelError:
            return value
    try:
        return run(*values)
    except CelError as error:
        return error.with_traceback(None)  # which would keep the evaluation alive


# ---------------------------------------------------------------- without counting


def _of_one(run: Run, argument: Closure) -> Closure:
    def evaluate(device: Device, frame: Frame) -> Any:
        value = argument(device, frame)
        if value.__class__ is CelError:
            return value
        try:
            return run(value)
        except CelError as error:
            return error.with_traceback(None)

    return evaluate


def _of_two(run: Run, first: Closure, second: Closure, ends: bool) -> Closure:
    def evaluate(device: Device, frame: Frame) -> Any:
        left = first(device, frame)
        if ends and left.__class__ is CelError:
            return left
        right = second(device, frame)
        if left.__class__ is CelError:
            return left
        if right.__class__ is CelError:
            return right
        try:
            return run(left, right)
        except CelError as error:
            return error.with_traceback(None)

    return evaluate


def _of_many(run: Run, arguments: list[Closure]) -> Closure:
    """More than two arguments, of which none is computed after an error, or none at all."""

    def evaluate(device: Device, frame: Frame) -> Any:
        values: list[Any] = []
        for argument in arguments:
            value = argument(device, frame)
            if value.__class__ is CelError:
                return value
            values.append(value)
        return _applied(run, values)

    return evaluate
