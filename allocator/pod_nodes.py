"""Which nodes a pod's spec excludes before kube-scheduler looks for devices there, and why, in kube-scheduler's words.

kube-scheduler ignores a pod that names its node: its claims must be allocated already. What nodes have left of CPU and the
like is another matter (`allocator.node_resources`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from allocator.node_resources import NodeResources, PodNeeds
from allocator.rules.standing import tolerates
from allocator.time_limit import TimeLimit
from allocator.words import NOTHING, Words, for_all, joined
from resourceapi.caches import remember
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.nodes import HOSTNAME, Node
from resourceapi.records.taints import Taint

#: Plugins of kube-scheduler: what nodes have left, and which nodes the pod wants.
RESOURCES, AFFINITY = "NodeResourcesFit", "NodeAffinity"
TAINTS, CORDONED = "TaintToleration", "NodeUnschedulable"
#: Terms of node affinity that select nothing, but make nodes better.
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
#: The fields of a pod's spec, beside node affinity, by which nodes are chosen.
_NODE_RULES = ("nodeName", "nodeSelector", "tolerations", "schedulerName")
#: For so many of them it is kept which nodes they rule out.
_MOST_RULES = 64
_EFFECTS = ("NoSchedule", "NoExecute")
#: The taints of nodes whose kubelet is not ready, or does not report.
_NOT_READY = frozenset(("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"))
_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")

#: The `schedulerName` of pods, if they have none, and that of the pods which the scheduling sidecar serves.
DEFAULT_SCHEDULER, SIDECAR = "default-scheduler", "claimcheck"


class Refusal(NamedTuple):
    """Why kube-scheduler rejects a node for a pod.

    :param plugin: the plugin that rejects it; the first one that does ends the checks of the node.
    :param reason: what kube-scheduler says.
    :param detail: what it does not say: which taint, which label, how much of a resource.
    :param remedy: what would open the node for the pod; NOTHING if nothing that is known would.
    """

    plugin: str
    reason: str
    detail: str = ""
    remedy: Words = NOTHING

    @property
    def named(self) -> str:
        """The reason, with the taint or label that it is about; equal for nodes that are rejected for the same."""
        return f"{self.reason}: {self.detail}" if self.detail and self.plugin != RESOURCES else self.reason


def excluded(
    pod_spec: Object, nodes: Iterable[Node], time_limit: TimeLimit
) -> dict[str, tuple[Refusal, ...]]:
    """The nodes that a pod's `spec` rules out, by name, each with all the reasons in kube-scheduler's order.

    :raises OutOfTime: if the time is over; a pod may require one of thousands of terms of node affinity.
    """
    found, known = {}, dict[Refusal, Refusal]()  # each once: it may name thousands of labels
    for node in nodes:
        time_limit.check()
        if reasons := tuple(known.setdefault(each, each) for each in _reasons(pod_spec, node)):
            found[node.name] = reasons
    return found


class ClosedNodes(NamedTuple):
    """The nodes that a pod's spec rules out, and what kube-scheduler says of each."""

    names: frozenset[str]
    reasons: Mapping[str, Sequence[str]]


class Exclusions:
    """The nodes that pods' specs rule out; found out once for pods that say the same of nodes."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = nodes
        self._known: dict[str, ClosedNodes] = {}

    def of(self, pod_spec: Object, time_limit: TimeLimit) -> ClosedNodes:
        """Those of a pod with this `spec`.

        :raises OutOfTime: as :func:`excluded`.
        """
        rules = node_rules(pod_spec)
        found = self._known.get(rules)
        if found is None:
            reasons = excluded(pod_spec, self._nodes, time_limit)
            found = ClosedNodes(frozenset(reasons), {name: spoken(each) for name, each in reasons.items()})
            remember(self._known, rules, found, _MOST_RULES)
        return found


def rejections(
    pod_spec: Object,
    needs: PodNeeds | None,
    nodes: Iterable[Node],
    resources: NodeResources,
    time_limit: TimeLimit,
) -> dict[str, tuple[Refusal, ...]]:
    """The nodes on which kube-scheduler does not look for devices, by name, with the reasons in its order.

    :param needs: what the pod needs beside devices; None for claims without a pod.
    :param resources: what nodes have left.
    :raises OutOfTime: if the time is over.
    """
    found = excluded(pod_spec, nodes, time_limit)
    if needs is None or named_node(pod_spec):
        return found
    for name in sorted(resources.closed(needs)):
        time_limit.check()
        short = [Refusal(RESOURCES, each.reason, each.amounts) for each in resources.shortages(name, needs)]
        found[name] = (*found.get(name, ()), *short)
    return found


def node_rules(pod_spec: Mapping[str, Any]) -> str:
    """What a pod's `spec` says of nodes, for comparing: pods for which it is the same are closed out of, and prefer, the same nodes."""
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity")
    return repr((affinity, *[pod_spec.get(each) for each in _NODE_RULES]))


