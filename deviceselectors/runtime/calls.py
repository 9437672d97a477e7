"""Calls: those that compute all of their arguments, those that leave operands alone, and comparisons with constants."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from deviceselectors.ast import Call
from deviceselectors.libraries import known
from deviceselectors.libraries.calls import resolve
from deviceselectors.libraries.function import Cost, Function, Run
from deviceselectors.runtime import operators
from deviceselectors.runtime.accesses import unpaid
from deviceselectors.runtime.closures import Closure, Compiler, Frame, constantly
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.planning import exits_early, flatten, operands
from deviceselectors.runtime.values import LIST_CLASSES, MISSING, NONE, CelError, CelPanic, Optional

# Calls with a constant on the right: the comparisons that most selectors are made of.
# Where cost is not counted, the usual type is looked at first; all others go the way of any call.

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


# Calls that compute all of their arguments: the first error among these is the result.

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


# Calls that leave operands alone: `&&`, `||` and `?:`, `or` and `orValue` of optionals, and what ends
# loops.

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
