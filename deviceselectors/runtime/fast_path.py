"""The fast variant of programs: no counting, constants computed beforehand, Python expressions where types are known.

What cannot fail, or where a failure ends the evaluation anyway, becomes a plain Python expression. Everything else is
translated by `generator`, which calls back here for the parts. The result is the same as that of the exact variant,
but for the cost.
"""

from __future__ import annotations

from collections.abc import Callable
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
from deviceselectors.declarations import find_function
from deviceselectors.environment import Environment
from deviceselectors.runtime import functions, operators, quantities, semvers, trees
from deviceselectors.runtime.accesses import DEVICE_FIELDS
from deviceselectors.runtime.functions import CLASSES
from deviceselectors.runtime.generator import Generator, outcomes
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.regexes import RegexError, compile_regex
from deviceselectors.runtime.shapes import flatten, split_access
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
_EVERYTHING = Environment("stored")


class Attribute:
    """The class of device attributes: int, bool, str, Semver or list; never an optional or an error."""


class Inline:
    """A Python expression.

    `raises` tells whether it may raise a `CelError`; `cls` is the class of its value if that is certain, `constant` the
    value itself if it is known. `lookup` is the part of the tree, a look-up by key, that comes first of all that may
    raise.
    """

    __slots__ = ("cls", "constant", "depth", "lookup", "raises", "tree")

    def __init__(
        self,
        tree: Tree,
        cls: type | None,
        raises: bool,
        depth: int = 0,
        constant: Any = MISSING,
    ) -> None:
        self.tree = tree
        self.cls = cls
        self.raises = raises
        self.depth = depth
        self.constant = constant
        self.lookup: Lookup | None = None


