"""The fast variant of programs: no counting, constants computed beforehand, Python expressions where types are known.

What cannot fail, or where a failure ends the evaluation anyway, becomes a plain Python expression. Everything else is
translated by `generator`, which calls back here for the parts. The result is the same as that of the exact variant,
but for the cost.
"""

from __future__ import annotations

import ast
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
from deviceselectors.runtime import functions, operators, quantities, semvers
from deviceselectors.runtime.accesses import DEVICE_FIELDS, split_access
from deviceselectors.runtime.emitter import Value
from deviceselectors.runtime.functions import CLASSES
from deviceselectors.runtime.generator import (
    Generator,
    flatten,
)
from deviceselectors.runtime.planning import Plan
from deviceselectors.runtime.regexes import RegexError, compile_regex
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MISSING,
    CelError,
    CelPanic,
    DomainMap,
    EntryMap,
    Optional,
)
from resourceapi.quantity import Quantity

_MAX_DEPTH = 20
_EVERYTHING = Environment("stored")


class Attribute:
    """The class of device attributes: int, bool, str, Semver or list; never an optional or an error."""


class Inline:
    """A Python expression in parentheses, or a name or literal.

    `raises` tells whether it may raise a `CelError`; `cls` is the class of its value if that is certain, `constant` the
    value itself if it is known. `lookup` is a map and a key in the text whose lookup comes first of all that may raise.
    """

    __slots__ = ("cls", "constant", "depth", "lookup", "raises", "text")

    def __init__(
        self,
        text: str,
        cls: type | None,
        raises: bool,
        depth: int = 0,
        constant: Any = MISSING,
        lookup: tuple[str, str] | None = None,
    ) -> None:
        self.text = text
        self.cls = cls
        self.raises = raises
        self.depth = depth
        self.constant = constant
        self.lookup = lookup


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
            return Value(inline.text, False, inline.cls)
        if inline.lookup is not None:
            return self._guard_lookup(inline, *inline.lookup)
        return Value(self.guard(inline.text).text, True, inline.cls)

    def _guard_lookup(self, inline: Inline, mapping: str, key: str) -> Value:
        """An expression that begins with a lookup: a missing key is dealt with without an exception."""
        found = self.temporary(f"{mapping}.get({key}, {self.missing})")
        text = inline.text.replace(f"{mapping}[{key}]", found)
        error = f"{self.refer(operators.no_such_key)}({key})"
        if key[0] in "'\"":
            error = f"{self.error}({'no such key: ' + ast.literal_eval(key)!r})"
        if text == found:
            self.emit(f"if {found} is {self.missing}: {found} = {error}")
            return Value(found, True, inline.cls)
        result = self.name("t")
        with self.block(f"if {found} is {self.missing}:"):
            self.emit(f"{result} = {error}")
        with self.block("else:"):
            self.assign_guarded(result, text)
        return Value(result, True, inline.cls)

    def raw(self, node: Node) -> Value:
        return self.value(node) if self.inline(node) is not None else super().raw(node)

    def program(self) -> Any:
        inline = self.inline(self.plan.root)
        if inline is None or inline.lookup is not None:
            return super().program()
        with self._function("program", "d"):
            self.emit(f"return {inline.text}")
        return self.compile()

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
                text = f"[{', '.join([e.text for e in elements])}]"
                return Inline(text, list, _any_raises(elements), _depth(elements))
        return None

    def _constant(self, value: Any) -> Inline:
        constant = self.constant(value)
        return Inline(constant.text, constant.cls, False, 0, value)

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
            return Inline("d.as_map()", dict, False)
        if variable.fails or variable.fill:
            return None
        return Inline(variable.text, variable.cls, False)

    # ------------------------------------------------------------ fields and elements

    def _inline_select(self, node: Select) -> Inline | None:
        if not node.test_only:
            return self._inline_access(node)
        operand = self.inline(node.operand)
        if operand is None:
            return None
        if operand.cls is EntryMap:
            return Inline(f"({node.field!r} in {operand.text})", bool, operand.raises, operand.depth + 1)
        return None

    def _inline_access(self, node: Node) -> Inline | None:
        base, steps = split_access(node)
        if any(optional for _, optional in steps):
            return None
        if base.kind == IDENT and base.name == "device" and "device" not in self.scope:  # type: ignore[attr-defined]
            first = steps.pop(0)[0]
            if not isinstance(first, str):
                return None
            text, cls = DEVICE_FIELDS[first]
            value = Inline(text, cls, False)
        else:
            found = self.inline(base)
            if (
                found is None
                or found.cls is None
                or found.cls is Optional
                or (found.cls is Attribute and not steps)
            ):
                return None
            value = found
        capacity = value.text == "d.capacity"
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
            return Inline(f"{value.text}[{key_value.text}]", EntryMap, raises, depth)
        if key_value.cls is str and value.cls is EntryMap:
            cls = Quantity if capacity else Attribute
            lookup = None if raises else (value.text, key_value.text)
            return Inline(f"{value.text}[{key_value.text}]", cls, True, depth, lookup=lookup)
        access = self.refer(operators.access if key_value.constant is not MISSING else operators.access_any)
        return Inline(f"{access}({value.text}, {key_value.text})", None, True, depth)

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
        text = f"{self.refer(function)}({', '.join([a.text for a in arguments])})"
        return Inline(text, _result_class(node), True, _depth(arguments))

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
        texts = [t.text for t in terms]
        last = terms[-1]
        if last.cls is not bool:
            texts[-1] = f"{self.refer(as_bool)}({last.text})"
        operator = " and " if node.function == "_&&_" else " or "
        return Inline(f"({operator.join(texts)})", bool, last.raises or last.cls is not bool, _depth(terms))

    def _inline_conditional(self, node: Call) -> Inline | None:
        parts = self._all_inline(node.args)
        if parts is None:
            return None
        condition, first, second = parts
        test = condition.text if condition.cls is bool else f"{self.refer(as_bool)}({condition.text})"
        cls = first.cls if first.cls is second.cls else None
        raises = _any_raises(parts) or condition.cls is not bool
        return Inline(f"({first.text} if {test} else {second.text})", cls, raises, _depth(parts))

    def _inline_in(self, node: Call) -> Inline | None:
        element = self.inline(node.args[0])
        if element is None:
            return None
        members = self.plan.members.get(id(node))
        depth = element.depth + 1
        if members is not None:
            slow = f"{self.refer(operators.in_members)}({{0}}, {self.refer(members)})"
            texts = {value for kind, value in members if kind == "string"}
            if len(texts) < len(members):
                return Inline(f"{slow.format(element.text)}", bool, element.raises, depth)
            plain = self.refer(frozenset(texts))
            if element.cls is str:
                return Inline(f"({element.text} in {plain})", bool, element.raises, depth)
            return Inline(
                self._by_class(element, str, f"{{0}} in {plain}", slow), bool, element.raises, depth
            )
        container = self.inline(node.args[1])
        if container is None:
            return None
        raises, depth = element.raises or container.raises, max(depth, container.depth + 1)
        if element.cls is str and container.cls in (DomainMap, EntryMap):
            return Inline(f"({element.text} in {container.text})", bool, raises, depth)
        text = f"{self.refer(operators.contains)}({element.text}, {container.text})"
        known = container.cls in (list, DomainMap, EntryMap)
        return Inline(text, bool, raises or not known, depth)

    def _by_class(self, value: Inline, cls: type, then: str, otherwise: str) -> str:
        """One text for values of a class, another for the rest; `{0}` stands for the value."""
        if value.cls is cls:
            return f"({then.format(value.text)})"
        name = value.text
        if not name.isidentifier():
            name = self.name("t")
            test = f"({name} := {value.text}).__class__ is {self.refer(cls)}"
        else:
            test = f"{name}.__class__ is {self.refer(cls)}"
        return f"({then.format(name)} if {test} else {otherwise.format(name)})"

    def _compared_quantity(self, text: str, other: Quantity, test: str) -> str:
        """A test of a quantity and a constant one: most have the same scale, so that the mantissas tell."""
        name = self.name("t")
        mantissa = self.constant(other.mantissa).text
        same = test.format(f"{name}.mantissa", mantissa)
        different = test.format(f"{name}.cmp({self.refer(other)})", "0")
        return f"({same} if ({name} := {text}).scale == {other.scale} else {different})"

    def _inline_equality(self, node: Call) -> Inline | None:
        operands = self._all_inline(node.args)
        if operands is None:
            return None
        left, right = operands
        negated = node.function == "_!=_"
        raises, depth = _any_raises(operands), _depth(operands)
        operator = "!=" if negated else "=="
        if left.cls in _SAME_IN_PYTHON and left.cls is right.cls:
            return Inline(f"({left.text} {operator} {right.text})", bool, raises, depth)
        if left.cls is Attribute and (right.cls is str or _is_plain_number(right.constant)):
            # Semver's own == raises what CEL's does
            return Inline(f"({left.text} {operator} {right.text})", bool, raises or not negated, depth)
        function = self.refer(operators.not_equal if negated else operators.equal)
        if left.cls is Attribute and right.constant.__class__ in (int, bool):
            plain = f"{{0}} {operator} {right.text}"
            text = self._by_class(left, right.constant.__class__, plain, f"{function}({{0}}, {right.text})")
            return Inline(text, bool, raises or not negated, depth)
        safe = negated or left.cls in _NEVER_UNEQUAL
        text = f"{function}({left.text}, {right.text})"
        return Inline(text, bool, raises or not safe, depth)

    def _inline_not(self, node: Call) -> Inline | None:
        operand = self.inline(node.args[0])
        if operand is None:
            return None
        if operand.cls is bool:
            return Inline(f"(not {operand.text})", bool, operand.raises, operand.depth + 1)
        text = f"{self.refer(operators.logical_not)}({operand.text})"
        return Inline(text, bool, True, operand.depth + 1)

    # ------------------------------------------------------------ optionals

    def _or(self, node: Call) -> Value:
        optional = self._plain_optional(node.target)
        if node.function != "orValue" or optional is None:
            return super()._or(node)
        found, fails = optional
        other = self.inline(node.args[0])
        if other is not None and not other.raises:
            text = f"{other.text} if {found} is {self.missing} else {found}"
            return Value(self.temporary(text), fails)
        with self.block(f"if {found} is {self.missing}:"):
            value = self.value(node.args[0])
            self.emit(f"{found} = {value.text}")
        return Value(found, fails or value.fails)

    def _call(self, node: Call) -> Value:
        if node.function == "hasValue":
            optional = self._plain_optional(node.target)
            if optional is not None:
                found, fails = optional
                text = f"{found} is not {self.missing}"
                if fails:
                    text = f"{found} if {found}.__class__ is {self.error} else {text}"
                return Value(self.temporary(text), fails, bool)
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
            start = Inline(f"{start.text}[{keys.pop(0)!r}]", EntryMap, start.raises)
        if not keys or start.raises:
            return None
        if start.cls is EntryMap:
            found = self.temporary(f"{start.text}.get({keys.pop(0)!r}, {self.missing})")
        else:
            found = self.temporary(start.text)
        for key in keys:
            with self.block(f"if {found} is not {self.missing} and {found}.__class__ is not {self.error}:"):
                self.assign_guarded(found, f"{self.refer(operators.lookup)}({found}, {key!r})")
        return found, bool(keys)

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
        decisive, neutral = ("False", "True") if node.macro == "all" else ("True", "False")
        elements = self.local(self.value(node.iter_range))
        result = self.name("t")
        keyword = "if"
        if elements.fails:
            self.emit(f"if {elements.text}.__class__ is {self.error}: {result} = {elements.text}")
            keyword = "elif"
        known = elements.cls in (list, DomainMap, EntryMap)
        pairs = self.refer(operators.iterate_pairs)
        if not known:
            iterate = pairs if node.iter_var2 else self.refer(operators.iterate)
            with self.block(f"{keyword} {elements.text}.__class__ not in {self.refer(_ITERABLE)}:"):
                self.assign_guarded(result, f"{iterate}({elements.text})")
            keyword = "else"
        with self.block("else:" if keyword == "else" else f"{keyword} True:"):
            fails = self._quantify(
                node,
                f"{pairs}({elements.text})" if node.iter_var2 else elements.text,
                result,
                decisive,
                neutral,
                elements.cls,
            )
        return Value(result, fails or not known or elements.fails, bool)

    def _quantify(
        self, node: Comprehension, elements: str, result: str, decisive: str, neutral: str, cls: type | None
    ) -> bool:
        self.emit(f"{result} = {neutral}")
        outer, visible = dict(self.scope), len(self._visible)
        names = []
        for variable in (node.iter_var, node.iter_var2):
            if variable:
                names.append(self.name("v"))
                self._declare(variable, _variable(names[-1], cls if not node.iter_var2 else None))
        body = flatten(node.step)[1:]  # type: ignore[arg-type]
        with self.block(f"for {', '.join(names)} in {elements}:"):
            value = self._rest_of_step(node, body)
            if value.cls is bool and not value.fails:
                self.emit(f"if {value.text} is {decisive}: {result} = {decisive}; break")
                fails = False
            else:
                value = self.local(value)
                self.emit(f"if {value.text} is {decisive}: {result} = {decisive}; break")
                with self.block(f"if {value.text} is not {neutral} and {result} is {neutral}:"):
                    self.emit(f"{result} = {self._as_error(value)}")
                fails = True
        self.scope = outer
        del self._visible[visible:]
        return fails

    def _rest_of_step(self, node: Comprehension, body: list[Node]) -> Value:
        """The operand beside the accumulator in the step of the loop."""
        step = node.step
        assert isinstance(step, Call)
        if len(body) == 1:
            return self.value(body[0])
        return self.value(step.args[1])


