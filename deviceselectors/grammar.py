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
from deviceselectors.literals import bytes_value, double_value, int_value, string_value, uint_value
from deviceselectors.types import (
    BOOL_TYPE,
    BYTES_TYPE,
    DOUBLE_TYPE,
    INT_TYPE,
    NULL_TYPE,
    STRING_TYPE,
    UINT_TYPE,
)

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