class Lookup:
    """`mapping[key]` in an expression."""

    __slots__ = ("key", "mapping", "tree")

    def __init__(self, mapping: Tree, key: Inline) -> None:
        self.mapping = mapping
        self.key = key
        self.tree = trees.item(mapping, key.tree)


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
        return self.value(node) if self.inline(node) is not None else super().raw(node)

    def program(self) -> Any:
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
                return Inline(tree, list, _any_raises(elements), _depth(elements))
        return None

    def _constant(self, value: Any) -> Inline:
        constant = self.constant(value)
        return Inline(constant.tree, constant.cls, False, 0, value)

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
            return Inline(self.whole_device().tree, dict, False)
        if variable.fails or variable.fill is not None:
            return None
        return Inline(variable.tree, variable.cls, False)

    # ------------------------------------------------------------ fields and elements

    def _inline_select(self, node: Select) -> Inline | None:
        if not node.test_only:
            return self._inline_access(node)
        operand = self.inline(node.operand)
        if operand is None:
            return None
        if operand.cls is EntryMap:
            found = trees.compare(self.refer(node.field), "in", operand.tree)
            return Inline(found, bool, operand.raises, operand.depth + 1)
        return None

    def _inline_access(self, node: Node) -> Inline | None:
        base, steps = split_access(node)
        if any(optional for _, optional in steps):
            return None
        if base.kind == IDENT and base.name == "device" and "device" not in self.scope:  # type: ignore[attr-defined]
            first = steps.pop(0)[0]
            if not isinstance(first, str):
                return None
            value = Inline(*DEVICE_FIELDS[first], False)
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
        raises, depth = value.raises or key_value.raises, max(value.depth, key_value.depth) + 1
        if key_value.cls is str and value.cls is DomainMap:
            return Inline(trees.item(value.tree, key_value.tree), EntryMap, raises, depth)
        if key_value.cls is str and value.cls is EntryMap:
            lookup = Lookup(value.tree, key_value)
            found = Inline(lookup.tree, Quantity if capacity else Attribute, True, depth)
            found.lookup = None if raises else lookup
            return found
        is_checked = isinstance(key, str) or self.plan.is_constant(key)  # by the plan: folded ones are not
        access = self.refer(operators.access if is_checked else operators.access_any)
        return Inline(trees.call(access, value.tree, key_value.tree), None, True, depth)

    # ------------------------------------------------------------ calls

    def _inline_call(self, node: Call) -> Inline | None:
        name = node.function
        if name in _ACCESSES:
            return self._inline_access(node)
        special = _INLINE_CALLS.get(name)
        if special is not None:
            found: Inline | None = special(self, node)
        elif name in _STATEMENTS:
            return None
        else:
            found = self._inline_function(node)
        if found is not None and found.raises and found.lookup is None and name not in _LAZY:
            operands = node.args if node.target is None else [node.target, *node.args]
            found.lookup = _first_lookup([i for i in map(self.inline, operands) if i is not None])
        return found

    def _inline_function(self, node: Call) -> Inline | None:
        name = node.function
        nodes = node.args if node.target is None else [node.target, *node.args]
        arguments = self._all_inline(nodes)
        if arguments is None:
            return None
        pattern = self.plan.patterns.get(id(node))
        function = pattern or functions.resolve(name, node.overloads)
        folded = self._fold(function, arguments)
        if folded is not None:
            return folded
        specialised = _SPECIALISED.get(name)
        if specialised is not None:
            result: Inline | None = specialised(self, node, arguments, function)
            if result is not None:
                return result
        tree = trees.call(self.refer(function), *[a.tree for a in arguments])
        return Inline(tree, _result_class(node), True, _depth(arguments))

    def _fold(self, function: functions.Function, arguments: list[Inline]) -> Inline | None:
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
        return Inline(chain, bool, last.raises or last.cls is not bool, _depth(terms))

    def _inline_conditional(self, node: Call) -> Inline | None:
        parts = self._all_inline(node.args)
        if parts is None:
            return None
        condition, first, second = parts
        cls = first.cls if first.cls is second.cls else None
        raises = _any_raises(parts) or condition.cls is not bool
        choice = trees.choose(self._as_test(condition), first.tree, second.tree)
        return Inline(choice, cls, raises, _depth(parts))

    def _as_test(self, operand: Inline) -> Tree:
        return operand.tree if operand.cls is bool else trees.call(self.refer(as_bool), operand.tree)

    def _inline_in(self, node: Call) -> Inline | None:
        element = self.inline(node.args[0])
        if element is None:
            return None
        members = self.plan.members.get(id(node))
        depth = element.depth + 1
        if members is not None:
            return Inline(self._is_member(element, members), bool, element.raises, depth)
        container = self.inline(node.args[1])
        if container is None:
            return None
        raises, depth = element.raises or container.raises, max(depth, container.depth + 1)
        if element.cls is str and container.cls in (DomainMap, EntryMap):
            return Inline(trees.compare(element.tree, "in", container.tree), bool, raises, depth)
        found = trees.call(self.refer(operators.contains), element.tree, container.tree)
        known = container.cls in (list, DomainMap, EntryMap)
        return Inline(found, bool, raises or not known, depth)

    def _is_member(self, element: Inline, members: frozenset[tuple[str, Any]]) -> Tree:
        """`element in [constants]`: by Python's own means where all of them are texts."""

        def slow(value: Tree) -> Tree:
            return trees.call(self.refer(operators.in_members), value, self.refer(members))

        texts = frozenset(value for kind, value in members if kind == "string")
        if len(texts) < len(members):
            return slow(element.tree)
        return self._by_class(element, str, lambda value: trees.compare(value, "in", self.refer(texts)), slow)

    def _by_class(self, value: Inline, cls: type, then: _Use, otherwise: _Use) -> Tree:
        """One use of the value if it is of a class, another if not."""
        if value.cls is cls:
            return then(value.tree)
        if trees.is_atom(value.tree):
            return trees.choose(self.is_class(value.tree, cls), then(value.tree), otherwise(value.tree))
        local = self.name("t")
        test = self.is_class(trees.named(local, value.tree), cls)
        return trees.choose(test, then(trees.name(local)), otherwise(trees.name(local)))

    def _compared_quantity(self, value: Tree, other: Quantity, test: _Test) -> Tree:
        """A test of a quantity and a constant one: most have the same scale, so that the mantissas tell."""
        local = self.name("t")
        quantity = trees.name(local)
        scale = trees.attribute(trees.named(local, value), "scale")
        return trees.choose(
            trees.compare(scale, "==", self.refer(other.scale)),
            test(trees.attribute(quantity, "mantissa"), self.refer(other.mantissa)),
            test(trees.call_method(quantity, "cmp", self.refer(other)), trees.number(0)),
        )

    def _inline_equality(self, node: Call) -> Inline | None:
        operands = self._all_inline(node.args)
        if operands is None:
            return None
        left, right = operands
        negated = node.function == "_!=_"
        raises, depth = _any_raises(operands), _depth(operands)
        operator = "!=" if negated else "=="
        same_in_python = trees.compare(left.tree, operator, right.tree)
        if left.cls in _SAME_IN_PYTHON and left.cls is right.cls:
            return Inline(same_in_python, bool, raises, depth)
        if left.cls is Attribute and (right.cls is str or _is_plain_number(right.constant)):
            # Semver's own == raises what CEL's does
            return Inline(same_in_python, bool, raises or not negated, depth)
        function = self.refer(operators.not_equal if negated else operators.equal)
        if left.cls is Attribute and right.constant.__class__ in (int, bool):
            tree = self._by_class(
                left,
                right.constant.__class__,
                lambda value: trees.compare(value, operator, right.tree),
                lambda value: trees.call(function, value, right.tree),
            )
            return Inline(tree, bool, raises or not negated, depth)
        safe = negated or left.cls in _NEVER_UNEQUAL
        return Inline(trees.call(function, left.tree, right.tree), bool, raises or not safe, depth)

    def _inline_not(self, node: Call) -> Inline | None:
        operand = self.inline(node.args[0])
        if operand is None:
            return None
        if operand.cls is bool:
            return Inline(trees.negated(operand.tree), bool, operand.raises, operand.depth + 1)
        tree = trees.call(self.refer(operators.logical_not), operand.tree)
        return Inline(tree, bool, True, operand.depth + 1)

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
            start = Inline(domain, EntryMap, start.raises)
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


