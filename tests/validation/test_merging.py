"""One list out of the errors of the two generations."""

from __future__ import annotations

import pytest

from conversion.hub import path_to_hub
from resourceapi.field_errors import DUPLICATE, INVALID, REQUIRED, TOO_MANY, FieldError, Path
from validation.kind_rules import merge

A: Path = ("spec", "a")
B: Path = ("spec", "b")
HUB: Path = ("spec", "devices", "requests", 0, "exactly", "selectors")
FLAT: Path = ("spec", "devices", "requests", 0, "selectors")


def by_hand(
    kind: str, path: Path, detail: str = "old", *, origin: str = "", covered: bool = True
) -> FieldError:
    return FieldError(kind, path, "", detail, origin=origin, covered=covered)


def declared(kind: str, path: Path, detail: str = "new", *, origin: str = "") -> FieldError:
    return FieldError(kind, path, "", detail, origin=origin)


@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        pytest.param(by_hand(REQUIRED, A), declared(REQUIRED, A), False, id="same-finding"),
        pytest.param(by_hand(REQUIRED, A, covered=False), declared(REQUIRED, A), True, id="not-covered"),
        pytest.param(by_hand(REQUIRED, A), declared(REQUIRED, B), True, id="other-field"),
        pytest.param(by_hand(REQUIRED, A), declared(TOO_MANY, A), True, id="other-kind"),
        pytest.param(
            by_hand(INVALID, A, origin="format=x"),
            declared(INVALID, A, origin="format=x"),
            False,
            id="same-origin",
        ),
        pytest.param(
            by_hand(INVALID, A, origin="format=x"),
            declared(INVALID, A, origin="format=y"),
            True,
            id="other-origin",
        ),
        pytest.param(by_hand(INVALID, A), declared(INVALID, A), True, id="invalid-without-origin"),
        pytest.param(
            by_hand(TOO_MANY, HUB, origin="maxItems"),
            declared(TOO_MANY, FLAT, origin="maxItems"),
            False,
            id="same-field-in-the-shape-of-v1beta1",
        ),
        pytest.param(by_hand(DUPLICATE, A), declared(DUPLICATE, A), False, id="duplicate"),
    ],
)
def test_which_errors_are_the_same(old: FieldError, new: FieldError, kept: bool) -> None:
    """A hand-written error with a declarative twin goes if that was reported."""
    assert merge([old], [new], path_to_hub) == ([old, new] if kept else [new])


def test_order() -> None:
    """Hand-written errors come first, each side in its order."""
    old = [by_hand(REQUIRED, B, covered=False), by_hand(REQUIRED, A, covered=False)]
    new = [declared(TOO_MANY, B), declared(TOO_MANY, A)]
    assert merge(old, new, path_to_hub) == [*old, *new]
    assert merge([], new, path_to_hub) == new
    assert merge(old, [], path_to_hub) == old


def test_the_same_words_are_said_once() -> None:
    """A hand-written error is not repeated word for word."""
    twice = [by_hand(REQUIRED, A, covered=False), by_hand(REQUIRED, A, covered=False)]
    assert [str(error) for error in merge(twice, [], path_to_hub)] == ["spec.a: Required value: old"]
