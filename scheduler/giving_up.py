"""Pods that wait for binding conditions in vain: their devices are taken back.

Neither filter nor bind can do that, since kube-scheduler may not ask about the pod: for as long as its node has not enough CPU,
say, which is not kept for a pod that waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event

from cluster.leading import NotLeading
from cluster.store import Change
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler.binding_conditions import BindingConditions
from scheduler.cluster_picture import ClusterPicture
from scheduler.picture_lock import work_in_turns
from scheduler.pod_allocation import InUse
from scheduler.releasing import Releaser

LOOK_SECONDS = 1.0


class GivingUp:
    """Looks at the conditions of all pods that wait; in a thread of its own."""

    def __init__(
        self,
        picture: ClusterPicture,
        conditions: BindingConditions,
        releaser: Releaser,
        *,
        scheduler_name: str,
        tell: Callable[[Pod, str], None],
    ) -> None:
        """Make it ready; :meth:`run` begins.

        :param scheduler_name: of the pods that are looked after.
        :param tell: is told why a pod has lost its devices.
        """
        self._picture = picture
        self._conditions = conditions
        self._releaser = releaser
        self._scheduler_name = scheduler_name
        self._tell = tell
        #: the keys of claims whose devices have conditions: other claims keep nobody waiting
        self._conditional: set[str] = set()
        picture.claims.listeners.append(self._claim_changed)

    def run(self, ending: Event) -> None:
        """Look at pods until told to end."""
        work_in_turns(self.look, ending, least=LOOK_SECONDS)

    def look(self) -> None:
        """Take back the devices of each pod that waits in vain."""
        if not self._picture.features.binding_conditions:
            return
        with self._picture.lock:
            conditional = frozenset(self._conditional)
        if not conditional:
            return
        for pod in list(self._picture.pods.objects.values()):
            if pod.node or pod.is_leaving or pod.scheduler_name != self._scheduler_name:
                continue
            if conditional.isdisjoint(pod.claim_keys):
                continue
            try:
                self._look_at(pod)
            except NotLeading:
                return
            except InUse:
                continue
            except ClaimcheckError as error:
                log(logging.WARNING, "devices not released", pod=pod.key, reason=str(error))
            except Exception:  # noqa: BLE001 - whatever it is, the other pods are looked at
                LOGGER.exception("devices not released", extra={"fields": {"pod": pod.key}})

    def _claim_changed(self, change: Change[Claim]) -> None:
        results = () if change.after is None else change.after.results
        if any(each.object.get("bindingConditions") for each in results):
            self._conditional.add(change.key)
        else:
            self._conditional.discard(change.key)

    def _look_at(self, pod: Pod) -> None:
        held, reason = self._of_no_use(pod)
        if held and self._releaser.release(pod, held, lambda: self._of_no_use(pod)[0]):
            self._tell(pod, reason)

    def _of_no_use(self, pod: Pod) -> tuple[list[Claim], str]:
        """The claims with which a pod waits in vain as things are now, and why that is so."""
        held = self._conditions.held(pod)
        delay = self._conditions.delay(each.key for each in held)
        return (held, delay.reason) if delay is not None and delay.is_in_vain else ([], "")
