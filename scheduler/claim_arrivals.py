"""Claims that kube-scheduler has seen already, and the picture has not: the event about them is on its way.

kube-scheduler asks about a pod once its claims exist. A refusal for want of one would be an event of a pod that is bound at once.
"""

from __future__ import annotations

from threading import Condition
from time import monotonic

from cluster.store import Change
from resourceapi.objects import Object
from resourceapi.records.pods import Pod
from scheduler.cluster_picture import ClusterPicture

#: How long a filter waits for claims that are not known; after it has done so in vain, none waits for the longer time.
SECONDS, PAUSE_SECONDS = 0.2, 60.0


class ClaimArrivals:
    """Waits for claims; may be used by many threads."""

    def __init__(self, picture: ClusterPicture, seconds: float = SECONDS) -> None:
        """Follow a picture."""
        self._claims = picture.claim_objects.objects
        self._seconds = seconds
        self._not_before = 0.0
        self._arrived = Condition()  # its lock is taken with that of the picture, not the other way round
        picture.claims.listeners.append(self._changed)

    def wait_for_claims(self, pod: Pod) -> None:
        """Wait until the claims of a pod are known, or are not going to come; without the picture's lock."""
        with self._arrived:
            if monotonic() < self._not_before:
                return
            if not self._arrived.wait_for(lambda: self._are_known(pod), self._seconds):
                self._not_before = monotonic() + PAUSE_SECONDS

    def _are_known(self, pod: Pod) -> bool:
        return all(key in self._claims for key in pod.claim_keys)

    def _changed(self, change: Change[Object]) -> None:
        with self._arrived:
            self._arrived.notify_all()
