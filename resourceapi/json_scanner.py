"""A JSON parser that is slower than the standard library's, and says what is wrong as Go's does.

It knows no recursion, so that deep nesting is only a matter of the limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from resourceapi.field_errors import Path
from resourceapi.go_text import quote
from resourceapi.json_values import MAX_DEPTH, MAX_INT_DIGITS, JSONError, Number, members

_SPACE_CHARACTERS = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_WHOLE_STRINGS = re.compile(r'(?:[^"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
_CONSTANT = re.compile(rf"{_STRING.pattern}|(?P<constant>NaN|-?Infinity)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_NO_BRACKETS = re.compile(r"[^][{}]+")
_STRING_MARK = "s"
_ATOMS = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_END = "unexpected end of JSON input"


def scan(text: str) -> Any:
    """The value of a JSON text.

    :raises JSONError: with Go's message, at the first wrong character.
    """
    return _Scanner(text).run()


def explain(text: str, at: int) -> JSONError:
    """What is wrong with a text that another parser could not read beyond the character ``at``.

    What is before that character is known to be right; only where it stands has to be found out, which is far faster
    than to read all of a long text once more.
    """
    whole = _WHOLE_STRINGS.match(text, 0, at)
    start = at if whole is None else whole.end()  # before a string that does not end before `at`
    skeleton = _STRING.sub(_STRING_MARK, text[:start])
    begun = 0
    if start == at and text[at : at + 1] in (".", "e", "E") and skeleton[-1:].isdigit():
        begun = len(skeleton) - len(skeleton.rstrip("-+.0123456789eE"))  # a number that is wrong
    before = skeleton[: len(skeleton) - begun].rstrip(_SPACE_CHARACTERS)
    try:
        _Scanner(text).resume(start - begun, before)
    except JSONError as error:
        return error
    return JSONError(_END)


def constant_at(text: str) -> int:
    """Where the first constant stands that Python reads and JSON does not have (``NaN``, ``Infinity``)."""
    return next(found.start() for found in _CONSTANT.finditer(text) if found.lastgroup)


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


def _innermost(text: str) -> str:
    """The bracket that opens the container at the end of a text without strings; none outside of all."""
    closed = 0
    for bracket in reversed(_NO_BRACKETS.sub("", text)):
        if bracket in "]}":
            closed += 1
        elif closed:
            closed -= 1
        else:
            return bracket
    return ""


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

    def resume(self, at: int, before: str) -> None:
        """Reads on from a character; ``before`` is the text up to there, each string in it a mark."""
        self.at = at
        container = _innermost(before)
        last = before[-1:]
        if not container and last:
            self._expect_end()
            return
        frame = _Frame(0, container == "{")
        self.stack = [frame] if container else []
        if last == "{" or (last == "," and container == "{"):
            self._key(frame)
        elif last and last not in "[:,":
            is_key = (
                container == "{"
                and last == _STRING_MARK
                and before[:-1].rstrip(_SPACE_CHARACTERS)[-1:] in "{,"
            )
            if is_key:
                self._colon()
            elif self._after_value(frame):
                return
        self.run()

    def _here(self) -> Path:
        return tuple(len(frame.items) if frame.pairs is None else frame.key for frame in self.stack)

    def _begin_value(self) -> tuple[Any, bool]:
        """Read a scalar or open a container.

        :returns: whether the value is complete.
        """
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
        self._colon()

    def _colon(self) -> None:
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
        if has_exponent or "." in digits or digits == "-0" or len(digits) > MAX_INT_DIGITS:
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
