"""The extender's filter: on which of the nodes in question the claims of a pod fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat

from allocator.answers import NodeAnswer
from allocator.errors import FATAL
from allocator.scheduler_messages import device_reason
from allocator.scheduling import Mode, PodAnswer
from allocator.time_limit import OutOfTime, TimeLimit
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decision, Decisions
from scheduler.extender_api import CandidateNodes, Verdicts
from scheduler.pod_claims import ClaimProblem, claims_for
from scheduler.pods import PodRecord, pod_record

UNKNOWN_NODE = "node is not known to the scheduling sidecar yet"

Refusal = Callable[[PodRecord, CandidateNodes, PodAnswer | ClaimProblem], None]
"""Is told of a pod that fits on none of the nodes, and why."""


class Filter:
    """Answers from the picture, and keeps what it finds as decisions."""

    def __init__(
        self,
        picture: ClusterPicture,
        decisions: Decisions,
        seconds: float,
        refused: Refusal = lambda pod, candidates, why: None,
    ) -> None:
        """Make a filter.

        :param seconds: how long an answer may take.
        :param refused: told of pods that fit nowhere, without the picture's lock.
        """
        self._picture = picture
        self._decisions = decisions
        self._seconds = seconds
        self._refused = refused

    def answer(self, candidates: CandidateNodes) -> Verdicts:
        """On which nodes a pod fits; without claims on all of them."""
        pod = pod_record(candidates.pod)
        if not pod.claims:
            return Verdicts(candidates.nodes, {}, {})
        self._decisions.wait_for_binds(pod.uid)
        with self._picture.lock:
            found = self._find(pod, candidates.nodes)
            verdicts = self._verdicts(found, candidates.nodes)
        if not verdicts.fitting:
            self._refused(pod, candidates, found)
        return verdicts

    def _find(self, pod: PodRecord, nodes: Sequence[str]) -> PodAnswer | ClaimProblem:
        try:
            return self._place(pod, nodes)
        except ClaimProblem as problem:
            return problem

    def _place(self, pod: PodRecord, nodes: Sequence[str]) -> PodAnswer:
        """Ask the allocator, and keep its answer.

        :raises ClaimProblem: if the pod cannot be on any node.
        """
        claims = claims_for(pod, self._picture.claims)
        state = self._picture.state
        state.time_limit = TimeLimit(self._seconds)
        try:
            found = state.place(
                [each.claim for each in claims], Mode.FILTER, closed=state.nodes.keys() - set(nodes)
            )
        except OutOfTime:
            raise ClaimProblem(self._undecided) from None
        places = {each.node: place for place, each in enumerate(found.nodes) if each.fits}
        self._decisions.put(
            Decision(
                pod.uid,
                [each for each in claims if not each.is_allocated],
                [each for each in claims if each.is_allocated],
                found.nodes,
                places,
            )
        )
        return found

    def _verdicts(self, found: PodAnswer | ClaimProblem, nodes: Sequence[str]) -> Verdicts:
        if isinstance(found, ClaimProblem):
            return Verdicts((), {}, dict(zip(nodes, repeat(str(found)))))
        answers = {answer.node: answer for answer in found.nodes}
        fitting: list[str] = []
        failed: dict[str, str] = {}
        beyond_preemption: dict[str, str] = {}
        for node in nodes:
            answer = answers.get(node)
            if answer is None:
                beyond_preemption[node] = UNKNOWN_NODE
            elif answer.fits:
                fitting.append(node)
            else:
                (beyond_preemption if answer.error_kind == FATAL or found.refusal else failed)[node] = (
                    self._reason(answer)
                )
        return Verdicts(fitting, failed, beyond_preemption)

    def _reason(self, answer: NodeAnswer) -> str:
        return self._undecided if answer.is_undecided else device_reason(answer.error)

    @property
    def _undecided(self) -> str:
        return f"undecided in {self._seconds * 1000:g} ms"
