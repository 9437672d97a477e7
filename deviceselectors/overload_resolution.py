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
    BOOL,
    BOOL_TYPE,
    BYTES,
    DOUBLE,
    DURATION,
    DYN_TYPE,
    ERROR_TYPE,
    INT,
    LIST,
    MAP,
    OPAQUE,
    STRING,
    STRUCT,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
    is_dyn,
    type_parameter,
)
from deviceselectors.unification import Bindings, are_assignable, is_assignable, substitute


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
