"""When it is searched again for the devices of a pod, if a search was ended by its time limit: such searches leave time for others.

A pod is tried again after ever longer pauses. And the pods of a namespace together get a fifth of the time for searches
without an outcome, after a first second: meanwhile all its pods wait, since it is only known afterwards which search is long.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

from scheduler.pods import PodRecord

#: How long after a search without an outcome the pod is tried again, at first and at most; twice as long each time.
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 60.0
#: Searches without an outcome are followed by a pause of the namespace so many times as long, but for the first seconds.
PAUSES, FREE_SECONDS = 4, 1.0
#: How many pods are remembered.
MOST_PODS = 10_000


class _Tries(NamedTuple):
    number: int
    retry_at: float


class SearchTime:
    """The pods and namespaces that have to wait; for one thread at a time, as the picture is."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nobody waiting."""
        self.clock = clock
        self._tries: OrderedDict[str, _Tries] = OrderedDict()
        #: by namespace, when its searches and the pauses that belong to them will have passed
        self._paused_until: dict[str, float] = {}

    def retry_at(self, pod: PodRecord) -> float | None:
        """When it is searched again for a pod; None if that may be now."""
        tries = self._tries.get(pod.uid)
        rests_until = self._paused_until.get(pod.namespace, 0) - PAUSES * FREE_SECONDS
        until = max(tries.retry_at if tries else 0, rests_until)
        return until if until > self.clock() else None

    def ended(self, pod: PodRecord, seconds: float) -> float:
        """Note a search without an outcome.

        :param seconds: how long it took.
        :returns: when the next one may begin.
        """
        now, before = self.clock(), self._tries.pop(pod.uid, _Tries(0, 0))
        pause = min(LAST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2.0 ** min(before.number, 10))
        self._tries[pod.uid] = _Tries(before.number + 1, now + pause)
        if len(self._tries) > MOST_PODS:
            self._tries.popitem(last=False)
        still = {namespace: until for namespace, until in self._paused_until.items() if until > now}
        still[pod.namespace] = max(still.get(pod.namespace, 0), now - seconds) + (1 + PAUSES) * seconds
        self._paused_until = still
        return max(now + pause, still[pod.namespace] - PAUSES * FREE_SECONDS)

    def decided(self, pod: PodRecord) -> None:
        """Note a search with an outcome."""
        self._tries.pop(pod.uid, None)
