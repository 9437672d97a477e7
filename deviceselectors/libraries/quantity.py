"""Kubernetes' library of quantities, `quantity("80Gi").isGreaterThan(...)`; those of `device.capacity` are some, too."""

from __future__ import annotations

from deviceselectors.libraries import actual_costs, estimates, max_sizes
from deviceselectors.libraries.function import Function, Overload
from deviceselectors.runtime.values import INT_MIN, CelError, register_type
from resourceapi import quantity as api
from resourceapi.quantity import DECIMAL_EXPONENT, Quantity


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


def _as_integer(value: Quantity) -> int:
    number = value.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def _sub(left: Quantity, right: Quantity) -> ComputedQuantity:
    if right.mantissa == INT_MIN and not left.big and not right.big:
        # the least 64-bit number is its own negative, unless the result leaves 64 bits
        wrapped = left.add(right)
        if not wrapped.big:
            return _computed(wrapped)
    return _computed(left.sub(right))


def _computed(value: Quantity) -> ComputedQuantity:
    return ComputedQuantity(value.mantissa, value.scale, value.format, big=value.big)


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
    Function("sign", Overload("quantity_sign Quantity > int", lambda value: value.sign())),
    Function(
        "isInteger",
        Overload(".quantity_is_integer Quantity > bool", lambda value: value.as_int64() is not None),
    ),
    Function("asInteger", Overload(".quantity_get_int Quantity > int", _as_integer)),
    Function(
        "asApproximateFloat",
        Overload(".quantity_get_float Quantity > double", lambda value: value.approximate_float()),
    ),
    Function(
        "isGreaterThan",
        Overload(
            ".quantity_is_greater_than Quantity; Quantity > bool", lambda left, right: left.cmp(right) == 1
        ),
    ),
    Function(
        "isLessThan",
        Overload(
            ".quantity_is_less_than Quantity; Quantity > bool", lambda left, right: left.cmp(right) == -1
        ),
    ),
    Function(
        "compareTo",
        Overload(".quantity_compare_to Quantity; Quantity > int", lambda left, right: left.cmp(right)),
    ),
    Function(
        "add",
        Overload(
            ".quantity_add Quantity; Quantity > Quantity", lambda left, right: _computed(left.add(right))
        ),
        Overload(
            ".quantity_add_int Quantity; int > Quantity",
            lambda left, right: _computed(left.add(Quantity(right, 0, DECIMAL_EXPONENT))),
        ),
        result_size=max_sizes.opaque,
    ),
    Function(
        "sub",
        Overload(".quantity_sub Quantity; Quantity > Quantity", _sub),
        Overload(
            ".quantity_sub_int Quantity; int > Quantity",
            lambda left, right: _sub(left, Quantity(right, 0, DECIMAL_EXPONENT)),
        ),
        result_size=max_sizes.opaque,
    ),
)