def _variable(name: str, container: type | None) -> Any:
    from deviceselectors.runtime.generator import Variable

    return Variable(name, cls=str if container in (DomainMap, EntryMap) else None)


def _escaped(text: str) -> str:
    """Source that goes into a template."""
    return text.replace("{", "{{").replace("}", "}}")


def _first_lookup(parts: list[Inline]) -> tuple[str, str] | None:
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


def _comparison(operator: str) -> Any:
    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        left, right = arguments
        plain = f"{{0}} {operator} {_escaped(right.text)}"
        raises, depth = _any_raises(arguments), _depth(arguments)
        if left.cls in _ORDERED_IN_PYTHON and left.cls is right.cls:
            return Inline(f"({plain.format(left.text)})", bool, raises, depth)
        if right.constant is not MISSING and right.cls in _ORDERED_IN_PYTHON:
            slow = f"{self.refer(function)}({{0}}, {_escaped(right.text)})"
            return Inline(self._by_class(left, right.cls, plain, slow), bool, True, depth)
        return None

    return specialise


def _text_method(template: str) -> Any:
    """A function of a text and another text that Python has; `{0}` and `{1}` are the operands."""

    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        text, other = arguments
        if other.cls is not str or (other.raises and template.startswith("{1}")):
            return None
        plain = template.replace("{1}", _escaped(other.text))
        slow = f"{self.refer(function)}({{0}}, {_escaped(other.text)})"
        result = self._by_class(text, str, plain, slow)
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
    slow = f"{self.refer(function)}({{0}}, '')"
    result = self._by_class(text, str, f"{search}({{0}}) is not None", slow)
    return Inline(result, bool, text.raises or text.cls is not str, text.depth + 1)


