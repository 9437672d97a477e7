"""Quantities, against the answers of Kubernetes' resource.Quantity."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resourceapi import quantity
from resourceapi.quantity import (
    BINARY_SI,
    DECIMAL_EXPONENT,
    DECIMAL_SI,
    MAX_DIGITS,
    Quantity,
    QuantityError,
    parse,
)
from tests.resourceapi.tables import table

SUFFIXES = [
    "",
    "n",
    "u",
    "m",
    "k",
    "M",
    "G",
    "T",
    "P",
    "E",
    "Ki",
    "Mi",
    "Gi",
    "Ti",
    "Pi",
    "Ei",
    "e3",
    "E-2",
    "e+20",
]

numbers = st.from_regex(r"[+-]?(0|[1-9][0-9]{0,24})(\.[0-9]{1,12})?", fullmatch=True)
texts = st.builds(str.__add__, numbers, st.sampled_from(SUFFIXES))
quantities = texts.map(parse)


@pytest.mark.parametrize("case", table("quantities"))
def test_reads_and_prints_as_the_server(case: dict[str, Any]) -> None:
    """A text is refused with the server's message, or read, printed and converted to numbers as the server does."""
    if "error" in case:
        with pytest.raises(QuantityError) as raised:
            parse(case["text"])
        assert str(raised.value) == case["error"]
        return
    parsed = parse(case["text"])
    assert str(parsed) == case["string"]
    assert parsed.canonical() == case.get("canonical", case["string"])
    assert parsed.format == case["format"]
    assert parsed.sign() == case["sign"]
    assert parsed.is_zero() == (case["sign"] == 0)
    assert parsed.value() == case["value"]
    assert parsed.milli_value() == case["milli"]
    assert parsed.as_int64() == case["int64"]
    assert parsed.approximate_float() == float(case["float"])
    if "decimal" in case:
        assert parsed.dec_string() == case["decimal"]


@pytest.mark.parametrize("case", table("quantity_pairs"))
def test_compares_and_adds_as_the_server(case: dict[str, Any]) -> None:
    """Comparison, sum and difference of two quantities, and the format that these take on."""
    a, b = parse(case["a"]), parse(case["b"])
    total = a.add(b)
    assert a.cmp(b) == case["cmp"]
    assert (str(total), total.format, total.value()) == (case["sum"], case["sumFormat"], case["sumValue"])
    assert str(a.sub(b)) == case["difference"]


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        pytest.param("1.5Gi", "1536Mi", id="text"),
        pytest.param(" 1Gi ", "1Gi", id="text-with-space-around"),
        pytest.param("\u00a01Gi\u3000", "1Gi", id="text-with-unicode-space-around"),
        pytest.param(12, "12", id="int"),
        pytest.param(-2000, "-2k", id="negative-int"),
        pytest.param(10**30, "1", id="huge-int-loses-its-power"),
        pytest.param(1.5, "1500m", id="float"),
        pytest.param(1e21, "1e+21", id="float-with-exponent"),
        pytest.param(2.0, "2", id="whole-float"),
        pytest.param(None, "0", id="null"),
    ],
)
def test_takes_json_values(value: object, printed: str) -> None:
    """Texts, numbers and null of decoded JSON are quantities."""
    assert str(quantity.from_json(value)) == printed


@pytest.mark.parametrize(
    "value",
    ["", "1Gi\t", "\n1", "1\u2028", True, False, [], {}, "null", "true", float("nan"), float("inf")],
    ids=repr,
)
def test_refuses_other_json_values(value: object) -> None:
    """Nothing else is a quantity; what JSON writes with an escape is no space that could be trimmed."""
    with pytest.raises(QuantityError) as raised:
        quantity.from_json(value)
    assert str(raised.value) == quantity.FORMAT_ERROR


