"""The rules of the kinds of classic DRA."""

from __future__ import annotations

from collections.abc import Sequence

from resourceapi import limits, names
from resourceapi.classic_kinds import (
    CLAIM,
    CLAIM_TEMPLATE,
    POD_SCHEDULING_CONTEXT,
    RESOURCE_CLASS,
    RESOURCE_SLICE,
)
from resourceapi.equality import equal
from resourceapi.field_errors import DUPLICATE, FORBIDDEN, REQUIRED, TOO_LONG, Path, not_supported
from resourceapi.model.v1alpha2 import ALLOCATION_MODES
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.classic.kind_rules import (
    ClassicKindRules,
    ResourceClaimParametersRules,
    ResourceClassParametersRules,
    check_class_parameters_reference,
    check_driver_name,
    check_instances,
    check_length,
    check_node_list,
    check_node_name,
    check_parameters_reference,
    check_result,
    model_of,
)
from validation.object_meta import check_metadata_update, check_template_metadata
from validation.selectors import check_node_selector


def check_structured_handle(handle: Object, path: Path, checks: Checks) -> None:
    """The node that the resources are on, and which they are; there may be none."""
    if handle.get("nodeName"):
        check_node_name(handle["nodeName"], (*path, "nodeName"), checks)
    for index, result in enumerate(handle.get("results") or ()):
        model = model_of(result, (*path, "results", index), checks)
        if model is not None:
            check_result(model, (*path, "results", index, "namedResources"), checks)


STATUS: Path = ("status",)
ALLOCATION: Path = (*STATUS, "allocation")
RESERVED_FOR: Path = (*STATUS, "reservedFor")
DEALLOCATION: Path = (*STATUS, "deallocationRequested")


def check_claim_status(claim: Object, old: Object, checks: Checks) -> None:
    """All rules are checked, whichever are broken."""
    status, before = claim.get("status", EMPTY), old.get("status", EMPTY)
    allocation, allocated = status.get("allocation"), before.get("allocation")
    _check_driver(status, checks)
    if allocation is not None:
        _check_allocation(allocation, checks)
    _check_consumers(status.get("reservedFor") or (), checks)
    _check_reserving(status, before, "deletionTimestamp" in claim.get("metadata", EMPTY), checks)
    if allocation is not None and allocated is not None and not equal(allocation, allocated):
        checks.invalid(ALLOCATION, checks.internal("AllocationResult", allocation), "field is immutable")
    _check_deallocation(status, before, checks)


def _check_driver(status: Object, checks: Checks) -> None:
    """The driver may change at any time, but who allocates a claim has a name."""
    path = (*STATUS, "driverName")
    if status.get("driverName"):
        check_driver_name(status["driverName"], path, checks)
    elif "allocation" in status:
        checks.report(REQUIRED, path, "", "must be specified when `allocation` is set")


def _check_allocation(allocation: Object, checks: Checks) -> None:
    handles, path = allocation.get("resourceHandles") or (), (*ALLOCATION, "resourceHandles")
    for index, handle in enumerate(handles):
        _check_handle(handle, (*path, index), checks)
    check_length(handles, limits.CLASSIC_RESOURCE_HANDLES, path, checks)
    if "availableOnNodes" in allocation:
        check_node_selector(allocation["availableOnNodes"], (*ALLOCATION, "availableOnNodes"), checks)


def _check_handle(handle: Object, path: Path, checks: Checks) -> None:
    """Data for a driver, which need not be the claim's: of its own making, or what structured parameters gave it."""
    check_driver_name(handle.get("driverName", ""), (*path, "driverName"), checks)
    data = handle.get("data", "")
    if names.byte_length(data) > limits.CLASSIC_RESOURCE_HANDLE_DATA_BYTES:
        detail = f"may not be longer than {limits.CLASSIC_RESOURCE_HANDLE_DATA_BYTES}"
        checks.report(TOO_LONG, (*path, "data"), "", detail)
    if "structuredData" in handle:
        check_structured_handle(handle["structuredData"], (*path, "structuredData"), checks)
        if data:
            checks.invalid(path, None, "data and structuredData are mutually exclusive")


def _check_consumers(consumers: Sequence[Object], checks: Checks) -> None:
    """Consumers are told apart by their uid; one whose uid is repeated is reported for nothing else."""
    seen = set()
    for index, consumer in enumerate(consumers):
        path, uid = (*RESERVED_FOR, index), consumer.get("uid", "")
        if uid in seen:
            checks.report(DUPLICATE, (*path, "uid"), uid)
            continue
        for name in ("resource", "name", "uid"):
            if not consumer.get(name):
                checks.report(REQUIRED, (*path, name))
        seen.add(uid)
    check_length(consumers, limits.CLASSIC_RESERVED_FOR, RESERVED_FOR, checks)


def _check_reserving(status: Object, before: Object, deleted: bool, checks: Checks) -> None:
    """Only an allocated claim can be reserved, by several only if it is shareable; one that is going away not anew."""
    consumers, allocation = status.get("reservedFor") or (), status.get("allocation")
    if not consumers:
        return
    if allocation is None:
        checks.report(FORBIDDEN, RESERVED_FOR, "", "may not be specified when `allocated` is not set")
        return
    if len(consumers) > 1 and not allocation.get("shareable"):
        checks.report(FORBIDDEN, RESERVED_FOR, "", "may not be reserved more than once")
    going = deleted or status.get("deallocationRequested")
    if going and any(consumer not in (before.get("reservedFor") or ()) for consumer in consumers):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        checks.report(FORBIDDEN, RESERVED_FOR, "", detail)


