"""JSON is read as Go reads it, and refused in Go's words."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi import deep_json, json_text
from resourceapi.field_errors import Key
from resourceapi.json_scanner import scan, sources_at
from resourceapi.json_text import PackedRaw, Raw, Sources, may_have_literals, parse
from resourceapi.json_values import MAX_DEPTH, MAX_INT_DIGITS, JSONError, Members, Number

ERRORS = {
    "empty": ("", "unexpected end of JSON input"),
    "only-space": (" \n", "unexpected end of JSON input"),
    "open-object": ('{"a":1', "unexpected end of JSON input"),
    "open-string": ('"a', "unexpected end of JSON input"),
    "trailing-bracket": ("{}}", "invalid character '}' after top-level value"),
    "trailing-comma-in-object": (
        '{"a":1,}',
        "invalid character '}' looking for beginning of object key string",
    ),
    "trailing-comma-in-list": ("[1,]", "invalid character ']' looking for beginning of value"),
    "missing-colon": ('{"a" 1}', "invalid character '1' after object key"),
    "missing-comma-in-object": ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
    "missing-comma-in-list": ("[1 2]", "invalid character '2' after array element"),
    "single-quotes": ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
    "leading-zero": ('{"a":01}', "invalid character '1' after object key:value pair"),
    "not-a-number": ('{"a":NaN}', "invalid character 'N' looking for beginning of value"),
    "infinity": ("-Infinity", "invalid character 'I' in numeric literal"),
    "lone-minus": ("-", "invalid character ' ' in numeric literal"),
    "no-fraction": ("1.}", "invalid character '}' after decimal point in numeric literal"),
    "no-exponent": ("1e+x", "invalid character 'x' in exponent of numeric literal"),
    "misspelt-true": ("trux", "invalid character 'x' in literal true (expecting 'e')"),
    "cut-null": ("nul", "invalid character ' ' in literal null (expecting 'l')"),
    "line-break-in-string": ('"a\nb"', "invalid character '\\n' in string literal"),
    "unknown-escape": ('"\\x"', "invalid character 'x' in string escape code"),
    "bad-hexadecimal": ('"\\u00g0"', "invalid character 'g' in \\u hexadecimal character escape"),
    "byte-order-mark": ("\ufeff{}", "invalid character 'ï' looking for beginning of value"),
    "byte-that-is-no-utf-8": (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
    "too-deep": ("[" * (MAX_DEPTH + 1), "invalid character '[' exceeded max depth"),
    "too-deep-object": ('{"a":' * (MAX_DEPTH + 1), "invalid character '{' exceeded max depth"),
}


@pytest.mark.parametrize(("text", "message"), ERRORS.values(), ids=ERRORS)
def test_says_what_is_wrong_as_go_does(text: str | bytes, message: str) -> None:
    """The first wrong character is named, or the end."""
    with pytest.raises(JSONError) as error:
        parse(text)
    assert str(error.value) == message


VALUES: dict[str, tuple[str | bytes, Any]] = {
    "integers": ("[0, -1, 9223372036854775808]", [0, -1, 9223372036854775808]),
    "numbers-as-written": ("[1.0, 1e2, -0]", [Number("1.0"), Number("1e2"), Number("-0")]),
    "integer-of-many-digits": ("1" * 5000, Number("1" * 5000)),
    "surrogate-pair": ('"\\ud83d\\ude00"', "😀"),
    "lone-surrogate": ('{"\\ud800":"\\udc00x"}', {"\ufffd": "\ufffdx"}),
    "each-bad-byte": (b'["\xe2\x82x"]', ["\ufffd\ufffdx"]),
    "null": ("null", None),
}


@pytest.mark.parametrize(("text", "value"), VALUES.values(), ids=VALUES)
def test_keeps_what_the_server_sees(text: str | bytes, value: Any) -> None:
    """Numbers stay as written, and what is no Unicode becomes U+FFFD."""
    parsed = parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


def test_remembers_repeated_keys() -> None:
    """A repeated key is kept with both of its values; the last one counts."""
    value = parse('{"a":{"b":1,"c":2,"b":3}}')["a"]
    assert isinstance(value, Members)
    assert value.pairs == [("b", 1), ("c", 2), ("b", 3)]
    assert value["b"] == 3
    assert type(parse('{"a":1}')) is dict


def test_depth_at_the_limit() -> None:
    """10,000 levels are read, and written again, without a RecursionError."""
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert Raw(parse(text)).text == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
    )
)
def test_both_parsers_agree(value: Any) -> None:
    """The parser that explains errors reads valid JSON as the fast one does."""
    text = json.dumps(value)
    assert scan(text) == json.loads(text) == value


@given(st.text(alphabet='{}[]",:\\truefalsn01.eE+-x \n\tu', max_size=30) | st.binary(max_size=12))
def test_any_text_is_read_or_refused(text: str | bytes) -> None:
    """No text makes the parser fail otherwise than with a JSONError."""
    with contextlib.suppress(JSONError):
        parse(text)


def test_finds_the_sources_of_values() -> None:
    """The texts of values are found by their paths, spaces included."""
    text = '{"a": [{"x/y": { "k" : 1 }}, 2]}'
    found = sources_at(text, [("a", 0, Key("x/y")), ("a", 1), ("b",)])
    assert found == {("a", 0, "x/y"): '{ "k" : 1 }', ("a", 1): "2"}


def test_depth_is_bounded_however_deep_python_may_go() -> None:
    """10,000 levels are read and 10,001 refused, also where Python's own limit on recursion has been raised."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)
        with pytest.raises(JSONError, match="exceeded max depth"):
            parse("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))
        with pytest.raises(JSONError, match="exceeded max depth"):
            parse("[" * (MAX_DEPTH + 1))
    finally:
        sys.setrecursionlimit(limit)


def test_raw_json_is_returned_compactly() -> None:
    """Raw JSON keeps the order of its keys and its numbers; its size is that of the text as sent."""
    raw = Raw(parse('{"b": 1.0, "a": "<é>"}'), Sources('{"b": 1.0, "a": "<é>"}'))
    assert raw.text == '{"b":1.0,"a":"\\u003cé\\u003e"}'
    assert not raw.exceeds(23)
    assert raw.exceeds(22)
    assert raw == Raw({"b": Number("1.0"), "a": "<é>"})
    assert raw != Raw({"a": "<é>", "b": Number("1.0")})


def test_raw_json_is_measured_before_it_is_built() -> None:
    """A value that aliases of YAML make much larger than its file is looked at only up to the limit."""

    class Parts(list[str]):
        def __iter__(self) -> Iterator[str]:
            yield "x" * 100
            raise AssertionError("looked at more than the limit")

    assert Raw({"a": Parts(["", ""])}).exceeds(100)
    assert not Raw({"a": ["é"]}).exceeds(12)
    assert Raw({"a": ["é"]}).exceeds(11)


SNIPPETS = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        '"a"',
        '"\\"',
        '"',
        "\\",
        "1",
        "-",
        "0",
        ".5",
        "e",
        "E+",
        "true",
        "nul",
        "NaN",
        " ",
        "\n",
        "é",
    ]
)


