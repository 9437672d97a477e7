"""The extender's preempt: where a pod's claims fit once the pods are gone that are to be deleted for it.

kube-scheduler looks for victims by what it knows: CPU, memory, ports and the like. It asks about those nodes only, and for each
node the answer is one of three: these victims will do; these and some more will do, which free what is short for the pod's devices; or
no victims on the node would help, so that it is dropped. Where only devices are short kube-scheduler finds nobody whose
deletion would help, and does not ask.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from allocator.node_fit import NO_POD, PodOnNode
from allocator.time_limit import OutOfTime, TimeLimit
from resourceapi.manifests import text
from resourceapi.records.claims import Claim, reservations
from resourceapi.records.pods import Pod, importance, read_pod
from resourceapi.records.pools import PoolId
from scheduler.budgets import Budget, by_namespace, violating
from scheduler.cluster_picture import ClusterPicture
from scheduler.extended_resources import Needs
from scheduler.extender_api import PreemptionRequest, Victims
from scheduler.picture_lock import SearchTime
from scheduler.pod_claims import ClaimProblem, claims_for

#: Which part of the time that is left budgets may take on a node.
BUDGET_PARTS = 4


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
        if not pod.claims and not self._picture.extended.asked(request.pod):
            return request.victims
        lock = self._picture.lock
        with self._search_time.holding(lock, pod.namespace, len(request.victims)):
            self._term()
            try:
                claims = claims_for(pod, self._picture.claims)
            except ClaimProblem:
                return {}
            if not self._search_time.may_preempt(pod):
                return {}
            nodes = {*request.victims, pod.nominated_node}
            needs = self._picture.extended.needs(pod, request.pod, nodes, self._picture.extended.made(pod))
            if needs.made is not None:
                claims.append(needs.made.for_a_moment())
            elif not claims and not needs.by_node:
                return request.victims
            found: dict[str, Victims] = {}
            try:
                for node, victims in self._found(request, pod, claims, needs):
                    found[node] = victims
            except _LateSearch:
                self._search_time.late(pod)
            except OutOfTime:  # too many pods or claims of others: the pod is not late
                pass
            return found

    def _found(
        self, request: PreemptionRequest, pod: Pod, claims: Sequence[Claim], needs: Needs
    ) -> Iterator[tuple[str, Victims]]:
        """Nodes with their victims.

        :raises allocator.time_limit.OutOfTime: if the others are not decided in time.
        """
        picture, limit = self._picture, TimeLimit(self._seconds)
        pods = _Pods(picture, limit, partial(self._search_time.reading_victims, picture.lock))
        nominated, on_node = pod.nominated_node, picture.room.of(request.pod)

        def trials(node: str) -> _Trials:
            needed = needs.by_node.get(node)
            made = [] if needed is None or needed.is_made else [needed.claim]
            return _Trials(picture, pods, [*claims, *made], node, limit, on_node)

        if nominated and trials(nominated).will_fit():
            return  # kube-scheduler has deleted pods for this one already
        for node, victims in request.victims.items():
            chosen = None if needs.exclude(node) else trials(node).victims(pod, victims)
            if chosen is not None and chosen.uids:
                yield node, chosen
            limit.check()


class _LateSearch(OutOfTime):
    """The time was over while it was searched for devices of the pod's claims."""


