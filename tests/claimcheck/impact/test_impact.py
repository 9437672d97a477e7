"""What comes of a change: the table of cases.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.impact.change import Change, ObjectId
from claimcheck.answers.impact.impact import Impact, impact
from documents.manifest import Unwritten
from resourceapi.errors import Unanswerable
from resourceapi.releases import Profile

DATA = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())


def _impact(case: dict[str, Any]) -> Impact:
    profile = Profile("1.37", {})
    state = ClusterState(profile, "default")
    stored = [Unwritten("cluster", each) for each in [*DATA["cluster"], *case.get("stored", ())]]
    state.learn(stored)
    assert [each.message for each in state.failures] == []
    change = Change(
        [Unwritten("change", each) for each in case.get("apply", ())],
        [ObjectId(*each.split("/")) for each in case.get("delete", ())],
        case.get("cordon", ()),
        case.get("drain", ()),
    )
    return impact(state, stored, change, profile, TimeLimit(300.0))


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["name"])
def test_impact(case: dict[str, Any]) -> None:
    """All that is expected, and nothing else."""
    answer = _impact(case)
    found = {
        "leaves": [
            {"pod": each.pod.key, "when": each.when, "why": each.why, "returns": each.returns}
            for each in answer.departures
        ],
        "pending": [name for group in answer.pending for name in group.pods],
        "starting": [list(each) for each in answer.starting],
        "lost": [each.holder.claim for each in answer.lost],
        "classes": [each._asdict() for each in answer.classes],
        "found": [each.check.code for each in answer.found],
        "solved": [each.check.code for each in answer.solved],
    }
    assert found == {what: case.get(what, []) for what in found}
    assert answer.unknown == []


@pytest.mark.parametrize("case", DATA["refused"], ids=lambda case: case["name"])
def test_refused(case: dict[str, Any]) -> None:
    """What the API server would not do has no impact."""
    with pytest.raises(Unanswerable, match=case["message"]):
        _impact(case)


def test_the_cluster_is_as_before() -> None:
    """Nothing that is asked changes the objects that were read."""
    before = yaml.safe_dump(DATA["cluster"])
    for case in DATA["cases"]:
        _impact(case)
    assert yaml.safe_dump(DATA["cluster"]) == before
