"""A JSON parser that is slower than the standard library's, and says what is wrong as Go's does.

It knows no recursion, so that deep nesting is only a matter of the limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from resourceapi.fieldpath import Path
from resourceapi.gotext import quote
from resourceapi.jsontext import MAX_DEPTH, JSONError, Number, members

_SPACES = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_ATOMS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_MAX_INT_DIGITS = 4000
_END = "unexpected end of JSON input"


def scan(text: str) -> Any:
    """The value of a JSON text. Raises JSONError with Go's message at the first wrong character."""
    return _Scanner(text).run()


def sources_at(text: str, paths: Collection[Path]) -> dict[Path, str]:
    """The parts of a (valid) JSON text that hold the values at ``paths``, of those that are there; one reading."""
    scanner = _Scanner(text, paths)
    scanner.run()
    return scanner.found


class _Frame:
    """A container that is being read: the members of an object, or the items of a list."""

    __slots__ = ("items", "key", "pairs", "start")

    def __init__(self, start: int, is_object: bool) -> None:
        self.start = start
        self.pairs: list[tuple[str, Any]] | None = [] if is_object else None
        self.items: list[Any] = []
        self.key = ""

    def add(self, value: Any) -> None:
        if self.pairs is None:
            self.items.append(value)
        else:
            self.pairs.append((self.key, value))

    def value(self) -> Any:
        return self.items if self.pairs is None else members(self.pairs)


class _Scanner:
    def __init__(self, text: str, wanted: Collection[Path] = ()) -> None:
        self.text = text
        self.at = 0
        self.stack: list[_Frame] = []
        self.wanted = wanted
        self.wanted_depths = {len(path) for path in wanted}
        self.found: dict[Path, str] = {}

    def run(self) -> Any:
        """Reads value after value; a container becomes a value when it closes."""
        while True:
            self._skip_spaces()
            start = self.at
            value, complete = self._begin_value()
            while complete:
                if len(self.stack) in self.wanted_depths and (here := self._here()) in self.wanted:
                    self.found[here] = self.text[start : self.at]
                if not self.stack:
                    self._expect_end()
                    return value
                frame = self.stack[-1]
                frame.add(value)
                complete = self._after_value(frame)
                if complete:
                    self.stack.pop()
                    value, start = frame.value(), frame.start

    def _here(self) -> Path:
        return tuple(len(frame.items) if frame.pairs is None else frame.key for frame in self.stack)

    def _begin_value(self) -> tuple[Any, bool]:
        """Reads a scalar or opens a container; tells whether the value is complete."""
        text, at = self.text, self.at
        character = text[at : at + 1]
        if character == '"':
            return self._string(), True
        if character in ("{", "["):
            return self._open(character)
        if character == "-" or "0" <= character <= "9":
            return self._number(), True
        if character in _ATOMS:
            return self._atom(*_ATOMS[character]), True
        raise self._wrong(at, "looking for beginning of value")

    def _open(self, bracket: str) -> tuple[Any, bool]:
        is_object = bracket == "{"
        frame = _Frame(self.at, is_object)
        if len(self.stack) >= MAX_DEPTH:
            raise self._wrong(self.at, "exceeded max depth")
        self.at += 1
        self._skip_spaces()
        if self.text[self.at : self.at + 1] == ("}" if is_object else "]"):
            self.at += 1
            return frame.value(), True
        self.stack.append(frame)
        if is_object:
            self._key(frame)
        return None, False

    def _after_value(self, frame: _Frame) -> bool:
        """Reads what follows a member: a comma, or the bracket that closes the container (then True)."""
        self._skip_spaces()
        character = self.text[self.at : self.at + 1]
        is_object = frame.pairs is not None
        if character == ",":
            self.at += 1
            if is_object:
                self._skip_spaces()
                self._key(frame)
            return False
        if character == ("}" if is_object else "]"):
            self.at += 1
            return True
        raise self._wrong(self.at, "after object key:value pair" if is_object else "after array element")

    def _key(self, frame: _Frame) -> None:
        if self.text[self.at : self.at + 1] != '"':
            raise self._wrong(self.at, "looking for beginning of object key string")
        frame.key = self._string()
        self._skip_spaces()
        if self.text[self.at : self.at + 1] != ":":
            raise self._wrong(self.at, "after object key")
        self.at += 1

    def _string(self) -> str:
        match = _STRING.match(self.text, self.at)
        if match is None:
            raise self._wrong_string()
        self.at = match.end()
        value: str = scanstring(self.text, match.start() + 1)[0]
        return value

    def _wrong_string(self) -> JSONError:
        text, at = self.text, self.at + 1
        while at < len(text):
            character = text[at]
            if character < " ":
                return self._wrong(at, "in string literal")
            at += 1
            if character != "\\":
                continue
            escape = text[at : at + 1]
            if escape == "u":
                for digit in range(at + 1, at + 5):
                    if text[digit : digit + 1] not in set("0123456789abcdefABCDEF"):
                        return self._wrong(digit, "in \\u hexadecimal character escape", inside=True)
            elif not escape or escape not in '"\\/bfnrt':
                return self._wrong(at, "in string escape code", inside=True)
            at += 1
        return JSONError(_END)

    def _number(self) -> int | Number:
        text = self.text
        match = _NUMBER.match(text, self.at)
        if match is None:
            raise self._wrong(self.at + 1, "in numeric literal", inside=True)
        end = match.end()
        digits = match[0]
        following = text[end : end + 1]
        has_exponent = "e" in digits or "E" in digits
        if following == "." and not has_exponent and "." not in digits:
            raise self._wrong(end + 1, "after decimal point in numeric literal", inside=True)
        if following in ("e", "E") and not has_exponent:
            signed = text[end + 1 : end + 2] in ("+", "-")
            raise self._wrong(end + 1 + signed, "in exponent of numeric literal", inside=True)
        self.at = end
        if has_exponent or "." in digits or digits == "-0" or len(digits) > _MAX_INT_DIGITS:
            return Number(digits)
        return int(digits)

    def _atom(self, word: str, value: bool | None) -> bool | None:
        for index in range(1, len(word)):
            if self.text[self.at + index : self.at + index + 1] != word[index]:
                context = f"in literal {word} (expecting '{word[index]}')"
                raise self._wrong(self.at + index, context, inside=True)
        self.at += len(word)
        return value

    def _expect_end(self) -> None:
        self._skip_spaces()
        if self.at < len(self.text):
            raise self._wrong(self.at, "after top-level value")

    def _skip_spaces(self) -> None:
        match = _SPACES.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def _wrong(self, at: int, context: str, *, inside: bool = False) -> JSONError:
        """The error at a character; ``inside`` a literal, the end of the text counts as a space."""
        character = self.text[at : at + 1]
        if not character:
            if not inside:
                return JSONError(_END)
            character = " "
        byte = chr(character.encode("utf-8", "surrogateescape")[0])  # Go looks at bytes
        shown = {"'": "\\'", '"': '"'}.get(byte) or quote(byte)[1:-1]
        return JSONError(f"invalid character '{shown}' {context}")
