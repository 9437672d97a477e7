"""The scheduling queue of kube-scheduler 1.30, as far as the number and the times of attempts depend on it.

A pod that could not be scheduled waits for an event that concerns a plugin which turned it down. If there was an event while
its attempt went on, the pod waits for the end of its back-off instead. (The gate SchedulerQueueingHints, with which plugins
look at events more closely, is off by default in 1.30.)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 10.0
#: How often the queue looks for pods whose back-off is over.
FLUSH_SECONDS = 1.0
#: How long a pod waits for an event at most, and after how many looks the queue looks for such pods.
MAX_UNSCHEDULABLE_SECONDS, FORGOTTEN_LOOKS = 300.0, 30

ACTIVE, BACKOFF, UNSCHEDULABLE = "Active", "Backoff", "Unschedulable"
#: Of pods that are not the scheduler's.
NOT_QUEUED = "NotQueued"


@dataclass(eq=False)
class QueuedPod:
    """A pod that waits to be scheduled.

    :ivar key: its name, with its namespace.
    :ivar attempts: how many have begun.
    :ivar rejected_by: the plugins that turned it down, in its last attempt or before it could begin.
    :ivar pending_in: those of them that wait for something outside.
    :ivar since: when its last attempt ended.
    :ivar is_gated: whether it must not be attempted yet.
    """

    key: str
    attempts: int = 0
    rejected_by: frozenset[str] = frozenset()
    pending_in: frozenset[str] = frozenset()
    since: float = 0.0
    is_gated: bool = False


@dataclass
class SchedulingQueue:
    """Pods of one scheduler.

    :ivar may_enter: whether plugins allow an attempt (PreEnqueue).
    :ivar moved: told of each pod that gets into another part of the queue: the pod, the part, the cause.
    """

    may_enter: Callable[[QueuedPod], bool]
    moved: Callable[[QueuedPod, str, str], None]
    initial_backoff: float = INITIAL_BACKOFF_SECONDS
    max_backoff: float = MAX_BACKOFF_SECONDS
    _active: asyncio.Queue[QueuedPod] = field(default_factory=asyncio.Queue)
    _backoff: list[QueuedPod] = field(default_factory=list)
    _unschedulable: dict[str, QueuedPod] = field(default_factory=dict)
    _cycle: int = 0
    _cycle_of_move: int = -1

    def add(self, key: str) -> None:
        """A new pod."""
        self._activate(QueuedPod(key, since=self._now()), "PodAdd")

    async def pop(self) -> QueuedPod:
        """The next pod to be scheduled; its attempt begins."""
        pod = await self._active.get()
        pod.attempts += 1
        self._cycle += 1
        pod.rejected_by = pod.pending_in = frozenset()
        return pod

    def give_back(self, pod: QueuedPod, rejected_by: frozenset[str], pending_in: frozenset[str]) -> None:
        """An attempt has failed.

        :param rejected_by: the plugins that turned the pod down; none after errors.
        :param pending_in: those that wait for something outside.
        """
        pod.rejected_by, pod.pending_in, pod.since = rejected_by, pending_in, self._now()
        if self._cycle_of_move >= self._cycle or not rejected_by:
            self._back_off(pod, "ScheduleAttemptFailure")
        else:
            self._unschedulable[pod.key] = pod
            self.moved(pod, UNSCHEDULABLE, "ScheduleAttemptFailure")

    def tell(self, event: str, plugins: frozenset[str], excepted: str = "") -> None:
        """Something has happened that may help pods.

        :param plugins: which turn down pods that it may help.
        :param excepted: a pod that stays where it is.
        """
        for pod in list(self._unschedulable.values()):
            if pod.key == excepted or pod.rejected_by.isdisjoint(plugins):
                continue
            del self._unschedulable[pod.key]
            self._requeue(pod, event, at_once=not pod.pending_in.isdisjoint(plugins))
        self._cycle_of_move = self._cycle

    def update(self, key: str) -> None:
        """A pod has changed in a way that may help it."""
        pod = self._unschedulable.pop(key, None)
        if pod is not None:
            self._requeue(pod, "PodUpdate", at_once=False)

    def remove(self, key: str) -> None:
        """A pod is gone."""
        self._unschedulable.pop(key, None)
        self._backoff = [each for each in self._backoff if each.key != key]

    async def run(self) -> None:
        """Move pods on whose time has come."""
        for second in count(1):
            await asyncio.sleep(FLUSH_SECONDS)
            self._flush()
            if second % FORGOTTEN_LOOKS == 0:
                self._flush_forgotten()

    @property
    def is_idle(self) -> bool:
        """Whether every pod waits for an event."""
        return self._active.empty() and not self._backoff

    def backoff_of(self, pod: QueuedPod) -> float:
        """How long a pod has to wait after its last attempt."""
        return float(min(self.max_backoff, self.initial_backoff * 2.0 ** min(pod.attempts - 1, 60)))

    def _flush(self) -> None:
        for pod in [each for each in self._backoff if not self._is_backing_off(each)]:
            self._backoff.remove(pod)
            self._activate(pod, "BackoffComplete")

    def _flush_forgotten(self) -> None:
        for pod in list(self._unschedulable.values()):
            if self._now() - pod.since > MAX_UNSCHEDULABLE_SECONDS:
                del self._unschedulable[pod.key]
                self._requeue(pod, "UnschedulableTimeout", at_once=False)

    def _requeue(self, pod: QueuedPod, event: str, *, at_once: bool) -> None:
        if self._is_backing_off(pod) and not at_once:
            self._back_off(pod, event)
        else:
            self._activate(pod, event)

    def _back_off(self, pod: QueuedPod, event: str) -> None:
        self._backoff.append(pod)
        self.moved(pod, BACKOFF, event)

    def _activate(self, pod: QueuedPod, event: str) -> None:
        pod.is_gated = not self.may_enter(pod)
        if pod.is_gated:
            self._unschedulable[pod.key] = pod
        else:
            self._active.put_nowait(pod)
            self.moved(pod, ACTIVE, event)

    def _is_backing_off(self, pod: QueuedPod) -> bool:
        return not pod.is_gated and pod.attempts > 0 and pod.since + self.backoff_of(pod) > self._now()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
