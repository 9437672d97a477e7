"""Evaluation by walking the tree: no code is generated, what is written here is what an expression means.

Every kind of node has a function below that computes its value and pays what kube-scheduler counts for it. An error is
a value like any other, since what follows it still runs and costs; a panic and a cost beyond the limit end everything.
It is slower than generated code, and the same in all else: value, error and cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors.ast import (
    CALL,
    COMPREHENSION,
    IDENT,
    LIST,
    MAP,
    SELECT,
    STRUCT,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from deviceselectors.libraries import known
from deviceselectors.libraries.calls import resolve
from deviceselectors.libraries.function import Run
from deviceselectors.runtime import costs, operators
from deviceselectors.runtime.costs import CostExceededError
from deviceselectors.runtime.device import Device
from deviceselectors.runtime.messages import make_message
from deviceselectors.runtime.planning import Plan, is_binding
from deviceselectors.runtime.scopes import Binding, Scope, find_variable
from deviceselectors.runtime.shapes import (
    exits_early,
    flatten,
    gets_unit_back,
    is_access,
    is_call,
    is_presence,
    operands,
    split_access,
)
from deviceselectors.runtime.showing import not_optional_element, not_optional_entry
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    NONE,
    CelError,
    CelPanic,
    GeneralMap,
    MutableList,
    Optional,
    freeze,
    thaw,
)

_NO_OVERLOAD = "no such overload"


class Interpreter:
    """A program: called with a device it gives the expression's value and the cost, as compiled programs do."""

    __slots__ = ("_limit", "_plan")

    def __init__(self, plan: Plan, limit: int) -> None:
        """`limit` is the greatest cost an evaluation may have."""
        self._plan = plan
        self._limit = limit

    def __call__(self, device: Device) -> tuple[Any, int]:
        """Evaluate the expression: its value or error, and the cost.

        :raises CostExceededError: if the cost exceeds the limit
        :raises CelPanic: with the cost until then
        """
        evaluation = Evaluation(self._plan, self._limit, device)
        try:
            value = evaluation.value(self._plan.root)
        except CelPanic as panic:
            panic.cost = evaluation.cost
            raise
        return value, evaluation.cost


class Evaluation:
    """One evaluation on one device: its cost so far, and the variables that can be seen where it is."""

    __slots__ = ("cost", "device", "limit", "plan", "scope")

    def __init__(self, plan: Plan, limit: int, device: Device) -> None:
        self.plan = plan
        self.limit = limit
        self.device = device
        self.cost = 0
        self.scope: Scope | None = None

    def pay(self, cost: int) -> None:
        """Add to the cost.

        :raises CostExceededError: if that exceeds the limit
        """
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceededError(self.cost)

    def give_back(self) -> None:
        """Takes one unit off the cost.

        :raises CostExceededError: where there is none
        """
        self.cost -= 1
        if self.cost < 0:
            raise costs.underflow(self.cost)

    def value(self, node: Node) -> Any:
        """The value of a node, or its error; constants cost nothing."""
        constant = self.plan.constants.get(id(node), MISSING)
        if constant is MISSING:
            return _VALUES[node.kind](self, node)
        if constant.__class__ is CelError:
            return CelError(constant.message)  # raised later, perhaps in several threads at once
        return constant

    def unpaid(self, node: Node) -> Any:
        """Like `value`, but a variable or an access does without its own unit: in branches of `?:` and as keys."""
        if id(node) in self.plan.constants:
            return self.value(node)
        if isinstance(node, Ident):
            return self.variable(node.name)
        if is_access(node):
            return access(self, node)
        if is_presence(node):
            return unwrapped_presence(self, node)
        return self.value(node)

    # ------------------------------------------------------------ variables

    def variable(self, name: str) -> Any:
        """The value of a variable; the one that no scope has is `device`."""
        found = find_variable(self.scope, name)
        if found is MISSING:
            return self.device.as_map()
        if found.__class__ is Binding:
            return self._bound(found)
        return found

    def _bound(self, binding: Binding) -> Any:
        """What a binding stands for: computed when it is first used, with the variables of the place where it is."""
        if binding.value is MISSING:
            binding.value = thaw(self.value_in(binding.scope, binding.node))
        return binding.value

    def value_in(self, scope: Scope | None, node: Node) -> Any:
        """The value of a node with other variables."""
        outer, self.scope = self.scope, scope
        value = self.value(node)
        self.scope = outer  # what raises ends the evaluation
        return value


