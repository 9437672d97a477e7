"""Devices that keep a pod from every node are taken back, unless others use them."""

from __future__ import annotations

import pytest

from resourceapi.objects import Object
from scheduler.claim_writes import FINALIZER
from scheduler.releasing import Releasing
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CORE
from tests.scheduler.small_cluster import CLAIMS, PODS, Sidecar, claim, cluster, pod, traces


class Scene:
    """A pod whose claim has devices on a node on which it does not fit any more."""

    def __init__(self, api: FakeApi, **status: object) -> None:
        self.api = api
        self.sidecar = Sidecar(api)
        sidecar = self.sidecar
        self.releasing = Releasing(sidecar.picture, sidecar.releaser)
        sidecar.filter = sidecar.filter_that_tells(self.releasing.refused)
        assert sidecar.schedule("o") == ""
        api.remove(f"{PODS}/o")
        api.change(f"{CLAIMS}/c", {"status": status or {"reservedFor": None}})
        api.remove(f"{CORE}/nodes/n1")
        sidecar.sync()
        del api.requests[:]

    def refuse(self) -> None:
        assert self.sidecar.decide("p") == []
        self.releasing.release()


def user(name: str) -> Object:
    return {"resource": "pods", "name": name, "uid": f"uid-{name}"}


def api_with_pods() -> FakeApi:
    return cluster(claim("c"), pod("p", "c"), pod("o", "c"), nodes=("n1", "n2"))


@pytest.mark.parametrize("status", [{"reservedFor": None}, {"reservedFor": [user("p")]}])
def test_a_pod_gets_away_from_its_node(status: Object) -> None:
    """Whether its claim is reserved for it or for nobody; the next attempt finds devices elsewhere."""
    scene = Scene(api_with_pods(), **status)
    scene.refuse()
    assert traces(scene.api) == []
    assert scene.sidecar.decide("p") == ["n2"]
    assert scene.sidecar.bind("p", "n2") == ""


def test_a_pod_gets_away_when_the_api_server_answers_again() -> None:
    """Filter answers from memory by then, and does not tell of the pod again."""
    scene = Scene(api_with_pods())
    scene.api.down = True
    scene.refuse()
    assert traces(scene.api) != []
    scene.api.down = False
    scene.refuse()
    assert traces(scene.api) == []


def test_claims_that_others_use_keep_their_devices() -> None:
    """Also if they are reserved for the pod as well."""
    scene = Scene(api_with_pods(), reservedFor=[user("p"), user("q")])
    scene.refuse()
    assert traces(scene.api) == [f"c: {FINALIZER}", "c: n1/gpu-0", "c: for p", "c: for q"]


def test_a_pod_that_is_bound_keeps_its_devices() -> None:
    """A Binding may have arrived of which no answer came."""
    scene = Scene(api_with_pods(), reservedFor=[user("p")])
    before = traces(scene.api)
    scene.api.change(f"{PODS}/p", {"spec": {"nodeName": "n1"}})
    scene.refuse()
    assert traces(scene.api) == before


def test_devices_are_not_released_for_pods_that_lack_others() -> None:
    """Only claims that are on no candidate are in the way."""
    api = cluster(claim("c"), claim("many", 9), pod("p", "many"), pod("o", "c"), nodes=("n1", "n2"))
    scene = Scene(api)
    scene.refuse()
    assert scene.api.requests == []


def test_only_the_leader_releases() -> None:
    """Another one would look at claims that are being written."""
    scene = Scene(api_with_pods())
    assert scene.sidecar.decide("p") == []
    scene.sidecar.leader.leads = False
    scene.releasing.release()
    assert scene.api.requests == []
