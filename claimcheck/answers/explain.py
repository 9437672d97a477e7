"""Explains every workload of a scenario."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from allocator.binding_conditions import OpenCondition, open_conditions
from allocator.explaining import mistakes
from allocator.explaining.explanation import FITS, MISFIT, UNDECIDED, Explanation, PodContext, explain
from allocator.explaining.finder import NODE, RELEASE, REQUESTS, Remedy, together
from allocator.explaining.holders import Holder, holder
from allocator.explaining.misspelt_labels import Labels, MisspeltLabel
from allocator.explaining.misspelt_tolerations import misspelt
from allocator.explaining.mistakes import Mistake
from allocator.explaining.node_remedies import less, lower_requests, serves
from allocator.explaining.preemption import preemption, priority_of
from allocator.explaining.remedies import MAX_SECOND, gate_remedy
from allocator.explaining.snapshot import Snapshot
from allocator.explaining.trials import Trials, Variation
from allocator.node_resources import NodeResources, Shortage
from allocator.pod_claims import ClaimsOnNode, ClaimsOnNodes, claim_for, classes_by_resource
from allocator.pod_nodes import (
    AFFINITY,
    RESOURCES,
    TAINTS,
    Refusal,
    gets_devices_on_its_node,
    named_node,
    passed_over,
    rejections,
    spoken,
)
from allocator.scheduling_outcome import SchedulingOutcome, device_reasons, refused, unavailable
from allocator.time_limit import POD_SECONDS, UNLIMITED, OutOfTime, TimeLimit
from allocator.words import NOTHING, Words, for_all, joined
from claimcheck.answers.gangs import GangAnswer, gang_answers
from claimcheck.answers.outcome import Failure, Unread
from claimcheck.answers.scenario import Scenario
from claimcheck.answers.tried import beside_fellows
from cluster.workloads import Workload
from resourceapi.gates import switchable
from resourceapi.objects import Object
from resourceapi.phrases import nearest
from resourceapi.records.claims import Claim
from resourceapi.records.classes import EXTENDED_RESOURCES_GATE
from resourceapi.records.taints import Taint

INVALID, BYPASSED = "cannot be answered", "bypasses the scheduler"
WAITS, BINDING_FAILED = "waits", "binding failed"


class Explained(NamedTuple):
    """A workload with its explanation.

    :param explanation: None for a workload with a problem, and for pods that never reach the scheduler.
    :param bypassed: what happens to pods that never reach the scheduler.
    :param bound: the node of a pod that has all it needs there already.
    :param rejected: the nodes on which kube-scheduler does not look for devices, and why.
    :param unavailable: the message that kube-scheduler would have for it; empty if the pod fits, or for another message.
    :param with_patches: whether patches have changed the devices by which it is judged, which kube-scheduler by itself ignores.
    :param resource_notes: where its extended resources come from.
    :param open_conditions: conditions of allocated devices that keep a pod which fits from being bound to its node.
    :param allocated_on: the nodes from which the devices that are allocated already can be used.
    :param gang: what becomes of its gang, unless that is on nodes already.
    :param later: where no node is eligible and no single change helps, why it would not fit on nodes that can be made eligible.
    :param users: who uses a claim that is explained without a pod, if it is allocated.
    :param evicts_for_no_devices: whether pods of a lower priority hold devices that it lacks, for which kube-scheduler evicts nobody.
    """

    workload: Workload
    explanation: Explanation | None
    bypassed: str = ""
    bound: str = ""
    rejected: Mapping[str, Sequence[Refusal]] = MappingProxyType({})
    unavailable: str = ""
    with_patches: bool = False
    resource_notes: Sequence[str] = ()
    open_conditions: Sequence[OpenCondition] = ()
    allocated_on: Sequence[str] = ()
    users: Holder | None = None
    later: Explanation | None = None
    gang: GangAnswer | None = None
    evicts_for_no_devices: bool = False

    @property
    def verdict(self) -> str:
        """The answer in a few words, as in the JSON report."""
        if self.bypassed:
            return BYPASSED
        if self.bound or self.users is not None:
            return FITS
        if self.open_conditions:
            return BINDING_FAILED if self.open_conditions[0].failed else WAITS
        if self.waits_for:
            return WAITS
        if self.gang is not None and not self.gang.fits:
            return UNDECIDED if self.gang.is_undecided else MISFIT
        return INVALID if self.explanation is None else self.explanation.verdict

    @property
    def waits(self) -> Words:
        """What is missing, without which kube-scheduler does not look at the pod: claims, templates, quota, others of its gang."""
        if self.workload.problem:
            return NOTHING
        return self.workload.waits or for_all(self.gang.waits if self.gang is not None else "")

    @property
    def waits_for(self) -> str:
        """The same for those who may read everything."""
        return self.waits.text

    @property
    def evicting_note(self) -> str:
        """Why kube-scheduler evicts nobody, where that is about devices."""
        if not self.evicts_for_no_devices:
            return ""
        return "kube-scheduler evicts no pod of a lower priority for it: their claims would keep the devices meanwhile"

    @property
    def allocated(self) -> list[tuple[str, Object]]:
        """The claims that have devices already, by their names, with their allocations."""
        return [
            (claim.key, claim.allocation.object)
            for claim in self.workload.claims
            if claim.allocation is not None
        ]

    @property
    def unanswered(self) -> bool:
        """Whether it is unknown if the workload fits."""
        return self.verdict in (INVALID, UNDECIDED)

    @property
    def fits(self) -> bool:
        """Whether all claims of a pod can be allocated together on some node."""
        return self.verdict == FITS


class Answer(NamedTuple):
    """Every workload explained, what could not be read, and in sentences what has been checked.

    ``late``: how many workloads were not decided before the time for all of them was over.
    """

    explained: list[Explained]
    failures: list[Failure]
    notes: list[str]
    late: int = 0


def explain_all(
    scenario: Scenario,
    node: str = "",
    limit: TimeLimit = UNLIMITED,
    step: Callable[[], None] = lambda: None,
) -> Answer:
    """Explain each workload by itself, as if the others did not exist but for those of its gang.

    :param node: the only node to consider; empty: all.
    :param limit: how long all of them may take.
    :param step: called before each of them.
    """
    explained = list(explain_each(scenario, node, limit, step))
    late = sum(each.verdict == UNDECIDED for each in explained) if limit.is_over else 0
    if not all(each.bound for each in explained):
        return Answer(explained, scenario.failures, scenario.checked(limit), late)
    # Nothing has been checked, nor do lists matter that could not be read.
    failures = [each for each in scenario.failures if not (explained and isinstance(each, Unread))]
    return Answer(explained, failures, [])


def explain_each(
    scenario: Scenario,
    node: str = "",
    limit: TimeLimit = UNLIMITED,
    step: Callable[[], None] = lambda: None,
) -> Iterator[Explained]:
    """Like :func:`explain_all`, one workload after the other, and nothing else."""
    gangs = {} if node else gang_answers(scenario, limit)
    for workload in scenario.workloads:
        step()
        gang = gangs.get(workload.gang.name) if workload.gang is not None else None
        yield _explain(scenario, workload, gang, limit.part(POD_SECONDS), node)


def _explain(
    scenario: Scenario, workload: Workload, gang: GangAnswer | None, limit: TimeLimit, node: str
) -> Explained:
    """Explain a workload: of a gang that does not fit a pod of it that does not, if there is one."""
    if gang is None or workload.problem or workload.waits_for:
        return explain_one(scenario, workload, limit, node)
    if gang.waits:
        return Explained(workload, None, gang=gang)
    misfit = next((each for each in gang.misfits if each.workload is workload), None)
    allocated: dict[str, Claim] = {}
    if misfit is not None and not gang.fits and gang.fellows:
        try:
            scenario, allocated = beside_fellows(scenario, gang.fellows, limit)
        except OutOfTime:
            return Explained(workload, Explanation.unfinished(), gang=gang)
        workload = misfit.alone(allocated)
    explained = explain_one(scenario, workload, limit, node, spared=allocated)
    if explained.explanation is None:
        return explained
    if not gang.fits and explained.explanation.verdict == FITS and _is_as_kube_scheduler(scenario):
        explained = explained._replace(unavailable=gang.said(workload))
    return explained._replace(gang=gang)


def _is_as_kube_scheduler(scenario: Scenario) -> bool:
    """Whether kube-scheduler sees all that a scenario has, and nothing else."""
    return scenario.is_whole and not scenario.has_patched_devices and not scenario.state.has_snapshots


def explain_one(
    scenario: Scenario,
    workload: Workload,
    limit: TimeLimit,
    node: str = "",
    spared: Collection[str] = (),
) -> Explained:
    """Explain a workload as if there were no others.

    :param limit: how long it may take.
    :param node: the only node to consider; empty: all.
    :param spared: claims whose release is no help.
    """
    snapshot, resources = scenario.snapshot, scenario.node_resources
    if workload.problem:
        return Explained(workload, None)
    if workload.running and len(workload.running) >= workload.copies:
        return Explained(workload, None, bound=scenario.state.pods.objects[workload.running[0]].node)
    if workload.missing:
        return Explained(workload, None)
    instead = workload.claims_by_nodes(resources)
    on = named_node(workload.pod_spec)
    if on and (answer := _on_its_node(scenario, workload, on, instead)) is not None:
        return answer
    # what a node has beside devices is not asked for a pod that is on it
    needs = workload.needs if workload.is_pod and not on else None
    try:
        rejected = rejections(workload.pod_spec, needs, snapshot.nodes.values(), resources, limit)
    except OutOfTime:
        return Explained(workload, Explanation.unfinished())
    excluded = {name: tuple(reason.named for reason in reasons) for name, reasons in rejected.items()}
    openings = {each.named: _opening(workload, each) for reasons in rejected.values() for each in reasons}
    if node:
        only = (f"only {node} is considered",)
        openings[only[0]] = Words(f"on other nodes than {node}, without --node")
        excluded |= {name: (*excluded.get(name, ()), *only) for name in snapshot.nodes if name != node}
    full = {name for name, reasons in rejected.items() if any(each.plugin == RESOURCES for each in reasons)}
    profile = scenario.state.profile
    gates = switchable(profile.minor, profile.gates)
    ask = partial(explain, snapshot, workload.claims, limit)
    context = PodContext(
        excluded=excluded,
        full=full,
        openings=openings,
        instead=instead,
        gates=gates,
        made_for=workload.made_for,
        spared=_held_by(snapshot, workload.running) | frozenset(spared),
        on_node=workload.on_node(resources)._replace(needs=needs),
    )
    found = ask(context)
    lacking = {each.node: each.shortages for each in found.answers if each.shortages}
    if found.verdict == MISFIT and workload.is_pod and (full or lacking):
        found.remedies[:0] = lower_requests(
            snapshot, workload.claims, workload.on_node(resources), rejected, lacking, instead, limit
        )
    keeps_devices = False
    if found.verdict == MISFIT and workload.is_pod and workload.gang is None:
        with suppress(OutOfTime):
            preempted = preemption(
                snapshot,
                workload.claims,
                workload.on_node(resources),
                rejected,
                lacking,
                scenario.state.pods.objects.values(),
                instead,
                limit,
            )
            found.remedies[:0] = [preempted.remedy] if preempted.remedy is not None else []
            keeps_devices = preempted.is_up_to_devices or _is_freed_by_lower(scenario, workload, found)
    if found.verdict == MISFIT and not node:
        with suppress(OutOfTime):
            found.remedies += _with_gate(scenario, workload, gates, limit)

    def ask_on(opened: Mapping[str, _Opening]) -> Explanation:
        closed = {name: reasons for name, reasons in excluded.items() if name not in opened}
        closed |= {name: ("",) for name in snapshot.nodes if name not in rejected}
        return ask(context._replace(excluded=closed, full=closed.keys(), openings={}))

    later: Explanation | None = None
    if found.verdict == MISFIT and len(rejected) == len(snapshot.nodes) and _is_nowhere_wanted(rejected):
        right, labels = Labels(snapshot.nodes.values()).corrected(workload.pod_spec)
        found.mistakes[:0] = mistakes.in_labels(labels)
        with suppress(OutOfTime):
            still = (
                rejections(right, needs, snapshot.nodes.values(), resources, limit) if labels else rejected
            )
            if (opened := _relabelled(labels, rejected.keys() - still.keys())) and not node:
                later = ask_on(opened)
                found.remedies[:0] = _with_opened(later, opened)
    if found.verdict == MISFIT and workload.is_pod:
        unserved = not any(each.selected for each in found.totals)
        taints = _taints_in_the_way(snapshot, rejected) if unserved else []
        known = (
            dict.fromkeys(taint for each in snapshot.nodes.values() for taint in each.taints)
            if taints
            else ()
        )
        common = set.intersection(*({each.key for each in some} for some in taints)) if taints else set()
        wrong = misspelt(workload.pod_spec.get("tolerations") or (), known, common)
        found.mistakes[:0] = mistakes.in_tolerations("node", wrong)
        found.mistakes[:0] = [each for each in _absent_resources(scenario, workload) if each.meant]
    if found.verdict == MISFIT and not found.remedies and not node:
        opened = _opened(workload, rejected, resources)
        if opened:
            later = ask_on(opened)
            found.remedies += _with_opened(later, opened)
    speaks = _is_as_kube_scheduler(scenario) and not (node or on or workload.waits_for)
    message = _unavailable(found, rejected) if speaks else ""
    explained = Explained(
        workload,
        found,
        rejected=rejected,
        unavailable=message,
        with_patches=scenario.has_patched_devices,
        evicts_for_no_devices=keeps_devices,
    )
    try:
        explained = _with_allocations(snapshot, explained, found, limit)
    except OutOfTime:
        return Explained(workload, Explanation.unfinished())
    later = later if later is not None and later.verdict == MISFIT else None
    return explained._replace(resource_notes=_resource_notes(scenario, explained), later=later)


def _is_freed_by_lower(scenario: Scenario, workload: Workload, explanation: Explanation) -> bool:
    """Whether it would fit if pods of a lower priority ended, which hold devices."""
    priority, pods = priority_of(workload.pod_spec), scenario.state.pods.objects
    released = [each.variation.released or () for each in explanation.remedies if each.kind == RELEASE]
    if priority is None or not released:
        return False
    users = scenario.snapshot.claim_users
    holders = [[pod for claim in claims for pod in users[claim].pods] for claims in released]
    return any(
        bool(each) and all(name in pods and pods[name].priority < priority for name in each)
        for each in holders
    )


class _Opening(NamedTuple):
    """What opens a node for a pod: other things that it asks of nodes, and lower requests for what the node lacks."""

    changes: tuple[Remedy, ...]
    others: frozenset[str]
    shortages: Sequence[Shortage]

    def opens(self, other: _Opening) -> bool:
        """Whether it opens another node as well."""
        return other.others <= self.others and serves(other.shortages, self.shortages)


def _taints_in_the_way(
    snapshot: Snapshot, rejected: Mapping[str, Sequence[Refusal]]
) -> list[Sequence[Taint]]:
    """The taints of each of the nodes that are rejected for nothing else."""
    names = [name for name, reasons in rejected.items() if all(each.plugin == TAINTS for each in reasons)]
    return [snapshot.nodes[name].taints for name in names]


def _is_nowhere_wanted(rejected: Mapping[str, Sequence[Refusal]]) -> bool:
    """Whether the pod requires labels that none of these nodes has."""
    return all(any(each.plugin == AFFINITY for each in reasons) for reasons in rejected.values())


def _relabelled(labels: Sequence[MisspeltLabel], names: Iterable[str]) -> dict[str, _Opening]:
    """The nodes that a pod would have if it named the labels that were meant."""
    words = joined(list(dict.fromkeys(each.change for each in labels)), " and ")
    change = Remedy(NODE, words, words.text, None, (), Variation(()))
    return {name: _Opening((change,), frozenset((words.text,)), ()) for name in sorted(names)}


def _opened(
    workload: Workload, rejected: Mapping[str, Sequence[Refusal]], resources: NodeResources
) -> dict[str, _Opening]:
    """The nodes that changes would open, each with these."""
    found = {}
    for name, refusals in rejected.items():
        others = [_opening(workload, each) for each in refusals if each.plugin != RESOURCES]
        lacks = any(each.plugin == RESOURCES for each in refusals)
        shortages = resources.shortages(name, workload.needs) if lacks else ()
        words = {NODE: joined(others, " and ")} if others else {}
        words |= {REQUESTS: less(shortages)} if lacks else {}
        if NOTHING not in (*others, *words.values()):
            changes = (Remedy(*each, name, None, (name,), Variation(())) for each in words.items())
            found[name] = _Opening(tuple(changes), frozenset(each.text for each in others), shortages)
    return found


def _with_opened(later: Explanation, opened: Mapping[str, _Opening]) -> Iterator[Remedy]:
    """What makes a pod fit on nodes that are opened: that by itself, or with another change."""
    if later.verdict == FITS:
        opening = opened[next(iter(later.fitting))]
        names = tuple(name for name in later.fitting if opening.opens(opened[name]))
        *some, last = opening.changes
        yield together(some, last, names) if some else last._replace(nodes=names)
    for remedy in later.remedies[:MAX_SECOND] if later.verdict == MISFIT else ():
        openings: dict[tuple[str, ...], _Opening] = {}
        for name in remedy.nodes:
            openings.setdefault(tuple(each.text for each in opened[name].changes), opened[name])
        for opening in list(openings.values())[:MAX_SECOND]:
            names = tuple(name for name in remedy.nodes if opening.opens(opened[name]))
            yield together(opening.changes, remedy, names)


def _held_by(snapshot: Snapshot, pods: Sequence[str]) -> frozenset[str]:
    """The allocated claims that only these pods use."""
    users = snapshot.claim_users.items() if pods else ()
    return frozenset(name for name, each in users if each.pods and set(each.pods) <= set(pods))


def _opening(workload: Workload, refusal: Refusal) -> Words:
    """What would open a node that is rejected; a claim cannot tolerate its taint, but the pod that uses the claim can."""
    if refusal.plugin == TAINTS and not workload.is_pod:
        return Words(f"for a pod that tolerates the node taint {refusal.detail}")
    return refusal.remedy


def _with_allocations(
    snapshot: Snapshot, explained: Explained, explanation: Explanation, limit: TimeLimit
) -> Explained:
    """The same with what keeps a pod whose claims are allocated from being bound, or where an allocated claim is, and who uses it."""
    workload = explained.workload
    claims = [claim for claim in workload.claims if claim.is_allocated]
    holders = [holder(claim) for claim in claims]
    if not workload.is_pod:
        users = next(iter(holders), None)
        return explained._replace(users=users, allocated_on=_nodes_of(snapshot, claims, limit))
    # Once kube-scheduler has reserved a claim for a pod, it does not look at the nodes again.
    chosen = workload.kind == "Pod" and any(workload.full_name in each.pods for each in holders)
    if not chosen and explanation.verdict != FITS:
        return explained
    conditions = open_conditions(claims, snapshot.features)
    return explained._replace(open_conditions=conditions, allocated_on=_nodes_of(snapshot, claims, limit))


def _nodes_of(snapshot: Snapshot, claims: Iterable[Claim], limit: TimeLimit) -> list[str]:
    """The nodes from which all devices of allocated claims can be used.

    :raises OutOfTime: if the time is over before all have been looked at: a selector may have thousands of requirements.
    """
    on_node = ClaimsOnNode.of(list(claims))
    found = []
    for name, node in snapshot.nodes.items():
        limit.check()
        if not on_node.is_away_from(node):
            found.append(name)
    return found


def _with_gate(
    scenario: Scenario, workload: Workload, gates: Mapping[str, frozenset[str]], limit: TimeLimit
) -> Iterator[Remedy]:
    """The gate with which classes stand for the pod's extended resources, if the pod would fit then."""
    snapshot, classes = scenario.snapshot, workload.classes_with_gate
    claim = claim_for(workload.name, workload.namespace, workload.pod_spec, classes)
    if claim is None or EXTENDED_RESOURCES_GATE not in gates:
        return
    needs = workload.needs._replace(by_claim=frozenset(classes))
    known = snapshot.nodes.values()
    rejected = rejections(workload.pod_spec, needs, known, scenario.node_resources, limit)
    eligible = [name for name in snapshot.nodes if name not in rejected]
    on_node = workload.on_node(scenario.node_resources)
    trials = Trials(snapshot, [*workload.claims, claim], eligible, limit, on_node=on_node)
    answers = trials.everywhere(trials.as_it_is)
    if trials.outcome(answers) is SchedulingOutcome.FITS:
        nodes = tuple(answer.node for answer in answers if answer.result is not None)
        yield gate_remedy(EXTENDED_RESOURCES_GATE, gates[EXTENDED_RESOURCES_GATE], nodes, trials.as_it_is)


