"""Which types can stand for which, and what type parameters are bound to while an expression is checked.

Bindings are a dict from the names of type parameters to types. Functions that bind change the dict that they get even
when they return False: try on a copy. Source: the CEL language definition, "Gradual type checking"; cel-go 0.29 in
the details.
"""

from __future__ import annotations

from deviceselectors.types import (
    ANY,
    DYN_TYPE,
    ERROR,
    LIST,
    MAP,
    NULL,
    OPAQUE,
    TYPE,
    TYPE_PARAMETER,
    Type,
    is_dyn,
    is_nullable,
)

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
