"""Which pods are told why they wait, when, and in which words.

A pod is looked at two seconds after kube-scheduler has refused it, or does not look at it as its claims are missing, and again every
half minute as long as something changes. Namespaces take turns.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from time import monotonic

from allocator.explaining import for_tenants
from allocator.explaining.explanation import ERROR, FITS, MISFIT, UNDECIDED
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from claimcheck.answers.explain import Explained, explain_each
from claimcheck.answers.scenario import Reader, Scenario, fellows_in, snapshot_of
from claimcheck.watching.causes import ERROR as ERROR_CAUSE
from claimcheck.watching.causes import NOT_EXPLAINED, cause_of
from claimcheck.watching.followed_cluster import DEFAULT_NAMESPACE, FollowedCluster, WaitingPod
from cluster.event_writer import Subject
from cluster.workloads import Workload
from documents.manifest import Manifest
from resourceapi.logs import LOGGER, log
from resourceapi.manifests import key_of
from resourceapi.records.pods import Pod, read_pod

#: A pod is looked at when it has waited for so long, and then no more often than that.
QUIET_SECONDS, REPEAT_SECONDS = 2.0, 30.0
#: The same words are told again after so long: an API server keeps events for an hour.
SAME_WORDS_SECONDS = 600.0
#: How long pods are explained at a time, each of them or all of a PodGroup; and how many at a time.
#: A namespace whose pods have taken as long as one may has to wait for the next time.
SECONDS, POD_SECONDS, MOST_PODS = 6.0, 2.0, 200


class _Waiting:
    """What is known of a pod that waits."""

    __slots__ = ("cause", "changes", "explained", "note", "since", "told")

    def __init__(self, since: float) -> None:
        self.since = since
        #: when it was explained, by how many changes of the cluster, and when it was told of which words
        self.explained = self.told = -REPEAT_SECONDS - SAME_WORDS_SECONDS
        self.changes = -1
        self.note = ""
        self.cause = NOT_EXPLAINED

    def is_due(self, now: float, changes: int) -> bool:
        """Whether it is to be explained: for the first time, as something has changed, or to say the same words again."""
        if now < max(self.since + QUIET_SECONDS, self.explained + REPEAT_SECONDS):
            return False
        return changes != self.changes or (bool(self.note) and now >= self.told + SAME_WORDS_SECONDS)


class WaitingPods:
    """The pods of a cluster that wait; for one thread."""

    def __init__(
        self,
        cluster: FollowedCluster,
        tell: Callable[[Subject, str], None],
        schedulers: Collection[str],
        namespace: str = "",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Know nothing of them yet.

        :param tell: is told why a pod waits.
        :param schedulers: only pods with these names of a scheduler are looked at.
        :param namespace: only pods in this one; empty: in all.
        """
        self._cluster = cluster
        self._tell = tell
        self._schedulers = schedulers
        self._namespace = namespace
        self._clock = clock
        self._known: dict[str, _Waiting] = {}
        self._is_late = False

    def causes(self) -> Counter[str]:
        """How many pods wait for what, as explained last; for any thread."""
        return Counter(each.cause for each in self._known.values())

    def look(self) -> None:
        """Explain the pods that are due, as far as the time reaches; the others come next."""
        changes = self._cluster.changes
        due = self._due(changes)
        if not due:
            return
        state, manifests = self._cluster.state()
        keys = {each.pod.key: each for each in due}
        places = {key: place for place, key in enumerate(keys)}
        asked = [each for each in manifests if key_of(each.value) in places]
        asked.sort(key=lambda each: places[key_of(each.value)])
        workloads, reader = [], Reader(state, DEFAULT_NAMESPACE)
        for workload in self._read(lambda pods: reader.workloads(pods, UNLIMITED), asked):
            each = keys[workload.full_name]
            if each.refused or workload.waits_for:
                workloads.append(workload)
            else:
                self._known[each.pod.uid].changes = changes
        if not workloads:
            return
        try:
            snapshot = snapshot_of(state, TimeLimit(SECONDS))
        except OutOfTime:
            if not self._is_late:
                log(
                    logging.WARNING, "pods not looked at: ResourceSlicePatches take too long", seconds=SECONDS
                )
            self._is_late = True
            return
        self._is_late = False
        fellows = self._read(
            lambda pods: fellows_in(state, pods, workloads, DEFAULT_NAMESPACE, UNLIMITED), manifests
        )
        scenario = Scenario(state, snapshot, workloads, fellows)
        limit = TimeLimit(SECONDS)
        spent: dict[str, float] = defaultdict(float)
        for together in _by_groups(workloads):
            if limit.is_over:
                return
            namespace, begun = together[0].namespace, monotonic()
            if spent[namespace] >= POD_SECONDS:
                continue
            pods = [keys[each.full_name].pod for each in together]
            try:
                for pod, explained in zip(
                    pods, explain_each(scenario.only(together), limit=limit.part(POD_SECONDS)), strict=True
                ):
                    self._explained(pod, explained, changes, in_time=not limit.is_over)
            except Exception:  # noqa: BLE001 - whatever is wrong with a pod, others are told
                self._failed(pods)
            spent[namespace] += monotonic() - begun

    def _read(self, read: Callable[[list[Manifest]], list[Workload]], pods: list[Manifest]) -> list[Workload]:
        """Read pods together, or if that fails one by one: those with which it does are left out."""
        try:
            return read(pods)
        except Exception:  # noqa: BLE001 - it is said below with which
            found = []
        for each in pods:
            try:
                found += read([each])
            except Exception:  # noqa: BLE001 - whatever is wrong with a pod, others are told
                self._failed([read_pod(each.value)])
        return found

    def _failed(self, pods: list[Pod]) -> None:
        """Say which pods cannot be explained, called while handling why; they are tried again as late as others."""
        LOGGER.exception("pod not explained", extra={"fields": {"name": pods[0].key}})
        for pod in pods:
            if known := self._known.get(pod.uid):
                known.explained, known.cause = self._clock(), ERROR_CAUSE

    def _due(self, changes: int) -> list[WaitingPod]:
        """The pods whose turn it is, first those that were never explained or longest ago, of each namespace one after the other."""
        now, waiting = self._clock(), {}
        found: dict[str, list[WaitingPod]] = defaultdict(list)
        for each in self._cluster.waiting():
            pod = each.pod
            if pod.scheduler_name not in self._schedulers or self._namespace not in ("", pod.namespace):
                continue
            known = waiting[pod.uid] = self._known.get(pod.uid) or _Waiting(now)
            if known.is_due(now, changes):
                found[pod.namespace].append(each)
        self._known = waiting
        for queue in found.values():
            queue.sort(key=lambda due: self._known[due.pod.uid].explained)
        return list(islice(_in_turns(list(found.values())), MOST_PODS))

    def _explained(self, pod: Pod, explained: Explained, changes: int, *, in_time: bool) -> None:
        known, now = self._known[pod.uid], self._clock()
        if explained.unanswered and not in_time:
            return
        known.explained, known.changes, known.cause = now, changes, cause_of(explained)
        note = note_on(explained)
        if note and (note != known.note or now >= known.told + SAME_WORDS_SECONDS):
            known.note, known.told = note, now
            subject = Subject("v1", "Pod", pod.namespace, pod.name, pod.uid, "Scheduling", "FailedScheduling")
            self._tell(subject, note)


