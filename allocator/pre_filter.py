"""What kube-scheduler refuses in a pod's claims before it looks at any node, in its words.

Its allocator would call the same an error of a node, but is not reached.
Source: kube-scheduler 1.37.1, `PreFilter` of the plugin DynamicResources, and its answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from allocator.features import Features
from allocator.time_limit import TimeLimit
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import devices_of


def refusal(
    claims: Iterable[Object], classes: Collection[str], features: Features, time_limit: TimeLimit
) -> str:
    """Why a pod is unschedulable whatever the nodes are, empty if it is not.

    :param claims: those of its claims that have no allocation (v1, normal form).
    :param classes: the names of the DeviceClasses that exist.
    :raises allocator.time_limit.OutOfTime: if the time is over before a claim.
    """
    for claim in claims:
        time_limit.check()
        for request in devices_of(claim).get("requests") or ():
            if reason := _refusal(claim, request or EMPTY, classes, features):
                return reason
    return ""


def _refusal(claim: Object, request: Object, classes: Collection[str], features: Features) -> str:
    name = request.get("name", "")
    alternatives = request.get("firstAvailable") or ()
    if alternatives and not features.prioritized_list:
        metadata = claim.get("metadata") or EMPTY
        place = f"resource claim {metadata.get('namespace', '')}/{metadata.get('name', '')}, request {name}"
        return f"{place}: has subrequests, but the DRAPrioritizedList feature is disabled"
    named = [(f"{name}/{(each or EMPTY).get('name', '')}", each or EMPTY) for each in alternatives]
    for place, details in named or [(name, request.get("exactly") or EMPTY)]:
        class_name = details.get("deviceClassName", "")
        if class_name and class_name not in classes:
            return f"request {place}: device class {class_name} does not exist"
    return ""
