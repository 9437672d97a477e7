"""What must hold for the spec of a pod, or of a pod template: claims, containers, and where and how the pod runs.

Not looked at: volumes, environment, probes, lifecycle, security contexts, affinity, topology, DNS configuration,
tolerations and other details of a pod that have nothing to do with devices.
"""

from __future__ import annotations

from resourceapi import names
from resourceapi.encoding import go_json
from resourceapi.field_errors import (
    DUPLICATE,
    FORBIDDEN,
    NOT_FOUND,
    REQUIRED,
    Key,
    Path,
    Verbatim,
    not_supported,
)
from resourceapi.model import workloads
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks
from validation.object_meta import check_labels
from validation.pod_defaults import RESTART_RULES, items_of
from validation.pod_resources import check_container_resources, check_pod_resources

MIRROR = "kubernetes.io/config.mirror"
PORTS = range(1, 65536)
DEADLINES = range(1, 2**31)
ALWAYS = "Always"
RESTART_POLICIES = (ALWAYS, "OnFailure", "Never")
CONTAINER_RESTART_POLICIES = (ALWAYS, "Never", "OnFailure")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PULL_POLICIES = (ALWAYS, "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")


def check_pod_spec(spec: Object, meta: Object | None, path: Path, checks: Checks) -> None:
    """``meta``: the metadata of a pod; None for a template."""
    claims = sorted({claim["name"] for claim in items_of(spec, "resourceClaims") if claim.get("name")})
    _check_pod_claims(items_of(spec, "resourceClaims"), meta, (*path, "resourceClaims"), checks)
    _check_containers(spec, claims, path, checks)
    _check_init_containers(spec, claims, path, checks)
    _check_ephemeral_containers(spec, claims, path, checks)
    if "resources" in spec and "PodLevelResources" in checks.gates:
        check_pod_resources(spec, claims, path, checks)
    if spec.get("hostNetwork"):
        _check_host_network(
            items_of(spec, "containers"), (*path, "containers"), checks, in_pod=meta is not None
        )
    _check_choice(spec, "restartPolicy", RESTART_POLICIES, path, checks)
    _check_choice(spec, "dnsPolicy", DNS_POLICIES, path, checks)
    check_labels(spec.get("nodeSelector") or {}, (*path, "nodeSelector"), checks)
    _check_gates(items_of(spec, "schedulingGates"), (*path, "schedulingGates"), checks)
    _check_placement(spec, path, checks)


def check_images(spec: Object, path: Path, checks: Checks) -> None:
    """What is checked of the images of a pod, but not of a template's."""
    for name in ("containers", "initContainers"):
        for index, container in enumerate(items_of(spec, name)):
            check_image_spaces(container, (*path, name, index), checks)


# --- claims ------------------------------------------------------------------------------------------------------


def _check_pod_claims(claims: list[Object], meta: Object | None, path: Path, checks: Checks) -> None:
    if checks.profile.is_classic:
        from validation.classic.pod_claims import check_pod_claims

        check_pod_claims(claims, meta, path, checks)
        return
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        if meta is not None and MIRROR in (meta.get("annotations") or {}):
            checks.report(FORBIDDEN, (Key(""),), "", "static pods do not support resource claims")
            continue
        _check_pod_claim(claim, seen, (*path, index), checks)


def _check_pod_claim(claim: Object, seen: set[str], path: Path, checks: Checks) -> None:
    name = claim.get("name", "")
    if not name:
        checks.report(REQUIRED, (*path, "name"))
    elif name in seen:
        checks.report(DUPLICATE, (*path, "name"), name)
    else:
        checks.problems(formats.dns_label(name), (*path, "name"))
        seen.add(name)
    sources = [source for source in ("resourceClaimName", "resourceClaimTemplateName") if source in claim]
    if len(sources) != 1:
        checks.invalid(path, Verbatim(_shown(claim, checks)), _BOTH_SOURCES if sources else _NO_SOURCE)
    for source in sources:
        checks.problems(formats.dns_subdomain(claim[source]), (*path, source))


def _shown(claim: Object, checks: Checks) -> str:
    """An entry of a pod's claims as errors print it, up to 1.33 in Go's syntax."""
    schema = workloads.schema(checks.minor)
    if checks.minor >= 34:
        return go_json(schema, "PodResourceClaim", claim, internal=True)
    from resourceapi.go_syntax import go_syntax

    return go_syntax(schema, "PodResourceClaim", claim, package="core")


