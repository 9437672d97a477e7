"""What macros become: loops over lists and maps, and variables that are bound. They cost what their parts do."""

from __future__ import annotations

from typing import Any

from deviceselectors.ast import Call, Comprehension, Node
from deviceselectors.macros import ACCUMULATOR
from deviceselectors.runtime import operators
from deviceselectors.runtime.closures import Compiler
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.frames import Closure, Frame
from deviceselectors.runtime.lazy_calls import as_error
from deviceselectors.runtime.planning import is_binding
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    CelError,
    GeneralMap,
    MutableList,
    freeze,
)

_ITERABLE = LIST_CLASSES | MAP_CLASSES


def comprehension(compiler: Compiler, node: Comprehension) -> Closure:
    """A loop, or `cel.bind` and the macros that bind a variable as it does."""
    if is_binding(node, compiler.plan):
        return _binding(compiler, node)
    if not compiler.counts and node.macro in ("all", "exists") and node.accu_var == ACCUMULATOR:
        return _quantifier(compiler, node)
    return _loop(compiler, node)


def _binding(compiler: Compiler, node: Comprehension) -> Closure:
    init = compiler.closure(node.accu_init)
    with compiler.scope():
        place = compiler.declare(node.accu_var, init)
        result = compiler.closure(node.result)

    def evaluate(device: Device, frame: Frame) -> Any:
        frame.variables[place] = MISSING
        return freeze(result(device, frame))

    return evaluate


def _loop(compiler: Compiler, node: Comprehension) -> Closure:
    """Ends early when the condition is false, not when it fails."""
    elements = _elements(compiler, node)
    initial = _initial(compiler, node.accu_init)
    with compiler.scope():
        accumulator = compiler.declare(node.accu_var)
        with compiler.scope():
            first, second = _declare_variables(compiler, node)
            condition, step = compiler.closure(node.condition), compiler.closure(node.step)
        result = compiler.closure(node.result)

    def evaluate(device: Device, frame: Frame) -> Any:
        rounds = elements(device, frame)
        if rounds.__class__ is CelError:
            return rounds
        variables = frame.variables
        variables[accumulator] = initial(device, frame)
        for item in rounds:
            if second is None:
                variables[first] = item
            else:
                variables[first], variables[second] = item
            if condition(device, frame) is False:
                break
            variables[accumulator] = step(device, frame)
        return freeze(result(device, frame))

    return evaluate


def _quantifier(compiler: Compiler, node: Comprehension) -> Closure:
    """`all` and `exists` without their accumulator, where no expression can name it.

    The first decisive element ends them, else the first error is the result.
    """
    elements = _elements(compiler, node)
    decisive = node.macro == "exists"
    neutral = not decisive
    assert isinstance(node.step, Call)
    with compiler.scope():
        first, second = _declare_variables(compiler, node)
        test = compiler.closure(node.step.args[1])

    def evaluate(device: Device, frame: Frame) -> Any:
        rounds = elements(device, frame)
        if rounds.__class__ is CelError:
            return rounds
        variables = frame.variables
        failure = None
        for item in rounds:
            if second is None:
                variables[first] = item
            else:
                variables[first], variables[second] = item
            value = test(device, frame)
            if value is decisive:
                return decisive
            if value is not neutral and failure is None:
                failure = as_error(value)
        return neutral if failure is None else failure

    return evaluate


def _declare_variables(compiler: Compiler, node: Comprehension) -> tuple[int, int | None]:
    return compiler.declare(node.iter_var), compiler.declare(node.iter_var2) if node.iter_var2 else None


def _elements(compiler: Compiler, node: Comprehension) -> Closure:
    """What a loop goes through: elements, or pairs of an index or key and an element. The rounds count as effort."""
    iterable = compiler.closure(node.iter_range)
    iterate = operators.iterate_pairs if node.iter_var2 else operators.iterate

    def evaluate(device: Device, frame: Frame) -> Any:
        value = iterable(device, frame)
        if value.__class__ is CelError:
            return value
        if value.__class__ in _ITERABLE:
            operators.counted(value)
        try:
            return iterate(value)
        except CelError as error:
            return error.with_traceback(None)

    return evaluate


def _initial(compiler: Compiler, node: Node) -> Closure:
    """What a loop begins with; to an empty literal it adds in place."""
    constant = compiler.plan.constants.get(id(node))
    if constant.__class__ is list and not constant:
        return lambda device, frame: MutableList()
    if constant.__class__ is dict and not constant:
        return lambda device, frame: GeneralMap()
    return compiler.closure(node)
