"""What a request takes of a capacity: rounding by policy, and what cannot be represented."""

from __future__ import annotations

from typing import Any

import pytest

from allocator.capacity_requests import Arithmetic, CapacityError, consumed
from resourceapi.quantity import parse

MAX = "9223372036854775807"


def policy(default: str | None = None, values: str = "", **valid_range: str) -> dict[str, Any]:
    """A request policy: `values` are separated by spaces; or a range of `min`, `max`, `step`."""
    made: dict[str, Any] = {} if default is None else {"default": parse(default)}
    if values:
        made["validValues"] = [parse(value) for value in values.split()]
    if valid_range:
        made["validRange"] = {name: parse(value) for name, value in valid_range.items()}
    return made


RANGE = policy("2", min="2", max="8", step="2")
VALUES = policy("4", "2 4 8")
FRACTIONS = policy("500m", min="500m", max="2", step="250m")
ROUNDING = {
    "no-policy": (None, "3", "3"),
    "no-policy-no-request": (None, None, "10"),
    "default": (RANGE, None, "2"),
    "no-default": (policy(min="2"), None, "10"),
    "below-min": (RANGE, "1", "2"),
    "at-min": (RANGE, "2", "2"),
    "between-steps": (RANGE, "3", "4"),
    "at-max": (RANGE, "8", "8"),
    "above-max": (RANGE, "9", None),
    "rounded-above-max": (policy("1", min="1", max="4", step="2"), "4", None),
    "default-above-max": (policy("8", min="2", max="6", step="6"), None, "8"),
    "rounded-to-default-above-max": (policy("8", min="2", max="6", step="6"), "5", None),
    "steps-count-from-min": (policy("1", min="1", step="4"), "6", "9"),
    "no-step": (policy("1", min="1", max="4"), "3500m", "3500m"),
    "value": (VALUES, "4", "4"),
    "next-value": (VALUES, "5", "8"),
    "above-last-value": (VALUES, "9", None),
    "step-in-thousandths": (FRACTIONS, "600m", "750m"),
    "whole-after-rounding": (FRACTIONS, "900m", "1"),
    "format-of-the-step": (policy("1Gi", min="1Gi", step="512Mi"), "1100Mi", "1536Mi"),
}


@pytest.mark.parametrize(("rules", "asked", "expected"), ROUNDING.values(), ids=ROUNDING)
def test_rounding(rules: dict[str, Any] | None, asked: str | None, expected: str | None) -> None:
    """Up to the minimum, the next step or value; None where the device cannot serve the request."""
    capacity: dict[str, Any] = {"value": parse("10")}
    if rules is not None:
        capacity["requestPolicy"] = rules
    requests = {} if asked is None else {"m": parse(asked)}
    taken = consumed(requests, {"m": capacity}, Arithmetic.FRACTIONAL)
    written = None if taken is None else {name: str(amount) for name, amount in taken.items()}
    assert written == (None if expected is None else {"m": expected})


def test_without_fractions_each_number_is_rounded_up_first() -> None:
    """With DRAFractionalCapacityRange off a step of 250m counts as 1, a minimum of 500m as 1."""
    taken = consumed(
        {"m": parse("1500m")}, {"m": {"value": parse("10"), "requestPolicy": FRACTIONS}}, Arithmetic.WHOLE
    )
    assert taken is not None
    assert str(taken["m"]) == "2"


OVERFLOWS = {
    "integer": (
        policy(min="1", step="1"),
        "9223372036854775808",
        False,
        "request 9223372036854775808 exceeds MaxInt64",
    ),
    "rounded": (
        policy(min="0", step="4"),
        MAX,
        False,
        f"rounding request {MAX} up to the next step passes MaxInt64",
    ),
    "thousandths": (
        policy(min="1", step="1"),
        "9223372036854775807",
        True,
        "request 9223372036854775807 is not a representable milli value",
    ),
}


@pytest.mark.parametrize(("rules", "asked", "fractional", "text"), OVERFLOWS.values(), ids=OVERFLOWS)
def test_not_representable(rules: dict[str, Any], asked: str, fractional: bool, text: str) -> None:
    """What does not fit into 64 bits is an error, not a device to skip."""
    with pytest.raises(CapacityError) as caught:
        consumed(
            {"m": parse(asked)},
            {"m": {"value": parse("1"), "requestPolicy": rules}},
            Arithmetic.of(37, fractional=fractional),
        )
    reason = "capacity request cannot be represented in the device's range arithmetic"
    assert str(caught.value) == f'capacity "m": {reason}: {text}'


def test_negative() -> None:
    """A negative amount would make others' shares larger."""
    with pytest.raises(CapacityError, match='capacity "m": capacity value is negative'):
        consumed({"m": parse("-1")}, {"m": {"value": parse("1")}}, Arithmetic.FRACTIONAL)


def test_no_step_of_zero() -> None:
    """The API allows none; a stored one must not crash."""
    rules = policy(min="1", step="0")
    taken = consumed(
        {"m": parse("3")}, {"m": {"value": parse("10"), "requestPolicy": rules}}, Arithmetic.FRACTIONAL
    )
    assert taken == {"m": parse("3")}