_BOTH_SOURCES = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
_NO_SOURCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"


# --- containers --------------------------------------------------------------------------------------------------


def _check_containers(spec: Object, claims: list[str], path: Path, checks: Checks) -> None:
    containers, path = items_of(spec, "containers"), (*path, "containers")
    if not containers:
        checks.report(REQUIRED, path)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        at: Path = (*path, index)
        name = container.get("name", "")
        _check_container(container, claims, at, checks)
        if name in seen:
            checks.report(DUPLICATE, (*at, "name"), name)
        seen.add(name)
        if RESTART_RULES in checks.profile.gates:
            _check_container_restart(container, at, checks)
        elif "restartPolicy" in container:
            checks.report(FORBIDDEN, (*at, "restartPolicy"), "", "may not be set for non-init containers")
    _check_host_ports(containers, path, checks)


def _check_init_containers(spec: Object, claims: list[str], path: Path, checks: Checks) -> None:
    path = (*path, "initContainers")
    seen = {container.get("name", "") for container in items_of(spec, "containers")}
    for index, container in enumerate(items_of(spec, "initContainers")):
        at: Path = (*path, index)
        name = container.get("name", "")
        _check_container(container, claims, at, checks)
        _check_init_restart(container, at, checks)
        if name in seen:
            checks.report(DUPLICATE, (*at, "name"), name)
        elif name:
            seen.add(name)
        _check_host_ports([container], path, checks)
        if container.get("restartPolicy") != ALWAYS:
            for field in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
                if field in container:
                    checks.report(FORBIDDEN, (*at, field), "", _ONLY_SIDECARS)


_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"


def _check_ephemeral_containers(spec: Object, claims: list[str], path: Path, checks: Checks) -> None:
    others = {c.get("name", "") for kind in ("containers", "initContainers") for c in items_of(spec, kind)}
    seen = set(others)
    for index, container in enumerate(items_of(spec, "ephemeralContainers")):
        at: Path = (*path, "ephemeralContainers", index)
        name, target = container.get("name", ""), container.get("targetContainerName", "")
        _check_container(container, claims, at, checks)
        check_image_spaces(container, at, checks)
        if name in seen:
            checks.report(DUPLICATE, (*at, "name"), name)
        seen.add(name)
        if target and target not in others:
            checks.report(NOT_FOUND, (*at, "targetContainerName"), target)
        for field in _NOT_EPHEMERAL:
            if field in container:
                checks.report(FORBIDDEN, (*at, field), "", "cannot be set for an Ephemeral Container")


# Fields that an ephemeral container has and may not set, in the order of the struct.
_NOT_EPHEMERAL = (
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "restartPolicyRules",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
)


def _check_container(container: Object, claims: list[str], path: Path, checks: Checks) -> None:
    """What all kinds of containers have in common."""
    name = container.get("name", "")
    if name:
        checks.problems(formats.dns_label(name), (*path, "name"))
    else:
        checks.report(REQUIRED, (*path, "name"))
    if not container.get("image"):
        checks.report(REQUIRED, (*path, "image"))
    _check_choice(container, "terminationMessagePolicy", MESSAGE_POLICIES, path, checks)
    _check_ports(items_of(container, "ports"), (*path, "ports"), checks)
    _check_choice(container, "imagePullPolicy", PULL_POLICIES, path, checks)
    check_container_resources(container.get("resources", {}), claims, (*path, "resources"), checks)


def _check_container_restart(container: Object, path: Path, checks: Checks) -> None:
    policy = container.get("restartPolicy")
    if policy is None:
        if container.get("restartPolicyRules"):
            detail = "must specify restartPolicy when restart rules are used"
            checks.report(REQUIRED, (*path, "restartPolicy"), "", detail)
    elif policy not in CONTAINER_RESTART_POLICIES:
        checks.errors.append(not_supported((*path, "restartPolicy"), policy, CONTAINER_RESTART_POLICIES))


