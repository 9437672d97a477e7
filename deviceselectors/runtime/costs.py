"""What literals cost at run time, in CEL's cost units, and how an evaluation ends that costs too much.

Costs of functions are in the rows of `deviceselectors.libraries`.
"""

from __future__ import annotations

LIST_COST = 10
MAP_COST = 30
STRUCT_COST = 40


class CostExceededError(Exception):
    """The cost limit was hit.

    :param cost: the cost so far
    """

    def __init__(self, cost: int) -> None:
        self.cost = cost


def underflow(cost: int) -> CostExceededError:
    """The error for a cost below zero, which cel-go takes for a great one."""
    return CostExceededError(cost + (1 << 64))
