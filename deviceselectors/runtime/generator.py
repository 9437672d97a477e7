"""Python source for programs: the general translation, with or without counting cost.

A program becomes a Python function of a prepared device. Here every CEL error is a value, because what follows an
error still runs and, in the exact variant, costs: with a limit given it counts as kube-scheduler does and stops there. `fastpath` builds upon this for expressions that need no counting.

Names in the source: `d` the device, `t1` ... temporaries, `c` the cost so far, `K1` ... constants and functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
from deviceselectors.runtime import costs, functions, operators
from deviceselectors.runtime.accesses import AccessChain, is_access, is_call, split_access
from deviceselectors.runtime.emitter import MAX_INDENT, Emitter, Value
from deviceselectors.runtime.literals import LiteralBuilder
from deviceselectors.runtime.messages import make_message
from deviceselectors.runtime.planning import Plan, is_binding
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
)

_LOCAL_PREFIXES = "abtv"

#: Calls of one or two arguments that cel-go evaluates like those of more: an error ends them at once, unpaid.
_EARLY_EXIT = frozenset(("format",))
#: Calls that may make cel-go panic; that comes before they are paid.
_MAY_PANIC = frozenset(("@in", "cel.@mapInsert"))


class CostExceededError(Exception):
    """The cost limit was hit; `cost` is the cost so far."""

    def __init__(self, cost: int) -> None:
        self.cost = cost


def exceed(limit: int, cost: int, parts: tuple[int, ...]) -> CostExceededError:
    """The error when `parts`, the last of `cost`, went beyond the limit: it is raised by the first that does."""
    cost -= sum(parts)
    for part in parts:
        cost += part
        if cost > limit:
            break
    return CostExceededError(cost)


class Variable:
    """A CEL variable in the source: a local name, or a cell that is filled when the variable is first used."""

    __slots__ = ("cls", "fails", "fill", "text")

    def __init__(self, text: str, fails: bool = False, cls: type | None = None, fill: str = "") -> None:
        self.text = text
        self.fails = fails
        self.cls = cls
        #: the call that computes the cell's value and the cost after it
        self.fill = fill


class Generator(Emitter):
    """Translates the nodes of a plan; one object for one program."""

    def __init__(self, plan: Plan, limit: int | None, *, bounded: bool = False) -> None:
        """`limit` is the cost limit, or None for a variant that does not count.

        `bounded` promises that no evaluation reaches the limit: then it is counted but not compared.
        """
        super().__init__()
        self.plan = plan
        self.limit = limit
        self.bounded = bounded
        self.scope: dict[str, Variable] = {}
        #: the locals that hold variables, those that are shadowed included
        self._visible: list[str] = []
        self._pending: list[int] = []
        self.error = self.refer(CelError)
        self.missing = self.refer(MISSING)

    def program(self) -> Any:
        """The function of a device: it returns the value, with the cost if that is counted."""
        with self._function("program", "d", "c = 0"):
            value = self.value(self.plan.root)
            if self.limit is not None:
                self.flush()
                self._check_limit("(1,)")
            self._return(value)
        return self.compile()

    def compile(self) -> Any:
        """Compiles what has been written."""
        namespace = dict(self.constants)
        # our own text: what users write gets into it as literals made by repr only
        exec(compile(self.source(), "<cel>", "exec"), namespace)  # noqa: S102
        return namespace["program"]

    @contextmanager
    def _function(self, name: str, parameters: str, prologue: str = "") -> Iterator[None]:
        """A function being written; in the exact variant a panic that leaves it carries the cost so far."""
        with self.function_body() as lines:
            if self.limit is None:
                yield
            else:
                if prologue:
                    self.emit(prologue)
                with self.block("try:"):
                    yield
                with self.block(f"except {self.refer(CelPanic)} as panic:"):
                    self.emit("if panic.cost is None: panic.cost = c")
                    self.emit("raise")
            self.define(name, parameters, lines)

    def _return(self, value: Value) -> None:
        self.flush()
        self.emit(f"return {value.text}" if self.limit is None else f"return {value.text}, c")

    # ------------------------------------------------------------ cost

    def pay(self, cost: int) -> None:
        """Counts a constant cost, at the latest with the next `flush`."""
        if self.limit is not None and cost:
            self._pending.append(cost)

    def flush(self) -> None:
        """Emits the costs that are due; before branches, and before what costs a variable amount."""
        if not self._pending:
            return
        parts = tuple(self._pending)
        self._pending.clear()
        self.emit(f"c += {sum(parts)}")
        self._check_limit(repr(parts))

    def _check_limit(self, parts: str) -> None:
        if self.bounded:
            return
        self.emit(f"if c > {self.limit}: raise {self.refer(exceed)}({self.limit}, c, {parts})")

    def pay_dynamic(self, function: costs.CostFunction, arguments: list[Value], result: str) -> None:
        self.flush()
        amount = f"{self.refer(function)}([{', '.join([a.text for a in arguments])}], {result})"
        if self.bounded:
            self.emit(f"c += {amount}")
            return
        amount = self.temporary(amount)
        self.emit(f"c += {amount}")
        self._check_limit(f"({amount},)")

    # ------------------------------------------------------------ nodes

    def value(self, node: Node) -> Value:
        """Emits what computes the node, and pays for it."""
        constant = self.plan.constants.get(id(node), MISSING)
        if constant is not MISSING:
            return self.constant(constant)
        if self.indent > MAX_INDENT and node.kind not in (IDENT,):
            return self._outlined(node)
        return _VALUES[node.kind](self, node)  # type: ignore[no-any-return]

    def _outlined(self, node: Node) -> Value:
        """The node in a function of its own."""
        self.flush()
        name = self.name("f")
        parameters = ", ".join(["d", *(["c"] if self.limit is not None else []), *self._locals()])
        with self._function(name, parameters):
            value = self.value(node)
            self._return(value)
        result = self.name("t")
        self.emit(f"{result}{', c' if self.limit is not None else ''} = {name}({parameters})")
        return Value(result, value.fails, value.cls)

    def _locals(self) -> list[str]:
        return list(dict.fromkeys(self._visible))

    def _declare(self, name: str, variable: Variable) -> None:
        self.scope[name] = variable
        local = variable.text.partition("[")[0]
        if local[0] in _LOCAL_PREFIXES and local[1:].isdigit():
            self._visible.append(local)

    def guard(self, text: str, *, fails: bool = True) -> Value:
        """A temporary with the result of something that may raise."""
        result = self.name("t")
        self.assign_guarded(result, text)
        return Value(result, fails)

    def assign_guarded(self, target: str, text: str) -> None:
        self.emit(f"try: {target} = {text}")
        # without its traceback, which would keep this function's locals alive
        self.emit(f"except {self.error} as e: {target} = e.with_traceback(None)")

    def _ident(self, node: Ident) -> Value:
        value = self._variable(node)
        self.pay(1)
        return value

    def _variable(self, node: Ident) -> Value:
        variable = self.scope.get(node.name)
        if variable is None:
            return Value("d.as_map()", cls=dict)
        if variable.fill:
            self.flush()
            cell = variable.text
            target = f"{cell}, c" if self.limit is not None else cell
            self.emit(f"if {cell} is {self.missing}: {target} = {variable.fill}")
            return Value(self.temporary(cell), variable.fails, variable.cls)
        return Value(variable.text, variable.fails, variable.cls)

    def raw(self, node: Node) -> Value:
        """Like `value`, but variables and accesses do without their own unit: in branches of `?:` and as keys."""
        if self.plan.is_constant(node):
            return self.value(node)
        if node.kind == IDENT:
            return self._variable(node)  # type: ignore[arg-type]
        if is_access(node):
            return self._access(node)
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
        base, steps = split_access(node)
        chain = AccessChain(self, base)
        for key, optional in steps:
            chain.step(key, optional)
        return chain.result()

    def _presence(self, node: Select) -> Value:
        """`has(operand.field)`."""
        base, steps = split_access(node.operand)
        chain = AccessChain(self, base)
        for key, optional in steps:
            chain.step(key, optional)
        return chain.presence(node.field)

    # ------------------------------------------------------------ calls

    def _call(self, node: Call) -> Value:
        special = _CALLS.get(node.function)
        if special is not None:
            return special(self, node)  # type: ignore[no-any-return]
        members = self.plan.members.get(id(node))
        if members is not None:
            element = self.atom(self.value(node.args[0]))
            self.flush()
            return self._apply(
                f"{self.refer(operators.in_members)}({element.text}, {self.refer(members)})", [element]
            )
        arguments = node.args if node.target is None else [node.target, *node.args]
        function = self.plan.patterns.get(id(node))
        early_exit = function is not None or exits_early(node, len(arguments))
        if function is None:
            function = functions.resolve(node.function, node.overloads)
        cost = costs.call_cost(node.function, node.overloads)
        after = node.function in _MAY_PANIC and node.overloads != ("in_list",)
        if early_exit and len(arguments) > 1:
            return self._call_early_exit(arguments, function, cost, after)
        values = [self.atom(self.value(argument)) for argument in arguments]
        return self._call_values(values, function, cost, after)

    def _call_values(
        self, values: list[Value], function: functions.Function, cost: int | costs.CostFunction, after: bool
    ) -> Value:
        if after:
            self.flush()
        else:
            self._pay_call(cost, values, "None")
        text = f"{self.refer(function)}({', '.join([v.text for v in values])})"
        result = self._apply(text, values)
        if after:
            self._pay_call(cost, values, result.text)
        return result

    def _pay_call(self, cost: int | costs.CostFunction, values: list[Value], result: str) -> None:
        if isinstance(cost, int):
            self.pay(cost)
        elif self.limit is not None:
            self.pay_dynamic(cost, values, result)

    def _apply(self, text: str, arguments: list[Value]) -> Value:
        """The call in `text` unless an argument is an error, which is the result then."""
        failing = [a for a in arguments if a.fails]
        if not failing:
            return self.guard(text)
        result = self.name("t")
        keyword = "if"
        for argument in failing:
            self.emit(f"{keyword} {argument.text}.__class__ is {self.error}: {result} = {argument.text}")
            keyword = "elif"
        with self.block("else:"):
            self.assign_guarded(result, text)
        return Value(result, True)

    def _call_early_exit(
        self,
        arguments: list[Node],
        function: functions.Function,
        cost: int | costs.CostFunction,
        after: bool,
        known: tuple[Value, ...] = (),
    ) -> Value:
        """A call that an error in an argument ends before the next is evaluated; `known` are the arguments so far."""
        values = list(known)
        for argument in arguments[len(known) :]:
            value = self.atom(self.value(argument))
            values.append(value)
            if value.fails and len(values) < len(arguments):
                result = self.name("t")
                self.flush()
                self.emit(f"if {value.text}.__class__ is {self.error}: {result} = {value.text}")
                with self.block("else:"):
                    sound = tuple([Value(v.text, False, v.cls) for v in values])
                    rest = self._call_early_exit(arguments, function, cost, after, sound)
                    self.flush()
                    self.emit(f"{result} = {rest.text}")
                return Value(result, True)
        return self._call_values(values, function, cost, after)

    def _indexed(self, node: Call) -> Value:
        return self._paid_access(node)

    def _or(self, node: Call) -> Value:
        """`optional.or(optional)` and `optional.orValue(value)`: the argument is evaluated only if needed."""
        unwrap = node.function == "orValue"
        assert node.target is not None
        target = self.local(self.value(node.target))
        self.flush()
        result = self.name("t")
        with self.block(f"if {target.text}.__class__ is not {self.refer(Optional)}:"):
            error = f'{self.error}("no such overload")'
            text = (
                f"{target.text} if {target.text}.__class__ is {self.error} else {error}"
                if target.fails
                else error
            )
            self.emit(f"{result} = {text}")
        with self.block(f"elif {target.text} is {self.refer(NONE)}:"):
            other = self.value(node.args[0])
            self.flush()
            self.emit(f"{result} = {other.text}")
        self.emit(f"else: {result} = {target.text}{'.value' if unwrap else ''}")
        return Value(result, True)

    def _not_strictly_false(self, node: Call) -> Value:
        value = self.local(self.value(node.args[0]))
        self.pay(1)
        return Value(f"({value.text} is not False)", cls=bool)

    # ------------------------------------------------------------ logic

    def _logic(self, node: Call) -> Value:
        """`&&` and `||`: the first decisive operand decides, else the first error is the result."""
        decisive = "False" if node.function == "_&&_" else "True"
        neutral = "True" if node.function == "_&&_" else "False"
        result, failure = self.name("t"), self.name("t")
        self.emit(f"{result} = {neutral}")
        self.emit(f"{failure} = None")
        for position, term in enumerate(flatten(node)):
            if position:
                self.flush()
                with self.block(f"if {result} is {neutral}:"):
                    self._logic_term(term, result, failure, decisive, neutral)
                    self.flush()
            else:
                self._logic_term(term, result, failure, decisive, neutral)
        self.flush()
        self.emit(f"if {result} is {neutral} and {failure} is not None: {result} = {failure}")
        return Value(result, True, bool)

    def _logic_term(self, term: Node, result: str, failure: str, decisive: str, neutral: str) -> None:
        value = self.value(term)
        if value.cls is bool and not value.fails:
            self.emit(f"{result} = {value.text}")
            return
        value = self.local(value)
        self.emit(f"if {value.text} is {decisive}: {result} = {decisive}")
        with self.block(f"elif {value.text} is not {neutral} and {failure} is None:"):
            self.emit(f"{failure} = {self._as_error(value)}")

    def _as_error(self, value: Value) -> str:
        """What a value becomes that should be a bool: itself if it is an error."""
        error = f'{self.error}("no such overload")'
        if not value.fails:
            return error
        return f"{value.text} if {value.text}.__class__ is {self.error} else {error}"

    def _conditional(self, node: Call) -> Value:
        condition = self.local(self.value(node.args[0]))
        self.flush()
        result = self.name("t")
        fails = condition.fails or condition.cls is not bool
        classes = []
        for branch, test in zip(node.args[1:], ("True", "False"), strict=True):
            with self.block(f"{'if' if test == 'True' else 'elif'} {condition.text} is {test}:"):
                value = self.raw(branch)
                self.flush()
                self.emit(f"{result} = {value.text}")
            fails = fails or value.fails
            classes.append(value.cls)
        self.emit(f"else: {result} = {self._as_error(condition)}")
        return Value(result, fails, classes[0] if classes[0] is classes[1] else None)

    # ------------------------------------------------------------ literals

    def _list(self, node: ListLiteral) -> Value:
        builder = LiteralBuilder(self)
        texts = []
        for position, element in enumerate(node.elements):
            value = builder.add(element)
            if position in node.optionals:
                value = builder.unwrap(value, f"{self.refer(not_optional_element)}({value.text})")
                texts.append(f"*(() if {value.text} is {self.missing} else ({value.text},))")
            else:
                texts.append(value.text)
        result = builder.finish(f"[{', '.join(texts)}]", list)
        self.pay(costs.LIST_COST)
        return result

    def _map(self, node: MapLiteral) -> Value:
        builder = LiteralBuilder(self)
        pairs = []
        for entry in node.entries:
            key, value = builder.add(entry.key), builder.add(entry.value)
            if entry.optional:
                error = f"{self.refer(not_optional_entry)}({key.text}, {value.text})"
                value = builder.unwrap(value, error)
            pairs.append(f"({key.text}, {value.text})")
        self.flush()
        result = builder.finish(f"{self.refer(make_map)}([{', '.join(pairs)}])", None)
        self.pay(costs.MAP_COST)
        return result

    def _struct(self, node: StructLiteral) -> Value:
        builder = LiteralBuilder(self)
        pairs = []
        for field in node.fields:
            value = builder.add(field.value)
            if field.optional:
                error = f"{self.refer(not_optional_entry)}({field.name!r}, {value.text})"
                value = builder.unwrap(value, error)
            pairs.append(f"({field.name!r}, {value.text})")
        text = f"{self.refer(make_message)}({node.type_name!r}, [{', '.join(pairs)}])"
        result = builder.finish(text, None, may_raise=True)
        self.pay(costs.STRUCT_COST)
        return result

    # ------------------------------------------------------------ comprehensions

    def _comprehension(self, node: Comprehension) -> Value:
        if is_binding(node, self.plan):
            return self._binding(node)
        elements = self.local(self.value(node.iter_range))
        self.flush()
        result = self.name("t")
        keyword = "if"
        if elements.fails:
            self.emit(f"if {elements.text}.__class__ is {self.error}: {result} = {elements.text}")
            keyword = "elif"
        iterate = self.refer(operators.iterate_pairs if node.iter_var2 else operators.iterate)
        iterable = self.refer(_ITERABLE)
        with self.block(f"{keyword} {elements.text}.__class__ not in {iterable}:"):
            self.assign_guarded(result, f"{iterate}({elements.text})")
        with self.block("else:"):
            text = f"{iterate}({elements.text})" if node.iter_var2 else elements.text
            value = self._loop(node, text)
            self.emit(f"{result} = {value.text}")
        return Value(result, True)

    def _loop(self, node: Comprehension, elements: str) -> Value:
        accumulator = self.name("a")
        self.emit(f"{accumulator} = {self._initial(node.accu_init)}")
        outer, visible = dict(self.scope), len(self._visible)
        variables = [v for v in (node.iter_var, node.iter_var2) if v]
        self._declare(node.accu_var, Variable(accumulator, fails=True))
        names = [self.name("v") for _ in variables]
        for variable, name in zip(variables, names, strict=True):
            self._declare(variable, Variable(name))
        with self.block(f"for {', '.join(names)} in {elements}:"):
            condition = self.value(node.condition)
            self.flush()
            if condition.text != "True":
                self.emit(f"if {condition.text} is False: break")
            step = self.value(node.step)
            self.flush()
            self.emit(f"{accumulator} = {step.text}")
        self.scope = {**outer, node.accu_var: self.scope[node.accu_var]}
        del self._visible[visible + 1 :]
        value = self.value(node.result)
        self.flush()
        self.scope = outer
        del self._visible[visible:]
        return Value(f"{self.refer(freeze)}({value.text})", value.fails)

    def _initial(self, node: Node) -> str:
        value = self.plan.constants.get(id(node), MISSING)
        if value == []:
            return f"{self.refer(MutableList)}()"
        if value == {}:
            return f"{self.refer(GeneralMap)}()"
        return self.value(node).text

    def _binding(self, node: Comprehension) -> Value:
        """`cel.bind` and its kin: the variable is computed when it is first used."""
        outer, visible = dict(self.scope), len(self._visible)
        if self.plan.is_constant(node.accu_init):
            value = self.constant(self.plan.constants[id(node.accu_init)])
            text = self.temporary(f"{self.refer(thaw)}({value.text})") if value.cls is list else value.text
            self._declare(node.accu_var, Variable(text, value.fails, value.cls))
        elif self.limit is None:
            bound = self.value(node.accu_init)
            text = self.temporary(f"{self.refer(thaw)}({bound.text})")
            self._declare(node.accu_var, Variable(text, bound.fails, bound.cls))
        else:
            self._declare(node.accu_var, self._cell(node.accu_init))
        value = self.value(node.result)
        self.scope = outer
        del self._visible[visible:]
        return Value(self.temporary(f"{self.refer(freeze)}({value.text})"), value.fails, value.cls)

    def _cell(self, init: Node) -> Variable:
        """A variable whose value is computed by a function of its own."""
        self.flush()
        name, cell = self.name("f"), self.name("b")
        parameters = ", ".join(["d", "c", *self._locals()])
        with self._function(name, parameters):
            value = self.value(init)
            self._return(Value(f"{self.refer(thaw)}({value.text})"))
        self.emit(f"{cell} = [{self.missing}]")
        return Variable(f"{cell}[0]", value.fails, value.cls, f"{name}({parameters})")


def make_map(pairs: list[tuple[Any, Any]]) -> Any:
    """A map literal; an optional entry without value removes the entries before it that have its key."""
    if all(value is not MISSING for _, value in pairs):
        return operators.map_literal(pairs)
    kept: list[tuple[Any, Any]] = []
    for key, value in pairs:
        if value is MISSING:
            kept = [(k, v) for k, v in kept if k.__class__ is not key.__class__ or k != key]
        else:
            kept.append((key, value))
    return operators.map_literal(kept)


def freeze(value: Any) -> Any:
    """The result of a comprehension: an accumulator that was appended to in place becomes a list."""
    return list(value) if value.__class__ is MutableList else value


def thaw(value: Any) -> Any:
    """What a variable is bound to: an empty list becomes one that `+` appends to in place."""
    return MutableList() if value.__class__ in LIST_CLASSES and not len(value) else value


def flatten(node: Call) -> list[Node]:
    """The operands of a chain of the same logical operator."""
    terms: list[Node] = []
    stack: list[Node] = [node]
    while stack:
        term = stack.pop()
        if is_call(term, node.function):
            stack.extend(reversed(term.args))  # type: ignore[attr-defined]
        else:
            terms.append(term)
    return terms


def exits_early(node: Call, count: int) -> bool:
    """Whether an error in an argument ends the call before the following ones are evaluated."""
    if count > 2 or node.function in _EARLY_EXIT:
        return True
    if node.function in functions.SINGLETONS or node.function in ("matches", "sort", "@sortByAssociatedKeys"):
        return False
    return len(node.overloads) != 1


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
