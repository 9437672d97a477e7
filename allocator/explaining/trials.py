"""Variations of a problem, put to the allocator: what would be if."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from time import monotonic
from typing import NamedTuple

from allocator.devices import Object
from allocator.errors import GAVE_UP
from allocator.explaining.world import Taint, World, allocation_of, full_name
from allocator.features import Features
from allocator.scheduling import FATAL, Mode, NodeAnswer

#: On so many nodes a variation that works on one node is tried at most.
MAX_NODES = 200
_WORLDS = 64


class OutOfTime(Exception):
    """The time that an explanation may take is over."""


class Undecided(Exception):
    """The allocator has given up, so that nothing can be concluded from what it has not found."""


class Variation(NamedTuple):
    """A changed problem: other claims for the pod, and a changed cluster.

    `released`: claims that hold nothing any more, None: those of others do not. `without_taint`: taken off all devices.
    """

    claims: tuple[Object, ...]
    released: frozenset[str] | None = frozenset()
    without_taint: Taint | None = None
    features: Features | None = None

    @property
    def changes_cluster(self) -> bool:
        """Whether more than the pod's claims is different."""
        return self.released != frozenset() or self.without_taint is not None or self.features is not None


class Trials:
    """Asks about one pod; `nodes` are those that are open to it."""

    def __init__(self, world: World, claims: Sequence[Object], nodes: Sequence[str], seconds: float) -> None:
        self.world = world
        self.claims = tuple(claims)
        self.nodes = nodes
        #: allocated claims of the pod itself, which keep what they hold
        self.own = frozenset(full_name(claim) for claim in claims if allocation_of(claim) is not None)
        self._end = monotonic() + seconds
        self._near: dict[object, World] = {}

    @property
    def as_it_is(self) -> Variation:
        return Variation(self.claims)

    def everywhere(self, variation: Variation) -> list[NodeAnswer]:
        """What each node that is open to the pod answers, in order, up to a fatal error; nothing is kept."""
        self._check_time()
        world = self.world
        if variation.released is None and not (variation.without_taint or variation.features):
            world = self._empty
        elif variation.changes_cluster:
            return [self.on(node, variation) for node in self.nodes]
        return list(world.cluster.place(_copies(variation.claims), Mode.ALL_NODES, closed=self._closed).nodes)

    @cached_property
    def _closed(self) -> frozenset[str]:
        return frozenset(self.world.nodes).difference(self.nodes)

    @cached_property
    def _empty(self) -> World:
        """The world in which nothing is allocated to others."""
        world = self.world
        own = [world.claims[name] for name in world.claims if name in self.own]
        return World(world.features, world.nodes.values(), world.classes, world.slices.values(), own)

    def on(self, node: str, variation: Variation) -> NodeAnswer:
        """What one node answers."""
        self._check_time()
        near = self._world_near(node, variation) if variation.changes_cluster else self.world
        return near.cluster.place(_copies(variation.claims), Mode.ALL_NODES, node).nodes[0]

    def fits_on(self, node: str, variation: Variation) -> bool:
        """Whether a variation fits on a node, as far as can be told."""
        return self.on(node, variation).result is not None

    def surely_fits_on(self, node: str, variation: Variation) -> bool:
        """Whether a variation fits on a node. Raises Undecided."""
        return surely_placed([self.on(node, variation)]) is not None

    def held_near(self, node: str) -> list[str]:
        """The claims of others that hold devices which may be for a node."""
        return [name for name in self.world.users_of(self.world.pools_near(node)) if name not in self.own]

    @property
    def others(self) -> list[str]:
        """The allocated claims of others."""
        return [name for name in self.world.claims if name not in self.own]

    def first_fit(self, nodes: Iterable[str], variation: Variation) -> str | None:
        """The first of these nodes on which the variation fits."""
        return next((node for node in nodes if self.fits_on(node, variation)), None)

    def fits_anywhere(
        self, claims: tuple[Object, ...], released: frozenset[str] | None = frozenset()
    ) -> bool:
        """Whether the pod would be placed on any node: a fatal error on a node before ends the attempt.

        Raises Undecided.
        """
        return surely_placed(self.everywhere(Variation(claims, released))) is not None

    def _world_near(self, node: str, variation: Variation) -> World:
        key = (node, variation.released, variation.without_taint, variation.features)
        near = self._near.get(key)
        if near is None:
            if len(self._near) >= _WORLDS:
                self._near.clear()
            released = variation.released
            near = self._near[key] = self.world.around(
                node,
                released=self.others if released is None else released,
                without_taint=variation.without_taint,
                features=variation.features,
            )
        return near

    def _check_time(self) -> None:
        if monotonic() > self._end:
            raise OutOfTime


def placed(answers: Iterable[NodeAnswer]) -> NodeAnswer | None:
    """The node on which kube-scheduler would put the pod if it took the first: none after a fatal error."""
    for answer in answers:
        if answer.error_kind == FATAL:
            return None
        if answer.result is not None:
            return answer
    return None


def surely_placed(answers: Sequence[NodeAnswer]) -> NodeAnswer | None:
    """The same, if that can be told. Raises Undecided."""
    found = placed(answers)
    if found is None and is_undecided(answers):
        raise Undecided
    return found


def is_undecided(answers: Iterable[NodeAnswer]) -> bool:
    """Whether the allocator gave up on a node before a fatal error on another would have ended the attempt."""
    for answer in answers:
        if answer.error_kind == FATAL:
            return False
        if answer.error == GAVE_UP:
            return True
    return False


def _copies(claims: Iterable[Object]) -> list[Object]:
    """Claims to ask with: the answer may be kept in their status."""
    return [
        {**claim, "status": dict(claim["status"])} if claim.get("status") else dict(claim) for claim in claims
    ]
