"""A replica as it is configured: it takes over once it knows the cluster, and then has the claims as they are now."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import pytest
import yaml

from cluster.leading import Election, Fence, Leadership, Unopposed
from cluster.reflector import Reflector
from resourceapi.releases import Profile
from scheduler.cluster_picture import ClusterPicture
from scheduler.config import load_config
from scheduler.endpoint import Endpoint as RealEndpoint
from scheduler.leader_setup import make_candidate, make_leadership
from scheduler.take_over import CLAIMS_OF_ALL, TakeOver
from scheduler.waking import WakeUpClaim
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import Terms
from serving.config_file import Config
from tests.cluster.test_leading import until
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import RESOURCE
from tests.scheduler.test_take_over import ALLOCATION, PATH, claim, reserved
from tests.webhook.running import PATIENCE_SECONDS


def config(tmp_path: Path, **election: Any) -> Config:
    maintain(
        DirectoryStore(tmp_path),
        Terms(("127.0.0.1",), timedelta(9), timedelta(9), timedelta(1)),
        datetime.now(UTC),
    )
    value = {
        "apiServer": {
            "address": "https://127.0.0.1:1",
            "tokenFile": str(tmp_path / "token"),
            "caFile": str(tmp_path / "current" / "ca.crt"),
        },
        "tls": {"directory": str(tmp_path)},
        "leaderElection": election,
    }
    (tmp_path / "schedule.yaml").write_text(yaml.safe_dump(value))
    return load_config(str(tmp_path / "schedule.yaml"))


def test_candidates(tmp_path: Path) -> None:
    """Each process is a candidate of its own, however it is named; without an election there is no Lease."""
    (tmp_path / "namespace").write_text("team\n")
    first, second = (make_candidate(config(tmp_path, identity="me")) for _ in range(2))
    assert first.identity != second.identity
    assert {each.identity.partition("_")[0] for each in (first, second)} == {"me"}
    assert isinstance(first, Election)
    assert first._path == "/apis/coordination.k8s.io/v1/namespaces/team/leases/claimcheck-scheduler"
    assert first.seconds == 3
    assert isinstance(make_candidate(config(tmp_path, enabled=False)), Unopposed)


def pod(name: str, uid: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ns", "uid": uid},
        "spec": {"nodeName": node, "resourceClaims": [{"name": "c", "resourceClaimName": "one"}]},
    }


@pytest.fixture
def ending() -> Iterator[Event]:
    ending = Event()
    yield ending
    ending.set()


def leadership_of(
    tmp_path: Path,
    api: FakeApi,
    picture: ClusterPicture,
    reflectors: Mapping[str, Reflector],
    endpoint: RealEndpoint | None = None,
) -> Leadership:
    """That of the only replica, which leads without a Lease."""
    return make_leadership(
        config(tmp_path, enabled=False),
        api.client(),
        picture,
        reflectors,
        wake_up_claim(api),
        endpoint,
        lambda: None,
    )


def run(reflectors: Mapping[str, Reflector], ending: Event) -> None:
    for reflector in reflectors.values():
        Thread(target=reflector.run, args=(ending,), daemon=True).start()


def wake_up_claim(api: FakeApi) -> WakeUpClaim:
    return WakeUpClaim(api, "system", "wake-up")


def lists_of_claims(api: FakeApi) -> int:
    return sum(
        request.verb == "GET" and request.path == CLAIMS_OF_ALL and "watch" not in (request.query or {})
        for request in api.requests
    )


def test_takes_over(tmp_path: Path, ending: Event) -> None:
    """Not before the cluster is known; then claims and pods' nodes are known from the watches, and nothing is listed again."""
    api = FakeApi(
        [
            claim("settled", **ALLOCATION, reservedFor=reserved("there")),
            claim("replaced", **ALLOCATION, reservedFor=reserved("another uid")),
            claim("intended"),
            pod("pod", "there", "n1"),
        ]
    )
    before = {name: api.get(f"{PATH}/{name}") for name in ("settled", "replaced", "intended")}
    picture = ClusterPicture(Profile())
    reflectors = picture.reflectors(api.client())
    leadership = leadership_of(tmp_path, api, picture, reflectors)
    leadership.start()
    until(lambda: leadership._hold is not None)
    assert not leadership.is_leading
    run(reflectors, ending)
    until(lambda: leadership.is_leading)
    changed = {name for name, was in before.items() if api.get(f"{PATH}/{name}") != was}
    assert changed == {"replaced", "intended"}
    assert lists_of_claims(api) == 1
    known = picture.claim_objects.objects["ns/intended"]
    assert (
        known.object["metadata"]["resourceVersion"]
        == api.get(f"{PATH}/intended")["metadata"]["resourceVersion"]
    )
    leadership.stop()
    ending.set()
    api.end_watches()
    assert all(reflector.synced.wait(PATIENCE_SECONDS) for reflector in reflectors.values())


