"""How long a filter waits for the binds of other pods: a moment each, and no longer for those that never come."""

from __future__ import annotations

from threading import Thread
from time import monotonic
from typing import cast

import pytest

from allocator.answers import Answers
from scheduler.decisions import GROUP_SECONDS, IN_FLIGHT_SECONDS, Decision, Decisions
from scheduler.picture_lock import PAUSES

PODS = 40


class _NoAnswers:
    outcomes = ()

    def __len__(self) -> int:
        return 0


def decision(uid: str, namespace: str) -> Decision:
    """A pod that fits on one node."""
    return Decision(uid, namespace, 1, (), (), cast(Answers, _NoAnswers()), {"n1": 0})


def seconds(decisions: Decisions) -> float:
    """How long a filter of another pod waits."""
    begin = monotonic()
    decisions.wait_for_binds("other")
    return monotonic() - begin


def test_binds_that_never_come_take_a_fifth_of_the_time() -> None:
    """Of pods with volumes that nobody provides, each took 0.05 s of all others' time."""
    decisions = Decisions()
    waits = 0
    begin = monotonic()
    for place in range(PODS):
        decisions.put(decision(f"p{place}", "stranger"))
        waits += seconds(decisions) > IN_FLIGHT_SECONDS / 2
    assert waits <= 1 + (monotonic() - begin) / (5 * IN_FLIGHT_SECONDS)


@pytest.mark.parametrize("are_known", [False, True], ids=["new", "have-bound-pods"])
def test_gangs_of_many_namespaces_that_are_never_bound(
    monkeypatch: pytest.MonkeyPatch, *, are_known: bool
) -> None:
    """They share the time, once each that has bound pods has been waited for: with five namespaces there was nothing else but waiting."""
    now = waited = 0.0
    decisions, namespaces, most = Decisions(clock=lambda: now), 20, 1000.0
    for place in range(namespaces if are_known else 0):
        decisions.bound("before", f"stranger{place}")

    def wait(seconds: float) -> None:
        nonlocal now, waited
        now += seconds
        waited += seconds

    monkeypatch.setattr(decisions._settled, "wait", wait)
    while now < most:
        for place in range(namespaces):
            uid, namespace = f"{place}-{now}", f"stranger{place}"
            decisions.wait_for_binds(uid, f"{namespace}/g")
            decisions.put(decision(uid, namespace), f"{namespace}/g", completes=True)
        decisions.wait_for_binds("other")
        now += 1
    assert waited <= most / 4 + (namespaces if are_known else 1) * GROUP_SECONDS


def test_gangs_of_ever_new_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: each was waited for once, and a tenant with the right to create namespaces has as many as it likes."""
    now = waited = 0.0
    decisions, most = Decisions(clock=lambda: now), 1000.0

    def wait(seconds: float) -> None:
        nonlocal now, waited
        now += seconds
        waited += seconds

    monkeypatch.setattr(decisions._settled, "wait", wait)
    while now < most:
        decisions.put(decision(f"p{now}", f"new-{now}"), f"new-{now}/g", completes=True)
        decisions.wait_for_binds("other")
        now += 1
    assert waited <= most / 4 + GROUP_SECONDS
    decisions.bound("before", "ns")
    decisions.put(decision("p", "ns"), "ns/g", completes=True)
    assert decisions._in_flight.keys() == {"ns/g"}, "others are waited for meanwhile"


def test_namespaces_that_have_bound_pods_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those first of which no pod has been bound for the longest time."""
    monkeypatch.setattr("scheduler.decisions.MOST_NAMESPACES", 2)
    decisions = Decisions()
    for name in ("a", "b", "a", "c"):
        decisions.bound("p", name)
    assert list(decisions._have_bound) == ["a", "c"]


def test_a_gang_that_is_late_once() -> None:
    """However many others are late, its namespace is passed over for no longer than if it were alone."""
    now = 0.0
    decisions = Decisions(clock=lambda: now)
    decisions.bound("before", "ns")
    for place in range(100):
        decisions.bound("before", f"stranger{place}")
        decisions.put(decision(f"stranger{place}", f"stranger{place}"))
    decisions.put(decision("late", "ns"), "ns/g", completes=True)
    now = GROUP_SECONDS
    decisions._note_those_in_vain(decisions._in_flight.values(), -1.0, now)
    decisions._in_flight.clear()
    now += PAUSES * GROUP_SECONDS - 0.1
    decisions.put(decision("p", "ns"), "ns/g", completes=True)
    assert not decisions._in_flight
    now += 0.1
    decisions.put(decision("p", "ns"), "ns/g", completes=True)
    assert [each.uids for each in decisions._in_flight.values()] == [{"p"}]


def test_binds_of_others_are_waited_for_meanwhile() -> None:
    """Also of the same namespace, after the pause."""
    decisions = Decisions()
    decisions.bound("before", "ns")
    decisions.put(decision("late", "stranger"))
    assert seconds(decisions) >= IN_FLIGHT_SECONDS / 2
    decisions.put(decision("p", "ns"))
    decisions.put(decision("later", "stranger"))
    waiting = Thread(target=decisions.wait_for_binds, args=("other",))
    waiting.start()
    waiting.join(IN_FLIGHT_SECONDS / 5)
    assert waiting.is_alive()
    decisions.ended("p")
    waiting.join(IN_FLIGHT_SECONDS / 5)
    assert not waiting.is_alive()
    waiting.join()


def test_pause_ends() -> None:
    """Nothing is held against a namespace for long, nor against one that nobody has waited for."""
    now = 0.0
    decisions = Decisions(clock=lambda: now)
    decisions.put(decision("unnoticed", "ns"))
    now = 10.0
    decisions.wait_for_binds("other")
    decisions.put(decision("p", "ns"))
    assert decisions._in_flight


@pytest.mark.parametrize(("completes", "seconds"), [(False, IN_FLIGHT_SECONDS), (True, GROUP_SECONDS)])
def test_binds_of_a_group(*, completes: bool, seconds: float) -> None:
    """They come only after its last filter, so none of its pods waits; others do, for longer if enough pods of it fit."""
    decisions = Decisions(clock=lambda: 0.0)
    decisions.put(decision("a", "ns"), "ns/g")
    decisions.wait_for_binds("b", "ns/g")
    decisions.put(decision("b", "ns"), "ns/g", completes=completes)
    assert {each.until for each in decisions._in_flight.values()} == {seconds}
    for uid in "ab":
        decisions.ended(uid)
    decisions.wait_for_binds("c")


def test_binds_of_a_group_that_come_meanwhile() -> None:
    """They are not waited for afterwards, as its binds of before were."""
    decisions = Decisions()
    decisions.put(decision("a", "ns"), "ns/g", completes=True)
    decisions.put(decision("b", "other"))
    waiting = Thread(target=decisions.wait_for_binds, args=("c", "ns/g"))
    waiting.start()
    for uid in "ab":
        decisions.ended(uid)
    waiting.join()
    assert not decisions._in_flight


def test_pods_of_a_large_group_are_looked_at_once() -> None:
    """The attack: each pod was another look at all before it; with 3,000 of them a filter took 17 ms for that."""
    decisions = Decisions(clock=lambda: 0.0)
    for place in range(300):
        decisions.wait_for_binds(f"p{place}", "ns/g")
        decisions.put(decision(f"p{place}", "ns"), "ns/g")
        assert len(decisions._in_flight) == 1
    (group,) = decisions._in_flight.values()
    assert len(group.uids) == 300
