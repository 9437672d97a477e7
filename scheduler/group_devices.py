"""The devices that filter has found for the pods of the PodGroup that kube-scheduler is at.

kube-scheduler looks for nodes for all pods of a PodGroup before it binds one, and binds none if too few fit; it tells an extender
nothing of that. So the devices that are found for each count as taken for the next: filter chooses the node as well. They are
free again as soon as another pod is asked about, or the first one once more, whose binds were not on their way. A bind makes
them its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler.claim_ledger import ClaimLedger


class GroupDevices:
    """Those of one PodGroup at a time, as kube-scheduler looks at one; for who holds the picture's lock."""

    def __init__(self, claims: ClaimLedger) -> None:
        self._claims = claims
        self._group = ""
        #: the pods that have been filtered, and of these those that fit, by uid
        self._pods: set[str] = set()
        self._fitting: set[str] = set()
        #: an AllocationResult for each claim, by key
        self._held: dict[str, Object] = {}

    def begin(self, pod: Pod) -> None:
        """A pod is going to be filtered: drop what was found for others, or in an attempt that has ended."""
        if pod.group_key != self._group or pod.uid in self._pods:
            self.take(list(self._held))
            self._pods.clear()
            self._fitting.clear()
        self._group = pod.group_key
        if pod.group:
            self._pods.add(pod.uid)

    def fits(self, uid: str) -> int:
        """Count a pod that fits; how many do so far."""
        self._fitting.add(uid)
        return len(self._fitting)

    def hold(self, found: Iterable[tuple[Claim, Object]]) -> None:
        """Let the devices count that were found for claims."""
        for claim, allocation in found:
            self._claims.assume(claim.key, claim.uid, allocation)
            self._held[claim.key] = allocation

    def take(self, keys: Iterable[str]) -> dict[str, Object]:
        """Let those of some claims count no longer; what was held for them, by key."""
        taken = {key: self._held.pop(key) for key in keys if key in self._held}
        for key in taken:
            self._claims.withdraw(key)
        return taken
