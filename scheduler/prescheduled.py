"""Pods that are created with ``spec.nodeName``: kube-scheduler never sees them, so their claims get devices here.

kube-controller-manager reserves claims that have devices for such pods, and creates those from templates.
Source: Kubernetes documentation, "Dynamic Resource Allocation", section "Pre-scheduled Pods".
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from time import monotonic
from typing import NamedTuple

from allocator.errors import AWAY, OUT_OF_TIME
from allocator.pod_claims import ClaimsOnNode
from allocator.scheduling_outcome import device_reason
from allocator.time_limit import TimeLimit
from cluster.leading import Leader, NotLeading
from cluster.store import Change
from cluster.turns import Turns
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import LOGGER, log
from resourceapi.records.claims import Claim, Consumer
from resourceapi.records.pods import Pod
from scheduler.claim_writes import ClaimWrites
from scheduler.cluster_picture import ClusterPicture
from scheduler.picture_lock import SearchTime, work_in_turns
from scheduler.pod_allocation import Grant, InUse, PodAllocation, Undoing
from scheduler.pod_claims import ClaimProblem, claims_for, shared_claims
from scheduler.refusal_notes import Case, note_on

RETRY_SECONDS = 1.0
#: How long a look may take for the pods of one namespace, after which it is the others' turn, and for those of all.
TURN_SECONDS, LOOK_SECONDS = 1.0, 2.0
#: How long something has been in the way when it is told, and after how long it is told again: events are deleted by then.
QUIET_SECONDS, REPEAT_SECONDS = 5.0, 3600.0

Tell = Callable[[Pod, str], None]
"""Is told why a pod on a node does not run."""


class _Refused(NamedTuple):
    """A claim that keeps its pod waiting.

    :param key: empty while the claim's name is not known.
    :param claim: as it was; None if there was none.
    """

    key: str
    claim: Claim | None


@dataclass
class _Findings:
    """What was found out about a pod.

    :ivar gains: those of the picture when it did not fit; None if it is to be tried.
    :ivar refused: the claim that it cannot use, if there is one; None if its claims are to be gone through.
    :ivar reason: why it does not run; empty if that is not known; for the thread that looks after pods, as is `due`.
    :ivar due: when that is told next.
    """

    gains: int | None = None
    refused: _Refused | None = None
    reason: str = ""
    due: float = 0.0


class PreScheduledPods:
    """Gives devices to the claims of pods that are on a node already."""

    def __init__(
        self,
        picture: ClusterPicture,
        writes: ClaimWrites,
        undoing: Undoing,
        leader: Leader,
        *,
        scheduler_name: str,
        seconds: float,
        search_time: SearchTime | None = None,
        tell: Tell,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Make it ready; :meth:`run` begins.

        :param scheduler_name: of the pods that are looked after.
        :param seconds: how long the allocator may take for one pod.
        """
        self._picture = picture
        self._writes = writes
        self._undoing = undoing
        self._leader = leader
        self._scheduler_name = scheduler_name
        self._seconds = seconds
        self._search_time = search_time or SearchTime()
        self._tell = tell
        self._clock = clock
        self._lock = Lock()  # for the next one and the `gains` in it; the picture's may be held
        #: pods on nodes that may have claims without devices, each with what was found out about it
        self._open: dict[str, _Findings] = {}
        picture.pods.listen(self._changed)

    def __len__(self) -> int:
        """How many pods on nodes may have claims without devices."""
        return len(self._open)

    def run(self, ending: Event) -> None:
        """Look after pods until told to end."""
        work_in_turns(self.look, ending, least=RETRY_SECONDS)

    def look(self) -> None:
        """Look after each pod once, as far as something has changed for it, and its namespace has time left; the others come first next time.

        Namespaces take turns: the first pods of one need not wait for all of another.
        """
        self._drop_late()
        spent: defaultdict[str, float] = defaultdict(float)
        turns: Turns[str] = Turns()
        for each in list(self._open):
            turns.put(each.partition("/")[0], each, each)
        while (key := turns.take()) is not None and sum(spent.values()) < LOOK_SECONDS:
            namespace, begin = key.partition("/")[0], self._clock()
            if spent[namespace] >= TURN_SECONDS:
                continue
            try:
                self._serve(key)
            except NotLeading:
                return
            except InUse:
                continue
            except ClaimcheckError as error:
                log(logging.WARNING, "pod on a node has no devices yet", pod=key, reason=str(error))
            except Exception:  # noqa: BLE001 - whatever it is, the other pods get their devices
                LOGGER.exception("pod on a node has no devices yet", extra={"fields": {"pod": key}})
            spent[namespace] += self._clock() - begin
            self._put_behind(key)

    def _drop_late(self) -> None:
        """Drop what is held for gangs whose binds are late: no filter may come and do so, and whoever was refused for it is woken then."""
        group = self._picture.group_devices
        with self._holding(group.namespace):
            group.end_if_late(is_complete=True)
        group.drop_late(self._holding)

    def _holding(self, namespace: str) -> AbstractContextManager[None]:
        """The picture's lock, for a moment at the expense of a namespace."""
        return self._search_time.holding(self._picture.lock, namespace, 0)

    def _put_behind(self, key: str) -> None:
        with self._lock:
            if key in self._open:
                self._open[key] = self._open.pop(key)

    def _changed(self, changes: Sequence[Change[Pod]]) -> None:
        with self._lock:
            for key, _, pod in changes:
                if pod is None or not self._is_ours(pod):
                    self._open.pop(key, None)
                else:
                    findings = self._open.setdefault(key, _Findings())
                    findings.gains = findings.refused = None

    def _is_ours(self, pod: Pod) -> bool:
        return bool(pod.node) and pod.scheduler_name == self._scheduler_name and not pod.is_leaving

    def _serve(self, key: str) -> None:
        term = self._leader.term
        pod = self._picture.pods.objects.get(key)
        if pod is None:
            return
        with self._undoing.holding(pod.claim_keys):
            allocation = self._found(pod, partial(self._leader.insist, term))
            if allocation is None:
                self._tell_if_due(pod)
                return
            try:
                allocation.write()
            except Exception:
                self._undoing.take_back(allocation)
                raise

    def _found(self, pod: Pod, fence: Callable[[], None]) -> PodAllocation | None:
        """Take devices for the claims that have none, in memory; None if there is nothing to do now."""
        group = self._picture.group_devices
        with self._holding(group.namespace):
            group.end_if_late()
        with self._search_time.holding(self._picture.lock, pod.namespace, 1):
            ledger, findings = self._picture.claims, self._open.get(pod.key, _Findings())
            if (refused := findings.refused) is not None and ledger.get(refused.key) == refused.claim:
                return None
            findings.refused = None
            try:
                claims = claims_for(pod, ledger)
            except ClaimProblem as problem:
                self._note(pod, str(problem))
                self._put_off(pod, refused=_Refused(problem.key, ledger.get(problem.key)))
                return None
            new = [each for each in claims if not each.is_allocated]
            if not new:
                # the labels of a node may change when the pod runs there
                if not pod.is_running and self._is_away(pod, claims):
                    self._note(pod, device_reason(AWAY))
                elif not self._picture.group_devices.keeps_from(pod):  # perhaps for one of its own claims
                    self._close(pod)
                return None
            if (grants := self._grants(pod, claims, new)) is None:
                return None
            consumer, shared = (
                Consumer.pod(pod.name, pod.uid),
                shared_claims(pod, self._picture.group_of(pod)),
            )
            allocation = PodAllocation(self._picture, self._writes, consumer, fence, grants, (), shared)
            allocation.assume()
        return allocation

    def _grants(self, pod: Pod, claims: Sequence[Claim], new: Sequence[Claim]) -> list[Grant] | None:
        """The devices on the pod's node; None if the claims do not fit there, as far as is known."""
        findings, gains = self._open.get(pod.key, _Findings()), self._picture.gains
        if findings.gains == gains or self._search_time.retry_at(pod) is not None:
            return None
        limit = TimeLimit(self._seconds)
        found = self._picture.state.filter(claims, limit, [pod.node]).nodes
        results = found[0].result if found else None
        if results is not None:
            return [Grant(claim, result) for claim, result in zip(new, results, strict=True)]
        reason = f"node {pod.node} is not known to the scheduling sidecar yet"
        if found:
            reason = device_reason(found[0].unnamed)
        self._note(pod, reason)
        if found and found[0].error == OUT_OF_TIME:
            self._search_time.late(pod)
        elif not self._picture.group_devices.keeps_from(pod):  # which is no gain when it is free again
            self._put_off(pod, gains=gains)
        return None

    def _is_away(self, pod: Pod, claims: Sequence[Claim]) -> bool:
        """Whether a claim has devices that are not on the pod's node."""
        node = self._picture.state.nodes.get(pod.node)
        return node is not None and ClaimsOnNode.of(claims).is_away_from(node)

    def _note(self, pod: Pod, reason: str) -> None:
        """Take down why the pod does not run."""
        findings = self._open.get(pod.key, _Findings())
        if findings.reason != reason:
            findings.reason, findings.due = reason, self._clock() + QUIET_SECONDS

    def _tell_if_due(self, pod: Pod) -> None:
        """Tell why the pod does not run, if it has not run for some time, and then now and again."""
        findings, now = self._open.get(pod.key, _Findings()), self._clock()
        if findings.reason and findings.due <= now:
            findings.due = now + REPEAT_SECONDS
            is_known = pod.node in self._picture.state.nodes
            note = note_on(Case(pod, (pod.node,), 1), self._picture) if is_known else ""
            self._tell(pod, note or findings.reason)

    def _put_off(self, pod: Pod, *, gains: int | None = None, refused: _Refused | None = None) -> None:
        """Do not try the pod again as long as the picture has these gains, or a claim is as it was, unless the pod has changed."""
        with self._lock:
            if self._picture.pods.objects.get(pod.key) is pod:
                findings = self._open.setdefault(pod.key, _Findings())
                findings.gains, findings.refused = gains, refused

    def _close(self, pod: Pod) -> None:
        """Look after the pod no longer, unless it has changed meanwhile."""
        with self._lock:
            if self._picture.pods.objects.get(pod.key) is pod:
                self._open.pop(pod.key, None)
