"""The fast variant of programs: no counting, constants computed beforehand, Python expressions where types are known.

What cannot fail, or where a failure ends the evaluation anyway, becomes a plain Python expression. Everything else is
translated by `generator`, which calls back here for the parts. The result is the same as that of the exact variant,
but for the cost.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.ast import (
    CALL,
    IDENT,
    SELECT,
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Node,
    Select,
)
from deviceselectors.libraries import known
from deviceselectors.libraries.calls import resolve, result_class
from deviceselectors.libraries.function import Function, Run
from deviceselectors.runtime import operators, trees
from deviceselectors.runtime.accesses import DEVICE_FIELDS
from deviceselectors.runtime.generator import Generator, outcomes
from deviceselectors.runtime.inlines import Inline, Lookup, by_class, combined
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.shapes import flatten, operands, split_access
from deviceselectors.runtime.trees import Tree
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MISSING,
    CelError,
    CelPanic,
    DomainMap,
    EntryMap,
    Optional,
)
from deviceselectors.runtime.writer import PROGRAM, Value
from resourceapi.quantity import Quantity

_MAX_DEPTH = 20


class Attribute:
    """The class of device attributes: int, bool, str, Semver or list; never an optional or an error."""


def as_bool(value: Any) -> bool:
    """An operand of `&&`, `||` and `?:` that decides: it must be a bool."""
    if value is True or value is False:
        return value
    raise CelError("no such overload")


class FastGenerator(Generator):
    """Translates a plan into the fast variant."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, None)
        self._inlined: dict[int, Inline | None] = {}

    def value(self, node: Node) -> Value:
        """See `PlanWriter`; what can be a Python expression becomes one."""
        inline = self.inline(node)
        if inline is None:
            return super().value(node)
        if not inline.raises:
            return Value(inline.tree, False, inline.cls)
        if inline.lookup is not None:
            return self._guard_lookup(inline, inline.lookup)
        return Value(self.guard(inline.tree).tree, True, inline.cls)

    def _guard_lookup(self, inline: Inline, lookup: Lookup) -> Value:
        """An expression that begins with a lookup: a missing key is dealt with without an exception."""
        local = self.name("t")
        found = trees.name(local)
        key = lookup.key
        self.assign(local, trees.call_method(lookup.mapping, "get", key.tree, self.refer(MISSING)))
        if key.constant is MISSING:
            error = trees.call(self.refer(operators.no_such_key), key.tree)
        else:
            error = self.error(operators.no_such_key(key.constant).message)
        if inline.tree is lookup.tree:
            self.assign_when(self.is_missing(found), local, error)
            return Value(found, True, inline.cls)
        result = self.name("t")
        with self.when(self.is_missing(found)) as otherwise:
            self.assign(result, error)
        with self.otherwise(otherwise):
            self.assign_guarded(result, trees.replaced(inline.tree, lookup.tree, found))
        return Value(trees.name(result), True, inline.cls)

    def raw(self, node: Node) -> Value:
        """See `PlanWriter`."""
        return self.value(node) if self.inline(node) is not None else super().raw(node)

    def program(self) -> Any:
        """See `Generator`; a whole that is one Python expression needs no more than to return it."""
        inline = self.inline(self.plan.root)
        if inline is None or inline.lookup is not None:
            return super().program()
        with self.function(PROGRAM, ["d"]):
            self.emit(trees.give(inline.tree))
        return self.assemble()

    # ------------------------------------------------------------ expressions

    def inline(self, node: Node) -> Inline | None:
        """The node as a Python expression, None when it needs statements."""
        key = id(node)
        if key not in self._inlined:
            found = self._inline(node)
            self._inlined[key] = found if found is None or found.depth <= _MAX_DEPTH else None
        return self._inlined[key]

    def _inline(self, node: Node) -> Inline | None:
        constant = self.plan.constants.get(id(node), MISSING)
        if constant is not MISSING:
            return None if constant.__class__ is CelError else self._constant(constant)
        if node.kind == IDENT:
            return self._inline_ident(node)  # type: ignore[arg-type]
        if node.kind == SELECT:
            return self._inline_select(node)  # type: ignore[arg-type]
        if node.kind == CALL:
            return self._inline_call(node)  # type: ignore[arg-type]
        if isinstance(node, ListLiteral) and not node.optionals:
            elements = self._all_inline(node.elements)
            if elements is not None:
                tree = trees.array([e.tree for e in elements])
                return combined(tree, list, elements)
        return None

    def _constant(self, value: Any) -> Inline:
        constant = self.constant(value)
        return Inline(constant.tree, constant.cls, constant=value)

    def _all_inline(self, nodes: list[Node]) -> list[Inline] | None:
        inlines = []
        for node in nodes:
            inline = self.inline(node)
            if inline is None:
                return None
            inlines.append(inline)
        return inlines

    def _inline_ident(self, node: Ident) -> Inline | None:
        variable = self.scope.get(node.name)
        if variable is None:
            return Inline(self.whole_device().tree, dict)
        if variable.fails or variable.fill is not None:
            return None
        return Inline(variable.tree, variable.cls)

    # ------------------------------------------------------------ fields and elements

    def _inline_select(self, node: Select) -> Inline | None:
        if not node.test_only:
            return self._inline_access(node)
        operand = self.inline(node.operand)
        if operand is None:
            return None
        if operand.cls is EntryMap:
            found = trees.compare(self.refer(node.field), "in", operand.tree)
            return combined(found, bool, [operand])
        return None

    def _inline_access(self, node: Node) -> Inline | None:
        base, steps = split_access(node)
        if any(optional for _, optional in steps):
            return None
        if base.kind == IDENT and base.name == "device" and "device" not in self.scope:  # type: ignore[attr-defined]
            first = steps.pop(0)[0]
            if not isinstance(first, str):
                return None
            value = Inline(*DEVICE_FIELDS[first])
            capacity = first == "capacity"
        else:
            capacity = False
            found = self.inline(base)
            if (
                found is None
                or found.cls is None
                or found.cls is Optional
                or (found.cls is Attribute and not steps)
            ):
                return None
            value = found
        for key, _ in steps:
            stepped = self._inline_step(value, key, capacity)
            if stepped is None:
                return None
            value = stepped
        return value

    def _inline_step(self, value: Inline, key: Node | str, capacity: bool) -> Inline | None:
        if isinstance(key, str):
            key_value: Inline | None = self._constant(key)
        else:
            key_value = self.inline(key)
        if key_value is None:
            return None
        parts = [value, key_value]
        if key_value.cls is str and value.cls is DomainMap:
            return combined(trees.item(value.tree, key_value.tree), EntryMap, parts)
        if key_value.cls is str and value.cls is EntryMap:
            lookup = Lookup(value.tree, key_value)
            found = combined(lookup.tree, Quantity if capacity else Attribute, parts, raises=True)
            found.lookup = None if value.raises or key_value.raises else lookup
            return found
        is_checked = isinstance(key, str) or self.plan.is_constant(key)  # by the plan: folded ones are not
        access = self.refer(operators.access if is_checked else operators.access_any)
        return combined(trees.call(access, value.tree, key_value.tree), None, parts, raises=True)

    # ------------------------------------------------------------ calls

    def _inline_call(self, node: Call) -> Inline | None:
        name = node.function
        if name in _ACCESSES:
            return self._inline_access(node)
        special = _INLINE_CALLS.get(name)
        if special is not None:
            found: Inline | None = special(self, node)
        else:
            function = known(name)
            if function.is_statement:
                return None
            found = self._inline_function(node, function)
        if found is not None and found.raises and found.lookup is None and name not in _LAZY:
            found.lookup = _first_lookup([i for i in map(self.inline, operands(node)) if i is not None])
        return found

    def _inline_function(self, node: Call, function: Function) -> Inline | None:
        arguments = self._all_inline(operands(node))
        if arguments is None:
            return None
        run = self.plan.patterns.get(id(node)) or resolve(node.function, node.overloads)
        found = self._fold(run, arguments)
        if found is None and function.fast is not None:
            found = function.fast(self, node, arguments, run)
        if found is not None:
            return found
        tree = trees.call(self.refer(run), *[a.tree for a in arguments])
        return combined(tree, result_class(function, node.overloads), arguments, raises=True)

    def _fold(self, function: Run, arguments: list[Inline]) -> Inline | None:
        """A call of constants, computed now unless it fails."""
        if any(a.constant is MISSING for a in arguments) or not arguments:
            return None
        try:
            value = function(*[a.constant for a in arguments])
        except (CelError, CelPanic):
            return None
        if value.__class__ in _LARGE and len(value) > _MAX_FOLDED:
            return None
        return self._constant(value)

    def _inline_logic(self, node: Call) -> Inline | None:
        terms = self._all_inline(flatten(node))
        if terms is None or any(t.raises or t.cls is not bool for t in terms[:-1]):
            return None
        last = terms[-1]
        tests = [*[t.tree for t in terms[:-1]], self._as_test(last)]
        chain = trees.both(tests) if node.function == "_&&_" else trees.either(tests)
        return combined(chain, bool, terms, raises=last.cls is not bool)

    def _inline_conditional(self, node: Call) -> Inline | None:
        parts = self._all_inline(node.args)
        if parts is None:
            return None
        condition, first, second = parts
        cls = first.cls if first.cls is second.cls else None
        choice = trees.choose(self._as_test(condition), first.tree, second.tree)
        return combined(choice, cls, parts, raises=condition.cls is not bool)

    def _as_test(self, operand: Inline) -> Tree:
        return operand.tree if operand.cls is bool else trees.call(self.refer(as_bool), operand.tree)

    def _inline_in(self, node: Call) -> Inline | None:
        element = self.inline(node.args[0])
        if element is None:
            return None
        members = self.plan.members.get(id(node))
        if members is not None:
            return combined(self._is_member(element, members), bool, [element])
        container = self.inline(node.args[1])
        if container is None:
            return None
        parts = [element, container]
        if element.cls is str and container.cls in (DomainMap, EntryMap):
            return combined(trees.compare(element.tree, "in", container.tree), bool, parts)
        found = trees.call(self.refer(operators.contains), element.tree, container.tree)
        is_container = container.cls in (list, DomainMap, EntryMap)
        return combined(found, bool, parts, raises=not is_container)

    def _is_member(self, element: Inline, members: frozenset[tuple[str, Any]]) -> Tree:
        """`element in [constants]`: by Python's own means where all of them are texts."""

        def slow(value: Tree) -> Tree:
            return trees.call(self.refer(operators.in_members), value, self.refer(members))

        texts = frozenset(value for kind, value in members if kind == "string")
        if len(texts) < len(members):
            return slow(element.tree)
        return by_class(self, element, str, lambda value: trees.compare(value, "in", self.refer(texts)), slow)

    def _inline_equality(self, node: Call) -> Inline | None:
        sides = self._all_inline(node.args)
        if sides is None:
            return None
        left, right = sides
        negated = node.function == "_!=_"
        operator = "!=" if negated else "=="
        same_in_python = trees.compare(left.tree, operator, right.tree)
        if left.cls in _SAME_IN_PYTHON and left.cls is right.cls:
            return combined(same_in_python, bool, sides)
        if left.cls is Attribute and (right.cls is str or _is_plain_number(right.constant)):
            # Semver's own == raises what CEL's does
            return combined(same_in_python, bool, sides, raises=not negated)
        function = self.refer(operators.not_equal if negated else operators.equal)
        if left.cls is Attribute and right.constant.__class__ in (int, bool):
            tree = by_class(
                self,
                left,
                right.constant.__class__,
                lambda value: trees.compare(value, operator, right.tree),
                lambda value: trees.call(function, value, right.tree),
            )
            return combined(tree, bool, sides, raises=not negated)
        safe = negated or left.cls in _NEVER_UNEQUAL
        return combined(trees.call(function, left.tree, right.tree), bool, sides, raises=not safe)

    def _inline_not(self, node: Call) -> Inline | None:
        operand = self.inline(node.args[0])
        if operand is None:
            return None
        if operand.cls is bool:
            return combined(trees.negated(operand.tree), bool, [operand])
        tree = trees.call(self.refer(operators.logical_not), operand.tree)
        return combined(tree, bool, [operand], raises=True)

    # ------------------------------------------------------------ optionals

    def _or(self, node: Call) -> Value:
        optional = self._plain_optional(node.target)
        if node.function != "orValue" or optional is None:
            return super()._or(node)
        local, fails = optional
        found = trees.name(local)
        other = self.inline(node.args[0])
        if other is not None and not other.raises:
            value_or_other = trees.choose(self.is_missing(found), other.tree, found)
            return Value(self.temporary(value_or_other), fails)
        with self.when(self.is_missing(found)):
            value = self.value(node.args[0])
            self.assign(local, value.tree)
        return Value(found, fails or value.fails)

    def _call(self, node: Call) -> Value:
        if node.function == "hasValue":
            optional = self._plain_optional(node.target)
            if optional is not None:
                local, fails = optional
                found = trees.name(local)
                has_value = self.is_there(found)
                if fails:
                    has_value = trees.choose(self.is_error(found), found, has_value)
                return Value(self.temporary(has_value), fails, bool)
        return super()._call(node)

    def _plain_optional(self, node: Node | None) -> tuple[str, bool] | None:
        """`base.?a.?b` as a local that is `MISSING` instead of `optional.none()`, and whether it may be an error."""
        if node is None or node.kind not in (CALL, SELECT):
            return None
        base, steps = split_access(node)
        first = next((i for i, (_, optional) in enumerate(steps) if optional), None)
        if first is None:
            return None
        plain = node
        for _ in steps[first:]:
            plain = plain.operand if isinstance(plain, Select) else plain.args[0]  # type: ignore[attr-defined]
        start = self._start(plain, base, first)
        keys = self._constant_keys(steps[first:])
        if start is None or keys is None:
            return None
        if start.cls is DomainMap:
            # every domain is there
            domain = trees.item(start.tree, self.refer(keys.pop(0)))
            start = Inline(domain, EntryMap, raises=start.raises)
        if not keys or start.raises:
            return None
        local = self.name("t")
        found = trees.name(local)
        if start.cls is EntryMap:
            entry = trees.call_method(start.tree, "get", self.refer(keys.pop(0)), self.refer(MISSING))
            self.assign(local, entry)
        else:
            self.assign(local, start.tree)
        for key in keys:
            with self.when(trees.both([self.is_there(found), self.is_no_error(found)])):
                self.assign_guarded(local, trees.call(self.refer(operators.lookup), found, self.refer(key)))
        return local, bool(keys)

    def _start(self, plain: Node, base: Node, steps: int) -> Inline | None:
        if steps or base.kind != IDENT:
            start = self.inline(plain)
            return start if start is not None and start.cls in (DomainMap, EntryMap, dict) else None
        return None

    def _constant_keys(self, steps: list[tuple[Node | str, bool]]) -> list[Any] | None:
        keys = []
        for key, _ in steps:
            value = key if isinstance(key, str) else self.plan.constants.get(id(key), MISSING)
            if value.__class__ is not str:
                return None
            keys.append(value)
        return keys

    # ------------------------------------------------------------ comprehensions

    def _comprehension(self, node: Comprehension) -> Value:
        if node.macro in ("all", "exists") and self.inline(node.iter_range) is not None:
            return self._quantifier(node)
        return super()._comprehension(node)

    def _quantifier(self, node: Comprehension) -> Value:
        """`all` and `exists`: the first decisive element ends the loop, else the first error is the result."""
        elements = self.atom(self.value(node.iter_range))
        result = self.name("t")
        is_iterable = elements.cls in (list, DomainMap, EntryMap)
        with self.going_through(node, elements, result, is_iterable=is_iterable) as rounds:
            fails = self._quantify(node, rounds, result, elements.cls)
        return Value(trees.name(result), fails or not is_iterable or elements.fails, bool)

    def _quantify(self, node: Comprehension, elements: Tree, result: str, cls: type | None) -> bool:
        decisive, neutral = outcomes(conjunction=node.macro == "all")
        self.assign(result, neutral)
        keys = str if cls in (DomainMap, EntryMap) and not node.iter_var2 else None
        body = flatten(node.step)[1:]  # type: ignore[arg-type]
        with self.new_scope(), self.loop(self.loop_variables(node, keys), elements):
            value = self.atom(self._rest_of_step(node, body))
            decides = trees.compare(value.tree, "is", decisive)
            self.emit(trees.when(decides, [trees.assign(result, decisive), trees.STOP], []))
            fails = value.fails or value.cls is not bool
            if fails:
                first_failure = trees.both(
                    [
                        trees.compare(value.tree, "is not", neutral),
                        trees.compare(trees.name(result), "is", neutral),
                    ]
                )
                self.assign_when(first_failure, result, self._as_error(value))
        return fails

    def _rest_of_step(self, node: Comprehension, body: list[Node]) -> Value:
        """The operand beside the accumulator in the step of the loop."""
        step = node.step
        assert isinstance(step, Call)
        if len(body) == 1:
            return self.value(body[0])
        return self.value(step.args[1])


