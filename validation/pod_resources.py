"""What a container, or a pod as a whole, asks for: ``resources.requests``, ``resources.limits`` and ``resources.claims``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resourceapi import names, quantity
from resourceapi.field_errors import (
    DUPLICATE,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    REQUIRED,
    Key,
    Path,
    ResourceName,
    not_supported,
)
from resourceapi.measured import NEWEST
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import Amounts, Quantity, added, amounts_of
from resourceapi.releases import Profile
from validation import formats
from validation.checks import Checks

COMPUTE = frozenset(("cpu", "memory"))
HUGE_PAGES = "hugepages-"
REQUESTS_PREFIX = "requests."
CONTAINER_RESOURCES = COMPUTE | {"ephemeral-storage"}
# Resources that are counted in whole numbers, in quotas; extended resources are too.
COUNTED = frozenset(
    (
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    )
)
STANDARD_RESOURCES = (
    CONTAINER_RESOURCES
    | COUNTED
    | {"storage", "requests.storage"}
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in CONTAINER_RESOURCES}
)
POD_RESOURCES = ("cpu", HUGE_PAGES, "memory")
POD_HUGE_PAGES_SINCE = 33


def check_container_resources(resources: Object, claims: list[str], path: Path, checks: Checks) -> None:
    """``claims`` are the names of the pod's claims, sorted."""
    _check_amounts(resources, path, checks, for_pod=False)
    _check_claims(resources.get("claims") or [], claims, (*path, "claims"), checks)


def check_pod_resources(spec: Object, claims: list[str], path: Path, checks: Checks) -> None:
    """The resources of a pod as a whole, and whether those of its containers fit in."""
    resources, path = spec["resources"], (*path, "resources")
    if "claims" in resources:
        detail = "claims may not be set for Resources at pod-level"
        checks.report(FORBIDDEN, (*path, "claims"), "", detail)
    _check_amounts(resources, path, checks, for_pod=True)
    _check_claims(resources.get("claims") or [], claims, (*path, "claims"), checks)
    _check_sums(spec, path, checks)


def is_native(name: str) -> bool:
    """Whether Kubernetes itself defines the resource."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether somebody else defines the resource: counted in whole numbers, requests must equal limits."""
    return (
        not is_native(name)
        and not name.startswith(REQUESTS_PREFIX)
        and not names.label_key(REQUESTS_PREFIX + name)
    )


