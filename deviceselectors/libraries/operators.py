"""CEL's operators, and `size`.

What they compute is in `deviceselectors.runtime.operators`. Rows without `run` are syntax: `runtime.lazy_calls` and
`runtime.accesses` compile them, as they leave operands alone or belong to chains of accesses.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.estimates import Argument
from deviceselectors.libraries.function import Function, Overload, Run
from deviceselectors.runtime import operators
from deviceselectors.runtime.values import NATIVE_NAMES
from deviceselectors.sizes import TRAVERSAL, Size, scale
from deviceselectors.types import OPAQUE, STRUCT

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
    return Function(f"_{operator}_", *overloads, run=run)


FUNCTIONS = (
    Function("!_", Overload("logical_not bool > bool"), run=operators.logical_not),
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
        estimate=_estimate_equals,
        cost=_cost_of_equals,
        bound=max_sizes.reads_shorter,
    ),
    Function(
        "_!=_",
        Overload("not_equals A; A > bool"),
        run=operators.not_equal,
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
    ),
    Function(
        "_*_",
        Overload("multiply_double double; double > double"),
        Overload("multiply_int64 int; int > int"),
        Overload("multiply_uint64 uint; uint > uint"),
        run=operators.multiply,
    ),
    Function(
        "_/_",
        Overload("divide_double double; double > double"),
        Overload("divide_int64 int; int > int"),
        Overload("divide_uint64 uint; uint > uint"),
        run=operators.divide,
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
    Function("@not_strictly_false", Overload("not_strictly_false bool > bool")),
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
    ),
)
