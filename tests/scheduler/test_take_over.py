"""What a new leader writes before it allocates: the claims on which writes of the leader before may still come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cluster.leading import NotLeading
from resourceapi.api_client import Listing, Unavailable
from resourceapi.objects import Object
from resourceapi.releases import Profile
from scheduler.claim_writes import FINALIZER
from scheduler.cluster_picture import ClusterPicture
from scheduler.take_over import CLAIMS_OF_ALL, TakeOver
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Request

POD = "uid-of-pod"
ALLOCATION: Object = {"allocation": {"devices": {"results": []}}}
PATH = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"


def claim(name: str, **status: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "ns", "finalizers": ["other", FINALIZER]},
        "spec": {},
        "status": status,
    }


def reserved(*uids: str) -> list[Object]:
    return [{"resource": "pods", "name": "pod", "uid": uid} for uid in uids]


def nothing() -> None:
    """Insist on nothing."""


class Replica:
    """A replica that knows what it has listed and seen, and that a pod is on a node."""

    def __init__(self, api: FakeApi, *on_nodes: str) -> None:
        self.known: dict[str, Object] = {}
        self.api = api
        self.take_over = TakeOver(
            api,
            "me",
            catch_up=self._catch_up,
            claims=lambda: list(self.known.values()),
            seen=self._see,
            is_on_node=lambda namespace, name, uid: (namespace, name) == ("ns", "pod") and uid in on_nodes,
        )

    def _catch_up(self) -> None:
        self.known = {obj["metadata"]["name"]: obj for obj in Listing(self.api, CLAIMS_OF_ALL)}

    def _see(self, obj: Object) -> None:
        self.known[obj["metadata"]["name"]] = obj


@pytest.mark.parametrize(
    ("status", "finalizers", "is_changed"),
    [
        ({}, ["other"], True),
        ({**ALLOCATION, "reservedFor": reserved("elsewhere")}, ["other", FINALIZER], True),
        ({**ALLOCATION, "reservedFor": reserved(POD, "elsewhere")}, ["other", FINALIZER], True),
        ({**ALLOCATION, "reservedFor": reserved(POD)}, ["other", FINALIZER], False),
        (ALLOCATION, ["other", FINALIZER], False),
        (
            {**ALLOCATION, "reservedFor": [{"apiGroup": "a.b", "resource": "jobs", "name": "j", "uid": "u"}]},
            ["other", FINALIZER],
            False,
        ),
    ],
)
def test_unfinished(status: Object, finalizers: list[str], is_changed: bool) -> None:
    """Devices may be about to be written, or taken from a pod that waits for its node: then the claim changes."""
    api = FakeApi([claim("one", **status)])
    before = api.get(f"{PATH}/one")
    replica = Replica(api, POD)
    replica.take_over(nothing)
    after = api.get(f"{PATH}/one")
    assert after["metadata"]["finalizers"] == finalizers
    assert after.get("status", {}) == status
    assert (after != before) is is_changed
    assert replica.known == {"one": after}
    late = {**before, "status": {**ALLOCATION, "reservedFor": reserved("late")}}
    assert api.request("PUT", f"{PATH}/one/status", late)[0] == (409 if is_changed else 200)


def test_many_finalizers_stay() -> None:
    """Also those of a claim that the memory has as text."""
    others = [f"example.com/f{each}" for each in range(100)]
    api, picture = FakeApi([claim("one")]), ClusterPicture(Profile())
    api.change(f"{PATH}/one", {"metadata": {"finalizers": [*others, FINALIZER]}})
    picture.claim_objects.put(api.get(f"{PATH}/one"))
    replica = Replica(api)
    replica.take_over._claims = lambda: [each.object for each in picture.claim_objects.objects.values()]
    replica.take_over(nothing)
    assert api.get(f"{PATH}/one")["metadata"]["finalizers"] == others


def test_changed_with_every_take_over() -> None:
    """The third leader changes what the second one had changed, also if it is the first one again."""
    api = FakeApi([claim("one", **ALLOCATION, reservedFor=reserved("elsewhere"))])
    replica = Replica(api)
    versions = {api.get(f"{PATH}/one")["metadata"]["resourceVersion"]}
    for _ in range(3):
        replica.take_over(nothing)
        versions.add(api.get(f"{PATH}/one")["metadata"]["resourceVersion"])
    assert len(versions) == 4


def at(api: FakeApi, verb: str, action: Callable[[], object]) -> None:
    """Do something right before the first request with this verb."""

    def hook(request: Request) -> None:
        if request.verb == verb:
            api.hooks.clear()
            action()

    api.hooks.append(hook)


def test_late_write_before_the_sweep() -> None:
    """The write that was feared comes first: what it wrote is what this leader knows."""
    api = FakeApi([claim("one")])
    at(
        api,
        "PATCH",
        lambda: api.change(f"{PATH}/one", {"status": {**ALLOCATION, "reservedFor": reserved(POD)}}),
    )
    replica = Replica(api, POD)
    replica.take_over(nothing)
    assert replica.known["one"] == api.get(f"{PATH}/one")
    assert replica.known["one"]["status"]["allocation"]


def test_deleted_meanwhile() -> None:
    """A claim that is gone needs no change; one with no other finalizer goes with it."""
    api = FakeApi([claim("one"), claim("two")])
    api.change(f"{PATH}/two", {"metadata": {"finalizers": [FINALIZER], "deletionTimestamp": "now"}})
    at(api, "PATCH", lambda: api.remove(f"{PATH}/one"))
    Replica(api).take_over(nothing)
    assert api.all("resourceclaims") == []


def test_insists_before_each_write() -> None:
    """Who no longer leads changes nothing: another leader may be writing by now."""
    api = FakeApi([claim(f"c{number}") for number in range(20)])
    calls: list[int] = []

    def insist() -> None:
        calls.append(0)
        if len(calls) > 1:
            raise NotLeading("over")

    with pytest.raises(NotLeading):
        Replica(api).take_over(insist)
    assert [request.verb for request in api.requests if request.verb != "GET"] == []


@pytest.mark.parametrize("code", [403, 500])
def test_refused(code: int) -> None:
    """Without the change there is no safety."""
    api = FakeApi([claim("one")])
    api.fail(1, code, lambda request: request.verb == "PATCH")
    with pytest.raises(Unavailable, match=f"PATCH {PATH}/one: {code} injected"):
        Replica(api).take_over(nothing)


def test_changes_all_the_time() -> None:
    """A claim that somebody else has changed by then needs no change: late writes name the version before."""
    api = FakeApi([claim("one")])
    before = api.get(f"{PATH}/one")

    def change(request: Request) -> None:
        api.change(f"{PATH}/one", {"metadata": {"annotations": {"n": str(len(api.requests))}}})

    api.hooks.append(change)
    replica = Replica(api)
    replica.take_over(nothing)
    assert [request.verb for request in api.requests].count("PATCH") == 1
    assert replica.known["one"] == api.get(f"{PATH}/one")
    late = {**before, "status": {**ALLOCATION, "reservedFor": reserved("late")}}
    assert api.request("PUT", f"{PATH}/one/status", late)[0] == 409


def test_late_write_of_a_reserved_claim() -> None:
    """A late write that takes the reservation comes first: what it left is what this leader knows."""
    api = FakeApi([claim("one", **ALLOCATION, reservedFor=reserved("elsewhere"))])
    at(api, "PATCH", lambda: api.change(f"{PATH}/one", {"status": {"reservedFor": None}}))
    replica = Replica(api)
    replica.take_over(nothing)
    assert replica.known["one"] == api.get(f"{PATH}/one")
    assert not replica.known["one"]["status"].get("reservedFor")


def test_conflict_of_a_claim_that_stays() -> None:
    """Whoever refuses the change, be it with the code of a conflict: the claim is as it was, so there is no safety."""
    api = FakeApi([claim("one")])
    api.fail(1, 409, lambda request: request.verb == "PATCH")
    with pytest.raises(Unavailable, match=f"PATCH {PATH}/one: 409, but the claim has not changed"):
        Replica(api).take_over(nothing)


def test_many_claims() -> None:
    """Claims of running pods cost no request each."""
    settled = [claim(f"c{number}", **ALLOCATION, reservedFor=reserved(POD)) for number in range(2_000)]
    api = FakeApi([*settled, claim("one")])
    Replica(api, POD).take_over(nothing)
    assert [request.verb for request in api.requests if request.verb != "GET"] == ["PATCH"]
