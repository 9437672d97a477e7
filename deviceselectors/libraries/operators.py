"""CEL's operators, and `size`.

What they compute is in `deviceselectors.runtime.operators`. Rows without `run` are syntax: the interpreter and the
generator evaluate them, as they leave operands alone or belong to chains of accesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.estimates import Argument
from deviceselectors.libraries.function import Fast, Function, Overload, Run
from deviceselectors.runtime import operators
from deviceselectors.runtime.values import MISSING, NATIVE_NAMES, DomainMap, EntryMap
from deviceselectors.sizes import TRAVERSAL, Size, scale
from deviceselectors.types import OPAQUE, STRUCT

if TYPE_CHECKING:
    from deviceselectors.ast import Call
    from deviceselectors.runtime.inlines import Inline
    from deviceselectors.runtime.trees import Tree
    from deviceselectors.runtime.writer import Writer

# ---------------------------------------------------------------- costs

_UNIT_COST = frozenset(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"))
_FORMAT_SIZE = 64


def _estimate_equals(arguments: list[Argument]) -> tuple[int, Size | None]:
    left, right = arguments
    t = left.type
    if t.kind in (OPAQUE, STRUCT) and right.type.name == t.name:
        if t.name in _UNIT_COST:
            return 1, None
        if t.name == "kubernetes.NamedFormat":
            return scale(_FORMAT_SIZE, TRAVERSAL), None
        if t.name == "kubernetes.URL":
            return scale(right.size[1] if right.is_sized else 1, TRAVERSAL), None
    return estimates.compares(arguments)


def _cost_of_equals(left: Any, right: Any) -> int:
    """Values of Kubernetes' libraries are compared for a unit."""
    cls = left.__class__
    return 1 if cls in NATIVE_NAMES else actual_costs.compares(left, right)


def _cost_of_concatenation(left: Any, right: Any) -> int:
    return actual_costs.tenth(actual_costs.size_of(left) + actual_costs.size_of(right))


# ---------------------------------------------------------------- fast forms

_ORDERED_IN_PYTHON = frozenset((str, int, bytes))


def _fast_comparison(operator: str) -> Fast:
    def write(code: Writer, node: Call, arguments: list[Inline], run: Run) -> Inline | None:
        from deviceselectors.runtime import trees
        from deviceselectors.runtime.inlines import by_class, combined

        left, right = arguments
        if left.cls in _ORDERED_IN_PYTHON and left.cls is right.cls:
            return combined(trees.compare(left.tree, operator, right.tree), bool, arguments)
        if right.constant is not MISSING and right.cls in _ORDERED_IN_PYTHON:
            tree = by_class(
                code,
                left,
                right.cls,
                lambda value: trees.compare(value, operator, right.tree),
                lambda value: trees.call(code.refer(run), value, right.tree),
            )
            return combined(tree, bool, arguments, raises=True)
        return None

    return write


def _fast_arithmetic(operator: str) -> Fast:
    def write(code: Writer, node: Call, arguments: list[Inline], run: Run) -> Inline | None:
        from deviceselectors.runtime import trees
        from deviceselectors.runtime.inlines import combined

        left, right = arguments
        if left.cls is not right.cls or left.cls not in (int, float):
            return None
        result = trees.compute(left.tree, operator, right.tree)
        if left.cls is float:
            return combined(result, float, arguments)
        return combined(trees.call(code.refer(operators.checked_int), result), int, arguments, raises=True)

    return write


def _fast_division(code: Writer, node: Call, arguments: list[Inline], run: Run) -> Inline | None:
    from deviceselectors.runtime import trees
    from deviceselectors.runtime.inlines import combined

    left, right = arguments
    divisor = right.constant
    if left.cls is float and divisor.__class__ is float and divisor:
        return combined(trees.compute(left.tree, "/", right.tree), float, [left])
    if left.cls is int and divisor.__class__ is int and divisor > 0:
        local = code.name("t")
        dividend = trees.name(local)
        # Python rounds down, CEL towards zero
        result = trees.choose(
            trees.compare(trees.named(local, left.tree), ">=", trees.number(0)),
            trees.compute(dividend, "//", right.tree),
            trees.minus(trees.compute(trees.minus(dividend), "//", right.tree)),
        )
        return combined(result, int, [left])
    return None


def _fast_size(code: Writer, node: Call, arguments: list[Inline], run: Run) -> Inline | None:
    from deviceselectors.runtime import trees
    from deviceselectors.runtime.inlines import by_class, combined

    (value,) = arguments

    def length(value: Tree) -> Tree:
        return trees.call(code.refer(len), value)

    if value.cls in (str, list, DomainMap, EntryMap):
        return combined(length(value.tree), int, arguments)
    tree = by_class(code, value, str, length, lambda value: trees.call(code.refer(run), value))
    return combined(tree, int, arguments, raises=True)


# ---------------------------------------------------------------- rows

_ORDERED = (
    ("bool", "bool", "bool"),
    ("int64", "int", "int"),
    ("int64_double", "int", "double"),
    ("int64_uint64", "int", "uint"),
    ("uint64", "uint", "uint"),
    ("uint64_double", "uint", "double"),
    ("uint64_int64", "uint", "int"),
    ("double", "double", "double"),
    ("double_int64", "double", "int"),
    ("double_uint64", "double", "uint"),
    ("string", "string", "string"),
    ("bytes", "bytes", "bytes"),
    ("timestamp", "timestamp", "timestamp"),
    ("duration", "duration", "duration"),
)


