"""What `watch` holds of objects: as much as answers depend on, and no more."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from allocator.time_limit import UNLIMITED
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.explain import explain_each
from claimcheck.answers.scenario import Reader, Scenario, snapshot_of
from claimcheck.watching import held_objects
from claimcheck.watching.followed_cluster import FOLLOWED_BYTES, FollowedCluster, bytes_held
from claimcheck.watching.held_objects import held_of
from claimcheck.watching.waiting_pods import note_on
from cluster.budget import OBJECT_BYTES
from cluster.live_objects import LiveObject, Resource
from cluster.workloads import Workload
from documents.manifest import Manifest
from resourceapi.manifests import text
from resourceapi.objects import Object
from resourceapi.releases import Profile
from tests.claimcheck.watching.test_waiting_pods import DRIVER, RESOURCES, pod
from tests.corpus.cases import valid_object
from tests.corpus.parts import Parts
from tests.e2e.random_waiting import objects_of
from validation.requests import create_request
from validation.server import Server

_LONG = "x" * 250_000
_MANAGERS = [{"manager": "kubelet", "apiVersion": "v1", "fieldsV1": {"f:spec": {f"f:{_LONG}": {}}}}]
_ENVIRONMENT = [{"name": "A", "value": _LONG}]
_CLAIM = next(each for each in RESOURCES if each.kind == "ResourceClaim")
_PARAMETERS = {"driver": DRIVER, "parameters": {"note": _LONG}}


def _resource(obj: Object) -> Resource:
    return Resource(text(obj, "apiVersion"), obj["kind"], "objects")


def _claim(**devices: Any) -> Object:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    return {"devices": {"requests": requests, **devices}}


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("Pod", pod("train", node="node-1") | {"metadata": {}}),
        ("Pod", pod("train", spec={"containers": [{"name": "c", "image": "i", "env": _ENVIRONMENT}]})),
        ("Pod", pod("train", spec={"volumes": [{"name": _LONG}]})),
        ("Node", {"spec": {}, "status": {"images": [{"names": [_LONG]}], "capacity": {"cpu": "8"}}}),
        ("ResourceClaim", {"spec": _claim(config=[{"opaque": _PARAMETERS}])}),
        (
            "ResourceClaim",
            {
                "spec": _claim(),
                "status": {
                    "allocation": {"devices": {"config": [{"source": "FromClaim", "opaque": _PARAMETERS}]}},
                    "devices": [{"driver": DRIVER, "pool": "p", "device": "d", "data": {"note": _LONG}}],
                },
            },
        ),
        ("ResourceClaimTemplate", {"spec": {"metadata": {"annotations": {"a": _LONG}}, "spec": _claim()}}),
        ("ResourceSlice", {"spec": {"driver": DRIVER, "pool": {"name": "p"}}}),
        ("Namespace", {}),
    ],
)
def test_what_nothing_depends_on_is_not_held(kind: str, parts: Object) -> None:
    resource = next(each for each in RESOURCES if each.kind == kind)
    metadata = {"name": "a", "annotations": {"note": _LONG}, "managedFields": _MANAGERS}
    cluster = FollowedCluster("cluster", Profile(), RESOURCES)
    cluster.collections[resource].put({**parts, "metadata": metadata})
    (held,) = cluster.collections[resource].objects.values()
    assert len(held.text.source) < 1_000


def test_large_clusters_are_held() -> None:
    """5,000 nodes with 8 devices each, 20,000 claims and pods of twice the usual size, and a list of all beside what it replaces."""
    labels = {f"example.com/label-{number}": "value" for number in range(100)}
    amounts = dict.fromkeys(("cpu", "memory", "pods", "ephemeral-storage", DRIVER), "1000000000")
    taken = {"name": "c", "image": "i" * 100, "resources": {"requests": amounts, "limits": amounts}}
    device = {
        "name": "gpu-0",
        "attributes": {f"attribute-{number}": {"string": "x" * 30} for number in range(16)},
        "capacity": {f"capacity-{number}": {"value": "1000000Mi"} for number in range(8)},
    }
    result = {"request": "gpu", "driver": DRIVER, "pool": "node-1000", "device": "gpu-0"}
    of_each_node: dict[str, tuple[int, Object]] = {
        "Node": (1, {"status": {"allocatable": amounts, "capacity": amounts}}),
        "ResourceSlice": (1, {"spec": {"driver": DRIVER, "devices": [device] * 8}}),
        "ResourceClaim": (
            4,
            {"spec": _claim(), "status": {"allocation": {"devices": {"results": [result] * 8}}}},
        ),
        "Pod": (4, pod("train", spec={"containers": [taken] * 4})),
    }
    taken_by_node = 0
    for kind, (count, parts) in of_each_node.items():
        resource = next(each for each in RESOURCES if each.kind == kind)
        obj = {**parts, "metadata": {"name": "a" * 60, "namespace": "b" * 60, "labels": labels}}
        taken_by_node += count * (OBJECT_BYTES + bytes_held(resource, obj))
    assert 2 * 5_000 * taken_by_node < FOLLOWED_BYTES


@pytest.mark.parametrize("character", ["x", "<", "é", "\0", "\U0001f600"])
def test_no_less_is_counted_than_is_held(character: str) -> None:
    """Characters that take more in JSON than by themselves."""
    taints = [{"key": character * 10_000}]
    obj = {"metadata": {"name": "a"}, "spec": {"taints": taints}}
    cluster = FollowedCluster("cluster", Profile(), RESOURCES)
    cluster.collections[RESOURCES[1]].put(obj)
    (held,) = cluster.collections[RESOURCES[1]].objects.values()
    assert held.text.value["spec"] == obj["spec"]
    assert bytes_held(RESOURCES[1], obj) == len(held.text._zipped) > 0


@pytest.mark.parametrize("character", ["x", "<", "é", "\1", "\U0001f600"])
def test_claims_take_no_more_than_api_servers_store(character: str) -> None:
    """The attack: 150 claims of 1.4 MB, of which all but a few bytes are `<` in a selector, were 1.3 GB; `watch` may take 1 GiB."""
    expression = f"device.driver == '{character * 8_000}'"
    selectors = [{"cel": {"expression": expression}}] * 32
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "selectors": selectors}}]
    claim = {"metadata": {"name": "a", "namespace": "evil"}, "spec": {"devices": {"requests": requests}}}
    assert bytes_held(_CLAIM, claim) < 32 * len(expression.encode()) / 4


def test_owners_of_an_object_are_not_all_held() -> None:
    """The attack: claims and pods with 25,000 owners. The one that makes it again stays."""
    owners: list[Object] = [
        {"kind": "Job", "name": f"job-{number}", "uid": str(number)} for number in range(25_000)
    ]
    owners.append({"kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True})
    held = held_of(_CLAIM, {"metadata": {"name": "a", "ownerReferences": owners}})
    assert held["metadata"]["ownerReferences"][0] == owners[-1]
    assert len(held["metadata"]["ownerReferences"]) < 20


def test_whatever_is_wrong_with_an_object_it_counts() -> None:
    assert bytes_held(RESOURCES[-1], {"spec": 1, "status": [_LONG], "metadata": {"name": 1}}) > 0


def test_a_change_of_what_is_not_held_is_none() -> None:
    """As when kubelet reports that a node is still there."""
    cluster = FollowedCluster("cluster", Profile(), RESOURCES)
    nodes = cluster.collections[RESOURCES[1]]
    for beat in ("2026-01-01T00:00:00Z", "2026-01-01T00:05:00Z"):
        condition = {"type": "Ready", "status": "True", "lastHeartbeatTime": beat}
        nodes.put(
            {"metadata": {"name": "node-1", "resourceVersion": beat}, "status": {"conditions": [condition]}}
        )
    assert cluster.changes == 1


def test_pods_that_have_ended_are_not_held() -> None:
    cluster = FollowedCluster("cluster", Profile(), RESOURCES)
    pods = cluster.collections[RESOURCES[-1]]
    pods.put(pod("train"))
    pods.put(pod("train") | {"status": {"phase": "Succeeded"}})
    assert not pods.objects


def test_the_server_accepts_what_is_held_of_a_pod() -> None:
    """Else it would be told that it cannot be answered."""
    server = Server(Profile(), namespaces={"default": {}})
    for seed in range(200):
        whole = valid_object(Parts(Random(seed)), "Pod", "v1")
        if server.handle(create_request(whole, "default")).accepted:
            held = held_of(_resource(whole), whole)
            assert server.handle(create_request(held, "default")).message == ""


def test_the_same_is_said_as_of_whole_objects() -> None:
    """Of random clusters in each of which something is wrong."""
    notes = {seed: (_notes(*_whole(seed)), _notes(*_followed(seed))) for seed in range(60)}
    assert all(whole == held for whole, held in notes.values())
    assert sum(bool(whole) for whole, _ in notes.values()) > 30


def test_the_same_is_said_where_what_claims_ask_for_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all claims and templates, however short, and of pods on nodes that have been read before."""
    monkeypatch.setattr(held_objects, "MIN_BYTES", 0)
    for seed in range(60):
        assert _notes(*_followed(seed, without_pending=True)) == _notes(*_whole(seed))