def note_on(explained: Explained) -> str:
    """Why a pod waits and what would help, as its tenants may read it; empty if it fits, or nothing can be said."""
    explanation, workload = explained.explanation, explained.workload
    if explained.waits:
        waits = explained.waits.for_tenants
        return f"waits for {waits}" if waits else ""
    if explanation is None or explained.bound or explained.bypassed:
        return ""
    gang = explained.gang
    group = f"{gang.headline}; this pod: " if gang is not None and not gang.fits else ""
    if explanation.verdict in (MISFIT, ERROR) or explanation.refusal:
        return group + for_tenants.in_one_line(explanation, workload.namespace, workload.name)
    if explanation.verdict == UNDECIDED and not explanation.complete:
        return for_tenants.no_time(workload.namespace, workload.name)
    return f"{group}fits by itself" if group and explanation.verdict == FITS else ""


def _by_groups(workloads: Iterable[Workload]) -> Iterable[list[Workload]]:
    """Pods that are explained together: those of a PodGroup, and each other one by itself."""
    found: dict[str, list[Workload]] = defaultdict(list)
    for each in workloads:
        found[f"group {each.group.key}" if each.group is not None else each.full_name].append(each)
    return found.values()


def _in_turns(queues: list[list[WaitingPod]]) -> Iterator[WaitingPod]:
    """The first of each queue, then the second of each, and so on."""
    for place in range(max(map(len, queues), default=0)):
        yield from (each[place] for each in queues if place < len(each))