def _order(operator: str, relation: str, run: Run) -> Function:
    """The row of a comparison of two values of ordered types."""
    overloads = []
    for suffix, left, right in _ORDERED:
        is_text = suffix in ("string", "bytes")
        overloads.append(
            Overload(
                f"{relation}_{suffix} {left}; {right} > bool",
                estimate=estimates.compares if is_text else None,
                cost=actual_costs.compares if is_text else None,
            )
        )
    return Function(f"_{operator}_", *overloads, run=run, result_class=bool, fast=_fast_comparison(operator))


FUNCTIONS = (
    Function("!_", Overload("logical_not bool > bool"), run=operators.logical_not, result_class=bool),
    Function(
        "-_",
        Overload("negate_double double > double"),
        Overload("negate_int64 int > int"),
        run=operators.negate,
    ),
    Function("_&&_", Overload("logical_and bool; bool > bool")),
    Function("_||_", Overload("logical_or bool; bool > bool")),
    Function("_?_:_", Overload("conditional bool; A; A > A")),
    _order("<", "less", operators.less),
    _order("<=", "less_equals", operators.less_equals),
    _order(">", "greater", operators.greater),
    _order(">=", "greater_equals", operators.greater_equals),
    Function(
        "_==_",
        Overload("equals A; A > bool"),
        run=operators.equal,
        result_class=bool,
        estimate=_estimate_equals,
        cost=_cost_of_equals,
        bound=max_sizes.reads_shorter,
    ),
    Function(
        "_!=_",
        Overload("not_equals A; A > bool"),
        run=operators.not_equal,
        result_class=bool,
        estimate=estimates.compares,
        cost=actual_costs.compares,
        bound=max_sizes.reads_shorter,
    ),
    Function(
        "@in",
        Overload(
            "in_list A; list(A) > bool",
            estimate=estimates.reads(1, 1.0),
            cost=lambda element, elements: actual_costs.size_of(elements),
            paid_after=False,
        ),
        Overload("in_map A; map(A, B) > bool"),
        run=operators.contains,
        result_class=bool,
        paid_after=True,
    ),
    Function(
        "_+_",
        # the estimates of concatenations are in `deviceselectors.cost`, as they are about elements, too
        Overload("add_bytes bytes; bytes > bytes", cost=_cost_of_concatenation),
        Overload("add_double double; double > double"),
        Overload("add_duration_duration duration; duration > duration"),
        Overload("add_duration_timestamp duration; timestamp > timestamp"),
        Overload("add_timestamp_duration timestamp; duration > timestamp"),
        Overload("add_int64 int; int > int"),
        Overload("add_list list(A); list(A) > list(A)"),
        Overload("add_string string; string > string", cost=_cost_of_concatenation),
        Overload("add_uint64 uint; uint > uint"),
        run=operators.add,
        result_size=max_sizes.concatenated,
        fast=_fast_arithmetic("+"),
    ),
    Function(
        "_-_",
        Overload("subtract_double double; double > double"),
        Overload("subtract_duration_duration duration; duration > duration"),
        Overload("subtract_int64 int; int > int"),
        Overload("subtract_timestamp_duration timestamp; duration > timestamp"),
        Overload("subtract_timestamp_timestamp timestamp; timestamp > duration"),
        Overload("subtract_uint64 uint; uint > uint"),
        run=operators.subtract,
        fast=_fast_arithmetic("-"),
    ),
    Function(
        "_*_",
        Overload("multiply_double double; double > double"),
        Overload("multiply_int64 int; int > int"),
        Overload("multiply_uint64 uint; uint > uint"),
        run=operators.multiply,
        fast=_fast_arithmetic("*"),
    ),
    Function(
        "_/_",
        Overload("divide_double double; double > double"),
        Overload("divide_int64 int; int > int"),
        Overload("divide_uint64 uint; uint > uint"),
        run=operators.divide,
        fast=_fast_division,
    ),
    Function(
        "_%_",
        Overload("modulo_int64 int; int > int"),
        Overload("modulo_uint64 uint; uint > uint"),
        run=operators.modulo,
    ),
    Function(
        "_[_]",
        Overload("index_list list(A); int > A"),
        Overload("index_map map(A, B); A > B"),
        Overload("optional_list_index_int optional(list(V)); int > optional(V)"),
        Overload("optional_map_index_value optional(map(K, V)); K > optional(V)"),
        literals_matter=True,
    ),
    Function(
        "_[?_]",
        Overload("list_optindex_optional_int list(V); int > optional(V)"),
        Overload("optional_list_optindex_optional_int optional(list(V)); int > optional(V)"),
        Overload("map_optindex_optional_value map(K, V); K > optional(V)"),
        Overload("optional_map_optindex_optional_value optional(map(K, V)); K > optional(V)"),
        literals_matter=True,
    ),
    Function("_?._", Overload("select_optional_field dyn; string > optional(V)")),
    Function("@not_strictly_false", Overload("not_strictly_false bool > bool"), is_statement=True),
    Function(
        "size",
        *[
            Overload(f"{overload} {kind} > int")
            for name, kind in (
                ("bytes", "bytes"),
                ("list", "list(A)"),
                ("map", "map(A, B)"),
                ("string", "string"),
            )
            for overload in (f"size_{name}", f".{name}_size")
        ],
        run=operators.size,
        result_class=int,
        fast=_fast_size,
    ),
)