def _any_raises(parts: list[Inline]) -> bool:
    return any(p.raises for p in parts)


def _depth(parts: list[Inline]) -> int:
    return 1 + max([p.depth for p in parts], default=0)


def _is_plain_number(value: Any) -> bool:
    """A constant int that no bool equals in Python, and no double in CEL only."""
    return value.__class__ is int and value not in (0, 1) and abs(value) < 1 << 53


def _result_class(node: Call) -> type | None:
    """The class of what a call gives, when its declaration promises it."""
    if node.function in functions.SINGLETONS or node.function in ("min", "max"):
        return _SINGLETON_CLASSES.get(node.function)
    declared = find_function(node.function, _EVERYTHING) or ()
    kinds = {o.result.kind for o in declared if not node.overloads or o.id in node.overloads}
    return CLASSES.get(kinds.pop()) if len(kinds) == 1 else None


#: A tree made from another one, and from two others.
_Use = Callable[[Tree], Tree]
_Test = Callable[[Tree, Tree], Tree]
_Specialised = Callable[["FastGenerator", Call, list[Inline], functions.Function], Inline | None]


def _greater(left: Tree, right: Tree) -> Tree:
    return trees.compare(left, ">", right)


def _less(left: Tree, right: Tree) -> Tree:
    return trees.compare(left, "<", right)


def _order(left: Tree, right: Tree) -> Tree:
    """-1, 0 or 1"""
    return trees.compute(_greater(left, right), "-", _less(left, right))


def _starts_with(text: Tree, other: Tree) -> Tree:
    return trees.call_method(text, "startswith", other)


def _ends_with(text: Tree, other: Tree) -> Tree:
    return trees.call_method(text, "endswith", other)


def _contains(text: Tree, other: Tree) -> Tree:
    return trees.compare(other, "in", text)


def _comparison(operator: str) -> _Specialised:
    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        left, right = arguments
        raises, depth = _any_raises(arguments), _depth(arguments)
        if left.cls in _ORDERED_IN_PYTHON and left.cls is right.cls:
            return Inline(trees.compare(left.tree, operator, right.tree), bool, raises, depth)
        if right.constant is not MISSING and right.cls in _ORDERED_IN_PYTHON:
            result = self._by_class(
                left,
                right.cls,
                lambda value: trees.compare(value, operator, right.tree),
                lambda value: trees.call(self.refer(function), value, right.tree),
            )
            return Inline(result, bool, True, depth)
        return None

    return specialise


def _text_test(test: _Test) -> _Specialised:
    """A function of a text and another text that Python has."""

    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        text, other = arguments
        if other.cls is not str or (other.raises and test is _contains):
            return None
        if text.cls is not str and not trees.is_atom(other.tree):
            return None  # it would stand in the result twice
        result = self._by_class(
            text,
            str,
            lambda value: test(value, other.tree),
            lambda value: trees.call(self.refer(function), value, other.tree),
        )
        return Inline(result, bool, text.raises or other.raises or text.cls is not str, _depth(arguments))

    return specialise


def _matches(
    self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
) -> Inline | None:
    text, pattern = arguments
    if pattern.constant.__class__ is not str:
        return None
    try:
        search = self.refer(compile_regex(pattern.constant).search)
    except RegexError:
        return None
    result = self._by_class(
        text,
        str,
        lambda value: trees.compare(trees.call(search, value), "is not", trees.NULL),
        lambda value: trees.call(self.refer(function), value, self.refer("")),
    )
    return Inline(result, bool, text.raises or text.cls is not str, text.depth + 1)


def _ordering(test: _Test) -> _Specialised:
    """Comparisons of quantities and versions with a constant."""

    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        value, other = arguments
        cls = other.constant.__class__
        if cls not in (Quantity, semvers.Semver):
            return None
        kind = int if node.function == "compareTo" else bool
        if value.cls is Quantity and cls is Quantity:
            tree = self._compared_quantity(value.tree, other.constant, test)
            return Inline(tree, kind, value.raises, _depth(arguments))

        if value.cls is cls and test is _order and not trees.is_atom(value.tree):
            return None  # it would stand in the result twice

        def of_quantity(value: Tree) -> Tree:
            return test(trees.call_method(value, "cmp", other.tree), trees.number(0))

        def of_version(value: Tree) -> Tree:
            return test(trees.attribute(value, "key"), self.refer(other.constant.key))

        tree = self._by_class(
            value,
            cls,
            of_quantity if cls is Quantity else of_version,
            lambda value: trees.call(self.refer(function), value, other.tree),
        )
        return Inline(tree, kind, value.raises or value.cls is not cls, _depth(arguments))

    return specialise


