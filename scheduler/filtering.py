"""The extender's filter: on which of the nodes in question the claims of a pod fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Condition
from time import monotonic
from typing import NamedTuple

from allocator.errors import AWAY, FATAL, OUT_OF_TIME, UNRESOLVABLE
from allocator.node_fit import NO_POD, PodOnNode, tells_footprints, with_footprints
from allocator.plans import Outcome
from allocator.pod_claims import ClaimsOnNodes, extended_resources_of
from allocator.results import places_of
from allocator.scheduling import PodAnswer
from allocator.scheduling_outcome import SchedulingOutcome, device_reason, device_reasons
from allocator.time_limit import TimeLimit
from cluster.store import Change
from resourceapi.manifests import mapping
from resourceapi.records.claims import Claim, Consumer
from resourceapi.records.classes import EXTENDED_RESOURCES_GATE
from resourceapi.records.pods import Pod, read_pod
from scheduler.binding_conditions import BindingConditions
from scheduler.cluster_picture import ClusterPicture, HelpedBy, with_few_claims
from scheduler.decisions import Decision, Decisions, kept_of
from scheduler.extended_resources import NO_NEEDS, ExtendedResources, Needs
from scheduler.extender_api import CandidateNodes, Verdicts
from scheduler.gang_plans import GangPlans
from scheduler.picture_lock import SearchTime
from scheduler.pod_claims import ClaimProblem, shared_claims, stored_claims_for
from scheduler.reasons import with_shortfalls
from scheduler.refusals import Refusals

#: How long a filter waits for claims that are not known; after it has done so in vain, none waits for the longer time.
ARRIVAL_SECONDS, ARRIVAL_PAUSE_SECONDS = 0.2, 60.0
#: The search for places of a whole gang has such a part of the time for one answer.
PLAN_PART = 2


class ClaimArrivals:
    """Waits for claims that kube-scheduler has seen already, and the picture has not; may be used by many threads.

    kube-scheduler asks about a pod once its claims exist. A refusal for want of one would be an event of a pod that is bound
    at once.
    """

    def __init__(self, picture: ClusterPicture, seconds: float = ARRIVAL_SECONDS) -> None:
        """Follow a picture."""
        self._claims = picture.claim_objects.objects
        self._seconds = seconds
        self._not_before = 0.0
        self._arrived = Condition()  # its lock is taken with that of the picture, not the other way round
        picture.claims.listeners.append(self._changed)

    def wait_for_claims(self, pod: Pod) -> None:
        """Wait until the claims of a pod are known, or are not going to come; without the picture's lock."""
        with self._arrived:
            if monotonic() < self._not_before:
                return
            if not self._arrived.wait_for(lambda: self._are_known(pod), self._seconds):
                self._not_before = monotonic() + ARRIVAL_PAUSE_SECONDS

    def _are_known(self, pod: Pod) -> bool:
        # that for extended resources may be gone for good
        return all(key in self._claims for key in pod._replace(extended_claim="").claim_keys)

    def _changed(self, change: Change[Claim]) -> None:
        with self._arrived:
            self._arrived.notify_all()


def nodes_without(candidates: CandidateNodes, picture: ClusterPicture) -> dict[str, str]:
    """The nodes on which nobody has what a pod asks for by extended resources (KEP-5004), with the reason.

    kube-scheduler lets the pod pass where a DeviceClass stands for them, which it may have seen first; and if the gate is on for it
    alone, nobody makes a claim. The pod would be bound without devices.
    """
    extended = picture.extended
    asked = sorted(extended_resources_of(mapping(candidates.pod, "spec")))
    lacking = {each: why for each in asked if (why := _not_claimed(each, extended))}
    found: dict[str, str] = {}
    for node in candidates.nodes if lacking else ():
        for resource, why in lacking.items():
            if node in picture.nodes.objects and not extended.is_provided(node, resource):
                found[node] = why
                break
    return found