def test_claims_are_listed_where_the_watch_does_not_catch_up(tmp_path: Path, ending: Event) -> None:
    """As where the claim that tells of it cannot be changed."""
    api, picture = FakeApi([claim("intended")]), ClusterPicture(Profile())
    before = api.get(f"{PATH}/intended")
    api.fail(1, 403, lambda request: request.verb == "PATCH" and "wake-up" in request.path)
    reflectors = picture.reflectors(api.client())
    leadership = leadership_of(tmp_path, api, picture, reflectors)
    run(reflectors, ending)
    leadership.start()
    until(lambda: leadership.is_leading)
    assert api.get(f"{PATH}/intended") != before
    assert lists_of_claims(api) == 2
    leadership.stop()
    ending.set()
    api.end_watches()


class Endpoint:
    """What lets the Service lead here, which is the last that a take-over does."""

    def __init__(self, taken: Callable[[], None]) -> None:
        self._taken = taken

    def take(self, insist: Fence) -> None:
        insist()
        self._taken()


def make_garbage() -> list[list[object]]:
    """More objects than may be new before the garbage collector runs."""
    return [[] for _ in range(1000)]


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """The generations of the collections that there are, which are very many; the picture that is warmed up is given back."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            found.append(info["generation"])

    thresholds = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(50, 1, 1)
    yield found
    gc.set_threshold(*thresholds)
    gc.callbacks.remove(note)
    gc.unfreeze()


def test_no_garbage_is_collected_before_it_leads(
    tmp_path: Path, ending: Event, collections: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection takes seconds in a large cluster, and the Lease would expire: from the take-over's begin on there is none."""
    api, picture = FakeApi([claim("intended")]), ClusterPicture(Profile())
    reflectors = picture.reflectors(api.client())
    so_far: list[int] = []  # at the beginning and at the end of the take-over
    take_over = TakeOver.__call__

    def count() -> None:
        so_far.append(len(collections))
        make_garbage()

    def begin(self: TakeOver, insist: Fence) -> None:
        count()
        take_over(self, insist)

    monkeypatch.setattr(TakeOver, "__call__", begin)
    run(reflectors, ending)
    until(lambda: picture.is_served)
    picture.warm_up_first()
    assert 2 in collections
    endpoint = cast("RealEndpoint", Endpoint(count))
    leadership = leadership_of(tmp_path, api, picture, reflectors, endpoint)
    leadership.start()
    until(lambda: leadership.is_leading)
    first, last = so_far
    assert first == last
    until(gc.isenabled)
    make_garbage()
    assert len(collections) > last
    leadership.stop()
    ending.set()
    api.end_watches()


def test_claims_that_are_not_served(tmp_path: Path, ending: Event, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is taken over without a list of them: they may be there again soon, with what another leader has begun."""
    api = FakeApi([claim("intended")])
    before = api.get(f"{PATH}/intended")
    served = api.resources.pop((RESOURCE, "resourceclaims"))
    picture = ClusterPicture(Profile())
    reflectors = picture.reflectors(api.client())
    leadership = leadership_of(tmp_path, api, picture, reflectors)
    run(reflectors, ending)
    leadership.start()
    until(lambda: "does not serve all kinds" in str([vars(each) for each in caplog.records]))
    assert (picture.is_served, leadership.is_leading) == (False, False)
    api.resources[RESOURCE, "resourceclaims"] = served
    until(lambda: leadership.is_leading)
    assert picture.is_served
    assert api.get(f"{PATH}/intended") != before
    leadership.stop()
    ending.set()
    api.end_watches()
