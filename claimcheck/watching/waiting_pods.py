"""Which pods are told why they wait, when, and in which words.

A pod is looked at a moment after kube-scheduler has refused it, or does not look at it as its claims are missing, and again every half
minute as long as something changes. Namespaces take turns.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from math import inf
from time import monotonic
from typing import NamedTuple

from allocator.explaining import for_tenants
from allocator.explaining.explanation import ERROR, FITS, MISFIT, UNDECIDED
from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.answers.explain import Explained, explain_each
from claimcheck.answers.scenario import Reader, Scenario, fellows_in, snapshot_of
from claimcheck.watching.alike import Alike, read_alike
from claimcheck.watching.causes import ERROR as ERROR_CAUSE
from claimcheck.watching.causes import NO_TIME, NOT_EXPLAINED, cause_of
from claimcheck.watching.followed_cluster import DEFAULT_NAMESPACE, FollowedCluster, WaitingPod
from cluster.event_writer import Subject, shown
from cluster.objects import CLAIM
from cluster.workloads import Workload
from resourceapi.logs import LOGGER, log
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod

#: A pod is looked at when it has waited for so long, one that kube-scheduler has refused before others; and then no more often than that.
REFUSED_SECONDS, QUIET_SECONDS, REPEAT_SECONDS = 1.0, 2.0, 30.0
#: The same words are told again after so long: an API server keeps events for an hour.
SAME_WORDS_SECONDS = 600.0
#: How long pods are explained at a time, each of them or all of a PodGroup; and how many at a time.
#: A namespace whose pods have taken as long as one may has to wait for the next time.
SECONDS, POD_SECONDS, MOST_PODS = 6.0, 2.0, 200
#: Larger pods and PodGroups are not looked at: characters of what is held of a pod, and of all pods of a PodGroup on no node; claims.
MOST_CHARACTERS, MOST_GROUP_CHARACTERS, MOST_CLAIMS = 128 * 1024, 4 * 1024 * 1024, 128


class _Waiting:
    """What is known of a pod that waits."""

    __slots__ = ("cause", "changes", "explained", "key", "note", "says", "since", "told")

    def __init__(self, key: str, since: float) -> None:
        self.key = key
        self.since = since
        #: when it was explained, by how many changes of the cluster, and when it was told of which words
        self.explained = self.told = -REPEAT_SECONDS - SAME_WORDS_SECONDS
        self.changes = -1
        self.note = ""
        #: what is to be said of it now, which an event may have said otherwise
        self.says = ""
        self.cause = NOT_EXPLAINED

    def is_due(self, now: float, changes: int, quiet: float) -> bool:
        """Whether it is to be explained: for the first time, as something has changed, or to say the same words again.

        :param quiet: how long it has to wait for the first time.
        """
        if now < max(self.since + quiet, self.explained + REPEAT_SECONDS):
            return False
        return changes != self.changes or (bool(self.note) and now >= self.told + SAME_WORDS_SECONDS)


class WaitingPods:
    """The pods of a cluster that wait; for one thread."""

    def __init__(
        self,
        cluster: FollowedCluster,
        tell: Callable[[Subject, str], None],
        schedulers: Collection[str] | None = None,
        namespace: str = "",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Know nothing of them yet.

        :param tell: is told why a pod waits.
        :param schedulers: only pods with these names of a scheduler are looked at; None: all.
        :param namespace: only pods in this one; empty: in all.
        """
        self._cluster = cluster
        self._tell = tell
        self._schedulers = schedulers
        self._namespace = namespace
        self._clock = clock
        self._known: dict[str, _Waiting] = {}
        #: when a pod of each namespace was last explained, or begun to be
        self._last_turns: dict[str, float] = {}
        self._is_late = False

    def causes(self) -> Counter[str]:
        """How many pods wait for what, as explained last; for any thread."""
        return Counter(each.cause for each in self._known.values())

    def words(self, namespaces: Collection[str]) -> dict[str, str]:
        """Why pods of some namespaces wait that still do, as explained last, by ``namespace/name``; for any thread.

        :returns: words that their tenants may read; none for a pod that has not been explained yet, or is to be placed.
        """
        known = self._known
        waiting = [each.pod for each in self._cluster.waiting() if each.pod.namespace in namespaces]
        return {pod.key: known[pod.uid].says for pod in waiting if pod.uid in known}

    def look(self) -> None:
        """Explain the pods that are due, as far as the time reaches; the others come next."""
        changes = self._cluster.changes
        due = self._due(changes)
        if not due:
            return
        looking = _Looking(self._cluster)
        limit, has_begun = TimeLimit(SECONDS), False
        spent: dict[str, float] = defaultdict(float)
        for together in _by_groups(due):
            if limit.is_over:
                return
            namespace, begun = together[0].pod.namespace, monotonic()
            if spent[namespace] >= POD_SECONDS:
                continue
            self._last_turns[namespace] = self._clock()
            try:
                self._explain(together, looking, changes, limit)
            except _PatchesTakeLong:
                self._warn_of_patches()
                return
            except Exception:  # noqa: BLE001 - whatever is wrong with a pod, others are told
                self._failed([each.pod for each in together])
            if looking.has_scenario and not has_begun:  # that is made once, however long it takes
                limit, has_begun = TimeLimit(SECONDS), True
                self._is_late = False
            else:
                spent[namespace] += monotonic() - begun

    def _explain(
        self, together: Sequence[WaitingPod], looking: _Looking, changes: int, limit: TimeLimit
    ) -> None:
        """Explain one pod, or those of a PodGroup; nothing of them is kept in memory but the words about pods that are alike."""
        pods = [each.pod for each in together]
        part = limit.part(POD_SECONDS)
        if looking.are_too_large(together):
            self._say_of_all(pods, for_tenants.too_large, NOT_EXPLAINED, changes)
            return
        alike = looking.alike(together)
        if alike is not None and alike.asked in looking.answers:
            if (known := looking.answers[alike.asked]) is None:
                self._leave(pods, changes)
            else:
                self._say(pods[0], alike.filled(known.note), known.cause, changes)
            return
        try:
            asked, others = looking.waiting(together, part)
            self._leave(others, changes)
            if not asked:
                if alike is not None:
                    looking.answers[alike.asked] = None
                return
            stand_in = alike.stand_in(asked[0]) if alike is not None else None
            scenario = looking.scenario.asked_for(
                asked if stand_in is None else [stand_in], looking.fellows(pods[0], asked, part)
            )
        except OutOfTime:
            if not limit.is_over:
                self._say_of_all(pods, for_tenants.no_time, NO_TIME, changes)
            return
        by_key = {pod.key: pod for pod in pods}
        for workload, explained in zip(asked, explain_each(scenario, limit=part), strict=True):
            in_time, pod = not limit.is_over, by_key[workload.full_name]
            if not in_time and explained.unanswered:
                continue
            note, cause = note_on(explained), cause_of(explained)
            if alike is not None and stand_in is not None:
                if in_time:
                    looking.answers[alike.asked] = _Answer(note, cause)
                note = alike.filled(note)
            self._say(pod, note, cause, changes)

    def _warn_of_patches(self) -> None:
        if not self._is_late:
            log(logging.WARNING, "pods not looked at: ResourceSlicePatches take too long", seconds=SECONDS)
        self._is_late = True

    def _failed(self, pods: list[Pod]) -> None:
        """Say which pods cannot be explained, called while handling why; they are tried again as late as others."""
        LOGGER.exception("pod not explained", extra={"fields": {"name": pods[0].key}})
        for pod in pods:
            if known := self._known.get(pod.uid):
                known.explained, known.cause = self._clock(), ERROR_CAUSE

    def _due(self, changes: int) -> list[WaitingPod]:
        """The pods whose turn it is, first those that were never explained or longest ago, of each namespace one after the other.

        Namespaces come in the same order: those that take all the time of a look are the last ones in the next.
        """
        now, waiting = self._clock(), {}
        found: dict[str, list[WaitingPod]] = defaultdict(list)
        for each in self._cluster.waiting():
            pod = each.pod
            if self._schedulers is not None and pod.scheduler_name not in self._schedulers:
                continue
            if self._namespace not in ("", pod.namespace):
                continue
            known = waiting[pod.uid] = self._known.get(pod.uid) or _Waiting(pod.key, now)
            if known.is_due(now, changes, REFUSED_SECONDS if each.refused else QUIET_SECONDS):
                found[pod.namespace].append(each)
        self._known = waiting
        for queue in found.values():
            queue.sort(key=lambda due: self._known[due.pod.uid].explained)
        self._last_turns = {each: self._last_turns.get(each, -inf) for each in found}
        in_order = sorted(found, key=self._last_turns.__getitem__)
        return list(islice(_in_turns([found[each] for each in in_order]), MOST_PODS))

    def _leave(self, pods: Iterable[Pod], changes: int) -> None:
        """Say nothing of pods that kube-scheduler has still to come to."""
        for pod in pods:
            self._known[pod.uid].changes = changes

    def _say_of_all(
        self, pods: Iterable[Pod], note: Callable[[str, str], str], cause: str, changes: int
    ) -> None:
        for pod in pods:
            self._say(pod, note(pod.namespace, pod.name), cause, changes)

    def _say(self, pod: Pod, note: str, cause: str, changes: int) -> None:
        known, now, note = self._known[pod.uid], self._clock(), shown(note)
        known.explained, known.changes, known.cause, known.says = now, changes, cause, note
        if note and (note != known.note or now >= known.told + SAME_WORDS_SECONDS):
            known.note, known.told = note, now
            subject = Subject("v1", "Pod", pod.namespace, pod.name, pod.uid, "Scheduling", "FailedScheduling")
            self._tell(subject, note)


