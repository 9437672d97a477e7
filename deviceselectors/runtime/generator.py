"""Code for programs: the general translation, with or without counting cost.

A program becomes a Python function of a prepared device. Here every CEL error is a value, because what follows an
error still runs and, in the exact variant, costs: with a limit given it counts as kube-scheduler does and stops there.
`fastpath` builds upon this for expressions that need no counting. `writer` tells what generated names mean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from deviceselectors.ast import (
    IDENT,
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
from deviceselectors.libraries.function import Cost, Run
from deviceselectors.runtime import costs, operators, trees
from deviceselectors.runtime.accesses import AccessChain
from deviceselectors.runtime.literals import LiteralBuilder
from deviceselectors.runtime.messages import make_message
from deviceselectors.runtime.operators import make_map
from deviceselectors.runtime.plan_writer import COST, PlanWriter, Variable, local_variable
from deviceselectors.runtime.planning import is_binding
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
from deviceselectors.runtime.trees import Tree
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    NONE,
    GeneralMap,
    MutableList,
    Optional,
    freeze,
    thaw,
)
from deviceselectors.runtime.writer import MAX_NESTING, PROGRAM, Value


class Cell:
    """The value of a CEL variable that is computed when the variable is first used."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = MISSING

    def fill(self, value: Any) -> None:
        """Set the value."""
        self.value = value


