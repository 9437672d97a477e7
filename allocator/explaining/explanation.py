"""The answer to "why does this pod not fit", or where it does: verdict, steps by node, conflict, remedies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import chain, islice
from types import MappingProxyType
from typing import NamedTuple

from allocator.answers import KnownAnswers, NodeAnswer
from allocator.demand import Alternative, ClaimDemand
from allocator.devices import Device
from allocator.errors import AWAY, FATAL, UNRESOLVABLE
from allocator.explaining import alternatives, conflicts, mistakes, remedies
from allocator.explaining.absent_names import AbsentName, AbsentNames, with_idle_patches
from allocator.explaining.alternatives import AlternativeNote
from allocator.explaining.clashes import Clash, clash
from allocator.explaining.conflicts import Conflict
from allocator.explaining.constraint_checks import ConstraintCheck, checks_of, naming_patches
from allocator.explaining.finder import Finder, Remedy
from allocator.explaining.holders import Holder, holder
from allocator.explaining.mistakes import Mistake
from allocator.explaining.patched_values import PatchedValue
from allocator.explaining.snapshot import Snapshot, unknown_classes
from allocator.explaining.steps import POOL, NodeView, Passed, Step
from allocator.explaining.trials import Trials, Undecided
from allocator.node_fit import NO_POD, PodOnNode
from allocator.pod_claims import ClaimsOnNodes
from allocator.rules import RULES
from allocator.rules.capacity import Capacity
from allocator.rules.constraints import Constraints
from allocator.rules.selector_outcomes import SelectorOutcomes
from allocator.rules.selectors import RequestSelectors
from allocator.scheduling_outcome import SchedulingOutcome
from allocator.time_limit import OutOfTime, TimeLimit
from allocator.words import Words
from resourceapi.node_selection import selects
from resourceapi.records.claims import Claim
from resourceapi.records.pools import DeviceId

FITS, MISFIT, ERROR, CHANCE, UNDECIDED = (each.value for each in SchedulingOutcome)
#: The most kinds of nodes that are searched for conflicts and remedies, and the most remedies.
MAX_KINDS, MAX_REMEDIES = 4, 12
#: On how many nodes of a kind it is found out which patches have given what is refused.
MAX_PATCHED_NODES = 16
#: The most nodes with errors that are searched for remedies.
MAX_FAILING = 8
#: How much of an explanation's time may be spent on why selectors do not choose devices.
SECONDS_FOR_REASONS = 4.0
#: The order in which devices are refused: that of pools, then of rules.
_PLACES = {name: place for place, name in enumerate((POOL, *(rule.name for rule in RULES)))}


class RequestSteps(NamedTuple):
    """The steps of a request or alternative on a node.

    :param left: how many devices pass all steps.
    :param needed: how many devices it needs.
    """

    alternative: Alternative
    steps: tuple[Step, ...]
    left: int
    needed: int


class Total(NamedTuple):
    """How many devices the whole cluster has for a request or alternative.

    :param devices: all devices.
    :param selected: those that match.
    :param left: those that match and are available.
    :param failing: those on which a selector of its class or its own fails.
    """

    alternative: Alternative
    devices: int
    selected: int
    left: int
    failing: int


class AllocatedElsewhere(NamedTuple):
    """A claim of the pod that has devices already, but none for some eligible node.

    :param nodes: those for which it has.
    """

    holder: Holder
    nodes: tuple[str, ...]


class NodeKind(NamedTuple):
    """Nodes on which the same rules exclude the same numbers of devices for the same causes.

    The numbers are those of each node; the values and holders that rejections name are those of all of them. Errors and the
    values of constraints are those of the first node.

    :param lacks: why they do not fit although they have the devices.
    :param common: the constraints' values (:func:`values_of`) that are the same on all of them.
    """

    nodes: tuple[str, ...]
    requests: tuple[RequestSteps, ...]
    constraint_checks: tuple[ConstraintCheck, ...] = ()
    error: str = ""
    common: frozenset[object] = frozenset()
    lacks: str = ""

    @property
    def short(self) -> Iterator[RequestSteps]:
        """The requests and alternatives for which too few devices are left."""
        return (each for each in self.requests if each.left < each.needed)

    @property
    def patched(self) -> Iterator[PatchedValue]:
        """What patches have given, of that for which too few devices are left, or constraints cannot be met."""
        yield from chain.from_iterable(step.patched for request in self.short for step in request.steps)
        yield from chain.from_iterable(check.patched for check in self.constraint_checks)

    @property
    def patched_for_claims(self) -> Iterator[PatchedValue]:
        """What of that the claims themselves ask about, rather than their class or the devices."""
        for request in self.short:
            for step in request.steps:
                yield from _asked_for(step, request.alternative)
        yield from chain.from_iterable(check.patched for check in self.constraint_checks)

    @property
    def facts(self) -> frozenset[object]:
        """What may differ on nodes of one kind: the values that constraints find."""
        return frozenset(map(values_of, self.constraint_checks))


def _asked_for(step: Step, alternative: Alternative) -> Iterator[PatchedValue]:
    """What patches have given of that for which a step refuses devices, if the claim of the alternative asks about it."""
    if step.rule in (RequestSelectors.name, Constraints.name):
        yield from step.patched
    elif step.rule == Capacity.name:
        for each in step.patched:
            if any(f"/{each.name}".endswith(f"/{name}") for name in alternative.capacity):
                yield each


def values_of(check: ConstraintCheck) -> object:
    """The values that a constraint finds, in a form that can be compared."""
    return check.claim, check.place, tuple((name, tuple(each.items())) for name, each in check.values.items())


class Explanation:
    """Why a pod fits or not; `complete` is False if the time was over."""

    def __init__(
        self,
        demand: Sequence[ClaimDemand],
        answers: Sequence[NodeAnswer],
        excluded: Mapping[str, Sequence[str]],
        outcome: SchedulingOutcome,
        placed: NodeAnswer | None = None,
        known: KnownAnswers | None = None,
    ) -> None:
        """Begin with what nodes answer.

        :param placed: the answer of the node that kube-scheduler chooses, if an attempt can succeed.
        :param known: the answers that other explanations keep.
        """
        self.demand = demand
        known = KnownAnswers() if known is None else known
        #: of all eligible nodes; where the pod fits the result is an empty list, as only that of one node is told
        self.answers = list(map(known.kept, answers))
        #: nodes that the pod's spec excludes, and why
        self.excluded = {node: "; ".join(reasons) for node, reasons in excluded.items()}
        self.verdict = outcome.value
        self.placed = placed
        #: answers with an error that fails the attempt
        self.errors = [answer for answer in answers if answer.error_kind == FATAL]
        self.kinds: list[NodeKind] = []
        #: for a pod that does not fit
        self.totals: list[Total] = []
        #: why kube-scheduler refuses the pod before it looks at nodes, in its words
        self.refusal = ""
        #: claims of the pod that are allocated, but not on all eligible nodes
        self.away: list[AllocatedElsewhere] = []
        #: classes that requests name but that do not exist
        self.unknown_classes: list[str] = []
        #: claims whose release is no help
        self.spared: Collection[str] = ()
        #: attributes and capacities that no device has
        self.absent_names: list[AbsentName] = []
        #: what is probably misspelt, the most certain first
        self.mistakes: list[Mistake] = []
        #: the names of all classes
        self.classes: list[str] = []
        #: requirements of the pod that no node meets
        self.conflict: Conflict | None = None
        #: the same for the first nodes of the first kinds
        self.conflicts: list[Conflict] = []
        #: what is in the way on nodes where each request finds enough devices by itself
        self.clashes: list[Clash] = []
        self.remedies: list[Remedy] = []
        self.alternatives: list[AlternativeNote] = []
        #: whether it would not even fit if nothing were allocated; None if that was not tried
        self.never: bool | None = None
        #: who uses the claims that are named
        self.claim_users: Mapping[str, Holder] = {}
        self.complete = True

    @classmethod
    def unfinished(
        cls, demand: Sequence[ClaimDemand] = (), excluded: Mapping[str, Sequence[str]] = MappingProxyType({})
    ) -> Explanation:
        """That there was no time to find out whether the pod fits."""
        found = cls(demand, [], excluded, SchedulingOutcome.UNDECIDED)
        found.complete = False
        return found

    @property
    def error(self) -> NodeAnswer | None:
        """The first error that fails an attempt."""
        return self.errors[0] if self.errors else None

    @property
    def fitting(self) -> list[str]:
        """The nodes on which the pod fits."""
        return [answer.node for answer in self.answers if answer.result is not None]


class PodContext(NamedTuple):
    """What matters for a pod beside its claims and devices.

    :param excluded: the nodes that kube-scheduler rejects before it looks for devices, with the reasons.
    :param full: those of the excluded nodes that have too little left of CPU and the like: no other node rules open them.
    :param openings: what would open nodes that are excluded for a reason.
    :param instead: what the pod claims on some nodes instead; the first answer is about them as well.
    :param gates: the feature gates that can be turned on, each with all that have to be for it.
    :param made_for: what kube-scheduler makes a request for by itself (an extended resource), by `claim:request`.
    :param spared: claims whose release is no help, since pods of the same workload use them.
    :param on_node: the pod as nodes see it, by which kube-scheduler chooses among the nodes that fit.
    """

    excluded: Mapping[str, Sequence[str]] = MappingProxyType({})
    full: Collection[str] = ()
    openings: Mapping[str, Words] = MappingProxyType({})
    instead: Sequence[ClaimsOnNodes] = ()
    gates: Mapping[str, frozenset[str]] = MappingProxyType({})
    made_for: Mapping[str, str] = MappingProxyType({})
    spared: Collection[str] = ()
    on_node: PodOnNode = NO_POD


NO_CONTEXT = PodContext()


def explain(
    snapshot: Snapshot, claims: Sequence[Claim], time_limit: TimeLimit, context: PodContext = NO_CONTEXT
) -> Explanation:
    """Explain why a pod fits or not.

    :param claims: the claims of the pod; those with an allocation keep it.
    :param time_limit: how long it may take.
    :returns: what was found in time.
    """
    excluded = context.excluded
    open_nodes = [name for name in snapshot.nodes if name not in excluded]
    trials = Trials(
        snapshot, claims, open_nodes, time_limit, context.instead, context.spared, context.on_node
    )
    demand: list[ClaimDemand] = []
    try:
        demand = snapshot.demand(claims, time_limit)
        answers = trials.everywhere(trials.as_it_is)
        outcome = trials.outcome(answers)
        fits = outcome in (SchedulingOutcome.FITS, SchedulingOutcome.CHANCE)
        placed = alternatives.preferred(trials, answers) if fits else None
    except OutOfTime:
        return Explanation.unfinished(demand, excluded)
    explanation = Explanation(demand, answers, excluded, outcome, placed, snapshot.known_answers)
    try:
        explanation.refusal = trials.refusal
        _look_closer(explanation, trials, context)
    except OutOfTime:
        explanation.complete = False
    return explanation


def _look_closer(explanation: Explanation, trials: Trials, context: PodContext) -> None:
    snapshot = trials.snapshot
    time_for_reasons = trials.time_limit.part(SECONDS_FOR_REASONS)
    outcomes = SelectorOutcomes(trials.time_limit, time_for_reasons, snapshot.features.minor)
    explanation.claim_users, explanation.spared = trials.snapshot.claim_users, trials.spared
    if explanation.verdict == FITS:
        assert explanation.placed is not None
        node = explanation.placed.node
        view = NodeView(trials.snapshot, node, outcomes)
        passed = _passed(view, explanation.demand)
        explanation.kinds = [_kind((node,), view, explanation.demand, passed, "")]
        explanation.alternatives = alternatives.chosen(trials, explanation.placed)
        return
    explanation.classes = sorted(trials.snapshot.classes)
    explanation.unknown_classes = unknown_classes(trials.snapshot, explanation.demand)
    explanation.mistakes += mistakes.in_classes(explanation.unknown_classes, explanation.classes)
    explanation.away = list(_away(explanation, trials))
    explanation.kinds = _kinds(explanation, trials, outcomes)
    first = explanation.kinds[:MAX_KINDS]
    explanation.alternatives = alternatives.untried(trials, explanation.demand)
    if not explanation.refusal:
        _find_conflicts(explanation, trials, outcomes)
    names = [kind.nodes[0] for kind in first] + [node for kind in first for node in kind.nodes[1:3]]
    # An error there fails the attempt on all nodes.
    names += [answer.node for answer in explanation.errors[:MAX_FAILING]]
    views = {name: NodeView(trials.snapshot, name, outcomes) for name in names}
    finder = Finder(trials, views, [answer.node for answer in explanation.errors], context.made_for)
    explanation.mistakes += mistakes.find(
        finder,
        explanation.absent_names,
        [each.alternative for each in explanation.totals if not each.selected],
        [each.alternative for each in explanation.totals if each.selected and not each.left],
    )
    by_spec = {node: reasons for node, reasons in context.excluded.items() if node not in context.full}
    explanation.remedies = list(remedies.on_other_nodes(finder, by_spec, context.openings))
    known = {each.patch for kind in explanation.kinds for each in kind.patched_for_claims}
    patches = {each.patch: each.patch in known for kind in first for each in kind.patched}
    for remedy in islice(
        remedies.find(finder, explanation.absent_names, context.gates, patches), MAX_REMEDIES
    ):
        explanation.remedies.append(remedy)
    if not explanation.remedies:
        explanation.remedies += remedies.pairs(finder, explanation.absent_names, context.gates, patches)


def _find_conflicts(explanation: Explanation, trials: Trials, outcomes: SelectorOutcomes) -> None:
    explanation.conflict = conflicts.anywhere(trials)
    explanation.clashes = list(_clashes(explanation, trials, outcomes))
    for kind in explanation.kinds[:MAX_KINDS]:
        found = conflicts.on_node(trials, kind.nodes[0])
        if found is not None:
            explanation.conflicts.append(found)
    # What the pod's own claims hold stays in use.
    if trials.others and explanation.answers and not explanation.away:
        with suppress(Undecided):
            explanation.never = not trials.fits_anywhere(trials.claims, None)


def _away(explanation: Explanation, trials: Trials) -> Iterator[AllocatedElsewhere]:
    nodes = trials.snapshot.nodes
    missed = {answer.node for answer in explanation.answers if answer.error == AWAY}
    for claim in trials.claims if missed else ():
        selector = None if claim.allocation is None else claim.allocation.node_selector
        there = (
            () if selector is None else tuple(name for name, node in nodes.items() if selects(selector, node))
        )
        if selector is not None and not missed <= set(there):
            yield AllocatedElsewhere(holder(claim), there)


def _clashes(explanation: Explanation, trials: Trials, outcomes: SelectorOutcomes) -> Iterator[Clash]:
    for kind in explanation.kinds[:MAX_KINDS]:
        enough = kind.requests and all(request.left >= request.needed for request in kind.requests)
        node = kind.nodes[0]
        if enough and not (kind.error or kind.lacks) and node not in explanation.fitting:
            view = NodeView(trials.snapshot, node, outcomes)
            left = {name: each.left for name, each in _passed(view, explanation.demand).items()}
            found = clash(trials, view, node, left)
            if found is not None:
                yield found


def _kinds(explanation: Explanation, trials: Trials, outcomes: SelectorOutcomes) -> list[NodeKind]:
    """The kinds of nodes, the closest to fitting first. Also adds up the totals."""
    errors = {answer.node: answer for answer in explanation.answers}
    found: dict[object, list[str]] = {}
    kinds: dict[object, list[NodeKind]] = {}
    common: dict[object, frozenset[object]] = {}
    devices: set[DeviceId] = set()
    names = AbsentNames(explanation.demand, outcomes)
    counted: dict[Alternative, tuple[set[DeviceId], ...]] = {}
    others = {name for each in trials.instead for name in each.nodes}
    for name in trials.nodes:
        if name in others:
            continue
        trials.check_time()
        view = NodeView(trials.snapshot, name, outcomes)
        passed = _passed(view, explanation.demand)
        answer = errors.get(name) or NodeAnswer(name)
        has_devices = bool(answer.shortages) or answer.error_kind == UNRESOLVABLE
        kind = _kind((name,), view, explanation.demand, passed, "" if has_devices else answer.error)
        kind = kind._replace(lacks=answer.error if has_devices else "")
        key = _signature(kind)
        found.setdefault(key, []).append(name)
        kinds.setdefault(key, []).append(kind)
        common[key] = common.get(key, kind.facts) & kind.facts
        devices.update(device.id for device in view.devices())
        for alternative, each in passed.items():
            names.look_at(alternative, each)
            seen = counted.setdefault(alternative, (set(), set(), set()))
            for ids, members in zip(seen, (each.selected, each.left, each.failing), strict=True):
                ids.update(device.id for device in members)
    explanation.totals = [
        Total(alternative, len(devices), *map(len, seen)) for alternative, seen in counted.items()
    ]
    explanation.absent_names = with_idle_patches(
        names.found({each.alternative: each.selected for each in explanation.totals}), trials.snapshot
    )
    grouped = [
        alike[0]._replace(nodes=tuple(found[key]), requests=_merged(alike), common=common[key])
        for key, alike in kinds.items()
    ]
    nearest = sorted(grouped, key=_missing)
    if not trials.snapshot.patches:
        return nearest
    shown, patches = nearest[:MAX_KINDS], trials.snapshot.inventory.patches_by_node()
    return [*(_naming_patches(kind, patches, trials, outcomes) for kind in shown), *nearest[MAX_KINDS:]]


def _differently_patched(nodes: Sequence[str], patches: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Of nodes of one kind, those of which other patches change devices come first, as far as they are to be looked at."""
    seen: set[str] = set()
    found = []
    for name in nodes:
        if not seen.issuperset(new := patches.get(name, ())):
            seen.update(new)
            found.append(name)
    return list(dict.fromkeys([*found, *nodes[:MAX_PATCHED_NODES]]))[:MAX_PATCHED_NODES]


