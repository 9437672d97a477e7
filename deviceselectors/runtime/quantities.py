"""CEL's quantity library (`quantity("80Gi")`, `isGreaterThan`, `add`, ...), which `device.capacity` has its values from."""

from __future__ import annotations

from deviceselectors.runtime.values import INT_MIN, CelError, register_type
from resourceapi import quantity as api
from resourceapi.quantity import DECIMAL_EXPONENT, Quantity


class ComputedQuantity(Quantity):
    """A sum or difference. It cannot stand on the right of `==`: in cel-go it is a pointer, which is not recognised."""

    __slots__ = ()


def _equal(left: Quantity, right: Quantity) -> bool:
    return left.cmp(right) == 0


register_type(Quantity, "kubernetes.Quantity", "cel.Quantity", _equal)
register_type(ComputedQuantity, "kubernetes.Quantity", "*cel.Quantity", _equal, other=Quantity)


def parse(text: str) -> Quantity:
    """`quantity(text)`."""
    try:
        return api.parse(text)
    except api.QuantityError as error:
        raise CelError(str(error)) from None


def is_quantity(text: str) -> bool:
    try:
        api.parse(text)
    except api.QuantityError:
        return False
    return True


def is_greater_than(left: Quantity, right: Quantity) -> bool:
    return left.cmp(right) == 1


def is_less_than(left: Quantity, right: Quantity) -> bool:
    return left.cmp(right) == -1


def compare_to(left: Quantity, right: Quantity) -> int:
    return left.cmp(right)


def sign(value: Quantity) -> int:
    return value.sign()


def as_integer(value: Quantity) -> int:
    number = value.as_int64()
    if number is None:
        raise CelError("cannot convert value to integer")
    return number


def is_integer(value: Quantity) -> bool:
    return value.as_int64() is not None


def as_approximate_float(value: Quantity) -> float:
    return value.approximate_float()


def add(left: Quantity, right: Quantity) -> ComputedQuantity:
    return _computed(left.add(right))


def add_int(left: Quantity, right: int) -> ComputedQuantity:
    return _computed(left.add(Quantity(right, 0, DECIMAL_EXPONENT)))


def sub(left: Quantity, right: Quantity) -> ComputedQuantity:
    if right.mantissa == INT_MIN and not left.big and not right.big:
        # the least 64-bit number is its own negative, unless the result leaves 64 bits
        wrapped = left.add(right)
        if not wrapped.big:
            return _computed(wrapped)
    return _computed(left.sub(right))


def sub_int(left: Quantity, right: int) -> ComputedQuantity:
    return sub(left, Quantity(right, 0, DECIMAL_EXPONENT))


def _computed(value: Quantity) -> ComputedQuantity:
    return ComputedQuantity(value.mantissa, value.scale, value.format, big=value.big)
