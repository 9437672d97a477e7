"""What code for any node of a plan needs: the device, the variables in scope, and the cost so far.

Code for accesses (`accesses`), for literals (`literals`) and for everything else (`generator`) builds upon it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deviceselectors.ast import Node
from deviceselectors.runtime import costs, trees
from deviceselectors.runtime.costs import CostExceededError
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.trees import Tree
from deviceselectors.runtime.values import MISSING, CelPanic
from deviceselectors.runtime.writer import Value, Writer

#: The device and the cost so far in generated code.
DEVICE = trees.name("d")
COST = trees.name("c")


def exceed(limit: int, cost: int, parts: tuple[int, ...]) -> CostExceededError:
    """The error when `parts`, the last of `cost`, went beyond the limit: it is raised by the first that does."""
    cost -= sum(parts)
    for part in parts:
        cost += part
        if cost > limit:
            break
    return CostExceededError(cost)


def note_cost(cost: int) -> None:
    """Note the cost so far in the panic being handled, unless a function within has."""
    panic = sys.exception()
    assert isinstance(panic, CelPanic)
    if panic.cost is None:
        panic.cost = cost


class Variable:
    """A CEL variable in generated code: a value under a name, or a cell that is filled on first use.

    :param fails: whether it may be a `CelError`
    :param cls: the Python class of its value, if that is certain
    :param local: the local that functions within its scope need
    :param fill: the call that computes the cell's value and the cost after it
    """

    __slots__ = ("cls", "fails", "fill", "local", "tree")

    def __init__(
        self,
        tree: Tree,
        fails: bool = False,
        cls: type | None = None,
        *,
        local: str = "",
        fill: Tree | None = None,
    ) -> None:
        self.tree = tree
        self.fails = fails
        self.cls = cls
        self.local = local
        self.fill = fill


def local_variable(name: str, fails: bool = False, cls: type | None = None) -> Variable:
    """A variable whose value is in a local of that name."""
    return Variable(trees.name(name), fails, cls, local=name)


class PlanWriter(Writer):
    """A writer of code for the nodes of one plan; subclasses say what `value` and `raw` write.

    :param limit: the cost limit, None for a variant that does not count
    :param bounded: promises that no evaluation reaches the limit: the cost is counted but not compared
    """

    def __init__(self, plan: Plan, limit: int | None, *, bounded: bool = False) -> None:
        super().__init__()
        self.plan = plan
        self.limit = limit
        self.bounded = bounded
        self.scope: dict[str, Variable] = {}
        #: the locals that hold variables, those that are shadowed included
        self._visible: list[str] = []
        self._pending: list[int] = []

    @property
    def counts(self) -> bool:
        """Whether this variant counts cost."""
        return self.limit is not None

    def value(self, node: Node) -> Value:
        """Emit what computes the node, and pay for it."""
        raise NotImplementedError

    def raw(self, node: Node) -> Value:
        """Like `value`, but variables and accesses do without their own unit: in branches of `?:` and as keys."""
        raise NotImplementedError

    # ------------------------------------------------------------ values

    def is_missing(self, value: Tree) -> Tree:
        """`value is MISSING`."""
        return trees.compare(value, "is", self.refer(MISSING))

    def is_there(self, value: Tree) -> Tree:
        """`value is not MISSING`."""
        return trees.compare(value, "is not", self.refer(MISSING))

    def whole_device(self) -> Value:
        """The variable `device` where it is not only looked into."""
        return Value(trees.call_method(DEVICE, "as_map"), cls=dict)

    # ------------------------------------------------------------ variables

    def declare(self, name: str, variable: Variable) -> None:
        """Make a CEL variable visible until the scope ends."""
        self.scope[name] = variable
        if variable.local:
            self._visible.append(variable.local)

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """What is declared within is visible within only."""
        outer, visible = self.scope, len(self._visible)
        self.scope = dict(outer)
        yield
        self.scope = outer
        del self._visible[visible:]

    def parameters(self) -> list[str]:
        """The locals that a function needs which is called here."""
        return ["d", *(["c"] if self.counts else []), *dict.fromkeys(self._visible)]

    # ------------------------------------------------------------ cost

    def pay(self, cost: int) -> None:
        """Count a constant cost, at the latest with the next `flush`."""
        if self.counts and cost:
            self._pending.append(cost)

    def flush(self) -> None:
        """Emit the costs that are due; before branches, and before what costs a variable amount."""
        if not self._pending:
            return
        parts = tuple(self._pending)
        self._pending.clear()
        self.emit(trees.increase("c", trees.number(sum(parts))))
        self.check_limit(trees.numbers(parts))

    def pay_one(self) -> None:
        """Count one unit at once."""
        self.emit(trees.increase("c", trees.number(1)))
        self.check_limit(trees.numbers((1,)))

    def give_back(self) -> None:
        """Take one unit off the cost, after what was paid before."""
        self.flush()
        self.assign("c", trees.compute(COST, "-", trees.number(1)))
        error = trees.call(self.refer(costs.underflow), COST)
        self.emit(trees.when(trees.compare(COST, "<", trees.number(0)), [trees.fail(error)], []))

    def check_limit(self, parts: Tree) -> None:
        """Emit the comparison of the cost with the limit; `parts` are the last amounts that went into it."""
        if self.bounded:
            return
        assert self.limit is not None
        limit = trees.number(self.limit)
        error = trees.call(self.refer(exceed), limit, COST, parts)
        self.emit(trees.when(trees.compare(COST, ">", limit), [trees.fail(error)], []))

    def pay_dynamic(self, cost: Any, arguments: list[Value]) -> None:
        """Count what a function of the arguments gives."""
        self.flush()
        amount = trees.call(self.refer(cost), *[a.tree for a in arguments])
        if self.bounded:
            self.emit(trees.increase("c", amount))
            return
        amount = self.temporary(amount)
        self.emit(trees.increase("c", amount))
        self.check_limit(trees.group(amount))

    @contextmanager
    def costing_panics(self) -> Iterator[None]:
        """In the exact variant a panic that leaves a function carries the cost so far."""
        if not self.counts:
            yield
            return
        note = trees.run(trees.call(self.refer(note_cost), COST))
        with self.attempt(CelPanic, [note, trees.FAIL_AGAIN]):
            yield