def _naming_patches(
    kind: NodeKind, patches: Mapping[str, AbstractSet[str]], trials: Trials, outcomes: SelectorOutcomes
) -> NodeKind:
    """The kind with the patches that have given what is refused on some of its nodes.

    :param patches: those that change devices, by node.
    """
    requests = list(kind.requests)
    checks = list(kind.constraint_checks)
    for name in _differently_patched(kind.nodes, patches):
        trials.check_time()
        view = NodeView(trials.snapshot, name, outcomes)
        left: dict[Alternative, Sequence[Device]] = {}
        for place, request in enumerate(requests):
            passed = view.steps(request.alternative, name_patches=True)
            left[request.alternative] = passed.left
            steps = zip(request.steps, passed.steps, strict=True)
            named = tuple(
                step._replace(patched=tuple(dict.fromkeys((*step.patched, *each.patched))))
                for step, each in steps
            )
            requests[place] = request._replace(steps=named)
        for place, check in enumerate(checks):
            more = naming_patches(check, view, left).patched
            checks[place] = check._replace(patched=tuple(dict.fromkeys((*check.patched, *more))))
    return kind._replace(requests=tuple(requests), constraint_checks=tuple(checks))


def _merged(alike: Sequence[NodeKind]) -> tuple[RequestSteps, ...]:
    """The steps on the first of these nodes, with the values and holders on all of them."""
    requests = zip(*(kind.requests for kind in alike), strict=True)
    return tuple(same[0]._replace(steps=tuple(_together(same))) for same in requests)


