"""The Service leads to the replica that leads, whatever there was before, and whoever writes meanwhile."""

from __future__ import annotations

from threading import Event

import pytest

from cluster.leading import Fence, NotLeading
from resourceapi.api_client import Unavailable
from resourceapi.objects import Object
from scheduler import endpoint
from scheduler.endpoint import Endpoint
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault

PATH = "/apis/discovery.k8s.io/v1/namespaces/system/endpointslices/extender"


def make(api: FakeApi, address: str = "10.0.0.1") -> Endpoint:
    return Endpoint(api, "system", "extender", address, 9443)


def addresses(api: FakeApi) -> list[str]:
    """Where the Service leads."""
    found = api.get(PATH)
    assert found["metadata"]["labels"]["kubernetes.io/service-name"] == "extender"
    assert found["ports"] == [{"name": "https", "port": 9443, "protocol": "TCP"}]
    return [address for each in found["endpoints"] for address in each["addresses"]]


def nothing() -> None:
    """Insist on nothing."""


def lost() -> None:
    """Insist in vain."""
    raise NotLeading("another replica leads")


def writes(api: FakeApi) -> list[str]:
    return [request.verb for request in api.requests if request.verb != "GET"]


@pytest.mark.parametrize("before", [None, "10.0.0.2"], ids=["first", "after-another"])
def test_taken(before: str | None) -> None:
    """It is written once; as long as it is so, it is only read."""
    api = FakeApi()
    if before is not None:
        make(api, before).take(nothing)
    own = make(api)
    own.take(nothing)
    assert addresses(api) == ["10.0.0.1"]
    written = len(writes(api))
    own.take(nothing)
    assert len(writes(api)) == written


@pytest.mark.parametrize(
    "change",
    [
        {"endpoints": []},
        {"endpoints": None},
        {"endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": False}}]},
        {"endpoints": ["strange"]},
        {"ports": [{"name": "https", "port": 1, "protocol": "TCP"}]},
    ],
)
def test_restored(change: Object) -> None:
    """What somebody has changed is as before."""
    api = FakeApi()
    make(api).take(nothing)
    api.change(PATH, change)
    make(api).take(nothing)
    assert addresses(api) == ["10.0.0.1"]


def test_ipv6() -> None:
    """The type of the address is told, in a slice of its own: the type of one cannot be changed."""
    api = FakeApi()
    make(api).take(nothing)
    make(api, "fd00::1").take(nothing)
    assert api.get(f"{PATH}-ipv6")["addressType"] == "IPv6"
    assert api.get(PATH)["addressType"] == "IPv4"


def test_what_the_manifests_have_is_filled_in() -> None:
    """It comes without endpoints and ports, and keeps the labels by which it is deleted."""
    api = FakeApi()
    make(api).take(nothing)
    labels = {**api.get(PATH)["metadata"]["labels"], "app.kubernetes.io/part-of": "all"}
    api.change(
        PATH, {"endpoints": None, "ports": None, "metadata": {**api.get(PATH)["metadata"], "labels": labels}}
    )
    make(api).take(nothing)
    assert addresses(api) == ["10.0.0.1"]
    assert api.get(PATH)["metadata"]["labels"] == labels


def test_a_replica_that_led_before_writes_nothing() -> None:
    """It asks for its term right before the write, and gives up."""
    api = FakeApi()
    make(api, "10.0.0.2").take(nothing)
    with pytest.raises(NotLeading):
        make(api).take(lost)
    assert addresses(api) == ["10.0.0.2"]


@pytest.mark.parametrize("first", [True, False])
def test_conflict_is_looked_at_anew(first: bool) -> None:
    """Who writes on what is no longer there reads again, and insists again."""
    api = FakeApi()
    if not first:
        make(api, "10.0.0.3").take(nothing)
    terms = iter((nothing, lost))

    def fence() -> None:
        next(terms)()
        make(api, "10.0.0.2").take(nothing)  # the next leader is faster

    with pytest.raises(NotLeading):
        make(api).take(fence)
    assert addresses(api) == ["10.0.0.2"]


def test_lost_answer() -> None:
    """A failure is reported; the next attempt finds what it has written."""
    api = FakeApi()
    api.fail(1, Fault.LOST, lambda request: request.verb == "POST")
    with pytest.raises(Unavailable):
        make(api).take(nothing)
    make(api).take(nothing)
    assert addresses(api) == ["10.0.0.1"]
    assert writes(api) == ["POST"]


def test_kept_while_leading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody deletes it: it is there again. Neither a failure nor a lost term ends that."""
    monkeypatch.setattr(endpoint, "CHECK_SECONDS", 0.0)
    api, ending = FakeApi(), Event()
    api.fail(1, 500)
    rounds = iter(range(4))

    def term() -> Fence:
        number = next(rounds)
        if number == 1:
            raise NotLeading("another replica leads")
        if number == 3:
            ending.set()
        return nothing

    make(api).keep(term, ending)
    assert addresses(api) == ["10.0.0.1"]
    assert [request.verb for request in api.requests] == ["GET", "GET", "POST", "GET"]
