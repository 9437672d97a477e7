"""What a pod as a whole needs at the same time: what quotas charge it for, and what kube-scheduler looks for on a node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Amounts, Quantity, added, amounts_of
from resourceapi.releases import Profile
from validation.pod_resources import aggregate, for_pods


def total(spec: Object, kind: str, profile: Profile) -> Amounts:
    """The amounts of a pod: of its containers, or of the pod as a whole where it says so, and its overhead.

    :param spec: the pod's spec (JSON).
    :param kind: ``requests`` or ``limits``.
    :raises resourceapi.quantity.QuantityError: if an amount is no quantity.
    """
    decoded = {name: [_decoded(c) for c in spec.get(name) or ()] for name in ("containers", "initContainers")}
    found = aggregate(decoded, kind)
    kinds = ("requests",) if kind == "requests" else ("requests", "limits")
    if has_pod_level(spec, profile, kinds):
        whole = amounts_of(spec["resources"].get(kind))
        found.update({name: amount for name, amount in whole.items() if for_pods(name)})
    overhead = amounts_of(spec.get("overhead"))
    if kind == "limits":
        overhead = {
            name: more for name, more in overhead.items() if name in found and not found[name].is_zero()
        }
    return added(found, overhead)


def requests_of(spec: Object, profile: Profile, assumed: Mapping[str, Quantity] = EMPTY) -> Amounts:
    """What a pod requests once the server has stored it, which sets requests that are missing to limits.

    :param spec: the pod's spec, or that in the template of a workload, with or without the server's defaults.
    :param assumed: what containers count for that request none of it.
    :raises resourceapi.quantity.QuantityError: if an amount is no quantity.
    """
    containers = {
        name: [
            {**each, "resources": {"requests": {**assumed, **container_requests(each)}}}
            for each in spec.get(name) or ()
        ]
        for name in ("containers", "initContainers")
    }
    found = aggregate(containers, "requests")
    if "PodLevelResources" in profile.gates:
        requests, limits = container_amounts(spec)
        for name in filter(for_pods, limits):
            found.setdefault(name, limits[name])
        found.update({name: amount for name, amount in requests.items() if for_pods(name)})
    return added(found, amounts_of(spec.get("overhead")))


def container_requests(container: Object) -> Amounts:
    """What a container (JSON) requests once the server has stored its pod."""
    requests, limits = container_amounts(container)
    return {**limits, **requests}


def container_amounts(container: Object) -> tuple[Amounts, Amounts]:
    """The requests and the limits of a container (JSON), or of a pod as a whole."""
    resources = container.get("resources") or EMPTY
    return amounts_of(resources.get("requests")), amounts_of(resources.get("limits"))


def has_pod_level(spec: Object, profile: Profile, kinds: Iterable[str]) -> bool:
    """Whether the pod as a whole says what it needs."""
    resources = spec.get("resources") or EMPTY
    enabled = "PodLevelResources" in profile.gates
    return enabled and any(for_pods(name) for kind in kinds for name in resources.get(kind) or ())


def _decoded(container: Object) -> Object:
    requests, limits = container_amounts(container)
    return {**container, "resources": {"requests": requests, "limits": limits}}