def is_overcommitable(name: str) -> bool:
    """Whether a limit may be higher than the request."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def for_pods(name: str, minor: int = NEWEST) -> bool:
    """Whether the resource can be asked for by a pod as a whole in release 1.``minor``."""
    return name in COMPUTE or (minor >= POD_HUGE_PAGES_SINCE and name.startswith(HUGE_PAGES))


# --- requests and limits -----------------------------------------------------------------------------------------


def _check_amounts(resources: Object, path: Path, checks: Checks, *, for_pod: bool) -> None:
    limits: Amounts = resources.get("limits") or {}
    requests: Amounts = resources.get("requests") or {}
    for name, amount in limits.items():
        _check_amount(name, amount, (*path, "limits", Key(name)), checks, for_pod=for_pod)
        _check_pages(name, amount, (*path, "limits", Key(name)), checks)
    for name, amount in requests.items():
        at = (*path, "requests", Key(name))
        _check_amount(name, amount, at, checks, for_pod=for_pod)
        _check_against_limit(name, amount, limits.get(name), path, checks)
        _check_pages(name, amount, at, checks)
    used = limits.keys() | requests.keys()
    if not used & COMPUTE and any(name.startswith(HUGE_PAGES) for name in used):
        checks.report(FORBIDDEN, path, "", "HugePages require cpu or memory")


def _check_amount(name: str, amount: Quantity, path: Path, checks: Checks, *, for_pod: bool) -> None:
    (_check_pod_resource_name if for_pod else _check_container_resource_name)(name, path, checks)
    if amount.sign() < 0:
        checks.invalid(path, str(amount), formats.NOT_NEGATIVE)
    if (name in COUNTED or is_extended(name)) and amount.milli_value() % 1000:
        checks.invalid(path, checks.amount(amount), "must be an integer")


def check_resource_name(name: str, path: Path, checks: Checks) -> bool:
    """Check the name of a resource.

    :returns: whether to check its amount.
    """
    problems = [
        names.FormatError(kind, ResourceName(name), detail) for kind, _, detail in names.label_key(name)
    ]
    checks.problems(problems, path)
    if problems:
        return False
    known = name in STANDARD_RESOURCES or name.removeprefix(REQUESTS_PREFIX).startswith(HUGE_PAGES)
    if "/" not in name and not known:
        checks.invalid(path, ResourceName(name), "must be a standard resource type or fully qualified")
        return False
    return True


def _check_container_resource_name(name: str, path: Path, checks: Checks) -> None:
    check_resource_name(name, path, checks)
    if "/" not in name:
        if name not in CONTAINER_RESOURCES and not name.startswith(HUGE_PAGES):
            checks.invalid(path, ResourceName(name), "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        checks.invalid(path, ResourceName(name), "doesn't follow extended resource name standard")


def _check_pod_resource_name(name: str, path: Path, checks: Checks) -> None:
    if check_resource_name(name, path, checks) and not for_pods(name, checks.minor):
        known = [each for each in POD_RESOURCES if for_pods(each, checks.minor)]
        checks.errors.append(not_supported(path, ResourceName(name), known))


def _check_pages(name: str, amount: Quantity, path: Path, checks: Checks) -> None:
    """Huge pages are asked for in multiples of their size, which is in the resource's name."""
    if not name.startswith(HUGE_PAGES):
        return
    try:
        size = quantity.parse(name.removeprefix(HUGE_PAGES))
    except quantity.QuantityError:
        divisible = False
    else:
        divisible = size.sign() > 0 and not size.milli_value() % 1000 and not amount.value() % size.value()
    if not divisible:
        checks.invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def _check_against_limit(
    name: str, amount: Quantity, limit: Quantity | None, path: Path, checks: Checks
) -> None:
    if limit is None:
        if not is_overcommitable(name):
            detail = "Limit must be set for non overcommitable resources"
            checks.report(REQUIRED, (*path, "limits"), "", detail)
        return
    difference = amount.cmp(limit)
    if difference and not is_overcommitable(name):
        checks.invalid((*path, "requests"), str(amount), f"must be equal to {name} limit of {limit}")
    elif difference > 0:
        detail = f"must be less than or equal to {name} limit of {limit}"
        checks.invalid((*path, "requests"), str(amount), detail)


# --- claims ------------------------------------------------------------------------------------------------------


def _check_claims(entries: list[Object], claims: list[str], path: Path, checks: Checks) -> None:
    """Which of the pod's claims, or (not in 1.30) which requests in them, a container uses."""
    used: set[str] = set()
    parts: dict[str, int] = {}  # of each claim, how many of its requests are used
    for index, entry in enumerate(entries):
        at: Path = (*path, index)
        name = entry.get("name", "")
        if not name:
            checks.report(REQUIRED, at)
            continue
        if name in used:
            checks.report(DUPLICATE, at, name)
        else:
            used.add(_check_claim_use(name, entry.get("request", ""), used, parts, at, checks))
        if name not in claims:
            checks.report(NOT_FOUND, at, name, _unknown_claim(claims))


def _check_claim_use(
    name: str, request: str, used: set[str], parts: dict[str, int], path: Path, checks: Checks
) -> str:
    """The use of a claim, or of one request in it; returns what is used then."""
    if not request:
        # The whole claim overlaps with every request of it that is used already.
        for _ in range(parts.get(name, 0)):
            checks.report(DUPLICATE, path, name)
        return name
    checks.problems(formats.dns_label(request), (*path, "request"))
    part = f"{name}/{request}"
    if part in used:
        checks.report(DUPLICATE, path, part)
    else:
        claim = part.partition("/")[0]
        parts[claim] = parts.get(claim, 0) + 1
    return part


