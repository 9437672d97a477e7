"""Variations of a problem, each tried with the allocator."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from allocator.explaining.changes import Claims
from allocator.explaining.snapshot import Change, Snapshot
from allocator.features import Features
from allocator.node_fit import NO_POD, PodOnNode
from allocator.pod_claims import ClaimsOnNodes
from allocator.scheduling import Mode, NodeAnswer
from allocator.scheduling_outcome import SchedulingOutcome, outcome_of
from allocator.time_limit import TimeLimit
from resourceapi.records.claims import Claim
from resourceapi.records.taints import Taint

#: The most excluded nodes that are tried, of those excluded for one reason.
MAX_NODES = 200
#: The most changed snapshots that are cached: those for one node, and whole ones.
_NEAR, _WHOLE = 64, 4


class Undecided(Exception):
    """The allocator gave up, so that a missing solution proves nothing."""


class Variation(NamedTuple):
    """A changed problem: other claims for the pod, a changed cluster (with the fields of `Change`), other nodes.

    :param released: None stands for the claims of all other pods.
    :param opened: excluded nodes that become eligible.
    :param avoided: eligible nodes that become excluded.
    """

    claims: Claims
    released: frozenset[str] | None = frozenset()
    without_taint: Taint | None = None
    features: Features | None = None
    class_selector: tuple[str, int, str] | None = None
    without: str = ""
    without_patch: str = ""
    opened: frozenset[str] = frozenset()
    avoided: frozenset[str] = frozenset()

    @property
    def changes_cluster(self) -> bool:
        """Whether not only the pod's claims and nodes differ."""
        return self.released != frozenset() or any(
            (self.without_taint, self.features, self.class_selector, self.without, self.without_patch)
        )

    def change(self, all_others: Callable[[], Iterable[str]]) -> Change:
        """What it changes of a snapshot.

        :param all_others: the claims of all other pods, asked for only if they are released.
        """
        return Change(
            frozenset(all_others()) if self.released is None else self.released,
            self.without_taint,
            self.features,
            self.class_selector,
            self.without,
            self.without_patch,
        )


class Trials:
    """Trials for one pod.

    :param nodes: the eligible nodes.
    :param instead: what the pod claims on some nodes instead, whatever else is varied.
    :param spared: claims whose release is no help.
    :param on_node: the pod as nodes see it.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        claims: Sequence[Claim],
        nodes: Sequence[str],
        time_limit: TimeLimit,
        instead: Sequence[ClaimsOnNodes] = (),
        spared: Collection[str] = (),
        on_node: PodOnNode = NO_POD,
    ) -> None:
        self.spared = spared
        self.on_node = on_node._replace(fits_itself=True)
        self.instead = instead
        self.snapshot = snapshot
        self.claims = tuple(claims)
        self.nodes = nodes
        #: allocated claims of the pod itself, which keep their devices
        self.own = frozenset(claim.key for claim in claims if claim.is_allocated)
        self.time_limit = time_limit
        self._near: dict[object, Snapshot] = {}
        self._whole: dict[object, Snapshot] = {}

    @property
    def as_it_is(self) -> Variation:
        """The problem without any change."""
        return Variation(self.claims)

    @property
    def refusal(self) -> str:
        """Why kube-scheduler refuses the pod as it is before it looks at nodes, in its words."""
        return self.snapshot.cluster.refusal(
            (each for each in self.claims if not each.is_allocated), self.time_limit
        )

    def check_time(self) -> None:
        """Do nothing while there is time.

        :raises OutOfTime: if the time limit is over.
        """
        self.time_limit.check()

    def everywhere(self, variation: Variation) -> list[NodeAnswer]:
        """The answers of all eligible nodes to a variation, in order."""
        self.time_limit.check()
        cluster = self._snapshot(variation, None).cluster
        closed = (self._closed - variation.opened) | variation.avoided
        return list(
            cluster.place(
                variation.claims,
                Mode.FILTER,
                self.time_limit,
                instead=self.instead,
                on_node=self.on_node._replace(closed=closed),
            ).nodes
        )

    def outcome(self, answers: Iterable[NodeAnswer]) -> SchedulingOutcome:
        """How scheduling the pod ends, given the answers of nodes."""
        return outcome_of(len(self.snapshot.nodes), answers)

    def is_placed(self, answers: Iterable[NodeAnswer]) -> bool:
        """Whether each attempt places the pod.

        :raises Undecided: if a search gave up.
        """
        found = self.outcome(answers)
        if found is SchedulingOutcome.UNDECIDED:
            raise Undecided
        return found is SchedulingOutcome.FITS

    @cached_property
    def _closed(self) -> frozenset[str]:
        return frozenset(self.snapshot.nodes).difference(self.nodes)

    def on(self, node: str, variation: Variation) -> NodeAnswer:
        """The answer of one node to a variation."""
        self.time_limit.check()
        cluster = self._snapshot(variation, node).cluster
        return cluster.place(
            variation.claims, Mode.FILTER, self.time_limit, node, self.instead, self.on_node
        ).nodes[0]

    def fits_on(self, node: str, variation: Variation) -> bool:
        """Whether a variation fits on a node; False if the search gave up."""
        return self.on(node, variation).result is not None

    def surely_fits_on(self, node: str, variation: Variation) -> bool:
        """Whether a variation fits on a node.

        :raises Undecided: if the search gave up.
        """
        answer = self.on(node, variation)
        if answer.is_undecided:
            raise Undecided
        return answer.result is not None

    def held_near(self, node: str) -> list[str]:
        """The other claims that hold devices of pools that a node uses, and could be released."""
        names = self.snapshot.users_of(self.snapshot.pools_near(node))
        return [name for name in names if name not in self.own and name not in self.spared]

    @property
    def others(self) -> list[str]:
        """All other allocated claims."""
        return [name for name in self.snapshot.claims if name not in self.own]

    def first_fit(self, nodes: Iterable[str], variation: Variation) -> str | None:
        """The first of these nodes on which the variation fits."""
        return next((node for node in nodes if self.fits_on(node, variation)), None)

    def fits_anywhere(self, claims: Claims, released: frozenset[str] | None = frozenset()) -> bool:
        """Whether the pod would be placed on any node.

        :raises Undecided: if a search gave up.
        """
        return self.is_placed(self.everywhere(Variation(claims, released)))

    def _snapshot(self, variation: Variation, node: str | None) -> Snapshot:
        """The snapshot of a variation; with `node`, only what matters there."""
        if not variation.changes_cluster:
            return self.snapshot
        change = variation.change(lambda: self.others)
        snapshots, most = (self._whole, _WHOLE) if node is None else (self._near, _NEAR)
        cached = snapshots.get((node, change))
        if cached is None:
            if len(snapshots) >= most:
                snapshots.clear()
            cached = snapshots[node, change] = self.snapshot.changed(change, node, self.time_limit)
        return cached
