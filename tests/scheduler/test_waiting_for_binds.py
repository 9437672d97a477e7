"""How long a filter waits for the binds of other pods: a moment each, and no longer for those that never come."""

from __future__ import annotations

from threading import Thread
from time import monotonic
from typing import cast

from allocator.answers import Answers
from scheduler.decisions import IN_FLIGHT_SECONDS, Decision, Decisions

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


def test_binds_of_others_are_waited_for_meanwhile() -> None:
    """Also of the same namespace, after the pause."""
    decisions = Decisions()
    decisions.put(decision("late", "stranger"))
    assert seconds(decisions) >= IN_FLIGHT_SECONDS / 2
    decisions.put(decision("p", "ns"))
    decisions.put(decision("later", "stranger"))
    waiting = Thread(target=decisions.wait_for_binds, args=("other",))
    waiting.start()
    waiting.join(IN_FLIGHT_SECONDS / 5)
    assert waiting.is_alive()
    decisions.bound("p")
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
