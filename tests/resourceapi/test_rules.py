"""Rules as fields declare them."""

from __future__ import annotations

import pytest

from resourceapi import rules
from resourceapi.names import FormatError
from resourceapi.rules import BETA, STANDARD


@pytest.mark.parametrize(
    ("rule", "stops"),
    [
        (rules.Optional(), True),
        (rules.Required(), True),
        (rules.MaxItems(1), True),
        (rules.Immutable(), True),
        (rules.NotModified(), True),
        (rules.ForbiddenWithout("A"), True),
        (rules.Unique(), False),
        (rules.MaxLength(1), False),
        (rules.MaxBytes(1), False),
        (rules.OneOfValues("a"), False),
        (rules.OneOfFields("a"), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_stops(rule: rules.Rule, stops: bool) -> None:
    """Some rules say, when broken, that the field is not looked at any further."""
    assert rule.stops is stops


def test_stages() -> None:
    """A rule is enforced declaratively since 1.37 unless it says that it always was; a gate's rule always was."""
    assert rules.Required().stage == BETA
    assert rules.Required(stage=STANDARD).stage == STANDARD
    assert rules.ForbiddenWithout("A").stage == STANDARD


def test_values_are_sorted() -> None:
    """The server lists the values of an enumeration in order."""
    assert rules.OneOfValues("b", "a").values == ("a", "b")


def test_two_wordings_of_a_format() -> None:
    """A format has a declarative and a hand-written wording; with one given they are the same."""

    def declared(text: str) -> list[FormatError]:
        return []

    def by_hand(text: str) -> list[FormatError]:
        return []

    assert rules.Format("k8s-x", declared).by_hand is declared
    both = rules.Format("k8s-x", declared, by_hand, stage=STANDARD)
    assert (both.problems, both.by_hand, both.origin) == (declared, by_hand, "format=k8s-x")
    assert rules.EachKey(both).stage == rules.EachValue(both).stage == STANDARD
