"""Which overloads a call can be, by the static types of its arguments, and the type of its result.

Source: the CEL language definition, "Gradual type checking".
"""

from __future__ import annotations

from deviceselectors.ast import Call, Node
from deviceselectors.declarations import spelled
from deviceselectors.environment import Environment
from deviceselectors.issues import Issues
from deviceselectors.libraries import declared
from deviceselectors.libraries.function import Overload
from deviceselectors.types import (
    ANY,
    BOOL,
    BOOL_TYPE,
    BYTES,
    DOUBLE,
    DURATION,
    DYN_TYPE,
    ERROR,
    ERROR_TYPE,
    INT,
    LIST,
    MAP,
    NULL,
    OPAQUE,
    STRING,
    STRUCT,
    TIMESTAMP,
    TYPE,
    TYPE_PARAMETER,
    UINT,
    Type,
    is_dyn,
    is_nullable,
    type_parameter,
)

# Which types can stand for which, and what type parameters are bound to while an expression is checked.
# Bindings are a dict from the names of type parameters to types. Functions that bind change the dict that
# they get even when they return False: try on a copy. Source: the CEL language definition, "Gradual type
# checking"; cel-go 0.29 in the details.

Bindings = dict[str, Type]


def substitute(bindings: Bindings, t: Type, unbound_to_dyn: bool = False) -> Type:
    """The type with its parameters replaced by what they are bound to, unbound ones by dyn if wanted."""
    if not t.has_parameters:
        return t
    if t.kind == TYPE_PARAMETER:
        bound = bindings.get(t.name)
        if bound is not None:
            return substitute(bindings, bound, unbound_to_dyn)
        return DYN_TYPE if unbound_to_dyn else t
    return Type(t.kind, t.name, tuple([substitute(bindings, p, unbound_to_dyn) for p in t.parameters]))


def are_assignable(bindings: Bindings, actual: tuple[Type, ...], formal: tuple[Type, ...]) -> bool:
    """Whether each of the first types can stand for the one of the second at its place."""
    if len(actual) != len(formal):
        return False
    return all(is_assignable(bindings, a, f) for a, f in zip(actual, formal, strict=True))


def is_assignable(bindings: Bindings, t1: Type, t2: Type) -> bool:
    """Whether `t1` can stand for `t2`; binds type parameters of either."""
    kind1, kind2 = t1.kind, t2.kind
    if kind2 == TYPE_PARAMETER:
        valid, bound = _bind(bindings, t1, t2)
        if valid or bound:
            return valid
    if kind1 == TYPE_PARAMETER:
        return _bind(bindings, t2, t1)[0]
    if t1 is t2 or is_dyn(t1) or is_dyn(t2) or kind1 == ERROR or kind2 == ERROR:
        return True
    if kind1 == NULL:
        return is_nullable(t2)
    if kind2 == NULL:
        return is_nullable(t1)
    if kind1 != kind2:
        return False
    if kind1 in (OPAQUE, LIST, MAP):
        return t1.name == t2.name and are_assignable(bindings, t1.parameters, t2.parameters)
    return kind1 == TYPE or t1.name == t2.name


def _bind(bindings: Bindings, t: Type, parameter: Type) -> tuple[bool, bool]:
    """Whether `t` can stand for the type parameter, and whether that was bound already."""
    if t == parameter:
        return True, True
    bound = bindings.get(parameter.name)
    if bound is None:
        if _occurs(bindings, parameter, t):
            return False, False
        bindings[parameter.name] = t
        return True, False
    if t == bound:
        return True, True
    if not is_assignable(bindings, t, bound):
        return False, True
    general = more_general(t, bound)
    if not _occurs(bindings, parameter, general):
        bindings[parameter.name] = general
    return True, True


def _occurs(bindings: Bindings, parameter: Type, t: Type) -> bool:
    if not t.has_parameters:
        return False
    if t == parameter:
        return True
    if t.kind == TYPE_PARAMETER:
        bound = bindings.get(t.name)
        return bound is not None and _occurs(bindings, parameter, bound)
    return any(_occurs(bindings, parameter, p) for p in t.parameters)


def more_general(t1: Type, t2: Type) -> Type:
    """The one of two types that says less, of those that can stand for each other."""
    return t1 if _says_no_more(t1, t2) else t2


def _says_no_more(t1: Type, t2: Type) -> bool:
    if t1.kind <= ANY or t1.kind == TYPE_PARAMETER:
        return True
    if t2.kind <= ANY or t2.kind == TYPE_PARAMETER or t1.kind != t2.kind:
        return False
    if t1.kind in (OPAQUE, LIST, MAP):
        if t1.name != t2.name or len(t1.parameters) != len(t2.parameters):
            return False
        return all(_says_no_more(p1, p2) for p1, p2 in zip(t1.parameters, t2.parameters, strict=True))
    return t1.kind == TYPE or t1 == t2


