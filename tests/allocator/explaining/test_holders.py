"""Who would have to give up devices: pods that nothing replaces, and the owners of those that are replaced."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from allocator.explaining.explanation import explain
from allocator.explaining.finder import RELEASE
from allocator.explaining.holders import ended_with, holder, released
from allocator.explaining.snapshot import ClusterContent, Snapshot
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from tests.allocator.objects import ALL_FEATURES, claim, device_class, exactly, held, node, slice_of

#: What has made pods, by the first part of their name, and how many of its pods are on nodes, if that is known.
OWNERS = {
    "api": ("Deployment", "api", 3),
    "store": ("StatefulSet", "store", 2),
    "web": ("Deployment", "web", 0),
    "rs": ("ReplicaSet", "rs", 0),
    "db": ("StatefulSet", "db", 0),
    "agent": ("DaemonSet", "agent", 0),
    "train": ("Job", "train", 0),
    "ray": ("RayCluster", "ray", 0),
}


def owner_of(pod: str) -> tuple[str, str, int] | None:
    return OWNERS.get(pod.partition("/")[2].partition("-")[0])


def used(name: str, *pods: str) -> Object:
    """A claim that is reserved for pods."""
    users = [{"resource": "pods", "name": pod, "uid": pod} for pod in pods]
    made = held("d", name=name)
    return {**made, "status": {**made["status"], "reservedFor": users}}


COST = "(controller.kubernetes.io/pod-deletion-cost)"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param(
            ["web-a"], f"Deployment ns/web were scaled down by 1, ns/web-a first {COST}", id="deployment"
        ),
        pytest.param(
            ["web-a", "web-b"],
            f"Deployment ns/web were scaled down by 2, ns/web-a, ns/web-b first {COST}",
            id="two-of-one",
        ),
        pytest.param(
            ["rs-1", "alone"],
            f"ReplicaSet ns/rs were scaled down by 1, ns/rs-1 first {COST}, and if pod ns/alone ended, which uses claim alone",
            id="with-a-pod-of-nobody",
        ),
        pytest.param(
            ["api-a"], f"Deployment ns/api were scaled down to 2, ns/api-a first {COST}", id="others-may-wait"
        ),
        pytest.param(["store-0"], "StatefulSet ns/store were scaled down to 0", id="all-of-a-stateful-set"),
        pytest.param(["db-2"], "StatefulSet ns/db were scaled down by 1", id="last-of-a-stateful-set"),
        pytest.param(["db-0"], "StatefulSet ns/db were scaled down by 3", id="first-of-a-stateful-set"),
        pytest.param(["agent-x"], "DaemonSet ns/agent were kept off the node of ns/agent-x", id="daemon-set"),
        pytest.param(["train-0"], "Job ns/train ended", id="job"),
        pytest.param(["ray-head"], "RayCluster ns/ray ended", id="custom"),
        pytest.param(["alone"], "pod ns/alone ended, which uses claim alone", id="alone"),
        pytest.param(["unused"], "claim ns/unused were deleted, which no pod uses", id="unused"),
    ],
)
def test_owners(names: Sequence[str], text: str) -> None:
    """Owners are named where pods would be replaced, with all pods that end then."""
    pods = (
        "api-a",
        "store-0",
        "store-1",
        "web-a",
        "web-b",
        "rs-1",
        "db-0",
        "db-1",
        "db-2",
        "agent-x",
        "train-0",
        "train-1",
        "ray-head",
        "ray-w",
        "alone",
    )
    claims = [*(Claim(used(pod, pod)) for pod in pods), Claim(used("unused"))]
    users = {each.key: holder(each, owner_of) for each in claims}
    ended = ended_with([f"ns/{name}" for name in names], users)
    assert f"{released([users[name] for name in ended])}" == text
    same_owner = {owner_of(name) for name in ended} - {None}
    assert {name for name, one in users.items() if any(owner_of(pod) in same_owner for pod in one.pods)} >= {
        name for name in ended if owner_of(name)
    }


def test_consumers_are_counted() -> None:
    """A claim can be reserved for 256 objects that are no pods; three of them are named, as of pods, or eight that would have to end."""
    names = [f"{number:03}" for number in range(256)]
    users = [{"apiGroup": "a.example.com", "resource": "jobs", "name": name, "uid": name} for name in names]
    made = used("large")
    found = holder(Claim({**made, "status": {**made["status"], "reservedFor": users}}))
    assert found.text == "claim ns/large (jobs 000, jobs 001, jobs 002 and 253 others)"
    ended = ", ".join(f"jobs {name}" for name in names[:8])
    assert released([found]) == f"{ended} and 248 others ended, which use claim large"


def remedies(wanted: int, *nodes: dict[str, str]) -> list[str]:
    """What would have to end for a claim, on nodes with a device for each holder, and who holds which."""
    names = [f"n{number}" for number in range(len(nodes))]
    slices = [
        slice_of(*holders.values(), name=name, pool=name, nodeName=name)
        for name, holders in zip(names, nodes, strict=True)
    ]
    claims = []
    on_nodes = zip(names, nodes, strict=True)
    for name, pod, device in ((name, *each) for name, holders in on_nodes for each in holders.items()):
        made = held(device, pool=name, name=pod)
        users = [{"resource": "pods", "name": pod, "uid": pod}]
        claims.append(Claim({**made, "status": {**made["status"], "reservedFor": users}}))
    snapshot = Snapshot(
        ALL_FEATURES,
        ClusterContent([node(name) for name in names], {"any": device_class()}, slices, claims),
        time_limit=UNLIMITED,
        owner_of=owner_of,
    )
    found = explain(snapshot, [Claim(claim(exactly(count=wanted), name="new"))], UNLIMITED)
    return [each.text for each in found.remedies if each.kind == RELEASE]


def test_one_remedy_for_each_owner() -> None:
    """Where any pod of an owner will do, it is told once, and which pod does not matter."""
    holders = {
        "web-a": "d0",
        "web-b": "d1",
        "alone": "d2",
        "db-0": "d3",
        "db-1": "d4",
        "train-0": "d5",
        "train-1": "d6",
    }
    assert remedies(1, holders) == [
        "if pod ns/alone ended, which uses claim alone",
        "if StatefulSet ns/db were scaled down by 1",
        "if Deployment ns/web were scaled down by 1",
        "if Job ns/train ended",
    ]


def test_several_pods_of_an_owner() -> None:
    """As many as are needed, with their names."""
    assert remedies(2, {"web-a": "d0", "web-b": "d1"}) == [
        f"if Deployment ns/web were scaled down by 2, ns/web-a, ns/web-b first {COST}"
    ]


def test_owner_that_ends_is_told_once() -> None:
    """Whatever nodes its pods are on; which pods of others end matters."""
    assert remedies(1, {"train-0": "d0", "web-a": "d1"}, {"train-1": "d0", "web-b": "d1"}) == [
        f"if Deployment ns/web were scaled down by 1, ns/web-a first {COST}",
        "if Job ns/train ended",
        f"if Deployment ns/web were scaled down by 1, ns/web-b first {COST}",
    ]
