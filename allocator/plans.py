"""Cached outcomes of searches: the outcome on one node holds for all nodes of its class.

Claims that differ only in names share a `Plan`, so all pods of a deployment do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from allocator.allocation import Allocator, Arrangement
from allocator.attempt_state import Taken
from allocator.demand import ClaimContents, ClaimDemand, Content
from allocator.errors import (
    FATAL,
    NODE,
    UNDECIDED,
    AllocationError,
    Mention,
    Named,
    NodeError,
    Quotation,
    Text,
    naming,
)
from allocator.feasible_nodes import FeasibleNodes
from allocator.ledgers import PoolState
from allocator.node_equivalence import NodeEquivalence
from allocator.node_resources import Shortage
from allocator.nodes import NodeClass, NodeEntry, Nodes
from allocator.results import Pick, ResultTemplate, is_ordinary
from allocator.time_limit import TimeLimit
from resourceapi.caches import WeighedCache
from resourceapi.records.claims import Claim

# The texts of errors for other pods and nodes than those where they were found: only names differ.
# So an error is found once, and its text is made for each pod and node when it is read.


class _Spot(NamedTuple):
    """What a text mentions, by its place in the pools of a node; without a `device` the pool itself."""

    words: str
    otherwise: str
    short: bool
    pool: int
    device: int | None


class ErrorText:
    """A text for all pods with like claims, on all nodes of a kind."""

    __slots__ = ("_parts",)

    def __init__(self, text: Text, claims: Sequence[Named], states: Sequence[PoolState]) -> None:
        """Take the text that was found for some claims on a node, where the pools were in these states."""
        self._parts = [_part(each, claims, states) for each in text]

    @property
    def quoted(self) -> int:
        """How many characters it quotes."""
        return sum([len(each.words) for each in self._parts if isinstance(each, Quotation)])

    def on(self, names: Sequence[str], states: Sequence[PoolState]) -> str:
        """The text for claims with these names, on a node where the pools are in these states."""
        return "".join([self._words(each, names, states) for each in self._parts])

    def anywhere(self, names: Sequence[str]) -> str:
        """The text for claims with these names, without names of devices and pools, and what devices have."""
        return "".join([self._words(each, names, None) for each in self._parts])

    @staticmethod
    def _words(
        part: str | int | _Spot | Quotation, names: Sequence[str], states: Sequence[PoolState] | None
    ) -> str:
        if isinstance(part, str):
            return part
        if isinstance(part, Quotation):
            return part.otherwise if states is None else part.words
        if isinstance(part, int):
            return names[part]
        if states is None:
            return part.otherwise
        pool = states[part.pool].pool
        what = pool if part.device is None else pool.devices[part.device]
        return naming(part.words, what, short=part.short)


def _part(
    part: str | Named | Mention | Quotation, claims: Sequence[Named], states: Sequence[PoolState]
) -> str | int | _Spot | Quotation:
    if isinstance(part, str | Quotation):
        return part
    if not isinstance(part, Mention):
        return claims.index(part)
    id = part.what.id
    place = next(place for place, state in enumerate(states) if state.pool.id == id[:2])
    device = states[place].pool.place(id[2]) if len(id) > 2 else None
    return _Spot(part.words, part.otherwise, part.short, place, device)


Solution = Sequence[tuple[Taken, ...]]
"""The devices that each claim gets."""
MOST_BYTES = 128 << 20
"""How much memory all plans may take with what has been found out for them."""
# About what a plan takes beside the demands of its claims, an outcome, and what is told of a node to find equivalent ones.
_PLAN_BYTES, _OUTCOME_BYTES, _NODE_BYTES = 1500, 350, 500
# A plan is weighed again when it has grown by more than this part of what was weighed.
_GROWTH = 1 / 2


class Outcome:
    """How nodes of a class serve a plan: with results made from `templates`, not at all (None), or with an error.

    `error` has no names of devices and pools: it is the same on nodes with the same error.
    """

    __slots__ = ("error", "error_kind", "fits", "fix", "is_undecided", "places", "shortages", "templates")

    def __init__(
        self,
        templates: tuple[ResultTemplate, ...] | None = None,
        error: str = "",
        error_kind: str = "",
        fix: str = "",
        shortages: Sequence[Shortage] = (),
    ) -> None:
        self.templates = templates
        #: what the node lacks for the devices (`allocator.node_fit`)
        self.shortages = shortages
        self.error = error
        #: one of those in `allocator.errors`
        self.error_kind = error_kind
        self.fix = fix
        #: how far down its list each chosen alternative is, for the requests that have a list (`firstAvailable`)
        self.places = tuple([place for template in templates or () for place in template.places])
        #: whether the claims fit on the nodes
        self.fits = templates is not None
        #: whether the search was given up, or its time was over
        self.is_undecided = error in UNDECIDED

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        templates = sum([template.weight for template in self.templates or ()])
        return _OUTCOME_BYTES + self.error_bytes + templates

    @property
    def error_bytes(self) -> int:
        """About how many bytes its texts take."""
        return len(self.error)

    def error_on(self, states: Sequence[PoolState]) -> str:
        """The error in full, on a node where the pools are in these states."""
        return self.error


class FatalOutcome(Outcome):
    """An error that ends the attempt. It is the same for all claims of a plan but for their names."""

    __slots__ = ("_names", "_text")

    def __init__(self, text: ErrorText, names: Sequence[str], fix: str) -> None:
        super().__init__(error=text.anywhere(names), error_kind=FATAL, fix=fix)
        self._text = text
        self._names = names

    @property
    def error_bytes(self) -> int:
        """As of :class:`Outcome`, with what is told of a node."""
        return len(self.error) + self._text.quoted

    def of(self, claims: Sequence[Claim]) -> FatalOutcome:
        """The same for these claims of the plan."""
        return FatalOutcome(self._text, [each.key for each in claims], self.fix)

    def error_on(self, states: Sequence[PoolState]) -> str:
        """As of :class:`Outcome`, with the names of devices and pools there."""
        return self._text.on(self._names, states)


NO_FIT = Outcome()


class _CachedOutcomeError(Exception):
    """The outcome is cached, so the search ends; not an error."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class Plan:
    """The requests of claims, apart from names, as far as they have been read, and their outcomes so far."""

    __slots__ = (
        "bytes_of_outcomes",
        "demand",
        "equivalence",
        "equivalent",
        "feasible",
        "fits",
        "key",
        "outcomes",
        "weighed",
    )

    def __init__(self, key: tuple[Content, ...]) -> None:
        #: the contents of the claims
        self.key = key
        #: of each claim, or of the first ones while there was no time to read all
        self.demand: list[ClaimDemand] = []
        #: made for the first search that is hard
        self.equivalence: NodeEquivalence | None = None
        #: outcomes by the devices that are taken
        self.fits: dict[object, Outcome] = {}
        #: outcomes on nodes on which the search is hard, by node equivalence
        self.equivalent: dict[object, Outcome] = {}
        #: the verdicts of nodes, by the kind of pod
        self.feasible: dict[object, FeasibleNodes] = {}
        #: outcomes by class, and by the state of shared pools if there are any
        self.outcomes: dict[object, Outcome] = {}
        self.bytes_of_outcomes = 0
        #: its weight as it is known to the cache
        self.weighed = 0

    @property
    def weight(self) -> int:
        """About how many bytes it takes; a demand that other plans have as well counts in full."""
        weight = _PLAN_BYTES + self.bytes_of_outcomes
        if self.equivalence is not None:
            weight += self.equivalence.weight
        for claim in self.demand:
            weight += claim.header.weight
        for found in self.feasible.values():
            weight += found.weight
        return weight


