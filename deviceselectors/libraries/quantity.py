"""Kubernetes' library of quantities, `quantity("80Gi").isGreaterThan(...)`; those of `device.capacity` are some, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.function import Fast, Function, Overload, Run
from deviceselectors.runtime.values import INT_MIN, CelError, register_type
from resourceapi import quantity as api
from resourceapi.quantity import DECIMAL_EXPONENT, Quantity

if TYPE_CHECKING:
    from deviceselectors.ast import Call
    from deviceselectors.runtime.inlines import Inline
    from deviceselectors.runtime.trees import Tree
    from deviceselectors.runtime.writer import Writer


class ComputedQuantity(Quantity):
    """A sum or difference. It cannot stand on the right of `==`: in cel-go it is a pointer, which is not recognised."""

    __slots__ = ()


def _equal(left: Quantity, right: Quantity) -> bool:
    return left.cmp(right) == 0


register_type(Quantity, "kubernetes.Quantity", "cel.Quantity", _equal, native="*resource.Quantity")
register_type(
    ComputedQuantity,
    "kubernetes.Quantity",
    "*cel.Quantity",
    _equal,
    other=Quantity,
    native="*resource.Quantity",
)


def parse(text: str) -> Quantity:
    """`quantity(text)`."""
    try:
        return api.parse(text)
    except api.QuantityError as error:
        raise CelError(str(error)) from None


def _is_quantity(text: str) -> bool:
    try:
        api.parse(text)
    except api.QuantityError:
        return False
    return True


def _is_greater_than(left: Quantity, right: Quantity) -> bool:
    return left.cmp(right) == 1


def _is_less_than(left: Quantity, right: Quantity) -> bool:
    return left.cmp(right) == -1


def _compare_to(left: Quantity, right: Quantity) -> int:
    return left.cmp(right)


def _sign(value: Quantity) -> int:
    return value.sign()


def _as_integer(value: Quantity) -> int:
    number = value.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def _is_integer(value: Quantity) -> bool:
    return value.as_int64() is not None


def _as_approximate_float(value: Quantity) -> float:
    return value.approximate_float()


def _add(left: Quantity, right: Quantity) -> ComputedQuantity:
    return _computed(left.add(right))


def _add_int(left: Quantity, right: int) -> ComputedQuantity:
    return _computed(left.add(Quantity(right, 0, DECIMAL_EXPONENT)))


def _sub(left: Quantity, right: Quantity) -> ComputedQuantity:
    if right.mantissa == INT_MIN and not left.big and not right.big:
        # the least 64-bit number is its own negative, unless the result leaves 64 bits
        wrapped = left.add(right)
        if not wrapped.big:
            return _computed(wrapped)
    return _computed(left.sub(right))


def _sub_int(left: Quantity, right: int) -> ComputedQuantity:
    return _sub(left, Quantity(right, 0, DECIMAL_EXPONENT))


def _computed(value: Quantity) -> ComputedQuantity:
    return ComputedQuantity(value.mantissa, value.scale, value.format, big=value.big)


# ---------------------------------------------------------------- fast forms


def _fast_order(relation: str) -> Fast:
    """A comparison with a constant quantity, by `trees.relate`."""

    def write(code: Writer, node: Call, arguments: list[Inline], run: Run) -> Inline | None:
        from deviceselectors.runtime import trees
        from deviceselectors.runtime.inlines import by_class, combined

        value, other = arguments
        if other.constant.__class__ is not Quantity:
            return None
        cls = int if relation == "<=>" else bool
        if value.cls is Quantity:
            return combined(_compared(code, value.tree, other.constant, relation), cls, arguments)

        def of_quantity(tree: Tree) -> Tree:
            return trees.relate(trees.call_method(tree, "cmp", other.tree), relation, trees.number(0))

        tree = by_class(
            code, value, Quantity, of_quantity, lambda tree: trees.call(code.refer(run), tree, other.tree)
        )
        return combined(tree, cls, [value], raises=True)

    return write


def _compared(code: Writer, value: Tree, other: Quantity, relation: str) -> Tree:
    """Most quantities have the same scale as the constant, so that the mantissas tell."""
    from deviceselectors.runtime import trees

    local = code.name("t")
    quantity = trees.name(local)
    scale = trees.attribute(trees.named(local, value), "scale")
    return trees.choose(
        trees.compare(scale, "==", code.refer(other.scale)),
        trees.relate(trees.attribute(quantity, "mantissa"), relation, code.refer(other.mantissa)),
        trees.relate(trees.call_method(quantity, "cmp", code.refer(other)), relation, trees.number(0)),
    )


def _fast_method(function: Any, cls: type, *, raises: bool = False) -> Fast:
    """A function of what is known to be a quantity, without a check of that."""

    def write(code: Writer, node: Call, arguments: list[Inline], run: Run) -> Inline | None:
        from deviceselectors.runtime import trees
        from deviceselectors.runtime.inlines import combined

        (value,) = arguments
        if value.cls is not Quantity:
            return None
        return combined(trees.call(code.refer(function), value.tree), cls, arguments, raises=raises)

    return write


# ---------------------------------------------------------------- rows

FUNCTIONS = (
    Function(
        "quantity",
        Overload("string_to_quantity string > Quantity", parse),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
        result_size=max_sizes.opaque,
    ),
    Function(
        "isQuantity",
        Overload("is_quantity_string string > bool", _is_quantity),
        estimate=estimates.reads(0),
        cost=actual_costs.reads_target(),
    ),
    Function("sign", Overload("quantity_sign Quantity > int", _sign)),
    Function("isInteger", Overload(".quantity_is_integer Quantity > bool", _is_integer)),
    Function(
        "asInteger",
        Overload(".quantity_get_int Quantity > int", _as_integer),
        fast=_fast_method(_as_integer, int, raises=True),
    ),
    Function(
        "asApproximateFloat",
        Overload(".quantity_get_float Quantity > double", _as_approximate_float),
        fast=_fast_method(_as_approximate_float, float),
    ),
    Function(
        "isGreaterThan",
        Overload(".quantity_is_greater_than Quantity; Quantity > bool", _is_greater_than),
        fast=_fast_order(">"),
    ),
    Function(
        "isLessThan",
        Overload(".quantity_is_less_than Quantity; Quantity > bool", _is_less_than),
        fast=_fast_order("<"),
    ),
    Function(
        "compareTo",
        Overload(".quantity_compare_to Quantity; Quantity > int", _compare_to),
        fast=_fast_order("<=>"),
    ),
    Function(
        "add",
        Overload(".quantity_add Quantity; Quantity > Quantity", _add),
        Overload(".quantity_add_int Quantity; int > Quantity", _add_int),
        result_size=max_sizes.opaque,
    ),
    Function(
        "sub",
        Overload(".quantity_sub Quantity; Quantity > Quantity", _sub),
        Overload(".quantity_sub_int Quantity; int > Quantity", _sub_int),
        result_size=max_sizes.opaque,
    ),
)
