"""Devices that keep a pod from every node are taken back, unless others use them."""

from __future__ import annotations

import pytest

from resourceapi.objects import Object
from resourceapi.records.pods import Pod
from scheduler.claim_writes import FINALIZER
from scheduler.filtering import Refused
from scheduler.releasing import MOST_PODS, Releasing
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CORE
from tests.scheduler.small_cluster import CLAIMS, PODS, Sidecar, claim, cluster, in_time, pod, traces


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


def test_claims_to_which_a_bind_writes_are_not_waited_for() -> None:
    """Pods of other namespaces would wait as well; the claims' turn comes again."""
    scene = Scene(api_with_pods())
    before = traces(scene.api)
    with scene.sidecar.undoing.holding(["ns/c"], waits=True):
        in_time(scene.refuse)
    assert traces(scene.api) == before
    scene.releasing.release()
    assert traces(scene.api) == []


def test_namespaces_take_turns_at_being_released() -> None:
    """However many pods of one of them wait."""
    scene = Scene(api_with_pods())
    told: list[Refused] = []
    scene.sidecar.filter = scene.sidecar.filter_that_tells(told.append)
    assert scene.sidecar.decide("p") == []
    asked: list[str] = []
    queue = Releasing(scene.sidecar.picture, Recorder(asked))  # type: ignore[arg-type]
    for namespace, name in [*(("a", f"p{number}") for number in range(1_500)), ("b", "q")]:
        queue.refused(told[0]._replace(pod=told[0].pod._replace(namespace=namespace, name=name, uid=name)))
    queue.release()
    assert len(asked) == MOST_PODS
    assert asked.index("b/q") <= 1


class Recorder:
    """Notes for which pods devices are to be released."""

    def __init__(self, asked: list[str]) -> None:
        self._asked = asked

    def release(self, pod: Pod, *_: object) -> None:
        self._asked.append(pod.key)


def test_only_the_leader_releases() -> None:
    """Another one would look at claims that are being written."""
    scene = Scene(api_with_pods())
    assert scene.sidecar.decide("p") == []
    scene.sidecar.leader.leads = False
    scene.releasing.release()
    assert scene.api.requests == []