def _together(same: Sequence[RequestSteps]) -> Iterator[Step]:
    for steps in zip(*(request.steps for request in same), strict=True):
        others = [{each.key: each for each in step.rejected} for step in steps[1:]]
        rejected = [
            rejection.with_those_of(other[rejection.key] for other in others)
            for rejection in steps[0].rejected
        ]
        yield steps[0]._replace(rejected=tuple(rejected))


def _passed(view: NodeView, demand: Iterable[ClaimDemand]) -> dict[Alternative, Passed]:
    """The steps of each request and alternative on a node."""
    return {
        alternative: view.steps(alternative)
        for claim in demand
        for request in claim.requests
        for alternative in request.alternatives
        if not alternative.problem
    }


def _kind(
    nodes: tuple[str, ...],
    view: NodeView,
    demand: Iterable[ClaimDemand],
    passed: Mapping[Alternative, Passed],
    error: str,
) -> NodeKind:
    requests = tuple(
        RequestSteps(alternative, tuple(each.steps), len(each.left), _needed(alternative, each.steps))
        for alternative, each in passed.items()
    )
    left = {alternative: each.left for alternative, each in passed.items()}
    constraint_checks = tuple(check for claim in demand for check in checks_of(view, claim, left))
    kind = NodeKind(nodes, requests, constraint_checks, error)
    return kind._replace(common=kind.facts)