def _ordering(quantity_test: str, semver_test: str) -> Any:
    """Comparisons of quantities and versions with a constant; `{0}` and `{1}` are numbers or keys."""

    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        value, other = arguments
        cls = other.constant.__class__
        if cls not in (Quantity, semvers.Semver):
            return None
        kind = int if node.function == "compareTo" else bool
        if value.cls is Quantity and cls is Quantity:
            text = self._compared_quantity(value.text, other.constant, quantity_test)
            return Inline(text, kind, value.raises, _depth(arguments))
        slow = f"{self.refer(function)}({{0}}, {other.text})"
        if cls is Quantity:
            plain = quantity_test.replace("{0}", f"{{0}}.cmp({other.text})").replace("{1}", "0")
        else:
            plain = semver_test.replace("{0}", "{0}.key").replace("{1}", self.refer(other.constant.key))
        result = self._by_class(value, cls, plain, slow)
        return Inline(result, kind, value.raises or value.cls is not cls, _depth(arguments))

    return specialise


def _arithmetic(operator: str) -> Any:
    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        left, right = arguments
        if left.cls is not right.cls or left.cls not in (int, float):
            return None
        text = f"({left.text} {operator} {right.text})"
        depth = _depth(arguments)
        if left.cls is float:
            return Inline(text, float, _any_raises(arguments), depth)
        return Inline(f"{self.refer(operators.checked_int)}{text}", int, True, depth)

    return specialise