def _arithmetic(operator: str) -> _Specialised:
    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        left, right = arguments
        if left.cls is not right.cls or left.cls not in (int, float):
            return None
        result = trees.compute(left.tree, operator, right.tree)
        depth = _depth(arguments)
        if left.cls is float:
            return Inline(result, float, _any_raises(arguments), depth)
        return Inline(trees.call(self.refer(operators.checked_int), result), int, True, depth)

    return specialise


def _divide(
    self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
) -> Inline | None:
    left, right = arguments
    divisor = right.constant
    if left.cls is float and divisor.__class__ is float and divisor:
        return Inline(trees.compute(left.tree, "/", right.tree), float, left.raises, left.depth + 1)
    if left.cls is int and divisor.__class__ is int and divisor > 0:
        local = self.name("t")
        dividend = trees.name(local)
        # Python rounds down, CEL towards zero
        result = trees.choose(
            trees.compare(trees.named(local, left.tree), ">=", trees.number(0)),
            trees.compute(dividend, "//", right.tree),
            trees.minus(trees.compute(trees.minus(dividend), "//", right.tree)),
        )
        return Inline(result, int, left.raises, left.depth + 1)
    return None


def _size(
    self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
) -> Inline | None:
    (value,) = arguments

    def length(value: Tree) -> Tree:
        return trees.call(self.refer(len), value)

    if value.cls in (str, list, DomainMap, EntryMap):
        return Inline(length(value.tree), int, value.raises, value.depth + 1)
    result = self._by_class(value, str, length, lambda value: trees.call(self.refer(function), value))
    return Inline(result, int, True, value.depth + 1)


def _quantity_method(cls: type, raises: bool) -> _Specialised:
    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        value = arguments[0]
        if value.cls is not Quantity or len(arguments) != 1:
            return None
        result = trees.call(self.refer(_QUANTITY_FUNCTIONS[node.function]), value.tree)
        return Inline(result, cls, raises or value.raises, value.depth + 1)

    return specialise


_QUANTITY_FUNCTIONS: dict[str, Any] = {
    "asInteger": quantities.as_integer,
    "asApproximateFloat": quantities.as_approximate_float,
}
_ACCESSES = frozenset(("_[_]", "_[?_]", "_?._"))
#: Calls that may leave operands unevaluated.
_LAZY = frozenset(("_&&_", "_||_", "_?_:_"))
_STATEMENTS = frozenset(("or", "orValue", "hasValue", "value", "cel.@mapInsert", "@not_strictly_false"))
_LARGE = frozenset((str, bytes, *LIST_CLASSES))
_MAX_FOLDED = 4096
_SAME_IN_PYTHON = frozenset((str, int, bool, bytes))
_NEVER_UNEQUAL = frozenset((str, int, bool, bytes, float))
_ORDERED_IN_PYTHON = frozenset((str, int, bytes))
_SINGLETON_CLASSES: dict[str, type] = {
    **dict.fromkeys(("!_", "_<_", "_<=_", "_>_", "_>=_", "_==_", "_!=_", "@in"), bool),
    "size": int,
}

_INLINE_CALLS: dict[str, Any] = {
    "_&&_": FastGenerator._inline_logic,
    "_||_": FastGenerator._inline_logic,
    "_?_:_": FastGenerator._inline_conditional,
    "@in": FastGenerator._inline_in,
    "_==_": FastGenerator._inline_equality,
    "_!=_": FastGenerator._inline_equality,
    "!_": FastGenerator._inline_not,
}

_SPECIALISED: dict[str, Any] = {
    "_<_": _comparison("<"),
    "_<=_": _comparison("<="),
    "_>_": _comparison(">"),
    "_>=_": _comparison(">="),
    "_+_": _arithmetic("+"),
    "_-_": _arithmetic("-"),
    "_*_": _arithmetic("*"),
    "_/_": _divide,
    "startsWith": _text_test(_starts_with),
    "endsWith": _text_test(_ends_with),
    "contains": _text_test(_contains),
    "matches": _matches,
    "isGreaterThan": _ordering(_greater),
    "isLessThan": _ordering(_less),
    "compareTo": _ordering(_order),
    "size": _size,
    "asInteger": _quantity_method(int, raises=True),
    "asApproximateFloat": _quantity_method(float, raises=False),
}
