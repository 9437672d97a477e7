"""What must hold for the status of a ResourceClaim: allocation, reservations and what drivers report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from resourceapi import limits, names
from resourceapi.addresses import former_interface_address, interface_address, same_address
from resourceapi.equality import equal
from resourceapi.field_errors import DUPLICATE, FORBIDDEN, INVALID, REQUIRED, Key, Path, Verbatim, too_many
from resourceapi.go_text import json_string
from resourceapi.model import claims as model
from resourceapi.objects import EMPTY, Object
from validation import formats
from validation.checks import Checks
from validation.conditions import check_conditions
from validation.configuration import check_configuration, check_declared_driver_name, check_raw
from validation.device_claims import (
    RequestNames,
    check_admin_namespace,
    check_request_reference,
    check_request_references,
)
from validation.devices import check_binding_conditions, check_skipped_operations
from validation.object_meta import check_metadata_update
from validation.selectors import check_node_selector
from validation.taint_rules import check_toleration

STATUS: Path = ("status",)
CANONICAL_ADDRESSES_SINCE = 33
TOLERATIONS_CHECKED_SINCE = 37  # in results
DeviceID = tuple[str, str, str, str]
"""Driver, pool, device and, of a shared device, the share (else empty)."""


def device_id(entry: Object) -> DeviceID:
    """Which device (or share of one) a result or a device status is about."""
    return (entry.get("driver", ""), entry.get("pool", ""), entry.get("device", ""), entry.get("shareID", ""))


def allocated_devices(status: Object) -> set[DeviceID]:
    """The devices that a status has allocated."""
    results = status.get("allocation", EMPTY).get("devices", EMPTY).get("results")
    return {device_id(result) for result in results or ()}


def check_claim_status(
    claim: Object, old: Object, checks: Checks, namespace_labels: Mapping[str, str]
) -> None:
    """A changed status of a stored claim."""
    status, before = claim.get("status", EMPTY), old.get("status", EMPTY)
    _check_admin_access(status, before, checks, namespace_labels)
    check_metadata_update(claim, old, checks)
    references = RequestNames(claim.get("spec", EMPTY).get("devices", EMPTY).get("requests"))
    _check_reservations(status.get("reservedFor"), checks)
    _check_device_statuses(status, checks)
    _check_reserving(status, before, "deletionTimestamp" in claim.get("metadata", EMPTY), checks)
    allocation, allocated = status.get("allocation"), before.get("allocation")
    if allocation is None:
        return
    path = (*STATUS, "allocation")
    if allocated is None:
        _check_allocation(allocation, path, checks, references)
    elif not equal(allocation, allocated):
        shown = checks.internal("AllocationResult", allocation)
        checks.report(INVALID, path, shown, "field is immutable", origin="update", covered=True)


def _check_admin_access(
    status: Object, before: Object, checks: Checks, namespace_labels: Mapping[str, str]
) -> None:
    """A result with admin access needs the label on the namespace, unless one had it already."""
    granted = before.get("allocation", EMPTY).get("devices", EMPTY).get("results") or ()
    if any(result.get("adminAccess") for result in granted):
        return
    results = status.get("allocation", EMPTY).get("devices", EMPTY).get("results") or ()
    for index, result in enumerate(results):
        if result.get("adminAccess"):
            path = (*STATUS, "allocation", "devices", "results", index, "adminAccess")
            check_admin_namespace(path, checks, namespace_labels)
            return


def _check_reservations(reserved: list[Object] | None, checks: Checks) -> None:
    field, path = model.ResourceClaimStatus["reservedFor"], (*STATUS, "reservedFor")

    def check(consumer: Object, at: Path) -> None:
        for name in ("resource", "name", "uid"):
            if not consumer.get(name):
                checks.report(REQUIRED, (*at, name))

    checks.entries(field, reserved, path, check)


def _check_reserving(status: Object, before: Object, deleted: bool, checks: Checks) -> None:
    """Only an allocated claim can be reserved, and one that is going away not for anybody new."""
    reserved, path = status.get("reservedFor") or [], (*STATUS, "reservedFor")
    if not reserved:
        return
    if "allocation" not in status:
        checks.report(FORBIDDEN, path, "", "may not be specified when `allocated` is not set")
    elif deleted and not _consumers(reserved) <= _consumers(before.get("reservedFor") or ()):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        checks.report(FORBIDDEN, path, "", detail)


def _consumers(reserved: Iterable[Object]) -> set[frozenset[tuple[str, str]]]:
    """Consumers as values of a set: a review from anybody may have a hundred thousand."""
    return {frozenset(consumer.items()) for consumer in reserved}


def drop_deallocated(claim: Object, old: Object) -> None:
    """Remove reports on devices that were allocated and no longer are."""
    status, before = claim.get("status", EMPTY), old.get("status", EMPTY)
    statuses = status.get("devices")
    if not statuses:
        return
    gone = allocated_devices(before) - allocated_devices(status)
    kept = [device for device in statuses if device_id(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        del status["devices"]


# --- allocation -------------------------------------------------------------------------------------------------


def _check_allocation(allocation: Object, path: Path, checks: Checks, references: RequestNames) -> None:
    devices, at = allocation.get("devices", EMPTY), (*path, "devices")
    fields = model.DeviceAllocationResult
    for name, check in (("results", _check_result), ("config", _check_allocated_config)):
        checks.entries(
            fields[name],
            devices.get(name),
            (*at, name),
            lambda entry, at, check=check: check(entry, at, checks, references),  # type: ignore[misc]
        )
    if "nodeSelector" in allocation:
        check_node_selector(allocation["nodeSelector"], (*path, "nodeSelector"), checks)


def _check_result(result: Object, path: Path, checks: Checks, references: RequestNames) -> None:
    check_request_reference(result.get("request", ""), (*path, "request"), checks, references)
    check_declared_driver_name(result.get("driver", ""), (*path, "driver"), checks)
    pool = result.get("pool", "")
    checks.problems(
        formats.pool_name(pool),
        (*path, "pool"),
        origin="format=k8s-resource-pool-name" if pool else "",
        covered=True,
    )
    checks.problems(formats.dns_label(result.get("device", "")), (*path, "device"))
    check_binding_conditions(result, path, checks)
    if checks.minor >= TOLERATIONS_CHECKED_SINCE:
        checks.each(result.get("tolerations"), (*path, "tolerations"), check_toleration)
    if "shareID" in result:
        checks.declared(model.SHARE_ID, result["shareID"], (*path, "shareID"))
    check_skipped_operations(result.get("skipNodeOperations"), (*path, "skipNodeOperations"), checks)
    _check_group_snapshot(result.get("compatibilityGroups") or EMPTY, (*path, "compatibilityGroups"), checks)


def _check_group_snapshot(snapshot: Object, path: Path, checks: Checks) -> None:
    """The groups that the device declared when it was allocated, by counter set: as limited as in a slice (KEP-5963)."""
    checks.at_most(limits.COUNTER_SETS_PER_DEVICE, snapshot, path)
    for counter_set, groups in snapshot.items():
        checks.problems(names.short_name(counter_set), path)
        at = (*path, Key(counter_set))
        if checks.at_most(limits.COMPATIBILITY_GROUPS, groups, at):
            for index, group in enumerate(groups):
                checks.problems(names.short_name(group), (*at, index))
            checks.unique(groups, at)


def _check_allocated_config(config: Object, path: Path, checks: Checks, references: RequestNames) -> None:
    fields = model.DeviceAllocationConfiguration
    checks.declared(fields["source"], config.get("source", ""), (*path, "source"))
    check_request_references(config.get("requests"), (*path, "requests"), checks, references)
    check_configuration(config, path, checks)


# --- what drivers report ----------------------------------------------------------------------------------------


def _check_device_statuses(status: Object, checks: Checks) -> None:
    """Drivers report on devices that are allocated, on each of them once."""
    statuses, path = status.get("devices"), (*STATUS, "devices")
    if not statuses:
        return
    allocated = allocated_devices(status)
    for index, device in enumerate(statuses):
        _check_device_status(device, (*path, index), checks, allocated)
    seen = set()
    for index, device in enumerate(statuses):
        key = device_id(device)
        if key in seen:
            at = (*path, index) if checks.minor >= 35 else (*path, index, "deviceID")
            checks.report(DUPLICATE, at, _shown(key, checks), covered=True)
        seen.add(key)


def _check_device_status(device: Object, path: Path, checks: Checks, allocated: set[DeviceID]) -> None:
    checks.problems(names.driver_name(device.get("driver", ""), checks.wording), (*path, "driver"))
    checks.problems(formats.pool_name(device.get("pool", "")), (*path, "pool"))
    checks.problems(formats.dns_label(device.get("device", "")), (*path, "device"))
    if "shareID" in device:
        checks.declared(model.SHARE_ID, device["shareID"], (*path, "shareID"))
    key = device_id(device)
    if key not in allocated:
        checks.invalid(path, _shown(key, checks), "must be an allocated device in the claim")
    conditions, at = device.get("conditions") or [], (*path, "conditions")
    if len(conditions) > limits.DEVICE_STATUS_CONDITIONS:
        checks.errors.append(too_many(at, len(conditions), limits.DEVICE_STATUS_CONDITIONS))
    check_conditions(conditions, at, checks)
    data = device.get("data")
    if data is not None:
        check_raw(data, (*path, "data"), checks, limits.DEVICE_STATUS_DATA_BYTES)
    if "networkData" in device:
        _check_network_data(device["networkData"], (*path, "networkData"), checks)


def _shown(key: DeviceID, checks: Checks) -> Verbatim:
    """A device's identity as Go prints it; up to 1.33 as a path, and in 1.34 without the parts."""
    if checks.minor < 34:
        return Verbatim("/".join(key[:3]))
    if checks.minor == 34:
        return Verbatim('{"Driver":{},"Pool":{},"Device":{},"ShareID":{}}')
    parts = ("Driver", "Pool", "Device", "ShareID")
    members = ",".join(
        f"{json_string(name)}:{json_string(part)}" for name, part in zip(parts, key, strict=True)
    )
    return Verbatim("{" + members + "}")


def _check_network_data(data: Object, path: Path, checks: Checks) -> None:
    fields = model.NetworkDeviceData
    for name in ("interfaceName", "hardwareAddress"):
        checks.declared(fields[name], data.get(name, ""), (*path, name))
    addresses, at = data.get("ips"), (*path, "ips")
    if checks.minor >= CANONICAL_ADDRESSES_SINCE:
        checks.entries(
            fields["ips"], addresses, at, lambda address, at: checks.problems(interface_address(address), at)
        )
        return
    for index, address in enumerate(addresses or ()):
        checks.problems(former_interface_address(address), (*at, index))
    checks.at_most(limits.NETWORK_IPS, addresses, at)
    checks.unique(map(same_address, addresses or ()), at)
