"""What a controller does before anything else, so that late writes of the one before are refused."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread

import pytest

from classic.live_objects import LiveObjects, TakeOver
from cluster.leading import NotLeading
from resourceapi.api_client import Unavailable
from resourceapi.manifests import name_of
from resourceapi.objects import Object
from tests.classic.scenes import DRIVER, FINALIZER, claim
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CLASSIC

PATH = f"{CLASSIC}/namespaces/default/resourceclaims"


class Successor:
    """The process that takes over."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.live = LiveObjects(self.api.client(), writers=1, finalizer=FINALIZER)
        self.ending = Event()
        self.threads = [
            Thread(target=each.run, args=(self.ending,), daemon=True) for each in self.live.reflectors
        ]
        self.take_over = TakeOver(self.api, self.live, DRIVER, "successor")

    def __call__(self) -> list[str]:
        for thread in self.threads:
            thread.start()
        return [name_of(each) for each in self.take_over(lambda: None)]

    def written(self) -> list[str]:
        return [each.path.rpartition("/")[2] for each in self.api.requests if each.verb == "PATCH"]


@pytest.fixture
def successor() -> Iterator[Successor]:
    successor = Successor()
    yield successor
    successor.ending.set()
    successor.api.end_watches()


def allocated(name: str, driver: str = DRIVER) -> Object:
    return {**claim(name, finalizers=[FINALIZER]), "status": {"driverName": driver, "allocation": {"a": "b"}}}


def test_unfinished_claims_are_changed(successor: Successor) -> None:
    """Those with the finalizer, but without an allocation; no other write can matter."""
    successor.api.add(allocated("allocated"))
    successor.api.add(allocated("of-another", "other.example.com"))
    successor.api.add(claim("untouched"))
    before = successor.api.add(claim("begun", finalizers=[FINALIZER]))
    assert successor() == ["allocated"]
    assert successor.written() == ["begun"]
    after = successor.api.get(f"{PATH}/begun")
    assert after["metadata"]["annotations"] == {f"{DRIVER}/seen-by": "successor"}
    late = {**before, "status": {"driverName": DRIVER, "allocation": {}}}
    assert successor.api.request("PUT", f"{PATH}/begun/status", late)[0] == 409


def test_claim_that_is_finished_meanwhile(successor: Successor) -> None:
    """The last write of the process before has arrived just in time: then it counts."""
    successor.api.add(claim("begun", finalizers=[FINALIZER]))
    gate = successor.api.pause(1, lambda request: request.verb == "PATCH")
    status = {"status": {"driverName": DRIVER, "allocation": {"a": "b"}}}

    def finish() -> None:
        gate.reached.wait()
        successor.api.change(f"{PATH}/begun", status)
        gate.resume.set()

    Thread(target=finish, daemon=True).start()
    assert successor() == ["begun"]


class ChangedAllTheTime:
    """An API server beside a tenant who changes a claim before whatever is done to it."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self.changes = 0

    def request(self, verb: str, path: str, *others: object, **more: object) -> tuple[int, object]:
        self.changes += 1
        self.api.change(f"{PATH}/busy", {"metadata": {"labels": {"changes": str(self.changes)}}})
        return self.api.request(verb, path, *others, **more)  # type: ignore[arg-type]


def test_claims_that_change_all_the_time_keep_nobody_from_taking_over(successor: Successor) -> None:
    """What the process before was about to write is refused by that as well."""
    before = successor.api.add(claim("busy", finalizers=[FINALIZER]))
    successor.api.add(allocated("of-another-tenant"))
    successor.take_over = successor.take_over._replace(api=ChangedAllTheTime(successor.api))
    assert successor() == ["of-another-tenant"]
    late = {**before, "status": {"driverName": DRIVER, "allocation": {}}}
    assert successor.api.request("PUT", f"{PATH}/busy/status", late)[0] == 409
    held = successor.live.claims.objects["default/busy"]
    assert (
        held["metadata"]["resourceVersion"]
        == successor.api.get(f"{PATH}/busy")["metadata"]["resourceVersion"]
    )


def test_claim_that_is_deleted_meanwhile(successor: Successor) -> None:
    successor.api.add(claim("begun", finalizers=[FINALIZER]))
    gate = successor.api.pause(1, lambda request: request.verb == "PATCH")

    def delete() -> None:
        gate.reached.wait()
        successor.api.remove(f"{PATH}/begun")
        gate.resume.set()

    Thread(target=delete, daemon=True).start()
    assert (successor(), successor.live.claims.objects) == ([], {})


def test_release_without_classic_claims(successor: Successor) -> None:
    """1.31 and later: nothing is written, and the reason is told."""
    for version, resource in list(successor.api.resources):
        if version == CLASSIC:
            del successor.api.resources[version, resource]
    with pytest.raises(Unavailable, match="v1alpha2: the API server does not serve it"):
        successor()


def test_lost_before_it_began(successor: Successor) -> None:
    def fence() -> None:
        raise NotLeading("another replica leads")

    with pytest.raises(NotLeading):
        successor.take_over(fence)
    assert successor.api.requests == []