def _not_claimed(resource: str, extended: ExtendedResources) -> str:
    """Why no claim can be made for an extended resource; empty if one can."""
    device_class = extended.classes.get(resource)
    if device_class is None:
        return f"no device plugin of the node has {resource}, and no DeviceClass stands for it yet"
    if not extended.is_on:
        return f"{resource} stands for DeviceClass {device_class}, but the {EXTENDED_RESOURCES_GATE} feature is disabled"
    return ""


UNKNOWN_NODE = "node is not known to the scheduling sidecar yet"
_AWAY = device_reason(AWAY)


class Refused(NamedTuple):
    """A pod that fits on none of the nodes in question.

    :param problem: what keeps its claims from every node; empty if the nodes have been looked at.
    :param helped_by: what may help it.
    :param claims: its claims, as far as they exist.
    :param answer: what the allocator found, if that is what keeps the pod from the nodes.
    :param gains: as :meth:`~scheduler.cluster_picture.ClusterPicture.gains_for` was for that.
    :param retry_at: when it is tried again, if there was too little time for some of the nodes (`SearchTime.clock`).
    :param needs: what it needs for its extended resources.
    :param left_over: a claim that an earlier attempt has made and that is of no use: the pod waits until it is gone.
    :param on_node: the pod as nodes see it beside its claims.
    """

    pod: Pod
    candidates: CandidateNodes
    verdicts: Verdicts
    helped_by: HelpedBy
    gains: int
    problem: str = ""
    claims: tuple[Claim, ...] = ()
    answer: PodAnswer | None = None
    retry_at: float | None = None
    needs: Needs = NO_NEEDS
    left_over: Claim | None = None
    on_node: PodOnNode = NO_POD


class NobodyWaits(Exception):
    """kube-scheduler has given up on the answer, so it is not looked for."""


