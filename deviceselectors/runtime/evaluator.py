"""The evaluator: a checked expression as nested closures, which are put together here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.ast import (
    CALL,
    COMPREHENSION,
    IDENT,
    LIST,
    MAP,
    SELECT,
    STRUCT,
    Call,
    Comprehension,
    ListLiteral,
    MapLiteral,
    Node,
    StructLiteral,
)
from deviceselectors.macros import ACCUMULATOR
from deviceselectors.runtime import accesses, calls, closures, effort, operators
from deviceselectors.runtime.calls import as_error, eager_call
from deviceselectors.runtime.closures import Closure, Compiler, Frame
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.messages import make_message
from deviceselectors.runtime.planning import Plan, is_binding
from deviceselectors.runtime.showing import not_optional_element, not_optional_entry
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    CelError,
    CelPanic,
    GeneralMap,
    MutableList,
    Optional,
    freeze,
)

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


# List, map and message literals: the first error among their parts is the literal's value.


def list_literal(compiler: Compiler, node: ListLiteral) -> Closure:
    """`[a, ?b]` costs 10; an optional element without value is left out."""
    optionals = frozenset(node.optionals)
    parts = [
        (compiler.closure(element), position in optionals) for position, element in enumerate(node.elements)
    ]

    def evaluate(device: Device, frame: Frame) -> Any:
        values: list[Any] = []
        for part, is_optional in parts:
            value = part(device, frame)
            if is_optional:
                value = _content(value, not_optional_element)
            if value.__class__ is CelError:
                return value
            if value is not MISSING:
                values.append(value)
        return values

    return compiler.paid(evaluate, closures.LIST_COST)


def map_literal(compiler: Compiler, node: MapLiteral) -> Closure:
    """`{a: b, ?c: d}` costs 30."""
    parts = [
        (compiler.closure(entry.key), compiler.closure(entry.value), entry.optional) for entry in node.entries
    ]

    def evaluate(device: Device, frame: Frame) -> Any:
        pairs: list[tuple[Any, Any]] = []
        for key_part, value_part, is_optional in parts:
            key = key_part(device, frame)
            if key.__class__ is CelError:
                return key
            value = value_part(device, frame)
            if is_optional:
                value = _content(value, not_optional_entry, key)
            if value.__class__ is CelError:
                return value
            pairs.append((key, value))
        return operators.make_map(pairs)

    return compiler.paid(evaluate, closures.MAP_COST)


def message_literal(compiler: Compiler, node: StructLiteral) -> Closure:
    """`google.protobuf.Duration{seconds: 1}` costs 40."""
    parts = [(field.name, compiler.closure(field.value), field.optional) for field in node.fields]
    type_name = node.type_name

    def evaluate(device: Device, frame: Frame) -> Any:
        pairs: list[tuple[str, Any]] = []
        for name, part, is_optional in parts:
            value = part(device, frame)
            if is_optional:
                value = _content(value, not_optional_entry, name)
            if value.__class__ is CelError:
                return value
            pairs.append((name, value))
        try:
            return make_message(type_name, pairs)
        except CelError as error:
            return error.with_traceback(None)

    return compiler.paid(evaluate, closures.STRUCT_COST)


def _content(value: Any, complain: Callable[..., CelError], *key: Any) -> Any:
    """What an optional element or entry holds, `MISSING` if nothing; an error for what is no optional."""
    if value.__class__ is Optional:
        return value.value
    return value if value.__class__ is CelError else complain(*key, value)


# What macros become: loops over lists and maps, and variables that are bound. They cost what their parts
# do.

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


#: By kind of node; literals are among the plan's constants.
_MAKERS: dict[int, Callable[[Compiler, Any], Closure]] = {
    IDENT: closures.identifier,
    SELECT: accesses.select,
    CALL: lambda compiler, node: _CALLS.get(node.function, eager_call)(compiler, node),
    LIST: list_literal,
    MAP: map_literal,
    STRUCT: message_literal,
    COMPREHENSION: comprehension,
}

_CALLS: dict[str, Callable[[Compiler, Call], Closure]] = {
    "_[_]": accesses.access,
    "_[?_]": accesses.access,
    "_?._": accesses.access,
    "or": calls.optional_or,
    "orValue": calls.optional_or,
    "@not_strictly_false": calls.not_strictly_false,
    "_&&_": calls.logic,
    "_||_": calls.logic,
    "_?_:_": calls.conditional,
}
