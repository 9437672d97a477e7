"""Text that Go prints as a format without arguments.

The parser of releases before 1.33 prints its own messages so: what stands behind a percent sign in them, often the
quote or the character of the expression that follows it, is missing an argument.
"""

from __future__ import annotations

_FLAGS = "#0+- "
_MOST = 1_000_000


def printed(text: str) -> str:
    """What `fmt.Sprintf(text)` gives."""
    if "%" not in text:
        return text
    parts: list[str] = []
    at = 0
    while (mark := text.find("%", at)) >= 0:
        parts.append(text[at:mark])
        shown, at = _Clause(text, mark + 1).print()
        parts.append(shown)
    return "".join(parts) + text[at:]


class _Clause:
    """What stands behind one percent sign: flags, width, precision and verb."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self._shown = ""
        self._is_bad_index = False

    def print(self) -> tuple[str, int]:
        """What is printed in its place, and where the text goes on."""
        while self._next() and self._next() in _FLAGS:
            self._at += 1
        indexed = self._index()
        if self._next() == "*":
            self._at += 1
            self._shown += "%!(BADWIDTH)"
            indexed = False
        elif self._number() and indexed:
            self._is_bad_index = True
        if self._next() == ".":
            indexed = self._precision(indexed)
        if not indexed:
            self._index()
        return self._shown + self._verb(), self._at

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _precision(self, indexed: bool) -> bool:
        self._at += 1
        if indexed:
            self._is_bad_index = True
        indexed = self._index()
        if self._next() == "*":
            self._at += 1
            self._shown += "%!(BADPREC)"
            return False
        self._number()
        return indexed

    def _verb(self) -> str:
        verb = self._next()
        if not verb:
            return "%!(NOVERB)"
        self._at += 1
        if verb == "%":
            return "%"
        return f"%!{verb}({'BADINDEX' if self._is_bad_index else 'MISSING'})"

    def _index(self) -> bool:
        """Take the number of an argument, in brackets; whether there is one."""
        if self._next() != "[":
            return False
        self._is_bad_index = True  # there are no arguments
        close = self._text.find("]", self._at + 1)
        if len(self._text) - self._at < 3 or close < 0:
            self._at += 1
            return False
        digits = self._text[self._at + 1 : close]
        self._at = close + 1
        return digits.isascii() and digits.isdigit() and int(digits[:8]) <= _MOST

    def _number(self) -> bool:
        start = self._at
        while "0" <= self._next() <= "9":
            self._at += 1
            if self._at - start > 7 or int(self._text[start : self._at]) > _MOST:
                self._at = len(self._text)
                return False
        return self._at > start