class Plans:
    """Plans with their outcomes, as long as a claim has their contents. `MOST_BYTES` bounds all together; the namespace with most makes room."""

    def __init__(self, allocator: Allocator, nodes: Nodes, contents: ClaimContents) -> None:
        self._allocator = allocator
        self._nodes = nodes
        self._contents = contents
        contents.listeners.append(self._end)
        self._plans: WeighedCache[tuple[Content, ...], Plan] = WeighedCache(MOST_BYTES, self._dropped)
        #: of which plans a content is part
        self._with: dict[Content, set[tuple[Content, ...]]] = {}
        #: how often an outcome was found by a search, and how often it was known
        self.searches = self.hits = 0

    def clear(self) -> None:
        """Drop all plans, as is needed when a DeviceClass changes."""
        self._plans.clear()
        self._with.clear()

    def plan(self, claims: Sequence[Claim], time_limit: TimeLimit) -> Plan:
        """The plan for the claims of a pod.

        :raises OutOfTime: if the time is over before all claims have been read; the next call goes on where this one ends.
        """
        contents = []
        for claim in claims:
            time_limit.check()
            contents.append(self._contents.of(claim))
        key = tuple(contents)
        owner = claims[0].namespace if claims else ""
        plan = known = self._plans.use(key, owner)
        if plan is None:
            plan = Plan(key)
        if known is None or len(plan.demand) < len(key):
            try:
                for place, demand in enumerate(self._contents.demands(claims, contents, time_limit)):
                    if place == len(plan.demand):
                        plan.demand.append(demand)
            finally:  # also what was read until the time was over
                plan.weighed = plan.weight
                if known is None:
                    self._keep(plan, owner)
                else:
                    self._plans.weigh(key, plan.weighed)
        return plan

    def _keep(self, plan: Plan, owner: str) -> None:
        for content in plan.key:
            self._with.setdefault(content, set()).add(plan.key)
        self._plans.put(plan.key, plan, plan.weighed, owner)

    def _end(self, content: Content) -> None:
        """Drop the plans with a content that no claim has any more."""
        for key in list(self._with.get(content, ())):
            self._plans.pop(key)

    def _dropped(self, key: tuple[Content, ...]) -> None:
        for content in set(key):
            self._with[content].discard(key)
            if not self._with[content]:
                del self._with[content]

    def known(self, plan: Plan, entry: NodeEntry, node_class: NodeClass) -> Outcome | None:
        """How the nodes of a class serve a plan now, as far as that is known.

        :param entry: any node of the class, which has been found just now.
        """
        assert entry.view is not None
        shared = entry.view.layout.shared
        found = plan.outcomes.get((node_class, shared.signature) if shared.states else node_class)
        if found is not None:
            self.hits += 1
        return found

    def search(self, plan: Plan, entry: NodeEntry, node_class: NodeClass, time_limit: TimeLimit) -> Outcome:
        """How the nodes of a class serve a plan now; parameters as for :meth:`known`."""
        assert entry.view is not None
        shared = entry.view.layout.shared
        self.searches += 1
        try:
            found = self._find(plan, entry, time_limit)
            plan.outcomes[(node_class, shared.signature) if shared.states else node_class] = found
            plan.bytes_of_outcomes += _OUTCOME_BYTES + found.error_bytes + shared.signature_bytes
        finally:  # also what was found out about devices until the time was over
            self.weigh(plan)
        return found

    def weigh(self, plan: Plan) -> None:
        """Note how much memory a plan takes, if that is far more than before."""
        weight = plan.weight
        if weight > plan.weighed * (1 + _GROWTH):
            plan.weighed = weight
            self._plans.weigh(plan.key, weight)

    def _find(self, plan: Plan, entry: NodeEntry, time_limit: TimeLimit) -> Outcome:
        states = self._nodes.view_of(entry).states()
        hard: list[object] = []

        def use_equivalent() -> None:
            """Before a search that may take long, use the outcome on an equivalent node, if there is one."""
            if plan.equivalence is None:
                allocator = self._allocator
                plan.equivalence = NodeEquivalence(plan.demand, allocator.features, allocator.selectors)
            key = plan.equivalence.of(entry.node, entry.declares, states, time_limit)
            if key in plan.equivalent:
                raise _CachedOutcomeError(plan.equivalent[key])
            hard.append(key)

        try:
            found = self._first(plan, entry, states, time_limit, use_equivalent)
        except _CachedOutcomeError as known:
            return known.outcome
        outcome = found if isinstance(found, Outcome) else self._fit(plan, states, found)
        if hard:
            plan.equivalent[hard[0]] = outcome
            plan.bytes_of_outcomes += _NODE_BYTES
        return outcome

    def _first(
        self,
        plan: Plan,
        entry: NodeEntry,
        states: Sequence[PoolState],
        time_limit: TimeLimit,
        hard: Callable[[], None] | None = None,
    ) -> Solution | Outcome:
        """What the search finds first, or the outcome if that is nothing."""
        try:
            taken = self._search(entry, states, plan.demand, time_limit, hard=hard)
        except AllocationError as error:
            claims = [claim.header for claim in plan.demand]
            names = [claim.name for claim in claims]
            return FatalOutcome(ErrorText(error.text, claims, states), names, error.fix)
        except NodeError as error:
            return Outcome(error=str(error), error_kind=NODE)
        return NO_FIT if taken is None else taken

    def _fit(self, plan: Plan, states: Sequence[PoolState], taken: Solution) -> Outcome:
        """The outcome for devices; equal ones are shared, as each node is a class if devices have serial numbers."""
        picks = picks_of(states, taken)
        if not all(is_ordinary(each) for of_claim in taken for each in of_claim):
            return Outcome(self._templates(plan, taken, picks))
        key = tuple(
            [
                tuple(
                    [
                        (each.alternative, each.device.id.driver, pick)
                        for each, pick in zip(*both, strict=True)
                    ]
                )
                for both in zip(taken, picks, strict=True)
            ]
        )
        found = plan.fits.get(key)
        if found is None:
            found = plan.fits[key] = Outcome(self._templates(plan, taken, picks))
        return found

    def _templates(
        self, plan: Plan, taken: Solution, picks: Sequence[Sequence[Pick]]
    ) -> tuple[ResultTemplate, ...]:
        """The templates from which the results on any node of the class are made."""
        features = self._allocator.features
        found = tuple(
            [
                ResultTemplate(claim, devices, places, features)
                for claim, devices, places in zip(plan.demand, taken, picks, strict=True)
            ]
        )
        plan.bytes_of_outcomes += sum([template.weight for template in found])
        return found

    def _search(
        self,
        entry: NodeEntry,
        states: Sequence[PoolState],
        demand: list[ClaimDemand],
        time_limit: TimeLimit,
        arrange: Arrangement | None = None,
        hard: Callable[[], None] | None = None,
    ) -> list[tuple[Taken, ...]] | None:
        of_pool = {state.pool: state for state in states}
        return self._allocator.find(
            entry.node, list(of_pool), demand, time_limit, lambda pool: of_pool[pool].ledger, arrange, hard
        )


def picks_of(states: Sequence[PoolState], taken: Solution) -> list[list[Pick]]:
    """The indexes of devices in their pools, by claim."""
    places = {state.pool.id: (place, state) for place, state in enumerate(states)}
    return [[_pick(*places[device.slice.pool], device.id.device) for device, _, _ in each] for each in taken]


def _pick(place: int, state: PoolState, device: str) -> Pick:
    of_pool = state.pool.place(device)
    assert of_pool is not None
    return place, of_pool
