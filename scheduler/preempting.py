"""The extender's preempt: where a pod's claims fit once the pods are gone that are to be deleted for it.

kube-scheduler looks for victims by what it knows: CPU, memory, ports and the like. It asks about those nodes only, and for each
node the answer is one of three: these victims will do; these and some more will do, whose claims free what is short; or no
victims on the node would help, so that it is dropped. Where only devices are short kube-scheduler finds nobody whose
deletion would help, and does not ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.manifests import text
from resourceapi.records.claims import Claim, reservations
from resourceapi.records.pods import Pod, read_pod
from scheduler.budgets import Budget, by_namespace, importance, violating
from scheduler.cluster_picture import ClusterPicture
from scheduler.extender_api import PreemptionRequest, Victims
from scheduler.picture_lock import SearchTime
from scheduler.pod_claims import ClaimProblem, claims_for


class Preemption:
    """Finds victims in the picture; nothing is changed there."""

    def __init__(
        self,
        picture: ClusterPicture,
        *,
        seconds: float,
        term: Callable[[], int] = lambda: 0,
        search_time: SearchTime | None = None,
    ) -> None:
        """Make one.

        :param seconds: how long one answer may take; nodes that are not decided then are dropped.
        :param term: the present term of the leader; raises an error on a replica that does not lead.
        :param search_time: when it is searched again for pods for which there was too little time.
        """
        self._picture = picture
        self._seconds = seconds
        self._term = term
        self._search_time = search_time or SearchTime()

    def victims(self, request: PreemptionRequest) -> Mapping[str, Victims]:
        """The nodes on which the pod fits without certain pods, and those pods."""
        pod = read_pod(request.pod)
        if not pod.claims:
            return request.victims
        with self._search_time.holding(self._picture.lock, pod.namespace, len(request.victims)):
            self._term()
            try:
                claims = claims_for(pod, self._picture.claims)
            except ClaimProblem:
                return {}
            if self._search_time.retry_at(pod) is not None:
                return {}
            limit = TimeLimit(self._seconds)
            found = self._found(request, pod, claims, limit)
            if limit.is_over:
                self._search_time.late(pod)
            return found

    def _found(
        self, request: PreemptionRequest, pod: Pod, claims: Sequence[Claim], limit: TimeLimit
    ) -> Mapping[str, Victims]:
        """The victims on the nodes that are decided in time."""
        picture = self._picture
        pods = _Pods(picture, limit)
        nominated = pod.nominated_node
        found: dict[str, Victims] = {}
        with suppress(OutOfTime):  # then pods may be among the victims on the last node that need not be
            if nominated and _Trials(picture, pods, claims, nominated, limit).will_fit():
                return {}  # kube-scheduler has deleted pods for this one already
            for node, victims in request.victims.items():
                chosen = _Trials(picture, pods, claims, node, limit).victims(pod, victims)
                if chosen is not None and chosen.uids:
                    found[node] = chosen
        return found


class _Pods:
    """The pods that reference claims, by uid and by node; `leaving` are being deleted already."""

    def __init__(self, picture: ClusterPicture, limit: TimeLimit) -> None:
        self._picture = picture
        self._limit = limit
        self.by_uid: dict[str, Pod] = {}
        self.by_node: dict[str, list[Pod]] = {}
        self.leaving: list[Pod] = []
        for pod in list(picture.pods.objects.values()):  # which others may change meanwhile
            self.by_uid[pod.uid] = pod
            if pod.is_leaving:
                self.leaving.append(pod)
            elif pod.node:
                self.by_node.setdefault(pod.node, []).append(pod)

    @cached_property
    def budgets(self) -> Mapping[str, Sequence[Budget]]:
        """The budgets of each namespace."""
        return by_namespace(self._picture.budgets.objects.values())

    @cached_property
    def freed_by_leaving(self) -> frozenset[str]:
        """The claims that lose their devices with the pods that are leaving: there may be thousands, and they name as many claims.

        :raises allocator.time_limit.OutOfTime: if there are too many to look at in time.
        """
        freed: set[str] = set()
        for pod in self.leaving:
            self._limit.check()
            freed |= self._freed([pod], self._uids_of_leaving)
        return frozenset(freed)

    @cached_property
    def _uids_of_leaving(self) -> frozenset[str]:
        return frozenset(each.uid for each in self.leaving)

    def freed(self, gone: Sequence[Pod]) -> frozenset[str]:
        """The claims that lose their devices with these pods and those that are leaving."""
        uids = self._uids_of_leaving.union([each.uid for each in gone])
        return self.freed_by_leaving | self._freed(gone, uids)

    def _freed(self, pods: Sequence[Pod], uids: frozenset[str]) -> set[str]:
        """The claims of pods that nobody but these uids has reserved, and nobody is getting."""
        ledger = self._picture.claims
        freed = set()
        for key in {key for each in pods for key in each.claim_keys}:
            claim = ledger.get(key)
            if claim is None or ledger.is_assumed(key):
                continue
            users = {text(each, "uid") for each in reservations(claim.object)}
            if users and users <= uids:
                freed.add(key)
        return freed

    def less_important(self, node: str, priority: int) -> list[Pod]:
        """All pods on a node of a lower priority, also those that are being deleted: kube-scheduler counts them, too."""
        there = [*self.by_node.get(node, ()), *(each for each in self.leaving if each.node == node)]
        return [each for each in there if each.priority < priority]


class _Victim(NamedTuple):
    """A pod that may be deleted, whether a budget has no room for that, and how many devices its claims have."""

    pod: Pod
    violates: bool
    devices: int


class _Trials:
    """Whether claims fit on a node without certain pods."""

    def __init__(
        self,
        picture: ClusterPicture,
        pods: _Pods,
        claims: Sequence[Claim],
        node: str,
        limit: TimeLimit,
    ) -> None:
        self._picture = picture
        self._limit = limit
        self._pods = pods
        self._claims = claims
        self._own = {each.key for each in claims}
        self._node = node
        self._known: dict[frozenset[str], bool] = {}

    def victims(self, pod: Pod, given: Victims) -> Victims | None:
        """These victims, with others of lower priority than the pod if need be; None if that does not help either.

        First no pod is deleted for which budgets have no room, then none that has a higher priority than necessary, then as
        few as possible: all that may be are taken, and given back one by one, those that violate a budget before others,
        the most important first, and of equal ones those with fewest devices.
        """
        uids = given.uids
        gone = [self._pods.by_uid[uid] for uid in uids if uid in self._pods.by_uid]
        if self._fits(gone):
            return given
        lower = [
            each
            for each in self._pods.by_node.get(self._node, ())
            if each.priority < pod.priority and each.uid not in uids
        ]
        if not lower or not self._fits([*gone, *lower]):
            return None
        freed = self._freed([*gone, *lower])
        there = self._pods.less_important(self._node, pod.priority)
        violates = violating(there, self._pods.budgets, self._limit)
        more = [
            _Victim(
                each,
                each.uid in violates,
                sum(self._devices(key) for key in freed.intersection(each.claim_keys)),
            )
            for each in lower
            if not freed.isdisjoint(each.claim_keys)
        ]
        more.sort(key=lambda each: (not each.violates, -each.pod.priority, each.devices, each.pod.key))
        for victim in list(more):
            others = [each for each in more if each is not victim]
            if self._fits([*gone, *(each.pod for each in others)]):
                more = others
        violations = given.violations + sum(each.violates for each in more)
        added = sorted((each.pod for each in more), key=importance)
        return Victims(self._by_priority(uids, added), violations)

    def will_fit(self) -> bool:
        """Whether the claims fit once those have lost their devices whose pods are leaving or have left."""
        claims = self._picture.claim_objects.objects.items()
        left = {
            key
            for key, claim in list(claims)
            if (users := reservations(claim.object))
            and all(text(each, "uid") not in self._pods.by_uid for each in users)
        }
        return self._fits_without(self._freed(()) | (left - self._own))

    def _fits(self, gone: Sequence[Pod]) -> bool:
        return self._fits_without(self._freed(gone))

    def _fits_without(self, freed: frozenset[str]) -> bool:
        known = self._known.get(freed)
        if known is None:
            state = self._picture.state
            with state.without(freed):
                answers = state.filter(self._claims, self._limit, [self._node]).nodes
            known = self._known[freed] = any(each.fits for each in answers.outcomes)
        self._limit.check()  # also where it was known: there may be thousands of pods to leave out
        return known

    def _freed(self, gone: Sequence[Pod]) -> frozenset[str]:
        """The claims that lose their devices with these pods and those that are leaving."""
        return self._pods.freed(gone) - self._own

    def _devices(self, key: str) -> int:
        held = self._picture.state.held.get(key)
        return 0 if held is None else len(held.results)

    def _by_priority(self, uids: Sequence[str], more: Iterable[Pod]) -> list[str]:
        """All victims, those of higher priority first; kube-scheduler's own keep their order.

        It takes the first one for the most important, when it compares nodes. Of its own victims those without claims are
        not known here.
        """
        ordered = list(uids)
        for pod in more:
            self._limit.check()
            known = (self._pods.by_uid.get(uid) for uid in ordered)
            lower = (
                place for place, each in enumerate(known) if each is not None and each.priority < pod.priority
            )
            ordered.insert(next(lower, len(ordered)), pod.uid)
        return ordered
