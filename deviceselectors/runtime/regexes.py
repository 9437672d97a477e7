"""Regular expressions: `matches`, `find` and `findAll`, with Go's syntax and in linear time.

Patterns are parsed by Go's rules (`regex_syntax`) and run on google-re2, which reads a few things otherwise. So it is
told neither names of classes nor flags, and sees no characters beyond ASCII: what a pattern cannot tell apart becomes
one byte, in the pattern and in the text. That makes the engine's programs small, and offsets the same in both.

The engine's time is linear in the text, but some patterns keep all of their instructions busy: then it is the product of
both. As nothing tells them from others beforehand, each search is charged as effort for that product.
"""

from __future__ import annotations

import functools
import threading
from bisect import bisect_right
from collections import OrderedDict
from typing import Any, Protocol

from deviceselectors.runtime import effort
from deviceselectors.runtime.character_classes import Ranges
from deviceselectors.runtime.regex_syntax import Expression, parse, problem

_CACHE_SIZE = 256
#: Patterns that compile to more instructions are refused.
_MAX_SIZE = 100_000
#: What an engine may use, for its program and for the states that it remembers, in bytes.
_ENGINE_MEMORY = 2 << 20
#: Engines that are kept; a pattern whose engine has gone gets a new one when it is used.
_MAX_ENGINES = 64
#: Steps of effort for an instruction that is compiled.
_COMPILING = 16
#: So many instructions may look at a character in a step of effort: some tenths of a microsecond.
_INSTRUCTIONS_PER_STEP = 32
#: And so many in a search that counts for nothing: it takes hardly longer than to call the engine.
_FREE_INSTRUCTIONS = 2048
#: A search for one of all matches is a call of the engine, and its result an element in memory.
_PART = 64

_ASCII = 0x80
_MAX_CELLS = 0x100 - _ASCII
_MAX_REMEMBERED = 4096
_REPLACEMENT = 0xFFFD


class Pattern(Protocol):
    """What is used of the engine's compiled patterns."""

    #: its instructions
    programsize: int

    def search(self, text: bytes, pos: int = ..., /) -> Any:
        """The first match from a position on, or None."""


class _Cells(dict[int, int]):
    """Maps each character beyond ASCII to the byte that stands for all characters that the pattern treats alike."""

    __slots__ = ("bytes", "starts")

    def __init__(self, starts: list[int], cells: list[int]) -> None:
        super().__init__()
        self.starts = starts
        self.bytes = cells

    def __missing__(self, character: int) -> int:
        if character < _ASCII:
            return character
        if 0xD800 <= character <= 0xDFFF:
            # half a character, from bytes that are no UTF-8
            cell = self[_REPLACEMENT]
        else:
            cell = self.bytes[bisect_right(self.starts, character) - 1]
        if len(self) < _MAX_REMEMBERED:
            self[character] = cell
        return cell


class _ManyCells(ValueError):
    """A pattern tells more characters apart than there are bytes."""