class _Pods:
    """The pods that reference claims, by uid and by node; `leaving` are being deleted already."""

    def __init__(
        self, picture: ClusterPicture, limit: TimeLimit, reading: Callable[[], AbstractContextManager[None]]
    ) -> None:
        """`reading`: notes how long it is read what others have."""
        self._picture = picture
        self._limit = limit
        self.reading = reading
        self.by_uid: dict[str, Pod] = {}
        self.by_node: dict[str, list[Pod]] = {}
        self.leaving: list[Pod] = []
        #: namespaces with too many budgets
        self._late: set[str] = set()
        with reading():
            for pod in list(picture.pods.objects.values()):  # which others may change meanwhile
                self.by_uid[pod.uid] = pod
                if pod.is_leaving:
                    self.leaving.append(pod)
                elif pod.node:
                    self.by_node.setdefault(pod.node, []).append(pod)

    @cached_property
    def _budgets(self) -> Mapping[str, Sequence[Budget]]:
        """The budgets of each namespace."""
        return by_namespace(self._picture.budgets.objects.values())

    @cached_property
    def _freed_by_leaving(self) -> frozenset[str]:
        """The claims that lose their devices with the pods that are leaving: there may be thousands, and they name as many claims."""
        return self._freed(self.leaving, self._uids_of_leaving)

    @cached_property
    def _uids_of_leaving(self) -> frozenset[str]:
        return frozenset(each.uid for each in self.leaving)

    def freed(self, gone: Sequence[Pod]) -> frozenset[str]:
        """The claims that lose their devices with these pods and those that are leaving.

        :raises allocator.time_limit.OutOfTime: if there are too many pods to look at in time.
        """
        with self.reading():
            uids = self._uids_of_leaving.union([each.uid for each in gone])
            return self._freed_by_leaving | self._freed(gone, uids)

    def left_behind(self) -> set[str]:
        """The claims of pods that are gone.

        :raises allocator.time_limit.OutOfTime: if there are too many claims to look at in time.
        """
        found = set()
        with self.reading():
            for key, claim in list(self._picture.claim_objects.objects.items()):
                self._limit.check()
                users = reservations(claim.object)
                if users and all(text(each, "uid") not in self.by_uid for each in users):
                    found.add(key)
        return found

    def _freed(self, pods: Sequence[Pod], uids: frozenset[str]) -> frozenset[str]:
        """The claims of pods that nobody but these uids has reserved, and nobody is getting."""
        is_freed: dict[str, bool] = {}
        for pod in pods:
            self._limit.check()
            for key in pod.claim_keys:
                if key not in is_freed:
                    users = self._users(key)
                    is_freed[key] = bool(users) and users <= uids
        return frozenset(key for key, is_one in is_freed.items() if is_one)

    def _users(self, key: str) -> set[str]:
        """For whom a claim is reserved (uids); nobody if it would free no device, as one that asks for nothing."""
        claim = self._picture.claims.get(key)
        if (
            claim is None
            or self._picture.claims.is_assumed(key)
            or all(each.is_admin for each in claim.results)
        ):
            return set()
        return {text(each, "uid") for each in reservations(claim.object)}

    def by_user(self, claims: Iterable[str]) -> Mapping[str, set[str]]:
        """The claims that are reserved for each pod, by uid.

        :raises allocator.time_limit.OutOfTime: if there are too many to look at in time.
        """
        found: dict[str, set[str]] = {}
        for key in claims:
            self._limit.check()
            for uid in self._users(key):
                found.setdefault(uid, set()).add(key)
        return found

    def violating(self, node: str, priority: int) -> frozenset[str]:
        """The pods (uids) on a node of a lower priority for whose deletion budgets have no room.

        Those that are being deleted take room, too: kube-scheduler counts them. Pods whose namespace has too many budgets to
        look at in time count as protected.
        """
        there = [*self.by_node.get(node, ()), *(each for each in self.leaving if each.node == node)]
        lower = [each for each in there if each.priority < priority]
        return violating(lower, self._budgets, self._limit.share(BUDGET_PARTS), self._late)


