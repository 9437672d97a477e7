"""Pods that ask for the same are explained once, and each is told with its own names what it would be told by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

import pytest

from claimcheck.answers.explain import explain_each
from claimcheck.watching import waiting_pods
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.waiting_pods import QUIET_SECONDS, WaitingPods
from cluster.event_writer import Subject
from cluster.live_objects import Resource
from resourceapi.manifests import name_of
from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.claimcheck.random_inventories import GATES, inventory
from tests.claimcheck.test_one_story import used
from tests.claimcheck.watching.test_waiting_pods import REFUSED, RESOURCES, Watched, pod
from tests.e2e.random_waiting import objects_of

_ALL = [*RESOURCES, Resource(f"{OWN_GROUP}/v1alpha3", "ResourceSlicePatch", "resourceslicepatches")]
_OWNER = {"apiVersion": "v1", "kind": "Pod", "controller": True}


@pytest.fixture
def explained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names under which pods are explained."""
    names: list[str] = []

    def noted(scenario: Any, **options: Any) -> Any:
        names.extend(each.name for each in scenario.workloads)
        return explain_each(scenario, **options)

    monkeypatch.setattr(waiting_pods, "explain_each", noted)
    return names


def _waits(watched: Watched, name: str, namespace: str = "team", count: int = 1, **changes: Any) -> None:
    """A pod with a claim that was made for it from a template."""
    claim = f"{name}-gpu-x7k2p"
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}]
    owner = {**_OWNER, "name": name, "uid": name}
    metadata = {"name": claim, "namespace": namespace, "uid": claim, "ownerReferences": [owner]}
    watched.put(
        "ResourceClaim", {"metadata": metadata, "spec": {"devices": {"requests": requests}}, "status": {}}
    )
    spec = {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpus"}],
        **changes.pop("spec", {}),
    }
    made = pod(name, namespace, spec=spec, **changes)
    made["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": claim}]
    watched.put("Pod", made)


def test_pods_that_ask_for_the_same_are_explained_once(explained: list[str]) -> None:
    watched = Watched()
    for number in range(30):
        _waits(watched, f"p{number}", count=9)
    watched.after(0.0)
    told = watched.after(QUIET_SECONDS)
    assert len(explained) == 1
    assert [name for name, _ in told] == [f"team/p{number}" for number in range(30)]
    for number, (_, note) in enumerate(told):
        assert f"claim team/p{number}-gpu-x7k2p" in note
        assert "\0" not in note


def test_what_was_found_out_is_forgotten_with_the_look(explained: list[str]) -> None:
    watched = Watched()
    _waits(watched, "first")
    watched.after(0.0)
    ((_, note),) = watched.after(QUIET_SECONDS)
    assert "it would fit if pod team/train ended" in note
    watched.claim("train")
    _waits(watched, "second")
    watched.after(0.0)
    assert watched.after(QUIET_SECONDS) == []  # it fits now
    assert len(explained) == 2


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ({}, 1),
        ({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z"}}, 1),
        ({"conditions": [{**REFUSED[0], "message": "0/1 nodes are available"}]}, 1),
        ({"count": 2}, 2),
        ({"namespace": "other"}, 2),
        ({"spec": {"priority": 7}}, 2),
        ({"spec": {"nodeSelector": {"a": "b"}}}, 2),
        ({"metadata": {"ownerReferences": [{"kind": "Job", "name": "j", "controller": True}]}}, 2),
        ({"conditions": []}, 1),  # kube-scheduler may not have come to it
    ],
    ids=str,
)
def test_what_tells_pods_apart(changes: Any, times: int, explained: list[str]) -> None:
    watched = Watched()
    _waits(watched, "first")
    _waits(watched, "second", **changes)
    watched.after(0.0)
    watched.after(QUIET_SECONDS)
    assert len(explained) == times