@given(st.lists(SNIPPETS, max_size=14).map("".join))
def test_errors_are_explained_without_reading_all_again(text: str) -> None:
    """What is said about the place where the fast parser stopped is what a parser says that reads from the start."""

    def outcome(read: Callable[[str], object]) -> str:
        try:
            return repr(read(text))
        except JSONError as error:
            return str(error)

    assert outcome(parse) == outcome(scan)


LONG = {
    "unfinished-list": ("[1," * 9 + "1," * 1_000_000, "unexpected end of JSON input"),
    "escaped-quotes": ('["' + '\\"' * 1_000_000 + '\\x"]', "invalid character 'x' in string escape code"),
    "not-a-number": ("[" + "1," * 1_000_000 + "NaN]", "invalid character 'N' looking for beginning of value"),
    "many-levels": ("[[]," * 700_000, "invalid character '[' exceeded max depth"),
}


@pytest.mark.parametrize(("text", "message"), LONG.values(), ids=LONG)
def test_long_texts_are_refused_soon(text: str, message: str) -> None:
    """Texts of 3 MB with an error at their end; in quadratic time this would not end."""
    with pytest.raises(JSONError) as error:
        parse(text)
    assert str(error.value) == message


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_number, value.values()))
    if isinstance(value, list):
        return any(map(_has_number, value))
    return isinstance(value, Number)


NUMBERS = st.sampled_from(["0", "-0", "1", "-17", "1.0", "-1.5", "1e2", "1E+2", "-0.0", "9" * MAX_INT_DIGITS])
TEXTS = st.text('1.eE-:,[ \\"').map(json.dumps)


