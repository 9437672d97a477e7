"""The parser: literals, operators, macros, positions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from deviceselectors.issues import Issues, Source
from deviceselectors.parser import allow_deep_recursion, parse
from deviceselectors.recovery import parse_with_errors

allow_deep_recursion()  # hypothesis objects to the limit being raised while it runs an example


def _parse(text: str) -> Node:
    issues = Issues(Source(text))
    node = parse(issues)
    assert issues.count == 0, issues.text()
    return node


def show(node: Node) -> str:
    """A node as text, calls in prefix form, loops with all their parts."""
    if isinstance(node, Literal):
        return f"{node.literal_type.text}:{node.value!r}"
    if isinstance(node, Ident):
        return node.name
    if isinstance(node, Select):
        return f"{'has ' if node.test_only else ''}{show(node.operand)}.{node.field}"
    if isinstance(node, Call):
        target = "" if node.target is None else f"{show(node.target)}."
        return f"{target}{node.function}({', '.join(show(arg) for arg in node.args)})"
    if isinstance(node, ListLiteral):
        marks = ["?" if i in node.optionals else "" for i in range(len(node.elements))]
        return f"[{', '.join(m + show(e) for m, e in zip(marks, node.elements, strict=True))}]"
    if isinstance(node, MapLiteral):
        return (
            "{" + ", ".join(f"{'?' * e.optional}{show(e.key)}: {show(e.value)}" for e in node.entries) + "}"
        )
    if isinstance(node, StructLiteral):
        fields = ", ".join(f"{'?' * f.optional}{f.name}: {show(f.value)}" for f in node.fields)
        return f"{node.type_name}{{{fields}}}"
    assert isinstance(node, Comprehension)
    return (
        f"<{node.macro} {node.iter_var},{node.iter_var2} in {show(node.iter_range)}; {node.accu_var} = "
        f"{show(node.accu_init)}; {show(node.condition)}; {show(node.step)}; {show(node.result)}>"
    )


_LITERALS: dict[str, tuple[str, Any, str]] = {
    "int": ("42", 42, "int"),
    "negative-int": ("-42", -42, "int"),
    "smallest-int": ("-9223372036854775808", -(2**63), "int"),
    "hexadecimal": ("0xFf", 255, "int"),
    "negative-hexadecimal": ("-0x8000000000000000", -(2**63), "int"),
    "leading-zeros": ("007", 7, "int"),
    "uint": ("42u", 42, "uint"),
    "largest-uint": ("18446744073709551615U", 2**64 - 1, "uint"),
    "hexadecimal-uint": ("0x1Fu", 31, "uint"),
    "double": ("1.5", 1.5, "double"),
    "double-without-whole": (".5", 0.5, "double"),
    "double-with-exponent": ("1e-3", 0.001, "double"),
    "tiny-double": ("1e-400", 0.0, "double"),
    "true": ("true", True, "bool"),
    "null": ("null", None, "null"),
    "double-quotes": ('"it\'s"', "it's", "string"),
    "single-quotes": ("'say \"x\"'", 'say "x"', "string"),
    "triple-quotes": ('"""a"b\nc"""', 'a"b\nc', "string"),
    "empty-triple-quotes": ("''''''", "", "string"),
    "carriage-returns-become-newlines": ("'''a\r\nb\rc'''", "a\nb\nc", "string"),
    "raw": (r'r"\d"', "\\d", "string"),
    "raw-ends-at-first-quote": (r'R"a\"', "a\\", "string"),
    "simple-escapes": (r'"\a\b\f\n\r\t\v\\\?\"\'\`"', "\a\b\f\n\r\t\v\\?\"'`", "string"),
    "backslashes-in-a-row": (r'"\\\\n"', "\\\\n", "string"),
    "octal": (r'"\101"', "A", "string"),
    "hexadecimal-escape": (r'"\xe9"', "é", "string"),
    "unicode-escapes": (r'"\u00e9\U0001F600"', "é😀", "string"),
    "bytes": ('b"é"', "é".encode(), "bytes"),
    "bytes-escape": (r"b'\xff\101'", b"\xffA", "bytes"),
    "raw-bytes": (r'br"\x"', b"\\x", "bytes"),
}


