"""The nodes on which a pod's claims fit, as far as that is decided within a time limit.

Nodes of a kind (`allocator.nodes`) have one outcome. Each kind gets an equal part of the time that is left, so a hard one
does not keep the easy ones waiting. Kinds that need longer are asked again with what the others did not need.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from allocator.allocation import Allocator
from allocator.answers import Answers
from allocator.best_fit import BestPlans
from allocator.errors import FATAL, NODE, OUT_OF_TIME
from allocator.node_fit import NO_POD, PodOnNode
from allocator.nodes import NodeClass, NodeEntry, Nodes
from allocator.outcomes import AWAY_OUTCOME, fitted
from allocator.plans import FatalOutcome, Outcome, Plan, Plans
from allocator.pod_claims import ClaimsOnNode, PodClaims
from allocator.time_limit import OutOfTime, TimeLimit

#: Less is not worth a try: most nodes need less.
LEAST_SECONDS = 0.005
_LATE = Outcome(error=OUT_OF_TIME, error_kind=NODE)


class Question:
    """What a pod claims on a kind of nodes, and the outcome there once it is known."""

    __slots__ = ("claims", "entry", "node_class", "outcome")

    def __init__(self, claims: ClaimsOnNode, entry: NodeEntry, node_class: NodeClass) -> None:
        """`entry`: any node of the kind."""
        self.claims = claims
        self.entry = entry
        self.node_class = node_class
        self.outcome = _LATE


class Filtering:
    """Finds nodes for one pod within a time limit."""

    def __init__(
        self,
        allocator: Allocator,
        nodes: Nodes,
        plans: Plans,
        best_plans: BestPlans | None,
        time_limit: TimeLimit,
        on_node: PodOnNode = NO_POD,
    ) -> None:
        """`best_plans`: if given, then what fits is served with less waste where there is time to look for that."""
        self._allocator = allocator
        self._time_limit = time_limit
        self._nodes = nodes
        self._plans = plans
        self._best_plans = best_plans
        self._on_node = on_node

    def run(self, entries: Sequence[NodeEntry], pod: PodClaims) -> Answers:
        """The answers of these nodes, in order."""
        places, questions = self._questions(entries, pod)
        self._decide(questions, self._plans)
        answers = Answers(self._allocator.new_share_id)
        for question in questions:
            assert question.entry.view is not None
            answers.remember(question.entry.view.layout.shared)
        if self._best_plans is not None:
            self._best_plans.begin()
            self._decide([each for each in questions if each.outcome.fits], self._best_plans)
        for entry, (asked, is_away) in zip(entries, places, strict=True):
            self._answer(entry, asked, answers, is_away=is_away)
        return answers

    def _questions(
        self, entries: Iterable[NodeEntry], pod: PodClaims
    ) -> tuple[list[tuple[Question | None, bool]], list[Question]]:
        """The question for each node and whether claims are away from it, and all questions once.

        There is no question where that is known, and where there is no time to find out which it is. That has half of the time,
        so that some nodes are decided however often what all of them see changes.
        """
        limit, is_over = self._time_limit.share(2), False
        found: dict[tuple[int, NodeClass], Question] = {}
        places: list[tuple[Question | None, bool]] = []
        for entry in entries:
            claims = pod.on.get(entry.name, pod.elsewhere)
            node_class = entry.node_class
            # a driver's node selector may have thousands of requirements
            if claims.choose_nodes or node_class is None:
                is_over = is_over or limit.is_over
                if is_over:
                    places.append((None, False))
                    continue
            is_away = claims.choose_nodes and claims.is_away_from(entry.node)
            if is_away and not claims.unallocated:
                places.append((None, True))
                continue
            if node_class is None:
                node_class = self._nodes.class_of(entry)
            key = (id(claims), node_class)
            if key not in found:
                found[key] = Question(claims, entry, node_class)
            places.append((found[key], is_away))
        return places, list(found.values())

    def _decide(self, questions: Collection[Question], plans: Plans) -> None:
        """Ask each kind of nodes, and again those that have not had enough time."""
        whole = self._time_limit
        made: dict[int, Plan] = {}
        waiting = list(questions)
        while waiting:
            late = []
            for place, question in enumerate(waiting):
                if whole.is_over:
                    return
                claims = question.claims.unallocated
                try:
                    plan = made.get(id(claims)) or made.setdefault(id(claims), plans.plan(claims, whole))
                    outcome = plans.known(plan, question.entry, question.node_class)
                    if outcome is None:
                        share = whole.share(len(waiting) - place, LEAST_SECONDS)
                        outcome = plans.search(plan, question.entry, question.node_class, share)
                except OutOfTime:
                    late.append(question)
                else:
                    question.outcome = outcome.of(claims) if isinstance(outcome, FatalOutcome) else outcome
            waiting = late

    def _answer(
        self, entry: NodeEntry, question: Question | None, answers: Answers, *, is_away: bool
    ) -> None:
        outcome = _LATE if question is None else question.outcome
        if is_away and outcome.error_kind != FATAL:
            answers.add(entry.name, AWAY_OUTCOME)
        elif outcome.fits or outcome.error_kind == FATAL:
            assert entry.view is not None
            if outcome.fits and question is not None and self._nodes.devices_take_of_nodes:
                outcome = fitted(self._on_node, question.claims, entry, outcome)
            answers.add(entry.view, outcome)
        else:
            answers.add(entry.name, outcome)