@pytest.mark.parametrize(
    ("owner", "status", "words"),
    [
        (
            {**_OWNER, "name": "second", "uid": "before"},
            {},
            "waits for claim team/second-gpu-x7k2p, which was not created",
        ),
        (
            {**_OWNER, "name": "second", "uid": "second"},
            {"reservedFor": [{"resource": "pods", "name": "x", "uid": "x"}]},
            "",
        ),
    ],
    ids=["of another pod of this name", "in use by another pod"],
)
def test_pods_whose_claims_cannot_be_used_are_explained_by_themselves(
    owner: Object, status: Object, words: str
) -> None:
    watched = Watched()
    _waits(watched, "first")
    _waits(watched, "second")
    metadata = {"name": "second-gpu-x7k2p", "namespace": "team", "uid": "c", "ownerReferences": [owner]}
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": 1}}]
    watched.put(
        "ResourceClaim", {"metadata": metadata, "spec": {"devices": {"requests": requests}}, "status": status}
    )
    watched.after(0.0)
    told = dict(watched.after(QUIET_SECONDS))
    assert told["team/first"].startswith("does not fit on node-1")
    assert told["team/second"].startswith(words)


def test_text_that_looks_like_a_placeholder_tells_nothing_of_others() -> None:
    """It becomes a name of the pod itself, or nothing."""
    watched = Watched()
    selector = {"cel": {"expression": 'device.driver == "\\u0000" + "\0000\0 \0001\0 \0002\0 \000x\0"'}}
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": [selector]}}]
    metadata = {"name": "claim", "namespace": "team", "uid": "c"}
    watched.put(
        "ResourceClaim", {"metadata": metadata, "spec": {"devices": {"requests": requests}}, "status": {}}
    )
    watched.put("Pod", pod("next", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "claim"}]}))
    watched.after(0.0)
    ((_, note),) = watched.after(QUIET_SECONDS)
    assert "train" not in note


def _random_clusters() -> Iterator[tuple[str, list[Object]]]:
    for seed in range(40):
        kinds = ("Deployment", "StatefulSet", "DaemonSet", "Job")
        yield f"waiting {seed}", [each for each in objects_of(seed) if each["kind"] not in kinds]
    for seed in range(12):
        yield f"inventory {seed}", used(inventory(seed)).objects


def test_each_is_told_what_it_would_be_told_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """On random clusters, in which each pod that waits has a twin with other names."""
    monkeypatch.setattr(waiting_pods, "SECONDS", 1e6)
    monkeypatch.setattr(waiting_pods, "POD_SECONDS", 1e6)
    told = 0
    for name, objects in _random_clusters():
        doubled = list(_with_twins(objects))
        together = _notes(doubled)
        with monkeypatch.context() as patched:
            patched.setattr(waiting_pods, "read_alike", lambda *_: None)
            alone = _notes(doubled)
        assert together == alone, name
        told += len(together)
    assert told > 100


def _notes(objects: Iterable[Object]) -> dict[str, str]:
    cluster = FollowedCluster("cluster", Profile("1.37", dict.fromkeys(GATES, True)), _ALL)
    of_kind = {resource.kind: each for resource, each in cluster.collections.items()}
    found: dict[str, str] = {}
    now = 0.0

    def tell(subject: Subject, note: str) -> None:
        found[f"{subject.namespace}/{subject.name}"] = note

    for each in objects:
        of_kind[each["kind"]].put(each)
    pods = WaitingPods(cluster, tell, ["default-scheduler"], clock=lambda: now)
    pods.look()
    now += QUIET_SECONDS
    pods.look()
    return found


def _with_twins(objects: Iterable[Object]) -> Iterator[Object]:
    """The objects in a cluster where kube-scheduler has refused all pods on no node, and for each of these another one."""
    cluster = ("Node", "DeviceClass", "ResourceSlice", "ResourceSlicePatch", "DeviceTaintRule")
    objects = [_renamed(each, str) if each["kind"] not in cluster else each for each in objects]
    yield from objects
    for each in objects:
        is_pending = each["kind"] == "Pod" and not each["spec"].get("nodeName")
        if is_pending or (each["kind"] == "ResourceClaim" and not each.get("status", {}).get("allocation")):
            yield _renamed(each, lambda name: f"a-{name}-twin")


def _renamed(obj: Object, renamed: Callable[[str], str]) -> Object:
    found = deepcopy(obj)
    name = renamed(name_of(obj))
    found["metadata"] = {
        "namespace": "team",
        **found["metadata"],
        "name": name,
        "uid": f"{obj['kind']} {name}",
    }
    if obj["kind"] == "Pod":
        found["spec"]["schedulerName"] = "default-scheduler"
        for each in found["spec"]["resourceClaims"]:
            if "resourceClaimName" in each and name != name_of(obj):
                each["resourceClaimName"] = renamed(each["resourceClaimName"])
        if not found["spec"].get("nodeName"):
            found["status"] = {"conditions": REFUSED}
    return found
