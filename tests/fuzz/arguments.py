"""Arguments of any size for calls of every function that the libraries declare.

A size is about the number of characters of a text, or of elements of a list. Texts are made by a function of the size:
a fragment over and over, or one of `TEXTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviceselectors import types as static
from deviceselectors.libraries import cidr, find, ip, names, quantity, semver, url
from deviceselectors.libraries.function import Overload
from deviceselectors.libraries.named_formats import FORMATS
from deviceselectors.runtime.values import (
    CelError,
    ConcatList,
    Duration,
    GeneralMap,
    Optional,
    Timestamp,
    Uint,
)

Text = Callable[[int], str]

#: Decided by the compiler, or made of the other functions.
SYNTAX = frozenset(
    (
        "_&&_",
        "_||_",
        "_?_:_",
        "_[_]",
        "_[?_]",
        "_?._",
        "@not_strictly_false",
        "or",
        "orValue",
        "hasValue",
        "value",
    )
)
_NO_VALUES = frozenset(("Authorizer", "Decision", "GroupCheck", "PathCheck", "ResourceCheck"))

TEXTS: list[Text] = [
    lambda n: "a" * n,
    lambda n: "é" * n,
    lambda n: "\U0001f600" * n,
    lambda n: "ab" * (n // 2),
    lambda n: "1" * n,
    lambda n: "-" + "9" * n + "." + "9" * n + "e" + "9" * n,
    lambda n: "1ns" * (n // 3),
    lambda n: "1.0.0-" + "a." * (n // 2) + "a+" + "b." * (n // 2) + "b",
    lambda n: "http://u:p@h/" + "%41/" * (n // 4) + "?" + "a=b&" * (n // 4),
    lambda n: "a." * (n // 2) + "!",
    lambda n: "a-" * (n // 2),
    lambda n: "1:" * (n // 2),
    lambda n: "2020-01-01T00:00:00." + "9" * n + "Z",
    lambda n: "%s%d%.9f%" * (n // 8),
    lambda n: "%s" * min(n // 2, 200) + "x" * n,
    lambda n: "\\" * n,
    lambda n: "a" * (n // 2) + "b" + "a" * (n // 2),
    lambda n: "/" * n,
    lambda n: " " * n,
    lambda n: "0" * n + "x",
]
_PATTERNS = ("a.*b|a", "a", "(a|b)*c|a", ".", "x*", "[^b]+c|.", "(?:a.*b|.)")


def overloads(name: str) -> tuple[Overload, ...]:
    """The overloads of a function that is declared."""
    function = find(name)
    assert function is not None
    return function.overloads


def calls() -> list[tuple[str, Overload]]:
    """Each overload that computes something from values that selectors can have, with the name of its function."""
    return [
        (name, overload)
        for name in names()
        if name not in SYNTAX
        for overload in overloads(name)
        if not any(argument.name in _NO_VALUES for argument in overload.arguments)
    ]


def make(name: str, overload: Overload, size: int, text: Text, shape: int) -> list[Any]:
    """Arguments for a call; the shape chooses among patterns, formats and kinds of elements."""
    arguments = [
        _value(argument, size, text, shape, position) for position, argument in enumerate(overload.arguments)
    ]
    if name in ("find", "findAll", "matches"):
        # a pattern grows neither so far nor so often: compiling it is effort
        arguments[1] = _PATTERNS[shape % len(_PATTERNS)]
    if name == "replace":
        arguments[1:3] = [arguments[0][:1], arguments[0][: size // 16]]
    return arguments


def _value(kind: static.Type, size: int, text: Text, shape: int, position: int) -> Any:
    if kind.kind == static.STRING:
        made = text(size)
        # parts that are nearly in the text take the longest to find
        return made if position == 0 else made[: len(made) // 3] + "b" + made[: len(made) // 3]
    if kind.kind == static.LIST:
        return _list(kind.parameters[0], size, text, shape)
    if kind.kind == static.MAP:
        entries = GeneralMap()
        for i in range(size):
            entries.put(f"{position}-{i}", i)
        return entries
    simple: dict[int, Any] = {
        static.BOOL: True,
        static.DOUBLE: 1.5,
        static.DURATION: Duration(1),
        static.INT: 1 if position else size,
        static.UINT: Uint(size),
        static.TIMESTAMP: Timestamp(0),
        static.NULL: None,
    }
    if kind.kind == static.BYTES:
        return text(size).encode("utf-8", "surrogatepass")
    if kind.kind in simple:
        return simple[kind.kind]
    return _opaque(kind.name, size, text, shape)


def _opaque(name: str, size: int, text: Text, shape: int) -> Any:
    if name == "kubernetes.URL":
        return _read(url.parse, "http://h/" + text(size)) or url.parse(
            "http://h/" + "%41/" * (size // 4) + "?" + "a=b&" * (size // 4)
        )
    if name == "kubernetes.Semver":
        return _read(semver.parse, "1.0.0-" + text(size)) or semver.parse("1.0.0-" + "a." * (size // 2) + "a")
    if name == "kubernetes.Quantity":
        return quantity.parse("1" + "0" * (min(size, 4_000) - 1 if shape % 2 else 10))
    if name == "net.IP":
        return _read(ip.parse, "::1%" + text(size)) or ip.parse("1.2.3.4")
    if name == "net.CIDR":
        return cidr.parse("1.2.3.0/24")
    if name == "kubernetes.NamedFormat":
        return list(FORMATS.values())[shape % len(FORMATS)]
    if name == "optional_type":
        return Optional(text(size))
    # of any type: lists in lists take the longest to compare
    return [[1] * size]


def _read(parse: Callable[[str], Any], text: str) -> Any:
    """The value of a text, None if it has none."""
    try:
        return parse(text)
    except CelError:
        return None


def _list(kind: static.Type, size: int, text: Text, shape: int) -> Any:
    scalar = {static.DYN: static.STRING_TYPE, static.TYPE_PARAMETER: static.STRING_TYPE}.get(kind.kind, kind)
    if kind.kind in (static.DYN, static.TYPE_PARAMETER) and shape % 2:
        return _doubled([[1, 2, 3]], size)
    if scalar.kind == static.LIST:
        return [_doubled([1], size * size) for _ in range(4)]
    if scalar.kind == static.STRING:
        return _doubled(["a", "b", "ab"], size)
    return _doubled([_value(scalar, 4, text, shape, 1)], size)


def _doubled(elements: list[Any], size: int) -> Any:
    """A list as `cel.bind` doubles one."""
    doubled: Any = elements
    while len(doubled) < size:
        doubled = ConcatList(doubled, doubled)
    return doubled
