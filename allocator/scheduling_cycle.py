"""Which node a pod goes to: kube-scheduler's filters and scores on all nodes, or the objective `best-fit`.

What nodes have said to a pod is kept with the plan of its claims, for pods that ask for the same (`allocator.feasible_nodes`).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from allocator.answers import Answers, NodeAnswer, PodAnswer
from allocator.best_fit import BestPlans, Proposal, Rank, is_within
from allocator.errors import FATAL
from allocator.feasible_nodes import FeasibleNodes, Verdict
from allocator.fitting.waste import Waste
from allocator.node_fit import PodOnNode
from allocator.node_scores import Candidate, NodeScores, RawScores
from allocator.nodes import NodeEntry, Nodes
from allocator.outcomes import Outcomes
from allocator.plans import Outcome, Plan, Plans
from allocator.pod_claims import PodClaims
from allocator.results import places_of
from allocator.scheduling_outcome import (
    SchedulingOutcome,
    device_reasons,
    enough_nodes,
    feasible_nodes,
    scheduling_outcome,
)
from allocator.time_limit import TimeLimit
from resourceapi.caches import remember

#: For so many kinds of pods with the same claims it is kept what nodes have said.
MOST_KINDS = 64


Worth = Callable[[str, Outcome], Any]
"""What a node that fits is compared by, given its name and outcome."""


class SchedulingCycle:
    """Finds the node for one pod."""

    def __init__(
        self,
        nodes: Nodes,
        entries: Sequence[NodeEntry],
        claims: PodClaims,
        on_node: PodOnNode,
        scores: NodeScores,
        answers: Answers,
        time_limit: TimeLimit,
    ) -> None:
        """`entries`: the nodes in question. `answers`: takes those of the nodes that the answer for the pod names."""
        self._nodes = nodes
        self._entries = entries
        self._scores = scores
        self._claims = claims
        #: how far down their lists those are that claims have already
        self._alternatives = [
            place for claim in claims.elsewhere.allocated for place in places_of(claim, claim.allocation)
        ]
        self._on_node = on_node
        self._answers = answers
        self._time_limit = time_limit
        self._enough = enough_nodes(len(nodes))

    def first(self, plans: Plans) -> PodAnswer:
        """The first node that fits."""
        outcomes, found = self._ask(plans, self._raw_scores, self._enough)
        return self._answer(outcomes, found, self._enough, found.fitting[:1])

    def preferred(self, plans: Plans) -> PodAnswer:
        """The node with the highest score among the first ones that fit; of equal ones the first."""
        outcomes, found = self._ask(plans, self._raw_scores, self._enough)
        end = found.end(len(self._entries), feasible_nodes(len(self._nodes)))
        fitting = {each.worth: each for each, _ in found.before(end) if each.fits}
        totals = self._scores.totals(fitting)
        most = max(totals.values(), default=0)
        best = [fitting[worth] for worth, total in totals.items() if total == most]
        places = sorted([place for each in best for place in found.with_verdict(each, end)])
        return self._answer(outcomes, found, self._enough, places)

    def best(self, plans: Plans, best_plans: BestPlans) -> PodAnswer:
        """The node where the pod's devices waste least, with no worse alternatives than on the first node that fits."""
        chosen = self._ask(plans, self._raw_scores, 1)[1].fitting[:1]
        best_plans.begin()
        outcomes, found = self._ask(best_plans, _rank_and_waste, sys.maxsize)
        end = len(self._entries)
        limit = found.verdict(chosen[0]) if chosen else None
        if limit is not None and limit.fits:
            better = [
                each
                for each, _ in found.before(end)
                if each.fits and is_within(each.worth[0], limit.worth[0])
            ]
            least = min(better, key=lambda each: each.worth)
            chosen = found.with_verdict(least, end)[:1]
        return self._answer(outcomes, found, sys.maxsize, chosen)

    def _ask(self, plans: Plans, worth: Worth, wanted: int) -> tuple[Outcomes, FeasibleNodes]:
        """Ask nodes in their order until so many fit, as far as they have not been asked before."""
        outcomes = Outcomes(self._nodes, plans, self._claims, self._time_limit, self._on_node)
        plan = plans.plan(self._claims.elsewhere.unallocated, self._time_limit)
        found = self._known(plan)
        entries, error_decides = self._entries, len(self._entries) <= self._enough
        try:
            while (place := found.first_unasked) < found.end(len(entries), wanted):
                if error_decides and found.failing and found.failing[0] < place:
                    break
                self._time_limit.check()
                found.put(self._verdict(entries[place], outcomes, worth))
        finally:
            plans.weigh(plan)
        return outcomes, found

    def _known(self, plan: Plan) -> FeasibleNodes:
        """The verdicts of nodes for pods that ask for the same, as far as they are still true."""
        if not self._claims.are_new or len(self._entries) < len(self._nodes):
            return FeasibleNodes()
        found = plan.feasible.get(self._on_node.kind)
        if found is None:
            found = FeasibleNodes()
            remember(plan.feasible, self._on_node.kind, found, MOST_KINDS)
        resources = self._on_node.resources
        changes = [self._nodes.changes, *([] if resources is None else [resources.changes])]
        found.follow(changes, self._nodes.place_of)
        return found

    def _verdict(self, entry: NodeEntry, outcomes: Outcomes, worth: Worth) -> Verdict:
        rejection = self._on_node.rejection(entry.name)
        if rejection is not None:
            return Verdict(fits=False, reasons=rejection)
        outcome = outcomes.on(entry)
        if outcome.fits:
            return Verdict(fits=True, worth=worth(entry.name, outcome))
        if outcome.error_kind == FATAL:
            return Verdict(fits=False, is_fatal=True)
        return Verdict(fits=False, reasons=tuple(device_reasons(outcome)), is_undecided=outcome.is_undecided)

    def _raw_scores(self, node: str, outcome: Outcome) -> RawScores:
        candidate = Candidate(node, outcome.places)
        return self._scores.raw(self._on_node.spec, self._on_node.needs, candidate, self._alternatives)

    def _answer(
        self, outcomes: Outcomes, found: FeasibleNodes, wanted: int, chosen: Sequence[int]
    ) -> PodAnswer:
        """The answer; the pod goes to the first of the nodes that may be `chosen`, unless an error fails the attempt."""
        entries = self._entries
        end = found.end(len(entries), wanted)
        verdicts = list(found.before(end))
        outcome = scheduling_outcome(
            len(self._nodes),
            sum(count for verdict, count in verdicts if verdict.fits),
            sum(count for verdict, count in verdicts if verdict.is_fatal),
            sum(count for verdict, count in verdicts if verdict.is_undecided),
        )
        error = None
        if found.failing and found.failing[0] < end:
            error = self._add(entries[found.failing[0]], outcomes)
        if not chosen or outcome not in (SchedulingOutcome.FITS, SchedulingOutcome.CHANCE):
            reasons: Counter[str] = Counter()
            for verdict, count in verdicts:
                for reason in verdict.reasons:
                    reasons[reason] += count
            return PodAnswer(self._answers, "", outcome, error, reasons=reasons)
        placed = self._add(entries[chosen[0]], outcomes).node
        equal = tuple([entries[place].name for place in chosen[1:]])
        return PodAnswer(self._answers, placed, outcome, error, equal=equal)

    def _add(self, entry: NodeEntry, outcomes: Outcomes) -> NodeAnswer:
        """The answer of a node in full."""
        outcome = outcomes.on(entry)
        assert entry.view is not None
        self._answers.add(entry.view, outcome)
        self._answers.remember(entry.view.layout.shared)
        return self._answers[-1]


def _rank_and_waste(node: str, outcome: Outcome) -> tuple[Rank, Waste]:
    assert isinstance(outcome, Proposal)
    return outcome.rank, outcome.waste