class Generator(PlanWriter):
    """Translates the nodes of a plan; one object for one program."""

    def program(self) -> Any:
        """The function of a device: it returns the value, with the cost if that is counted.

        :raises UnsafeCodeError: if the code is not as the verifier wants it
        """
        with self.function(PROGRAM, ["d"]):
            if self.counts:
                self.assign("c", trees.number(0))
            with self.costing_panics():
                value = self.value(self.plan.root)
                if self.counts:
                    self.flush()
                    self.check_limit(trees.numbers((1,)))
                self._return(value)
        return self.assemble()

    def _return(self, value: Value) -> None:
        self.flush()
        self.emit(trees.give(trees.group(value.tree, COST) if self.counts else value.tree))

    # ------------------------------------------------------------ nodes

    def value(self, node: Node) -> Value:
        """Emits what computes the node, and pays for it."""
        constant = self.plan.constants.get(id(node), MISSING)
        if constant is not MISSING:
            return self.constant(constant)
        if self.nesting > MAX_NESTING and node.kind not in (IDENT,):
            return self._outlined(node)
        return _VALUES[node.kind](self, node)  # type: ignore[no-any-return]

    def _outlined(self, node: Node) -> Value:
        """The node in a function of its own."""
        self.flush()
        name, parameters = self.name("f"), self.parameters()
        with self.function(name, parameters), self.costing_panics():
            value = self.value(node)
            self._return(value)
        result = self.name("t")
        call = trees.call(trees.name(name), *map(trees.name, parameters))
        self.emit(trees.assign_each([result, "c"] if self.counts else [result], call))
        return Value(trees.name(result), value.fails, value.cls)

    def _ident(self, node: Ident) -> Value:
        value = self._variable(node)
        self.pay(1)
        return value

    def _variable(self, node: Ident) -> Value:
        variable = self.scope.get(node.name)
        if variable is None:
            return self.whole_device()
        if variable.fill is not None:
            self.flush()
            content = trees.attribute(variable.tree, "value")
            with self.when(self.is_missing(content)):
                computed = self.name("t")
                self.emit(trees.assign_each([computed, "c"], variable.fill))
                self.emit(trees.run(trees.call_method(variable.tree, "fill", trees.name(computed))))
            return Value(self.temporary(content), variable.fails, variable.cls)
        return Value(variable.tree, variable.fails, variable.cls)

    def raw(self, node: Node) -> Value:
        """Like `value`, but variables and accesses do without their own unit: in branches of `?:` and as keys."""
        if self.plan.is_constant(node):
            return self.value(node)
        if node.kind == IDENT:
            return self._variable(node)  # type: ignore[arg-type]
        if is_access(node):
            return self._access(node)
        if is_presence(node):
            return self._chain(node.operand).unwrapped_presence(node.field)
        return self.value(node)

    # ------------------------------------------------------------ fields and elements

    def _select(self, node: Select) -> Value:
        if node.test_only:
            return self._presence(node)
        return self._paid_access(node)

    def _paid_access(self, node: Node) -> Value:
        value = self._access(node)
        base, _ = split_access(node)
        if not is_call(base, "_?_:_"):
            self.pay(1)
        return value

    def _access(self, node: Node) -> Value:
        return self._chain(node).result()

    def _chain(self, node: Node) -> AccessChain:
        base, steps = split_access(node)
        chain = AccessChain(self, base)
        for key, optional in steps:
            chain.step(key, optional)
        return chain

    def _presence(self, node: Select) -> Value:
        """`has(operand.field)`."""
        value = self._chain(node.operand).presence(node.field)
        if self.counts and gets_unit_back(node):
            self.give_back()
        return value

    # ------------------------------------------------------------ calls

    def _call(self, node: Call) -> Value:
        special = _CALLS.get(node.function)
        if special is not None:
            return special(self, node)  # type: ignore[no-any-return]
        members = self.plan.members.get(id(node))
        if members is not None:
            element = self.atom(self.value(node.args[0]))
            self.flush()
            found = trees.call(self.refer(operators.in_members), element.tree, self.refer(members))
            return self._apply(found, [element])
        arguments = operands(node)
        function = known(node.function)
        run = self.plan.patterns.get(id(node))
        early_exit = run is not None or exits_early(node, function)
        if run is None:
            run = resolve(node.function, node.overloads)
        cost, after = function.call_cost(node.overloads), function.is_paid_after(node.overloads)
        if early_exit and len(arguments) > 1:
            return self._call_early_exit(arguments, run, cost, after)
        values = [self.atom(self.value(argument)) for argument in arguments]
        return self._call_values(values, run, cost, after)

    def _call_values(self, values: list[Value], run: Run, cost: Cost, after: bool) -> Value:
        if after:
            self.flush()
        else:
            self._pay_call(cost, values)
        result = self._apply(trees.call(self.refer(run), *[v.tree for v in values]), values)
        if after:
            self._pay_call(cost, values)
        return result

    def _pay_call(self, cost: Cost, values: list[Value]) -> None:
        if isinstance(cost, int):
            self.pay(cost)
        elif self.counts:
            self.pay_dynamic(cost, values)

    def _apply(self, call: Tree, arguments: list[Value]) -> Value:
        """The call unless an argument is an error, which is the result then."""
        failing = [a for a in arguments if a.fails]
        if not failing:
            return self.guard(call)
        result = self.name("t")
        with ExitStack() as branches:
            for argument in failing:
                with self.when(self.is_error(argument.tree)) as otherwise:
                    self.assign(result, argument.tree)
                branches.enter_context(self.otherwise(otherwise))
            self.assign_guarded(result, call)
        return Value(trees.name(result), True)

    def _call_early_exit(
        self,
        arguments: list[Node],
        run: Run,
        cost: Cost,
        after: bool,
        done: tuple[Value, ...] = (),
    ) -> Value:
        """A call that an error in an argument ends before the next is evaluated; `done` are the arguments so far."""
        values = list(done)
        for argument in arguments[len(done) :]:
            value = self.atom(self.value(argument))
            values.append(value)
            if value.fails and len(values) < len(arguments):
                result = self.name("t")
                self.flush()
                with self.when(self.is_error(value.tree)) as otherwise:
                    self.assign(result, value.tree)
                with self.otherwise(otherwise):
                    sound = tuple([Value(v.tree, False, v.cls) for v in values])
                    rest = self._call_early_exit(arguments, run, cost, after, sound)
                    self.flush()
                    self.assign(result, rest.tree)
                return Value(trees.name(result), True)
        return self._call_values(values, run, cost, after)

    def _indexed(self, node: Call) -> Value:
        return self._paid_access(node)

    def _or(self, node: Call) -> Value:
        """`optional.or(optional)` and `optional.orValue(value)`: the argument is evaluated only if needed."""
        unwrap = node.function == "orValue"
        assert node.target is not None
        target = self.atom(self.value(node.target))
        self.flush()
        result = self.name("t")
        with self.when(self.is_no_class(target.tree, Optional)) as no_optional:
            self.assign(result, self._as_error(target))
        with ExitStack() as branches:
            branches.enter_context(self.otherwise(no_optional))
            with self.when(trees.compare(target.tree, "is", self.refer(NONE))) as has_value:
                other = self.value(node.args[0])
                self.flush()
                self.assign(result, other.tree)
            branches.enter_context(self.otherwise(has_value))
            self.assign(result, trees.attribute(target.tree, "value") if unwrap else target.tree)
        return Value(trees.name(result), True)

    def _not_strictly_false(self, node: Call) -> Value:
        value = self.value(node.args[0])
        self.pay(1)
        return Value(trees.compare(value.tree, "is not", trees.FALSE), cls=bool)

    # ------------------------------------------------------------ logic

    def _logic(self, node: Call) -> Value:
        """`&&` and `||`: the first decisive operand decides, else the first error is the result."""
        decisive, neutral = outcomes(conjunction=node.function == "_&&_")
        result, failure = self.name("t"), self.name("t")
        undecided = trees.compare(trees.name(result), "is", neutral)
        failed = trees.compare(trees.name(failure), "is not", trees.NULL)
        self.assign(result, neutral)
        self.assign(failure, trees.NULL)
        for position, term in enumerate(flatten(node)):
            if position:
                self.flush()
                with self.when(undecided):
                    self._logic_term(term, result, failure, decisive, neutral)
                    self.flush()
            else:
                self._logic_term(term, result, failure, decisive, neutral)
        self.flush()
        self.assign_when(trees.both([undecided, failed]), result, trees.name(failure))
        return Value(trees.name(result), True, bool)

    def _logic_term(self, term: Node, result: str, failure: str, decisive: Tree, neutral: Tree) -> None:
        value = self.value(term)
        if value.cls is bool and not value.fails:
            self.assign(result, value.tree)
            return
        value = self.atom(value)
        first_failure = trees.both(
            [
                trees.compare(value.tree, "is not", neutral),
                trees.compare(trees.name(failure), "is", trees.NULL),
            ]
        )
        with self.when(trees.compare(value.tree, "is", decisive)) as otherwise:
            self.assign(result, decisive)
        with self.otherwise(otherwise):
            self.assign_when(first_failure, failure, self._as_error(value))

    def _as_error(self, value: Value) -> Tree:
        """What a value becomes that should be something else, such as a bool: itself if it is an error."""
        error = self.error("no such overload")
        return trees.choose(self.is_error(value.tree), value.tree, error) if value.fails else error

    def _conditional(self, node: Call) -> Value:
        condition = self.atom(self.value(node.args[0]))
        self.flush()
        result = self.name("t")
        fails = condition.fails or condition.cls is not bool
        classes = []
        with ExitStack() as branches:
            for branch, case in zip(node.args[1:], (trees.TRUE, trees.FALSE), strict=True):
                with self.when(trees.compare(condition.tree, "is", case)) as otherwise:
                    value = self.raw(branch)
                    self.flush()
                    self.assign(result, value.tree)
                branches.enter_context(self.otherwise(otherwise))
                fails = fails or value.fails
                classes.append(value.cls)
            self.assign(result, self._as_error(condition))
        return Value(trees.name(result), fails, classes[0] if classes[0] is classes[1] else None)

    # ------------------------------------------------------------ literals

    def _list(self, node: ListLiteral) -> Value:
        builder = LiteralBuilder(self)
        elements = []
        for position, element in enumerate(node.elements):
            value = builder.add(element)
            if position in node.optionals:
                value = builder.unwrap(value, trees.call(self.refer(not_optional_element), value.tree))
                nothing, one = trees.numbers(()), trees.group(value.tree)
                elements.append(trees.spread(trees.choose(self.is_missing(value.tree), nothing, one)))
            else:
                elements.append(value.tree)
        result = builder.finish(trees.array(elements), list)
        self.pay(costs.LIST_COST)
        return result

    def _map(self, node: MapLiteral) -> Value:
        builder = LiteralBuilder(self)
        pairs = []
        for entry in node.entries:
            key, value = builder.add(entry.key), builder.add(entry.value)
            if entry.optional:
                value = builder.unwrap(value, self._not_optional(key.tree, value))
            pairs.append(trees.group(key.tree, value.tree))
        self.flush()
        result = builder.finish(trees.call(self.refer(make_map), trees.array(pairs)), None)
        self.pay(costs.MAP_COST)
        return result

    def _struct(self, node: StructLiteral) -> Value:
        builder = LiteralBuilder(self)
        pairs = []
        for field in node.fields:
            name = self.refer(field.name)
            value = builder.add(field.value)
            if field.optional:
                value = builder.unwrap(value, self._not_optional(name, value))
            pairs.append(trees.group(name, value.tree))
        message = trees.call(self.refer(make_message), self.refer(node.type_name), trees.array(pairs))
        result = builder.finish(message, None, may_raise=True)
        self.pay(costs.STRUCT_COST)
        return result

    def _not_optional(self, key: Tree, value: Value) -> Tree:
        return trees.call(self.refer(not_optional_entry), key, value.tree)

    # ------------------------------------------------------------ comprehensions

    def _comprehension(self, node: Comprehension) -> Value:
        if is_binding(node, self.plan):
            return self._binding(node)
        elements = self.atom(self.value(node.iter_range))
        self.flush()
        result = self.name("t")
        with self.going_through(node, elements, result) as rounds:
            value = self._loop(node, rounds)
            self.assign(result, value.tree)
        return Value(trees.name(result), True)

    @contextmanager
    def going_through(
        self, node: Comprehension, elements: Value, result: str, *, is_iterable: bool = False
    ) -> Iterator[Tree]:
        """Statements for the loop over a list or map go in here; of any other value the error is the result.

        Gives what the loop goes through: elements, or pairs of an index or key and an element. The rounds count as effort:
        should the bound of the cost be wrong about a loop, the loop still ends, and whoever watches the clock ends it earlier.

        :param is_iterable: whether `elements` is known to be a list or map if it is no error
        """
        iterate = self.refer(operators.iterate_pairs if node.iter_var2 else operators.iterate)
        with ExitStack() as branches:
            if elements.fails:
                with self.when(self.is_error(elements.tree)) as otherwise:
                    self.assign(result, elements.tree)
                branches.enter_context(self.otherwise(otherwise))
            if not is_iterable:
                cls = trees.call(self.refer(type), elements.tree)
                with self.when(trees.compare(cls, "not in", self.refer(_ITERABLE))) as otherwise:
                    self.assign_guarded(result, trees.call(iterate, elements.tree))
                branches.enter_context(self.otherwise(otherwise))
            rounds = trees.call(self.refer(operators.counted), elements.tree)
            yield trees.call(iterate, rounds) if node.iter_var2 else rounds

    def _loop(self, node: Comprehension, elements: Tree) -> Value:
        accumulator = self.name("a")
        self.assign(accumulator, self._initial(node.accu_init))
        with self.new_scope():
            self.declare(node.accu_var, local_variable(accumulator, fails=True))
            with self.new_scope(), self.loop(self.loop_variables(node), elements):
                condition = self.value(node.condition)
                self.flush()
                if condition.tree is not trees.TRUE:
                    self.emit(trees.when(trees.compare(condition.tree, "is", trees.FALSE), [trees.STOP], []))
                step = self.value(node.step)
                self.flush()
                self.assign(accumulator, step.tree)
            value = self.value(node.result)
            self.flush()
        return Value(trees.call(self.refer(freeze), value.tree), value.fails)

    def loop_variables(self, node: Comprehension, cls: type | None = None) -> list[str]:
        """Declare the variables of a loop, of a class if that is known; returns their locals."""
        names = []
        for variable in (node.iter_var, node.iter_var2):
            if variable:
                names.append(self.name("v"))
                self.declare(variable, local_variable(names[-1], cls=cls))
        return names

    def _initial(self, node: Node) -> Tree:
        value = self.plan.constants.get(id(node), MISSING)
        if value == []:
            return trees.call(self.refer(MutableList))
        if value == {}:
            return trees.call(self.refer(GeneralMap))
        return self.value(node).tree

    def _binding(self, node: Comprehension) -> Value:
        """`cel.bind` and the like: the variable is computed when it is first used."""
        with self.new_scope():
            self.declare(node.accu_var, self._bound(node.accu_init))
            value = self.value(node.result)
        return Value(self.temporary(trees.call(self.refer(freeze), value.tree)), value.fails, value.cls)

    def _bound(self, init: Node) -> Variable:
        if self.plan.is_constant(init):
            value = self.constant(self.plan.constants[id(init)])
            if value.cls is not list:
                return Variable(value.tree, value.fails, value.cls)
        elif self.counts:
            return self._cell(init)
        else:
            value = self.value(init)
        local = self.name("t")
        self.assign(local, trees.call(self.refer(thaw), value.tree))
        return local_variable(local, value.fails, value.cls)

    def _cell(self, init: Node) -> Variable:
        """A variable whose value is computed by a function of its own."""
        self.flush()
        name, cell, parameters = self.name("f"), self.name("b"), self.parameters()
        with self.function(name, parameters), self.costing_panics():
            value = self.value(init)
            self._return(Value(trees.call(self.refer(thaw), value.tree)))
        self.assign(cell, trees.call(self.refer(Cell)))
        fill = trees.call(trees.name(name), *map(trees.name, parameters))
        return Variable(trees.name(cell), value.fails, value.cls, local=cell, fill=fill)


def outcomes(*, conjunction: bool) -> tuple[Tree, Tree]:
    """The decisive and the neutral value of `&&` or `||`."""
    return (trees.FALSE, trees.TRUE) if conjunction else (trees.TRUE, trees.FALSE)


_ITERABLE = LIST_CLASSES | MAP_CLASSES

_VALUES: list[Any] = [
    None,
    None,
    Generator._ident,
    Generator._select,
    Generator._call,
    Generator._list,
    Generator._map,
    Generator._struct,
    Generator._comprehension,
]

_CALLS: dict[str, Any] = {
    "_[_]": Generator._indexed,
    "_[?_]": Generator._indexed,
    "_?._": Generator._indexed,
    "or": Generator._or,
    "orValue": Generator._or,
    "@not_strictly_false": Generator._not_strictly_false,
    "_&&_": Generator._logic,
    "_||_": Generator._logic,
    "_?_:_": Generator._conditional,
}
