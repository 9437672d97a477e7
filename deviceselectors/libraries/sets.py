"""CEL's library of sets, which are lists of any order."""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries import actual_costs, max_sizes
from deviceselectors.libraries.estimates import Argument
from deviceselectors.libraries.function import Cost, Estimate, Function, Overload
from deviceselectors.runtime.operators import list_contains
from deviceselectors.sizes import Size, add, multiply, scale


def contains(elements: Any, others: Any) -> bool:
    """Whether all of the others are among the elements."""
    return all(list_contains(elements, other) for other in others)


def _equivalent(elements: Any, others: Any) -> bool:
    return contains(elements, others) and contains(others, elements)


def _intersects(elements: Any, others: Any) -> bool:
    return any(list_contains(others, element) for element in elements)


def _estimate(factor: float) -> Estimate:
    def estimate(arguments: list[Argument]) -> tuple[int, Size | None]:
        return add(scale(multiply(arguments[0].size[1], arguments[1].size[1]), factor), 1), None

    return estimate


def _cost(factor: int) -> Cost:
    return lambda elements, others: (
        actual_costs.plain_size(elements) * actual_costs.plain_size(others) * factor + 1
    )


FUNCTIONS = (
    Function(
        "sets.contains",
        Overload("list_sets_contains_list list(T); list(T) > bool", contains),
        estimate=_estimate(1.0),
        cost=_cost(1),
        bound=max_sizes.compares_elements,
    ),
    Function(
        "sets.equivalent",
        Overload("list_sets_equivalent_list list(T); list(T) > bool", _equivalent),
        estimate=_estimate(2.0),
        cost=_cost(2),
        bound=max_sizes.compares_elements,
    ),
    Function(
        "sets.intersects",
        Overload("list_sets_intersects_list list(T); list(T) > bool", _intersects),
        estimate=_estimate(1.0),
        cost=_cost(1),
        bound=max_sizes.compares_elements,
    ),
)
