"""From an offset in a string's value to the place in the file, in every style of scalar."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from documents import Document, parse
from documents.positions import Place


def located(text: str, offset: int, length: int = 1) -> Place:
    (found,) = parse(text)
    assert isinstance(found, Document)
    return found.locate_in_scalar(("a",), offset, length)


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        pytest.param("a: one two\n", "two", Place(1, 8, 3), id="plain"),
        pytest.param("a: one\n   two\n", "two", Place(2, 4, 3), id="plain-folded"),
        pytest.param("a: 'it''s two'\n", "two", Place(1, 11, 3), id="single-quoted-with-quote"),
        pytest.param(
            'a: "\\x41 \\u00e9 \\"two\\""\n', "two", Place(1, 19, 3), id="double-quoted-with-escapes"
        ),
        pytest.param('a: "one\\\n    two"\n', "two", Place(2, 5, 3), id="double-quoted-escaped-line-end"),
        pytest.param('a: "one\n\n  two"\n', "two", Place(3, 3, 3), id="double-quoted-over-lines"),
        pytest.param("a: |\n  one\n    two\n", "two", Place(3, 5, 3), id="literal"),
        pytest.param(
            "a: |-  # note\n\n  one\n\n  two\n", "two", Place(5, 3, 3), id="literal-with-blank-lines"
        ),
        pytest.param("a: |2\n    one\n  two\n", "two", Place(3, 3, 3), id="literal-with-indicator"),
        pytest.param("a: >\n  one\n  two\n", "two", Place(3, 3, 3), id="folded"),
        pytest.param(
            "a: >-\n  one\n\n    more\n  two\n", "two", Place(5, 3, 3), id="folded-with-deeper-lines"
        ),
        pytest.param("a: |\r\n  one\r\n  two\r\n", "two", Place(3, 3, 3), id="literal-crlf"),
        pytest.param("a: &x !!str two\n", "two", Place(1, 13, 3), id="with-anchor-and-tag"),
        pytest.param("- x\n---\nb: 1\na: two\n", "two", Place(4, 4, 3), id="second-document"),
        pytest.param('{"a": "\\u0041\\ttwo"}', "two", Place(1, 16, 3), id="json"),
    ],
)
def test_a_part_of_a_value_is_found_in_the_file(text: str, part: str, expected: Place) -> None:
    """The offset is that of the part in the value."""
    found = [one for one in parse(text) if isinstance(one, Document)][-1]
    offset = found.value["a"].index(part)
    assert found.locate_in_scalar(("a",), offset, len(part)) == expected


def test_a_part_ends_with_its_line() -> None:
    """What goes on on the next line is left out."""
    assert located("a: |\n  one\n  two\n", 1, 5) == Place(2, 4, 2)


def test_offsets_outside_of_the_value_are_cut() -> None:
    """The end of a value can be pointed at: an expression that stops too early."""
    assert located("a: one\n", 3) == Place(1, 7, 1)
    assert located("a: one\n", 99) == Place(1, 7, 1)
    assert located("a: one\n", -1) == Place(1, 4, 1)
    assert located("a: ''\n", 0) == Place(1, 5, 1)


def test_values_that_are_no_strings_are_located_whole() -> None:
    """A number or a mapping has no parts; a path that is missing leads to what is around it."""
    assert located("a: 12\n", 0, 9) == Place(1, 4, 2)
    assert located("a: {b: c}\n", 3) == Place(1, 4, 6)
    (found,) = parse("a: b\n")
    assert isinstance(found, Document)
    assert found.locate_in_scalar(("a", "x"), 3) == Place(1, 1, 1, exact=False)


@given(
    value=st.text(st.sampled_from("ab '\"\\\n#:-é\U0001f600\t"), max_size=60),
    style=st.sampled_from(["'", '"', "|", ">", None]),
    width=st.sampled_from([10, 1000]),
    indent=st.sampled_from([2, 4]),
)
def test_every_character_is_traced(value: str, style: str | None, width: int, indent: int) -> None:
    """Visible characters of a value that are written as themselves are found at their place in the file."""
    text = yaml.dump({"b": {"a": value}}, default_style=style, width=width, indent=indent, allow_unicode=True)
    (found,) = parse(text)
    assert isinstance(found, Document)
    assert found.value == {"b": {"a": value}}
    for offset, character in enumerate(value):
        place = found.locate_in_scalar(("b", "a"), offset)
        written = found.source_line(place.line)[place.column - 1 :]
        if character in "ab#:-é\U0001f600":
            assert written[0] == character or written[0] == "\\"
