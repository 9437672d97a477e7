"""What comes of a change: the table of cases.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.time_limit import TimeLimit
from claimcheck.answers import tried
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.evictions import NO_TIME_FOR_EVICTIONS
from claimcheck.answers.impact import impact as answers
from claimcheck.answers.impact.change import Change, ObjectId
from claimcheck.answers.impact.departures import emptied
from claimcheck.answers.impact.impact import Impact, impact
from documents.manifest import Unwritten
from resourceapi.errors import Unanswerable
from resourceapi.releases import Profile

DATA = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text())


def _impact(case: dict[str, Any], limit: TimeLimit | None = None) -> Impact:
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
    return impact(state, stored, change, profile, limit or TimeLimit(300.0))


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
        "waiting": [list(each) for each in answer.waiting],
        "starting": [list(each) for each in answer.starting],
        "exceeded": [list(each) for each in answer.exceeded],
        "rollouts": [
            {
                "workload": str(each.workload),
                "replaced": list(each.replaced),
                "kept": list(each.kept),
                "new": each.new,
                "waiting": each.waiting,
            }
            for each in answer.rollouts
        ],
        "lost": [each.holder.claim for each in answer.lost],
        "classes": [each._asdict() for each in answer.classes],
        "found": [each.check.code for each in answer.found],
        "solved": [each.check.code for each in answer.solved],
    }
    assert found == {what: case.get(what, []) for what in found}
    assert answer.unknown == []


RULE = {
    "apiVersion": "resource.k8s.io/v1beta2",
    "kind": "DeviceTaintRule",
    "metadata": {"name": "all"},
    "spec": {"deviceSelector": {}, "taint": {"key": "maintenance", "effect": "NoExecute"}},
}
TAINTED = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-1"},
    "spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]},
}


@pytest.mark.parametrize("apply", [[RULE], [TAINTED]], ids=["devices", "node"])
def test_time_for_evictions_is_limited(apply: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    """500 rules for the devices of 2,000 claims took 17 s, whatever time there was; then it is not known who leaves."""
    now = 0.0

    def late(*given: Any) -> Any:
        nonlocal now
        now = 6.0
        return emptied(*given)

    monkeypatch.setattr(answers, "emptied", late)
    answer = _impact({"apply": apply}, TimeLimit(10, lambda: now))
    assert answer.departures == []
    assert answer.unknown[0] == NO_TIME_FOR_EVICTIONS


def test_what_annotations_silence_is_told() -> None:
    """Whoever proposes a change can write them, and had a finding left out without a word."""
    rule = {**RULE, "spec": {"deviceSelector": {}, "taint": {"key": "a", "effect": "NoSchedule"}}}
    annotations = {"claimcheck.example.com/ignore": "CD021"}
    told, quiet = (
        _impact({"apply": [{**rule, "metadata": {"name": "all", "annotations": each}}]})
        for each in ({}, annotations)
    )
    assert [each.check.code for each in told.found] == ["CD021"]
    assert list(told.notes) == []
    assert list(quiet.found) == []
    assert quiet.notes == ["Left out, as annotations of the objects say: CD021 of DeviceTaintRule all."]


def test_pods_that_are_too_many_to_be_tried_are_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollout with two thousand million pods replaced the former one, and said nothing of what it does not know."""
    monkeypatch.setattr(tried, "MAX_COPIES", 3)
    case = next(each for each in DATA["cases"] if each["name"].startswith("the new pod of a Deployment"))
    deployment = {**case["apply"][0], "spec": {**case["apply"][0]["spec"], "replicas": 2**31 - 1}}
    answer = _impact({**case, "apply": [deployment]})
    assert [each.kept for each in answer.rollouts] == [["team/web-7f-a"]]
    assert answer.unknown == ["Deployment team/web: only 3 of its 2,147,483,647 pods are simulated"]


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
