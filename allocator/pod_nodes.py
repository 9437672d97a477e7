"""Which nodes are eligible for a pod by its spec: what kube-scheduler checks besides devices, except resources like CPU.

kube-scheduler ignores a pod that names its node: its claims must be allocated already.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from allocator.devices import node_name
from allocator.rules.taints import tolerates
from resourceapi.node_selection import selects
from resourceapi.objects import Object

_EFFECTS = ("NoSchedule", "NoExecute")
HOSTNAME = "kubernetes.io/hostname"
_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def excluded(pod_spec: Object, nodes: Iterable[Object]) -> dict[str, tuple[str, ...]]:
    """The nodes (JSON) that a pod's `spec` rules out, by name, each with all the reasons."""
    return {node_name(node): reasons for node in nodes if (reasons := tuple(_reasons(pod_spec, node)))}


def named_node(pod_spec: Mapping[str, Any]) -> str:
    """The node that a pod names (`spec.nodeName`), so that kube-scheduler passes it over."""
    return str(pod_spec.get("nodeName") or "")


def host_name(node: Object) -> str:
    """The host name of a node (JSON): its label, or else its name."""
    labels = (node.get("metadata") or {}).get("labels") or {}
    return str(labels.get(HOSTNAME) or node_name(node))


def passed_over(node: str, host: str) -> str:
    """What becomes of a pod that names its node and has claims that are not allocated; `host`: the node's host name.

    Source: Kubernetes documentation, "Dynamic Resource Allocation", section "Pre-scheduled Pods".
    """
    return (
        f"the scheduler passes over a pod that names its node ({node}), so that nobody allocates its resource claims "
        f"and kubelet does not run it; use spec.nodeSelector with {HOSTNAME}: {host} instead"
    )


def _reasons(pod: Object, node: Object) -> Iterator[str]:
    wanted = named_node(pod)
    if wanted:
        if wanted != node_name(node):
            yield f"the pod's nodeName is {wanted}"
        return
    labels = (node.get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in (pod.get("nodeSelector") or {}).items()):
        yield "the pod's nodeSelector does not match"
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not selects(required, node):
        yield "the pod's required node affinity does not match"
    yield from _taints(pod, node)


def _taints(pod: Object, node: Object) -> Iterator[str]:
    spec = node.get("spec") or {}
    taints = list(spec.get("taints") or ())
    if spec.get("unschedulable") and all(taint.get("key") != _UNSCHEDULABLE["key"] for taint in taints):
        taints.append(_UNSCHEDULABLE)
    for taint in taints:
        tolerated = any(tolerates(each, taint) for each in pod.get("tolerations") or ())
        if taint.get("effect") in _EFFECTS and not tolerated:
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"node taint {taint.get('key', '')}{value}:{taint['effect']} is not tolerated"