def _needed(alternative: Alternative, steps: Sequence[Step]) -> int:
    """How many devices it needs; in mode All, all that match, free or not."""
    return max(_selected(steps), 1) if alternative.takes_all else alternative.count


def _selected(steps: Sequence[Step]) -> int:
    """How many devices match, available or not."""
    return [step.left for step in steps if step.selects][-1]


def _reached(steps: Sequence[Step]) -> int:
    """The place of the rule because of which no device matches; that after all rules if some do."""
    last = [step for step in steps if step.selects][-1]
    return len(_PLACES) if last.left else _PLACES[last.rule]


def _signature(kind: NodeKind) -> object:
    """Equal for nodes of one kind, on which names of claims and devices may differ."""
    requests = tuple(
        tuple(
            (
                step.rule,
                step.about,
                step.left,
                step.failed,
                frozenset((rejection.key, rejection.devices) for rejection in step.rejected),
            )
            for step in request.steps
        )
        for request in kind.requests
    )
    constraint_checks = tuple(
        (check.claim, check.place, check.satisfiable) for check in kind.constraint_checks
    )
    return requests, constraint_checks, bool(kind.error), kind.lacks


def _missing(kind: NodeKind) -> tuple[bool, int, int, int, int]:
    """A sort key: how many of the needed devices are not available, how many do not even match, then how early they are refused.

    Of a request, the best alternative counts.
    """
    best: dict[tuple[str, str], tuple[int, int]] = {}
    for request in kind.requests:
        key = (request.alternative.claim.name, request.alternative.main)
        lacking = (
            max(request.needed - request.left, 0),
            max(request.needed - _selected(request.steps), 0),
        )
        best[key] = min(best.get(key, lacking), lacking)
    devices = sum(request.steps[0].left for request in kind.requests)
    unavailable, unmatched = (sum(each[place] for each in best.values()) for place in (0, 1))
    reached = sum(_reached(request.steps) for request in kind.requests)
    return bool(kind.error), unavailable, unmatched, -reached, -devices