def _divide(
    self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
) -> Inline | None:
    left, right = arguments
    divisor = right.constant
    if left.cls is float and divisor.__class__ is float and divisor:
        return Inline(f"({left.text} / {right.text})", float, left.raises, left.depth + 1)
    if left.cls is int and divisor.__class__ is int and divisor > 0:
        name = self.name("t")
        text = f"({name} // {divisor} if ({name} := {left.text}) >= 0 else -(-{name} // {divisor}))"
        return Inline(text, int, left.raises, left.depth + 1)
    return None


def _size(
    self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
) -> Inline | None:
    (value,) = arguments
    slow = f"{self.refer(function)}({{0}})"
    if value.cls in (str, list, DomainMap, EntryMap):
        return Inline(f"len({value.text})", int, value.raises, value.depth + 1)
    return Inline(self._by_class(value, str, "len({0})", slow), int, True, value.depth + 1)


def _quantity_method(template: str, cls: type, raises: bool) -> Any:
    def specialise(
        self: FastGenerator, node: Call, arguments: list[Inline], function: functions.Function
    ) -> Inline | None:
        value = arguments[0]
        if value.cls is not Quantity or len(arguments) != 1:
            return None
        function_name = self.refer(_QUANTITY_FUNCTIONS[node.function])
        text = template.replace("{f}", function_name).format(value.text)
        return Inline(text, cls, raises or value.raises, value.depth + 1)

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
_ITERABLE = frozenset((*LIST_CLASSES, dict, DomainMap, EntryMap))
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
    "startsWith": _text_method("{0}.startswith({1})"),
    "endsWith": _text_method("{0}.endswith({1})"),
    "contains": _text_method("{1} in {0}"),
    "matches": _matches,
    "isGreaterThan": _ordering("{0} > {1}", "{0} > {1}"),
    "isLessThan": _ordering("{0} < {1}", "{0} < {1}"),
    "compareTo": _ordering("({0} > {1}) - ({0} < {1})", "({0} > {1}) - ({0} < {1})"),
    "size": _size,
    "asInteger": _quantity_method("{f}({0})", int, True),
    "asApproximateFloat": _quantity_method("{f}({0})", float, False),
}
