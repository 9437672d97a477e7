"""What a function takes stays in proportion to what it is charged, however large its arguments are.

Each function of the declarations is called with arguments of doubling sizes. Charged are CEL's units and the effort
that the function reports itself (`deviceselectors.runtime.effort`), which both have a limit per evaluation. The work
is measured as CPU time, the least of several runs, over sizes so far apart that no noise hides what grows faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from deviceselectors import types as static
from deviceselectors.libraries import cidr, find, ip, names, quantity, semver, url
from deviceselectors.libraries.calls import resolve
from deviceselectors.libraries.function import Overload, Run
from deviceselectors.libraries.named_formats import FORMATS
from deviceselectors.runtime import effort, regexes
from deviceselectors.runtime.values import (
    CelError,
    CelPanic,
    ConcatList,
    Duration,
    GeneralMap,
    Optional,
    Timestamp,
    Uint,
)

_SMALL, _FACTOR = 128, 64
#: How much more a unit may take at the greater size. What is quadratic without paying takes 64 times as much.
_MOST_GROWTH = 16
#: Steps of effort that weigh as much as a unit: an evaluation has 1,000,000 units and 5,000,000 steps.
_STEPS_PER_UNIT = 5
_RUNS = 3
_COST_LIMIT = 1_000_000
#: What is so quick is not measured well.
_NEGLIGIBLE = 30e-6

#: Decided by the compiler, or made of the other functions.
_SYNTAX = frozenset(
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


def _overloads(name: str) -> tuple[Overload, ...]:
    function = find(name)
    assert function is not None
    return function.overloads


def _is_callable(overload: Overload) -> bool:
    return not any(argument.name in _NO_VALUES for argument in overload.arguments)


_CALLS = [
    pytest.param(name, overload, id=overload.id)
    for name in names()
    if name not in _SYNTAX
    for overload in _overloads(name)
    if _is_callable(overload)
]


@pytest.mark.parametrize("name", [name for name in names() if name not in _SYNTAX])
def test_every_declared_function_is_there(name: str) -> None:
    """Each overload that is declared can be computed, and a call that may be any of them."""
    ids = tuple([overload.id for overload in _overloads(name)])
    for overload_id in ids:
        assert resolve(name, (overload_id,)) is not None
    assert resolve(name, ids) is not None


def test_syntax_is_computed_by_no_function() -> None:
    """What the interpreter and the generator evaluate themselves has no function that would never be called."""
    without = {
        name
        for name in names()
        if (function := find(name))
        and function.run is None
        and any(o.run is None for o in function.overloads)
    }
    assert without == _SYNTAX - {"hasValue", "value"}


@pytest.mark.parametrize(("name", "overload"), _CALLS)
def test_work_is_in_proportion(name: str, overload: Overload) -> None:
    """64 times as large an argument takes hardly more time per unit, whatever the texts are made of."""
    for shape in range(len(_TEXTS)):
        call = resolve(name, (overload.id,))
        cost = 1 if overload.cost is None else overload.cost
        small = _per_unit(call, cost, _arguments(name, overload, _SMALL, shape))
        large = _per_unit(call, cost, _arguments(name, overload, _SMALL * _FACTOR, shape))
        assert large <= small * _MOST_GROWTH, f"{_TEXTS[shape](12)!r}: {large / small:.0f} times"


def _per_unit(call: Run, cost: Any, arguments: list[Any]) -> float:
    """Seconds per unit of a call."""
    least = float("inf")
    units = 1.0
    for _ in range(_RUNS):
        effort.begin()
        start = time.thread_time()
        try:
            units = 1 + (cost if isinstance(cost, int) else cost(*arguments))
            if units < _COST_LIMIT:
                call(*arguments)
        except (CelError, CelPanic):
            pass
        least = min(least, time.thread_time() - start)
    return max(least, _NEGLIGIBLE) / (units + effort.spent() / _STEPS_PER_UNIT)


# ---------------------------------------------------------------- arguments

_TEXTS: list[Callable[[int], str]] = [
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
]


def _arguments(name: str, overload: Overload, size: int, shape: int) -> list[Any]:
    arguments = [
        _value(argument, size, shape, position) for position, argument in enumerate(overload.arguments)
    ]
    if name in ("find", "findAll", "matches"):
        # a pattern grows neither so far nor so often: compiling it is effort
        arguments[1] = ("a.*b|a", "a", "(a|b)*c|a", ".", "x*", "[^b]+c|.", "(?:a.*b|.)")[shape % 7]
    if name == "replace":
        arguments[1:3] = [arguments[0][:1], arguments[0][: size // 16]]
    return arguments


def _value(kind: static.Type, size: int, shape: int, position: int) -> Any:
    text = _TEXTS[shape](size)
    if kind.kind == static.STRING:
        # parts that are nearly in the text take the longest to find
        return text if position == 0 else text[: len(text) // 3] + "b" + text[: len(text) // 3]
    if kind.kind == static.LIST:
        return _list(kind.parameters[0], size, shape)
    if kind.kind == static.MAP:
        entries = GeneralMap()
        for i in range(size):
            entries.put(f"{position}-{i}", i)
        return entries
    simple: dict[int, Any] = {
        static.BOOL: True,
        static.BYTES: text.encode(),
        static.DOUBLE: 1.5,
        static.DURATION: Duration(1),
        static.INT: 1 if position else size,
        static.UINT: Uint(size),
        static.TIMESTAMP: Timestamp(0),
        static.NULL: None,
    }
    if kind.kind in simple:
        return simple[kind.kind]
    return _opaque(kind.name, size, shape)


def _opaque(name: str, size: int, shape: int) -> Any:
    if name == "kubernetes.URL":
        return url.parse("http://h/" + "%41/" * (size // 4) + "?" + "a=b&" * (size // 4))
    if name == "kubernetes.Semver":
        return semver.parse("1.0.0-" + "a." * (size // 2) + "a")
    if name == "kubernetes.Quantity":
        return quantity.parse("1" + "0" * (min(size, 4_000) - 1 if shape % 2 else 10))
    if name == "net.IP":
        return ip.parse("1.2.3.4")
    if name == "net.CIDR":
        return cidr.parse("1.2.3.0/24")
    if name == "kubernetes.NamedFormat":
        return list(FORMATS.values())[shape % len(FORMATS)]
    if name == "optional_type":
        return Optional(_TEXTS[shape](size))
    # of any type: lists in lists take the longest to compare
    return [[1] * size]


def _list(kind: static.Type, size: int, shape: int) -> Any:
    scalar = {static.DYN: static.STRING_TYPE, static.TYPE_PARAMETER: static.STRING_TYPE}.get(kind.kind, kind)
    if kind.kind in (static.DYN, static.TYPE_PARAMETER) and shape % 2:
        return _doubled([[1, 2, 3]], size)
    if scalar.kind == static.LIST:
        return [_doubled([1], size * size) for _ in range(4)]
    if scalar.kind == static.STRING:
        return _doubled(["a", "b", "ab"], size)
    return _doubled([_value(scalar, 4, shape, 1)], size)


def _doubled(elements: list[Any], size: int) -> Any:
    """A list as `cel.bind` doubles one."""
    doubled: Any = elements
    while len(doubled) < size:
        doubled = ConcatList(doubled, doubled)
    return doubled


@pytest.mark.parametrize("pattern", ["a", "a.*b|a", "(a*b|a)", ".", "a+", "(?:aa)*b|a", "a{1,999}b|a"])
def test_all_matches_take_linear_effort(pattern: str) -> None:
    """Searches that read to the end of the text again and again are counted, and end in good time."""
    for size in (1 << 10, 1 << 14, 1 << 18):
        effort.begin()
        start = time.thread_time()
        try:
            found = len(regexes.find_all(regexes.compile_regex(pattern), "a" * size))
            assert found in (1, size, size + 1)
        except CelPanic:
            assert size > 1 << 10
        units = 1 + size * 0.1 * (len(pattern) + 3) // 4 + effort.spent() / _STEPS_PER_UNIT
        assert (time.thread_time() - start) / units < 500e-6
