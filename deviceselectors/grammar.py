"""What the parser of correct text and the one of text with errors have in common."""

from __future__ import annotations

from deviceselectors.ast import Call, Literal, Node
from deviceselectors.lexer import (
    BYTES,
    DIVIDE,
    EQUALS,
    FALSE,
    FLOAT,
    GREATER,
    GREATER_EQUALS,
    IN,
    INT,
    LESS,
    LESS_EQUALS,
    MINUS,
    NOT_EQUALS,
    NULL,
    PERCENT,
    PLUS,
    STAR,
    STRING,
    TRUE,
    UINT,
)
from deviceselectors.types import (
    BOOL_TYPE,
    BYTES_TYPE,
    DOUBLE_TYPE,
    INT_TYPE,
    NULL_TYPE,
    STRING_TYPE,
    UINT_TYPE,
)

# Values of literals in source text.
# Source: the CEL language definition, "Values" and "String and bytes values"; the messages are cel-go's.

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_UINT_MAX = 2**64 - 1
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"',
    "`": "`", "?": "?",
}  # fmt: skip
_HEX_LENGTHS = {"x": 2, "X": 2, "u": 4, "U": 8}


class LiteralError(ValueError):
    """A literal that the grammar takes but that has no value."""


def int_value(sign: str, text: str) -> int:
    """The value of an int literal; raises LiteralError beyond 64 bits."""
    digits, base = (text[2:], 16) if text[:2] == "0x" else (text, 10)
    # Digits beyond these make it too large whatever they are, and Python refuses to convert thousands of them.
    value = int(sign + digits.lstrip("0")[:40] if digits.strip("0") else "0", base)
    if not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def uint_value(text: str) -> int:
    """The value of a uint literal with its suffix; raises LiteralError beyond 64 bits."""
    digits, base = (text[2:-1], 16) if text[:2] == "0x" else (text[:-1], 10)
    value = int(digits.lstrip("0")[:40] or "0", base)
    if value > _UINT_MAX:
        raise LiteralError("invalid uint literal")
    return value


def double_value(text: str) -> float:
    """The value of a double literal with its sign; raises LiteralError when it is too large."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise LiteralError("invalid double literal")
    return value


def string_value(text: str) -> str:
    """The value of a string literal with its quotes and prefix; raises LiteralError for impossible escapes."""
    body = _body(text)
    if "\\" not in body or text[0] in "rR":
        return body
    return "".join(_unescape(body))


def bytes_value(text: str) -> bytes:
    """The value of a bytes literal with its quotes and prefixes; raises LiteralError for impossible escapes."""
    body = _body(text[1:])
    if "\\" not in body or text[1] in "rR":
        return body.encode(errors="surrogatepass")
    return b"".join(_unescape_bytes(body))


def _body(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text[0] in "rR":
        text = text[1:]
    if len(text) >= 6 and text[:3] in ('"""', "'''"):
        return text[3:-3]
    return text[1:-1]


def _unescape(body: str) -> list[str]:
    head, *tails = body.split("\\")
    parts = [head]
    escaped_backslash = False
    for tail in tails:
        if escaped_backslash:
            # The backslash before was escaped by the one before it: this is plain text.
            parts.append(tail)
            escaped_backslash = False
        elif not tail:
            parts.append("\\")
            escaped_backslash = True
        elif tail[0] in _SIMPLE_ESCAPES:
            parts.append(_SIMPLE_ESCAPES[tail[0]] + tail[1:])
        else:
            code, length = _numeric_escape(tail)
            if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
                raise LiteralError("invalid unicode code point")
            parts.append(chr(code) + tail[length:])
    return parts


def _unescape_bytes(body: str) -> list[bytes]:
    head, *tails = body.split("\\")
    parts = [head.encode(errors="surrogatepass")]
    escaped_backslash = False
    for tail in tails:
        if escaped_backslash:
            parts.append(tail.encode(errors="surrogatepass"))
            escaped_backslash = False
        elif not tail:
            parts.append(b"\\")
            escaped_backslash = True
        elif tail[0] in _SIMPLE_ESCAPES:
            parts.append((_SIMPLE_ESCAPES[tail[0]] + tail[1:]).encode(errors="surrogatepass"))
        elif tail[0] in "uU":
            raise LiteralError("unable to unescape string")
        else:
            code, length = _numeric_escape(tail)
            parts.append(bytes((code & 0xFF,)) + tail[length:].encode(errors="surrogatepass"))
    return parts


def _numeric_escape(tail: str) -> tuple[int, int]:
    """The code of an escape and its length behind the backslash; the lexer has checked the digits."""
    if tail[0] in _HEX_LENGTHS:
        length = _HEX_LENGTHS[tail[0]] + 1
        return int(tail[1:length], 16), length
    return int(tail[:3], 8), 3


#: Greatest depth of any grammar rule and of the operators in an expression.
MAX_DEPTH = 250

RESERVED = frozenset((
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "package", "namespace", "null", "return", "true", "var", "void", "while",
))  # fmt: skip

#: The functions that operators stand for.
OPERATORS = {
    EQUALS: "_==_", NOT_EQUALS: "_!=_", IN: "@in", LESS: "_<_", LESS_EQUALS: "_<=_", GREATER_EQUALS: "_>=_",
    GREATER: "_>_", PLUS: "_+_", MINUS: "_-_", STAR: "_*_", DIVIDE: "_/_", PERCENT: "_%_",
}  # fmt: skip

_CONSTANTS = {TRUE: (True, BOOL_TYPE), FALSE: (False, BOOL_TYPE), NULL: (None, NULL_TYPE)}


def balance(function: str, terms: list[Node], positions: list[int]) -> Node:
    """A balanced tree of a chain of `&&` or `||`; `positions` are those of the operators."""

    def subtree(low: int, high: int) -> Node:
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else subtree(low, middle - 1)
        right = terms[middle + 1] if middle == high else subtree(middle + 1, high)
        return Call(positions[middle], function, [left, right])

    return subtree(0, len(positions) - 1)


def literal(position: int, kind: int, sign: str, text: str) -> Node | None:
    """The node of a literal's token, None for any other; raises LiteralError when it has no value."""
    if kind == STRING:
        return Literal(position, string_value(text), STRING_TYPE)
    if kind == INT:
        return Literal(position, int_value(sign, text), INT_TYPE)
    if kind in _CONSTANTS:
        value, constant_type = _CONSTANTS[kind]
        return Literal(position, value, constant_type)
    if kind == FLOAT:
        return Literal(position, double_value(sign + text), DOUBLE_TYPE)
    if kind == UINT:
        return Literal(position, uint_value(text), UINT_TYPE)
    if kind == BYTES:
        return Literal(position, bytes_value(text), BYTES_TYPE)
    return None
