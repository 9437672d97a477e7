"""Random cases: reproducible, and of all sorts."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.conformance.profiles import MODERN, PROFILES
from tests.corpus.cases import cases


def test_the_seed_decides() -> None:
    """The same seed gives the same cases, another one others."""
    first = json.dumps(list(cases("1.37", 3, 50)))
    assert first == json.dumps(list(cases("1.37", 3, 50)))
    assert first != json.dumps(list(cases("1.37", 4, 50)))


@pytest.mark.parametrize("profile", MODERN)
def test_all_that_a_profile_serves_is_asked_for(profile: str) -> None:
    """Among enough cases there is every kind in every served version, and every verb; nothing that is not served."""
    counts = Counter(
        (case["kind"], case["apiVersion"].rpartition("/")[2]) for case in cases(profile, 1, 1000)
    )
    served = {(kind, version) for kind, versions in PROFILES[profile].served.items() for version in versions}
    assert set(counts) == served | {("Pod", "v1")}
    verbs = {case["verb"] for case in cases(profile, 1, 300)}
    assert verbs == {"create", "create-warn", "update", "status", "convert"}


def test_all_of_classic_dra_is_asked_for() -> None:
    """Every kind that 1.30 served, and pods; a status where there is one; nothing is converted, as there is one version."""
    asked = list(cases("1.30-classic", 1, 600))
    assert {case["kind"] for case in asked} == {*PROFILES["1.30-classic"].served, "Pod"}
    assert {case["verb"] for case in asked} == {"create", "create-warn", "update", "status"}
    assert {case["kind"] for case in asked if case["verb"] == "status"} == {
        "ResourceClaim",
        "PodSchedulingContext",
    }
    assert not [
        case for case in asked if case["kind"] in ("ResourceClass", "ResourceSlice") and "namespace" in case
    ]


def test_cases_are_valid_and_invalid() -> None:
    """A good part of the objects is left as made, and cases can be limited to a kind."""
    notes = [case["note"] for case in cases("1.37", 1, 300, ("ResourceSlice",))]
    assert 0.1 < notes.count("") / len(notes) < 0.5
