"""What the status of a pod says of the node's resources that the devices of its claims take (KEP-5517)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from resourceapi.encoding import go_json
from resourceapi.field_errors import DUPLICATE, REQUIRED, Path, ResourceName, Verbatim
from resourceapi.model import workloads
from resourceapi.objects import Object
from validation import formats
from validation.checks import Checks
from validation.pod_defaults import items_of

FEATURE = "DRANodeAllocatableResources"
STATUSES = "nodeAllocatableResourceClaimStatuses"
#: The release whose fields these are; 1.36 had others.
SINCE = 37


def check_node_resources(status: Object, spec: Object, checks: Checks) -> None:
    """Each entry is about a claim of the pod; first what is checked by hand, then what is declared."""
    if FEATURE not in checks.gates or checks.minor < SINCE:
        return
    entries, at = items_of(status, STATUSES), ("status", STATUSES)
    named = (*items_of(spec, "resourceClaims"), *items_of(status, "resourceClaimStatuses"))
    claims = {each["resourceClaimName"] for each in named if "resourceClaimName" in each}
    for index, each in enumerate(entries):
        if name := each.get("resourceClaimName"):
            if name not in claims:
                checks.invalid((*at, index, "resourceClaimName"), name, "no mapping found in pod reference")
            _each(items_of(each, "mapping"), (*at, index, "mapping"), _check_mapping, checks)
            _each(items_of(each, "overhead"), (*at, index, "overhead"), _check_overhead, checks)
    _check_map(entries, at, "NodeAllocatableResourceClaimStatus", ("resourceClaimName",), checks)
    for index, each in enumerate(entries):
        checks.unique(each.get("containers") or (), (*at, index, "containers"))
        struct, mapping = "NodeAllocatableMappedResources", items_of(each, "mapping")
        _check_map(mapping, (*at, index, "mapping"), struct, ("name", "quantity"), checks)
        struct, overhead = "NodeAllocatableOverheadResources", items_of(each, "overhead")
        _check_map(overhead, (*at, index, "overhead"), struct, ("name",), checks)


def _each(
    entries: Sequence[Object], path: Path, check: Callable[[Object, Path, Checks], None], checks: Checks
) -> None:
    for index, each in enumerate(entries):
        name = each.get("name", "")
        if not formats.is_node_allocatable(name):
            checks.invalid((*path, index, "name"), ResourceName(name), formats.NOT_ALLOCATABLE)
        check(each, (*path, index), checks)


def _check_mapping(mapping: Object, path: Path, checks: Checks) -> None:
    _check_amount(mapping, "quantity", path, checks)


def _check_overhead(overhead: Object, path: Path, checks: Checks) -> None:
    if "perPod" not in overhead and "perContainer" not in overhead:
        checks.invalid(path, "", "at least one of perPod or perContainer must be set")
    for name in ("perPod", "perContainer"):
        _check_amount(overhead, name, path, checks)


def _check_amount(entry: Object, name: str, path: Path, checks: Checks) -> None:
    if name in entry and entry[name].sign() < 0:
        checks.invalid((*path, name), str(entry[name]), formats.NON_NEGATIVE)


def _check_map(
    entries: Sequence[Object], path: Path, struct: str, required: Sequence[str], checks: Checks
) -> None:
    """A list whose entries have a key of their own, the first of their required fields."""
    seen: set[str] = set()
    for index, each in enumerate(entries):
        key = each.get(required[0], "")
        if key in seen:
            shown = go_json(workloads.schema(checks.minor), struct, each)
            checks.report(DUPLICATE, (*path, index), Verbatim(shown))
        seen.add(key)
    for index, each in enumerate(entries):
        for name in required:
            if not each.get(name) and not (name == "quantity" and name in each):
                checks.report(REQUIRED, (*path, index, name))