class _Victim(NamedTuple):
    """A pod that may be deleted.

    :param violates: whether a budget has no room for that.
    :param claims: those that keep their devices if it stays.
    :param devices: how many these have.
    """

    pod: Pod
    violates: bool
    claims: set[str]
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
        on_node: PodOnNode,
    ) -> None:
        self._picture = picture
        self._on_node = on_node
        #: the pods that take nothing of the node any more
        self._gone: Sequence[Pod] = ()
        self._limit = limit
        self._pods = pods
        self._claims = claims
        self._own = {each.key for each in claims}
        self._node = node
        self._known: dict[tuple[frozenset[str], frozenset[str]], bool] = {}

    def victims(self, pod: Pod, given: Victims) -> Victims | None:
        """These victims, with others of lower priority than the pod if need be; None if that does not help either.

        First no pod is deleted for which budgets have no room, then none that has a higher priority than necessary, then as
        few as possible: all that may be are taken, and given back in turn, those that violate a budget before others, the most
        important first, and of equal ones those with fewest devices.
        """
        uids = given.uids
        gone = [self._pods.by_uid[uid] for uid in uids if uid in self._pods.by_uid]
        self._gone = [*gone, *self._leaving_here()]
        freed = self._freed(gone)
        if self._fits(freed, ()):
            return given
        with self._pods.reading():
            lower = [
                each
                for each in self._pods.by_node.get(self._node, ())
                if each.priority < pod.priority and each.uid not in uids
            ]
            more_freed = self._freed([*gone, *lower]) - freed
            here = frozenset(key for key in more_freed if self._has_devices_here(key))
        matter = lower if self._takes_room else ()
        if not (here or matter) or not self._fits(freed | here, matter):
            return None
        with self._pods.reading():
            claims = self._pods.by_user(here)
            violates = self._pods.violating(self._node, pod.priority)
            may_go = [
                _Victim(each, each.uid in violates, kept, sum(map(self._devices, kept)))
                for each in lower
                if (kept := claims.get(each.uid, set())) or self._takes_room
            ]
        may_go.sort(key=lambda each: (not each.violates, -each.pod.priority, each.devices, each.pod.key))
        more = self._needed(may_go, freed | here)
        violations = given.violations + sum(each.violates for each in more)
        added = sorted((each.pod for each in more), key=importance)
        return Victims(self._by_priority(uids, added), violations)

    def _needed(self, may_go: Sequence[_Victim], freed: frozenset[str]) -> list[_Victim]:
        """Those that have to go, if the first ones are given back as far as possible; who is undecided in time goes as well.

        Where all of a part can stay, each of them can, so that many who hold nothing that matters take few searches.

        :param freed: the claims that lose their devices if all go, with which it fits.
        """
        needed: list[_Victim] = []
        parts = [may_go]
        while parts:
            part = parts.pop()
            left = freed.difference(*(each.claims for each in part))
            others = [*needed, *chain.from_iterable(parts)] if self._takes_room else ()
            if self._fits_without(left, [each.pod for each in others]):
                freed = left
            elif self._limit.is_over:
                return [*needed, *part, *chain.from_iterable(parts)]
            elif len(part) > 1:
                half = len(part) // 2
                parts += [part[half:], part[:half]]
            else:
                needed += part
        return needed

    def will_fit(self) -> bool:
        """Whether the claims fit once those have lost their devices whose pods are leaving or have left."""
        self._gone = self._leaving_here()
        return self._fits_without((self._freed(()) | self._pods.left_behind()) - self._own, ())

    def _leaving_here(self) -> list[Pod]:
        return [each for each in self._pods.leaving if each.node == self._node]

    def _fits(self, freed: frozenset[str], more: Sequence[Pod]) -> bool:
        fits = self._fits_without(freed, more)
        if self._limit.is_over:
            raise _LateSearch
        return fits

    def _fits_without(self, freed: frozenset[str], more: Sequence[Pod]) -> bool:
        """Whether it fits without what these claims have, and what pods take that are gone.

        :param more: beside those that are gone in any case.
        """
        key = (freed, frozenset([each.uid for each in more]))
        known = self._known.get(key)
        if known is None:
            state = self._picture.state
            with state.without(freed), self._picture.room.without([*self._gone, *more]):
                answers = state.filter(self._claims, self._limit, [self._node], (), self._on_node).nodes
            known = self._known[key] = any(each.fits for each in answers.outcomes)
        return known

    @property
    def _takes_room(self) -> bool:
        """Whether it matters what devices and pods take of the node."""
        return self._on_node is not NO_POD

    def _freed(self, gone: Sequence[Pod]) -> frozenset[str]:
        """The claims that lose their devices with these pods and those that are leaving."""
        return self._pods.freed(gone) - self._own

    @cached_property
    def _pools(self) -> frozenset[PoolId]:
        return self._picture.state.pools_on(self._node, self._limit)

    def _has_devices_here(self, key: str) -> bool:
        """Whether a claim has devices of pools that the node sees: no others are of use there."""
        self._limit.check()
        held = self._picture.state.held.get(key)
        return held is not None and any(PoolId(*each.device[:2]) in self._pools for each in held.results)

    def _devices(self, key: str) -> int:
        held = self._picture.state.held.get(key)
        return 0 if held is None else len(held.results)

    def _by_priority(self, uids: Sequence[str], more: Iterable[Pod]) -> list[str]:
        """All victims, `more` being sorted, those of higher priority first; kube-scheduler's own keep their order.

        It takes the first one for the most important, when it compares nodes. Of its own victims those without claims are
        not known here.
        """
        ordered: list[str] = []
        left = deque(more)
        for uid in uids:
            known = self._pods.by_uid.get(uid)
            while known is not None and left and known.priority < left[0].priority:
                ordered.append(left.popleft().uid)
            ordered.append(uid)
        return [*ordered, *(each.uid for each in left)]
