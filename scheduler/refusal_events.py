"""Which refusals users are told of, and when: not those that are over at once, and nothing that delays filters."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Event, Lock
from time import monotonic
from typing import NamedTuple

from cluster.event_writer import EventWriter, Subject
from cluster.turns import Turns
from resourceapi.logs import LOGGER
from resourceapi.records.pods import Pod
from scheduler.cluster_picture import ClusterPicture
from scheduler.filtering import Refused
from scheduler.missing_claims import MissingClaims
from scheduler.picture_lock import work_in_turns
from scheduler.refusal_notes import Case, case_of, note_on


class PodEvents:
    """What ``kubectl describe pod`` shows of this scheduler."""

    def __init__(self, writer: EventWriter) -> None:
        self._writer = writer

    def warn(self, pod: Pod, note: str) -> None:
        """Say why a pod is not scheduled; the same words once more are counted.

        :param note: in any length and of any characters.
        """
        subject = Subject("v1", "Pod", pod.namespace, pod.name, pod.uid, "Scheduling", "FailedScheduling")
        self._writer.warn(subject, note)


#: A pod is looked at when it has been refused for so long, and then no more often than that.
QUIET_SECONDS, REPEAT_SECONDS = 2.0, 30.0
TICK_SECONDS = 0.5
#: How many refused pods wait to be explained; of more, those of the namespace with the most are left out.
MOST_PODS = 1_000


class _Entry(NamedTuple):
    case: Case
    due: float


class RefusalEvents:
    """Explains refusals in its own thread, one at a time, of each namespace in turn; may be told of them by many threads."""

    def __init__(
        self,
        picture: ClusterPicture,
        events: PodEvents,
        scheduler_name: str,
        leads: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Make it ready; :meth:`run` explains.

        :param scheduler_name: of the pods whose waiting for claims is told.
        :param leads: whether this replica answers kube-scheduler.
        """
        self._picture = picture
        self._events = events
        self._leads = leads
        self._clock = clock
        self._lock = Lock()  # for the next two
        self._cases: Turns[_Entry] = Turns(MOST_PODS)
        self._explained_at: OrderedDict[str, float] = OrderedDict()
        self._missing = MissingClaims(picture, scheduler_name, clock())

    def refused(self, refused: Refused) -> None:
        """Take note of a refusal; this takes as long as one look at the verdict of each node."""
        uid = refused.pod.uid
        with self._lock:
            if uid in self._cases:
                return
        case = case_of(refused)
        with self._lock:
            earlier = self._explained_at.get(uid)
            now = self._clock()
            due = now + QUIET_SECONDS if earlier is None else max(now, earlier + REPEAT_SECONDS)
            self._cases.put(refused.pod.namespace, uid, _Entry(case, due))

    def run(self, ending: Event) -> None:
        """Explain until told to end."""
        work_in_turns(self._look, ending, least=TICK_SECONDS)

    def _look(self) -> None:
        try:
            self.look()
        except Exception:  # noqa: BLE001 - whatever it is, other pods are explained
            LOGGER.exception("refusal not explained")

    def look(self) -> None:
        """Explain the next pod that is due, and look for those that wait for claims."""
        if not self._leads():
            with self._lock:
                self._cases.clear()
            return
        for pod, reason in self._missing.look(self._clock()):
            self._events.warn(pod, reason)
        case = self._next()
        if case is not None and self._waits(case.pod):
            note = note_on(case, self._picture)
            if note:
                self._events.warn(case.pod, note)

    def _next(self) -> Case | None:
        now = self._clock()
        with self._lock:
            entry = self._cases.take(lambda entry: entry.due <= now)
            if entry is None:
                return None
            uid = entry.case.pod.uid
            self._explained_at.pop(uid, None)
            self._explained_at[uid] = now
            if len(self._explained_at) > 10 * MOST_PODS:
                self._explained_at.popitem(last=False)
            return entry.case

    def _waits(self, pod: Pod) -> bool:
        """Whether a pod still waits for a node."""
        known = self._picture.pods.objects.get(pod.key)
        return known is not None and known.uid == pod.uid and not known.node and not known.is_leaving
