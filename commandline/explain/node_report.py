"""The part of the report of ``claimcheck explain`` about nodes on which kube-scheduler does not look for devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from allocator.pod_nodes import AFFINITY, DEFAULT_SCHEDULER, RESOURCES, Refusal, named_node
from commandline.reports.writing import device_lines
from resourceapi.phrases import number

if TYPE_CHECKING:
    from claimcheck.answers.explain import Explained

#: Groups of nodes that are shown.
MAX_GROUPS = 6


def messages(explained: Explained) -> Iterator[str]:
    """What kube-scheduler would say of the pod, what it has said, and where extended resources come from."""
    if explained.unavailable and explained.workload.is_pod:
        yield f"  kube-scheduler would say: {explained.unavailable}"
    if explained.workload.scheduler_message:
        yield f"  its condition PodScheduled says: {explained.workload.scheduler_message}"
    yield from _judge(explained)
    if explained.evicting_note:
        yield f"  {explained.evicting_note}"
    for note in explained.resource_notes:
        yield f"  {note}"


def _judge(explained: Explained) -> Iterator[str]:
    """For which scheduler the answer holds, if that is not simply kube-scheduler, which the pod is for."""
    name = explained.workload.pod.scheduler_name or DEFAULT_SCHEDULER
    if node := named_node(explained.workload.pod_spec) if explained.explanation is not None else "":
        yield f"  it names its node {node}: `claimcheck schedule` gives it devices there"
        return
    its = "" if name == DEFAULT_SCHEDULER else f"it is for the scheduler {name}; "
    if explained.with_patches and explained.workload.is_pod:
        yield f"  {its}what is said here holds if `claimcheck schedule` serves it: kube-scheduler by itself ignores patches"
    elif its:
        yield f"  {its}what is said here holds for kube-scheduler"


def allocated(explained: Explained) -> Iterator[str]:
    """The devices that its claims have already."""
    for claim, allocation in explained.allocated:
        yield f"  claim {claim}, allocated"
        yield from device_lines(allocation)


def rejected_nodes(explained: Explained) -> Iterator[str]:
    """The nodes that are rejected before devices, grouped by the reasons; those that only lack resources come first."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, refusals in explained.rejected.items():
        groups.setdefault(tuple(each.named for each in _telling(refusals)), []).append(name)
    ordered = sorted(groups.items(), key=lambda group: (_rank(explained, group[1]), -len(group[1])))
    if ordered:
        yield ""
    for _, names in ordered[:MAX_GROUPS]:
        others = f" and {number(len(names) - 1, 'more node')}" if len(names) > 1 else ""
        there = f"on {names[0]}: " if others else ""
        reasons = "; ".join(
            f"{each.named} ({there}{each.detail})" if each.plugin == RESOURCES else each.named
            for each in _telling(explained.rejected[names[0]])
        )
        yield f"  not on {names[0]}{others}: {reasons}"
    if more := ordered[MAX_GROUPS:]:
        nodes = sum(len(names) for _, names in more)
        yield f"  not on {number(nodes, 'more node')}, for {number(len(more), 'other set')} of reasons (see -o json)"


def _telling(refusals: Sequence[Refusal]) -> Sequence[Refusal]:
    """The reasons to show: of a node that the pod itself does not want, only that and what kube-scheduler says of it."""
    if not any(each.plugin == AFFINITY for each in refusals):
        return refusals
    return [each for each in refusals if each.plugin == AFFINITY or each is refusals[0]]


def _rank(explained: Explained, names: Sequence[str]) -> tuple[int, int]:
    """How far nodes are from fitting: those that only lack resources are closest, those that the pod excludes farthest."""
    refusals = explained.rejected[names[0]]
    plugins = {each.plugin for each in refusals}
    return (2 if AFFINITY in plugins else int(plugins != {RESOURCES}), len(refusals))
