"""Snapshots of compatibility groups (KEP-5963): the groups that a device declared when it was allocated.

They are part of the allocation, wherever the API server keeps them, so they are written in one request with it, cannot be
changed, and go when it goes. The allocator writes them into its results and looks for them there; what differs is what the
API server stores (docs/explanation/adr/0015-snapshots-in-the-allocation.md).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from resourceapi import deep_json, limits
from resourceapi.errors import ClaimcheckError
from resourceapi.json_text import Raw
from resourceapi.json_values import JSONError
from resourceapi.logs import log
from resourceapi.manifests import name_of, text
from resourceapi.objects import EMPTY, Object

GATE = "DRADeviceCompatibilityGroups"
DRIVER = "compatibility-groups.claimcheck.example.com"
API_VERSION = "claimcheck.example.com/v1"
KIND = "CompatibilityGroupsSnapshot"
# A claim's author decides on what comes from the claim, and nobody but the administrator on what comes from classes.
SOURCE = "FromClass"
FIELD = "compatibilityGroups"


class NoPlace(ClaimcheckError):
    """An allocation has no place left for a snapshot."""


class Snapshots(Protocol):
    """Where the API server keeps snapshots. Both are pure functions, and change nothing that they are given."""

    def with_snapshot(self, allocation: Object, uid: str) -> Object:
        """The allocation to write.

        :param allocation: as the allocator has made it.
        :param uid: of the claim that gets it.
        :raises NoPlace: if the API server would refuse the allocation with the snapshot, and there is one to write.
        """

    def read(self, claim: Object) -> Object:
        """A claim (v1, normal form) with its snapshot where the allocator looks for it."""


class InResults:
    """In the field of the results that KEP-5963 proposes, as the project's CRDs have it."""

    def with_snapshot(self, allocation: Object, uid: str) -> Object:
        """The allocation: the allocator has written the field."""
        return allocation

    def read(self, claim: Object) -> Object:
        """The claim; one that got its devices while there was no such field has the snapshot in its configuration."""
        return InConfiguration().read(claim)


class InConfiguration:
    """In configuration for a driver that does not exist, beside the results, as long as results have no such field.

    An entry counts if it comes from a class, for this driver, and names the claim: what the author of a claim configures is
    marked as the claim's, and what a class configures names no claim. The allocations that are written have no other entry
    for the driver.
    """

    def with_snapshot(self, allocation: Object, uid: str) -> Object:
        """The allocation with the groups in its configuration."""
        devices = allocation["devices"]
        results = devices.get("results") or ()
        groups = [(place, each[FIELD]) for place, each in enumerate(results) if each.get(FIELD)]
        config = [entry for entry in devices.get("config") or () if not may_be_snapshot(entry)]
        entries = _entries(uid, groups)
        if entries and len(config) + len(entries) > limits.ALLOCATION_CONFIGS:
            raise NoPlace(
                f"the claim and its classes have {len(config)} configurations, which leaves no place for the "
                f"compatibility groups of its devices: an allocation may have {limits.ALLOCATION_CONFIGS}"
            )
        if not groups and len(config) == len(devices.get("config") or ()):
            return allocation
        written = {
            **devices,
            "results": [_without_field(each) for each in results],
            "config": [*config, *entries],
        }
        if not written["config"]:
            del written["config"]
        return {**allocation, "devices": written}

    def read(self, claim: Object) -> Object:
        """The claim with the groups in its results; the first entry that cannot be a snapshot of it is logged."""
        reasons: list[str] = []
        found = with_remembered_groups(claim, reasons.append)
        if reasons:
            # A driver may write as many entries as it likes: they share one line.
            namespace = text(claim.get("metadata") or {}, "namespace")
            ignored = {
                "namespace": namespace,
                "claim": name_of(claim),
                "entries": len(reasons),
                "reason": reasons[0],
            }
            log(logging.WARNING, "snapshot ignored", **ignored)
        return found


class NotKept:
    """Nowhere: the API server has no compatibility groups, so what was written while it had them counts no longer."""

    def with_snapshot(self, allocation: Object, uid: str) -> Object:
        """The allocation alone."""
        return _without_snapshot(allocation)

    def read(self, claim: Object) -> Object:
        """The claim without groups in its results."""
        status = claim.get("status") or EMPTY
        allocation = status.get("allocation")
        if allocation is None or allocation == (bare := _without_snapshot(allocation)):
            return claim
        return {**claim, "status": {**status, "allocation": bare}}