class OverloadResolver:
    """The state of one check as far as calls need it: what type parameters are bound to, and how many there are."""

    __slots__ = ("bindings", "environment", "issues", "variables")

    def __init__(self, environment: Environment, issues: Issues) -> None:
        self.environment = environment
        self.issues = issues
        self.bindings: Bindings = {}
        self.variables = 0

    def report(self, node: Node, message: str) -> None:
        """Report what is wrong with a node."""
        self.issues.report(node.position, message)

    def mismatch(self, node: Node, expected: Type, actual: Type) -> None:
        """Report a node of another type than the one expected there."""
        self.report(node, f"expected type '{self.spelled(expected)}' but found '{self.spelled(actual)}'")

    def spelled(self, t: Type) -> str:
        """How messages name a type."""
        return spelled(t, self.environment)

    def undeclared(self, node: Node, name: str) -> Type:
        """Report a name that nothing has; its type is an error."""
        self.report(node, f"undeclared reference to '{name}' (in container '')")
        return ERROR_TYPE

    def new_variable(self) -> Type:
        """A type parameter of its own, for what nothing says the type of."""
        self.variables += 1
        return type_parameter(f"_var{self.variables - 1}")

    def is_assignable(self, t1: Type, t2: Type) -> bool:
        """Tell whether a value of the second type can stand for the first; if so, type parameters are bound."""
        if t1 == t2:
            return True
        if not t1.has_parameters and not t2.has_parameters:
            return is_assignable(self.bindings, t1, t2)
        attempt = dict(self.bindings)
        if not is_assignable(attempt, t1, t2):
            return False
        self.bindings = attempt
        return True

    def resolve(self, node: Call, types: tuple[Type, ...]) -> Type:
        """The type of the call's result; its overloads go into the node."""
        is_plain = True
        for t in types:
            if not t.is_plain:
                is_plain = False
        if not is_plain:
            return self._find_overloads(node, types)[0]
        key = (node.function, node.target is not None, self.environment.functions, types)
        known = _resolved.get(key)
        if known is None:
            first_variable = self.variables
            result, is_final = self._find_overloads(node, types)
            if is_final:
                if len(_resolved) >= _MAX_RESOLVED:
                    _resolved.clear()
                _resolved[key] = result, node.overloads, self.variables - first_variable
            return result
        result, node.overloads, variables = known
        self.variables += variables
        return result

    def _find_overloads(self, node: Call, types: tuple[Type, ...]) -> tuple[Type, bool]:
        """The type of a call's result, and whether the same types always give that and no error."""
        overloads = declared(node.function, self.environment)
        if overloads is None:
            return self.undeclared(node, node.function), False
        if node.function in ("_&&_", "_||_"):
            return self._check_logic(node, overloads[0], types), False
        is_member = node.target is not None
        result: Type | None = None
        is_final = True
        matching: list[str] = []
        for overload in overloads:
            if overload.is_member != is_member:
                continue
            candidate, is_closed = self._match(overload, types)
            if candidate is None:
                continue
            is_final = is_final and is_closed
            matching.append(overload.id)
            if result is None:
                result = candidate
            elif not is_dyn(result) and candidate != result:
                result = DYN_TYPE
        if result is None:
            return self._no_overload(node, types), False
        node.overloads = tuple(matching)
        return result, is_final

    def _match(self, overload: Overload, types: tuple[Type, ...]) -> tuple[Type | None, bool]:
        """The result type of an overload if the arguments fit it, and whether no type parameter is involved."""
        first_variable = self.variables
        self.variables += len(overload.type_parameters)
        if not _could_match(overload.arguments, types):
            return None, True
        if not any(t.has_parameters for t in types):
            bindings: Bindings = {}
            if not are_assignable(bindings, types, overload.arguments):
                return None, True
            result = substitute(bindings, overload.result)
            if not result.has_parameters:
                return result, True
        return self._match_open(overload, types, first_variable), False

    def _match_open(self, overload: Overload, types: tuple[Type, ...], first_variable: int) -> Type | None:
        """The result type of an overload if the arguments fit it; binds type parameters in the arguments."""
        fresh = {
            name: type_parameter(f"_var{first_variable + i}")
            for i, name in enumerate(overload.type_parameters)
        }
        attempt = dict(self.bindings)
        arguments = tuple([substitute(fresh, a) for a in overload.arguments])
        if not are_assignable(attempt, types, arguments):
            return None
        self.bindings = attempt
        return substitute(attempt, substitute(fresh, overload.result))

    def _check_logic(self, node: Call, overload: Overload, types: tuple[Type, ...]) -> Type:
        node.overloads = (overload.id,)
        result = BOOL_TYPE
        for arg, t in zip(node.args, types, strict=True):
            if not self.is_assignable(t, BOOL_TYPE):
                self.mismatch(arg, BOOL_TYPE, t)
                result = ERROR_TYPE
        return result

    def _no_overload(self, node: Call, types: tuple[Type, ...]) -> Type:
        texts = [self.spelled(substitute(self.bindings, t, True)) for t in types]
        target = ""
        if node.target is not None:
            target = f"{texts.pop(0)}."
        signature = f"{target}({', '.join(texts)})"
        self.report(node, f"found no matching overload for '{node.function}' applied to '{signature}'")
        return ERROR_TYPE


def _could_match(arguments: tuple[Type, ...], types: tuple[Type, ...]) -> bool:
    """A quick look at the kinds: whether the overload with these arguments has to be tried at all."""
    if len(arguments) != len(types):
        return False
    for argument, t in zip(arguments, types, strict=True):
        if argument.kind != t.kind and argument.kind in _DISTINCT and t.kind in _DISTINCT:
            return False
    return True


#: Kinds of types that only a type of the same kind can stand for, apart from those that can stand for any.
_DISTINCT = frozenset(
    (BOOL, BYTES, DOUBLE, DURATION, INT, LIST, MAP, OPAQUE, STRING, STRUCT, TIMESTAMP, TYPE, UINT)
)


# What calls with plain argument types give: result, overloads, and how many type variables were tried on the way.
_Resolution = tuple[Type, tuple[str, ...], int]
_resolved: dict[tuple[str, bool, tuple[int, bool, bool], tuple[Type, ...]], _Resolution] = {}
_MAX_RESOLVED = 2048