def _check_deallocation(status: Object, before: Object, checks: Checks) -> None:
    """Deallocation is requested when nobody uses the claim, and then it is carried out."""
    allocated = "allocation" in status
    requested, was_requested = status.get("deallocationRequested"), before.get("deallocationRequested")
    if requested and not was_requested and status.get("reservedFor"):
        checks.report(
            FORBIDDEN, DEALLOCATION, "", "deallocation cannot be requested while `reservedFor` is set"
        )
    if requested and not allocated:
        checks.report(FORBIDDEN, STATUS, "", "`allocation` must be set when `deallocationRequested` is set")
    if was_requested and not requested and allocated:
        checks.report(FORBIDDEN, DEALLOCATION, "", "may not be cleared when `allocation` is set")


class ClaimRules(ClassicKindRules):
    """ResourceClaim: its spec never changes."""

    kind = CLAIM
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """What is claimed."""
        _check_claim_spec(obj.get("spec", EMPTY), ("spec",), checks)

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec stays as it is."""
        _check_same_spec("ResourceClaimSpec", obj, old, checks)

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """A changed status of a stored claim."""
        check_claim_status(obj, old, checks)


class ClaimTemplateRules(ClassicKindRules):
    """ResourceClaimTemplate: its spec never changes."""

    kind = CLAIM_TEMPLATE
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """Everything that a claim made from the template must satisfy."""
        spec = obj.get("spec", EMPTY)
        check_template_metadata(spec.get("metadata", EMPTY), ("spec", "metadata"), checks)
        _check_claim_spec(spec.get("spec", EMPTY), ("spec", "spec"), checks)

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """The spec stays as it is."""
        _check_same_spec("ResourceClaimTemplateSpec", obj, old, checks)


def _check_claim_spec(spec: Object, path: Path, checks: Checks) -> None:
    """A class by its name, whose format is all that is checked of it, perhaps parameters, and when to allocate."""
    name = spec.get("resourceClassName", "")
    checks.problems(formats.dns_subdomain(name), (*path, "resourceClassName"))
    check_parameters_reference(spec.get("parametersRef"), (*path, "parametersRef"), checks)
    mode = spec.get("allocationMode", "")
    if mode not in ALLOCATION_MODES:
        checks.errors.append(not_supported((*path, "allocationMode"), mode, ALLOCATION_MODES))


def _check_same_spec(struct: str, obj: Object, old: Object, checks: Checks) -> None:
    spec = obj.get("spec", EMPTY)
    if not equal(spec, old.get("spec", EMPTY)):
        checks.invalid(("spec",), checks.internal(struct, spec), "field is immutable")


class ResourceClassRules(ClassicKindRules):
    """ResourceClass: all of it may change."""

    kind = RESOURCE_CLASS
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """A driver, perhaps with parameters and the nodes that it can serve."""
        check_driver_name(obj.get("driverName", ""), ("driverName",), checks)
        check_class_parameters_reference(obj.get("parametersRef"), ("parametersRef",), checks)
        if "suitableNodes" in obj:
            check_node_selector(obj["suitableNodes"], ("suitableNodes",), checks)


class PodSchedulingContextRules(ClassicKindRules):
    """PodSchedulingContext: its spec may change; the selected node is not looked at."""

    kind = POD_SCHEDULING_CONTEXT
    checked_twice = True

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """The nodes that the scheduler asks about."""
        check_node_list(obj.get("spec", EMPTY).get("potentialNodes"), ("spec", "potentialNodes"), checks)

    def check_status(self, obj: Object, old: Object, checks: Checks) -> None:
        """The nodes that drivers rule out, once for each claim; a claim's name is not checked."""
        seen = set()
        for index, claim in enumerate(obj.get("status", EMPTY).get("resourceClaims") or ()):
            # not the field's name, but this is where the server reports the errors
            at = ("status", "claims", index)
            check_node_list(claim.get("unsuitableNodes"), (*at, "unsuitableNodes"), checks)
            name = claim.get("name", "")
            if name in seen:
                checks.report(DUPLICATE, at, name)
            seen.add(name)


class ResourceSliceRules(ClassicKindRules):
    """ResourceSlice: its resources may change, its node and its driver may not."""

    kind = RESOURCE_SLICE

    def check_fields(self, obj: Object, checks: Checks) -> None:
        """The resources of a driver, perhaps on a node."""
        if obj.get("nodeName"):
            check_node_name(obj["nodeName"], ("nodeName",), checks)
        check_driver_name(obj.get("driverName", ""), ("driverName",), checks)
        resources = model_of(obj, (), checks)
        if resources is not None:
            check_instances(resources, ("namedResources",), checks)

    def check_change(self, obj: Object, old: Object, checks: Checks) -> None:
        """Node and driver stay, also where there was none."""
        for name in ("nodeName", "driverName"):
            if obj.get(name, "") != old.get(name, ""):
                checks.invalid((name,), obj.get(name, ""), "field is immutable")

    def _check_update(self, obj: Object, old: Object, checks: Checks) -> None:
        check_metadata_update(obj, old, checks)
        self._check_new(obj, checks)
        self.check_change(obj, old, checks)


RULES: dict[str, ClassicKindRules] = {
    rules.kind.name: rules
    for rules in (
        ResourceClassRules(),
        ClaimRules(),
        ClaimTemplateRules(),
        PodSchedulingContextRules(),
        ResourceClaimParametersRules(),
        ResourceClassParametersRules(),
        ResourceSliceRules(),
    )
}
