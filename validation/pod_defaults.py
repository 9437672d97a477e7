"""What the server fills into a pod, and what it takes out, before it looks whether the pod is valid.

Only what can make a difference to validation, or to what is returned about resources and claims: defaults of volumes,
probes and the like are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from resourceapi import gating
from resourceapi.gates import stage_of
from resourceapi.model import workloads
from resourceapi.objects import Object
from resourceapi.quantity import Amounts, Quantity
from resourceapi.releases import Profile
from validation.pod_resources import HUGE_PAGES, aggregate, for_pods, is_overcommitable

MILLI = -3
FIXED_POD_RESOURCES = (
    37  # PodLevelResourcesFixDefaulting: 1.37 fills in the pod's resources later, and limits as well
)
RESTART_RULES = "ContainerRestartRules"  # restart policies of containers


def default_pod(pod: Object) -> None:
    """Defaults of a pod, not of a pod template."""
    spec = pod.setdefault("spec", {})
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for container in (*items_of(spec, "containers"), *items_of(spec, "initContainers")):
        resources = container.get("resources", {})
        if "limits" in resources:
            resources["requests"] = {**resources["limits"], **(resources.get("requests") or {})}
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in (*items_of(spec, "containers"), *items_of(spec, "initContainers")):
            for port in items_of(container, "ports"):
                if "containerPort" in port:
                    port.setdefault("hostPort", port["containerPort"])


def default_pod_spec(spec: Object) -> None:
    """Defaults of the spec of a pod or pod template."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for name, value in (
        ("dnsPolicy", "ClusterFirst"),
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("schedulerName", "default-scheduler"),
    ):
        spec.setdefault(name, value)
    spec.setdefault("securityContext", {})
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in items_of(spec, name):
            _default_container(container)
    _round_resources(spec.get("resources") or {})
    round_to_milli(spec, "overhead")


def prepare_pod(pod: Object, profile: Profile) -> None:
    """What the server sets and drops when a pod is created."""
    pod["status"] = {"phase": "Pending"}
    pod.setdefault("metadata", {})["generation"] = 1
    spec = pod["spec"] = without_disabled(pod["spec"], profile)
    if spec.get("resources"):
        _default_pod_resources(spec, profile.minor)


def without_disabled(spec: Object, profile: Profile, stored: Object | None = None) -> Object:
    """A pod's spec without the fields whose feature is switched off, unless the stored spec uses it; may change the spec."""
    if "DynamicResourceAllocation" not in profile.gates and not (stored or {}).get("resourceClaims"):
        _drop_claims(spec)
    # a release that knows no such rules refuses what it can't do
    knows_rules = RESTART_RULES in profile.gates or stage_of(RESTART_RULES, profile.minor) is None
    if not (knows_rules or _has_restart_rules(stored or {})):
        for container, is_sidecar in _restarted(spec):
            if not is_sidecar:
                container.pop("restartPolicy", None)
    return gating.without_disabled(workloads.schema(profile.minor), "PodSpec", spec, stored, profile.gates)


def _has_restart_rules(spec: Object) -> bool:
    return any(
        container.get("restartPolicyRules") or ("restartPolicy" in container and not is_sidecar)
        for container, is_sidecar in _restarted(spec)
    )


def _restarted(spec: Object) -> Iterator[tuple[Object, bool]]:
    """Each container, and whether it is a sidecar."""
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in items_of(spec, name):
            yield container, name == "initContainers" and container.get("restartPolicy") == "Always"


def _drop_claims(spec: Object) -> None:
    """Those of the pod, and what containers use of them; those of the pod's own resources, which are an error, stay."""
    spec.pop("resourceClaims", None)
    for name in ("containers", "initContainers", "ephemeralContainers"):
        for container in items_of(spec, name):
            (container.get("resources") or {}).pop("claims", None)


def _default_container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        latest = is_latest(container.get("image", ""))
        container["imagePullPolicy"] = "Always" if latest else "IfNotPresent"
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in items_of(container, "ports"):
        port.setdefault("protocol", "TCP")
    _round_resources(container.get("resources") or {})


def is_latest(image: str) -> bool:
    """Whether an image's name has the tag ``latest``, or neither tag nor digest; a name with spaces is none."""
    if "@" in image or image.split() != [image]:
        return False
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return not colon or tag == "latest"


def _round_resources(resources: Object) -> None:
    round_to_milli(resources, "limits")
    round_to_milli(resources, "requests")


def round_to_milli(resources: Object, name: str) -> None:
    """Amounts are rounded up to thousandths."""
    amounts: Amounts = resources.get(name) or {}
    for key, amount in amounts.items():
        if amount.scale < MILLI:
            unit = 10 ** (MILLI - amount.scale)
            rounded = -(-abs(amount.mantissa) // unit)
            mantissa = rounded if amount.mantissa > 0 else -rounded
            amounts[key] = Quantity(mantissa, MILLI, amount.format, big=amount.big)


def _default_pod_resources(spec: Object, minor: int) -> None:
    """Complete the resources of a pod as a whole by those of its containers."""
    resources = spec["resources"]
    if not resources.get("requests") and not resources.get("limits"):
        return
    with_limits = minor >= FIXED_POD_RESOURCES
    limits: Amounts = dict(resources.get("limits") or {})
    requests: Amounts = dict(resources.get("requests") or {})
    for name, amount in aggregate(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and for_pods(name, minor) and name not in requests:
            limits.setdefault(name, amount)
    if with_limits or limits:
        for name, amount in aggregate(spec, "requests").items():
            if for_pods(name, minor) and is_overcommitable(name):
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if for_pods(name, minor):
                requests.setdefault(name, amount)
    if with_limits:
        _default_limits(spec, requests, limits)
    if limits:
        resources["limits"] = limits
    if requests:
        resources["requests"] = requests


def _default_limits(spec: Object, requests: Amounts, limits: Amounts) -> None:
    """Where every container has a limit, the pod has one: their sum, or its request if that is more."""
    containers = (*items_of(spec, "containers"), *items_of(spec, "initContainers"))
    sums = aggregate(spec, "limits")
    for name, request in requests.items():
        if not for_pods(name) or name in limits or name not in sums:
            continue
        if all(name in (container.get("resources", {}).get("limits") or {}) for container in containers):
            limits[name] = request if request.cmp(sums[name]) > 0 else sums[name]


def items_of(obj: Object, name: str) -> list[Object]:
    """The items of a list of objects; none if the object has no such list."""
    items: list[Object] = obj.get(name) or []
    return items
