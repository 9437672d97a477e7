"""Which pods wait for claims that do not exist, or that they cannot use: kube-scheduler does not ask about them, and says nothing of them.

They are looked for again and again, in each namespace by itself: the claims of its pods count for it, and namespaces take turns by what
has been counted, so that those of one do not keep others from being told.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from heapq import heappop, heappush

from resourceapi.records.pods import Pod
from scheduler.cluster_picture import ClusterPicture
from scheduler.pod_claims import ClaimProblem, stored_claims_for

#: How often pods are looked for that wait for their claims, and how many claims of theirs are looked up at a time.
SEARCH_SECONDS = 5.0
MOST_CLAIMS_AT_ONCE = 4_000


class _Search:
    """The pods of a namespace that are still to be looked at, and those that have been found to wait."""

    __slots__ = ("found", "left", "waited")

    def __init__(self, left: list[str], waited: frozenset[str]) -> None:
        self.left = left
        #: what the search before has found
        self.waited = waited
        self.found: set[str] = set()


class MissingClaims:
    """Looks for the pods of a scheduler that wait for claims; for one thread."""

    def __init__(self, picture: ClusterPicture, scheduler_name: str, now: float) -> None:
        self._picture = picture
        self._scheduler_name = scheduler_name
        self._search_at = now + SEARCH_SECONDS
        #: the namespaces that are searched, by how much has been counted for each
        self._turns: list[tuple[int, str]] = []
        self._searches: dict[str, _Search] = {}

    def look(self, now: float) -> Iterator[tuple[Pod, str]]:
        """Go on; the pods whose claims have been missing for two searches, each with what it waits for."""
        if now >= self._search_at:
            self._search_at = now + SEARCH_SECONDS
            self._begin()
        looked_up = 0
        while self._turns and looked_up < MOST_CLAIMS_AT_ONCE:
            counted, namespace = heappop(self._turns)
            search = self._searches[namespace]
            pod = self._picture.pods.objects.get(search.left.pop())
            if pod is not None and self._may_wait(pod):
                looked_up += 1 + len(pod.claims)
                counted += 1 + len(pod.claims)
                if problem := self._problem(pod):
                    search.found.add(pod.uid)
                    if pod.uid in search.waited:
                        yield pod, problem
            if search.left:
                heappush(self._turns, (counted, namespace))

    def _begin(self) -> None:
        """Search the namespaces that are not being searched; they come after nobody, and before nobody for long."""
        waiting: dict[str, list[str]] = defaultdict(list)
        for key, pod in list(self._picture.pods.objects.items()):
            if self._may_wait(pod):
                waiting[pod.namespace].append(key)
        least = self._turns[0][0] if self._turns else 0
        searched = {namespace: self._searches[namespace] for _, namespace in self._turns}
        for namespace, pods in waiting.items():
            if namespace not in searched:
                before = self._searches.get(namespace)
                searched[namespace] = _Search(pods[::-1], frozenset(before.found if before else ()))
                heappush(self._turns, (least, namespace))
        self._searches = searched

    def _may_wait(self, pod: Pod) -> bool:
        return pod.scheduler_name == self._scheduler_name and not pod.node and not pod.is_leaving

    def _problem(self, pod: Pod) -> str:
        try:
            with self._picture.lock:
                stored_claims_for(pod, self._picture.claims)
        except ClaimProblem as problem:
            return str(problem)
        return ""
