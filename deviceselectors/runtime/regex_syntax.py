"""The syntax of regular expressions as Go's regexp reads it: what is none is refused in Go's words.

`parse` gives a pattern as pieces that another engine can be told: text in RE2's syntax, and classes of characters.
Groups capture nothing, nothing here needs what they match. Source: the package documentation of Go 1.26's
regexp/syntax, with the flags that regexp.Compile sets, and what the package answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from deviceselectors.runtime import character_classes
from deviceselectors.runtime.character_classes import Ranges, folded, named, negated, union

_MAX_REPEAT = 1000
_MAX_HEIGHT = 1000
_MAX_SIZE = 128 * 1024 * 1024 // 40
#: Classes are built of no more ranges than these, all together; a pattern of 10 KiB can have a million.
_MAX_RANGES = 100_000
_UNBOUNDED = float("inf")

_ESCAPES = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_POSITIONS = {"A": r"\A", "b": r"\b", "B": r"\B", "z": r"\z"}
_DIGITS = frozenset("0123456789")
_OCTAL = frozenset("01234567")
_HEX = {digit: int(digit, 16) for digit in "0123456789abcdefABCDEF"}
_NAME = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SURROGATES = (0xD800, 0xDFFF)

#: Text in RE2's syntax, a class, or pieces one after the other.
Piece = Any


class RegexError(ValueError):
    """A pattern that is no regular expression; the text is Go's."""


def problem(what: str, part: str) -> RegexError:
    """The error for what is wrong with a part of a pattern."""
    return RegexError(f"error parsing regexp: {what}: `{part}`")


class Expression(NamedTuple):
    """A part of a pattern.

    `copies` is the greatest product of repetitions inside, `size` about the number of instructions that it compiles to,
    `longest` the length of the longest text that it matches; `straight` tells that it is a sequence in which only
    single characters repeat without end: then a search reads hardly more than what it matches.
    """

    pieces: list[Piece]
    height: int = 1
    size: int = 1
    copies: int = 1
    longest: float = 0
    straight: bool = True

    def flat(self) -> list[str | Ranges]:
        """The pieces in order."""
        pieces: list[str | Ranges] = []
        pending: list[Piece] = [self.pieces]
        while pending:
            piece = pending.pop()
            if piece.__class__ is list:
                pending.extend(reversed(piece))
            else:
                pieces.append(piece)
        return pieces


class _Flags(NamedTuple):
    """The flags that groups such as `(?i)` set; never changed."""

    fold: bool
    lines: bool
    dot_all: bool
    lazy: bool


class _Group:
    """An open group: the flags outside, whether it captures, its alternatives and the current sequence."""

    __slots__ = ("alternatives", "captures", "flags", "sequence")

    def __init__(self, flags: _Flags, captures: bool) -> None:
        self.flags = flags
        self.captures = captures
        self.alternatives: list[Expression] = []
        self.sequence: list[Expression] = []


def parse(pattern: str) -> Expression:
    """The pattern's parts.

    :raises RegexError: if it is no regular expression to Go
    """
    return _Parser(pattern).parse()


def _is_class(expression: Expression) -> bool:
    return len(expression.pieces) == 1 and expression.pieces[0].__class__ is tuple


