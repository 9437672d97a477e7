"""Finding out that the memory of claims is wrong, and correcting it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import pytest

from allocator.time_limit import STEP_SECONDS
from cluster.group_snapshots import InResults
from resourceapi.api_client import Listing, Unavailable
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, Consumer
from resourceapi.releases import Profile
from scheduler.claim_writes import FINALIZER, ClaimWrites, Target
from scheduler.cluster_picture import ClusterPicture
from scheduler.picture_lock import PictureLock
from scheduler.self_check import SelfCheck
from scheduler.take_over import CLAIMS_OF_ALL
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.test_take_over import PATH, claim


def allocation(device: str) -> Object:
    return {
        "devices": {"results": [{"request": "r", "driver": "d.example", "pool": "p", "device": device}]},
    }


class Meanwhile(Event):
    """What happens while the check waits for events."""

    def __init__(self, action: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self.action = action

    def wait(self, timeout: float | None = None) -> bool:
        self.action()
        return False


class Watched:
    """A picture of a fake cluster; `catch_up` is what its watch would do."""

    def __init__(self) -> None:
        self.api = FakeApi(claim(name, allocation=allocation(name)) for name in ("a", "b", "c"))
        self.picture = ClusterPicture(Profile())
        self.found: list[int] = []
        self.catch_up()
        self.check = SelfCheck(
            self.api, self.picture, relist=lambda seconds: self.catch_up(), found=self.found.append
        )

    def catch_up(self) -> None:
        self.picture.claim_objects.replace(Listing(self.api, CLAIMS_OF_ALL))

    def drift(self, during: Callable[[], object] = lambda: None) -> list[str]:
        return self.check.check(Meanwhile(during))


@pytest.fixture
def watched() -> Watched:
    return Watched()


def allocate(watched: Watched) -> None:
    watched.api.add(claim("d", allocation=allocation("d")))


def change(watched: Watched) -> None:
    watched.api.change(f"{PATH}/a", {"status": {"reservedFor": [{"name": "p", "uid": "u"}]}})


def delete(watched: Watched) -> None:
    watched.api.remove(f"{PATH}/a")


def replace(watched: Watched) -> None:
    delete(watched)
    watched.api.add(claim("a", allocation=allocation("z")))


EVENTS = [(allocate, ["ns/d"]), (change, ["ns/a"]), (delete, ["ns/a"]), (replace, ["ns/a"])]


def test_no_difference(watched: Watched) -> None:
    """It is said that there is none."""
    assert (watched.drift(), watched.found) == ([], [0])


@pytest.mark.parametrize(("event", "keys"), EVENTS)
def test_lag(watched: Watched, event: Callable[[Watched], None], keys: list[str]) -> None:
    """An event that comes a little later is no drift."""
    event(watched)
    assert watched.drift(watched.catch_up) == []


@pytest.mark.parametrize(("event", "keys"), EVENTS)
def test_drift(
    watched: Watched,
    event: Callable[[Watched], None],
    keys: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """An event that does not come is drift; the next check finds none."""
    event(watched)
    assert watched.drift() == keys
    assert "claims in memory had drifted" in caplog.text
    assert watched.drift() == []
    assert watched.found == [1, 0]


@pytest.mark.parametrize("name", ["a", "new"])
def test_memory_is_newer(watched: Watched, name: str) -> None:
    """What came after the list is none of its business."""
    newer = claim(name)
    newer["metadata"] |= {"resourceVersion": "999", "uid": "u"}
    watched.picture.claim_objects.put(newer)
    assert watched.drift() == []


def test_deleted_before_it_was_known(watched: Watched) -> None:
    """A claim that was listed, and is gone before its first event."""
    allocate(watched)
    assert watched.drift(lambda: watched.api.remove(f"{PATH}/d")) == []


def test_answer_that_comes_after_the_deletion(watched: Watched) -> None:
    """Devices are taken back from a claim that is being deleted, and the watch tells first that it is gone: it stays so."""
    watched.api.request("DELETE", f"{PATH}/a", {})
    watched.api.change(f"{PATH}/a", {"metadata": {"finalizers": [FINALIZER]}})
    watched.catch_up()

    def seen_late(answered: Object) -> None:
        for change in watched.api.history:
            if change.type == "DELETED":
                watched.picture.claim_objects.remove(change.object)
        watched.picture.claims.seen(answered)

    writes = ClaimWrites(watched.api, watched.picture.profile.schemas["v1"], InResults(), seen_late)
    target = Target.of(watched.api.get(f"{PATH}/a"))
    writes.take_back(target, Consumer.pod("p", "u"), allocation("a"), lambda: None)
    assert [each.type for each in watched.api.history][-1] == "DELETED"
    assert "ns/a" not in watched.picture.claim_objects.objects
    assert watched.drift() == []
    assert {each.device for each in watched.picture.state.allocated.whole} == {"b", "c"}


def test_same_version_with_other_devices(watched: Watched) -> None:
    """It cannot be; if it is, it is found."""
    known = watched.picture.claim_objects.objects
    known["ns/a"] = known["ns/a"].allocated(allocation("z"))
    assert watched.drift() == ["ns/a"]


def test_allocator_counts_otherwise(watched: Watched) -> None:
    """The allocator has its own memory of what claims hold."""
    watched.picture.state.remove_claim("ns", "a")
    assert watched.drift() == ["ns/a"]


def test_allocator_is_told_a_moment_later(watched: Watched) -> None:
    """A check may see a claim that gets devices just before the allocator does, and see it again when it lets go of them."""
    known = watched.picture.claim_objects.objects

    def take_in(*allocations: Object | None) -> None:
        for each in allocations:
            stored = watched.api.change(f"{PATH}/a", {"status": {"allocation": each}})
        known["ns/a"] = Claim(stored)

    def later() -> None:
        with watched.picture.lock:
            watched.picture.state.put_claim(known["ns/a"])
        take_in(None)

    take_in(None, allocation("z"))
    assert watched.drift(later) == []


def test_picture_is_held_for_short_times(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many claims there are: they are compared a part at a time, and what is wrong in any part is found."""
    for number in range(200):
        watched.api.add(claim(f"d{number}", allocation=allocation(f"d{number}")))
    watched.catch_up()
    picture = watched.picture
    for name in ("a", "d0", "d199"):
        picture.state.remove_claim("ns", name)
    now, held = [0.0], list[float]()
    get = picture.claims.get

    def slow(key: str) -> Claim | None:
        now[0] += STEP_SECONDS / 10
        return get(key)

    monkeypatch.setattr(picture.claims, "get", slow)
    picture.lock = PictureLock(lambda: now[0])
    monkeypatch.setattr(picture.lock, "released", held.append)
    assert watched.check._drifted(Meanwhile()) == ["ns/a", "ns/d0", "ns/d199"]
    assert now[0] > 200 * STEP_SECONDS / 10
    assert max(held) < 1.2 * STEP_SECONDS


def test_assumed_allocations_count(watched: Watched) -> None:
    """What is being written is no drift."""
    watched.api.add(claim("d"))
    watched.catch_up()
    uid = watched.picture.claim_objects.objects["ns/d"].uid
    with watched.picture.lock:
        watched.picture.claims.assume("ns/d", uid, allocation("d"))
    assert watched.drift() == []


def test_no_answer(watched: Watched) -> None:
    """Without a list there is no judgement."""
    watched.api.down = True
    with pytest.raises(Unavailable):
        watched.drift()
    assert watched.found == []


def test_goes_on(watched: Watched, caplog: pytest.LogCaptureFixture) -> None:
    """A check that fails is logged, and the next one follows."""
    watched.api.fail(1, 500)

    class Ending(Event):
        rounds = 0

        def wait(self, timeout: float | None = None) -> bool:
            self.rounds += 1
            return self.rounds > 2

    watched.check.run(10, Ending())
    assert (watched.found, "claims in memory were not checked" in caplog.text) == ([0], True)