@pytest.mark.parametrize(("text", "value", "type_"), _LITERALS.values(), ids=_LITERALS.keys())
def test_literals(text: str, value: object, type_: str) -> None:
    """Every notation of a constant gives its value and type."""
    node = _parse(text)
    assert isinstance(node, Literal)
    assert (node.value, node.literal_type.text) == (value, type_)


_TREES = {
    "product-before-sum": ("1 + 2 * 3", "_+_(int:1, _*_(int:2, int:3))"),
    "left-to-right": ("1 - 2 - 3", "_-_(_-_(int:1, int:2), int:3)"),
    "sum-before-comparison": ("1 + 2 < 4", "_<_(_+_(int:1, int:2), int:4)"),
    "comparisons-in-a-row": ("a < b == c", "_==_(_<_(a, b), c)"),
    "and-before-or": ("a || b && c", "_||_(a, _&&_(b, c))"),
    "balanced-chain": ("a && b && c && d", "_&&_(_&&_(a, b), _&&_(c, d))"),
    "condition": ("a ? b : c ? d : e", "_?_:_(a, b, _?_:_(c, d, e))"),
    "sign-belongs-to-number": ("-1.foo()", "int:-1.foo()"),
    "signs-cancel": ("--a", "a"),
    "nots-cancel": ("!!!a", "!_(a)"),
    "in": ("a in b", "@in(a, b)"),
    "call": ("f(a, b)", "f(a, b)"),
    "leading-dot": (".a.b", ".a.b"),
    "member-call": ("a.b(c)", "a.b(c)"),
    "index": ("a[b]", "_[_](a, b)"),
    "optional-index": ("a[?b]", "_[?_](a, b)"),
    "optional-select": ("a.?b", "_?._(a, string:'b')"),
    "backticks": ("a.`b-c/d e`", "a.b-c/d e"),
    "optional-backticks": ("a.?`b c`", "_?._(a, string:'b c')"),
    "reserved-word-as-field": ("a.for", "a.for"),
    "list": ("[a, ?b,]", "[a, ?b]"),
    "map": ("{a: b, ?c: d,}", "{a: b, ?c: d}"),
    "lone-comma-in-list": ("[,]", "[]"),
    "message": (".a.b{c: d, ?`e f`: g}", ".a.b{c: d, ?e f: g}"),
    "comment": ("a // b\n&& c", "_&&_(a, c)"),
    "has": ("has(a.b)", "has a.b"),
    "has-with-other-arguments-is-a-function": ("has(a, b)", "has(a, b)"),
    "bind-of-another-target-is-a-function": ("a.bind(b, c, d)", "a.bind(b, c, d)"),
    "all": (
        "a.all(x, p)",
        "<all x, in a; @result = bool:True; @not_strictly_false(@result); _&&_(@result, p); @result>",
    ),
    "exists": (
        "a.exists(x, p)",
        "<exists x, in a; @result = bool:False; @not_strictly_false(!_(@result)); _||_(@result, p); @result>",
    ),
    "exists-one-with-two-variables": (
        "a.existsOne(k, v, p)",
        (
            "<exists_one k,v in a; @result = int:0; bool:True; _?_:_(p, _+_(@result, int:1), @result); "
            "_==_(@result, int:1)>"
        ),
    ),
    "map-with-filter": (
        "a.map(x, p, t)",
        "<map x, in a; @result = []; bool:True; _?_:_(p, _+_(@result, [t]), @result); @result>",
    ),
    "filter": (
        "a.filter(x, p)",
        "<filter x, in a; @result = []; bool:True; _?_:_(p, _+_(@result, [x]), @result); @result>",
    ),
    "transform-map": (
        "a.transformMap(k, v, t)",
        "<transformMap k,v in a; @result = {}; bool:True; cel.@mapInsert(@result, k, t); @result>",
    ),
    "transform-map-entry": (
        "a.transformMapEntry(k, v, p, t)",
        (
            "<transformMapEntry k,v in a; @result = {}; bool:True; _?_:_(p, cel.@mapInsert(@result, t), @result); "
            "@result>"
        ),
    ),
    "bind": ("cel.bind(x, a, b)", "<bind #unused, in []; x = a; bool:False; x; b>"),
    "opt-map": (
        "a.optMap(x, b)",
        "_?_:_(a.hasValue(), optional.of(<optMap #unused, in []; x = a.value(); bool:False; x; b>), optional.none())",
    ),
    "sort-by": (
        "[1].sortBy(x, -x)",
        (
            "<sortBy #unused, in []; @__sortBy_input__ = [int:1]; bool:False; @__sortBy_input__; "
            "@__sortBy_input__.@sortByAssociatedKeys(<map x, in @__sortBy_input__; @result = []; bool:True; "
            "_+_(@result, [-_(x)]); @result>)>"
        ),
    ),
}


