"""Waking pods that fit on no node once something has changed that could help them.

kube-scheduler retries a refused pod by itself when claims, classes, nodes or pods change, but not for ResourceSlices,
DeviceTaintRules, and what only the sidecar knows. And where it does, it may ask before the change has arrived here: then
the pod is refused once more, and nothing follows. So whoever was refused on a picture that has improved since is woken,
unless kube-scheduler has asked again by then.

The means is a ResourceClaim that nobody uses: kube-scheduler retries a pod that an extender has refused whenever any
ResourceClaim changes (docs/explanation/waking.md).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from threading import Event, Lock
from time import monotonic

from cluster.leading import reason_of
from cluster.store import Change, version_of
from resourceapi.api_client import CONFLICT, CREATED, NOT_FOUND, OK, Api, Unavailable, expect
from resourceapi.kinds import CLAIM
from resourceapi.logs import log
from resourceapi.manifests import mapping
from resourceapi.model.versions import GROUP
from resourceapi.records.claims import Claim, reservations
from resourceapi.records.pods import Pod
from resourceapi.times import micro_now
from scheduler.cluster_picture import ClusterPicture, HelpedBy
from scheduler.filtering import Refused
from scheduler.pod_claims import ClaimProblem, stored_claims_for

API_VERSION = f"{GROUP}/v1"
#: When pods were last woken.
ANNOTATION = "claimcheck.example.com/woken-at"


class WakeUpClaim:
    """Changes the claim, and makes it where there is none."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self._api = api
        self._collection = f"/apis/{API_VERSION}/namespaces/{namespace}/{CLAIM.resource}"
        self._name = name

    def touch(self) -> int:
        """Have kube-scheduler retry the pods that were refused.

        :returns: the resourceVersion that the claim has with that.
        :raises Unavailable: if the claim could not be changed.
        """
        path = f"{self._collection}/{self._name}"
        annotations = {"annotations": {ANNOTATION: micro_now()}}
        answer = self._api.request("PATCH", path, {"metadata": annotations})
        if answer[0] == NOT_FOUND:
            claim = {**_NEVER_MET, "metadata": {"name": self._name, **annotations}}
            answer = self._api.request("POST", self._collection, claim)
        if answer[0] == CONFLICT:  # somebody has just made it
            answer = self._api.request("PATCH", path, {"metadata": annotations})
        return version_of(expect(answer, f"writing {path}", OK, CREATED))


#: It could never get a device, were it ever used.
_NEVER_MET = {
    "apiVersion": API_VERSION,
    "kind": CLAIM.name,
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "none",
                    "exactly": {"deviceClassName": "none", "selectors": [{"cel": {"expression": "false"}}]},
                }
            ]
        }
    },
}


#: How often the picture is looked at, in seconds. A change is left to kube-scheduler for one to two such times.
TICK_SECONDS = 0.05
#: The shortest time between two wake-ups.
PAUSE_SECONDS = 0.5
#: How many refused pods are remembered; for others, every change that could help anybody is taken to help them.
MOST_PODS = 10_000


@dataclass
class _Waiting:
    """A pod that was refused.

    :ivar helped_by: what may help it.
    :ivar gains: what that had brought when it was refused (:meth:`ClusterPicture.gains_for`); less if a claim of the pod has
        changed since.
    :ivar retry_at: when it is tried again whatever happens; None if that is of no use.
    """

    pod: Pod
    helped_by: HelpedBy
    gains: int
    retry_at: float | None = None


