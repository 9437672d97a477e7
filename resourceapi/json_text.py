"""JSON text as kube-apiserver's parser sees it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

from resourceapi.field_errors import Path
from resourceapi.go_text import REPLACEMENT, json_parts, json_string, json_text
from resourceapi.json_values import (
    MAX_DEPTH,
    MAX_INT_DIGITS,
    Members,
    Number,
    is_deeper,
    last_members,
    members,
)

# Makes an object of its members. Python functions, as those for numbers, are where threads take turns.
_Objects = Callable[[list[tuple[str, Any]]], dict[str, Any]]
#: Outside of strings.
_INFINITY = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|Infinity', re.DOTALL)
_NO_PLAIN_INTEGER = re.compile(rb"(?:^|[:,\[])\s*(?:-0|-?[0-9]+[.eE]|-?[0-9]{%d})" % MAX_INT_DIGITS)
_NEITHER_NUMBER_NOR_SPACE = re.compile(rb"[^\s0-9.eE-]")
_SURROGATES = re.compile("[\ud800-\udfff]+")
# How much is searched before other threads take their turn: a search keeps them all waiting.
_TURN_BYTES = 256 * 1024


def text_of(body: str | bytes) -> str:
    """The text of a body; bytes that are no UTF-8 stay, one by one, as lone surrogates."""
    return body if isinstance(body, str) else body.decode("utf-8", "surrogateescape")


def parse(body: str | bytes, *, keep_repeated: bool = True, in_turns: bool = False) -> Any:
    """The value of a JSON text.

    What is not Unicode, escaped or not, becomes U+FFFD, as in Go.

    :param keep_repeated: of a repeated key keep every member, in :class:`Members`; otherwise the last counts, which
        is faster, takes a third of the memory, and is the same for what a program has written.
    :param in_turns: let other threads run while a long text is read, which takes somewhat longer.
    :raises JSONError: with the server's text, for anything that is no JSON or deeper than 10,000 levels.
    """
    text = text_of(body)
    objects = members if keep_repeated else last_members if in_turns else None
    value = _read(text, careful="-0" in text, objects=objects)
    if (
        len(text) > MAX_DEPTH
        and text.count("[") + text.count("{") > MAX_DEPTH
        and is_deeper(value, MAX_DEPTH)
    ):
        from resourceapi.json_scanner import scan

        scan(text)
    if "\\u" in text or not _is_unicode(text):
        return _without_surrogates(value)
    return value


def may_have_literals(body: bytes) -> bool:
    """Whether a value that :func:`parse` makes of a JSON text can have numbers other than plain integers.

    True also for some texts in which only strings look so, or that have very much space.
    """
    start = 0
    while start < len(body):
        end = start + 2 * _TURN_BYTES
        if end < len(body):
            apart = _NEITHER_NUMBER_NOR_SPACE.search(body, start + _TURN_BYTES, end)
            if apart is None:
                return True
            end = apart.start()
        if _NO_PLAIN_INTEGER.search(body, start, end):
            return True
        start = end
    return False


def _read(text: str, *, careful: bool, objects: _Objects | None) -> Any:
    """``careful``: look at each integer, whether it is one that Python cannot keep as it is."""
    try:
        return _parser(careful, objects)(text)
    except RecursionError:
        from resourceapi.json_scanner import scan

        return scan(text)
    except ValueError as error:
        from resourceapi.json_scanner import constant_at, explain, scan

        wrong: int | None = (
            constant_at(text) if type(error) is _ConstantError else getattr(error, "pos", None)
        )
        if wrong is not None:
            if text.count("[", 0, wrong) + text.count("{", 0, wrong) > MAX_DEPTH:
                scan(text)  # Python may read deeper than the server, which then stops before this mistake
            raise explain(text, wrong) from None
        return _read(text, careful=True, objects=objects)  # an integer of thousands of digits


class Sources:
    """A JSON text, and where in it certain values stand; it is looked through once, when that is first asked."""

    __slots__ = ("_found", "_wanted", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._wanted: set[Path] = set()
        self._found: dict[Path, str] | None = None

    def want(self, path: Path) -> None:
        """Announce that the value at ``path`` may be asked for."""
        self._wanted.add(path)
        self._found = None

    def at(self, path: Path) -> str | None:
        """The text of the value at an announced path, if there is one."""
        if self._found is None:
            from resourceapi.json_scanner import sources_at

            self._found = sources_at(self.text, self._wanted)
        return self._found.get(path)


class Raw:
    """A piece of JSON that the server keeps as it was sent (``runtime.RawExtension``).

    ``whole`` is the JSON text in which the piece stands at ``path``, if there is one; otherwise the text is what
    kubectl makes of the value.
    """

    __slots__ = ("_path", "_source", "_text", "_whole", "value")

    def __init__(self, value: Any, whole: Sources | None = None, path: Path = ()) -> None:
        self.value = value
        if whole is not None:
            whole.want(path)
        self._whole = whole
        self._path = path
        self._source: str | None = None
        self._text: str | None = None

    @property
    def source(self) -> str:
        """The text as sent."""
        if self._source is None:
            if self._whole is not None:
                self._source = self._whole.at(self._path)
            if self._source is None:
                self._source = json_text(self.value)
        return self._source

    @property
    def text(self) -> str:
        """The text as the server shows it: without spaces, and safe to stand in HTML."""
        if self._text is None:
            self._text = self.source if self._whole is None else _compacted(self.source)
        return self._text

    @property
    def plain(self) -> Any:
        """The value in which numbers are numbers, whatever they looked like."""
        from resourceapi.deep_json import loads

        return loads(self.text)

    def exceeds(self, limit: int) -> bool:
        """Whether the text as sent has more than ``limit`` bytes."""
        if self._whole is not None and len(self._whole.text) * 4 <= limit:
            return False
        if self._whole is None and self._source is None:
            size = 0  # aliases may stand for much more than is written: nothing is built that is too large
            for part in json_parts(self.value, json_string):
                size += len(part.encode("utf-8", "surrogateescape"))
                if size > limit:
                    return True
            return False
        return len(self.source.encode("utf-8", "surrogateescape")) > limit

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raw) and json_text(self.value) == json_text(other.value)

    def __hash__(self) -> int:
        return hash(json_text(self.value))

    def __repr__(self) -> str:
        return f"Raw({self.text})"


class PackedRaw(Raw):
    """The same with its text alone, which takes a twentieth of the memory: the value is read from it whenever it is asked for."""

    __slots__ = ()

    def __init__(self, raw: Raw) -> None:
        from resourceapi.deep_json import as_go_writes_it

        self._whole, self._path, self._text = None, (), None
        self._source = as_go_writes_it(raw.value)
        if "Infinity" in self._source:  # what Python makes of 1e400, and does not read
            self._source = _INFINITY.sub(lambda found: found[1] or "1e999", self._source)

    @property
    def value(self) -> Any:
        """As of :class:`Raw`; another object each time."""
        from resourceapi.deep_json import loads

        return loads(self.source)

    def __eq__(self, other: object) -> bool:
        return self.source == other.source if isinstance(other, PackedRaw) else super().__eq__(other)

    __hash__ = Raw.__hash__


#: Shorter texts are not worth being compressed, in characters.
_MIN_ZIPPED = 4096


class ZippedRaw(PackedRaw):
    """The same, compressed if it is long, so that no character takes much more than an API server stores of it.

    :ivar length: the characters of its text.
    """

    __slots__ = ("_zipped", "length")

    def __init__(self, value: Any) -> None:
        """Pack a value."""
        super().__init__(Raw(value))
        source = self._source or ""
        self.length = len(source)
        self._zipped = b""
        if self.length >= _MIN_ZIPPED:
            self._zipped, self._source = zlib.compress(source.encode(), 1), None

    @property
    def source(self) -> str:
        """The text, which is not kept."""
        return self._source if self._source is not None else zlib.decompress(self._zipped).decode()

    @property
    def held_bytes(self) -> int:
        """What is held of it."""
        return len(self._zipped) or self.length

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ZippedRaw):
            return self._zipped == other._zipped and self._source == other._source
        return super().__eq__(other)

    __hash__ = Raw.__hash__


def _compacted(source: str) -> str:
    """JSON text without the spaces between its tokens, with the characters escaped that Go escapes."""
    compact = re.sub(r'("(?:[^"\\]|\\.)*")|[ \t\r\n]+', r"\1", source)
    for character in "<>&\u2028\u2029":
        if character in compact:
            compact = compact.replace(character, f"\\u{ord(character):04x}")
    return compact


_parsers: dict[tuple[bool, _Objects | None], Callable[[str], Any]] = {}


class _ConstantError(ValueError):
    pass


def _parser(careful: bool, objects: _Objects | None) -> Callable[[str], Any]:
    """The standard library's parser; it is loaded only for those who read JSON."""
    key = careful, objects
    if key not in _parsers:
        import json

        _parsers[key] = json.JSONDecoder(
            object_pairs_hook=objects,
            parse_float=Number if objects is None else _number,
            parse_int=_integer if careful or objects is not None else None,
            parse_constant=_refuse,
        ).decode
    return _parsers[key]


def _number(digits: str) -> Number:
    return Number(digits)


def _integer(digits: str) -> int | Number:
    return Number(digits) if digits == "-0" or len(digits) > MAX_INT_DIGITS else int(digits)


def _refuse(constant: str) -> None:
    raise _ConstantError(constant)


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
    parts = (text[start : start + _TURN_BYTES] for start in range(0, len(text), _TURN_BYTES))
    return "".join(_SURROGATES.sub(_replaced, part) for part in parts)


def _replaced(found: re.Match[str]) -> str:
    return REPLACEMENT * len(found[0])
