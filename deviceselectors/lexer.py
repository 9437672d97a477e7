"""Tokens of CEL source text.

`scan` is the quick way for text without lexical errors. `TokenStream` is the careful one: it makes tokens only when
asked for them and reports text that is no token, so that errors come in the order in which the API server finds them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

EOF = 0
# In the order of the grammar, because error messages list expected tokens in it.
(EQUALS, NOT_EQUALS, IN, LESS, LESS_EQUALS, GREATER_EQUALS, GREATER, LOGICAL_AND, LOGICAL_OR, LBRACKET, RBRACKET,
 LBRACE, RBRACE, LPAREN, RPAREN, DOT, COMMA, MINUS, EXCLAM, QUESTION, COLON, PLUS, STAR, DIVIDE, PERCENT, TRUE, FALSE,
 NULL, FLOAT, INT, UINT, STRING, BYTES, IDENTIFIER, ESCAPED_IDENTIFIER) = range(1, 36)  # fmt: skip

#: How error messages name the token types.
NAMES = (
    "<EOF>", "'=='", "'!='", "'in'", "'<'", "'<='", "'>='", "'>'", "'&&'", "'||'", "'['", "']'", "'{'", "'}'", "'('",
    "')'", "'.'", "','", "'-'", "'!'", "'?'", "':'", "'+'", "'*'", "'/'", "'%'", "'true'", "'false'", "'null'",
    "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING", "BYTES", "IDENTIFIER", "ESC_IDENTIFIER",
)  # fmt: skip

#: The first release (minor number) that knows names in backticks.
_ESCAPED_NAMES_SINCE = 33

_FIXED = {name[1:-1]: kind for kind, name in enumerate(NAMES) if name[0] == "'"}

_ESCAPE = r"\\(?:[abfnrtv\"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"
_TEXT = (
    rf'(?:"""(?:[^\\]|{_ESCAPE})*?"""|\'\'\'(?:[^\\]|{_ESCAPE})*?\'\'\''
    rf'|"[^"\\\n\r]*(?:{_ESCAPE}[^"\\\n\r]*)*"|\'[^\'\\\n\r]*(?:{_ESCAPE}[^\'\\\n\r]*)*\''
    r'|[rR](?:"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"[^"\n\r]*"|\'[^\'\n\r]*\'))'
)
_TOKEN = (
    r"[ \t\r\n\f]+"
    rf"|[bB]?{_TEXT}"
    r"|[A-Za-z_][A-Za-z0-9_]*"
    r"|0x[0-9a-fA-F]+[uU]?|[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+(?:[eE][+-]?[0-9]+|[uU])?"
    r"|==|!=|<=|>=|&&|\|\||//[^\n]*|[-<>\[\]{}().,!?:+*/%]"
    r"|`[A-Za-z0-9_./\- ]+`"
    r"|[\s\S]"
)
_token_pattern: re.Pattern[str] | None = None


def _pattern() -> re.Pattern[str]:
    global _token_pattern
    if _token_pattern is None:
        _token_pattern = re.compile(_TOKEN)
    return _token_pattern


def _classify(text: str) -> int:
    """The type of a token, or -1 for hidden text, or -2 for a character that starts no token."""
    first = text[0]
    if first in " \t\r\n\f":
        return -1
    if text[-1] in "\"'" and len(text) > 1 and first != "/":
        return BYTES if first in "bB" else STRING
    if first.isalpha() or first == "_":
        return IDENTIFIER if first.isascii() else -2
    if first in "0123456789.":
        return _classify_number(text)
    if first == "/" and text[:2] == "//":
        return -1
    return ESCAPED_IDENTIFIER if first == "`" and len(text) > 1 else -2


def _classify_number(text: str) -> int:
    if text[-1] in "uU":
        return UINT
    if text[:2] == "0x":
        return INT
    return FLOAT if "." in text or "e" in text or "E" in text else INT


def has_escaped_names(release: int) -> bool:
    """Whether a release (minor number) knows names in backticks."""
    return release >= _ESCAPED_NAMES_SINCE


def scan(text: str, escaped_names: bool = True) -> tuple[list[int], list[str], list[int]] | None:
    """Types, texts and positions of all tokens and of the end, or None when something in the text is no token."""
    kinds: list[int] = []
    texts: list[str] = []
    positions: list[int] = []
    position = 0
    fixed = _FIXED
    # One string without end is searched to the end of the text, and with escaped quotes each of them begins another:
    # then not all tokens are made at once, but up to the first that is none.
    tokens = _tokens(text) if "\\" in text else _pattern().findall(text)
    for token in tokens:
        if token in fixed:
            kind = fixed[token]
        else:
            kind = _classify(token)
            if kind < 0:
                if kind == -2:
                    return None
                position += len(token)
                continue
            if kind == ESCAPED_IDENTIFIER and not escaped_names:
                return None
        kinds.append(kind)
        texts.append(token)
        positions.append(position)
        position += len(token)
    kinds.append(EOF)
    texts.append("<EOF>")
    positions.append(position)
    return kinds, texts, positions


def _tokens(text: str) -> Iterator[str]:
    return (match.group() for match in _pattern().finditer(text))


class Token:
    """A token; `start` and `end` are code-point offsets."""

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: int, text: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end


class TokenStream:
    """The tokens of a text, made as far as somebody looks ahead.

    `report(position, message)` is told about text that is no token when the stream gets there.
    """

    __slots__ = ("_bad", "_escaped_names", "_next", "_report", "_text", "index", "tokens")

    def __init__(self, text: str, report: Callable[[int, str], None], escaped_names: bool = True) -> None:
        self._text = text
        self._escaped_names = escaped_names
        self._bad: list[tuple[int, int]] = []
        self.tokens: list[Token] = []
        self.index = 0
        self._next = 0
        self._report = report

    def ahead(self, distance: int = 1) -> Token:
        """The token at a distance from the current one, which is at distance 1."""
        index = self.index + distance - 1
        while index >= len(self.tokens):
            if self.tokens and self.tokens[-1].kind == EOF:
                return self.tokens[-1]
            self.tokens.append(self._read())
        return self.tokens[index]

    def consume(self) -> None:
        """Make the next token the current one; at the end it stays where it is."""
        if self.ahead().kind != EOF:
            self.index += 1
            self.ahead()

    def text_between(self, first: Token, last: Token) -> str:
        """The source text from one token to the end of another, without what is no token."""
        end = last.end
        parts, start = [], first.start
        for bad_start, bad_end in self._bad:
            if first.start <= bad_start < end:
                parts.append(self._text[start:bad_start])
                start = bad_end
        return "".join(parts) + self._text[start:end]

    def _read(self) -> Token:
        text = self._text
        while self._next < len(text):
            start = self._next
            match = _pattern().match(text, start)
            assert match is not None  # the last alternative is any character
            token = match.group()
            kind = _FIXED.get(token, 0) or _classify(token)
            if kind == -2 or (kind == ESCAPED_IDENTIFIER and not self._escaped_names):
                self._next = _end_of_bad_token(text, start, self._escaped_names)
                self._bad.append((start, self._next))
                self._report(start, f"token recognition error at: '{text[start : self._next]}'")
                continue
            self._next = match.end()
            if kind > 0:
                return Token(kind, token, start, self._next)
        return Token(EOF, "<EOF>", len(text), len(text))


_ESCAPE_TAILS = {"x": 2, "X": 2, "u": 4, "U": 8}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./- ")


def _end_of_bad_token(text: str, start: int, escaped_names: bool) -> int:
    """Where the lexer goes on after text that is no token: behind the first character that no token can have there."""
    first, position = text[start], start + 1
    if first == "`" and escaped_names:
        while position < len(text) and text[position] in _NAME_CHARACTERS:
            position += 1
    elif first in "\"'":
        position = _end_of_bad_string(text, position)
    elif first not in "&|=":
        return position
    return min(position + 1, len(text))


def _end_of_bad_string(text: str, position: int) -> int:
    """The first character that cannot go on the string; the text has no end of the string before it."""
    while position < len(text) and text[position] not in "\n\r":
        if text[position] != "\\":
            position += 1
            continue
        position += 1
        escape = text[position : position + 1]
        if escape in _ESCAPE_TAILS:
            digits, allowed = _ESCAPE_TAILS[escape], _HEX_DIGITS
        elif escape and escape in "0123":
            digits, allowed = 2, frozenset("01234567")
        elif escape and escape in "abfnrtv\"'\\?`":
            digits, allowed = 0, _HEX_DIGITS
        else:
            return position
        position += 1
        for _ in range(digits):
            if text[position : position + 1] not in allowed:
                return position
            position += 1
    return position
