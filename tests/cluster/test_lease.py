"""Electing by a Lease: who may take it, when, and what a candidate believes by its own clock only."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.leading import Election, unique_identity
from resourceapi.api_client import Unavailable
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_faults import Fault

PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/leader"
SECONDS = 10


class Clock:
    """A clock that goes on when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Contest:
    """Candidates for one Lease, each with a clock of its own."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.clocks: dict[str, Clock] = {}

    def candidate(self, name: str, seconds: int = SECONDS) -> Election:
        clock = self.clocks[name] = Clock()
        return Election(self.api, "ns", "leader", identity=name, seconds=seconds, clock=clock)

    def wait(self, seconds: float) -> None:
        for clock in self.clocks.values():
            clock.now += seconds

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = self.api.get(PATH)["spec"]
        return spec


@pytest.fixture
def contest() -> Contest:
    return Contest()


def leader(contest: Contest, name: str = "a", seconds: int = SECONDS) -> Election:
    """A candidate that has the Lease."""
    first = contest.candidate(name, seconds)
    assert first.attempt() is None
    contest.wait(seconds)
    assert first.attempt() is not None
    return first


def test_first_waits(contest: Contest) -> None:
    """Where there is no Lease, somebody may have deleted it whose holder does not know yet."""
    first = contest.candidate("a")
    assert first.attempt() is None
    contest.wait(SECONDS - 0.1)
    assert (first.attempt(), round(first.seconds_left(), 3)) == (None, 0.1)
    contest.wait(0.1)
    assert first.attempt() == 1000 + SECONDS
    spec = contest.spec
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"], spec["leaseTransitions"]) == (
        "a",
        SECONDS,
        0,
    )
    assert spec["acquireTime"] <= spec["renewTime"]


def test_renewed(contest: Contest) -> None:
    """A holder renews with one request; acquireTime and leaseTransitions stay."""
    first = leader(contest)
    before = contest.spec
    contest.wait(3)
    contest.api.requests.clear()
    assert first.attempt() == contest.clocks["a"].now
    assert [request.verb for request in contest.api.requests] == ["PUT"]
    after = contest.spec
    assert after.pop("renewTime") > before.pop("renewTime")
    assert after == before


def test_taken_after_it_expired(contest: Contest) -> None:
    """Another candidate takes it once it has not changed for its duration, counted from when this one saw it so."""
    leader(contest)
    second = contest.candidate("b")
    contest.wait(100)
    assert second.attempt() is None
    contest.wait(SECONDS - 0.1)
    assert second.attempt() is None
    contest.wait(0.1)
    assert second.attempt() == contest.clocks["b"].now
    assert (contest.spec["holderIdentity"], contest.spec["leaseTransitions"]) == ("b", 1)


def test_not_taken_while_it_is_renewed(contest: Contest) -> None:
    """Every renewal begins the time anew, whatever the holder's clock says."""
    first, second = leader(contest), contest.candidate("b")
    for _ in range(5):
        assert second.attempt() is None
        contest.wait(SECONDS - 1)
        contest.clocks["a"].now -= 1_000_000
        assert first.attempt() is not None


def test_duration_is_what_the_holder_wrote(contest: Contest) -> None:
    """Replicas with different settings: the one that the holder goes by counts."""
    leader(contest, seconds=30)
    second = contest.candidate("b", seconds=3)
    assert second.attempt() is None
    contest.wait(29)
    assert second.attempt() is None
    contest.wait(1)
    assert second.attempt() is not None


def test_only_one_takes_it(contest: Contest) -> None:
    """Of two that have seen it expire, the second one's write is refused."""
    leader(contest)
    second, third = contest.candidate("b"), contest.candidate("c")
    assert (second.attempt(), third.attempt()) == (None, None)
    contest.wait(SECONDS)

    def faster(request: object) -> None:
        contest.api.hooks.clear()
        contest.api.hooks.append(fastest)

    def fastest(request: object) -> None:  # between the third one's GET and its PUT
        contest.api.hooks.clear()
        assert second.attempt() is not None

    contest.api.hooks.append(faster)
    assert third.attempt() is None
    assert contest.spec["holderIdentity"] == "b"


def test_loss(contest: Contest) -> None:
    """A holder that was stopped learns with its next renewal that another one has taken over."""
    first, second = leader(contest), contest.candidate("b")
    second.attempt()
    contest.wait(SECONDS)
    assert second.attempt() is not None
    assert first.attempt() is None
    assert first.attempt() is None
    assert contest.spec["holderIdentity"] == "b"


