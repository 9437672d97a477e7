"""What kube-scheduler counts for calls: parts that several libraries have in common.

A cost is a number, or a function of the arguments, which may be errors: those have size 1. Sizes of strings count a
tenth per character, rounded up. Source: CEL's runtime cost model with the additions of Kubernetes' libraries, 1.37.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from deviceselectors.runtime import effort
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MAX_ELEMENTS,
    MISSING,
    SIZED,
    CelPanic,
    Duration,
    Optional,
    Timestamp,
    Uint,
    find,
    go_type,
    out_of_memory,
)

_ADDERS = frozenset((int, Uint, float, str, bytes, Duration, Timestamp))


def size_of(value: Any) -> int:
    """The size of a value, that of its content for an optional."""
    cls = value.__class__
    if cls in SIZED:
        return len(value)
    if cls is Optional and value.value is not MISSING:
        return size_of(value.value)
    return 1


def plain_size(value: Any) -> int:
    """The size as the extension libraries take it: 1 for optionals."""
    return len(value) if value.__class__ in SIZED else 1


def tenth(size: int) -> int:
    """What looking at so many characters costs."""
    return ceil(size * 0.1)


def reads(position: int) -> Callable[..., int]:
    """Looks at each character of one argument, or of what it holds."""
    return lambda *args: tenth(size_of(args[position]))


def reads_target(times: int = 1) -> Callable[..., int]:
    """Looks at each character of the first argument, so many times."""
    return lambda target, *args: ceil(plain_size(target) * times * 0.1)


def compares(left: Any, right: Any) -> int:
    """Looks at both arguments as far as the shorter one goes."""
    return ceil(min(size_of(right), size_of(left)) * 0.1)


def reads_elements(value: Any, *args: Any) -> int:
    """Looks at all parts of the first argument, however deep."""
    cost = 0
    pending = [value]
    while pending:
        value = pending.pop()
        cls = value.__class__
        if cls is str:
            cost += int(_utf8_length(value) * 0.1)
        elif cls is bytes:
            cost += int(len(value) * 0.1)
        elif cls in LIST_CLASSES or cls in MAP_CLASSES:
            if len(value) > MAX_ELEMENTS:
                raise out_of_memory()
            # short strings and empty lists cost nothing, however many there are
            effort.spend(4 * len(value))
            pending.extend(value)
            if cls in MAP_CLASSES:
                pending.extend([find(value, key) for key in value])
        else:
            cost += 1
    return cost


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def go_conversion(value: Any, target: str) -> CelPanic:
    """The panic of cel-go, which assumes the type of the argument, when that is an error."""
    if target == "traits.Lister":
        missing = "Contains" if value.__class__ in _ADDERS else "Add"
        return CelPanic(
            f"interface conversion: {go_type(value)} is not traits.Lister: missing method {missing}"
        )
    return CelPanic(f"interface conversion: ref.Val is {go_type(value)}, not {target}")
