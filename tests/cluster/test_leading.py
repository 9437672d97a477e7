"""Leading: from when on, until when, and for which decisions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Event

import pytest

from cluster.leading import Election, Fence, Leadership, NotLeading, Unopposed
from resourceapi.api_client import Unavailable
from tests.cluster.test_lease import PATH, Clock
from tests.scheduler.fake_api import FakeApi
from tests.webhook.running import PATIENCE_SECONDS

SECONDS = 10


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


class Replica:
    """A replica whose thread the test is; its take-overs wait for `may_take_over`, and fail with what is in `failures`."""

    def __init__(self, api: FakeApi, name: str, clock: Clock) -> None:
        self.clock = clock
        self.may_take_over = Event()
        self.may_take_over.set()
        self.failures: list[Exception] = []
        self.fences: list[Fence] = []
        self.lost = 0
        candidate = Election(api, "ns", "leader", identity=name, seconds=SECONDS, clock=clock)
        self.leadership = Leadership(
            candidate, renew_seconds=1, take_over=self._take_over, lose=self._lose, clock=clock
        )

    def _take_over(self, insist: Fence) -> None:
        self.fences.append(insist)
        assert self.may_take_over.wait(PATIENCE_SECONDS)
        if self.failures:
            raise self.failures.pop()

    def _lose(self) -> None:
        self.lost += 1

    def lead(self) -> int:
        self.leadership.step()
        until(lambda: self.leadership.is_leading)
        return self.leadership.term


class Pair:
    """Two replicas with one clock, and their API server."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.clock = Clock()
        self.a, self.b = Replica(self.api, "a", self.clock), Replica(self.api, "b", self.clock)
        self.a.leadership.step()
        self.clock.now += SECONDS

    def expire(self, other: Replica) -> None:
        """Let the Lease expire for one that has seen it."""
        other.leadership.step()
        self.clock.now += SECONDS


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    for replica in (pair.a, pair.b):
        replica.may_take_over.set()


def test_leads_once_it_has_taken_over(pair: Pair) -> None:
    """With the Lease alone nothing is decided; the take-over itself may write."""
    pair.a.may_take_over.clear()
    pair.a.leadership.step()
    until(lambda: len(pair.a.fences) == 1)
    assert not pair.a.leadership.is_leading
    with pytest.raises(NotLeading, match="another replica leads"):
        _ = pair.a.leadership.term
    pair.a.fences[0]()
    pair.a.may_take_over.set()
    until(lambda: pair.a.leadership.is_leading)
    pair.a.leadership.insist(pair.a.leadership.term)


def test_follower(pair: Pair) -> None:
    """Who does not have the Lease does not lead, and takes nothing over."""
    pair.a.lead()
    pair.b.leadership.step()
    assert not pair.b.leadership.is_leading
    with pytest.raises(NotLeading):
        pair.b.leadership.insist(0)
    assert pair.b.fences == []