class Waking:
    """Remembers refused pods, and wakes all of them when one could fit; may be used by many threads."""

    def __init__(
        self,
        picture: ClusterPicture,
        wake: Callable[[], None],
        leads: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Begin to follow a picture; :meth:`run` wakes.

        :param wake: has kube-scheduler retry all pods that were refused; raises Unavailable if it cannot.
        :param leads: whether this replica answers kube-scheduler.
        """
        self._picture = picture
        self._wake = wake
        self._leads = leads
        self._clock = clock
        self._lock = Lock()  # for the next two and `_dropped`; never held while the picture's is taken
        self._waiting: OrderedDict[str, _Waiting] = OrderedDict()
        self._users: dict[str, set[str]] = {}  # by the key of a claim, the uids of waiting pods
        # Another replica may have refused pods, and changes may have come while none led.
        self._owed = True
        self._dropped = False
        # of the last look at all pods: which gains they were compared with, and when the first of them is tried again
        self._compared: dict[HelpedBy, int] = {}
        self._next_retry = inf
        self._has_news = False  # whether a pod may be due whatever these are
        self._gains_before = self._gains()
        self._not_before = clock()
        self._failure = ""  # why pods could not be woken the last time, which has been told
        #: how many times pods were woken
        self.wake_ups = 0
        picture.pods.listen(self._pods_changed)
        picture.claims.listeners.append(self._claim_changed)

    def __len__(self) -> int:
        """How many refused pods are remembered."""
        return len(self._waiting)

    def refused(self, refused: Refused) -> None:
        """Remember a pod that fits on none of the nodes."""
        pod = refused.pod
        with self._lock:
            self._forget(pod.uid)
            waiting = _Waiting(pod, refused.helped_by, refused.gains, refused.retry_at)
            self._waiting[pod.uid] = waiting
            self._has_news = True
            for key in pod.claim_keys:
                self._users.setdefault(key, set()).add(pod.uid)
            if len(self._waiting) > MOST_PODS:
                self._forget(next(iter(self._waiting)))
                self._dropped = True
        if self._has_changed(refused):
            with self._lock:
                waiting.gains = -1
                self._has_news = True

    def run(self, ending: Event) -> None:
        """Wake pods until told to end."""
        while not ending.wait(TICK_SECONDS):
            self.look()

    def look(self) -> None:
        """Wake pods if something has changed that could help one of them, and kube-scheduler has left it to us."""
        if not self._leads():
            self._let_go()
            return
        gains, before, now = self._gains(), self._gains_before, self._clock()
        self._gains_before = gains
        with self._lock:
            self._owed = self._owed or (self._dropped and gains != before)
            due = self._owed or (self._may_be_due(before, now) and self._is_any_due(before, now))
            if not due or now < self._not_before:
                return
            self._owed = True
            for each in self._waiting.values():
                each.gains = gains[each.helped_by]
                if each.retry_at is not None and each.retry_at <= now:
                    each.retry_at = None
        self._not_before = now + PAUSE_SECONDS
        try:
            self._wake()
        except Unavailable as error:
            if error.reason != self._failure:
                log(logging.WARNING, "pods not woken", **reason_of(error))
            self._failure = error.reason
            return
        self._failure = ""
        self._owed = False
        self.wake_ups += 1

    def _may_be_due(self, gains: Mapping[HelpedBy, int], now: float) -> bool:
        """Whether anything has changed for any pod since all were looked at: there may be thousands."""
        return self._has_news or gains != self._compared or now >= self._next_retry

    def _is_any_due(self, gains: Mapping[HelpedBy, int], now: float) -> bool:
        waiting = self._waiting.values()
        found = any(_is_due(each, gains, now) for each in waiting)
        self._compared, self._has_news = dict(gains), found
        self._next_retry = min((each.retry_at for each in waiting if each.retry_at is not None), default=inf)
        return found

    def _gains(self) -> dict[HelpedBy, int]:
        return {each: self._picture.gains_for(each) for each in HelpedBy}

    def _let_go(self) -> None:
        with self._lock:
            self._owed = True
            self._dropped = False
            self._waiting.clear()
            self._users.clear()

    def _pods_changed(self, changes: Sequence[Change[Pod]]) -> None:
        for change in changes:
            if change.before is not None and (change.after is None or change.after.node):
                with self._lock:
                    self._forget(change.before.uid)

    def _claim_changed(self, change: Change[Claim]) -> None:
        if _may_help(change):
            with self._lock:
                for uid in self._users.get(change.key, ()):
                    self._waiting[uid].gains = -1
                    self._has_news = True

    def _has_changed(self, refused: Refused) -> bool:
        """Whether a claim of the pod is not as it was when the pod was refused."""
        ledger = self._picture.claims
        with self._picture.lock:
            if refused.problem:
                try:
                    stored_claims_for(refused.pod, ledger)
                except ClaimProblem as problem:
                    return str(problem) != refused.problem
                return True
            known = [(each, ledger.get(each.key)) for each in refused.claims]
            return any(
                now is None
                or (now.object is not each.object and version_of(now.object) != version_of(each.object))
                for each, now in known
            )

    def _forget(self, uid: str) -> _Waiting | None:
        waiting = self._waiting.pop(uid, None)
        for key in waiting.pod.claim_keys if waiting else ():
            users = self._users.get(key)
            if users is not None:
                users.discard(uid)
                if not users:
                    del self._users[key]
        return waiting


def _is_due(waiting: _Waiting, gains: Mapping[HelpedBy, int], now: float) -> bool:
    return waiting.gains < gains[waiting.helped_by] or (
        waiting.retry_at is not None and waiting.retry_at <= now
    )


def _may_help(change: Change[Claim]) -> bool:
    """Whether a pod could use the claim after a change, but not before; drivers tell there of conditions of devices."""
    before, after = change.before, change.after
    if before is None or after is None:
        return True
    has_left = len(reservations(after.object)) < len(reservations(before.object))
    told_before, told = [mapping(each.object, "status").get("devices") for each in (before, after)]
    return has_left or told_before != told or before.allocation != after.allocation
