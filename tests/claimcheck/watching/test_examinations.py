"""What `watch` reports of everything that is wrong: as `doctor` does, when something has changed, and within bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from allocator.time_limit import TimeLimit
from claimcheck.answers.doctor.examination import Examination, examine
from claimcheck.answers.doctor.examined import Examined
from claimcheck.watching import examinations
from claimcheck.watching.examinations import Examinations
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.pace import SECONDS
from cluster.live_objects import Resource
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.claimcheck.doctor.test_checks import CASES, MIXED, cluster, examination
from tests.claimcheck.watching.test_waiting_pods import RESOURCES, Watched, pod

_PATCHES = Resource("resource.k8s.io/v1alpha3", "ResourceSlicePatch", "resourceslicepatches")


@pytest.mark.parametrize("case", [*CASES, *MIXED], ids=lambda case: case["name"])
def test_what_is_held_of_objects_is_enough_to_examine_them(case: dict[str, Any]) -> None:
    profile = Profile(case.get("release", "1.37"), case.get("gates", {}))
    followed = FollowedCluster("cluster", profile, [*RESOURCES, _PATCHES])
    of = {resource.kind: each for resource, each in followed.collections.items()}
    for each in cluster(case):
        of[each["kind"]].put(each)
    state, manifests = followed.state()
    found = examine(Examined(state, manifests, "", TimeLimit(300.0)))
    assert found == examination(cluster(case), case)


class Looked(Watched):
    """A cluster that is examined, and what has been found so far."""

    def __init__(self, namespace: str = "") -> None:
        super().__init__()
        self.found: list[Examination] = []
        self.examinations = Examinations(self.cluster, self.found.append, namespace, clock=lambda: self.now)

    def codes(self) -> list[list[str]]:
        return [[each.check.code for each in found.diagnoses] for found in self.found]


def test_it_is_examined_now_and_then_if_something_has_changed() -> None:
    watched = Looked()
    watched.examinations.refresh()
    watched.waits("late", count=2)
    watched.now += SECONDS / 2
    watched.examinations.refresh()
    assert watched.codes() == [[]]
    watched.now += SECONDS / 2
    watched.examinations.refresh()
    watched.now += SECONDS
    watched.examinations.refresh()
    assert watched.codes() == [[], ["CD001"]]
    assert watched.found[1].is_complete


def test_only_one_namespace_is_examined_if_wanted() -> None:
    watched = Looked("team")
    watched.waits("mine", count=2)
    watched.waits("theirs", "other", count=3)
    watched.examinations.refresh()
    (diagnosis,) = watched.found[0].diagnoses
    assert [each.full_name for each in diagnosis.objects] == ["team/mine"]


@pytest.mark.parametrize("gates", [(), ({"name": "later"},)], ids=["waits", "gated"])
def test_the_largest_pods_are_left_out(gates: Sequence[Object], monkeypatch: pytest.MonkeyPatch) -> None:
    """They are not even read; the claims that are there for them are not taken for those of pods that are gone."""
    monkeypatch.setattr(examinations, "MOST_CHARACTERS", 20_000)
    watched = Looked()
    for name in ("a", "b"):
        watched.waits(name, count=2)
    watched.claim("large")
    claimed = {"resource": "pods", "name": "large", "uid": "large"}
    watched.claim("held", status={"reservedFor": [claimed]})
    selector = {f"label-{number}": "x" * 50 for number in range(500)}
    watched.put("Pod", pod("large", spec={"nodeSelector": selector, "schedulingGates": list(gates)}))
    watched.examinations.refresh()
    (found,) = watched.found
    assert [(each.check.code, len(each.objects)) for each in found.diagnoses] == [("CD001", 2)]
    assert found.unread == [
        "Not looked at: pods team/large, since they and the claims of others ask for too much to be looked at together."
    ]
    assert not found.is_complete
