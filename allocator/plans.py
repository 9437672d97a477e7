"""Cached outcomes of searches: the outcome on one node holds for all nodes of its class.

Claims that differ only in names share a `Plan`, so all pods of a deployment do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allocator.allocation import Allocator, Arrangement
from allocator.attempt_state import Taken
from allocator.claim_contents import ClaimContents
from allocator.demand import ClaimDemand
from allocator.errors import FATAL, NODE, UNDECIDED, AllocationError, NodeError
from allocator.node_equivalence import NodeEquivalence
from allocator.nodes import NodeClass, NodeEntry, Nodes
from allocator.results import Pick, ResultTemplate, is_ordinary
from allocator.states import PoolState
from resourceapi.manifests import namespace_of
from resourceapi.objects import Object
from resourceapi.weighed_cache import WeighedCache

MOST_BYTES = 128 << 20
"""How much memory all plans may take with what has been found out for them."""
# About what a plan takes beside the demands of its claims, an outcome, a template and each device in it, and what is told
# of a node to find equivalent ones.
_PLAN_BYTES, _OUTCOME_BYTES, _TEMPLATE_BYTES, _DEVICE_BYTES, _NODE_BYTES = 1500, 350, 400, 420, 500


class Outcome:
    """How nodes of a class serve a plan: with results made from `templates`, not at all (None), or with an error.

    Errors that end the attempt have no text here, because their texts name devices.
    """

    __slots__ = ("error", "error_kind", "fits", "fix", "is_undecided", "summary", "templates")

    def __init__(
        self,
        templates: tuple[ResultTemplate, ...] | None = None,
        error: str = "",
        error_kind: str = "",
        fix: str = "",
        summary: str = "",
    ) -> None:
        self.templates = templates
        self.error = error
        #: the error without names of devices and pools: the same on nodes with the same error
        self.summary = summary or error
        #: FATAL if other nodes cannot help, NODE if they may
        self.error_kind = error_kind
        self.fix = fix
        #: whether the claims fit on the nodes
        self.fits = templates is not None
        #: whether the search was given up, or its time was over
        self.is_undecided = error in UNDECIDED

    @property
    def places(self) -> tuple[int, ...]:
        """How far down its list each chosen alternative is, for the requests that have a list (`firstAvailable`)."""
        return tuple([place for template in self.templates or () for place in template.places])


NO_FIT = Outcome()
FATAL_OUTCOME = Outcome(error_kind=FATAL)


class _CachedOutcomeError(Exception):
    """The outcome is cached, so the search ends; not an error."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class Plan:
    """The requests of claims, apart from names, and their outcomes so far."""

    __slots__ = ("bytes_of_outcomes", "demand", "equivalence", "equivalent", "fits", "key", "outcomes")

    def __init__(
        self, key: tuple[bytes, ...], demand: list[ClaimDemand], equivalence: NodeEquivalence
    ) -> None:
        #: the contents of the claims
        self.key = key
        self.demand = demand
        self.equivalence = equivalence
        #: outcomes by the devices that are taken
        self.fits: dict[object, Outcome] = {}
        #: outcomes on nodes on which the search is hard, by node equivalence
        self.equivalent: dict[object, Outcome] = {}
        #: outcomes by class, and by the state of shared pools if there are any
        self.outcomes: dict[object, Outcome] = {}
        self.bytes_of_outcomes = 0

    @property
    def weight(self) -> int:
        """About how many bytes it takes; a demand that other plans have as well counts in full."""
        demand = sum([claim.header.weight for claim in self.demand])
        return _PLAN_BYTES + demand + self.equivalence.weight + self.bytes_of_outcomes