def ident(evaluation: Evaluation, node: Ident) -> Any:
    """A variable costs 1."""
    value = evaluation.variable(node.name)
    evaluation.pay(1)
    return value


# ---------------------------------------------------------------- accesses to fields and elements


def select(evaluation: Evaluation, node: Select) -> Any:
    """`operand.field` or `has(operand.field)`."""
    return paid_presence(evaluation, node) if node.test_only else paid_access(evaluation, node)


def paid_access(evaluation: Evaluation, node: Node) -> Any:
    """A chain of accesses costs 1, besides 1 for each; one to a `?:` costs only what each access does."""
    value = access(evaluation, node)
    base, _ = split_access(node)
    if not is_call(base, "_?_:_"):
        evaluation.pay(1)
    return value


def access(evaluation: Evaluation, node: Node) -> Any:
    """`base.field[key].?field`: an optional if the base is one, or if there is an optional access."""
    return wrapped(*follow(evaluation, node))


def wrapped(value: Any, optional: bool) -> Any:
    """What a chain of accesses gives for what it leads to."""
    if not optional or value.__class__ is CelError:
        return value
    return NONE if value is MISSING else Optional(value)


def paid_presence(evaluation: Evaluation, node: Select) -> Any:
    """`has(base.field[key].field)` costs nothing besides its accesses; one of a `?:` gets a unit back."""
    value = presence(evaluation, node, *follow(evaluation, node.operand))
    if gets_unit_back(node):
        evaluation.give_back()
    return value


def unwrapped_presence(evaluation: Evaluation, node: Select) -> Any:
    """`has` in branches of `?:` and as a key: if there is an optional in the chain, the content of the field."""
    value, optional = follow(evaluation, node.operand)
    if not optional:
        return presence(evaluation, node, value, optional)
    if value is not MISSING and value.__class__ is not CelError:
        value = step(evaluation, value, node.field, optional)
    return wrapped(value, optional)


def presence(evaluation: Evaluation, node: Select, value: Any, optional: bool) -> Any:
    """Whether the field is in the value: costs 1, nothing where an earlier part of the chain is not there or fails."""
    if value.__class__ is CelError:
        return value
    if value is MISSING:
        return False
    found = attempt(is_there, value, node.field)
    if not optional or found is True:
        evaluation.pay(1)
    return found


def is_there(container: Any, key: str) -> bool:
    """Whether a container has the key."""
    return operators.lookup(container, key) is not MISSING


def follow(evaluation: Evaluation, node: Node) -> tuple[Any, bool]:
    """What a chain of accesses leads to, and whether that is an optional.

    Of an optional it is the content, `MISSING` if there is none. Only the innermost object is looked at for being one.
    """
    base, steps = split_access(node)
    whole = base.kind == IDENT or is_call(base, "_?_:_")
    value = evaluation.unpaid(base) if whole else evaluation.value(base)
    optional = value.__class__ is Optional
    if optional:
        value = value.value
    for key, is_optional in steps:
        optional = optional or is_optional
        if value is not MISSING and value.__class__ is not CelError:
            value = step(evaluation, value, key, optional)
    return value, optional


def step(evaluation: Evaluation, container: Any, key: Node | str, optional: bool) -> Any:
    """One access costs 1, an optional one only if it finds something."""
    found = key if isinstance(key, str) else evaluation.unpaid(key)
    if not optional:
        evaluation.pay(1)
    if found.__class__ is CelError:
        return found
    value = attempt(operators.lookup_any if optional else operators.access_any, container, found)
    if optional and value is not MISSING and value.__class__ is not CelError:
        evaluation.pay(1)
    return value


# ---------------------------------------------------------------- calls


