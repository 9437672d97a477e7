"""The extender's filter: on which of the nodes in question the claims of a pod fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.errors import AWAY, FATAL, OUT_OF_TIME
from allocator.plans import Outcome
from allocator.scheduler_messages import device_reason
from allocator.scheduling import PodAnswer
from allocator.time_limit import TimeLimit
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod, read_pod
from scheduler.binding_conditions import BindingConditions
from scheduler.claim_arrivals import ClaimArrivals
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decision, Decisions
from scheduler.extended_resources import nodes_without
from scheduler.extender_api import CandidateNodes, Verdicts
from scheduler.pod_claims import ClaimProblem, claims_for
from scheduler.reasons import with_shortfalls
from scheduler.refusals import Refusals
from scheduler.search_time import SearchTime

UNKNOWN_NODE = "node is not known to the scheduling sidecar yet"


class Refused(NamedTuple):
    """A pod that fits on none of the nodes in question.

    :param problem: what keeps its claims from every node; empty if the nodes have been looked at.
    :param claims: its claims, as far as they exist.
    :param answer: what the allocator found, if that is what keeps the pod from the nodes.
    :param gains: as :attr:`~scheduler.cluster_picture.ClusterPicture.gains` was.
    :param retry_at: when it is tried again, if there was too little time for some of the nodes (`SearchTime.clock`).
    """

    pod: Pod
    candidates: CandidateNodes
    verdicts: Verdicts
    gains: int
    problem: str = ""
    claims: tuple[Claim, ...] = ()
    answer: PodAnswer | None = None
    retry_at: float | None = None


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
        self._refusals = Refusals()
        self._arrivals = ClaimArrivals(picture)

    def answer(self, candidates: CandidateNodes, is_wanted: Callable[[], bool] = lambda: True) -> Verdicts:
        """On which nodes a pod fits; without claims on all of them.

        :param is_wanted: whether kube-scheduler still waits.
        :raises NobodyWaits: if it does not, before it is searched.
        """
        unserved = nodes_without(candidates, self._picture)
        if not unserved:
            return self._answer(candidates, is_wanted)
        rest = candidates._replace(nodes=[node for node in candidates.nodes if node not in unserved])
        verdicts = self._answer(rest, is_wanted) if rest.nodes else Verdicts((), {}, {})
        return verdicts._replace(beyond_preemption={**verdicts.beyond_preemption, **unserved})

    def _answer(self, candidates: CandidateNodes, is_wanted: Callable[[], bool]) -> Verdicts:
        pod = read_pod(candidates.pod)
        if not pod.claims:
            return Verdicts(candidates.nodes, {}, {})
        self._decisions.wait_for_binds(pod.uid)
        self._arrivals.wait_for_claims(pod)
        _insist(is_wanted)
        with self._search_time.holding(self._picture.lock, pod.namespace, len(candidates.nodes)):
            _insist(is_wanted)
            found = self._found(pod, candidates)
        if isinstance(found, Verdicts):
            return found
        self._refused(found)
        return found.verdicts

    def _found(self, pod: Pod, candidates: CandidateNodes) -> Verdicts | Refused:
        """The nodes on which a pod fits, or what was known before; else that it has been refused."""
        term, gains = self._term(), self._picture.gains
        self._refusals.begin(term)
        try:
            claims = claims_for(pod, self._picture.claims)
        except ClaimProblem as problem:
            return _refused_by_claims(pod, candidates, gains, problem)
        known = self._refusals.get(pod.uid, gains, claims, candidates)
        if known is not None:
            return known
        retry_at = self._search_time.retry_at(pod)
        if retry_at is not None:
            return self._put_off(pod, candidates, gains, claims, retry_at)
        waiting = self._waiting(pod, claims)
        answer = self._decide(pod, term, claims, candidates, is_binding=not waiting)
        verdicts = self._verdicts(answer, candidates)
        if not verdicts.fitting:
            return self._refused_by_devices(pod, candidates, gains, claims, answer, verdicts)
        self._search_time.decided(pod)
        if waiting:
            return _refused_by_conditions(pod, candidates, gains, claims, verdicts, waiting)
        return verdicts

    def _waiting(self, pod: Pod, claims: Sequence[Claim]) -> str:
        """For which conditions of its devices a pod has to wait; empty if bind has something to do for it."""
        if self._conditions is None or not all(
            each.is_allocated and each.is_reserved_for(pod.uid) for each in claims
        ):
            return ""
        delay = self._conditions.delay(each.key for each in claims)
        return "" if delay is None else delay.reason

    def _decide(
        self,
        pod: Pod,
        term: int,
        claims: list[Claim],
        candidates: CandidateNodes,
        *,
        is_binding: bool,
    ) -> PodAnswer:
        """Ask the allocator, and keep its answer if the pod can be bound."""
        state = self._picture.state
        answer = state.filter(
            [each.object for each in claims],
            TimeLimit(self._seconds),
            candidates.nodes,
            best_fit=self._best_fit,
        )
        if not is_binding:
            return answer
        found = zip(answer.nodes.names, answer.nodes.outcomes, strict=True)
        places = {node: place for place, (node, outcome) in enumerate(found) if outcome.fits}
        unallocated = [each for each in claims if not each.is_allocated]
        allocated = [each for each in claims if each.is_allocated]
        self._decisions.put(
            Decision(pod.uid, pod.namespace, term, unallocated, allocated, answer.nodes, places)
        )
        return answer

    def _verdicts(self, answer: PodAnswer, candidates: CandidateNodes) -> Verdicts:
        outcomes = dict(zip(answer.nodes.names, answer.nodes.outcomes, strict=True))
        fitting: list[str] = []
        failed: dict[str, str] = {}
        beyond: dict[str, str] = {}
        for node in candidates.nodes:
            found = outcomes.get(node)
            if found is None:
                beyond[node] = UNKNOWN_NODE
            elif found.fits:
                fitting.append(node)
            elif answer.refusal or found.error_kind == FATAL or found.error == AWAY:
                beyond[node] = device_reason(found.error)
            else:
                failed[node] = self._reason(found)
        return Verdicts(fitting, failed, beyond)

    def _refused_by_devices(
        self,
        pod: Pod,
        candidates: CandidateNodes,
        gains: int,
        claims: list[Claim],
        answer: PodAnswer,
        verdicts: Verdicts,
    ) -> Refused:
        verdicts = verdicts._replace(failed=with_shortfalls(self._picture, claims, verdicts.failed))
        retry_at = None
        if any(map(_is_late, answer.nodes.outcomes)):
            retry_at = self._search_time.late(pod)
        else:
            self._search_time.decided(pod)
        self._refusals.put(pod, gains, claims, candidates, verdicts, retry_at)
        return Refused(pod, candidates, verdicts, gains, "", tuple(claims), answer, retry_at)

    def _put_off(
        self,
        pod: Pod,
        candidates: CandidateNodes,
        gains: int,
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
        self._refusals.put(pod, gains, claims, candidates, verdicts, retry_at)
        return Refused(pod, candidates, verdicts, gains, "", tuple(claims), None, retry_at)

    def _reason(self, outcome: Outcome) -> str:
        return self._undecided if _is_late(outcome) else device_reason(outcome.error)

    @property
    def _undecided(self) -> str:
        return f"undecided in {self._seconds * 1000:g} ms"


def _insist(is_wanted: Callable[[], bool]) -> None:
    if not is_wanted():
        raise NobodyWaits


def _is_late(outcome: Outcome) -> bool:
    """Whether there was no time to decide: there may be at the next try."""
    return outcome.error == OUT_OF_TIME


def _refused_by_claims(pod: Pod, candidates: CandidateNodes, gains: int, problem: ClaimProblem) -> Refused:
    reason = str(problem)
    verdicts = Verdicts((), {}, dict.fromkeys(candidates.nodes, reason))
    return Refused(pod, candidates, verdicts, gains, problem=reason)


def _refused_by_conditions(
    pod: Pod,
    candidates: CandidateNodes,
    gains: int,
    claims: list[Claim],
    verdicts: Verdicts,
    waiting: str,
) -> Refused:
    """The pod keeps its devices, and is asked about again when its claims have changed, instead of every second."""
    beyond = {**verdicts.beyond_preemption, **dict.fromkeys(verdicts.fitting, waiting)}
    return Refused(pod, candidates, Verdicts((), verdicts.failed, beyond), gains, "", tuple(claims))