def _objects(seed: int) -> list[Object]:
    more = {"annotations": {"note": "n"}, "namespace": "default"}
    return [
        {**each, "metadata": {**more, **each["metadata"]}}
        for each in objects_of(seed)
        if each["kind"] not in ("Deployment", "StatefulSet", "DaemonSet", "Job")
    ]


def _whole(seed: int) -> tuple[ClusterState, list[Manifest]]:
    state = ClusterState(Profile(), "default")
    found = [LiveObject("cluster", _resource(each).name, each) for each in _objects(seed)]
    pods = [each for each in state.learn(found, live=True) if each.value["kind"] == "Pod"]
    return state, pods


def _followed(seed: int, *, without_pending: bool = False) -> tuple[ClusterState, list[Manifest]]:
    objects = _objects(seed)
    cluster = FollowedCluster("cluster", Profile(), dict.fromkeys(map(_resource, objects)))
    for each in objects:
        cluster.collections[_resource(each)].put(each)
    state, pods = cluster.state()
    return cluster.state_without_pending() if without_pending else state, pods


def _notes(state: ClusterState, requesting: list[Manifest]) -> list[str]:
    workloads: list[Workload] = Reader(state, "default").workloads(requesting, UNLIMITED)
    scenario = Scenario(state, snapshot_of(state, UNLIMITED), workloads)
    return [f"{each.workload.title}: {note_on(each)}" for each in explain_each(scenario) if note_on(each)]
