"""Every rule, case by case: the product answers as the real servers did."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.conformance.replay import answer
from tests.validation.profiles import known_profile
from tests.validation.rule_cases import PROFILE_SEPARATOR, RuleCase, as_stored, rule_cases, summary

CASES = list(rule_cases())


def _asked() -> list[Any]:
    return [
        pytest.param(case, profile, id=f"{case.id}-{profile.replace(' ', '-')}")
        for case in CASES
        for profile in case.profiles
    ]


@pytest.mark.parametrize(("case", "profile"), _asked())
def test_answers_as_the_server(case: RuleCase, profile: str) -> None:
    """The same field errors in the same order and words, or the object that the server returns; and its warnings."""
    known_profile(profile)
    request = as_stored(case.request(profile))
    assert summary(request, answer(request)) == case.expected(profile)


def test_names_are_unique() -> None:
    """A case is found by its name."""
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []


def test_every_case_is_recorded() -> None:
    """There is an answer for every server that a case is for, and for no other."""
    recorded = {
        case.id: sorted(
            name for names in case.entry.get("expect", {}) for name in names.split(PROFILE_SEPARATOR)
        )
        for case in CASES
    }
    assert recorded == {case.id: sorted(case.profiles) for case in CASES}
