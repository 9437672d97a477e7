"""What one evaluation changes: the variables of macros, and the cost so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.runtime import costs
from deviceselectors.runtime.costs import CostExceededError
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.values import MISSING


class Frame:
    """The state of one evaluation, for one thread."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: int, limit: int = 0) -> None:
        """Take the number of variables, and the greatest cost that the evaluation may have if it is counted."""
        self.variables: list[Any] = [MISSING] * variables
        self.cost = 0
        self.limit = limit

    def pay(self, cost: int) -> None:
        """Add to the cost.

        :raises CostExceededError: if that exceeds the limit
        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceededError(self.cost)

    def pay_units(self, number: int) -> None:
        """Add so many units, one after the other.

        :raises CostExceededError: with the first that exceeds the limit
        """
        self.cost += number
        if self.cost > self.limit:
            self.cost = self.limit + 1
            raise CostExceededError(self.cost)

    def give_back(self) -> None:
        """Take one unit off the cost.

        :raises CostExceededError: where there is none
        """
        self.cost -= 1
        if self.cost < 0:
            raise costs.underflow(self.cost)


Closure = Callable[[Device, Frame], Any]
"""Computes a node on a device: its value, or the `CelError` with which it fails."""
