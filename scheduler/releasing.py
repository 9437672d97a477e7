"""Devices of earlier attempts that keep a pod from the nodes on which it could be: they are taken back.

An attempt that fails late leaves claims with devices on one node. If the pod fits there no longer, and no other pod uses the
claims, kube-scheduler's plugin lets go of them (its extension point PostFilter), and so does this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from threading import Event, Lock

from allocator.errors import AWAY
from allocator.node_fit import NO_FOOTPRINTS, tells_footprints
from cluster.leading import Leader, NotLeading
from cluster.turns import Turns
from resourceapi.api_client import NOT_FOUND, OK, Api, expect
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log
from resourceapi.manifests import mapping, text, uid_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim, Consumer
from resourceapi.records.pods import Pod, pod_path
from scheduler.claim_writes import ClaimWrites
from scheduler.cluster_picture import ClusterPicture
from scheduler.filtering import Refused
from scheduler.pod_allocation import InUse, PodAllocation, Undoing
from scheduler.pod_status import write_pod_status

#: How many pods wait at most; of more, those of the namespace with most are left out, and come again when they are refused again.
MOST_PODS = 1_000
PAUSE_SECONDS, RETRY_SECONDS = 0.1, 1.0


class Releaser:
    """Takes devices back from pods that are on no node, with the writes of an attempt that has failed."""

    def __init__(
        self,
        api: Api,
        picture: ClusterPicture,
        writes: ClaimWrites,
        undoing: Undoing,
        leader: Leader,
    ) -> None:
        """Make it ready."""
        self._api = api
        self._picture = picture
        self._writes = writes
        self._undoing = undoing
        self._leader = leader

    def release(self, pod: Pod, claims: Sequence[Claim], choose: Callable[[], list[Claim]]) -> bool:
        """Take back the reservation of a pod, and the devices of claims that nobody else has reserved; whether there were any.

        :param claims: those that may be released.
        :param choose: which of them are, as they are once nobody else writes to them; called with the picture's lock.
        :raises NotLeading: if it is for another process to do.
        :raises InUse: if a bind writes to one of them.
        """
        term = self._leader.term
        with self._undoing.holding(each.key for each in claims):
            with self._picture.lock:
                chosen = choose()
            found = self._waiting(pod) if chosen else None
            if found is None:
                return False
            tells = tells_footprints(mapping(found, "status"))
            fence = partial(self._leader.insist, term)
            consumer = Consumer.pod(pod.name, pod.uid)
            allocation = PodAllocation(self._picture, self._writes, consumer, fence, (), chosen)
            allocation.release()
            self._undoing.take_back(allocation)
            if tells:
                fence()
                write_pod_status(self._api, pod.namespace, pod.name, pod.uid, NO_FOOTPRINTS)
            log(logging.INFO, "devices released", pod=pod.key, claims=[each.key for each in chosen])
            return True

    def _waiting(self, pod: Pod) -> Object | None:
        """The pod, if it is on no node: a Binding may have arrived of which no answer came."""
        path = pod_path(pod.namespace, pod.name)
        code, answer = self._api.request("GET", path)
        if code == NOT_FOUND:
            return None
        found = expect((code, answer), f"GET {path}", OK)
        is_waiting = uid_of(found) == pod.uid and not text(mapping(found, "spec"), "nodeName")
        return found if is_waiting else None


class Releasing:
    """Takes back devices of pods that filter has refused everywhere; in a thread of its own, so that no filter waits."""

    def __init__(self, picture: ClusterPicture, releaser: Releaser) -> None:
        """Make it ready; :meth:`run` begins."""
        self._picture = picture
        self._releaser = releaser
        self._lock = Lock()  # for the next one
        self._queue: Turns[Refused] = Turns(MOST_PODS)

    def refused(self, refused: Refused) -> None:
        """Note a pod that fits nowhere, if that is because its claims have devices elsewhere, or one that was made for it is of no use."""
        is_away = refused.answer is not None and any(
            each.error == AWAY for each in refused.answer.nodes.outcomes
        )
        if not is_away and refused.left_over is None:
            return
        with self._lock:
            self._queue.put(refused.pod.namespace, refused.pod.uid, refused)

    def run(self, ending: Event) -> None:
        """Take back until told to end."""
        pause = PAUSE_SECONDS
        while not ending.wait(pause):
            pause = RETRY_SECONDS if self.release() else PAUSE_SECONDS

    def release(self) -> int:
        """Take back what can be, for each pod that was noted; for how many it has to be tried again.

        Filter tells of a refusal only once, as long as nothing changes that could help the pod.
        """
        failed = []
        for _ in range(len(self._queue)):
            with self._lock:
                refused = self._queue.take()
            if refused is not None and not self._is_settled(refused):
                failed.append(refused)
        with self._lock:
            for each in failed:
                if each.pod.uid not in self._queue:
                    self._queue.put(each.pod.namespace, each.pod.uid, each)
        return len(failed)

    def _is_settled(self, refused: Refused) -> bool:
        """Take back what can be, for one pod; False if the API server did not do its part."""
        try:
            if refused.left_over is not None:
                self._unmake(refused.pod, refused.left_over)
            else:
                self._release(refused.pod, [each for each in refused.claims if each.is_allocated])
        except NotLeading:
            return True
        except InUse:
            return False
        except ClaimcheckError as error:
            log(logging.WARNING, "devices not released", pod=refused.pod.key, reason=str(error))
            return False
        except Exception:  # noqa: BLE001 - whatever it is, other pods' devices are released
            LOGGER.exception("devices not released", extra={"fields": {"pod": refused.pod.key}})
        return True

    def _release(self, pod: Pod, decided: list[Claim]) -> None:
        def idle() -> list[Claim]:
            return [found for each in decided if (found := self._idle(pod, each)) is not None]

        self._releaser.release(pod, decided, idle)

    def _unmake(self, pod: Pod, left_over: Claim) -> None:
        """Delete a claim that was made for a pod, unless it has changed: then it is asked about again."""

        def chosen() -> list[Claim]:
            found = self._picture.claims.get(left_over.key)
            is_same = found is not None and found.uid == left_over.uid
            return [found] if found and is_same and found.allocation == left_over.allocation else []

        self._releaser.release(pod, [left_over], chosen)

    def _idle(self, pod: Pod, decided: Claim) -> Claim | None:
        """A claim as it is now, if it has devices that no other pod uses."""
        found = self._picture.claims.get(decided.key)
        if found is None or found.uid != decided.uid or not found.is_allocated:
            return None
        return found if all(each.uid == pod.uid for each in found.consumers) else None