def with_remembered_groups(claim: Object, ignored: Callable[[str], None] = lambda reason: None) -> Object:
    """A claim (v1, normal form) with the groups of its configuration in its results.

    :param ignored: told of each entry why it cannot be a snapshot of the claim.
    :returns: the claim itself if its configuration holds no snapshot of it.
    """
    status = claim.get("status") or EMPTY
    allocation = status.get("allocation") or EMPTY
    devices = allocation.get("devices") or EMPTY
    entries = [entry for entry in devices.get("config") or () if may_be_snapshot(entry)]
    if not entries:
        return claim
    results = devices.get("results") or ()
    uid = text(claim.get("metadata") or {}, "uid")
    found: dict[int, Object] = {}
    for entry in entries:
        try:
            found.update(_snapshot(entry, uid, len(results)))
        except ValueError as error:
            ignored(str(error))
    if not found:
        return claim
    marked = [{FIELD: found[place], **each} if place in found else each for place, each in enumerate(results)]
    allocation = {**allocation, "devices": {**devices, "results": marked}}
    return {**claim, "status": {**status, "allocation": allocation}}


def _without_snapshot(allocation: Object) -> Object:
    devices = allocation.get("devices") or EMPTY
    results = devices.get("results") or ()
    if not any(FIELD in each for each in results):
        return allocation
    return {**allocation, "devices": {**devices, "results": [_without_field(each) for each in results]}}


def _without_field(result: Object) -> Object:
    return {name: value for name, value in result.items() if name != FIELD}


def may_be_snapshot(entry: Object) -> bool:
    """Whether an entry of an allocation's configuration is for the driver, and not from the author of the claim."""
    return entry.get("source") == SOURCE and (entry.get("opaque") or EMPTY).get("driver") == DRIVER


def _entries(uid: str, groups: list[tuple[int, Object]]) -> list[Object]:
    """The configuration that holds the groups of results; no more of them in one entry than it may have bytes."""
    entries: list[Raw] = []
    inside: list[Object] = []
    for place, each in groups:
        one = {FIELD: dict(sorted(each.items())), "result": place}
        larger = _parameters(uid, [*inside, one])
        if inside and _sent_bytes(larger) > limits.OPAQUE_PARAMETERS_BYTES:
            inside, larger = [one], _parameters(uid, [one])
            entries.append(larger)
        else:
            inside.append(one)
            entries[-1:] = [larger]
    return [{"source": SOURCE, "opaque": {"driver": DRIVER, "parameters": each}} for each in entries]


def _parameters(uid: str, results: list[Object]) -> Raw:
    """With all keys in order, as clients in Go write them that read JSON without knowing its fields.

    The API server takes a PUT of the status for a change of the allocation if parameters have other bytes.
    """
    return Raw({"apiVersion": API_VERSION, "claim": uid, "kind": KIND, "results": results})


def _sent_bytes(parameters: Raw) -> int:
    """The size for which the API server takes it: it counts the bytes as they are sent."""
    return len(deep_json.as_go_writes_it(parameters.value))


def _snapshot(entry: Object, uid: str, results: int) -> dict[int, Object]:
    """The groups in an entry, by the place of the result.

    :param uid: of the claim that has the entry.
    :param results: how many results the claim has.
    :raises ValueError: if it is no snapshot of the claim.
    """
    parameters = entry["opaque"].get("parameters")
    try:
        value = parameters.plain if isinstance(parameters, Raw) else parameters
    except JSONError as error:
        raise ValueError("it is not JSON") from error
    if not isinstance(value, dict) or (value.get("apiVersion"), value.get("kind")) != (API_VERSION, KIND):
        raise ValueError(f"it is no {KIND} of {API_VERSION}")
    if not uid or value.get("claim") != uid:
        raise ValueError("it is not about this claim")
    found: dict[int, Object] = {}
    listed = value.get("results")
    for each in listed if isinstance(listed, list) else [None]:
        place, groups = _of_result(each)
        if place in found or not 0 <= place < results:
            raise ValueError("it names results that the claim does not have")
        found[place] = groups
    return found


def _of_result(value: Any) -> tuple[int, Object]:
    """The place of a result, and its groups.

    :raises ValueError: if the value is something else.
    """
    if isinstance(value, dict) and type(value.get("result")) is int:
        groups = value.get(FIELD)
        if isinstance(groups, dict) and all(map(_are_names, groups.values())):
            return value["result"], groups
    raise ValueError("it does not say which result has which groups")


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)
