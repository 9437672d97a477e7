"""Pods that are created with ``spec.nodeName`` and resource claims, which nobody would allocate.

The scheduler skips such pods, and kubelet waits for claims that are never reserved for them.  With a node selector instead
of the name, the scheduler can choose only that node, and allocates the claims there.
Source: Kubernetes documentation, "Dynamic Resource Allocation", section "Pre-scheduled Pods".
"""

from __future__ import annotations

from collections.abc import Callable

from allocator.pod_nodes import gets_devices_on_its_node, passed_over
from resourceapi.manifests import mapping
from resourceapi.objects import EMPTY
from resourceapi.records.nodes import HOSTNAME
from resourceapi.records.pods import read_pod
from webhook.context import ENFORCE, PodDecision
from webhook.json_patch import difference
from webhook.reviews import CREATE, AdmissionRequest

# of a mirror pod, which a kubelet creates for a static pod that runs already
MIRROR = "kubernetes.io/config.mirror"


class PreScheduledPods:
    """``Enforce`` lets the scheduler place the pod on its node, ``Warn`` only says what will happen to it.

    :param mode: ``Enforce`` or ``Warn``.
    :param host_name: gives the value of a node's label ``kubernetes.io/hostname``.
    """

    name = "pre-scheduled-pods"

    def __init__(self, mode: str, host_name: Callable[[str], str]) -> None:
        self.mode = mode
        self._host_name = host_name

    def decide(self, request: AdmissionRequest) -> PodDecision | None:
        """What to do about a request; None unless it creates a pod with a node and resource claims."""
        pod = request.object
        if pod is None or not _is_prescheduled(request):
            return None
        spec = mapping(pod, "spec")
        node = spec["nodeName"]
        host = self._host_name(node)
        selector = mapping(spec, "nodeSelector")
        if selector.get(HOSTNAME, host) != host:
            warning = (
                f"spec.nodeName: {node} is not the node that spec.nodeSelector asks for "
                f"({HOSTNAME}: {selector[HOSTNAME]}); the pod is left as it is and will not run"
            )
            return PodDecision([], warning, "contradiction")
        if self.mode != ENFORCE:
            if gets_devices_on_its_node(spec):
                return None
            return PodDecision([], f"spec.nodeName: {passed_over(spec, host)}", "warned")
        wanted = {name: value for name, value in spec.items() if name != "nodeName"}
        wanted["nodeSelector"] = {**selector, HOSTNAME: host}
        warning = (
            f"spec.nodeName: replaced by spec.nodeSelector with {HOSTNAME}: {host}, so that the scheduler allocates "
            "the pod's resource claims"
        )
        return PodDecision(difference(pod, {**pod, "spec": wanted}), warning, "replaced")


def _is_prescheduled(request: AdmissionRequest) -> bool:
    if (request.api_version, request.kind, request.operation) != ("v1", "Pod", CREATE) or request.subresource:
        return False
    if MIRROR in mapping(request.object, "metadata", "annotations"):
        return False
    pod = read_pod(request.object or EMPTY)
    return bool(pod.node and pod.claims)
