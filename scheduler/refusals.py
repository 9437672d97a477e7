"""Refusals that still hold: kube-scheduler asks about a refused pod again with almost every event of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from resourceapi.caches import WeighedCache
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler.cluster_picture import ClusterPicture, HelpedBy
from scheduler.extender_api import CandidateNodes, Verdicts

#: How much memory all refusals may take, and about how much each takes for a node and for a claim.
MOST_BYTES, NODE_BYTES, CLAIM_BYTES = 192 << 20, 250, 150


class Refusal(NamedTuple):
    """Why a pod fits on none of some nodes.

    :param helped_by: what may help the pod.
    :param gains: as :meth:`scheduler.cluster_picture.ClusterPicture.gains_for` was for that.
    :param claims: what the pod's claims were: uid, and whether they were allocated.
    :param retry_at: when it is searched again, if there was too little time to decide.
    """

    helped_by: HelpedBy
    gains: int
    claims: tuple[tuple[str, bool], ...]
    nodes: frozenset[str]
    verdicts: Verdicts
    retry_at: float | None = None

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        reasons = {*self.verdicts.failed.values(), *self.verdicts.beyond_preemption.values()}
        return NODE_BYTES * len(self.nodes) + CLAIM_BYTES * len(self.claims) + sum(map(len, reasons))

    def verdicts_on(self, nodes: Sequence[str], otherwise: str) -> Verdicts:
        """The verdicts about other nodes than before.

        :param otherwise: the reason on nodes without any.
        """
        beyond = self.verdicts.beyond_preemption
        return Verdicts(
            (),
            {node: self.verdicts.failed.get(node, otherwise) for node in nodes if node not in beyond},
            {node: beyond[node] for node in nodes if node in beyond},
        )


class Refusals:
    """The latest refusal of each pod, by its uid; for one thread at a time."""

    def __init__(self, picture: ClusterPicture) -> None:
        self._picture = picture
        self._refusals: WeighedCache[str, Refusal] = WeighedCache(MOST_BYTES)
        self._term = 0

    def begin(self, term: int) -> None:
        """Forget what was said in another term: who was told then of pods that wait has forgotten them as well.

        :param term: that of the leader.
        """
        if term != self._term:
            self._refusals.clear()
            self._term = term

    def put(
        self,
        pod: Pod,
        helped_by: HelpedBy,
        claims: Iterable[Claim],
        candidates: CandidateNodes,
        verdicts: Verdicts,
        retry_at: float | None = None,
    ) -> None:
        """Remember that a pod fits on none of the candidates, as far as that was decided."""
        gains, nodes = self._picture.gains_for(helped_by), frozenset(candidates.nodes)
        refusal = Refusal(helped_by, gains, _state_of(claims), nodes, verdicts, retry_at)
        self._refusals.put(pod.uid, refusal, refusal.weight, pod.namespace)

    def drop(self, uid: str) -> None:
        """Forget a pod."""
        self._refusals.pop(uid)

    def last(self, uid: str) -> Refusal | None:
        """What was said of a pod last, whether or not it still holds."""
        return self._refusals.get(uid)

    def get(self, uid: str, claims: Iterable[Claim], candidates: CandidateNodes) -> Verdicts | None:
        """The verdicts about the same nodes or more of them, if nothing has changed since that could help the pod."""
        known = self._refusals.get(uid)
        if known is None or known.retry_at is not None:
            return None
        if known.gains != self._picture.gains_for(known.helped_by) or known.claims != _state_of(claims):
            return None
        if not known.nodes.issuperset(candidates.nodes):
            return None
        if len(known.nodes) == len(candidates.nodes):
            return known.verdicts
        asked = set(candidates.nodes)
        failed, beyond = (
            {node: why for node, why in each.items() if node in asked}
            for each in (known.verdicts.failed, known.verdicts.beyond_preemption)
        )
        return Verdicts((), failed, beyond)


def _state_of(claims: Iterable[Claim]) -> tuple[tuple[str, bool], ...]:
    return tuple([(each.uid, each.is_allocated) for each in claims])
