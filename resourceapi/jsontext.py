"""JSON text as kube-apiserver's parser sees it.

Plain Python values, except where they would lose what the server reports: an object with repeated keys is a
:class:`Members`, a number that is not simply an integer is a :class:`Number`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from resourceapi.gotext import REPLACEMENT, Literal, json_text

MAX_DEPTH = 10_000


class JSONError(ValueError):
    """Text that is no JSON; the message is the server's."""


class Number(Literal):
    """A number as it is written (``1.0``, ``1e2``)."""

    __slots__ = ()


class Members(dict[str, Any]):
    """An object in which a key is repeated; ``pairs`` are its members in order, the ``dict`` has the last of each."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its members in order."""
    plain = dict(pairs)
    return plain if len(plain) == len(pairs) else Members(pairs)


def text_of(body: str | bytes) -> str:
    """The text of a body; bytes that are no UTF-8 stay, one by one, as lone surrogates."""
    return body if isinstance(body, str) else body.decode("utf-8", "surrogateescape")


def parse(body: str | bytes) -> Any:
    """The value of a JSON text.

    What is not Unicode, escaped or not, becomes U+FFFD, as in Go.

    :raises JSONError: with the server's text, for anything that is no JSON or deeper than 10,000 levels.
    """
    text = text_of(body)
    try:
        value = _parser("-0" in text)(text)
    except (ValueError, RecursionError):
        # A syntax error, or what only Python cannot read: deep nesting, integers of thousands of digits.
        from resourceapi.jsonscanner import scan

        value = scan(text)
    if "\\u" in text or not _is_unicode(text):
        return _without_surrogates(value)
    return value


class Raw:
    """A piece of JSON that the server keeps as it was sent (``runtime.RawExtension``).

    ``source`` is the text as sent, where that is known; otherwise it is what a client makes of the value.
    """

    __slots__ = ("_source", "_text", "value")

    def __init__(self, value: Any, source: str | None = None) -> None:
        self.value = value
        self._source = source
        self._text: str | None = None

    @property
    def text(self) -> str:
        """The value without spaces, in the order of its keys: how the server returns it."""
        if self._text is None:
            self._text = json_text(self.value)
        return self._text

    @property
    def size(self) -> int:
        """Bytes of the text as sent."""
        source = self.text if self._source is None else self._source
        return len(source.encode("utf-8", "surrogateescape"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raw) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Raw({self.text})"


_parsers: dict[bool, Callable[[str], Any]] = {}


def _parser(keep_minus_zero: bool) -> Callable[[str], Any]:
    """The standard library's parser; it is loaded only for those who read JSON."""
    if keep_minus_zero not in _parsers:
        import json

        _parsers[keep_minus_zero] = json.JSONDecoder(
            object_pairs_hook=members,
            parse_float=Number,
            parse_int=_integer if keep_minus_zero else None,
            parse_constant=_refuse,
        ).decode
    return _parsers[keep_minus_zero]


def _integer(digits: str) -> int | Number:
    return Number(digits) if digits == "-0" else int(digits)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_surrogates(value: Any) -> Any:
    """The value with U+FFFD for lone surrogates, in keys too; containers are changed in place."""
    if isinstance(value, str):
        return _unicode(value)
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pairs = item.pairs if type(item) is Members else list(item.items())
            changed = [(_unicode(key), _unicode_leaf(member)) for key, member in pairs]
            item.clear()
            item.update(changed)
            if type(item) is Members:
                item.pairs = changed
            pending.extend(member for _, member in changed if isinstance(member, (dict, list)))
        elif isinstance(item, list):
            item[:] = map(_unicode_leaf, item)
            pending.extend(member for member in item if isinstance(member, (dict, list)))
    return value


def _unicode_leaf(value: Any) -> Any:
    return _unicode(value) if type(value) is str else value


def _unicode(text: str) -> str:
    if _is_unicode(text):
        return text
    return "".join(REPLACEMENT if "\ud800" <= character <= "\udfff" else character for character in text)
