"""The objects of a cluster: the same from files and from a live cluster, in whichever order they come."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.node_resources import PodNeeds
from claimcheck.answers.cluster_state import ClusterState
from cluster.live_objects import SCHEDULING, LiveObject, UnreadList, live_objects
from cluster.objects import ClusterObjects
from commandline.reading import read
from resourceapi.api_client import Unavailable
from resourceapi.kinds import KINDS
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.nodes import read_node
from resourceapi.records.taints import Taint
from resourceapi.releases import Profile

PROFILE = Profile("1.37", {})
GROUP = "resource.k8s.io"


def group_object(kind: str, name: str, spec: Object, version: str = "v1", **more: Any) -> Object:
    metadata = {"name": name, **({"namespace": "team"} if KINDS[kind].namespaced else {})}
    return {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec, **more}


def slice_of(node: str, *devices: Object) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "d.example.com", "nodeName": node, "pool": pool, "devices": list(devices)}
    return group_object("ResourceSlice", f"slice-{node}", spec)


EXACTLY = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
RESULT = {"request": "r", "driver": "d.example.com", "pool": "n1", "device": "a"}
OBJECTS: list[Object] = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": {"a": "b"}}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "labels": {"zone": "z"}}, "spec": {}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2"}, "spec": {"unschedulable": True}},
    slice_of("n1", {"name": "a", "capacity": {"memory": {"value": "40Gi"}}}, {"name": "b"}),
    slice_of("n2", {"name": "a", "attributes": {"model": {"string": "x"}}}),
    group_object("DeviceClass", "gpu", {"selectors": [{"cel": {"expression": "true"}}]}),
    group_object(
        "ResourceClaim",
        "held",
        {"devices": {"requests": [EXACTLY]}},
        status={"allocation": {"devices": {"results": [RESULT]}}},
    ),
    group_object("ResourceClaim", "waiting", {"devices": {"requests": [EXACTLY]}}),
    group_object("ResourceClaimTemplate", "template", {"spec": {"devices": {"requests": [EXACTLY]}}}),
]


class FakeApi:
    """Serves objects in v1, in pages of one, without what all of a list are; some paths are forbidden."""

    def __init__(self, objects: Iterable[Object], *forbidden: str) -> None:
        self.lists: dict[str, list[Object]] = {}
        self.forbidden = forbidden
        self.refusal = 403
        self.asked: set[str] = set()
        for obj in objects:
            kind = obj["kind"]
            path = f"/apis/{GROUP}/v1/{KINDS[kind].resource}" if kind in KINDS else f"/api/v1/{kind.lower()}s"
            item = {name: value for name, value in obj.items() if name not in ("apiVersion", "kind")}
            self.lists.setdefault(path, []).append(item)

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        assert verb == "GET"
        self.asked.add(path)
        if path in self.forbidden:
            return self.refusal, {"message": "forbidden"}
        if path == f"/apis/{GROUP}":
            return 200, {"versions": [{"version": name} for name in ("v1", "v1alpha3", "v1beta1")]}
        if path in (f"/apis/{GROUP}/v1", f"/apis/{GROUP}/v1alpha3"):
            version = path.rpartition("/")[2]
            kinds = [kind for kind in KINDS.values() if version in kind.versions]
            return 200, {"resources": [{"name": kind.resource} for kind in kinds]}
        if path == f"/apis/{GROUP}/v1beta1":
            return 404, {"message": "not found"}
        items = self.lists.get(path, [])
        start = int((query or {}).get("continue", "0"))
        following = {"continue": str(start + 1)} if start + 1 < len(items) else {}
        return 200, {"items": items[start : start + 1], "metadata": following}


def state_of(objects: ClusterObjects) -> Any:
    kinds = {kind: objects.of(kind) for kind in KINDS}
    return kinds, objects.nodes.objects, objects.namespaces.objects, objects.slices, objects.all_nodes()


def test_live_objects_are_those_of_files(tmp_path: Path) -> None:
    """Whether a cluster is read from its API or from files that hold its objects, there is the same to schedule with."""
    file = tmp_path / "all.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": OBJECTS}), encoding="utf-8")
    files, live = ClusterState(PROFILE, "default"), ClusterState(PROFILE, "default")
    files.learn(read([str(file)]))
    found = list(live_objects(FakeApi(OBJECTS), "test", PROFILE, kinds=SCHEDULING))
    live.learn((each for each in found if isinstance(each, LiveObject)), live=True)
    assert not files.failures
    assert not live.failures
    assert state_of(files) == state_of(live)
    assert [claim.key for claim in live.allocated_claims] == ["team/held"]


@given(st.permutations(range(len(OBJECTS))), st.sets(st.integers(0, len(OBJECTS) - 1)))
@settings(max_examples=50, deadline=None)
def test_order_does_not_matter(order: list[int], removed: set[int]) -> None:
    """Events in any order, with objects that come and go in between, lead to what a list shows."""
    watched = ClusterObjects(PROFILE)
    for index in order:
        watched.collection(OBJECTS[index]["kind"]).put(OBJECTS[index])
    for index in removed:
        watched.collection(OBJECTS[index]["kind"]).remove(OBJECTS[index])
    listed = ClusterObjects(PROFILE)
    for kind in {obj["kind"] for obj in OBJECTS}:
        there = [obj for index, obj in enumerate(OBJECTS) if index not in removed and obj["kind"] == kind]
        listed.collection(kind).replace(there)
    kinds, nodes, namespaces, slices, _ = state_of(watched)
    expected = state_of(listed)
    assert (kinds, nodes, namespaces) == expected[:3]
    assert sorted(slices, key=key_of) == sorted(expected[3], key=key_of)


def test_lists_that_are_forbidden() -> None:
    """They are told; of the namespace that is named, objects are read all the same."""
    claims = f"/apis/{GROUP}/v1/resourceclaims"
    api = FakeApi(OBJECTS, "/api/v1/nodes", claims)
    api.lists[f"/apis/{GROUP}/v1/namespaces/team/resourceclaims"] = api.lists[claims]
    found = list(live_objects(api, "test", PROFILE, kinds=SCHEDULING, fallback_namespace="team"))
    unread = [each for each in found if isinstance(each, UnreadList)]
    assert [(each.kind, each.error.code, each.namespace) for each in unread] == [
        ("Node", 403, ""),
        ("ResourceClaim", 403, "team"),
    ]
    files = [each.file for each in found if isinstance(each, LiveObject)]
    assert "test/resourceclaims/team/held" in files


def test_diagnostic_kinds_that_may_not_be_listed() -> None:
    """Nothing depends on their objects, so these are left out; any other error is told."""
    reports = f"/apis/{GROUP}/v1alpha3/resourcepoolstatusrequests"
    api = FakeApi(OBJECTS, reports)
    assert not [each for each in live_objects(api, "test", PROFILE) if isinstance(each, UnreadList)]
    assert reports in api.asked
    api.refusal = 500
    unread = [each for each in live_objects(api, "test", PROFILE) if isinstance(each, UnreadList)]
    assert [each.kind for each in unread] == ["ResourcePoolStatusRequest"]


def test_collections_take_what_lists_have() -> None:
    """Items of a list leave out what they are; one that cannot be read counts as absent."""
    objects = ClusterObjects(PROFILE)
    slices = FakeApi(OBJECTS).lists[f"/apis/{GROUP}/v1/resourceslices"]
    odd = {"metadata": {"name": "odd"}, "spec": {"devices": "none"}}
    objects.collection("ResourceSlice").replace([*slices, odd])
    assert set(objects.of("ResourceSlice")) == {"slice-n1", "slice-n2"}


def test_taints_of_another_type() -> None:
    """What is no text in a taint of a Node counts as absent, as elsewhere in Nodes."""
    taints = [{"key": {"a": None}, "value": ["b"], "effect": "NoSchedule", "more": {}}, "odd"]
    node = read_node({"metadata": {"name": "n"}, "spec": {"taints": taints}})
    assert node is not None
    assert node.taints == (Taint("", "", "NoSchedule"),)


def test_nodes_that_slices_name() -> None:
    """Without Nodes there are those that slices name, in their order."""
    objects = ClusterObjects(PROFILE)
    for obj in OBJECTS:
        if obj["kind"] == "ResourceSlice":
            objects.collection("ResourceSlice").put(obj)
    assert [node.name for node in objects.all_nodes()] == ["n1", "n2"]


def test_pods_on_nodes() -> None:
    """Pods take of their nodes until they have ended; those that are not to be simulated, and odd ones, only count."""

    def pod(name: str, spec: Object, **status: str) -> Object:
        meta = {"name": name, "namespace": "team"}
        return {"kind": "Pod", "metadata": meta, "spec": {"nodeName": "n1", **spec}, "status": status}

    limits = {
        "containers": [{"resources": {"limits": {"cpu": "1"}}}, {"resources": {"requests": {"cpu": "250m"}}}]
    }
    objects = ClusterObjects(PROFILE)
    objects.nodes.put(
        {"metadata": {"name": "n1"}, "status": {"capacity": {"cpu": "4", "pods": "5", "x": []}}}
    )
    for each in (
        pod("runs", {**limits, "overhead": {"cpu": "50m"}}, phase="Running"),
        pod("again", limits),
        pod("odd", {"containers": [{"resources": {"requests": {"cpu": "much"}}}, 5]}),
        pod("ended", limits, phase="Succeeded"),
        pod("waits", {**limits, "nodeName": ""}),
    ):
        objects.pods.put(each)
    resources = objects.node_resources(without={"team/again"})
    wanted = PodNeeds({"cpu": 2701})
    assert [(each.reason, each.amounts) for each in resources.shortages("n1", wanted)] == [
        ("Insufficient cpu", "2701m requested, 2700m of 4 left")
    ]
    assert resources.shortages("n1", PodNeeds({"cpu": 2700})) == []
    assert len(objects.pods.objects) == 3


def test_nothing_more_is_asked_without_an_answer() -> None:
    """A server that stops answering is not waited for again and again."""

    class Stopping(FakeApi):
        attempts = 0

        def request(self, verb: str, path: str, *arguments: Any, **more: Any) -> Any:
            if not path.startswith("/api/v1/n"):
                return super().request(verb, path, *arguments, **more)
            self.attempts += 1
            raise Unavailable("GET: nothing came in time", reason="nothing came in time")

    api = Stopping(OBJECTS)
    found = list(live_objects(api, "test", PROFILE))
    assert api.attempts == 1
    assert {each.error.reason for each in found if isinstance(each, UnreadList)} == {"nothing came in time"}
    assert not [each for each in found if isinstance(each, LiveObject)]