def _is_character(expression: Expression) -> bool:
    if not _is_class(expression):
        return False
    ranges: Ranges = expression.pieces[0]
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = _Flags(fold=False, lines=False, dot_all=False, lazy=False)
        #: the ranges that have been put together so far
        self.ranges = 0
        self.groups = [_Group(self.flags, captures=False)]
        #: where the repetition before began, -1 if there is none right before
        self.repetition = -1

    def parse(self) -> Expression:
        pattern = self.pattern
        while self.at < len(pattern):
            before = self.repetition
            self.repetition = -1
            c = pattern[self.at]
            if c in "*+?":
                self._operator(c, before)
            elif c == "{":
                self._counted(before)
            else:
                _STEPS.get(c, _Parser._character)(self)
        if len(self.groups) > 1:
            raise problem("missing closing )", pattern)
        return self._checked(self._joined(self.groups[0]))

    # ------------------------------------------------------------ building

    def _push(self, expression: Expression) -> None:
        self.groups[-1].sequence.append(self._checked(expression))

    def _push_class(self, ranges: Ranges) -> None:
        self._count(len(ranges))
        self._push(Expression([ranges], longest=1))

    def _push_character(self, character: int) -> None:
        self._push_class(self._cased(((character, character),)))

    def _count(self, ranges: int) -> None:
        self.ranges += ranges
        if self.ranges > _MAX_RANGES:
            raise problem("expression too large", self.pattern)

    def _cased(self, ranges: Ranges) -> Ranges:
        """The class as it is, or with what differs by case only."""
        if not self.flags.fold:
            return ranges
        self._count(character_classes.cased_characters(ranges))
        return folded(ranges)

    def _checked(self, expression: Expression) -> Expression:
        if expression.height > _MAX_HEIGHT:
            raise problem("expression nests too deeply", self.pattern)
        if expression.size > _MAX_SIZE:
            raise problem("expression too large", self.pattern)
        return expression

    def _sequence(self, parts: list[Expression]) -> Expression:
        if len(parts) == 1:
            return parts[0]
        # characters one after the other are one text in Go, without a level of their own
        flat = all(_is_character(part) for part in parts)
        return Expression(
            [part.pieces for part in parts],
            height=1 if flat else 1 + max([part.height for part in parts]),
            size=max(1, sum([part.size for part in parts])),
            copies=max([part.copies for part in parts], default=1),
            longest=sum([part.longest for part in parts]),
            straight=all(part.straight for part in parts),
        )

    def _joined(self, group: _Group) -> Expression:
        """The group's alternatives as one part."""
        parts = [*group.alternatives, self._sequence(group.sequence)]
        if len(parts) == 1:
            return parts[0]
        pieces: list[Piece] = ["(?:"]
        for part in parts:
            pieces += [part.pieces, "|"]
        pieces[-1] = ")"
        longest = max([part.longest for part in parts])
        # alternatives of single characters make one class in Go, without a level of their own
        flat = all(_is_class(part) for part in parts)
        return Expression(
            pieces,
            height=1 if flat else 1 + max([part.height for part in parts]),
            size=sum([part.size for part in parts]) + len(parts) - 1,
            copies=max([part.copies for part in parts]),
            longest=longest,
            straight=longest != _UNBOUNDED,
        )

    # ------------------------------------------------------------ characters

    def _character(self) -> None:
        self._push_character(self._next())

    def _next(self) -> int:
        """Reads a character."""
        c = ord(self.pattern[self.at])
        if _SURROGATES[0] <= c <= _SURROGATES[1]:
            raise problem("invalid UTF-8", self.pattern[self.at :])
        self.at += 1
        return c

    def _point(self) -> None:
        self.at += 1
        self._push_class(character_classes.ANY if self.flags.dot_all else character_classes.NOT_LINE_FEED)

    def _begin(self) -> None:
        self.at += 1
        self._push(Expression(["(?m:^)" if self.flags.lines else r"\A"]))

    def _end(self) -> None:
        self.at += 1
        self._push(Expression(["(?m:$)" if self.flags.lines else r"\z"]))

    def _escape(self) -> None:
        pattern, start = self.pattern, self.at
        c = pattern[start + 1 : start + 2]
        if c in _POSITIONS:
            self.at += 2
            self._push(Expression([_POSITIONS[c]]))
        elif c == "C":
            raise problem("invalid escape sequence", r"\C")
        elif c == "Q":
            end = pattern.find(r"\E", start + 2)
            stop = len(pattern) if end < 0 else end
            self.at = start + 2
            while self.at < stop:
                self._push_character(self._next())
            self.at = stop if end < 0 else end + 2
        else:
            ranges = self._escaped_class()
            if ranges is not None:
                self._push_class(ranges)
            else:
                self._push_character(self._escaped_character())

    def _escaped_class(self) -> Ranges | None:
        r"""`\pL`, `\p{Greek}` or `\d` at the current position, or None."""
        c = self.pattern[self.at + 1 : self.at + 2]
        if not c:
            return None
        if c in "pP":
            return self._unicode_class()
        ranges = character_classes.PERL.get(c.lower())
        if ranges is None:
            return None
        self.at += 2
        ranges = self._cased(ranges)
        return ranges if c.islower() else negated(ranges)

    def _unicode_class(self) -> Ranges | None:
        pattern, start = self.pattern, self.at
        negative = pattern[start + 1] == "P"
        self.at = start + 2
        if self.at < len(pattern) and self._next() == ord("{"):
            end = pattern.find("}", start)
            if end < 0:
                self._require_text(start, len(pattern))
                raise problem("invalid character class range", pattern[start:])
            self._require_text(start + 3, end)
            name = pattern[start + 3 : end]
            self.at = end + 1
        else:
            name = pattern[start + 2 : self.at]
        if name.startswith("^"):
            negative = not negative
            name = name[1:]
        ranges = named(name, self.flags.fold)
        if ranges is None:
            raise problem("invalid character class range", pattern[start : self.at])
        return negated(ranges) if negative else ranges

    def _require_text(self, start: int, end: int) -> None:
        for i in range(start, end):
            if _SURROGATES[0] <= ord(self.pattern[i]) <= _SURROGATES[1]:
                raise problem("invalid UTF-8", self.pattern[i:end])

    def _escaped_character(self) -> int:
        pattern, start = self.pattern, self.at
        self.at += 1
        if self.at == len(pattern):
            raise problem("trailing backslash at end of expression", "")
        c = chr(self._next())
        if c == "0" or (c in _OCTAL and pattern[self.at : self.at + 1] in _OCTAL):
            while self.at < start + 4 and pattern[self.at : self.at + 1] in _OCTAL:
                self.at += 1
            return int(pattern[start + 1 : self.at], 8)
        if c in _ESCAPES:
            return _ESCAPES[c]
        if c == "x":
            value = self._hexadecimal()
            if value is not None:
                return value
        elif c.isascii() and not c.isalnum():
            return ord(c)
        raise problem("invalid escape sequence", pattern[start : self.at])

    def _hexadecimal(self) -> int | None:
        r"""What follows `\x`; None, behind the first character that does not fit, if it is no number."""
        pattern = self.pattern
        if self.at == len(pattern):
            return None
        first = chr(self._next())
        if first != "{":
            # Go reads a second character even behind a first that is no digit
            second = chr(self._next()) if self.at < len(pattern) else ""
            if first in _HEX and second in _HEX:
                return _HEX[first] * 16 + _HEX[second]
            return None
        value = digits = 0
        while self.at < len(pattern):
            c = chr(self._next())
            if c == "}":
                return value if digits else None
            if c not in _HEX:
                return None
            value = value * 16 + _HEX[c]
            if value > character_classes.MAX_RUNE:
                return None
            digits += 1
        return None

    # ------------------------------------------------------------ classes in brackets

    def _class(self) -> None:
        pattern, start = self.pattern, self.at
        self.at += 1
        negative = pattern[self.at : self.at + 1] == "^"
        if negative:
            self.at += 1
        found: list[tuple[int, int]] = []
        first = True
        while self.at == len(pattern) or pattern[self.at] != "]" or first:
            first = False
            ranges = self._class_in_class()
            if ranges is not None:
                self._count(len(ranges))
                found += ranges
                continue
            begin = self.at
            low = high = self._class_character(start)
            if pattern[self.at : self.at + 1] == "-" and pattern[self.at + 1 : self.at + 2] not in ("", "]"):
                self.at += 1
                high = self._class_character(start)
                if high < low:
                    raise problem("invalid character class range", pattern[begin : self.at])
            found += self._cased(((low, high),))
        self.at += 1
        ranges = union(found)
        self._push_class(negated(ranges) if negative else ranges)

    def _class_in_class(self) -> Ranges | None:
        pattern, at = self.pattern, self.at
        if pattern.startswith("[:", at) and at + 2 < len(pattern):
            end = pattern.find(":]", at + 2)
            if end >= 0:
                return self._posix_class(pattern[at : end + 2])
        if pattern.startswith("\\", at):
            return self._escaped_class()
        return None

    def _posix_class(self, text: str) -> Ranges:
        name = text[2:-2]
        ranges = character_classes.POSIX.get(name.removeprefix("^"))
        if ranges is None:
            raise problem("invalid character class range", text)
        self.at += len(text)
        ranges = self._cased(ranges)
        return negated(ranges) if name.startswith("^") else ranges

    def _class_character(self, start: int) -> int:
        if self.at == len(self.pattern):
            raise problem("missing closing ]", self.pattern[start:])
        if self.pattern[self.at] == "\\":
            return self._escaped_character()
        return self._next()

    # ------------------------------------------------------------ repetition

    def _operator(self, c: str, before: int) -> None:
        start = self.at
        self.at += 1
        self._repeat(start, before, 0 if c in "*?" else 1, 1 if c == "?" else -1, c)

    def _counted(self, before: int) -> None:
        start = self.at
        counts = self._counts()
        if counts is None:
            # what is no repetition is a brace
            self.at = start + 1
            self._push_character(ord("{"))
            return
        low, high = counts
        if low < 0 or low > _MAX_REPEAT or high > _MAX_REPEAT or 0 <= high < low:
            raise problem("invalid repeat count", self.pattern[start : self.at])
        text = f"{{{low}}}" if low == high else f"{{{low},}}" if high < 0 else f"{{{low},{high}}}"
        self._repeat(start, before, low, high, text)

    def _counts(self) -> tuple[int, int] | None:
        """Reads `{2}`, `{2,}` or `{2,5}`; a number beyond all limits makes the first -1, no end the second."""
        pattern = self.pattern
        self.at += 1
        low = self._integer()
        if low is None:
            return None
        high = low
        if pattern[self.at : self.at + 1] == ",":
            self.at += 1
            if pattern[self.at : self.at + 1] == "}":
                high = -1
            else:
                upper = self._integer()
                if upper is None:
                    return None
                high = upper
                if upper < 0:
                    low = -1
        if pattern[self.at : self.at + 1] != "}":
            return None
        self.at += 1
        return low, high

    def _integer(self) -> int | None:
        pattern, start = self.pattern, self.at
        while self.at < len(pattern) and pattern[self.at] in _DIGITS:
            self.at += 1
        digits = pattern[start : self.at]
        if not digits or (len(digits) > 1 and digits[0] == "0"):
            return None
        return int(digits) if len(digits) < 9 else -1

    def _repeat(self, start: int, before: int, low: int, high: int, text: str) -> None:
        pattern = self.pattern
        lazy = self.flags.lazy
        if pattern[self.at : self.at + 1] == "?":
            self.at += 1
            lazy = not lazy
        if before >= 0:
            raise problem("invalid nested repetition operator", pattern[before : self.at])
        sequence = self.groups[-1].sequence
        if not sequence:
            raise problem("missing argument to repetition operator", pattern[start : self.at])
        body = sequence[-1]
        counted = text[0] == "{"
        times = low if high < 0 else high
        copies = body.copies
        if counted:
            copies = 1 if high == 0 else copies * max(times, 1)
        pieces = ["(?:", body.pieces, ")", text, "?" if lazy else ""] if high else ["(?:)"]
        sequence[-1] = self._checked(
            Expression(
                pieces,
                height=1 + body.height,
                size=_repeated_size(body.size, low, high, counted),
                copies=copies,
                longest=_UNBOUNDED if high < 0 and body.longest else body.longest * max(high, 0),
                straight=body.straight
                and (high >= 0 or _is_class(body) or not body.longest)
                and (body.longest != _UNBOUNDED),
            )
        )
        if counted and times >= 2 and copies > _MAX_REPEAT:
            raise problem("invalid repeat count", pattern[start : self.at])
        self.repetition = start

    # ------------------------------------------------------------ groups

    def _bar(self) -> None:
        self.at += 1
        group = self.groups[-1]
        group.alternatives.append(self._checked(self._sequence(group.sequence)))
        group.sequence = []

    def _open(self) -> None:
        if self.pattern.startswith("(?", self.at):
            self._open_perl()
            return
        self.at += 1
        self.groups.append(_Group(self.flags, captures=True))

    def _close(self) -> None:
        if len(self.groups) == 1:
            raise problem("unexpected )", self.pattern)
        self.at += 1
        group = self.groups.pop()
        inner = self._checked(self._joined(group))
        self.flags = group.flags
        captured = int(group.captures)
        self._push(
            Expression(
                inner.pieces if _is_class(inner) else ["(?:", inner.pieces, ")"],
                height=inner.height + captured,
                size=inner.size + 2 * captured,
                copies=inner.copies,
                longest=inner.longest,
                straight=inner.straight,
            )
        )

    def _open_perl(self) -> None:
        pattern, start = self.pattern, self.at
        named_at = 4 if pattern.startswith("(?P<", start) else 3 if pattern.startswith("(?<", start) else 0
        if named_at and len(pattern) - start > named_at:
            end = pattern.find(">", start)
            if end < 0:
                self._require_text(start, len(pattern))
                raise problem("invalid named capture", pattern[start:])
            self._require_text(start + named_at, end)
            name = pattern[start + named_at : end]
            if not name or not _NAME.issuperset(name):
                raise problem("invalid named capture", pattern[start : end + 1])
            self.at = end + 1
            self.groups.append(_Group(self.flags, captures=True))
            return
        self.at += 2
        self._set_flags(start)

    def _set_flags(self, start: int) -> None:
        """Reads flags and the end of the group, or the colon that begins it."""
        switched = dict(zip("imsU", self.flags, strict=True))
        on, seen = True, False
        while self.at < len(self.pattern):
            c = chr(self._next())
            if c in switched:
                switched[c] = on
                seen = True
            elif c == "-" and on:
                on = seen = False
            elif c in ":)" and (on or seen):
                if c == ":":
                    self.groups.append(_Group(self.flags, captures=False))
                self.flags = _Flags(*switched.values())
                return
            else:
                break
        raise problem("invalid or unsupported Perl syntax", self.pattern[start : self.at])


def _repeated_size(size: int, low: int, high: int, counted: bool) -> int:
    if not counted:
        return size + (1 if high == 1 or low == 1 else 2)
    if high < 0:
        return 1 + low * size if low else 2 + size
    return max(1, high * size + high - low)


_STEPS = {
    "(": _Parser._open,
    ")": _Parser._close,
    "|": _Parser._bar,
    "^": _Parser._begin,
    "$": _Parser._end,
    ".": _Parser._point,
    "[": _Parser._class,
    "\\": _Parser._escape,
}