def test_waiting_is_told_once(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    pair.a.lead()
    for _ in range(2):
        pair.b.leadership.step()
    assert caplog.messages.count("waiting for the Lease") == 1


def test_same_failure_of_a_take_over_is_told_once(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("WARNING", "claimcheck")
    pair.a.failures = [KeyError("ours"), KeyError("ours")]
    pair.a.lead()
    assert (len(pair.a.fences), caplog.messages) == (3, ["take-over failed"])


@pytest.mark.parametrize(("stops", "level"), [(True, "INFO"), (False, "WARNING")])
def test_end_of_a_term_is_a_warning_unless_the_process_stops(
    pair: Pair, caplog: pytest.LogCaptureFixture, stops: bool, level: str
) -> None:
    caplog.set_level("INFO")
    pair.a.lead()
    if stops:
        pair.a.leadership.stop()
        pair.a.leadership.run()
    else:
        pair.clock.now += SECONDS
        pair.b.leadership.step()
        pair.clock.now += SECONDS
        pair.b.lead()
        pair.a.leadership.step()
    levels = [each.levelname for each in caplog.records if each.message == "no longer leading"]
    assert levels == [level]


def test_take_over_is_tried_again(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong; until then nobody leads."""
    pair.a.failures = [KeyError("ours"), Unavailable("no answer")]
    pair.a.lead()
    assert len(pair.a.fences) == 3
    assert caplog.text.count("take-over failed") == 2


def test_stopped(pair: Pair) -> None:
    """A process that goes on after a long while relies on nothing: its clock went on as well."""
    term = pair.a.lead()
    pair.clock.now += 0.9 * SECONDS - 0.001
    pair.a.leadership.insist(term)
    pair.clock.now += 0.001
    with pytest.raises(NotLeading, match="not renewed in time"):
        pair.a.leadership.insist(term)
    assert not pair.a.leadership.is_leading


def test_nobody_came(pair: Pair) -> None:
    """Who could not renew in time takes over again: what is late may be its own."""
    term = pair.a.lead()
    pair.clock.now += SECONDS
    again = pair.a.lead()
    assert (len(pair.a.fences), pair.a.lost) == (2, 1)
    with pytest.raises(NotLeading):
        pair.a.leadership.insist(term)
    pair.a.leadership.insist(again)


def test_no_is_for_good(pair: Pair) -> None:
    """Somebody was told that the term is over, while the answer to a renewal that was sent in time was on its way."""
    term = pair.a.lead()

    def ask_late(request: object) -> None:
        pair.clock.now += 0.5 * SECONDS
        with pytest.raises(NotLeading):
            pair.a.leadership.insist(term)

    pair.clock.now += 0.5 * SECONDS
    pair.api.hooks.append(ask_late)
    pair.a.leadership.step()
    with pytest.raises(NotLeading):
        pair.a.leadership.insist(term)
    pair.api.hooks.clear()
    pair.a.lead()
    assert len(pair.a.fences) == 2


def test_lost(pair: Pair) -> None:
    """Another one leads as soon as the Lease has expired, and this one learns of it later."""
    term = pair.a.lead()
    pair.expire(pair.b)
    other = pair.b.lead()
    with pytest.raises(NotLeading):
        pair.a.leadership.insist(term)
    pair.a.leadership.step()
    assert pair.a.lost == 1
    with pytest.raises(NotLeading, match="another replica has led"):
        pair.a.leadership.insist(term)
    pair.b.leadership.insist(other)


def test_decisions_end_with_their_term(pair: Pair) -> None:
    """What was decided before another one led counts no more when this one leads again."""
    term = pair.a.lead()
    pair.expire(pair.b)
    pair.b.lead()
    pair.expire(pair.a)
    again = pair.a.lead()
    assert len(pair.a.fences) == 2
    with pytest.raises(NotLeading, match="another replica has led since this was decided"):
        pair.a.leadership.insist(term)
    pair.a.leadership.insist(again)


def test_lost_during_take_over(pair: Pair) -> None:
    """A take-over that lasts longer than the term has no consequence."""
    pair.a.may_take_over.clear()
    pair.a.leadership.step()
    until(lambda: len(pair.a.fences) == 1)
    pair.expire(pair.b)
    pair.b.lead()
    pair.a.leadership.step()
    with pytest.raises(NotLeading):
        pair.a.fences[0]()
    pair.a.may_take_over.set()
    pair.b.leadership.stop()
    pair.a.leadership.step()
    assert not pair.a.leadership.is_leading


def test_lease_is_deleted(pair: Pair) -> None:
    """It ends the term at once."""
    term = pair.a.lead()
    pair.api.remove(PATH)
    pair.a.leadership.step()
    with pytest.raises(NotLeading):
        pair.a.leadership.insist(term)


def test_api_server_is_away(pair: Pair, caplog: pytest.LogCaptureFixture) -> None:
    """It is said once, and that nobody leads as soon as that is so; after the next answer this replica leads again."""
    caplog.set_level("WARNING", "claimcheck")
    pair.a.lead()
    pair.api.down = True
    pair.a.leadership.step()
    assert (caplog.messages, pair.a.leadership.is_leading) == (["the Lease cannot be renewed"], True)
    for _ in range(3):
        pair.clock.now += SECONDS
        pair.a.leadership.step()
    assert caplog.messages == ["the Lease cannot be renewed", "no longer leading"]
    assert (pair.a.leadership.is_leading, pair.a.lost) == (False, 1)
    pair.api.down = False
    pair.a.lead()
    assert len(pair.a.fences) == 2
    assert caplog.text.count("the Lease cannot be renewed") == 1


def test_api_server_that_is_away_is_not_asked_more_often(pair: Pair) -> None:
    """Neither by who has led, nor by who would like to, although the Lease has expired."""
    pair.a.lead()
    pair.b.leadership.step()
    pair.api.down = True
    pair.clock.now += 2 * SECONDS
    for replica in (pair.a, pair.b):
        replica.leadership.step()
        assert replica.leadership._pause() == 1


def test_in_a_thread(pair: Pair) -> None:
    """A replica that is told to stop lets the next one lead at once."""
    pair.a.leadership.start()
    until(lambda: pair.a.leadership.is_leading)
    pair.b.leadership.step()
    pair.a.leadership.stop()
    assert (pair.a.leadership.is_leading, pair.a.lost) == (False, 1)
    pair.b.lead()


def test_alone() -> None:
    """Without an election there is the take-over all the same: the process before may have left something unfinished."""
    took_over: list[Fence] = []
    leadership = Leadership(Unopposed(SECONDS), renew_seconds=1, take_over=took_over.append)
    leadership.start()
    until(lambda: leadership.is_leading)
    leadership.stop()
    assert (len(took_over), leadership.is_leading) == (1, False)