def _resource_notes(scenario: Scenario, explained: Explained) -> list[str]:
    """Where the extended resources of a pod come from."""
    workload, resources = explained.workload, scenario.node_resources
    placed = explained.explanation.placed if explained.explanation is not None else None
    node = explained.bound if placed is None else placed.node
    notes = []
    for name in workload.extended_resources:
        known = workload.classes.get(name)
        if node and resources.provides(node, name):
            notes.append(f"{name} comes from the device plugin of {node}")
        elif known and not workload.claims[-1].is_allocated:
            notes.append(
                f"{name} stands for devices of class {known}, for which kube-scheduler makes a claim itself"
            )
    told = explained.explanation.mistakes if explained.explanation is not None else ()
    return [*notes, *(each.text for each in _absent_resources(scenario, workload) if each not in told)]


def _absent_resources(scenario: Scenario, workload: Workload) -> list[Mistake]:
    """The extended resources that nothing stands for, each with the one that was meant; that is empty if there is none."""
    state, resources = scenario.state, scenario.node_resources
    has_gate = EXTENDED_RESOURCES_GATE in state.profile.gates
    off = "" if has_gate else f" with the feature gate {EXTENDED_RESOURCES_GATE} off"
    absent = [
        name
        for name in workload.extended_resources
        if not workload.classes.get(name) and not resources.providing(name)
    ]
    names = resources.extended_resources if absent else set()
    if absent and has_gate:
        names |= classes_by_resource(state.classes.values()).keys()
    offered = sorted(names)
    return [
        Mistake(
            f"no DeviceClass stands for {name}{off}, and no node has it from a device plugin",
            nearest(name, offered),
        )
        for name in absent
    ]