class Plans:
    """Plans with their outcomes, as long as a claim has their contents. They are bounded in bytes, namespace by namespace."""

    def __init__(self, allocator: Allocator, nodes: Nodes, contents: ClaimContents) -> None:
        self._allocator = allocator
        self._nodes = nodes
        self._contents = contents
        contents.listeners.append(self._end)
        self._plans: WeighedCache[tuple[bytes, ...], Plan] = WeighedCache(MOST_BYTES, self._dropped)
        #: of which plans a content is part
        self._with: dict[bytes, set[tuple[bytes, ...]]] = {}
        #: how often an outcome was found by a search, and how often it was known
        self.searches = self.hits = 0

    def clear(self) -> None:
        """Drop all plans, as is needed when a DeviceClass changes."""
        self._plans.clear()
        self._with.clear()

    def plan(self, claims: Sequence[Object]) -> Plan:
        """The plan for the claims of a pod."""
        contents = [self._contents.of(claim) for claim in claims]
        key = tuple([content.digest for content in contents])
        owner = namespace_of(claims[0], "") if claims else ""
        plan = self._plans.use(key, owner)
        if plan is None:
            demand = list(self._contents.demands(claims, contents))
            equivalence = NodeEquivalence(demand, self._allocator.features, self._allocator.selectors)
            plan = Plan(key, demand, equivalence)
            for digest in key:
                self._with.setdefault(digest, set()).add(key)
            self._plans.put(key, plan, plan.weight, owner)
        return plan

    def _end(self, digest: bytes) -> None:
        """Drop the plans with a content that no claim has any more."""
        for key in list(self._with.get(digest, ())):
            self._plans.pop(key)

    def _dropped(self, key: tuple[bytes, ...]) -> None:
        for digest in set(key):
            self._with[digest].discard(key)
            if not self._with[digest]:
                del self._with[digest]

    def outcome(self, plan: Plan, entry: NodeEntry, node_class: NodeClass) -> Outcome:
        """How the nodes of a class serve a plan now.

        :param entry: any node of the class, which has been found just now.
        """
        assert entry.view is not None
        shared = entry.view.layout.shared
        signature = shared.signature
        key = node_class if signature is None else (node_class, signature)
        found = plan.outcomes.get(key)
        if found is None:
            self.searches += 1
            try:
                found = plan.outcomes[key] = self._find(plan, entry)
                plan.bytes_of_outcomes += _OUTCOME_BYTES + shared.signature_bytes
            finally:
                self._plans.weigh(plan.key, plan.weight)
        else:
            self.hits += 1
        return found

    def _find(self, plan: Plan, entry: NodeEntry) -> Outcome:
        states = self._nodes.view_of(entry).states()
        hard: list[object] = []

        def use_equivalent() -> None:
            """Before a search that may take long, use the outcome on an equivalent node, if there is one."""
            key = plan.equivalence.of(entry.node, entry.declares, states)
            if key in plan.equivalent:
                raise _CachedOutcomeError(plan.equivalent[key])
            hard.append(key)

        try:
            outcome = self._outcome(plan, entry, states, use_equivalent)
        except _CachedOutcomeError as known:
            return known.outcome
        if hard:
            plan.equivalent[hard[0]] = outcome
            plan.bytes_of_outcomes += _NODE_BYTES
        return outcome

    def _outcome(
        self, plan: Plan, entry: NodeEntry, states: Sequence[PoolState], hard: Callable[[], None]
    ) -> Outcome:
        try:
            taken = self._search(entry, states, plan.demand, hard=hard)
        except AllocationError:
            return FATAL_OUTCOME
        except NodeError as error:
            return Outcome(error=str(error), error_kind=NODE)
        return NO_FIT if taken is None else self._fit(plan, states, taken)

    def _fit(self, plan: Plan, states: Sequence[PoolState], taken: Sequence[tuple[Taken, ...]]) -> Outcome:
        """The outcome for devices; equal ones are shared, as each node is a class if devices have serial numbers."""
        if not all(is_ordinary(each) for of_claim in taken for each in of_claim):
            return Outcome(self._templates(plan, states, taken))
        key = tuple(
            [
                tuple(
                    [
                        (each.alternative, each.device.id.driver, pick)
                        for each, pick in zip(*both, strict=True)
                    ]
                )
                for both in zip(taken, _picks(states, taken), strict=True)
            ]
        )
        found = plan.fits.get(key)
        if found is None:
            found = plan.fits[key] = Outcome(self._templates(plan, states, taken))
        return found

    def _templates(
        self, plan: Plan, states: Sequence[PoolState], taken: Sequence[tuple[Taken, ...]]
    ) -> tuple[ResultTemplate, ...]:
        """The templates from which the results on any node of the class are made."""
        features = self._allocator.features
        plan.bytes_of_outcomes += sum([_TEMPLATE_BYTES + _DEVICE_BYTES * len(each) for each in taken])
        return tuple(
            [
                ResultTemplate(claim, each, picks, features)
                for claim, each, picks in zip(plan.demand, taken, _picks(states, taken), strict=True)
            ]
        )

    def _search(
        self,
        entry: NodeEntry,
        states: Sequence[PoolState],
        demand: list[ClaimDemand],
        arrange: Arrangement | None = None,
        hard: Callable[[], None] | None = None,
    ) -> list[tuple[Taken, ...]] | None:
        of_pool = {state.pool: state for state in states}
        return self._allocator.find(
            entry.node, list(of_pool), demand, lambda pool: of_pool[pool].ledger, arrange, hard
        )

    def fatal_outcome(self, entry: NodeEntry, claims: Sequence[Object]) -> Outcome:
        """The fatal error on a node, with its text, which names claims and devices."""
        try:
            self._search(entry, self._nodes.view_of(entry).states(), self._allocator.demand(claims))
        except AllocationError as error:
            return Outcome(error=str(error), error_kind=FATAL, fix=error.fix, summary=error.summary)
        raise AssertionError("the same search has failed before")


def _picks(states: Sequence[PoolState], taken: Sequence[tuple[Taken, ...]]) -> list[list[Pick]]:
    """The indexes of devices in their pools, by claim."""
    places = {state.pool.id: (place, state) for place, state in enumerate(states)}
    return [[_pick(*places[device.slice.pool], device.id.device) for device, _, _ in each] for each in taken]


def _pick(place: int, state: PoolState, device: str) -> Pick:
    return place, state.place(device)
