"""What kube-scheduler refuses in a pod's claims before it looks at any node, in its words.

Its allocator would call the same an error of a node, but is not reached.
Source: kube-scheduler 1.37.1, `PreFilter` of the plugin DynamicResources, and its answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from allocator.features import Features
from allocator.time_limit import TimeLimit
from resourceapi.records.claims import Claim, DeviceRequest


def refusal(
    claims: Iterable[Claim], classes: Collection[str], features: Features, time_limit: TimeLimit
) -> str:
    """Why a pod is unschedulable whatever the nodes are, empty if it is not.

    :param claims: those of its claims that have no allocation.
    :param classes: the names of the DeviceClasses that exist.
    :raises allocator.time_limit.OutOfTime: if the time is over before a claim.
    """
    for claim in claims:
        time_limit.check()
        for request in claim.devices.requests:
            if reason := _refusal(claim, request, classes, features):
                return reason
    return ""


def _refusal(claim: Claim, request: DeviceRequest, classes: Collection[str], features: Features) -> str:
    if request.is_list and not features.prioritized_list:
        place = f"resource claim {claim.namespace}/{claim.name}, request {request.name}"
        return f"{place}: has subrequests, but the DRAPrioritizedList feature is disabled"
    for sub, details in enumerate(request.alternatives):
        if details.device_class and details.device_class not in classes:
            return f"request {request.name_of(sub)}: device class {details.device_class} does not exist"
    return ""
