"""The lock of the picture: how long pods take the time of others, and when they are searched for again.

Whoever holds the lock keeps all others waiting, so it knows how much its holder computes. The namespace of a pod that takes
long waits, and no other.

A pod whose search was ended by its time limit is tried again after ever longer pauses. And whatever comes of it, the time
for which the picture is held for a pod is charged to its namespace, but for short answers, as ordinary pods need. The pods of
a namespace together get a fifth of the time, after a first second: meanwhile all of them wait, since it is only known
afterwards which answer takes long. How long it takes to read who may be preempted is up to others: that is charged to an account
of its own, and only preemption waits for it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, RLock
from time import monotonic, thread_time
from typing import NamedTuple, Self

from resourceapi.records.pods import Pod


class PictureLock:
    """For one thread at a time, which may take it again."""

    def __init__(self, clock: Callable[[], float] = thread_time) -> None:
        """`clock`: returns how much the thread has computed, in seconds since any moment."""
        self._clock = clock
        self._lock = RLock()
        self._depth = 0
        self._begun = 0.0

    def __enter__(self) -> Self:
        self._lock.acquire()
        if not self._depth:
            self._begun = self._clock()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        seconds = 0.0 if self._depth else self.seconds
        self._lock.release()
        self.released(seconds)

    @property
    def seconds(self) -> float:
        """How much the holder has computed since it took the lock; for the holder."""
        return self._clock() - self._begun

    def released(self, seconds: float) -> None:
        """Nothing: tests insist here that no holder computes for long.

        :param seconds: how much the holder has computed; 0 if it still holds the lock.
        """


#: How long after a search without an outcome the pod is tried again, at first and at most; twice as long each time.
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 60.0
#: Whoever takes the time of others pauses so many times as long: a namespace as long as it was charged for, which after a rest
#: has its first seconds free, binds that are waited for in vain, explanations of refusals.
PAUSES, FREE_SECONDS = 4, 1.0
#: An answer is free that takes no longer than this, in seconds, and so much for each node.
ANSWER_SECONDS, NODE_SECONDS = 0.002, 0.00002
#: How many pods are remembered.
MOST_PODS = 10_000


def work_in_turns(
    work: Callable[[], None],
    ending: Event,
    *,
    least: float,
    clock: Callable[[], float] = thread_time,
) -> None:
    """Work in the background until told to end, for at most a fifth of the time, however much tenants give to do.

    :param least: the shortest pause, in seconds.
    :param clock: returns how much the thread has computed, in seconds since any moment.
    """
    pause = least
    while not ending.wait(pause):
        begin = clock()
        work()
        pause = max(least, PAUSES * (clock() - begin))


class _Tries(NamedTuple):
    number: int
    retry_at: float


class SearchTime:
    """The pods and namespaces that have to wait; for one thread at a time, as the picture is."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nobody waiting."""
        self.clock = clock
        self._tries: OrderedDict[str, _Tries] = OrderedDict()
        #: by namespace, and by its preemption, when it will have paused for all that it was charged for, also for what is free
        self._paused_until: dict[str, float] = {}
        #: how long the present holder of the picture has read who may be preempted
        self._reading_victims = 0.0

    def retry_at(self, pod: Pod) -> float | None:
        """When it is searched again for a pod; None if that may be now."""
        tries = self._tries.get(pod.uid)
        until = max(tries.retry_at if tries else 0, self._rests_until(pod.namespace))
        return until if until > self.clock() else None

    def may_preempt(self, pod: Pod) -> bool:
        """Whether victims may be looked for now."""
        return self.retry_at(pod) is None and self._rests_until(_preemption(pod.namespace)) <= self.clock()

    def rests(self, namespace: str) -> bool:
        """Whether a namespace pauses for the time that it has taken."""
        return self._rests_until(namespace) > self.clock()

    def _rests_until(self, account: str) -> float:
        return self._paused_until.get(account, 0) - PAUSES * FREE_SECONDS

    @contextmanager
    def holding(self, lock: PictureLock, namespace: str, nodes: int) -> Iterator[None]:
        """Hold the picture for a pod, at the expense of its namespace.

        :param nodes: how many are looked at.
        """
        with lock:
            self._reading_victims = 0.0
            try:
                yield
            finally:
                free, reading = ANSWER_SECONDS + NODE_SECONDS * nodes, self._reading_victims
                for account, seconds in (
                    (namespace, lock.seconds - reading),
                    (_preemption(namespace), reading),
                ):
                    if seconds > free:
                        self._charge(account, seconds)

    @contextmanager
    def reading_victims(self, lock: PictureLock) -> Iterator[None]:
        """Read, while the picture is held for a pod, who may be preempted."""
        before = lock.seconds - self._reading_victims
        try:
            yield
        finally:
            self._reading_victims = lock.seconds - before

    def _charge(self, account: str, seconds: float) -> None:
        now = self.clock()
        still = {name: until for name, until in self._paused_until.items() if until > now}
        still[account] = max(still.get(account, 0), now - seconds) + (1 + PAUSES) * seconds
        self._paused_until = still

    def late(self, pod: Pod) -> float:
        """Note a search that its time limit has ended; when the next one may begin."""
        now, before = self.clock(), self._tries.pop(pod.uid, _Tries(0, 0))
        pause = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(before.number, 10))
        self._tries[pod.uid] = _Tries(before.number + 1, now + pause)
        if len(self._tries) > MOST_PODS:
            self._tries.popitem(last=False)
        return now + pause

    def decided(self, pod: Pod) -> None:
        """Note a search with an outcome."""
        self._tries.pop(pod.uid, None)


def _preemption(namespace: str) -> str:
    """The account of the time for reading whom pods of a namespace may preempt; no namespace has such a name."""
    return f"{namespace}/preemption"
