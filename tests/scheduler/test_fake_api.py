"""The API server in memory answers as the real one does, as far as the tests of the scheduler depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event, Thread
from typing import Any

import pytest

from cluster.reflector import Reflector
from cluster.store import Change, Collection
from resourceapi.api_client import Listing, Unavailable
from resourceapi.objects import Object
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault, Killed
from tests.scheduler.fake_places import COORDINATION, CORE, RESOURCE
from tests.webhook.running import PATIENCE_SECONDS

CLAIMS = f"{RESOURCE}/namespaces/default/resourceclaims"
PODS = f"{CORE}/namespaces/default/pods"
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default"},
}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}, "spec": {}}


@pytest.fixture
def api() -> FakeApi:
    return FakeApi([CLAIM, POD])


def test_a_write_with_an_old_revision_is_a_conflict(api: FakeApi) -> None:
    """PUT and PATCH with a resourceVersion that is not the newest are refused; one that changes nothing keeps it."""
    first = api.get(f"{CLAIMS}/c")
    changed = {**first, "metadata": {**first["metadata"], "finalizers": ["x"]}}
    assert api.request("PUT", f"{CLAIMS}/c", changed)[0] == 200
    assert api.request("PUT", f"{CLAIMS}/c", changed)[0] == 409
    assert api.request("PATCH", f"{CLAIMS}/c", {"metadata": {"resourceVersion": "1"}})[0] == 409
    assert api.request("PATCH", f"{CLAIMS}/c", {"metadata": {"uid": "other"}})[0] == 409
    second = api.get(f"{CLAIMS}/c")
    assert api.request("PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": ["x"]}}) == (200, second)


def test_status_is_written_by_itself(api: FakeApi) -> None:
    """A write of the object leaves the status alone, and one of the status everything else."""
    allocation: Object = {"devices": {"results": []}}
    body = {"metadata": {"finalizers": ["x"]}, "status": {"allocation": allocation}}
    assert "status" not in api.request("PATCH", f"{CLAIMS}/c", body)[1]
    code, claim = api.request("PATCH", f"{CLAIMS}/c/status", {**body, "metadata": {"finalizers": None}})
    assert (code, claim["status"], claim["metadata"]["finalizers"]) == (
        200,
        {"allocation": allocation},
        ["x"],
    )


def test_finalizers_hold_an_object(api: FakeApi) -> None:
    """A deleted object with finalizers stays until the last one is gone."""
    api.change(f"{CLAIMS}/c", {"metadata": {"finalizers": ["x"]}})
    api.request("DELETE", f"{CLAIMS}/c")
    assert "deletionTimestamp" in api.get(f"{CLAIMS}/c")["metadata"]
    api.request("PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": None}})
    assert api.request("GET", f"{CLAIMS}/c")[0] == 404
    assert [change.type for change in api.history if change.resource == "resourceclaims"] == [
        "ADDED",
        "MODIFIED",
        "MODIFIED",
        "DELETED",
    ]


def test_a_pod_is_bound_once(api: FakeApi) -> None:
    """A second Binding is a conflict, also one to the same node."""
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "a"}}
    assert api.request("POST", f"{PODS}/p/binding", binding)[0] == 201
    assert api.request("POST", f"{PODS}/p/binding", binding)[0] == 409
    assert api.get(f"{PODS}/p")["spec"] == {"nodeName": "a"}


def test_a_lease_is_an_object_like_others(api: FakeApi) -> None:
    """It is created once, and replaced with its resourceVersion."""
    leases = f"{COORDINATION}/namespaces/default/leases"
    code, lease = api.request("POST", leases, {"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}})
    assert (code, api.request("POST", leases, {"metadata": {"name": "l"}})[0]) == (201, 409)
    lease["spec"]["holderIdentity"] = "b"
    assert api.request("PUT", f"{leases}/l", lease)[1]["spec"] == {"holderIdentity": "b"}


def test_pages_show_one_moment() -> None:
    """What changes between two pages of a list is not in it."""
    api = FakeApi({**CLAIM, "metadata": {"name": f"c{n:02}", "namespace": "default"}} for n in range(60))
    listing = Listing(api, f"{RESOURCE}/resourceclaims")
    names: list[str] = []
    for claim in listing:
        if not names:
            api.remove(f"{CLAIMS}/c59")
        names.append(claim["metadata"]["name"])
    assert names == [f"c{n:02}" for n in range(60)]
    assert int(listing.revision) < api.history[-1].revision


@pytest.mark.parametrize(
    ("fault", "error", "executed"),
    [
        (Fault.REFUSED, Unavailable, False),
        (Fault.LOST, Unavailable, True),
        (Fault.KILLED_BEFORE, Killed, False),
        (Fault.KILLED_AFTER, Killed, True),
    ],
)
def test_faults_come_at_the_request_that_was_named(
    api: FakeApi, fault: Fault, error: type[BaseException], executed: bool
) -> None:
    """The second request fails, carried out or not; others do not."""
    api.fail(2, fault)
    api.request("GET", f"{CLAIMS}/c")
    with pytest.raises(error):
        api.request("PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": ["x"]}})
    assert ("finalizers" in api.get(f"{CLAIMS}/c")["metadata"]) is executed
    assert api.request("GET", f"{CLAIMS}/c")[0] == 200


def test_a_request_may_arrive_twice(api: FakeApi) -> None:
    """As the client sends it again where its connection ends: with a resourceVersion the second one is a conflict."""
    api.fail(1, Fault.TWICE)
    revision = api.get(f"{CLAIMS}/c")["metadata"]["resourceVersion"]
    body = {"metadata": {"resourceVersion": revision, "finalizers": ["x"]}}
    assert api.request("PATCH", f"{CLAIMS}/c", body)[0] == 409
    assert api.get(f"{CLAIMS}/c")["metadata"]["finalizers"] == ["x"]


def test_a_request_waits_at_a_gate(api: FakeApi) -> None:
    """Others are carried out meanwhile."""
    gate = api.pause(1, lambda request: request.verb == "PATCH")
    answers: list[Any] = []
    writer = Thread(
        target=lambda: answers.append(
            api.request("PATCH", f"{CLAIMS}/c", {"metadata": {"finalizers": ["x"]}})
        )
    )
    writer.start()
    assert gate.reached.wait(PATIENCE_SECONDS)
    assert "finalizers" not in api.request("GET", f"{CLAIMS}/c")[1]["metadata"]
    gate.resume.set()
    writer.join(PATIENCE_SECONDS)
    assert answers[0][0] == 200


def test_a_reflector_follows_it(api: FakeApi) -> None:
    """Changes come by the watch, after a watch that ended as well."""
    names: Collection[str] = Collection(lambda obj: str(obj["metadata"]["name"]))
    seen: dict[str, Event] = {"d": Event(), "e": Event()}

    def look(changes: Sequence[Change[str]]) -> None:
        for change in changes:
            if change.after in seen:
                seen[change.after].set()

    names.listen(look)
    ending = Event()
    reflector = Reflector(api.client(), f"{RESOURCE}/resourceclaims", names)
    following = Thread(target=reflector.run, args=(ending,), daemon=True)
    following.start()
    assert reflector.synced.wait(PATIENCE_SECONDS)
    assert names.objects == {"default/c": "c"}
    api.add({**CLAIM, "metadata": {"name": "d", "namespace": "default"}})
    assert seen["d"].wait(PATIENCE_SECONDS)
    api.end_watches()
    api.add({**CLAIM, "metadata": {"name": "e", "namespace": "default"}})
    assert seen["e"].wait(PATIENCE_SECONDS)
    ending.set()
    api.end_watches()
    following.join(PATIENCE_SECONDS)
