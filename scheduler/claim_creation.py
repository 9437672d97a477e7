"""Notices pods that wait for claims which kube-controller-manager should have created from templates.

Nobody else creates them: a second controller beside kube-controller-manager's would make second claims for the same pods.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from threading import Event
from time import monotonic

from resourceapi.logs import log
from resourceapi.records.pods import Pod
from scheduler.server_check import CUSTOM_RESOURCES

LATE_SECONDS = 30.0
_LOOK_SECONDS = 10.0
_WHY = "the pod's events say why, if kube-controller-manager runs its claim controller"
_WHY_WITH_CRDS = (
    "where CRDs serve resource.k8s.io, kube-controller-manager creates claims only with "
    "--kube-api-content-type=application/json"
)


class ClaimCreation:
    """Counts pods that have waited too long, and logs when there are some, and when there are none any more."""

    def __init__(
        self,
        pods: Mapping[str, Pod],
        scheduler_name: str,
        serves: str,
        show: Callable[[int], None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Make it ready; :meth:`run` looks from time to time.

        :param pods: all that reference claims.
        :param scheduler_name: only its pods count.
        :param serves: BuiltIn or CustomResources.
        :param show: is told how many pods have waited too long.
        """
        self._pods = pods
        self._scheduler_name = scheduler_name
        self._serves = serves
        self._show = show
        self._clock = clock
        self._since: dict[str, float] = {}
        self._late = 0

    def run(self, ending: Event) -> None:
        """Look until told to end."""
        while not ending.wait(_LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Count the pods that wait."""
        now = self._clock()
        waiting = [pod for pod in list(self._pods.values()) if self._waits(pod)]
        self._since = {pod.uid: self._since.get(pod.uid, now) for pod in waiting}
        late = [pod for pod in waiting if now - self._since[pod.uid] >= LATE_SECONDS]
        self._show(len(late))
        if late and not self._late:
            log(
                logging.WARNING,
                "claims are not created",
                pods=len(late),
                example=late[0].key,
                seconds=LATE_SECONDS,
                advice=self._advice(),
            )
        elif self._late and not late:
            log(logging.INFO, "claims are created again")
        self._late = len(late)

    def _advice(self) -> str:
        """Claims that were created for other pods show that kube-controller-manager can do it."""
        creates = any(
            each.is_generated and each.claim for pod in list(self._pods.values()) for each in pod.claims
        )
        return _WHY_WITH_CRDS if self._serves == CUSTOM_RESOURCES and not creates else _WHY

    def _waits(self, pod: Pod) -> bool:
        return (
            pod.scheduler_name == self._scheduler_name
            and not pod.is_leaving
            and any(each.is_needed and not each.claim for each in pod.claims)
        )