@given(
    st.recursive(
        NUMBERS | TEXTS | st.just("null"),
        lambda inner: (
            st.lists(inner).map(lambda items: f"[{' , '.join(items)}]")
            | st.lists(st.tuples(TEXTS, inner)).map(
                lambda members: f"{{{','.join(f'{key}: {member}' for key, member in members)}}}"
            )
        ),
        max_leaves=8,
    )
)
def test_texts_without_literals_are_told(text: str) -> None:
    """No number that has to be written as it came is overlooked, wherever it stands."""
    if not may_have_literals(text.encode()):
        assert not _has_number(parse(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1,"b":[-17,"1.5","x:1.5"]}', True),  # in a string it only looks so
        ('{"a":1,"b":[-17,"1.5"],"t":"2026-01-01T00:00:00Z"}', False),
        ('{"a": 1.5}', True),
        ("1e3", True),
        ("[-0]", True),
        (f"[{'9' * MAX_INT_DIGITS}]", True),
        (f"[{'9' * 30}]", False),
    ],
)
def test_literals_are_looked_for_where_values_stand(text: str, found: bool) -> None:
    """Mostly texts with dots are not taken for numbers; what is in doubt is."""
    assert may_have_literals(text.encode()) is found


class Searched:
    """A pattern that notes how much it is searched for in at once."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self.most = 0
        self._pattern = pattern

    def search(self, body: bytes, start: int, end: int) -> re.Match[bytes] | None:
        self.most = max(self.most, min(end, len(body)) - start)
        return self._pattern.search(body, start, end)


@pytest.mark.parametrize("space", [0, 1, 9, 100])
@pytest.mark.parametrize("number", ["-0", "1.5", "-12e3", "9" * MAX_INT_DIGITS])
def test_literals_are_looked_for_in_turns(space: int, number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other threads come between, and wherever one comes nothing is overlooked."""
    searched = [
        Searched(getattr(json_text, name)) for name in ("_NO_PLAIN_INTEGER", "_NEITHER_NUMBER_NOR_SPACE")
    ]
    monkeypatch.setattr(json_text, "_NO_PLAIN_INTEGER", searched[0])
    monkeypatch.setattr(json_text, "_NEITHER_NUMBER_NOR_SPACE", searched[1])
    monkeypatch.setattr(json_text, "_TURN_BYTES", 16)
    for before in range(40):
        text = f'{"[" * before}{{"a":{" " * space}{number},"b":[{"1, " * 40}""]}}'
        assert may_have_literals(text.encode())
    assert not may_have_literals(b'{"a":' + b'["text",17],' * 100 + b" " * 10)
    assert max(each.most for each in searched) <= 2 * 16


@pytest.mark.parametrize("number", ["1", "1.5", "9" * (MAX_INT_DIGITS - 1)])
def test_long_lists_of_numbers_are_read_in_turns(number: str) -> None:
    """Other threads come between: the standard library's parser alone would keep them waiting until the end."""
    turns = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal turns
        turns += event == "call"

    sys.setprofile(count)
    try:
        parse(f"[{','.join([number] * 100)}]", keep_repeated=False, in_turns=True)
    finally:
        sys.setprofile(None)
    assert turns > 100


def test_surrogates_are_replaced_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever they stand, each of them becomes one U+FFFD."""
    monkeypatch.setattr(json_text, "_TURN_BYTES", 3)
    for before in range(9):
        text = "一" * before + "\ud800\udfffa\udc80\ud800" + "é" * before
        expected = "一" * before + "\ufffd\ufffda\ufffd\ufffd" + "é" * before
        assert parse(f'"{text}"') == expected


@pytest.mark.parametrize("wrong", [b"\\ud800", b"\xff"], ids=["escaped", "no UTF-8"])
@pytest.mark.parametrize("character", ["x", "一"])
def test_surrogates_take_little_memory(character: str, wrong: bytes) -> None:
    """The attack: a text of 32 MB with one of them, of which each character became a text of its own, took 1 GiB."""
    length = 1_000_000
    body = b'"' + character.encode() * length + wrong + b'"'
    tracemalloc.start()
    try:
        parse(body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 12 * length


DEEP = "[" * 9_000 + "]" * 9_000


@pytest.mark.parametrize(
    "text",
    ['{"b":1.0,"a":"<é>"}', '["Infinity",-1e400,1e400,{"Infinity":"\\"Infinity"}]', DEEP, "null", '""', "0"],
    ids=["members", "too large for floats", "deep", "null", "empty", "zero"],
)
def test_packed_raw_json_is_the_same(text: str) -> None:
    """Its value, too, although only a text of it is kept."""
    raw, packed = Raw(deep_json.loads(text)), PackedRaw(Raw(deep_json.loads(text)))
    assert deep_json.equal(packed.value, raw.value)
    assert packed == raw
    assert raw == packed
    assert packed == PackedRaw(raw)
    assert hash(packed) == hash(raw)
    assert packed != PackedRaw(Raw({"another": 1}))
    assert packed.text == packed.source
    assert packed.exceeds(len(packed.source.encode()) - 1)
    assert not packed.exceeds(len(packed.source.encode()))
