"""Pods in a cluster, one after the other: on which nodes their claims fit, and what is held afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import chain, starmap
from typing import NamedTuple

from allocator.allocated import AllocatedState
from allocator.allocation import Allocator
from allocator.answers import Answers, NodeAnswer, PodAnswer
from allocator.attempt import Attempt, still_fits
from allocator.best_fit import BestPlans, Proposal, Rank
from allocator.demand import ClaimContents, ClaimDemand, read_claim
from allocator.devices import Slice
from allocator.errors import FATAL, NODE, OUT_OF_TIME
from allocator.features import Features
from allocator.filtering import Filtering
from allocator.fitting.waste import Waste
from allocator.inventory import Inventory
from allocator.ledgers import PoolState
from allocator.node_fit import NO_POD, ClaimFootprint, PodOnNode
from allocator.node_resources import NodeResources
from allocator.node_scores import NodeScores
from allocator.nodes import NodeClass, NodeEntry, Nodes
from allocator.outcomes import AWAY_OUTCOME, Outcomes
from allocator.plans import Outcome, Plans
from allocator.pod_claims import ClaimsOnNodes, PodClaims
from allocator.pre_filter import refusal
from allocator.scheduling_cycle import SchedulingCycle
from allocator.scheduling_outcome import feasible_nodes, outcome_of
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from resourceapi.manifests import full_name
from resourceapi.objects import Object
from resourceapi.records.claims import Allocation, Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node
from resourceapi.records.pools import PoolId
from resourceapi.records.taints import DeviceTaintRule

__all__ = ["FATAL", "NODE", "Mode", "NodeAnswer", "PodAnswer", "SchedulingState", "feasible_nodes"]


class Mode(Enum):
    """Which nodes are asked, and whether the answer is kept."""

    #: nodes in order until one fits; that result is kept
    FIRST_FIT = "first-fit"
    #: every node, nothing is kept
    ALL_NODES = "all-nodes"
    #: every node as kube-scheduler's filter sees it, nothing is kept: errors count on nodes, too, where an allocated
    #: claim of the pod is not available
    FILTER = "filter"
    #: as FILTER, as many nodes as kube-scheduler would ask if it began with the first; the first that fits is kept,
    #: unless an error ends each attempt (`allocator.scheduling_outcome`)
    ATTEMPT = "attempt"
    #: as ATTEMPT; of the nodes that fit, the one that kube-scheduler chooses (`allocator.node_scores`)
    PREFERRED = "kube-scheduler"
    #: as FILTER; the result that wastes least is kept, never one with worse alternatives (`allocator.best_fit`), none
    #: where an error ends each attempt
    BEST_FIT = "best-fit"
    #: as many nodes as kube-scheduler wants to choose from, starting after those of the pod before; the first is kept
    SCHEDULER = "scheduler"


_CYCLES = (Mode.ATTEMPT, Mode.PREFERRED, Mode.BEST_FIT)
"""The modes that answer for a cycle of kube-scheduler with a pod; what nodes have said is known to the next one."""


class SearchEffort(NamedTuple):
    """How often it was searched for devices on a kind of nodes, and how often the outcome was known."""

    searches: int
    hits: int


class SchedulingState:
    """Nodes, inventory and claims; objects are those of v1 in normal form.

    A change costs as much as what it concerns, a pod as much as there are kinds of nodes. Not for several threads.
    """

    def __init__(
        self,
        features: Features,
        nodes: Iterable[Node],
        classes: Mapping[str, DeviceClass],
        slices: Iterable[Object | Slice],
        resources: NodeResources | None = None,
    ) -> None:
        """`classes`: DeviceClasses by name. `resources`: what the nodes have beside devices, if that matters."""
        self.resources = resources
        self.nodes = {node.name: node for node in nodes}
        self.allocated = AllocatedState(features)
        self.inventory = Inventory(slices, features.reading)
        self._features = features
        self._classes = dict(classes)
        for device_class in self._classes.values():
            self.inventory.put_class(device_class)
        self._allocator = Allocator(features, self._classes, self.inventory, self.allocated)
        self._known = Nodes(self.nodes.values(), features, self.inventory, self.allocated)
        self._contents = ClaimContents(lambda claim, limit: read_claim(claim, self._classes, features, limit))
        self._plans = Plans(self._allocator, self._known, self._contents)
        self._best_plans = BestPlans(self._allocator, self._known, self._contents, self.allocated)
        self._held: dict[str, Allocation] = {}
        self._start = 0

    @property
    def held(self) -> Mapping[str, Allocation]:
        """The allocation that counts for each claim that has one, by ``namespace/name``."""
        return self._held

    @property
    def effort(self) -> SearchEffort:
        """The searches of all questions so far."""
        plans = (self._plans, self._best_plans)
        return SearchEffort(sum(each.searches for each in plans), sum(each.hits for each in plans))

    # --- changes

    def put_slice(self, slice: Object | Slice) -> None:
        """Add a ResourceSlice, or replace that of the same name."""
        self.inventory.put(slice)

    def remove_slice(self, name: str) -> None:
        """Take out a ResourceSlice; claims keep what they hold of it."""
        self.inventory.remove(name)

    def put_rule(self, rule: DeviceTaintRule) -> None:
        """Add a DeviceTaintRule, or replace that of the same name."""
        self.inventory.put_rule(rule)

    def remove_rule(self, name: str) -> None:
        """Take out a DeviceTaintRule."""
        self.inventory.remove_rule(name)

    def put_patch(self, patch: Object) -> None:
        """Add a ResourceSlicePatch, or replace that of the same name; without its feature gate it has no effect."""
        if self._features.device_patches:
            self.inventory.put_patch(patch)

    def remove_patch(self, name: str) -> None:
        """Take out a ResourceSlicePatch."""
        self.inventory.remove_patch(name)

    def settle(self, time_limit: TimeLimit) -> bool:
        """Make changes of patches, rules and classes on slices; see `Inventory.settle`, and its `stepwise`."""
        return self.inventory.settle(time_limit)

    def put_node(self, node: Node) -> None:
        """Add a Node, or replace that of the same name, which keeps its place in the order."""
        self.nodes[node.name] = node
        self._known.put(node)
        if self.resources is not None:
            self.resources.put(node)

    def remove_node(self, name: str) -> None:
        """Take out a Node; its slices stay."""
        self.nodes.pop(name, None)
        self._known.remove(name)
        if self.resources is not None:
            self.resources.remove(name)

    def put_class(self, device_class: DeviceClass) -> None:
        """Add a DeviceClass, or replace that of the same name."""
        self._classes[device_class.name] = device_class
        self.inventory.put_class(device_class)
        self._class_changed()

    def remove_class(self, name: str) -> None:
        """Take out a DeviceClass."""
        self._classes.pop(name, None)
        self.inventory.remove_class(name)
        self._class_changed()

    def _class_changed(self) -> None:
        self._contents.clear()
        self._plans.clear()
        self._best_plans.clear()

    # Claims one watch event at a time: for those who follow a cluster, as a scheduler does.

    def put_claim(self, claim: Claim) -> None:
        """Take in a claim that is new or has changed: what it holds now counts, what it held before does not."""
        before = self._held.get(claim.key)
        if claim.allocation == before:
            return
        if before is not None:
            self.release(claim.key)
        self.hold(claim)

    def remove_claim(self, namespace: str, name: str) -> None:
        """Take out a claim: nothing that it held counts any more."""
        key = full_name(namespace, name)
        self._contents.forget(key)
        self.release(key)

    def forget(self, namespace: str, name: str) -> None:
        """Forget what a claim asks for that was asked about and has never been taken in."""
        self._contents.forget(full_name(namespace, name))

    def hold(self, claim: Claim) -> None:
        """Count what a claim holds, if it is allocated."""
        if claim.allocation is not None:
            self.hold_allocation(claim.key, claim.allocation)

    def hold_allocation(self, key: str, allocation: Allocation) -> None:
        """Count what the claim `namespace/name` holds."""
        self._held[key] = allocation
        self.allocated.add(allocation)

    def release(self, key: str) -> None:
        """Count no more what the claim `namespace/name` holds, if it holds anything."""
        held = self._held.pop(key, None)
        if held is not None:
            self.allocated.remove(held)

    @contextmanager
    def without(self, claims: Iterable[str]) -> Iterator[None]:
        """For questions as if these claims (`namespace/name`) held nothing; meanwhile nothing may be changed."""
        held = [self._held[each] for each in claims if each in self._held]
        for allocation in held:
            self.allocated.remove(allocation)
        try:
            yield
        finally:
            for allocation in held:
                self.allocated.add(allocation)

    # --- questions

    def warm_up(self, time_limit: TimeLimit = UNLIMITED) -> None:
        """Find out now what nodes see rather than with the first pod, as far as there is time."""
        seen: set[Slice] = set()
        for entry in self._known.settled(time_limit):
            if time_limit.is_over:
                return
            self._known.class_of(entry)
            for state in self._known.view_of(entry).states():
                seen.update(state.pool.slices)
        for slice in seen:
            for device in slice.devices:
                device.shape.properties.prepared  # noqa: B018 - a cached property

    def place(
        self,
        claims: Sequence[Claim],
        mode: Mode,
        time_limit: TimeLimit,
        only_node: str | None = None,
        instead: Sequence[ClaimsOnNodes] = (),
        on_node: PodOnNode = NO_POD,
        among: Sequence[str] | None = None,
    ) -> PodAnswer:
        """Find nodes for a pod; except in modes ALL_NODES and FILTER, the allocation that is chosen counts from then on.

        :param claims: the claims of the pod.
        :param only_node: the name of the only node to search, if given.
        :param instead: what the pod claims on some nodes instead.
        :param on_node: the pod as nodes see it beside its claims.
        :param among: the names of the only nodes to search, of several.
        :returns: the answers for the present state of the cluster, made when they are read; in modes ATTEMPT, PREFERRED and
            BEST_FIT only of the first node with an error and of that which is chosen.
        :raises OutOfTime: if the time is over; nothing is kept then.
        """
        asked = PodClaims(claims, instead)
        among = among if only_node is None else [only_node]
        if mode in _CYCLES:
            there = None if instead else asked.elsewhere.only_node
            if there is not None and (among is None or there in among):
                found = self._run_cycle(asked, mode, time_limit, [there], on_node)
                if found.placed or among == [there]:
                    return found
            return self._run_cycle(asked, mode, time_limit, among, on_node)
        entries = self._entries(among)
        if on_node is not NO_POD:
            entries = [entry for entry in entries if on_node.rejection(entry.name) is None]
        answers = Answers(self._allocator.new_share_id)
        if mode is Mode.FILTER and (refused := self.refusal(asked.elsewhere.unallocated, time_limit)):
            return self._refused(entries, refused)
        if mode is Mode.SCHEDULER:
            chosen = self._choose(entries, asked, answers, time_limit)
        elif mode is Mode.FIRST_FIT:
            chosen = self._ask(entries, asked, answers, time_limit, 1, on_node=on_node, fatal_ends=True)
        else:
            filters = mode is Mode.FILTER
            self._ask(entries, asked, answers, time_limit, 0, on_node=on_node, filters=filters)
            chosen = None
        found = self._found(answers)
        return found if chosen is None else self._keep(asked, on_node, found, answers[chosen])

    def _run_cycle(
        self,
        asked: PodClaims,
        mode: Mode,
        time_limit: TimeLimit,
        among: Sequence[str] | None,
        on_node: PodOnNode,
        *,
        is_kept: bool = True,
    ) -> PodAnswer:
        answers = Answers(self._allocator.new_share_id)
        if refused := self.refusal(asked.elsewhere.unallocated, time_limit):
            return PodAnswer(answers, refusal=refused)
        scores = NodeScores(self.nodes, on_node.resources, self._features.minor)
        cycle = SchedulingCycle(
            self._known, self._entries(among), asked, on_node, scores, answers, time_limit
        )
        if mode is Mode.BEST_FIT:
            found = cycle.best(self._plans, self._best_plans)
        else:
            found = cycle.preferred(self._plans) if mode is Mode.PREFERRED else cycle.first(self._plans)
        return self._keep(asked, on_node, found, answers[-1]) if found.placed and is_kept else found

    def _keep(self, asked: PodClaims, on_node: PodOnNode, found: PodAnswer, chosen: NodeAnswer) -> PodAnswer:
        """Count what a pod gets on the node that is chosen."""
        assert chosen.result is not None
        claims = asked.on.get(chosen.node, asked.elsewhere)
        # a pod may name a claim twice, which kube-scheduler allocates as often
        results = list(zip(claims.unallocated, chosen.result, strict=True))
        held = starmap(Claim.allocated, results)
        footprints = self.footprints(on_node, chosen.node, chain(claims.allocated, held))
        for claim, result in results:
            self.hold_allocation(claim.key, Allocation(result))
        return found._replace(placed=chosen.node, allocated=dict(results), footprints=footprints)

    def footprints(self, pod: PodOnNode, node: str, claims: Iterable[Claim]) -> list[ClaimFootprint]:
        """What the claims of a pod, which are all allocated, take of a node.

        :raises AllocationError: if a claim has something of a device of which nobody knows how much that is.
        """
        entry = self._known.entry(node)
        if entry is None or not self._known.devices_take_of_nodes:
            return []
        return pod.footprints(claims, self._known.view_of(entry).device)

    @property
    def devices_take_of_nodes(self) -> bool:
        """Whether devices take CPU and the like of their nodes, and that counts."""
        return self._known.devices_take_of_nodes

    def lack(self, pod: PodOnNode, node: str, claims: Sequence[Claim]) -> Outcome | None:
        """Why a node has too little for a pod whose claims are all allocated, if that is so."""
        entry = self._known.entry(node)
        if entry is None or not self._known.devices_take_of_nodes:
            return None
        return pod.refusal(node, claims, self._known.view_of(entry).device)

    def filter(
        self,
        claims: Sequence[Claim],
        time_limit: TimeLimit,
        candidates: Iterable[str] | None = None,
        instead: Sequence[ClaimsOnNodes] = (),
        on_node: PodOnNode = NO_POD,
        *,
        best_fit: bool = False,
    ) -> PodAnswer:
        """The answers of nodes as in mode FILTER, as far as there is time to find them; the others are undecided.

        :param claims: the claims of the pod.
        :param candidates: the names of the nodes to ask, if not all; nodes that are not known have no answer.
        :param instead: what the pod claims on some nodes instead.
        :param on_node: the pod as nodes see it beside its claims; what it needs itself is no matter.
        :param best_fit: waste as little as possible on each node that fits; its outcome is a
            :class:`~allocator.best_fit.Proposal` where there was time to find out.
        """
        pod = PodClaims(claims, instead)
        entries: Sequence[NodeEntry] = self._known.settled(time_limit.share(4))
        if candidates is not None:
            entries = [entry for name in candidates if (entry := self._known.entry(name)) is not None]
        try:
            refused = self.refusal(pod.elsewhere.unallocated, time_limit)
        except OutOfTime:
            refused = OUT_OF_TIME
        if refused:
            return self._refused(entries, refused)
        best_plans = self._best_plans if best_fit else None
        filtering = Filtering(self._allocator, self._known, self._plans, best_plans, time_limit, on_node)
        answers = filtering.run(entries, pod)
        return self._found(answers)

    def _refused(self, entries: Iterable[NodeEntry], refused: str) -> PodAnswer:
        answers = Answers(self._allocator.new_share_id)
        for entry in entries:
            answers.add(entry.name, Outcome(error=refused, error_kind=NODE))
        return PodAnswer(answers, refusal="" if refused == OUT_OF_TIME else refused)

    def alike(self, names: Iterable[str]) -> list[list[str]]:
        """Nodes by name, those together that serve all claims alike; without those that do not exist."""
        self._known.settled()
        found: dict[NodeClass, list[str]] = {}
        for name in names:
            if (entry := self._known.entry(name)) is not None:
                found.setdefault(self._known.class_of(entry), []).append(name)
        return list(found.values())

    def demand(self, claims: Sequence[Claim], time_limit: TimeLimit) -> list[ClaimDemand]:
        """What claims ask for, as things are; names of claims in it may be those of others that ask for the same.

        :raises OutOfTime: as of :meth:`~allocator.plans.Plans.plan`.
        """
        return self._plans.plan(claims, time_limit).demand

    def still_fits(
        self, claims: Sequence[Claim], node: str, results: Sequence[Object], time_limit: TimeLimit
    ) -> bool:
        """Whether claims can still get these very devices on a node.

        :param claims: claims without an allocation.
        :param results: an AllocationResult for each of them, as `place` found it.
        """
        self._known.settled(time_limit.share(4))
        entry = self._known.entry(node)
        if entry is None:
            return False
        states = {state.pool: state for state in self._known.view_of(entry).states()}
        attempt = Attempt(
            entry.node,
            list(states),
            self.allocated,
            self._features,
            self._allocator.selectors,
            time_limit,
            lambda pool: states[pool].ledger,
        )
        return still_fits(attempt, self.demand(claims, time_limit), results)

    def refusal(self, claims: Iterable[Claim], time_limit: TimeLimit) -> str:
        """Why kube-scheduler refuses a pod with these unallocated claims before it looks at nodes, if it does."""
        return refusal(claims, self._classes, self._features, time_limit)

    def _found(self, answers: Answers) -> PodAnswer:
        outcomes = set(answers.outcomes)
        if FATAL in [each.error_kind for each in outcomes]:
            # Only where some fail it matters how many fit.
            outcome = outcome_of(len(self.nodes), answers.outcomes)
            return PodAnswer(answers, "", outcome, answers.first_error(FATAL))
        return PodAnswer(answers, "", outcome_of(len(self.nodes), outcomes))

    def pools(self, time_limit: TimeLimit) -> dict[PoolId, PoolState]:
        """The state of all pools that nodes see; of a pool that several nodes see, as the first one sees it.

        :raises OutOfTime: if there is no time to find out what all nodes see.
        """
        found: dict[PoolId, PoolState] = {}
        for entry in self._known.settled():
            if entry.view is None:
                time_limit.check()
            for state in self._known.view_of(entry).states():
                found.setdefault(state.pool.id, state)
        return found

    def pools_on(self, node: str, time_limit: TimeLimit) -> frozenset[PoolId]:
        """The pools that a node sees."""
        self._known.settled(time_limit.share(4))
        entry = self._known.entry(node)
        states = () if entry is None else self._known.view_of(entry).states()
        return frozenset(each.pool.id for each in states)

    def weigh(
        self,
        claims: Sequence[Claim],
        time_limit: TimeLimit,
        instead: Sequence[ClaimsOnNodes] = (),
        on_node: PodOnNode = NO_POD,
        among: Sequence[str] | None = None,
    ) -> tuple[Rank, Waste] | None:
        """Rank and waste of what mode BEST_FIT would give a pod with these claims; None if it does not fit."""
        asked = PodClaims(claims, instead)
        found = self._run_cycle(asked, Mode.BEST_FIT, time_limit, among, on_node, is_kept=False)
        proposal = found.nodes.outcomes[-1] if found.placed else None
        return (proposal.rank, proposal.waste) if isinstance(proposal, Proposal) else None

    def _entries(self, among: Sequence[str] | None) -> Sequence[NodeEntry]:
        entries = self._known.settled()
        if among is None:
            return entries
        return [entry for name in among if (entry := self._known.entry(name)) is not None]

    def _choose(
        self,
        entries: Sequence[NodeEntry],
        pod: PodClaims,
        answers: Answers,
        time_limit: TimeLimit,
    ) -> int | None:
        """Ask as kube-scheduler does; the first of the nodes that fit is chosen."""
        if not entries:
            return None
        start = self._start % len(entries)
        rotated = [*entries[start:], *entries[:start]]
        chosen = self._ask(rotated, pod, answers, time_limit, feasible_nodes(len(entries)))
        self._start = (start + len(answers)) % len(entries)
        return chosen

    def _ask(
        self,
        entries: Iterable[NodeEntry],
        pod: PodClaims,
        answers: Answers,
        time_limit: TimeLimit,
        wanted: int,
        *,
        on_node: PodOnNode = NO_POD,
        fatal_ends: bool = False,
        filters: bool = False,
    ) -> int | None:
        """Ask nodes until `wanted` of them fit, all of them if that is 0; which of the answers is the first that does.

        `filters`: also look for errors on nodes where an allocated claim is not available, as kube-scheduler does.
        """
        outcomes = Outcomes(self._known, self._plans, pod, time_limit, on_node, filters=filters)
        first: int | None = None
        fitting = 0
        for entry in entries:
            outcome = outcomes.on(entry)
            place = entry.name if outcome is AWAY_OUTCOME else entry.view
            assert place is not None
            answers.add(place, outcome)
            if outcome.fits:
                if first is None:
                    first = len(answers) - 1
                fitting += 1
                if fitting == wanted:
                    break
            elif fatal_ends and outcome.error_kind == FATAL:
                break
        for shared in outcomes.shared:
            answers.remember(shared)
        return first