def _check_init_restart(container: Object, path: Path, checks: Checks) -> None:
    if RESTART_RULES in checks.profile.gates:
        _check_container_restart(container, path, checks)
    elif container.get("restartPolicy", ALWAYS) != ALWAYS:
        checks.errors.append(not_supported((*path, "restartPolicy"), container["restartPolicy"], (ALWAYS,)))


def check_image_spaces(container: Object, path: Path, checks: Checks) -> None:
    """The name of an image has no spaces around it."""
    image = container.get("image", "")
    if image != image.strip():
        checks.invalid((*path, "image"), image, "must not have leading or trailing whitespace")


def _check_ports(ports: list[Object], path: Path, checks: Checks) -> None:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        at: Path = (*path, index)
        name = port.get("name", "")
        problems = _port_name_problems(name) if name else []
        for problem in problems:
            checks.invalid((*at, "name"), name, problem)
        if name in seen:
            checks.report(DUPLICATE, (*at, "name"), name)
        elif name and not problems:
            seen.add(name)
        if "containerPort" not in port:
            checks.report(REQUIRED, (*at, "containerPort"))
        for field in ("containerPort", "hostPort"):
            if port.get(field) and port[field] not in PORTS:
                checks.invalid((*at, field), port[field], "must be between 1 and 65535, inclusive")
        _check_choice(port, "protocol", PROTOCOLS, at, checks)


_PORT_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def _port_name_problems(name: str) -> list[str]:
    problems = []
    if len(name.encode()) > 15:
        problems.append("must be no more than 15 characters")
    if set(name) - _PORT_NAME_CHARACTERS:
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= character <= "z" for character in name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name[0] == "-" or name[-1] == "-":
        problems.append("must not begin or end with a hyphen")
    return problems


def _check_host_ports(containers: list[Object], path: Path, checks: Checks) -> None:
    """A port of the host, with its address and protocol, is used once."""
    seen: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(items_of(container, "ports")):
            if not port.get("hostPort"):
                continue
            key = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if key in seen:
                checks.report(DUPLICATE, (*path, index, "ports", number, "hostPort"), key)
            seen.add(key)


def _check_host_network(containers: list[Object], path: Path, checks: Checks, *, in_pod: bool) -> None:
    """In the network of the host, a port has one number; a template may leave that to the pod's defaults."""
    for index, container in enumerate(containers):
        for number, port in enumerate(items_of(container, "ports")):
            host = port.get("hostPort", 0)
            if (in_pod or host) and host != port.get("containerPort", 0):
                detail = "must match `containerPort` when `hostNetwork` is true"
                checks.invalid((*path, index, "ports", number, "hostPort"), host, detail)


# --- where and how the pod runs ----------------------------------------------------------------------------------


def _check_gates(gates: list[Object], path: Path, checks: Checks) -> None:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        checks.problems(names.label_key(name), (*path, index))
        if name in seen:
            checks.report(DUPLICATE, (*path, index), name)
        seen.add(name)


def _check_placement(spec: Object, path: Path, checks: Checks) -> None:
    _check_name(spec, "serviceAccountName", path, checks)
    _check_name(spec, "nodeName", path, checks)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and deadline not in DEADLINES:
        detail = f"must be between {DEADLINES[0]} and {DEADLINES[-1]}, inclusive"
        checks.invalid((*path, "activeDeadlineSeconds"), deadline, detail)
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            checks.problems(formats.dns_label(spec[field]), (*path, field))
    _check_name(spec, "priorityClassName", path, checks)
    if "runtimeClassName" in spec:
        checks.problems(formats.dns_subdomain(spec["runtimeClassName"]), (*path, "runtimeClassName"))
    if "preemptionPolicy" in spec:
        _check_choice(spec, "preemptionPolicy", PREEMPTION_POLICIES, path, checks)
    overhead = spec.get("overhead")
    if overhead is not None:
        check_container_resources({"limits": overhead}, [], (*path, "overhead"), checks)


def _check_name(spec: Object, field: str, path: Path, checks: Checks) -> None:
    if spec.get(field):
        checks.problems(formats.dns_subdomain(spec[field]), (*path, field))


def _check_choice(obj: Object, field: str, choices: tuple[str, ...], path: Path, checks: Checks) -> None:
    value = obj.get(field, "")
    if not value:
        checks.report(REQUIRED, (*path, field))
    elif value not in choices:
        checks.errors.append(not_supported((*path, field), value, choices))
