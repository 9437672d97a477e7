"""Source text of expressions and of their parts, macros folded back, as messages quote them."""

from __future__ import annotations

import json

from deviceselectors.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    Literal,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
from deviceselectors.lexer import scan
from deviceselectors.types import UINT
from resourceapi.phrases import shortened

_BINARY = {
    "_||_": (1, "||"), "_&&_": (2, "&&"),
    "_==_": (3, "=="), "_!=_": (3, "!="), "_<_": (3, "<"), "_<=_": (3, "<="), "_>_": (3, ">"), "_>=_": (3, ">="),
    "@in": (3, "in"),
    "_+_": (4, "+"), "_-_": (4, "-"), "_*_": (5, "*"), "_/_": (5, "/"), "_%_": (5, "%"),
}  # fmt: skip
_ASSOCIATIVE = ("_&&_", "_||_")
_CONDITIONAL, _UNARY, _MEMBER = 0, 6, 7


def unparse(node: Node, limit: int = 0) -> str:
    """The expression as one would write it; if it is longer than `limit` (0: none), it ends in an ellipsis."""
    text = _text(node, _CONDITIONAL)
    return shortened(text, limit) if limit else text


def quoted(text: str) -> str:
    """A text as a literal of CEL."""
    return json.dumps(text, ensure_ascii=False)


def replaced(expression: str, literal: Literal, text: str) -> str:
    """The expression with another literal, as it is written, in place of one of it, and nothing else changed."""
    tokens = scan(expression)
    assert tokens is not None  # it has been parsed
    written = tokens[1][tokens[2].index(literal.position)]
    start, end = literal.position, literal.position + len(written)
    return expression[:start] + text + expression[end:]


def _text(node: Node, level: int) -> str:
    """The node's text, in parentheses if it binds less than `level`."""
    if isinstance(node, Call):
        text, own = _call(node)
        return f"({text})" if own < level else text
    if isinstance(node, Literal):
        return _literal(node)
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        field = f"{_text(node.operand, _MEMBER)}.{_name(node.field)}"
        return f"has({field})" if node.test_only else field
    if isinstance(node, ListLiteral):
        marks = node.optionals
        parts = [("?" if i in marks else "") + unparse(e) for i, e in enumerate(node.elements)]
        return f"[{', '.join(parts)}]"
    if isinstance(node, MapLiteral):
        pairs = [f"{'?' * e.optional}{unparse(e.key)}: {unparse(e.value)}" for e in node.entries]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(node, StructLiteral):
        fields = [f"{'?' * f.optional}{f.name}: {unparse(f.value)}" for f in node.fields]
        return f"{node.type_name}{{{', '.join(fields)}}}"
    return _macro(node) if isinstance(node, Comprehension) else "…"


def _literal(node: Literal) -> str:
    value = node.value
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, bytes):
        return "b" + json.dumps(value.decode("latin-1")).replace("\\u00", "\\x")
    return f"{value}u" if node.literal_type.kind == UINT else repr(value)


def _name(field: str) -> str:
    return field if field.isidentifier() and field.isascii() else f"`{field}`"


def _call(node: Call) -> tuple[str, int]:
    """The text of a call and how much it binds."""
    function, args = node.function, node.args
    if function in _BINARY:
        level, sign = _BINARY[function]
        right = level if function in _ASSOCIATIVE else level + 1
        return f"{_text(args[0], level)} {sign} {_text(args[1], right)}", level
    if function in ("!_", "-_"):
        operand = _text(args[0], _UNARY)
        # pairs of signs cancel out, and a minus becomes part of a number
        if operand[0] == function[0] or (function == "-_" and isinstance(args[0], Literal)):
            operand = f"({operand})"
        return function[0] + operand, _UNARY
    if function == "_?_:_":
        return _conditional(args)
    if function in ("_[_]", "_[?_]"):
        mark = "?" if function == "_[?_]" else ""
        return f"{_text(args[0], _MEMBER)}[{mark}{unparse(args[1])}]", _MEMBER
    if function == "_?._" and isinstance(args[1], Literal):
        return f"{_text(args[0], _MEMBER)}.?{_name(str(args[1].value))}", _MEMBER
    target = "" if node.target is None else _text(node.target, _MEMBER) + "."
    return f"{target}{function}({', '.join([unparse(a) for a in args])})", _MEMBER


def _conditional(args: list[Node]) -> tuple[str, int]:
    """`?:`, or the macro `optMap` or `optFlatMap` that has become one."""
    mapped = args[1]
    if isinstance(mapped, Call) and mapped.function == "optional.of":
        mapped = mapped.args[0]
    if isinstance(mapped, Comprehension) and mapped.macro in ("optMap", "optFlatMap"):
        return _macro(mapped), _MEMBER
    return f"{_text(args[0], 1)} ? {_text(args[1], 1)} : {_text(args[2], _CONDITIONAL)}", _CONDITIONAL


def _macro(node: Comprehension) -> str:
    macro, step = node.macro, node.step
    if macro == "bind":
        return f"cel.bind({node.accu_var}, {unparse(node.accu_init)}, {unparse(node.result)})"
    if macro in ("optMap", "optFlatMap"):
        source = node.accu_init.target if isinstance(node.accu_init, Call) else None
        text = _text(source, _MEMBER) if source is not None else "…"
        return f"{text}.{macro}({node.accu_var}, {unparse(node.result)})"
    if macro == "sortBy":
        return _sort_by(node)
    variables = [name for name in (node.iter_var, node.iter_var2) if name]
    parts = [*variables, *[unparse(part) for part in _bodies(macro, step)]]
    return f"{_text(node.iter_range, _MEMBER)}.{macro}({', '.join(parts)})"


def _bodies(macro: str, step: Node) -> list[Node]:
    """What a loop's macro was given after its variables: a predicate, or perhaps a filter and what to make."""
    if not isinstance(step, Call):
        return []
    if macro in ("all", "exists"):
        return [step.args[1]]
    if macro in ("exists_one", "filter"):
        return [step.args[0]]
    filters = []
    if step.function == "_?_:_":
        filters.append(step.args[0])
        step = step.args[1]
    if not isinstance(step, Call):
        return filters
    made = step.args[-1]
    if isinstance(made, ListLiteral):
        made = made.elements[0]
    return [*filters, made]


def _sort_by(node: Comprehension) -> str:
    keys = node.result.args[0] if isinstance(node.result, Call) else None
    if not isinstance(keys, Comprehension):
        return f"{_text(node.accu_init, _MEMBER)}.sortBy(…)"
    bodies = _bodies("map", keys.step)
    parts = [keys.iter_var, *[unparse(body) for body in bodies]]
    return f"{_text(node.accu_init, _MEMBER)}.sortBy({', '.join(parts)})"