class Regex:
    """A compiled pattern. Safe to use from several threads."""

    __slots__ = ("_cells", "_engine", "_free", "_size", "_source", "longest", "straight", "work")

    def __init__(self, expression: Expression) -> None:
        """Prepare the engine.

        :raises RegexError: if it gets too large
        """
        pieces = expression.flat()
        classes = list(dict.fromkeys([piece for piece in pieces if piece.__class__ is tuple]))
        self._cells: _Cells | None
        try:
            self._cells, texts = _alphabet(classes)
        except _ManyCells:
            self._cells, texts = None, {ranges: _class_text(ranges) for ranges in classes}
        self._source = "".join([piece if isinstance(piece, str) else texts[piece] for piece in pieces])
        self.longest = expression.longest
        self.straight = expression.straight
        #: the steps of effort that it takes to make it
        self.work = expression.size * _COMPILING + sum([len(ranges) for ranges in classes])
        self._engine: Pattern | None = None
        self._size = max(expression.size, self._start().programsize)
        #: so many characters are searched for nothing
        self._free = _FREE_INSTRUCTIONS // self._size

    def _start(self) -> Pattern:
        """A new engine.

        :raises RegexError: if the program gets too large
        """
        import re2  # type: ignore[import-untyped, import-not-found, unused-ignore]

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _ENGINE_MEMORY
        if self._cells is not None:
            options.encoding = re2.Options.Encoding.LATIN1
        try:
            # not re2.compile, which keeps what it makes
            engine: Pattern = re2._Regexp(self._source.encode("ascii"), options)
        except re2.error as error:
            raise problem("expression too large", _text(error.args[0])) from None
        self._engine = engine
        _keep(self)
        return engine

    def stop(self) -> None:
        """Lets the engine go."""
        self._engine = None

    def _encoded(self, text: str) -> bytes:
        """The text as the engine reads it, for a search that is charged."""
        if len(text) > self._free:
            self._charge(len(text))
        if text.isascii():
            return text.encode("ascii")
        effort.spend(len(text))
        if self._cells is None:
            return text.encode("utf-8", "replace")
        return text.translate(self._cells).encode("latin-1")

    def _charge(self, reads: float) -> None:
        effort.spend(int(reads) * self._size // _INSTRUCTIONS_PER_STEP)

    def search(self, text: str) -> Any:
        """Something if there is a match, else None."""
        return (self._engine or self._start()).search(self._encoded(text))

    def find(self, text: str) -> str:
        """The first match, an empty string if there is none."""
        encoded = self._encoded(text)
        match = (self._engine or self._start()).search(encoded)
        return "" if match is None else self._slice(text, encoded, match)

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """All matches that do not overlap; an empty one right behind another match does not count.

        A search may read far beyond its match, to no avail, and the next one again: what that takes is counted.
        """
        encoded = self._encoded(text)
        engine = self._engine or self._start()
        found: list[str] = []
        position, previous_end, size = 0, -1, len(encoded)
        reads: float = 0
        while position <= size and (limit < 0 or len(found) < limit):
            match = engine.search(encoded, position)
            if match is None:
                break
            start, end = match.span()
            if start != end or start != previous_end:
                found.append(self._slice(text, encoded, match))
                effort.spend(_PART)
            if not self.straight:
                reads += min(self.longest, size - end)
                if reads > self._free:
                    self._charge(reads)
                    reads = 0
            position = end + 1 if end == position else end
            if self._cells is None:
                while position < size and encoded[position] & 0xC0 == 0x80:
                    position += 1
            previous_end = end
        return found

    def _slice(self, text: str, encoded: bytes, match: Any) -> str:
        start, end = match.span()
        return text[start:end] if self._cells is not None else encoded[start:end].decode("utf-8", "replace")


def _text(message: object) -> str:
    return message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)


_engines: OrderedDict[int, Regex] = OrderedDict()
_lock = threading.Lock()


def _keep(regex: Regex) -> None:
    with _lock:
        _engines[id(regex)] = regex
        if len(_engines) > _MAX_ENGINES:
            _engines.popitem(last=False)[1].stop()


# ---------------------------------------------------------------- alphabets


def _alphabet(classes: list[Ranges]) -> tuple[_Cells, dict[Ranges, str]]:
    """The bytes for characters beyond ASCII, and the text of each class in them.

    :raises _ManyCells: if there are too many characters to tell apart
    """
    changes: dict[int, int] = {_ASCII: 0}
    for index, ranges in enumerate(classes):
        bit = 1 << index
        for first, last in ranges:
            if last >= _ASCII:
                first = max(first, _ASCII)
                changes[first] = changes.get(first, 0) ^ bit
                changes[last + 1] = changes.get(last + 1, 0) ^ bit
    starts, cells = [], []
    known: dict[int, int] = {}
    members = 0
    for start in sorted(changes):
        members ^= changes[start]
        cell = known.setdefault(members, _ASCII + len(known))
        if cell >= _ASCII + _MAX_CELLS:
            raise _ManyCells
        starts.append(start)
        cells.append(cell)
    texts = {}
    for index, ranges in enumerate(classes):
        low = [(first, min(last, _ASCII - 1)) for first, last in ranges if first < _ASCII]
        high = [(cell, cell) for members, cell in known.items() if members >> index & 1]
        texts[ranges] = _class_text([*low, *high])
    return _Cells(starts, cells), texts


def _class_text(ranges: Any) -> str:
    """A class in RE2's syntax."""
    if not ranges:
        return r"[^\x00-\x7F[:^ascii:]]"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return rf"\x{{{ranges[0][0]:X}}}"
    parts = [rf"\x{{{a:X}}}" if a == b else rf"\x{{{a:X}}}-\x{{{b:X}}}" for a, b in ranges]
    return f"[{''.join(parts)}]"


# ---------------------------------------------------------------- compiling


def check(pattern: str) -> None:
    """Check a pattern by Go's rules.

    :raises RegexError: if it is no regular expression
    """
    parse(pattern)


@functools.lru_cache(maxsize=_CACHE_SIZE)
def compile_regex(pattern: str) -> Regex:
    """The compiled pattern.

    :raises RegexError: if it is no regular expression to Go, or too large
    """
    expression = parse(pattern)
    if expression.size > _MAX_SIZE:
        raise problem("expression too large", pattern)
    return Regex(expression)


def compile_paid(pattern: str) -> Regex:
    """The compiled pattern, whose making counts as effort.

    :raises RegexError: if it is no regular expression to Go, or too large
    :raises CelPanic: if the evaluation has no effort left
    """
    compiled = compile_regex(pattern)
    effort.spend(compiled.work)
    return compiled
