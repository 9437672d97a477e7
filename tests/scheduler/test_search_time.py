"""Pods whose search the time limit has ended: they are answered from memory until they are tried again, and leave time for others."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from threading import Event

import pytest

from allocator.scheduling import SchedulingState
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import read_pod
from scheduler.extender_api import CandidateNodes, PreemptionRequest, Victims
from scheduler.filtering import Filter, NobodyWaits, Refused
from scheduler.picture_lock import FREE_SECONDS, PAUSES, PictureLock, SearchTime, work_in_turns
from scheduler.preempting import Preemption
from tests.scheduler.test_filtering import NODES, Cluster, allocation, claim, pod

UNDECIDED = "undecided in 0 ms"


class Loop:
    """A filter without any time, whose searches take a second each by a clock that is set by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float = 1.0, limit: float = 0.0) -> None:
        self.now, self.searches = 100.0, 0
        self.cluster = Cluster()
        self.refused: list[Refused] = []
        for number in range(40):
            self.cluster.picture.claim_objects.put(claim(f"c{number}", count=3))
        self.cluster.picture.lock = PictureLock(lambda: self.now)
        search_time = SearchTime(lambda: self.now)
        self.filter = Filter(
            self.cluster.picture,
            self.cluster.decisions,
            seconds=limit,
            search_time=search_time,
            refused=self.refused.append,
        )
        self._preemption = Preemption(self.cluster.picture, seconds=0.0, search_time=search_time)
        search = SchedulingState.filter

        def slow(state: SchedulingState, *arguments: object, **more: object) -> object:
            self.searches += 1
            self.now += seconds
            return search(state, *arguments, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(SchedulingState, "filter", slow)

    def ask(self, number: int, nodes: tuple[str, ...] = NODES) -> set[str]:
        """The different reasons for which a pod is refused."""
        self.cluster.decisions.clear()
        return set(self.filter.answer(CandidateNodes(self.pod(number), nodes)).failed.values())

    def preempt(self, number: int) -> None:
        """Ask for victims: there is no time to find out whether there are any."""
        asked = PreemptionRequest(self.pod(number), {name: Victims(["uid-x"], 0) for name in NODES})
        assert self._preemption.victims(asked) == {}

    def pod(self, number: int) -> Object:
        """One of the pods, which ask for more than there is."""
        return pod(f"p{number}", f"c{number}")


def test_undecided_pod_is_not_searched_for_again_before_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever events make kube-scheduler ask; other nodes than before have the same words."""
    loop = Loop(monkeypatch, seconds=0.01)
    for gain in range(20):
        assert loop.ask(0, NODES if gain % 2 else ("n1",)) == {UNDECIDED}
        loop.cluster.picture.nodes.put({"metadata": {"name": "n1", "labels": {"a": str(gain)}}})
    assert (loop.searches, len(loop.refused)) == (1, 1)
    loop.now += 1
    assert loop.ask(0) == {UNDECIDED}
    assert loop.searches == 2


def test_pods_whose_claims_are_allocated_wait_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the claims are available may take long to find out, too."""
    loop = Loop(monkeypatch)
    shared = claim("shared")
    shared["status"] = {"allocation": allocation("n1", "gpu-0")}
    loop.cluster.picture.claim_objects.put(shared)
    for number in range(10):
        loop.cluster.decisions.clear()
        loop.filter.answer(CandidateNodes(pod(f"p{number}", "shared"), NODES))
    assert loop.searches == 1 + FREE_SECONDS


def test_many_pods_of_a_namespace_leave_most_of_the_time_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are told when they are tried again."""
    loop = Loop(monkeypatch)
    begin = loop.now
    for number in range(40):
        assert loop.ask(number) == {UNDECIDED}
    assert loop.searches <= FREE_SECONDS + 1
    assert {each.pod.uid for each in loop.refused} == {f"uid-p{number}" for number in range(40)}
    assert all(each.retry_at is not None for each in loop.refused)
    for _ in range(100):
        loop.now += 1
        for number in range(40):
            loop.ask(number)
    assert loop.searches <= FREE_SECONDS + (loop.now - begin) / (1 + PAUSES) + 2


def test_searches_for_victims_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """kube-scheduler asks for them before it asks where the pod fits, if no node has enough CPU."""
    loop = Loop(monkeypatch)
    begin = loop.now
    for _ in range(100):
        for number in range(40):
            loop.preempt(number)
        loop.now += 1
    assert 1 < loop.searches <= FREE_SECONDS + (loop.now - begin) / (1 + PAUSES) + 2


def test_reading_victims_makes_only_preemption_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much there is to read is up to other namespaces; it takes a fifth of the time all the same."""
    loop = Loop(monkeypatch, seconds=0.0)
    for number in range(20):
        low = pod(f"low{number}", f"low{number}")
        low["metadata"]["namespace"] = "other"
        low["spec"] |= {"nodeName": "n1", "priority": -1}
        loop.cluster.picture.pods.put(low)
    claims, reads = loop.cluster.picture.claims, 0
    look_up = claims.get

    def slow(key: str) -> Claim | None:
        nonlocal reads
        if key.startswith("other/"):
            reads += 1
            loop.now += 0.01
        return look_up(key)

    monkeypatch.setattr(claims, "get", slow)
    search_time = SearchTime(lambda: loop.now)
    preemption = Preemption(loop.cluster.picture, seconds=60.0, search_time=search_time)
    begin = loop.now
    for _ in range(100):
        preemption.victims(PreemptionRequest(loop.pod(0), {"n1": Victims(["uid-x"], 0)}))
        assert search_time.retry_at(read_pod(loop.pod(1))) is None
        loop.now += 0.1
    assert FREE_SECONDS < reads * 0.01 <= FREE_SECONDS + (loop.now - begin) / (1 + PAUSES) + 0.2


def test_other_namespaces_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = Loop(monkeypatch)
    for number in range(5):
        loop.ask(number)
    searches = loop.searches
    other = claim("c", count=3)
    other["metadata"]["namespace"] = "other"
    loop.cluster.picture.claim_objects.put(other)
    asked = pod("p", "c")
    asked["metadata"]["namespace"] = "other"
    loop.filter.answer(CandidateNodes(asked, NODES))
    assert loop.searches == searches + 1


def fitting(loop: Loop, number: int) -> None:
    """The pod asks for what there is."""
    loop.cluster.picture.claim_objects.put(claim(f"c{number}", version=2))


def with_fatal_error(loop: Loop, number: int) -> None:
    """The pod asks for more than a claim may have."""
    loop.cluster.picture.claim_objects.put(claim(f"c{number}", count=33, version=2))


def without_class(loop: Loop, number: int) -> None:
    """The pod asks for a class that does not exist."""
    loop.cluster.picture.classes.remove({"metadata": {"name": "gpu"}})


@pytest.mark.parametrize("made", [fitting, with_fatal_error, without_class])
def test_all_time_counts_whatever_comes_of_it(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[Loop, int], None]
) -> None:
    """A namespace that takes much of it waits; another one, and what is answered soon, does not."""
    loop = Loop(monkeypatch, limit=5.0)
    for number in range(5):
        made(loop, number)
        loop.ask(number)
    assert loop.searches <= FREE_SECONDS + 1
    assert loop.refused[-1].retry_at is not None
    short = Loop(monkeypatch, seconds=0.01, limit=5.0)
    for number in range(40):
        made(short, number)
        short.ask(number)
    assert short.searches == 40