def _unavailable(explanation: Explanation, rejected: Mapping[str, Sequence[Refusal]]) -> str:
    """What kube-scheduler says of a pod that fits on no node."""
    if explanation.verdict != MISFIT:
        return ""
    if explanation.refusal:
        return refused(len(rejected) + len(explanation.answers), explanation.refusal)
    reasons = [reason for refusals in rejected.values() for reason in spoken(refusals)]
    reasons += [reason for answer in explanation.answers for reason in device_reasons(answer)]
    return unavailable(len(rejected) + len(explanation.answers), reasons)


def _on_its_node(
    scenario: Scenario, workload: Workload, node: str, instead: Sequence[ClaimsOnNodes]
) -> Explained | None:
    """A pod that is on a node: with all that it needs, or never to be looked at by the scheduler.

    :returns: None for one that is to get devices there, and for one that waits there for a claim with devices of another node;
        for extended resources nobody makes a claim then.
    """
    claims = next((each.claims for each in instead if node in each.nodes), workload.claims)
    if not all(claim.is_allocated for claim in claims):
        if gets_devices_on_its_node(workload.pod_spec) and not workload.classes:
            return None
        known = scenario.snapshot.nodes.get(node)
        host = node if known is None else known.host_name
        return Explained(workload, None, passed_over(workload.pod_spec, host))
    there = scenario.snapshot.nodes.get(node)
    if not workload.pod.is_running and there is not None and ClaimsOnNode.of(claims).is_away_from(there):
        return None
    explained = Explained(workload, None, bound=node)
    return explained._replace(resource_notes=_resource_notes(scenario, explained))