def call(evaluation: Evaluation, node: Call) -> Any:
    """A call of anything that is not one of `_CALLS`: all arguments are computed, errors among them."""
    special = _CALLS.get(node.function)
    if special is not None:
        return special(evaluation, node)
    members = evaluation.plan.members.get(id(node))
    if members is not None:
        return apply(operators.in_members, [evaluation.value(node.args[0]), members])
    function = known(node.function)
    run = evaluation.plan.patterns.get(id(node))
    nodes = operands(node)
    ends = run is not None or exits_early(node, function)
    values: list[Any] = []
    for argument in nodes:
        values.append(evaluation.value(argument))
        if ends and values[-1].__class__ is CelError and len(values) < len(nodes):
            return values[-1]
    if run is None:
        run = resolve(node.function, node.overloads)
    cost = function.call_cost(node.overloads)
    if function.is_paid_after(node.overloads):
        result = apply(run, values)
        evaluation.pay(cost if isinstance(cost, int) else cost(*values))
        return result
    evaluation.pay(cost if isinstance(cost, int) else cost(*values))
    return apply(run, values)


def apply(run: Run, values: list[Any]) -> Any:
    """What a function gives for the values; the first error among them is the result."""
    for value in values:
        if value.__class__ is CelError:
            return value
    return attempt(run, *values)


def attempt(function: Callable[..., Any], *values: Any) -> Any:
    """What a function gives, the error if it raises one."""
    try:
        return function(*values)
    except CelError as error:
        return error.with_traceback(None)  # which would keep the evaluation alive


def optional_or(evaluation: Evaluation, node: Call) -> Any:
    """`optional.or(optional)` and `optional.orValue(value)` cost nothing; the argument is computed only if needed."""
    assert node.target is not None
    target = evaluation.value(node.target)
    if target.__class__ is not Optional:
        return as_error(target)
    if target is NONE:
        return evaluation.value(node.args[0])
    return target.value if node.function == "orValue" else target


def not_strictly_false(evaluation: Evaluation, node: Call) -> bool:
    """Whether a loop goes on: costs 1."""
    value = evaluation.value(node.args[0])
    evaluation.pay(1)
    return value is not False


# ---------------------------------------------------------------- logic


def logic(evaluation: Evaluation, node: Call) -> Any:
    """`&&` and `||` cost nothing: the first decisive operand decides, if there is none the first error."""
    decisive = node.function == "_||_"
    failure = None
    for term in flatten(node):
        value = evaluation.value(term)
        if value is decisive:
            return decisive
        if value is not (not decisive) and failure is None:
            failure = as_error(value)
    return not decisive if failure is None else failure


def conditional(evaluation: Evaluation, node: Call) -> Any:
    """`condition ? if_true : if_false` costs nothing."""
    condition = evaluation.value(node.args[0])
    if condition is True:
        return evaluation.unpaid(node.args[1])
    if condition is False:
        return evaluation.unpaid(node.args[2])
    return as_error(condition)


def as_error(value: Any) -> CelError:
    """What becomes of a value of the wrong type: itself if it is an error."""
    return value if value.__class__ is CelError else CelError(_NO_OVERLOAD)


# ---------------------------------------------------------------- literals


def list_literal(evaluation: Evaluation, node: ListLiteral) -> Any:
    """`[a, ?b]` costs 10; the first error ends it, an optional element without value is left out."""
    value = list_of(evaluation, node)
    evaluation.pay(costs.LIST_COST)
    return value


def list_of(evaluation: Evaluation, node: ListLiteral) -> Any:
    """The list that a literal makes, or the first error."""
    values: list[Any] = []
    optionals = frozenset(node.optionals)
    for position, element in enumerate(node.elements):
        value = evaluation.value(element)
        if position in optionals:
            value = content(value, not_optional_element)
        if value.__class__ is CelError:
            return value
        if value is not MISSING:
            values.append(value)
    return values


def map_literal(evaluation: Evaluation, node: MapLiteral) -> Any:
    """`{a: b, ?c: d}` costs 30; the first error ends it."""
    value = map_of(evaluation, node)
    evaluation.pay(costs.MAP_COST)
    return value