@pytest.mark.parametrize("suffix", ["", "Ki", "Ei", "e3", "e-999999999", "e999999999"])
def test_limits_the_number_of_digits(suffix: str) -> None:
    """A number has at most 4000 digits, whole and fraction together, leading zeros not counted."""
    longest = "7" * (MAX_DIGITS // 2) + "." + "7" * (MAX_DIGITS // 2)
    assert parse("0000" + longest + suffix).sign() == 1
    with pytest.raises(QuantityError) as raised:
        parse(longest + "7" + suffix)
    assert str(raised.value) == "quantities of more than 4000 digits are not supported"


def test_huge_exponents_are_cheap() -> None:
    """Numbers of billions of digits are compared, added and printed without being written out."""
    huge, tiny = parse("1234567890123456789012e999999999"), parse("-1234567890123456789012e-999999999")
    most, binary = parse("1e2147483647"), parse("1Ki")
    assert (huge.cmp(tiny), tiny.cmp(huge), huge.cmp(most), most.cmp(huge)) == (1, -1, -1, 1)
    assert str(tiny) == "-1e-9"
    assert str(huge.add(tiny)) == str(huge)
    assert str(binary.add(most)) == "10"
    assert str(tiny.sub(most)) == "-10e2147483646"
    assert {most.value(), most.milli_value()} == {0}
    assert most.dec_string() == "1e2147483647"
    assert hash(most) != hash(huge)
    assert most.approximate_float() == float("inf")
    assert not most.is_fractional()
    assert most.as_int64() is None


def test_numbers_of_thousands_of_digits() -> None:
    """Sums can have more digits than Python converts by default, and floats can be too small or too great."""
    low, high = parse("9" * 1000), parse("9" * 3500 + "e1000")
    total = low.add(high)
    assert str(total) == "9" * 4500
    assert total.cmp(high) == 1
    assert total.sub(low).cmp(high) == 0
    assert low.approximate_float() == float("inf")
    assert parse("-" + "9" * 1000).approximate_float() == float("-inf")
    assert Quantity(1, -400).approximate_float() == 0.0
    assert Quantity(-1, -400).value() == -1
    assert Quantity(1, -MAX_DIGITS - 100).value() == 1
    assert Quantity(1, -MAX_DIGITS - 100, big=True).value() == 1


@pytest.mark.parametrize(
    ("text", "fractional", "milli"),
    [
        ("0", False, True),
        ("0.0000000000000000000", False, True),
        ("1", False, True),
        ("1000m", False, True),
        ("1100m", True, True),
        ("1500u", True, False),
        ("1Ki", False, True),
        ("-0.5", True, True),
        ("9223372036854775", False, True),
        ("9223372036854776", False, False),
        ("100E", False, False),
    ],
)
def test_tells_fractions(text: str, fractional: bool, milli: bool) -> None:
    """Whether a number is whole, and whether it is a number of thousandths that fits 64 bits."""
    assert parse(text).is_fractional() == fractional
    assert parse(text).is_milli() == milli


@given(texts)
def test_printing_is_stable(text: str) -> None:
    """What is printed reads as something that is printed the same."""
    printed = str(parse(text))
    assert str(parse(printed)) == printed


@given(texts)
def test_value_is_exact_or_rounded_to_a_billionth(text: str) -> None:
    """The number is the one that the text denotes, rounded away from zero to a billionth, binary ones capped."""
    parsed = parse(text)
    suffix = text.lstrip("+-.0123456789")
    number = Fraction(text[: len(text) - len(suffix)])
    if suffix.endswith("i"):
        number *= 1024 ** ("KMGTPE".index(suffix[0]) + 1)
        number = max(min(number, Fraction(2**63 - 1)), Fraction(1 - 2**63))
    else:
        exponent = int(suffix[1:]) if suffix[1:] else "num kMGTPE".index(suffix or " ") * 3 - 9
        number *= Fraction(10) ** exponent
    exact = parsed.mantissa * Fraction(10) ** parsed.scale
    assert abs(exact - number) < Fraction(1, 10**9)
    assert abs(exact) >= abs(number)


@given(quantities, quantities)
def test_order_and_equality_agree(a: Quantity, b: Quantity) -> None:
    """Comparison is antisymmetric, and equal numbers have equal hashes whatever their format."""
    assert a.cmp(b) == -b.cmp(a)
    assert (a == b) == (a.cmp(b) == 0)
    if a == b:
        assert hash(a) == hash(b)


@given(quantities, quantities)
def test_subtraction_undoes_addition(a: Quantity, b: Quantity) -> None:
    """Sums are exact."""
    assert a.add(b) == b.add(a)
    assert a.add(b).sub(b) == a
    assert a.sub(a).is_zero()


def test_equality_with_other_types() -> None:
    """A quantity equals no number or text."""
    assert parse("1") != 1
    assert parse("1") != "1"


@pytest.mark.parametrize(
    ("format", "printed"),
    [(DECIMAL_SI, "1048576k"), (BINARY_SI, "1000Mi"), (DECIMAL_EXPONENT, "1048576e3"), ("", "1048576e3")],
)
def test_prints_in_its_format(format: str, printed: str) -> None:
    """The format decides about the suffix; a quantity that was never set has the one with exponents."""
    assert str(Quantity(1048576, 3, format)) == printed
    assert repr(Quantity(1048576, 3, format)) == f"Quantity('{printed}')"
