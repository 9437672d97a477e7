"""How a call finds what computes it, when types are known only at run time.

A call whose overload the checker could determine goes to that overload, behind a check of the actual argument types; any
other tries all overloads in order. Where nothing fits the error is cel-go's: `no such overload: major(string)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from deviceselectors import types as static
from deviceselectors.libraries import known
from deviceselectors.libraries.function import BY_COUNT, TWO_STRINGS, Function, Overload, Run
from deviceselectors.runtime import operators
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    NONE,
    CelError,
    Duration,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    classes_named,
    no_such_overload,
)
from resourceapi.measured import NEWEST

_NO_OVERLOAD = "no such overload"

#: The Python class of values of a static type.
_CLASSES: dict[int, type] = {
    static.BOOL: bool,
    static.BYTES: bytes,
    static.DOUBLE: float,
    static.DURATION: Duration,
    static.INT: int,
    static.NULL: type(None),
    static.STRING: str,
    static.TIMESTAMP: Timestamp,
    static.UINT: Uint,
    static.TYPE: TypeValue,
}


def resolve(name: str, overloads: tuple[str, ...]) -> Run:
    """The Python function for a call of a CEL function.

    :param overloads: the ids of those that the checker left
    """
    function = known(name)
    if function.run is not None:
        return function.run
    if len(overloads) == 1:
        (key,) = overloads
        if key not in function.resolved:
            function.resolved[key] = _checked(function, key)
        return function.resolved[key]
    # what only earlier releases have is tried where the checker, which knows the release, has left it
    former = tuple(o.id for o in function.overloads if not o.is_in(NEWEST, NEWEST) and o.id in overloads)
    if former not in function.resolved:
        tried = tuple(o for o in function.overloads if o.is_in(NEWEST, NEWEST) or o.id in former)
        function.resolved[former] = _dispatcher(function, tried)
    return function.resolved[former]


def _checked(function: Function, overload_id: str) -> Run:
    """What computes the overload, behind the check of its arguments' types."""
    overload = function.overload(overload_id)
    run = _run(overload)
    if function.guard is TWO_STRINGS:
        return _strings_only(run)
    if function.guard is BY_COUNT:
        return run
    classes = [_classes(declared) for declared in overload.arguments]
    if len(classes) == 1 and classes[0] is not None:
        return _of_class(function.name, run, classes[0])
    if len(classes) == 2 and classes[0] is not None and classes[1] is not None:
        return _of_classes(function.name, run, classes[0], classes[1])
    fits = _matcher(overload)

    def call(*arguments: Any) -> Any:
        if not fits(arguments):
            raise no_such_overload(function.name, *arguments)
        return run(*arguments)

    return call


def _of_class(name: str, run: Run, classes: frozenset[type]) -> Run:
    def call(value: Any) -> Any:
        if value.__class__ not in classes:
            raise no_such_overload(name, value)
        return run(value)

    return call


def _of_classes(name: str, run: Run, first: frozenset[type], second: frozenset[type]) -> Run:
    def call(left: Any, right: Any) -> Any:
        if left.__class__ not in first or right.__class__ not in second:
            raise no_such_overload(name, left, right)
        return run(left, right)

    return call


def _run(overload: Overload) -> Run:
    assert overload.run is not None, overload.id
    return overload.run


def _strings_only(run: Run) -> Run:
    def call(left: Any, right: Any) -> Any:
        if left.__class__ is not str or right.__class__ is not str:
            raise CelError(_NO_OVERLOAD)
        return run(left, right)

    return call


def _dispatcher(function: Function, overloads: tuple[Overload, ...]) -> Run:
    """What computes a call that may be any of some overloads."""
    if len(overloads) == 1:
        return resolve(function.name, (overloads[0].id,))
    by_count = function.guard is BY_COUNT
    table = [((_counter if by_count else _matcher)(overload), _run(overload)) for overload in overloads]

    def call(*arguments: Any) -> Any:
        for fits, run in table:
            if fits(arguments):
                return run(*arguments)
        raise no_such_overload(function.name, *arguments)

    return call


_Fits = Callable[[tuple[Any, ...]], bool]


def _counter(overload: Overload) -> _Fits:
    count = len(overload.arguments)
    return lambda arguments: len(arguments) == count


def _matcher(overload: Overload) -> _Fits:
    checks = [(i, check) for i, t in enumerate(overload.arguments) if (check := _predicate(t)) is not None]
    count = len(overload.arguments)

    def fits(arguments: tuple[Any, ...]) -> bool:
        return len(arguments) == count and all(check(arguments[i]) for i, check in checks)

    return fits


def _classes(declared: static.Type) -> frozenset[type] | None:
    """The classes of the values that may be passed for a declared type, None if these are not all that counts."""
    kind = declared.kind
    if kind in (static.DYN, static.ANY, static.TYPE_PARAMETER, static.LIST, static.MAP):
        return None
    cls = _CLASSES.get(kind)
    return classes_named(declared.name) if cls is None else frozenset((cls,))


@functools.cache
def _predicate(declared: static.Type) -> Callable[[Any], bool] | None:
    """The check whether a value may be passed for a declared type, or None when any may.

    As in cel-go it looks at no more than the first element of a list or map.
    """
    kind = declared.kind
    if kind in (static.DYN, static.ANY, static.TYPE_PARAMETER):
        return None
    if kind == static.LIST:
        return _list_predicate(_predicate(declared.parameters[0]))
    if kind == static.MAP:
        return _map_predicate(_predicate(declared.parameters[0]), _predicate(declared.parameters[1]))
    classes = _classes(declared)
    assert classes is not None
    return lambda value: value.__class__ in classes


def _list_predicate(element: Callable[[Any], bool] | None) -> Callable[[Any], bool]:
    if element is None:
        return lambda value: value.__class__ in LIST_CLASSES
    return lambda value: value.__class__ in LIST_CLASSES and (not len(value) or element(value[0]))


def _map_predicate(
    key: Callable[[Any], bool] | None, element: Callable[[Any], bool] | None
) -> Callable[[Any], bool]:
    def check(value: Any) -> bool:
        if value.__class__ not in MAP_CLASSES:
            return False
        for first in value:
            return (key is None or key(first)) and (
                element is None or element(operators.lookup(value, first))
            )
        return True

    return check


def with_constant_pattern(search: Run, pattern: str) -> Run:
    """What computes a search for a literal regular expression, compiled once.

    :raises RegexError: if it is none
    :raises CelPanic: if compiling it takes too much
    """
    from deviceselectors.runtime.regexes import compile_paid

    compiled = compile_paid(pattern)

    def call(text: Any, _pattern: Any, *limit: Any) -> Any:
        # cel-go asks for the native value here, which optionals and types have as well
        if text.__class__ is Optional and text is not NONE:
            text = text.value
        if text.__class__ is TypeValue:
            text = text.name
        if text.__class__ is not str or (limit and limit[0].__class__ is not int):
            raise CelError(_NO_OVERLOAD)
        return search(compiled, text, *limit)

    return call
