"""What if? Variations of a problem, each put to the allocator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from allocator.explaining.snapshot import Change, Snapshot, Taint, allocation_of, full_name
from allocator.features import Features
from allocator.scheduling import Mode, NodeAnswer
from allocator.scheduling_outcome import SchedulingOutcome, outcome_of
from allocator.time_limit import TimeLimit
from resourceapi.objects import Object

#: So many nodes that are closed to the pod are tried at most, of those closed for one reason.
MAX_NODES = 200
#: So many changed snapshots are kept: those around a node, and whole ones.
_NEAR, _WHOLE = 64, 4


class Undecided(Exception):
    """The allocator has given up, so that nothing can be concluded from what it has not found."""


class Variation(NamedTuple):
    """A changed problem: other claims for the pod, a changed cluster (fields as those of `Change`), other nodes.

    `released`: None: those of others. `opened`: nodes that are closed to the pod, and would not be; `avoided`: nodes that
    are open to it, and would not be.
    """

    claims: tuple[Object, ...]
    released: frozenset[str] | None = frozenset()
    without_taint: Taint | None = None
    features: Features | None = None
    class_selector: tuple[str, int, str] | None = None
    opened: frozenset[str] = frozenset()
    avoided: frozenset[str] = frozenset()

    @property
    def changes_cluster(self) -> bool:
        """Whether more than the pod's claims and nodes is different."""
        return self.released != frozenset() or any((self.without_taint, self.features, self.class_selector))


class Trials:
    """Asks about one pod; `nodes` are those that are open to it."""

    def __init__(
        self, snapshot: Snapshot, claims: Sequence[Object], nodes: Sequence[str], time_limit: TimeLimit
    ) -> None:
        self.snapshot = snapshot
        self.claims = tuple(claims)
        self.nodes = nodes
        #: allocated claims of the pod itself, which keep what they hold
        self.own = frozenset(full_name(claim) for claim in claims if allocation_of(claim) is not None)
        self._time_limit = time_limit
        self._near: dict[object, Snapshot] = {}
        self._whole: dict[object, Snapshot] = {}

    @property
    def as_it_is(self) -> Variation:
        """The problem without any change."""
        return Variation(self.claims)

    def everywhere(self, variation: Variation) -> list[NodeAnswer]:
        """What each node that is open to the pod answers, in order; nothing is kept."""
        self._time_limit.check()
        cluster = self._snapshot(variation, None).cluster
        closed = (self._closed - variation.opened) | variation.avoided
        cluster.time_limit = self._time_limit
        return list(cluster.place(_copies(variation.claims), Mode.FILTER, closed=closed).nodes)

    def outcome(self, answers: Iterable[NodeAnswer]) -> SchedulingOutcome:
        """What becomes of the pod if nodes answer so."""
        return outcome_of(len(self.snapshot.nodes), answers)

    def is_placed(self, answers: Iterable[NodeAnswer]) -> bool:
        """Whether the pod is placed, and not by chance only. Raises Undecided."""
        found = self.outcome(answers)
        if found is SchedulingOutcome.UNDECIDED:
            raise Undecided
        return found is SchedulingOutcome.FITS

    @cached_property
    def _closed(self) -> frozenset[str]:
        return frozenset(self.snapshot.nodes).difference(self.nodes)

    def on(self, node: str, variation: Variation) -> NodeAnswer:
        """What one node answers."""
        self._time_limit.check()
        cluster = self._snapshot(variation, node).cluster
        cluster.time_limit = self._time_limit
        return cluster.place(_copies(variation.claims), Mode.FILTER, node).nodes[0]

    def fits_on(self, node: str, variation: Variation) -> bool:
        """Whether a variation fits on a node, as far as can be told."""
        return self.on(node, variation).result is not None

    def surely_fits_on(self, node: str, variation: Variation) -> bool:
        """Whether a variation fits on a node. Raises Undecided."""
        answer = self.on(node, variation)
        if answer.is_undecided:
            raise Undecided
        return answer.result is not None

    def held_near(self, node: str) -> list[str]:
        """The claims of others that hold devices which may be for a node."""
        return [
            name for name in self.snapshot.users_of(self.snapshot.pools_near(node)) if name not in self.own
        ]

    @property
    def others(self) -> list[str]:
        """The allocated claims of others."""
        return [name for name in self.snapshot.claims if name not in self.own]

    def first_fit(self, nodes: Iterable[str], variation: Variation) -> str | None:
        """The first of these nodes on which the variation fits."""
        return next((node for node in nodes if self.fits_on(node, variation)), None)

    def fits_anywhere(
        self, claims: tuple[Object, ...], released: frozenset[str] | None = frozenset()
    ) -> bool:
        """Whether the pod would be placed on any node. Raises Undecided."""
        return self.is_placed(self.everywhere(Variation(claims, released)))

    def _snapshot(self, variation: Variation, node: str | None) -> Snapshot:
        """The snapshot of a variation; with `node` only what matters there."""
        if not variation.changes_cluster:
            return self.snapshot
        released = frozenset(self.others) if variation.released is None else variation.released
        change = Change(released, variation.without_taint, variation.features, variation.class_selector)
        snapshots, most = (self._whole, _WHOLE) if node is None else (self._near, _NEAR)
        known = snapshots.get((node, change))
        if known is None:
            if len(snapshots) >= most:
                snapshots.clear()
            known = snapshots[node, change] = self.snapshot.changed(change, node)
        return known


def _copies(claims: Iterable[Object]) -> list[Object]:
    """Claims to ask with: the answer may be kept in their status."""
    return [
        {**claim, "status": dict(claim["status"])} if claim.get("status") else dict(claim) for claim in claims
    ]
