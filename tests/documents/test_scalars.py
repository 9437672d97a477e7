"""Plain scalars and keys resolve as in kubectl: `data/scalars.json` is what it was measured to make of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from documents import Document, DocumentError, parse
from documents.scalars import json_float, json_integer

MEASURED = json.loads((Path(__file__).parent / "data" / "scalars.json").read_text("utf-8"))


def told_error(error: DocumentError, measured: str) -> bool:
    """Whether the error says what kubectl says, or the same in words that do not speak of Go types."""
    return error.message.split("json: ")[-1].rstrip(")") in measured or (
        error.message.startswith("unsupported map key") and "unsupported map key" in measured
    )


@pytest.mark.parametrize("text", MEASURED["values"])
def test_a_plain_scalar_has_the_value_that_kubectl_gives_it(text: str) -> None:
    """Also its type: `1.0` is the integer 1 in JSON, `18446744073709551615` becomes a float."""
    measured: dict[str, Any] = MEASURED["values"][text]
    (found,) = parse(f"a: {text}\n")
    if isinstance(found, DocumentError):
        assert told_error(found, measured["error"])
    else:
        assert (type(found.value["a"]), found.value["a"]) == (type(measured["value"]), measured["value"])


@pytest.mark.parametrize("text", MEASURED["keys"])
def test_a_key_is_the_string_that_kubectl_makes_of_it(text: str) -> None:
    """Numbers and booleans are written out, floats as 32-bit ones."""
    measured: dict[str, Any] = MEASURED["keys"][text]
    (found,) = parse(f"a: {{x: 1}}\n{text}: b\n")
    if isinstance(found, DocumentError):
        assert told_error(found, measured["error"])
    else:
        assert list(found.value) == ["a", measured["key"]]


@pytest.mark.parametrize("text", MEASURED["values"])
def test_quotes_make_any_text_a_string(text: str) -> None:
    """Nothing is resolved inside of quotes."""
    (found,) = parse("a: '{}'\n".format(text.replace("'", "''")))
    assert isinstance(found, Document)
    assert found.value == {"a": text}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(2**63 - 1, 2**63 - 1, id="largest-int64"),
        pytest.param(2**63, 9223372036854776000, id="one-more"),
        pytest.param(-(2**63), -(2**63), id="smallest-int64"),
        pytest.param(-(2**63) - 1, -9223372036854776000, id="one-less"),
        pytest.param(2**64 - 1, 18446744073709552000, id="largest-uint64"),
        pytest.param(10**21 - 1, 1e21, id="rounds-up-to-an-exponent"),
    ],
)
def test_integers_beyond_int64_lose_digits(number: int, expected: float) -> None:
    """As in kubectl, which holds them in a float64 and writes the shortest digits for it."""
    found = json_integer(number)
    assert (type(found), found) == (type(expected), expected)


def test_whole_floats_are_integers_up_to_the_exponent() -> None:
    """Go writes 1e20 without exponent, 1e21 with."""
    assert (type(json_float(1e20)), json_float(1e20)) == (int, 10**20)
    assert type(json_float(1e21)) is float
    assert json_float(123456789012345680000.0) == 123456789012345680000
