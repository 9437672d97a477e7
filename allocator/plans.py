"""What is asked of nodes, and what has been found out: an answer for one node is one for all nodes of its class.

Claims that differ in nothing but names ask for the same, so the pods of a deployment share a `Plan`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from allocator.allocation import Allocator, Arrangement
from allocator.attempt_state import Taken
from allocator.demand import ClaimDemand
from allocator.errors import FATAL, GAVE_UP, NODE, AllocationError, NodeError
from allocator.node_equivalence import NodeEquivalence
from allocator.nodes import NodeClass, NodeEntry, Nodes
from allocator.results import Pick, ResultTemplate, is_ordinary
from allocator.states import PoolState
from resourceapi.canonical import canonical
from resourceapi.objects import Object

_MAX_PLANS = 512
_MAX_OUTCOMES = 100_000


class Outcome:
    """How nodes of a class serve a plan: with results made from `templates`, not at all (None), or with an error."""

    __slots__ = ("error", "error_kind", "fits", "fix", "is_undecided", "templates")

    def __init__(
        self,
        templates: tuple[ResultTemplate, ...] | None = None,
        error: str = "",
        error_kind: str = "",
        fix: str = "",
    ) -> None:
        self.templates = templates
        #: not that of a fatal error: it names devices
        self.error = error
        #: FATAL if other nodes cannot help, NODE if they may
        self.error_kind = error_kind
        self.fix = fix
        #: whether the claims fit on the nodes
        self.fits = templates is not None
        #: whether the search was given up
        self.is_undecided = error == GAVE_UP


NO_FIT = Outcome()
FATAL_OUTCOME = Outcome(error_kind=FATAL)


class _CachedOutcomeError(Exception):
    """The outcome is known; nothing is wrong."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class Plan:
    """What claims ask for, whatever their names are."""

    __slots__ = ("demand", "equivalence", "equivalent", "fits", "outcomes")

    def __init__(self, demand: list[ClaimDemand], equivalence: NodeEquivalence) -> None:
        self.demand = demand
        self.equivalence = equivalence
        #: by the devices that are taken
        self.fits: dict[object, Outcome] = {}
        #: of nodes on which the search is hard, by what they are like
        self.equivalent: dict[object, Outcome] = {}
        #: by class, and by the state of shared pools if there are any
        self.outcomes: dict[object, Outcome] = {}


class Plans:
    """The plans of late, each with its outcomes."""

    def __init__(self, allocator: Allocator, nodes: Nodes) -> None:
        self._allocator = allocator
        self._nodes = nodes
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._outcomes = 0

    def clear(self) -> None:
        """Forget all, when a class has changed."""
        self._plans.clear()
        self._outcomes = 0

    def plan(self, claims: Sequence[Object]) -> Plan:
        """The plan for claims of a pod."""
        key = tuple([canonical((claim.get("spec") or {}).get("devices")) for claim in claims])
        plan = self._plans.get(key)
        if plan is None:
            if len(self._plans) >= _MAX_PLANS or self._outcomes >= _MAX_OUTCOMES:
                self.clear()
            demand = self._allocator.demand(claims)
            equivalence = NodeEquivalence(demand, self._allocator.features, self._allocator.selectors)
            plan = self._plans[key] = Plan(demand, equivalence)
        return plan

    def outcome(self, plan: Plan, entry: NodeEntry, node_class: NodeClass) -> Outcome:
        """How the nodes of a class, of which this is one, serve a plan now."""
        signature = node_class.shared.signature
        key = node_class if signature is None else (node_class, signature)
        found = plan.outcomes.get(key)
        if found is None:
            found = plan.outcomes[key] = self._find(plan, entry)
            self._outcomes += 1
        return found

    def _find(self, plan: Plan, entry: NodeEntry) -> Outcome:
        states = self._nodes.view_of(entry).states()
        hard: list[object] = []

        def recall() -> None:
            """Before a search that takes long: perhaps there was one on a node that is equivalent."""
            like = plan.equivalence.of(entry.node, entry.declares, states)
            if like in plan.equivalent:
                raise _CachedOutcomeError(plan.equivalent[like])
            hard.append(like)

        try:
            outcome = self._outcome(plan, entry, states, recall)
        except _CachedOutcomeError as known:
            return known.outcome
        if hard:
            plan.equivalent[hard[0]] = outcome
            self._outcomes += 1
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
        """Classes with equal answers share one: where devices have serial numbers, each node is a class."""
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
        """What results are made from on any node of the class."""
        features = self._allocator.features
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
        """The error on a node, with a text that names claims and devices."""
        try:
            self._search(entry, self._nodes.view_of(entry).states(), self._allocator.demand(claims))
        except AllocationError as error:
            return Outcome(error=str(error), error_kind=FATAL, fix=error.fix)
        raise AssertionError("an error that does not come again")


def _picks(states: Sequence[PoolState], taken: Sequence[tuple[Taken, ...]]) -> list[list[Pick]]:
    """The places of devices, by claim."""
    places = {state.pool.id: (place, state) for place, state in enumerate(states)}
    return [[_pick(*places[device.slice.pool], device.id.device) for device, _, _ in each] for each in taken]


def _pick(place: int, state: PoolState, device: str) -> Pick:
    return place, state.place(device)
