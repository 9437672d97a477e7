"""What claims hold counts as taken at every moment, in whatever order changes are told."""

from __future__ import annotations

import json
import tracemalloc
from itertools import permutations

import pytest

from allocator.demand import ClaimContents, read_claim
from allocator.time_limit import UNLIMITED
from cluster.objects import ClusterObjects
from resourceapi import deep_json
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, finalizers_of, has_finalizer
from resourceapi.records.pools import DeviceId
from resourceapi.releases import Profile
from scheduler.cluster_picture import ClusterPicture
from tests.scheduler.small_cluster import DRIVER, claim, gpus, node, pod, v1

STATES = [dict(zip("abc", held, strict=True)) for held in permutations(("gpu-0", "gpu-1", ""))]


def listed(held: dict[str, str], version: int, order: str) -> list[Object]:
    found = []
    for name in order:
        status: Object = {}
        if held[name]:
            result = {"request": "g", "driver": DRIVER, "pool": "n", "device": held[name]}
            status = {"allocation": {"devices": {"results": [result]}}}
        metadata = {"uid": name, "resourceVersion": str(version)}
        found.append(claim(name, metadata=metadata, status=status))
    return found


@pytest.mark.parametrize("order", ["abc", "cba"])
@pytest.mark.parametrize("after", STATES, ids=str)
@pytest.mark.parametrize("before", STATES, ids=str)
def test_devices_that_have_gone_from_claim_to_claim(
    before: dict[str, str], after: dict[str, str], order: str
) -> None:
    """A new list shows only that; whichever claim comes first in it, the devices are taken."""
    picture = ClusterPicture(Profile())
    picture.claim_objects.replace(listed(before, 1, order))
    picture.claim_objects.replace(listed(after, 2, order))
    assert picture.state.allocated.whole == {DeviceId(DRIVER, "n", device) for device in ("gpu-0", "gpu-1")}


def test_allocation_that_another_one_has_written() -> None:
    """What was assumed is let go if the API server shows other devices, and those are taken."""
    picture = ClusterPicture(Profile())
    picture.claim_objects.replace(listed({"a": "", "b": "", "c": ""}, 1, "abc"))
    (mine,) = (each["status"]["allocation"] for each in listed({"a": "gpu-0"}, 2, "a"))
    with picture.lock:
        picture.claims.assume("ns/a", "a", mine)
    assert {device.device for device in picture.state.allocated.whole} == {"gpu-0"}
    picture.claim_objects.replace(listed({"a": "gpu-1", "b": "gpu-0", "c": ""}, 2, "bac"))
    assert {device.device for device in picture.state.allocated.whole} == {"gpu-0", "gpu-1"}
    assert picture.claims.assumed == 0


@pytest.mark.parametrize("is_dropped_first", [False, True])
def test_devices_that_another_leader_has_given_away(is_dropped_first: bool) -> None:
    """What a replica has assumed that leads no longer gives way: whenever it is dropped, the devices are those of the other claim.

    They were free for a third one once the replica led again.
    """
    picture = ClusterPicture(Profile())
    picture.claim_objects.replace(listed({"a": "", "b": "", "c": ""}, 1, "abc"))
    (mine,) = (each["status"]["allocation"] for each in listed({"a": "gpu-0"}, 2, "a"))
    with picture.lock:
        assumed = picture.claims.assume("ns/a", "a", mine)
        if is_dropped_first:
            picture.claims.forget("ns/a", assumed)
    picture.claim_objects.replace(listed({"a": "", "b": "gpu-0", "c": ""}, 2, "abc"))
    with picture.lock:
        picture.claims.forget("ns/a", assumed)
    assert {device.device for device in picture.state.allocated.whole} == {"gpu-0"}
    assert picture.claims.assumed == 0