def spoken(refusals: Iterable[Refusal]) -> list[str]:
    """The reasons that kube-scheduler gives: those of the first plugin that rejects the node."""
    listed = list(refusals)
    return [each.reason for each in listed if each.plugin == listed[0].plugin]


def named_node(pod_spec: Mapping[str, Any]) -> str:
    """The node that a pod names (`spec.nodeName`), so that kube-scheduler passes it over."""
    return str(pod_spec.get("nodeName") or "")


def gets_devices_on_its_node(pod_spec: Mapping[str, Any]) -> bool:
    """Whether a pod names its node and is for `claimcheck schedule`, by the name that its configuration has by default."""
    return bool(named_node(pod_spec)) and pod_spec.get("schedulerName") == SIDECAR


def passed_over(pod_spec: Mapping[str, Any], host: str) -> str:
    """What becomes of a pod that names its node and has claims that are not allocated; `host`: the node's host name.

    Source: Kubernetes documentation, "Dynamic Resource Allocation", section "Pre-scheduled Pods".
    """
    node, scheduler = named_node(pod_spec), pod_spec.get("schedulerName") or DEFAULT_SCHEDULER
    served = "" if scheduler in (DEFAULT_SCHEDULER, SIDECAR) else " unless `claimcheck schedule` serves it"
    return (
        f"the scheduler passes over a pod that names its node ({node}), so that nobody allocates its resource claims "
        f"and kubelet does not run it{served}; use spec.nodeSelector with {HOSTNAME}: {host} instead"
    )


def _reasons(pod: Object, node: Node) -> Iterator[Refusal]:
    wanted = named_node(pod)
    if wanted:
        if wanted != node.name:
            yield Refusal("NodeName", "node(s) didn't match the requested node name", wanted)
        return
    yield from closed_by_taints(pod, node)
    missing = [
        f"{key}={value}"
        for key, value in (pod.get("nodeSelector") or {}).items()
        if node.labels.get(key) != value
    ]
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    details = [f"nodeSelector {', '.join(sorted(missing))}"] if missing else []
    if required is not None and not selects(required, node):
        details.append("required node affinity")
    if details:
        detail = " and ".join(details)
        yield Refusal(
            AFFINITY,
            "node(s) didn't match Pod's node affinity/selector",
            detail,
            for_all(f"without its {detail}"),
        )


def closed_by_taints(pod: Object, node: Node) -> Iterator[Refusal]:
    """Why a pod with this `spec` is kept from a node by a cordon or taints; with an empty one, every pod that tolerates none."""
    cordoned = node.is_unschedulable and not tolerated(pod, _UNSCHEDULABLE)
    if cordoned:
        yield Refusal(CORDONED, "node(s) were unschedulable", remedy=for_all("if the node were uncordoned"))
    blocking = [
        taint
        for taint in node.taints
        if taint.effect in _EFFECTS
        and not tolerated(pod, taint)
        and not (cordoned and taint.key == _UNSCHEDULABLE.key)
    ]
    if blocking:
        detail = ", ".join(map(str, blocking))
        yield Refusal(TAINTS, "node(s) had untolerated taint(s)", detail, _without_taints(blocking))


def _without_taints(blocking: Sequence[Taint]) -> Words:
    """What would open a node with these taints: kubelet starts no pod on one that is not ready, tolerated or not."""
    tolerable = [str(taint) for taint in blocking if taint.key not in _NOT_READY]
    changes = [] if len(tolerable) == len(blocking) else [for_all("if the node were ready")]
    if tolerable:
        several = len(tolerable) > 1
        noun = "tolerations for the node taints" if several else "a toleration for the node taint"
        unnamed = "tolerations for the node's taints" if several else "a toleration for the node's taint"
        changes.append(Words(f"with {noun} {' and '.join(tolerable)}", f"with {unnamed}"))
    return joined(changes, " and ")


def tolerated(pod_spec: Mapping[str, Any], taint: Taint) -> bool:
    """Whether a pod with this `spec` (JSON) tolerates the taint of a node."""
    return any(tolerates(each, taint) for each in pod_spec.get("tolerations") or ())