def _first_lookup(parts: list[Inline]) -> Lookup | None:
    """The lookup that the first operand begins with that may raise."""
    for part in parts:
        if part.raises:
            return part.lookup
    return None


def _is_plain_number(value: Any) -> bool:
    """A constant int that no bool equals in Python, and no double in CEL only."""
    return value.__class__ is int and value not in (0, 1) and abs(value) < 1 << 53


_ACCESSES = frozenset(("_[_]", "_[?_]", "_?._"))
#: Calls that may leave operands unevaluated.
_LAZY = frozenset(("_&&_", "_||_", "_?_:_"))
_LARGE = frozenset((str, bytes, *LIST_CLASSES))
_MAX_FOLDED = 4096
_SAME_IN_PYTHON = frozenset((str, int, bool, bytes))
_NEVER_UNEQUAL = frozenset((str, int, bool, bytes, float))
_INLINE_CALLS: dict[str, Any] = {
    "_&&_": FastGenerator._inline_logic,
    "_||_": FastGenerator._inline_logic,
    "_?_:_": FastGenerator._inline_conditional,
    "@in": FastGenerator._inline_in,
    "_==_": FastGenerator._inline_equality,
    "_!=_": FastGenerator._inline_equality,
    "!_": FastGenerator._inline_not,
}