@pytest.mark.parametrize(
    ("allocation", "gains"),
    [
        ({}, 0),
        ({"devices": {}}, 0),
        ({"devices": {"results": []}}, 0),
        ({"devices": {"results": [{"request": "g", "driver": DRIVER, "pool": "n", "device": "gpu-0"}]}}, 1),
        ({"nodeSelector": {"nodeSelectorTerms": [{"matchFields": []}]}}, 1),
    ],
)
def test_only_what_others_may_want_is_a_gain(allocation: Object, gains: int) -> None:
    """A claim that asks for nothing takes devices from nobody: when it lets go of its allocation, no pod is tried again."""
    picture = ClusterPicture(Profile())
    before = picture.gains
    held = claim("a", metadata={"uid": "a", "resourceVersion": "1"}, status={"allocation": allocation})
    picture.claim_objects.replace([held])
    picture.claim_objects.replace([claim("a", metadata={"uid": "a", "resourceVersion": "2"})])
    assert picture.gains - before == gains
    with picture.lock:
        picture.claims.forget("ns/a", picture.claims.assume("ns/a", "a", allocation))
    assert picture.gains - before == 2 * gains
    assert picture.state.allocated.whole == set()


def test_what_nobody_reads_of_claims_is_not_kept() -> None:
    """Labels and annotations may take a hundred times what the rest does."""
    picture = ClusterPicture(Profile("1.37"))
    metadata = {"labels": {"a": "b"}, "annotations": {"a": "b"}, "managedFields": [{}], "finalizers": ["f"]}
    picture.claim_objects.put({"metadata": {"name": "c", "namespace": "ns", "uid": "u", **metadata}})
    kept = picture.claims.get("ns/c")
    assert kept is not None
    assert kept.object["metadata"].keys() == {"name", "namespace", "uid", "finalizers"}


def test_owners_and_finalizers_take_little_room() -> None:
    """A claim may have a megabyte of each, which as objects took six times as much; gates of a pod, which nobody reads here, four times."""
    picture, size = ClusterPicture(Profile("1.37")), 2_000
    finalizers = [f"example.com/f{each}" for each in range(size)]
    owners: list[Object] = [
        {"apiVersion": "v1", "kind": "Pod", "name": f"p{each}", "uid": f"{each}"} for each in range(size)
    ]
    owners[7]["controller"] = True
    metadata = {"finalizers": finalizers, "ownerReferences": owners}
    gates = [{"name": f"example.com/g{each}"} for each in range(size)]
    texts = [json.dumps(claim(f"c{number}", metadata=metadata)) for number in range(5)]
    pods = [json.dumps(pod(f"p{number}", "c", schedulingGates=gates)) for number in range(5)]
    tracemalloc.start()
    try:
        for text in texts:
            picture.claim_objects.put(json.loads(text))
        for text in pods:
            picture.pods.put(json.loads(text))
        assert tracemalloc.get_traced_memory()[0] < sum(map(len, texts))
    finally:
        tracemalloc.stop()
    kept = picture.claims.get("ns/c0")
    assert kept is not None
    assert finalizers_of(kept.object) == finalizers
    assert [has_finalizer(kept.object, f"example.com/{each}") for each in ("f7", "f")] == [True, False]
    assert [each.name for each in kept.owners] == ["p7"]


def test_parameters_of_drivers_are_kept_as_text() -> None:
    """Objects take some twenty times as much: 300 claims of 320 KB, which anybody may create, took two GiB."""
    picture, size = ClusterPicture(Profile("1.37")), 3_300
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"a": [[]] * size}}}
    device = {"driver": DRIVER, "pool": "n", "device": "gpu-0"}
    devices = {"results": [{"request": "g", **device}], "config": [{"source": "FromClaim", **opaque}]}
    status = {"allocation": {"devices": devices}, "devices": [{**device, "data": {"a": [[]] * size}}]}
    spec = {"devices": {"requests": [], "config": [opaque]}}
    tracemalloc.start()
    try:
        for number in range(10):
            text = json.dumps({**claim(f"c{number}", status=status), "spec": spec})
            picture.claim_objects.put(json.loads(text))
        del text
        assert tracemalloc.get_traced_memory()[0] < 10 * 3 * 5 * size
    finally:
        tracemalloc.stop()
    kept = picture.claims.get("ns/c0")
    assert kept is not None
    (config,) = kept.devices.config
    (allocated,) = kept.object["status"]["allocation"]["devices"]["config"]
    values = [config["opaque"]["parameters"], allocated["opaque"]["parameters"]]
    values.append(kept.object["status"]["devices"][0]["data"])
    assert [each.value for each in values] == [{"a": [[]] * size}] * 3