@pytest.mark.parametrize(("text", "tree"), _TREES.values(), ids=_TREES.keys())
def test_trees(text: str, tree: str) -> None:
    """Operators bind as the language says, and macros expand to what the server makes of them."""
    assert show(_parse(text)) == tree


@pytest.mark.parametrize(("text", "tree"), _TREES.values(), ids=_TREES.keys())
def test_both_parsers_agree(text: str, tree: str) -> None:
    """The parser for text with errors finds none where there is none, and no other places than the quick one."""
    issues = Issues(Source(text))
    parse_with_errors(issues)
    assert issues.count == 0


_POSITIONS = {
    "operator": ("ab + c", 3),
    "first-sign": ("(- -a + b)", 6),
    "dot-of-select": ("ab .c", 3),
    "parenthesis-of-call": ("ab.cd (e)", 6),
    "bracket-of-index": ("ab [0]", 3),
    "question-mark": ("a ? b : c", 2),
    "code-points": ('"日本😀" + "a"', 6),
    "second-line": ("a\n + b", 3),
    "brace-of-message": ("a.b {}", 4),
}


@pytest.mark.parametrize(("text", "position"), _POSITIONS.values(), ids=_POSITIONS.keys())
def test_positions(text: str, position: int) -> None:
    """Nodes point, in code points, to where the server reports errors about them."""
    assert _parse(text).position == position


_TEXT = (
    'a b.c ( ) [ ] { } , : ? . + - * / % ! = == != < <= && || in 1 1.5 2u "s" \'t\' b"x" r"\\" `e` \\ $ & | # // '
    'true null if has(a.b) .all(x, é 😀 \t \n \r """ 0x 1e .? [? cel.bind(x,'
)
_PIECES = st.sampled_from(_TEXT.split(" "))


@given(st.lists(_PIECES, max_size=40).map(" ".join))
def test_any_text_is_answered(text: str) -> None:
    """Whatever the text: a tree or errors that lie within it, and the careful parser agrees on which."""
    quick, careful = Issues(Source(text)), Issues(Source(text))
    parse(quick)
    parse_with_errors(careful)
    assert quick.locations() == careful.locations()
    lines = text.count("\n") + 1
    assert all(line == -1 or 1 <= line <= lines for line, _, _ in quick.locations())


def test_unterminated_strings_take_linear_time() -> None:
    """Quotes that are escaped in a string without end do not each begin a search to the end of the text."""
    from deviceselectors import lexer

    read = 0
    made = lexer._tokens('"\\' * 5000)
    for token in made:
        read += 1
        if lexer._classify(token) == -2:
            break
    assert read == 1
    assert lexer.scan('"\\' * 5000) is None