def test_nobody_came(contest: Contest) -> None:
    """A holder that was stopped goes on if nobody took the Lease meanwhile."""
    first = leader(contest)
    contest.wait(60)
    assert first.attempt() == contest.clocks["a"].now
    assert contest.spec["leaseTransitions"] == 0


def test_released(contest: Contest) -> None:
    """Who gives it back lets the next one take it at once, as client-go does."""
    first, second = leader(contest), contest.candidate("b")
    assert second.attempt() is None
    first.release()
    assert (contest.spec["holderIdentity"], contest.spec["leaseDurationSeconds"]) == ("", 1)
    assert second.attempt() is not None
    assert (contest.spec["leaseTransitions"], contest.spec["leaseDurationSeconds"]) == (1, SECONDS)


def test_only_the_holder_releases(contest: Contest) -> None:
    """A candidate that does not hold the Lease, or no longer does, gives nothing back."""
    first, second = leader(contest), contest.candidate("b")
    second.attempt()
    second.release()
    contest.wait(SECONDS)
    assert second.attempt() is not None
    first.release()
    assert contest.spec["holderIdentity"] == "b"


@pytest.mark.parametrize("emptied", [True, False])
def test_taken_away_by_hand(contest: Contest, emptied: bool) -> None:
    """Somebody deletes the Lease, or empties it: all wait until its holder has noticed, the holder as well."""
    first, second = leader(contest), contest.candidate("b")
    assert second.attempt() is None
    if emptied:
        contest.api.change(PATH, {"spec": {"holderIdentity": ""}})
    else:
        contest.api.remove(PATH)
    assert (second.attempt(), first.attempt()) == (None, None)
    contest.wait(SECONDS - 0.1)
    assert (second.attempt(), first.attempt()) == (None, None)
    contest.wait(0.1)
    assert second.attempt() is not None


def test_changed_by_others(contest: Contest) -> None:
    """An annotation, say: the holder renews the changed Lease."""
    first = leader(contest)
    contest.api.change(PATH, {"metadata": {"annotations": {"a": "b"}}})
    contest.wait(1)
    assert first.attempt() == contest.clocks["a"].now
    assert contest.api.get(PATH)["metadata"]["annotations"] == {"a": "b"}


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.TWICE])
def test_answer_is_lost(contest: Contest, fault: Fault) -> None:
    """A renewal whose answer does not come may have been carried out; then the next one is sent for what is there."""
    first = leader(contest)
    contest.wait(1)
    contest.api.fail(1, fault, lambda request: request.verb == "PUT")
    if fault is Fault.LOST:
        with pytest.raises(Unavailable):
            first.attempt()
        contest.wait(1)
    assert first.attempt() == contest.clocks["a"].now


def test_time_of_sending_counts(contest: Contest) -> None:
    """However long the answer takes, others may count from before it."""
    first = leader(contest)
    sent = contest.clocks["a"].now
    contest.api.hooks.append(lambda request: contest.wait(4))
    assert first.attempt() == sent


def test_api_server_is_away(contest: Contest) -> None:
    """Without answers nobody learns anything; who holds the Lease holds it until another one does."""
    first = leader(contest)
    renewed = contest.clocks["a"].now
    contest.api.down = True
    contest.wait(5)
    with pytest.raises(Unavailable):
        first.attempt()
    contest.api.down = False
    contest.wait(1)
    assert first.attempt() == renewed + 6


def test_no_namespace_or_no_rights(contest: Contest) -> None:
    """What the API server refuses is no other candidate's success."""
    first = contest.candidate("a")
    first.attempt()
    contest.wait(SECONDS)
    contest.api.fail(2, 404)
    with pytest.raises(Unavailable, match=r"leases/leader: 404 injected"):
        first.attempt()
    contest.api.fail(1, 403)
    with pytest.raises(Unavailable, match=r"403 injected"):
        first.attempt()


def test_least_duration() -> None:
    """A Lease of one second is how a released one looks."""
    with pytest.raises(ValueError, match="less than 2 s"):
        Election(FakeApi(), "ns", "leader", identity="a", seconds=1)


def test_identities_differ() -> None:
    """A container that has been restarted in its pod is another candidate."""
    assert unique_identity("pod-1") != unique_identity("pod-1")