def test_errors_count_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even an error of ours is at the expense of the namespace."""
    loop = Loop(monkeypatch)
    search = SchedulingState.filter

    def fails(state: SchedulingState, *arguments: object, **more: object) -> object:
        search(state, *arguments, **more)  # type: ignore[arg-type]
        raise RuntimeError

    monkeypatch.setattr(SchedulingState, "filter", fails)
    for number in range(3):
        with pytest.raises(RuntimeError) if number < FREE_SECONDS + 1 else nullcontext():
            loop.ask(number)
    assert loop.searches == FREE_SECONDS + 1


@pytest.mark.parametrize(
    "looks", [0, 1], ids=["before it has the picture", "while it waited for the picture"]
)
def test_nothing_is_searched_for_when_nobody_waits(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    loop = Loop(monkeypatch)
    answers = iter([True] * looks + [False])
    with pytest.raises(NobodyWaits):
        loop.filter.answer(CandidateNodes(loop.pod(0), NODES), lambda: next(answers))
    assert (loop.searches, loop.refused) == (0, [])


def test_background_work_takes_a_fifth_of_the_time() -> None:
    """However long it takes, which tenants decide; what takes no time begins again after the shortest pause."""
    now, works, pauses = 0.0, iter((0.0, 0.5, 30.0)), list[float]()

    class Ending(Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0.0)
            return len(pauses) > 3

    def work() -> None:
        nonlocal now
        now += next(works)

    work_in_turns(work, Ending(), least=1.0, clock=lambda: now)
    assert pauses == [1.0, 1.0, PAUSES * 0.5, PAUSES * 30.0]