class Filter:
    """Answers from the picture, and keeps what it finds as decisions.

    A refusal is found once: as long as nothing changes that could help the pod, it is answered from memory, in the same
    words, since kube-scheduler takes other words for a change of the pod, and asks again.
    """

    def __init__(
        self,
        picture: ClusterPicture,
        decisions: Decisions,
        *,
        seconds: float,
        term: Callable[[], int] = lambda: 0,
        best_fit: bool = False,
        conditions: BindingConditions | None = None,
        search_time: SearchTime | None = None,
        refused: Callable[[Refused], None] = lambda refused: None,
    ) -> None:
        """Make a filter.

        :param seconds: how long the allocator may take for one answer.
        :param term: the present term of the leader; raises an error on a replica that does not lead.
        :param best_fit: whether devices are chosen that waste least.
        :param conditions: which pods have to wait for those of their devices; none if it is left out.
        :param search_time: when pods are tried again for which there was too little time.
        :param refused: told of pods that fit nowhere, each time that has been found out; without the picture's lock.
        """
        self._picture = picture
        self._decisions = decisions
        self._seconds = seconds
        self._term = term
        self._best_fit = best_fit
        self._conditions = conditions
        self._search_time = search_time or SearchTime()
        self._refused = refused
        self._refusals = Refusals(picture)
        self._plans = GangPlans(picture, self._search_time, seconds / PLAN_PART)
        self._arrivals = ClaimArrivals(picture)
        picture.pods.listen(self._pods_changed)

    def _pods_changed(self, changes: Sequence[Change[Pod]]) -> None:
        """Forget pods that are gone; what is found for one later is pushed out in time."""
        for _, before, after in changes:
            if before is not None and (after is None or after.uid != before.uid):
                self._decisions.take(before.uid)
                with self._picture.lock:
                    self._refusals.drop(before.uid)
                    self._picture.extended.forget(before)

    def answer(self, candidates: CandidateNodes, is_wanted: Callable[[], bool] = lambda: True) -> Verdicts:
        """On which nodes a pod fits; without claims on all of them.

        :param is_wanted: whether kube-scheduler still waits.
        :raises NobodyWaits: if it does not, before it is searched.
        """
        pod, on_node = with_few_claims(read_pod(candidates.pod)), self._picture.room.of(candidates.pod)
        gains = self._picture.gains_for(HelpedBy.ROOM)
        unserved = {
            **nodes_without(candidates, self._picture),
            **self._filled_by_binds(pod, on_node, candidates),
        }
        if not unserved:
            return self._answer(pod, on_node, candidates, is_wanted)
        rest = candidates._replace(nodes=[node for node in candidates.nodes if node not in unserved])
        if not rest.nodes:
            verdicts = Verdicts((), {}, unserved)
            self._refused(Refused(pod, candidates, verdicts, HelpedBy.ROOM, gains))
            return verdicts
        verdicts = self._answer(pod, on_node, rest, is_wanted)
        return verdicts._replace(beyond_preemption={**verdicts.beyond_preemption, **unserved})

    def _filled_by_binds(self, pod: Pod, on_node: PodOnNode, candidates: CandidateNodes) -> dict[str, str]:
        """The nodes that have too little left for a pod itself, since devices take of them that pods get which are being bound."""
        if on_node is NO_POD:
            return {}
        self._decisions.wait_for_binds(pod.uid, pod.group_key)
        self._end_other_groups(pod)
        with self._holding(pod.namespace):
            self._picture.room.forget(pod.uid)
            return self._picture.room.short_beside_bindings(on_node, candidates.nodes)

    def _holding(self, namespace: str) -> AbstractContextManager[None]:
        """The picture's lock, for a moment at the expense of a namespace."""
        return self._search_time.holding(self._picture.lock, namespace, 0)

    def _end_other_groups(self, pod: Pod) -> None:
        """Let nothing count that was found for another group than that of a pod, of which too few fit or whose binds are late."""
        group = self._picture.group_devices
        with self._holding(group.namespace):
            group.end_for(pod)
        group.drop_late(self._holding)

    def _hold_rests(self, pod: Pod) -> None:
        """Let count what other gangs need that have been torn apart, each at its own expense, as far as there is time."""
        with self._holding(pod.namespace):
            torn = self._plans.torn(pod, self._term())
        limit = TimeLimit(self._seconds)
        for group in torn:
            namespace = group.partition("/")[0]
            if not (limit.is_over or self._search_time.rests(namespace)):
                with self._holding(namespace):
                    self._plans.hold_rest(group)

    def _answer(
        self, pod: Pod, on_node: PodOnNode, candidates: CandidateNodes, is_wanted: Callable[[], bool]
    ) -> Verdicts:
        if not pod.claims and not self._picture.extended.asked(candidates.pod):
            return Verdicts(candidates.nodes, {}, {})
        self._decisions.wait_for_binds(pod.uid, pod.group_key)
        self._arrivals.wait_for_claims(pod)
        _insist(is_wanted)
        self._end_other_groups(pod)
        self._hold_rests(pod)
        with self._search_time.holding(self._picture.lock, pod.namespace, len(candidates.nodes)):
            _insist(is_wanted)
            found = self._found(pod, on_node, candidates)
        if isinstance(found, Verdicts):
            return found
        self._refused(found)
        return found.verdicts

    def _found(self, pod: Pod, on_node: PodOnNode, candidates: CandidateNodes) -> Verdicts | Refused:
        """The nodes on which a pod fits, or what was known before; else that it has been refused."""
        term = self._term()
        self._refusals.begin(term)
        self._picture.group_devices.begin(pod)
        planned = self._planned(pod, on_node, candidates)
        try:
            stored = stored_claims_for(pod, self._picture.claims)
        except ClaimProblem as problem:
            return self._refused_by_claims(pod, candidates, problem)
        made = self._picture.extended.made(pod)
        if made is not None:
            stored, pod = [*stored, made], pod._replace(extended_claim=made.name)
        # what pods of its group have got meanwhile is not known to refusals
        known = None if pod.group else self._refusals.get(pod.uid, stored, candidates)
        if known is not None:
            return known
        claims = [each.for_a_moment() for each in stored]
        retry_at = self._search_time.retry_at(pod)
        if retry_at is not None:
            return self._put_off(pod, candidates, claims, retry_at)
        needs = self._picture.extended.needs(pod, candidates.pod, candidates.nodes, made)
        if not stored and not needs.by_node:
            self._decisions.take(pod.uid)
            return Verdicts(candidates.nodes, {}, {})
        if made is not None and not needs.by_node:
            return self._refused_by_left_over(pod, candidates, stored, made)
        waiting = self._waiting(pod, claims)
        if pod.group and on_node is not NO_POD:
            on_node = on_node._replace(pending=self._picture.group_devices.found_for_others(pod))
        asked = candidates._replace(nodes=(planned,)) if planned else candidates
        answer = self._decide(pod, on_node, term, claims, asked, needs, is_binding=not waiting)
        if planned and not self._verdicts(answer, asked, needs).fitting:
            self._picture.group_devices.drop_plan()
            asked = candidates
            answer = self._decide(pod, on_node, term, claims, asked, needs, is_binding=not waiting)
        verdicts = self._verdicts(answer, asked, needs)
        if pod.group and verdicts.fitting and not waiting:
            verdicts = self._on_one_node(pod, claims, verdicts)
        if not verdicts.fitting:
            refused = self._refused_by_devices(pod, candidates, claims, answer, verdicts, needs, on_node)
            return refused._replace(needs=needs, on_node=on_node)
        self._search_time.decided(pod)
        if waiting:
            return self._refused_by_conditions(pod, candidates, claims, verdicts, waiting)
        return verdicts

    def _planned(self, pod: Pod, on_node: PodOnNode, candidates: CandidateNodes) -> str:
        """The node that has been found for a pod beside the others of its gang; empty if none is known."""
        if not pod.group or self._search_time.retry_at(pod) is not None:
            return ""
        # what the others ask for by extended resources is not known
        if self._picture.extended.asked(candidates.pod):
            return ""
        return self._plans.node_for(pod, candidates, on_node)

    def _waiting(self, pod: Pod, claims: Sequence[Claim]) -> str:
        """For which conditions of its devices a pod has to wait; empty if bind has something to do for it."""
        shared, own = shared_claims(pod, self._picture.group_of(pod)), Consumer.pod(pod.name, pod.uid)
        if self._conditions is None or not all(
            each.is_allocated and each.is_reserved_for(shared.get(each.key, own).uid) for each in claims
        ):
            return ""
        delay = self._conditions.delay(each.key for each in claims)
        return "" if delay is None else delay.reason

    def _decide(
        self,
        pod: Pod,
        on_node: PodOnNode,
        term: int,
        claims: list[Claim],
        candidates: CandidateNodes,
        needs: Needs,
        *,
        is_binding: bool,
    ) -> PodAnswer:
        """Ask the allocator, and keep its answer if the pod can be bound."""
        state, extended = self._picture.state, self._picture.extended
        answer = state.filter(
            claims,
            TimeLimit(self._seconds),
            candidates.nodes,
            needs.instead(claims),
            on_node,
            best_fit=self._best_fit,
        )
        extended.forget_variants(needs)
        if self._picture.pods.objects.get(pod.key) is None:  # nobody would tell that it is gone
            extended.forget(pod)
        if not is_binding:
            return answer
        found = zip(answer.nodes.names, answer.nodes.outcomes, strict=True)
        places = {
            node: place
            for place, (node, outcome) in enumerate(found)
            if outcome.fits and not needs.exclude(node)
        }
        if not places:
            self._decisions.take(pod.uid)
            return answer
        unallocated = [kept_of(each) for each in claims if not each.is_allocated]
        allocated = [kept_of(each) for each in claims if each.is_allocated]
        alternatives = [
            place for each in claims if each.is_allocated for place in places_of(each, each.allocation)
        ]
        decision = Decision(
            pod.uid,
            pod.namespace,
            term,
            unallocated,
            allocated,
            answer.nodes,
            places,
            alternatives,
            shared_claims(pod, self._picture.group_of(pod)),
            needs.by_node,
            on_node,
            tells_footprints(mapping(candidates.pod, "status")),
        )
        self._decisions.put(decision, pod.group_key, completes=self._completes(pod))
        return answer

    def _completes(self, pod: Pod) -> bool:
        """Whether enough pods of a pod's PodGroup fit with this one, so that kube-scheduler binds them."""
        group = self._picture.group_of(pod)
        if group is None:
            return False
        devices = self._picture.group_devices
        if devices.fits(pod) + self._picture.placed[pod.group_key] < group.min_count:
            return False
        devices.complete()
        return True

    def _on_one_node(self, pod: Pod, claims: Sequence[Claim], verdicts: Verdicts) -> Verdicts:
        """The first node that fits a pod of a PodGroup, whose devices count as taken for the others of the group."""
        node = verdicts.fitting[0]
        decision = self._decisions.get(pod.uid)
        results = decision.results(node) if decision is not None else None
        if decision is not None and results is not None:
            found = list(zip(decision.claims_on(node), results, strict=True))
            self._picture.group_devices.hold(pod, found)
            on_node = decision.on_node
            if on_node.needs is not None:
                held = [each for each in claims if each.is_allocated]
                held += [claim.allocated(result) for claim, result in found]
                footprints = self._picture.state.footprints(on_node, node, held)
                needs = with_footprints(on_node.needs, footprints)
                self._picture.group_devices.put_on_node(pod.uid, node, needs)
        return verdicts._replace(fitting=(node,))

    def _verdicts(self, answer: PodAnswer, candidates: CandidateNodes, needs: Needs) -> Verdicts:
        """What each node has for the pod; as with kube-scheduler's plugin, an error on one of them fails the attempt."""
        if answer.outcome is SchedulingOutcome.ERROR and answer.error is not None:
            reason = device_reason(answer.error.unnamed)
            return Verdicts((), {}, dict.fromkeys(candidates.nodes, reason))
        outcomes = dict(zip(answer.nodes.names, answer.nodes.outcomes, strict=True))
        fitting: list[str] = []
        failed: dict[str, str] = {}
        beyond: dict[str, str] = {}
        for node in candidates.nodes:
            found = outcomes.get(node)
            if found is None:
                beyond[node] = UNKNOWN_NODE
            elif needs.exclude(node):
                beyond[node] = _AWAY
            elif found.fits:
                fitting.append(node)
            elif answer.refusal or found.error_kind in (FATAL, UNRESOLVABLE) or found.error == AWAY:
                beyond[node] = self._reason(found)
            else:
                failed[node] = self._reason(found)
        return Verdicts(fitting, failed, beyond)

    def _refused_by_devices(
        self,
        pod: Pod,
        candidates: CandidateNodes,
        claims: list[Claim],
        answer: PodAnswer,
        verdicts: Verdicts,
        needs: Needs,
        on_node: PodOnNode,
    ) -> Refused:
        failed: dict[str, str] = {}
        special = needs.instead(claims)
        on_some = frozenset(node for each in special for node in each.nodes)
        elsewhere = ClaimsOnNodes(frozenset(verdicts.failed) - on_some, claims)
        for each in (*special, elsewhere):
            there = {node: why for node, why in verdicts.failed.items() if node in each.nodes}
            failed |= with_shortfalls(self._picture, each.claims, there)
        self._picture.extended.forget_variants(needs)
        verdicts = verdicts._replace(failed=failed)
        retry_at = None
        if any(map(_is_late, answer.nodes.outcomes)):
            retry_at = self._search_time.late(pod)
        else:
            self._search_time.decided(pod)
            if pod.group and not answer.refusal:
                retry_at = self._plans.refused(pod, on_node)
        is_of_classes = answer.refusal and not needs.by_node  # which depend on nodes as well
        helped_by = HelpedBy.CLASSES if is_of_classes else HelpedBy.DEVICES
        if any(each.shortages for each in answer.nodes.outcomes):
            helped_by = HelpedBy.ROOM
        refused = self._refused_for(pod, candidates, verdicts, helped_by)
        return self._remembered(refused._replace(claims=tuple(claims), answer=answer, retry_at=retry_at))

    def _put_off(
        self,
        pod: Pod,
        candidates: CandidateNodes,
        claims: list[Claim],
        retry_at: float,
    ) -> Verdicts | Refused:
        """Say what was said last, or that nothing is decided, without a search."""
        last = self._refusals.last(pod.uid)
        if last is None:
            verdicts = Verdicts((), dict.fromkeys(candidates.nodes, self._undecided), {})
        else:
            verdicts = last.verdicts_on(candidates.nodes, self._undecided)
            if last.retry_at == retry_at:
                return verdicts
        refused = self._refused_for(pod, candidates, verdicts, HelpedBy.DEVICES)
        return self._remembered(refused._replace(claims=tuple(claims), retry_at=retry_at))

    def _refused_by_claims(self, pod: Pod, candidates: CandidateNodes, problem: ClaimProblem) -> Refused:
        reason = str(problem)
        verdicts = Verdicts((), {}, dict.fromkeys(candidates.nodes, reason))
        return self._refused_for(pod, candidates, verdicts, HelpedBy.CLAIMS)._replace(problem=reason)

    def _refused_by_left_over(
        self, pod: Pod, candidates: CandidateNodes, claims: Sequence[Claim], left_over: Claim
    ) -> Refused:
        """The claim that an earlier attempt has made is not what the pod needs now, or has no devices."""
        reason = f"ResourceClaim {left_over.name!r} of an earlier attempt is to be deleted first"
        verdicts = Verdicts((), {}, dict.fromkeys(candidates.nodes, reason))
        refused = self._refused_for(pod, candidates, verdicts, HelpedBy.DEVICES)
        return refused._replace(claims=tuple(claims), left_over=left_over)

    def _refused_by_conditions(
        self,
        pod: Pod,
        candidates: CandidateNodes,
        claims: list[Claim],
        verdicts: Verdicts,
        waiting: str,
    ) -> Refused:
        """The pod keeps its devices, and is asked about again when its claims have changed, instead of every second."""
        beyond = {**verdicts.beyond_preemption, **dict.fromkeys(verdicts.fitting, waiting)}
        verdicts = Verdicts((), verdicts.failed, beyond)
        return self._refused_for(pod, candidates, verdicts, HelpedBy.DEVICES)._replace(claims=tuple(claims))

    def _refused_for(
        self, pod: Pod, candidates: CandidateNodes, verdicts: Verdicts, helped_by: HelpedBy
    ) -> Refused:
        return Refused(pod, candidates, verdicts, helped_by, self._picture.gains_for(helped_by))

    def _remembered(self, refused: Refused) -> Refused:
        self._refusals.put(
            refused.pod,
            refused.helped_by,
            refused.claims,
            refused.candidates,
            refused.verdicts,
            refused.retry_at,
        )
        return refused

    def _reason(self, outcome: Outcome) -> str:
        # no amounts, which move
        return self._undecided if _is_late(outcome) else " and ".join(device_reasons(outcome))

    @property
    def _undecided(self) -> str:
        return f"undecided in {self._seconds * 1000:g} ms"


def _insist(is_wanted: Callable[[], bool]) -> None:
    if not is_wanted():
        raise NobodyWaits


def _is_late(outcome: Outcome) -> bool:
    """Whether there was no time to decide: there may be at the next try."""
    return outcome.error == OUT_OF_TIME
