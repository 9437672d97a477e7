"""CEL's functions, a library to a file; adding one is a row in its library's file, a `Function`.

The row has all that Claimcheck knows of a function: its overloads with what computes them, what the API server
estimates a call to cost, what kube-scheduler counts for one, and how much that can be at most. Where the libraries come
from: CEL's standard library, optionals, strings 2, sets, lists 3, two-variable comprehensions, and Kubernetes' own (URL, regex, quantity, IP and CIDR, format, semver 1, lists, authorizer, whose
functions are declared although no expression can get an authorizer), as kube-apiserver 1.37 has them for DRA. Rows that
kube-apiserver 1.30 does not have for named resources say since when they are there.

A library is imported when one of its functions may be called: most selectors need the operators and one more.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deviceselectors.environment import Environment
    from deviceselectors.libraries.function import Function, Overload

#: Operators, and the few functions that most selectors need.
_FIRST = "operators"
#: In the order of the overloads of functions that several have.
_LIBRARIES = (
    "conversions",
    "lists",
    "optionals",
    "sets",
    "strings",
    "regex",
    "string_format",
    "named_formats",
    "timestamps",
    "quantity",
    "semver",
    "ip",
    "cidr",
    "url",
    "comprehensions",
    "authorizer",
)


#: The first release (minor number) that has a library, for those that came after 1.29.
_SINCE = {"ip": 30, "cidr": 30, "named_formats": 31, "comprehensions": 32}

#: The first parts of names with a dot, and the libraries that have these.
_NAMESPACES = {
    "cel": "comprehensions",
    "format": "named_formats",
    "ip": "ip",
    "lists": "lists",
    "optional": "optionals",
    "sets": "sets",
    "strings": "strings",
}
#: The libraries of functions that many selectors call, which are found without importing the others.
_FREQUENT = {
    "compareTo": ("quantity", "semver"),
    "contains": ("strings",),
    "endsWith": ("strings",),
    "isGreaterThan": ("quantity", "semver"),
    "isLessThan": ("quantity", "semver"),
    "lowerAscii": ("strings",),
    "matches": ("regex",),
    "or": ("optionals",),
    "orValue": ("optionals",),
    "quantity": ("quantity",),
    "semver": ("semver",),
    "startsWith": ("strings",),
}

_found: dict[str, Function] = {}


def find(name: str) -> Function | None:
    """The function of a name, `_+_` or `ip.isCanonical`, or None if no library has it."""
    function = _found.get(name)
    if function is None:
        function = _find(name)
        if function is not None:
            _found[name] = function.read()
    return function


def known(name: str) -> Function:
    """The function of a call that has been checked."""
    function = _found.get(name) or find(name)
    assert function is not None
    return function


def _find(name: str) -> Function | None:
    function = _functions_of(_FIRST).get(name)
    if function is not None:
        return function
    namespace, dot, _ = name.partition(".")
    if dot:
        library = _NAMESPACES.get(namespace)
        return None if library is None else _functions_of(library).get(name)
    found: Function | None = None
    for library in _FREQUENT.get(name, _LIBRARIES):
        function = _functions_of(library).get(name)
        if function is not None:
            found = function if found is None else found.joined(function)
    return found


def declared(name: str, environment: Environment) -> tuple[Overload, ...] | None:
    """The overloads of a function in the order in which the checker tries them, or None when it is not declared."""
    function = find(name)
    return None if function is None else function.declared(environment)


def is_callable(name: str) -> bool:
    """Whether any release has a function or a macro of this name."""
    from deviceselectors.macros import NAMES

    return name in NAMES or find(name) is not None


def names() -> list[str]:
    """The names of all functions."""
    return sorted({name for library in (_FIRST, *_LIBRARIES) for name in _functions_of(library)})


def load() -> None:
    """Import all libraries, so that processes which are forked later have them."""
    names()


def described() -> list[tuple[str, list[Function]]]:
    """What each library says of itself, with its functions."""
    every = (_FIRST, *_LIBRARIES)
    return [
        (import_module(f"{__name__}.{library}").__doc__ or "", list(_functions_of(library).values()))
        for library in every
    ]


@cache
def _functions_of(library: str) -> dict[str, Function]:
    module = import_module(f"{__name__}.{library}")
    since = _SINCE.get(library)
    if since is not None:
        for function in module.FUNCTIONS:
            function.introduce(since)
    return {function.name: function for function in module.FUNCTIONS}
