"""What a pod counts against a quota, and to which scopes of a quota it belongs."""

from __future__ import annotations

from collections.abc import Iterable

from quota.names import COUNT, REQUESTS
from resourceapi.manifests import has_ended
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Amounts, Quantity
from resourceapi.records.classes import IMPLICIT_PREFIX
from resourceapi.releases import Profile
from validation.pod_resources import (
    COMPUTE,
    HUGE_PAGES,
    container_amounts,
    has_pod_level,
    is_extended,
    is_native,
    total,
)

POD_COUNT = COUNT + "pods"
EPHEMERAL = "ephemeral-storage"
# Named as such, or with a prefix that says which of the two is meant.
_PLAIN = ("cpu", "memory", EPHEMERAL)
_NAMES = frozenset(
    ("pods", POD_COUNT, *_PLAIN, *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _PLAIN))
)
# Where a quota limits one of these, every container must say how much of it it uses.
MANDATORY = frozenset(name for name in _NAMES if name.rpartition(".")[2] in COMPUTE)


def counts_for_pods(name: str) -> bool:
    """Whether a name in a quota counts something of pods."""
    return name in _NAMES or name.removeprefix(REQUESTS).startswith(HUGE_PAGES) or is_extended_in_quota(name)


def is_extended_in_quota(name: str) -> bool:
    """Whether a name in a quota limits requests for an extended resource."""
    implicit = name.startswith(REQUESTS + IMPLICIT_PREFIX)
    return name.startswith(REQUESTS) and (implicit or not is_native(name))


def usage(pod: Object, profile: Profile) -> Amounts:
    """A pod's usage (JSON); one that has ended only counts as an object."""
    counted = {POD_COUNT: Quantity(1)}
    if has_ended(pod):
        return counted
    requests, limits = (total(pod["spec"], kind, profile) for kind in ("requests", "limits"))
    return {**counted, **_named(requests, limits)}


def missing(pod: Object, required: Iterable[str], profile: Profile) -> str:
    """Which containers do not say what a quota makes mandatory, in the server's words; empty if all do."""
    spec = pod["spec"]
    if has_pod_level(spec, profile, ("requests", "limits")):
        return ""
    wanted = sorted(MANDATORY.intersection(required))
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    parts = []
    for name in wanted:
        without = {c.get("name", "") for c in containers if name not in _named(*container_amounts(c))}
        if without:
            parts.append(f"{name} for: {','.join(sorted(without))}")
    return "must specify " + "; ".join(parts) if parts else ""


def in_scope(pod: Object, selector: Object) -> bool:
    """Whether a pod belongs to a scope of a quota (an entry of ``spec.scopeSelector.matchExpressions``)."""
    scope, spec = selector.get("scopeName", ""), pod["spec"]
    if scope in ("Terminating", "NotTerminating"):
        return (spec.get("activeDeadlineSeconds", -1) >= 0) is (scope == "Terminating")
    if scope in ("BestEffort", "NotBestEffort"):
        return _is_best_effort(spec) is (scope == "BestEffort")
    if scope == "PriorityClass":
        return _has_priority(spec.get("priorityClassName", ""), selector)
    return scope == "CrossNamespacePodAffinity" and _reaches_across_namespaces(spec.get("affinity") or EMPTY)


def _named(requests: Amounts, limits: Amounts) -> Amounts:
    """Amounts under the names that quotas have for them."""
    found = {"pods": Quantity(1)}
    for name in _PLAIN:
        if name in requests:
            found[name] = found[REQUESTS + name] = requests[name]
        if name in limits:
            found[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES):
            found[name] = found[REQUESTS + name] = amount
        elif is_extended(name) or name.startswith(IMPLICIT_PREFIX):
            found[REQUESTS + name] = amount
    return found


def _is_best_effort(spec: Object) -> bool:
    """Whether nothing of a pod asks for computing time or memory."""
    owners = [
        *(spec.get("containers") or ()),
        *(spec.get("initContainers") or ()),
        {"resources": spec.get("resources")},
    ]
    return not any(
        amount.sign() > 0
        for owner in owners
        for side in container_amounts(owner)
        for name, amount in side.items()
        if name in COMPUTE
    )


def _has_priority(priority: str, selector: Object) -> bool:
    operator, values = selector.get("operator", ""), selector.get("values") or ()
    if operator == "In":
        return bool(priority) and priority in values
    if operator == "NotIn":
        return not priority or priority not in values
    return bool(priority) is (operator == "Exists")


def _reaches_across_namespaces(affinity: Object) -> bool:
    terms: list[Object] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or EMPTY
        terms += rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        terms += [entry.get("podAffinityTerm") or EMPTY for entry in preferred]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)
