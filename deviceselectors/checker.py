"""Type checking of parsed expressions.

Writes the static type into every node, the resolved name into identifiers and calls and the possible overloads into
calls. Source: the CEL language definition, "Gradual type checking"; the messages are those of cel-go 0.29, with which
kube-apiserver checks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deviceselectors.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
    type_of_node,
)
from deviceselectors.declarations import (
    ENUM_CONSTANTS,
    GLOBAL_NAMES_SINCE,
    NAMED_TYPES,
    RUNTIME_TYPES,
    find_fields,
    find_type,
    qualified_name,
    variables,
)
from deviceselectors.environment import Environment
from deviceselectors.issues import Issues
from deviceselectors.libraries import declared, find
from deviceselectors.overload_resolution import OverloadResolver, more_general, substitute
from deviceselectors.types import (
    ANY,
    BOOL_TYPE,
    DURATION,
    DYN,
    DYN_TYPE,
    ERROR,
    ERROR_TYPE,
    INT_TYPE,
    LIST,
    MAP,
    NULL,
    STRING_TYPE,
    STRUCT,
    TIMESTAMP,
    TYPE,
    TYPE_PARAMETER,
    Type,
    is_dyn,
    is_optional,
    list_of,
    map_of,
    optional_of,
    type_of,
)
from deviceselectors.validators import call_may_fail, map_may_fail, validate_calls, validate_collection

#: The first release (minor number) in which `list{}` is a message as `google.protobuf.ListValue{}` is.
_LISTS_ARE_MESSAGES_SINCE = 31
#: The first release in which `format` lets all literals inside of its arguments have mixed parts.
_FORMATS_EXEMPT_ALL_SINCE = 31


def check(root: Node, environment: Environment, issues: Issues) -> bool:
    """Check an expression that has been parsed without errors; what is wrong goes into `issues`.

    Returns whether the expression has constant parts that the server computes when it makes a program of it, so that
    this can fail.
    """
    checker = _Checker(environment, issues)
    checker.check(root)
    checker.resolve_open_types()
    if not issues.count:
        checker.validate_literals()
    return checker.has_constants


def _unwrap_optional(t: Type) -> tuple[Type, bool]:
    return (t.parameters[0], True) if is_optional(t) else (t, False)


class _Checker(OverloadResolver):
    """The state of one check: scopes of variables, bindings of type parameters."""

    def __init__(self, environment: Environment, issues: Issues) -> None:
        super().__init__(environment, issues)
        self._scopes: list[dict[str, Type]] = []
        self._variables = variables(environment)
        self._open: list[Node] = []
        # For the checks of literals. Collections inside of format's arguments are not looked at.
        self._literal_calls: list[Call] = []
        self._collections: list[Node] = []
        self._formats = 0
        self._exempted: set[int] = set()
        self.has_constants = False

    def check(self, node: Node) -> Type:
        """Check a node and all below it; returns its type, in which type parameters may still be unbound."""
        t = _CHECKS[node.kind](self, node)
        if node.type is not None and node.type != t:
            # A macro of old releases has put the node into two places; its first type counts.
            self.report(node, "incompatible type already exists for expression")
            return node.type
        node.type = t
        if t.has_parameters:
            self._open.append(node)
        return t

    def resolve_open_types(self) -> None:
        """Put what type parameters are bound to in the end into the types of all nodes, dyn for unbound ones."""
        for node in self._open:
            assert node.type is not None
            node.type = substitute(self.bindings, node.type, True)

    def validate_literals(self) -> None:
        """Check literals whose meaning depends on the function that they are for, and mixed collections."""
        if self._collections or self._literal_calls:
            for collection in sorted(self._collections, key=lambda node: node.kind):
                if id(collection) not in self._exempted:
                    validate_collection(collection, self.environment, self.issues)
            validate_calls(self._literal_calls, self.environment, self.issues)

    # Names

    def _find_local(self, name: str) -> Type | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def _find_global(self, name: str) -> Type | None:
        variable = self._variables.get(name)
        if variable is not None:
            return variable
        named = find_type(name, self.environment)
        if named is not None:
            if name not in RUNTIME_TYPES:
                self.has_constants = True
            return type_of(named)
        return INT_TYPE if name in ENUM_CONSTANTS else None

    def _check_literal(self, node: Literal) -> Type:
        return node.literal_type

    def _check_ident(self, node: Ident) -> Type:
        name = node.name
        plain = name.lstrip(".")
        local = self._find_local(plain)
        if local is not None and (name == plain or self.environment.server < GLOBAL_NAMES_SINCE):
            if local.kind == TYPE:
                self.has_constants = True
            node.name = plain
            return local
        found = self._find_global(plain)
        if found is None:
            return self.undeclared(node, name)
        node.name = plain if local is None else "." + plain
        node.value = ENUM_CONSTANTS.get(plain)
        return found

    def _check_select(self, node: Select) -> Type:
        result = self._check_field(node, node.operand, node.field, False)
        return BOOL_TYPE if node.test_only else substitute(self.bindings, result)

    def _check_field(self, node: Node, operand: Node, field: str, optional: bool) -> Type:
        operand_type = self.check(operand)
        target, was_optional = _unwrap_optional(substitute(self.bindings, operand_type))
        kind = target.kind
        result = DYN_TYPE
        if kind == MAP:
            result = target.parameters[1]
        elif kind == STRUCT:
            result = self._field_type(node.position, target.name, field)
        elif kind == TYPE_PARAMETER:
            self.is_assignable(DYN_TYPE, target)
        elif kind != ERROR and not is_dyn(target):
            self.report(node, f"type '{self.spelled(target)}' does not support field selection")
        return optional_of(result) if was_optional or optional else result

    def _field_type(self, position: int, message: str, field: str) -> Type:
        fields = find_fields(message, self.environment)
        if fields is None:
            self.issues.report(position, f"unexpected failed resolution of '{message}'")
            return ERROR_TYPE
        if field not in fields:
            self.issues.report(position, f"undefined field '{field}'")
            return ERROR_TYPE
        return fields[field]

    # Calls

    def _check_call(self, node: Call) -> Type:
        function = node.function
        if function[0] == "." and declared(function[1:], self.environment) is not None:
            node.function = function = function[1:]
        if function == "_?._":
            return self._check_optional_select(node)
        row = find(function)
        if row is not None and row.literals_matter:
            if call_may_fail(node, row):
                self.has_constants = True
            if row.literal_check is not None:
                return self._check_literal_call(node)
        return self._check_plain_call(node)

    def _check_literal_call(self, node: Call) -> Type:
        """A call of which literal arguments are checked later, inner ones first."""
        if node.function == "format" and self.environment.server < _FORMATS_EXEMPT_ALL_SINCE:
            self._exempt([*node.args, node.target])
        is_format = node.function == "format" and self.environment.server >= _FORMATS_EXEMPT_ALL_SINCE
        self._formats += is_format
        result = self._check_plain_call(node)
        self._formats -= is_format
        self._literal_calls.append(node)
        return result

    def _exempt(self, nodes: Sequence[Node | None]) -> None:
        """Literals with parts that may be mixed: in older releases those that nothing but such literals is around."""
        for node in nodes:
            if isinstance(node, ListLiteral):
                self._exempted.add(id(node))
                self._exempt(node.elements)
            elif isinstance(node, MapLiteral):
                self._exempted.add(id(node))
                self._exempt([part for entry in node.entries for part in (entry.key, entry.value)])

    def _check_plain_call(self, node: Call) -> Type:
        target = node.target
        types = tuple([self.check(arg) for arg in node.args])
        if target is not None:
            return self._check_member_call(node, target, types)
        return self.resolve(node, types)

    def _check_member_call(self, node: Call, target: Node, types: tuple[Type, ...]) -> Type:
        prefix = qualified_name(target)
        if prefix is not None:
            name = f"{prefix}.{node.function}".lstrip(".")
            if declared(name, self.environment) is not None:
                node.function = name
                node.target = None
                return self.resolve(node, types)
        return self.resolve(node, (self.check(target), *types))

    def _check_optional_select(self, node: Call) -> Type:
        operand, field = node.args
        assert isinstance(field, Literal)
        result = self._check_field(node, operand, str(field.value), True)
        field.type = STRING_TYPE
        node.overloads = ("select_optional_field",)
        return substitute(self.bindings, result)

    # Literals with parts

    def _join(self, previous: Type | None, current: Type) -> Type:
        """The type of a collection's elements after one more of them.

        Mixed literals are not refused here but later (`deviceselectors.validators`), and not in format arguments.
        """
        if previous is None:
            return current
        if self.is_assignable(previous, current):
            return more_general(previous, current)
        return DYN_TYPE

    def _check_optional_value(self, value: Node) -> Type:
        """The type that the value of an entry with a question mark adds to the collection."""
        t, was_optional = _unwrap_optional(type_of_node(value))
        if not was_optional and not is_dyn(t):
            self.mismatch(value, optional_of(t), t)
        return t

    def _check_list(self, node: ListLiteral) -> Type:
        element: Type | None = None
        if node.optionals:
            self.has_constants = True
        for index, child in enumerate(node.elements):
            t = self.check(child)
            if index in node.optionals:
                t = self._check_optional_value(child)
            element = self._join(element, t)
        if not self._formats:
            self._collections.append(node)
        return list_of(element or self.new_variable())

    def _check_map(self, node: MapLiteral) -> Type:
        key: Type | None = None
        value: Type | None = None
        if map_may_fail(node):
            self.has_constants = True
        for entry in node.entries:
            key = self._join(key, self.check(entry.key))
            t = self.check(entry.value)
            if entry.optional:
                t = self._check_optional_value(entry.value)
            value = self._join(value, t)
        if key is None or value is None:
            key = self.new_variable()
            value = self.new_variable()
        if not self._formats:
            self._collections.append(node)
        return map_of(key, value)

    def _check_struct(self, node: StructLiteral) -> Type:
        name = node.type_name.lstrip(".")
        instance = find_type(name, self.environment)
        variable = self._find_variable(name)
        if variable is not None:
            instance = variable.parameters[0] if variable.kind == TYPE else ERROR_TYPE
            if variable.kind not in (TYPE, ERROR):
                self.report(node, f"'{variable.declared}' is not a type")
        if instance is None:
            return self.undeclared(node, node.type_name)
        node.type_name = name
        result, message = self._message_type(node, instance, name)
        # The message's own type is known before its fields are checked.
        node.type = result
        for field in node.fields:
            value = self.check(field.value)
            expected = self._field_type(field.position, message, field.name)
            if field.optional:
                value = self._check_optional_value(field.value)
            if not self.is_assignable(expected, value):
                self.issues.report(
                    field.position,
                    f"expected type of field '{field.name}' is '{self.spelled(expected)}' "
                    f"but provided type is '{self.spelled(value)}'",
                )
        return result

    def _find_variable(self, name: str) -> Type | None:
        """The type of a variable that older releases find where a message is to be named."""
        if self.environment.server >= GLOBAL_NAMES_SINCE:
            return None
        local = self._find_local(name)
        if local is None and name in ENUM_CONSTANTS:
            return INT_TYPE
        return self._variables.get(name) if local is None else local

    def _message_type(self, node: Node, instance: Type, name: str) -> tuple[Type, str]:
        """The type of a message literal, and the name of the message whose fields it has."""
        if instance.kind == STRUCT:
            return instance, instance.name
        if instance.wrapper or instance.kind in (ANY, DYN, DURATION, TIMESTAMP, NULL):
            return instance, _WELL_KNOWN[instance.kind, instance.name]
        if instance.kind == LIST and not self._is_plain_list(name):
            return instance, "google.protobuf.ListValue"
        if instance.kind == MAP and instance.parameters == (STRING_TYPE, DYN_TYPE):
            return instance, "google.protobuf.Struct"
        if instance.kind != ERROR:
            self.report(node, f"'{instance.declared}' is not a message type")
        return ERROR_TYPE, name

    def _is_plain_list(self, name: str) -> bool:
        """Whether a name means lists only, and no message, as `list` did up to 1.30."""
        return name == "list" and self.environment.server < _LISTS_ARE_MESSAGES_SINCE

    # Loops

    def _check_comprehension(self, node: Comprehension) -> Type:
        iterated = self.check(node.iter_range)
        accumulated = self.check(node.accu_init)
        iterated = substitute(self.bindings, iterated)
        self._scopes.append({node.accu_var: accumulated})
        first, second = self._iteration_types(node, iterated)
        variables = {node.iter_var: first}
        if node.iter_var2:
            variables[node.iter_var2] = second
        self._scopes.append(variables)
        self._assert_type(node.condition, self.check(node.condition), BOOL_TYPE)
        self._assert_type(node.step, self.check(node.step), accumulated)
        self._scopes.pop()
        result = self.check(node.result)
        self._scopes.pop()
        return substitute(self.bindings, result)

    def _iteration_types(self, node: Comprehension, iterated: Type) -> tuple[Type, Type]:
        """The types of the variables of a loop; the second one is for loops with two."""
        if iterated.kind == LIST:
            element = iterated.parameters[0]
            return (INT_TYPE, element) if node.iter_var2 else (element, element)
        if iterated.kind == MAP:
            return iterated.parameters[0], iterated.parameters[1]
        if iterated.kind in (DYN, ERROR, TYPE_PARAMETER):
            self.is_assignable(DYN_TYPE, iterated)
            return DYN_TYPE, DYN_TYPE
        self.report(
            node.iter_range,
            f"expression of type '{self.spelled(iterated)}' cannot be range of a comprehension "
            "(must be list, map, or dynamic)",
        )
        return ERROR_TYPE, ERROR_TYPE

    def _assert_type(self, node: Node, actual: Type, expected: Type) -> None:
        if not self.is_assignable(expected, actual):
            self.mismatch(node, expected, actual)


# By kind of node. That each gets its own kind, mypy cannot know.
_CHECKS: tuple[Callable[..., Type], ...] = (
    _Checker.check,
    _Checker._check_literal,
    _Checker._check_ident,
    _Checker._check_select,
    _Checker._check_call,
    _Checker._check_list,
    _Checker._check_map,
    _Checker._check_struct,
    _Checker._check_comprehension,
)


_WELL_KNOWN: dict[tuple[int, str], str] = {(NULL, "null_type"): "google.protobuf.NullValue"}
for _name, _type in NAMED_TYPES.items():
    if _name.startswith("google.protobuf."):
        _WELL_KNOWN[_type.kind, _type.name] = _name
