"""``json.loads``, ``json.dumps`` and ``==`` for values that are nested more deeply than those can follow.

For JSON that an API server or Claimcheck has written; :mod:`resourceapi.json_text` reads what strangers send.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from resourceapi.go_text import json_text
from resourceapi.json_values import MAX_DEPTH, JSONError

# An API server stores objects of up to 10,000 levels; those of a list are two levels deep in it.
_MOST_LEVELS = MAX_DEPTH + 2
# So many at a time: far fewer than the interpreter's stack has, whoever calls.
_LEVELS_AT_ONCE = 200
# Strings, so that brackets in them do not count; brackets; the first letters of NaN and Infinity, which JSON does not have.
_TOKENS = r'(?s)"[^"\\]*+(?:\\.[^"\\]*+)*+"|[][{}NI]'


def loads(body: str | bytes) -> Any:
    """The value of a JSON text, as ``json.loads`` returns it.

    :raises JSONError: for what is not JSON, or has an integer of thousands of digits; for what is deeper than a list of the
        deepest objects, unless the interpreter can follow it.
    """
    try:
        try:
            return json.loads(body, parse_constant=_refuse)
        except RecursionError:
            return _joined(body if isinstance(body, str) else body.decode())
    except ValueError as error:
        raise JSONError(str(error)) from None


def dumps(value: Any) -> str:
    """A value of :func:`loads` as JSON."""
    try:
        return json.dumps(value)
    except RecursionError:
        return json_text(value)


def as_go_writes_it(value: Any) -> str:
    """A value of :func:`loads` as JSON without spaces, and with <, > and & escaped.

    An API server keeps some parts of objects (parameters of drivers) as they were sent, byte by byte, and takes others for a
    change of what must not change; what it answers is in this form, as is what its patches make.
    """
    try:
        written = json.dumps(value, separators=(",", ":"))
    except RecursionError:
        return json_text(value)
    return written.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def most_bytes(value: object) -> int:
    """At least the bytes of a value as Go writes it, at a fraction of the price of counting them."""
    return most_bytes_of(dumps(value))


def most_bytes_of(written: str) -> int:
    """The same for what :func:`dumps` returns for the value."""
    return len(written) + 5 * sum(map(written.count, "<>&"))


def equal(one: Any, other: Any) -> bool:
    """Whether two values of :func:`loads` are equal (``==``)."""
    try:
        return bool(one == other)
    except RecursionError:
        pass
    pending = [(one, other)]
    while pending:
        one, other = pending.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pending.extend((member, other[key]) for key, member in one.items())
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pending.extend(zip(one, other, strict=True))
        elif one != other:
            return False
    return True


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is a number that JSON does not have")


class _Part:
    """A part of a text, a few hundred levels deep, in which NaN stands for each part inside it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.inner: list[Any] = []

    def value(self) -> Any:
        inner = iter(self.inner)
        return json.loads("".join(self.pieces), parse_constant=lambda _: next(inner))


def _joined(text: str) -> Any:
    """Read a text part by part, the innermost first."""
    parts, depth, start = [_Part()], 0, 0
    for found in re.finditer(_TOKENS, text):
        token = found[0]
        if token in ("[", "{"):
            depth += 1
            if depth > _MOST_LEVELS:
                raise ValueError("exceeded max depth")
            if depth % _LEVELS_AT_ONCE == 0:
                parts[-1].pieces += (text[start : found.start()], "NaN")
                parts.append(_Part())
                start = found.start()
        elif token in ("]", "}"):
            if depth % _LEVELS_AT_ONCE == 0 and len(parts) > 1:
                part = parts.pop()
                part.pieces.append(text[start : found.end()])
                start = found.end()
                parts[-1].inner.append(part.value())
            depth -= 1
        elif token in ("N", "I"):
            _refuse("NaN" if token == "N" else "Infinity")
    if len(parts) > 1:
        raise ValueError("unexpected end of JSON input")
    parts[0].pieces.append(text[start:])
    return parts[0].value()
