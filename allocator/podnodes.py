"""Which nodes are open to a pod by its spec: what kube-scheduler looks at beside devices, but for resources like CPU."""

from __future__ import annotations

from collections.abc import Iterable

from allocator.devices import Object, node_name
from allocator.taints import tolerates
from resourceapi.nodeselection import selects

_EFFECTS = ("NoSchedule", "NoExecute")
_UNSCHEDULABLE = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def excluded(pod_spec: Object, nodes: Iterable[Object]) -> dict[str, str]:
    """The nodes (JSON) that a pod's `spec` rules out, by name, each with the reason."""
    return {node_name(node): reason for node in nodes if (reason := _reason(pod_spec, node))}


def _reason(pod: Object, node: Object) -> str:
    wanted = pod.get("nodeName")
    if wanted:
        return "" if wanted == node_name(node) else f"the pod's nodeName is {wanted}"
    labels = (node.get("metadata") or {}).get("labels") or {}
    if any(labels.get(key) != value for key, value in (pod.get("nodeSelector") or {}).items()):
        return "the pod's nodeSelector does not match"
    affinity = (pod.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is not None and not selects(required, node):
        return "the pod's required node affinity does not match"
    return _taint(pod, node)


def _taint(pod: Object, node: Object) -> str:
    spec = node.get("spec") or {}
    taints = list(spec.get("taints") or ())
    if spec.get("unschedulable") and all(taint.get("key") != _UNSCHEDULABLE["key"] for taint in taints):
        taints.append(_UNSCHEDULABLE)
    for taint in taints:
        tolerated = any(tolerates(each, taint) for each in pod.get("tolerations") or ())
        if taint.get("effect") in _EFFECTS and not tolerated:
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"node taint {taint.get('key', '')}{value}:{taint['effect']} is not tolerated"
    return ""