def map_of(evaluation: Evaluation, node: MapLiteral) -> Any:
    """The map that a literal makes, or the first error."""
    pairs: list[tuple[Any, Any]] = []
    for entry in node.entries:
        key = evaluation.value(entry.key)
        if key.__class__ is CelError:
            return key
        value = evaluation.value(entry.value)
        if entry.optional:
            value = content(value, not_optional_entry, key)
        if value.__class__ is CelError:
            return value
        pairs.append((key, value))
    return operators.make_map(pairs)


def message_literal(evaluation: Evaluation, node: StructLiteral) -> Any:
    """`google.protobuf.Duration{seconds: 1}` costs 40; the first error ends it."""
    value = message_of(evaluation, node)
    evaluation.pay(costs.STRUCT_COST)
    return value


def message_of(evaluation: Evaluation, node: StructLiteral) -> Any:
    """The message that a literal makes, or the first error."""
    pairs: list[tuple[str, Any]] = []
    for field in node.fields:
        value = evaluation.value(field.value)
        if field.optional:
            value = content(value, not_optional_entry, field.name)
        if value.__class__ is CelError:
            return value
        pairs.append((field.name, value))
    return attempt(make_message, node.type_name, pairs)


def content(value: Any, complain: Callable[..., CelError], *key: Any) -> Any:
    """What an optional element or entry holds, `MISSING` if nothing; an error for what is no optional."""
    if value.__class__ is Optional:
        return value.value
    return value if value.__class__ is CelError else complain(*key, value)


# ---------------------------------------------------------------- macros


def comprehension(evaluation: Evaluation, node: Comprehension) -> Any:
    """What macros become: a loop over a list or a map, or a variable that is bound. It costs what its parts do."""
    if is_binding(node, evaluation.plan):
        return bind(evaluation, node)
    iterable = evaluation.value(node.iter_range)
    if iterable.__class__ is CelError:
        return iterable
    iterate = operators.iterate_pairs if node.iter_var2 else operators.iterate
    if iterable.__class__ not in LIST_CLASSES and iterable.__class__ not in MAP_CLASSES:
        return attempt(iterate, iterable)
    return loop(evaluation, node, iterate(operators.counted(iterable)))


def loop(evaluation: Evaluation, node: Comprehension, iterable: Any) -> Any:
    """Ends early when the condition is false, not when it fails."""
    outer = evaluation.scope
    accumulated = initial(evaluation, node.accu_init)
    for item in iterable:
        around = Scope(outer, node.accu_var, accumulated)
        if node.iter_var2:
            within = Scope(Scope(around, node.iter_var, item[0]), node.iter_var2, item[1])
        else:
            within = Scope(around, node.iter_var, item)
        if evaluation.value_in(within, node.condition) is False:
            break
        accumulated = evaluation.value_in(within, node.step)
    return freeze(evaluation.value_in(Scope(outer, node.accu_var, accumulated), node.result))


def initial(evaluation: Evaluation, node: Node) -> Any:
    """What a loop begins with; to an empty literal it adds in place."""
    constant = evaluation.plan.constants.get(id(node))
    if constant.__class__ is list and not constant:
        return MutableList()
    if constant.__class__ is dict and not constant:
        return GeneralMap()
    return evaluation.value(node)


def bind(evaluation: Evaluation, node: Comprehension) -> Any:
    """`cel.bind`, and macros that bind a variable as it does."""
    binding = Binding(node.accu_init, evaluation.scope)
    return freeze(evaluation.value_in(Scope(evaluation.scope, node.accu_var, binding), node.result))


#: By kind of node; literals are among the plan's constants.
_VALUES: dict[int, Callable[[Evaluation, Any], Any]] = {
    IDENT: ident,
    SELECT: select,
    CALL: call,
    LIST: list_literal,
    MAP: map_literal,
    STRUCT: message_literal,
    COMPREHENSION: comprehension,
}

_CALLS: dict[str, Callable[[Evaluation, Call], Any]] = {
    "_[_]": paid_access,
    "_[?_]": paid_access,
    "_?._": paid_access,
    "or": optional_or,
    "orValue": optional_or,
    "@not_strictly_false": not_strictly_false,
    "_&&_": logic,
    "_||_": logic,
    "_?_:_": conditional,
}
