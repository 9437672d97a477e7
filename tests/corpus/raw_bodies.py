"""Bodies as text: JSON that is no object, no JSON at all, or that a decoder could read in more than one way."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

_NUMBERS = (
    "01",
    "1e2",
    "1E2",
    "1.0",
    "-0",
    "1e-2",
    "1.",
    ".5",
    "+1",
    "NaN",
    "Infinity",
    "0x1",
    "1" * 30,
    "1e400",
)
_ESCAPES = (
    "\\u0061",
    "\\ud83d\\ude00",
    "\\ud800",
    "\\udc00x",
    "\\u0000",
    "\\x41",
    "\\'",
    "\\/",
    "\\u12",
    "\t",
)
_WHOLE = (
    "",
    " ",
    "null",
    "true",
    "5",
    '"x"',
    "[]",
    "[{}]",
    "{}",
    "{",
    "}",
    '{"a"}',
    "nul",
    "{}{}",
    "---\na: b\n",
    "\ufeff{}",
)


def raw_body(source: random.Random, object: Any) -> str:
    """The text of an object, changed as text at a random place."""
    change: Callable[[random.Random, str], str] = source.choice(
        (
            _repeated_key,
            _repeated_key,
            _number,
            _escape,
            _cut,
            _comma,
            _spaced,
            _key_case,
            _appended,
            _whole,
            _null,
        )
    )
    return change(source, json.dumps(object, ensure_ascii=source.random() < 0.5))


def _somewhere(source: random.Random, pattern: str, text: str) -> re.Match[str] | None:
    places = list(re.finditer(pattern, text))
    return source.choice(places) if places else None


def _replaced(place: re.Match[str] | None, text: str, by: str) -> str:
    return text[: place.start()] + by + text[place.end() :] if place else text


def _repeated_key(source: random.Random, text: str) -> str:
    place = _somewhere(source, r'"\w+": ', text)
    value = source.choice(("null", '"x"', "5", "{}", "[]", "true", '{"a":1,"a":2}'))
    times = source.choice((1, 1, 2))
    return _replaced(place, text, f"{place[0]}{value}, " * times + place[0]) if place else text


def _number(source: random.Random, text: str) -> str:
    return _replaced(_somewhere(source, r"(?<=: )\d+", text), text, source.choice(_NUMBERS))


def _escape(source: random.Random, text: str) -> str:
    return _replaced(_somewhere(source, r'(?<=: ")\w', text), text, source.choice(_ESCAPES))


def _cut(source: random.Random, text: str) -> str:
    return text[: source.randrange(len(text))]


def _comma(source: random.Random, text: str) -> str:
    return _replaced(_somewhere(source, r"[,}\]]", text), text, source.choice((",}", ",]", ",,", "", ":")))


def _spaced(source: random.Random, text: str) -> str:
    space = source.choice(("\n", "\t", "\r\n", "\u00a0", "\u2028", "\ufeff", "/* */", "// x\n", "# x\n"))
    return _replaced(_somewhere(source, r" ", text), text, space)


def _key_case(source: random.Random, text: str) -> str:
    place = _somewhere(source, r'"\w+"(?=: )', text)
    return _replaced(place, text, source.choice((place[0].upper(), place[0].title()))) if place else text


def _appended(source: random.Random, text: str) -> str:
    return text + source.choice(("}", "]", " {}", "\n\n", "x", "\x00", ",", "\ufeff"))


def _whole(source: random.Random, text: str) -> str:
    return source.choice(_WHOLE)


def _null(source: random.Random, text: str) -> str:
    return _replaced(_somewhere(source, r'(?<=: )"[^"]*"', text), text, "null")
