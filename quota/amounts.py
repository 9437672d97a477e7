"""Quantities by resource name, and the sums and comparisons that quotas make of them."""

from __future__ import annotations

from collections.abc import Container

from resourceapi.quantity import Amounts, Quantity


def written(amounts: Amounts) -> dict[str, str]:
    """The amounts as JSON, sorted by name."""
    return {name: str(amounts[name]) for name in sorted(amounts)}


def largest(one: Amounts, other: Amounts) -> Amounts:
    """The larger of both amounts of each name."""
    found = dict(one)
    for name, amount in other.items():
        if name not in found or amount.cmp(found[name]) > 0:
            found[name] = amount
    return found


def times(amounts: Amounts, number: int) -> Amounts:
    """Each amount that many times."""
    if number == 1:
        return amounts
    return {
        name: Quantity(amount.mantissa * number, amount.scale, amount.format)
        for name, amount in amounts.items()
        if number
    }


def only(amounts: Amounts, names: Container[str]) -> Amounts:
    """The amounts with these names."""
    return {name: amount for name, amount in amounts.items() if name in names}


def without_zeros(amounts: Amounts) -> Amounts:
    """The amounts that are not zero."""
    return {name: amount for name, amount in amounts.items() if not amount.is_zero()}


def exceeding(amounts: Amounts, limits: Amounts) -> list[str]:
    """The names whose amount is over its limit, sorted."""
    return sorted(name for name in amounts if name in limits and amounts[name].cmp(limits[name]) > 0)


def listed(amounts: Amounts) -> str:
    """``a=1,b=2``, sorted, as the server lists amounts in messages."""
    return ",".join(f"{name}={amount}" for name, amount in written(amounts).items())