def _unknown_claim(claims: list[str]) -> str:
    detail = "must be one of the names in pod.spec.resourceClaims"
    return f"{detail}: {', '.join(claims)}" if claims else f"{detail} which is empty"


# --- a pod as a whole --------------------------------------------------------------------------------------------


def aggregate(spec: Object, kind: str) -> Amounts:
    """What all containers together need of ``requests`` or ``limits`` at the same time.

    Init containers run one by one before the others, unless they are restarted always and so keep running.
    """
    total: Amounts = {}
    for container in spec.get("containers") or []:
        _add(total, _amounts(container, kind))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or []:
        amounts = _amounts(container, kind)
        if container.get("restartPolicy") == "Always":
            _add(total, amounts)
            _add(sidecars, amounts)
            now = sidecars
        else:
            now = dict(sidecars)
            _add(now, amounts)
        _raise_to(peak, now)
    _raise_to(total, peak)
    return total


def _amounts(container: Object, kind: str) -> Amounts:
    amounts: Amounts = container.get("resources", {}).get(kind) or {}
    return amounts


def _add(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        total[name] = total[name].add(amount) if name in total else amount


def _raise_to(total: Amounts, amounts: Amounts) -> None:
    for name, amount in amounts.items():
        if name not in total or amount.cmp(total[name]) > 0:
            total[name] = amount


def _check_sums(spec: Object, path: Path, checks: Checks) -> None:
    requests: Amounts = spec["resources"].get("requests") or {}
    limits: Amounts = spec["resources"].get("limits") or {}
    for kind, amounts in (("requests", requests), ("limits", limits)):
        for name, needed in aggregate(spec, kind).items():
            if kind == "limits" and (checks.minor < 34 or not name.startswith(HUGE_PAGES)):
                continue
            asked = amounts.get(name, None if checks.minor >= 34 else quantity.parse("0"))
            if asked is not None and needed.cmp(asked) > 0:
                detail = f"must be greater than or equal to aggregate container {kind} of {needed}"
                checks.invalid((*path, kind, Key(name)), str(asked), detail)
    for index, container in enumerate(spec.get("containers") or []):
        for name, limit in _amounts(container, "limits").items():
            if name in limits and limit.cmp(limits[name]) > 0:
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                checks.report(INVALID, (*path, "containers", index, Key(name), "limits"), str(limit), detail)


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
    found = _requests_of_containers(spec, assumed)
    if "PodLevelResources" in profile.gates:
        requests, limits = container_amounts(spec)
        for name in filter(for_pods, limits):
            found.setdefault(name, limits[name])
        found.update({name: amount for name, amount in requests.items() if for_pods(name)})
    return added(found, amounts_of(spec.get("overhead")))


def room_of(spec: Object, profile: Profile) -> Amounts:
    """What the containers of a pod leave of the resources that the pod as a whole requests; parameters as of :func:`requests_of`."""
    if "PodLevelResources" not in profile.gates:
        return {}
    containers = _requests_of_containers(spec)
    requests, limits = container_amounts(spec)
    whole = {**limits, **{name: containers[name] for name in limits if name in containers}, **requests}
    return {
        name: amount.sub(containers[name]) if name in containers else amount
        for name, amount in whole.items()
        if for_pods(name)
    }


def _requests_of_containers(spec: Object, assumed: Mapping[str, Quantity] = EMPTY) -> Amounts:
    containers = {
        name: [
            {**each, "resources": {"requests": {**assumed, **container_requests(each)}}}
            for each in spec.get(name) or ()
        ]
        for name in ("containers", "initContainers")
    }
    return aggregate(containers, "requests")


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