def test_parameters_of_classes_are_kept_as_text() -> None:
    """As those of claims, to whose results they are copied."""
    picture, size = ClusterPicture(Profile("1.37")), 3_300
    opaque = {"opaque": {"driver": DRIVER, "parameters": {"a": [[]] * size}}}
    text = json.dumps(v1("DeviceClass", "gpu", spec={"config": [opaque]}))
    tracemalloc.start()
    try:
        picture.classes.put(json.loads(text))
        assert tracemalloc.get_traced_memory()[0] < 5 * len(text)
    finally:
        tracemalloc.stop()
    picture.nodes.put(node("n"))
    picture.slices.put(gpus("n", 1))
    picture.claim_objects.put(claim("c"))
    asked = picture.claims.get("ns/c")
    assert asked is not None
    (answer,) = picture.state.filter([asked], UNLIMITED).nodes
    assert answer.result is not None
    (config,) = answer.result[0]["devices"]["config"]
    assert config["opaque"]["parameters"].value == {"a": [[]] * size}


ASKED = {
    "selectors": {"selectors": [{"cel": {"expression": "true"}}] * 32},
    "tolerations": {"tolerations": [{"operator": "Exists"}] * 16},
    "capacity": {"capacity": {"requests": {f"c{each}": "1" for each in range(32)}}},
}


def large(asked: Object) -> Object:
    """What a claim of 256 alternatives asks for."""
    subrequests = [{"name": f"s{each}", "deviceClassName": "c", **asked} for each in range(8)]
    return {"requests": [{"name": f"r{each}", "firstAvailable": subrequests} for each in range(32)]}


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)
def test_what_no_pod_has_asked_for_is_kept_as_text(asked: Object) -> None:
    """Decoded it takes up to 16 times as much: 130 MB of claims took two GiB. It is read as it always was."""
    profile = Profile("1.37")
    picture, objects = ClusterPicture(profile), ClusterObjects(profile)
    whole = {**claim("c0"), "spec": {"devices": large(asked)}}
    size = len(json.dumps(whole))
    tracemalloc.start()
    try:
        for number in range(5):
            text = json.dumps({**claim(f"c{number}"), "spec": {"devices": large(asked)}})
            picture.claim_objects.put(json.loads(text))
        del text
        assert tracemalloc.get_traced_memory()[0] < 5 * 3 * size
    finally:
        tracemalloc.stop()
    kept, stored = picture.claims.get("ns/c0"), objects.read_stored("ResourceClaim", whole)
    assert kept is not None
    assert stored is not None
    devices = kept.object["spec"]["devices"].read()
    assert devices == stored["spec"]["devices"]
    assert kept.object["spec"]["devices"].read() is devices
    contents = ClaimContents(lambda claim, limit: read_claim(claim, {}, picture.features, limit))
    content = contents.of(kept)
    assert contents.of(Claim(stored)) is content
    (demand,) = contents.demands([kept], [content], UNLIMITED)
    assert len(demand.requests) == 32
    assert demand.header.weight > 10 * size


def test_short_claims_are_kept_as_they_are() -> None:
    """Most are: nothing has to be read when a pod names them."""
    picture = ClusterPicture(Profile("1.37"))
    devices = {"requests": [{"name": "g", "exactly": {"deviceClassName": "c"}}]}
    picture.claim_objects.put({**claim("c"), "spec": {"devices": devices}})
    kept = picture.claims.get("ns/c")
    assert kept is not None
    assert isinstance(kept.object["spec"]["devices"], dict)


def test_what_a_claim_asks_for_is_written_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: parameters of thousands of levels, of which each change had the same written as text twice, 0.1 s each time."""
    written: list[object] = []
    write = deep_json.as_go_writes_it

    def noted(value: object) -> str:
        written.append(value)
        return write(value)

    monkeypatch.setattr(deep_json, "as_go_writes_it", noted)
    parameters: object = []
    for _ in range(4_990):
        parameters = [parameters]
    config = [{"opaque": {"driver": "d.example.com", "parameters": {"a": parameters}}}] * 32
    asked = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}], "config": config}
    picture = ClusterPicture(Profile())
    picture.claim_objects.put(v1("ResourceClaim", "a", metadata={"uid": "a"}, spec={"devices": asked}))
    assert len(written) == 1
    kept = picture.claims.get("ns/a")
    assert kept is not None
    assert [each.name for each in kept.for_a_moment().devices.requests] == ["r"]