class _PatchesTakeLong(Exception):
    """There is no time to apply ResourceSlicePatches to the devices."""


class _Answer(NamedTuple):
    """Why pods wait that are alike.

    :param note: what is said of one with placeholders for names.
    """

    note: str
    cause: str


class _Looking:
    """The cluster during one look, of which pods are read one after the other.

    :ivar answers: why pods wait, by what they ask for, and None for those that kube-scheduler has still to come to; forgotten
        with the look.
    """

    def __init__(self, cluster: FollowedCluster) -> None:
        self._cluster = cluster
        self._state = cluster.state_without_pending()
        self._pending = cluster.pending()
        self._reader = Reader(self._state, DEFAULT_NAMESPACE)
        self._scenario: Scenario | None = None
        self.answers: dict[str, _Answer | None] = {}

    def alike(self, together: Sequence[WaitingPod]) -> Alike | None:
        """What a pod asks for that is explained by itself; None if others cannot ask for the same."""
        if together[0].pod.group:
            return None
        (waiting,) = together
        claims = self._state.of(CLAIM)

        def claim_of(key: str) -> Claim | None:
            found = claims.get(key)
            return None if found is None else Claim(found)

        values = [each.value for each in self._cluster.pods([waiting.pod.key])]
        return read_alike(values[0], waiting.pod, waiting.refused, claim_of) if values else None

    def are_too_large(self, together: Sequence[WaitingPod]) -> bool:
        """Whether pods that are explained together are not even read: they can take thirty times their text in memory."""
        group = self._pending.get(together[0].pod.group_key, {}).values()
        return sum(group) > MOST_GROUP_CHARACTERS or any(
            each.characters > MOST_CHARACTERS
            or len(each.pod.claims) > MOST_CLAIMS
            or self._cluster.characters_of_claims(each.pod) > MOST_CHARACTERS
            for each in together
        )

    def waiting(self, together: Sequence[WaitingPod], limit: TimeLimit) -> tuple[list[Workload], list[Pod]]:
        """Those of the pods that wait, read; and the others, which kube-scheduler may just not have come to.

        :raises OutOfTime: if they cannot be read in time.
        """
        by_key = {each.pod.key: each for each in together}
        asked = []
        for workload in self._reader.workloads(list(self._cluster.pods(by_key)), limit):
            if by_key[workload.full_name].refused or workload.waits:
                asked.append(workload)
        waiting = {each.full_name for each in asked}
        return asked, [each.pod for key, each in by_key.items() if key not in waiting]

    def fellows(self, pod: Pod, asked: list[Workload], limit: TimeLimit) -> Sequence[Workload]:
        """The other pods of a pod's PodGroup that are on no node.

        :raises OutOfTime: if they cannot be read in time.
        """
        others = self._pending.get(pod.group_key, {}).keys() - {each.full_name for each in asked}
        pods = self._cluster.pods(sorted(others))
        return fellows_in(self._state, pods, asked, DEFAULT_NAMESPACE, limit) if others else ()

    @property
    def has_scenario(self) -> bool:
        return self._scenario is not None

    @property
    def scenario(self) -> Scenario:
        """The cluster as the allocator sees it.

        :raises _PatchesTakeLong: if there is no time for patches of devices.
        """
        if self._scenario is None:
            try:
                self._scenario = Scenario(self._state, snapshot_of(self._state, TimeLimit(SECONDS)), [])
            except OutOfTime:
                raise _PatchesTakeLong from None
        return self._scenario


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


def _by_groups(pods: Iterable[WaitingPod]) -> Iterable[Sequence[WaitingPod]]:
    """Pods that are explained together: those of a PodGroup, and each other one by itself."""
    found: dict[str, list[WaitingPod]] = defaultdict(list)
    for each in pods:
        found[f"group {each.pod.group_key}" if each.pod.group else each.pod.key].append(each)
    return found.values()


def _in_turns(queues: list[list[WaitingPod]]) -> Iterator[WaitingPod]:
    """The first of each queue, then the second of each, and so on."""
    for place in range(max(map(len, queues), default=0)):
        yield from (each[place] for each in queues if place < len(each))
