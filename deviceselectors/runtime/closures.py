"""How an expression is compiled: each node becomes a Python closure over the closures of its parts.

There is a module for each kind of node; `evaluator` has the table of them. An error is a value like any other, since what
follows it still runs and costs; a panic and a cost beyond the limit end everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from deviceselectors.ast import Ident, Node
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.values import MISSING, CelError, thaw

# What literals cost at run time, in CEL's cost units, and how an evaluation ends that costs too much.
# Costs of functions are in the rows of `deviceselectors.libraries`.

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


# What one evaluation changes: the variables of macros, and the cost so far.


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
            raise underflow(self.cost)


Closure = Callable[[Device, Frame], Any]
"""Computes a node on a device: its value, or the `CelError` with which it fails."""


class Compiler:
    """Compiles the nodes of one plan.

    :param makers: what makes the closure of a node, by its kind
    :param counts: whether the closures pay what kube-scheduler counts; without, they may take short cuts to the same value
    """

    __slots__ = ("_makers", "_scope", "constants", "counts", "plan", "variables")

    def __init__(
        self, plan: Plan, makers: dict[int, Callable[[Compiler, Any], Closure]], *, counts: bool
    ) -> None:
        self.plan = plan
        self.counts = counts
        #: the values of nodes that are known, by their ids: those of the plan, and what is found out on the way
        self.constants = dict(plan.constants)
        #: how many variables a frame has to have
        self.variables = 0
        self._makers = makers
        #: where in a frame the variables are that can be seen, and what computes those that are bound
        self._scope: dict[str, tuple[int, Closure | None]] = {}

    def closure(self, node: Node) -> Closure:
        """What computes the node, and pays for it; constants cost nothing."""
        constant = self.constants.get(id(node), MISSING)
        if constant is not MISSING:
            return constantly(constant)
        return self._makers[node.kind](self, node)

    def paid(self, closure: Closure, cost: int) -> Closure:
        """The closure, and the payment of a cost after it."""
        if not self.counts:
            return closure

        def evaluate(device: Device, frame: Frame) -> Any:
            value = closure(device, frame)
            frame.pay(cost)
            return value

        return evaluate

    # ------------------------------------------------------------ variables

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is declared within is visible within only."""
        outer = self._scope
        self._scope = dict(outer)
        yield
        self._scope = outer

    def declare(self, name: str, init: Closure | None = None) -> int:
        """Make a variable visible until the scope ends; returns its place in frames.

        :param init: computes it when it is first used, after it has been set to `MISSING`
        """
        place = self.variables
        self.variables += 1
        self._scope[name] = place, init
        return place

    def sees_device(self, name: str) -> bool:
        """Whether a name is that of the device, the variable that no scope has."""
        return name == "device" and name not in self._scope

    def variable(self, name: str) -> Closure:
        """The value of a variable, for nothing."""
        found = self._scope.get(name)
        if found is None:
            return _whole_device
        place, init = found
        if init is None:
            return lambda device, frame: frame.variables[place]
        return _bound(place, init)


def constantly(constant: Any) -> Closure:
    """A closure that gives a constant; an error anew each time, as it may be raised, by several threads at once."""
    if constant.__class__ is CelError:
        message = constant.message
        return lambda device, frame: CelError(message)
    return lambda device, frame: constant


def identifier(compiler: Compiler, node: Ident) -> Closure:
    """A variable costs 1."""
    return compiler.paid(compiler.variable(node.name), 1)


def _whole_device(device: Device, frame: Frame) -> Any:
    return device.as_map()


def _bound(place: int, init: Closure) -> Closure:
    def evaluate(device: Device, frame: Frame) -> Any:
        value = frame.variables[place]
        if value is MISSING:
            value = frame.variables[place] = thaw(init(device, frame))
        return value

    return evaluate
