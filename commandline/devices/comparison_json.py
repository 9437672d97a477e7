"""What patches would change, for programs. docs/how-to/devices.md describes the keys."""

from __future__ import annotations

from typing import Any

from allocator.patches.sources import Giver
from claimcheck.answers.devices.comparison import (
    ATTRIBUTE,
    CAPACITY,
    TAINT,
    Change,
    Comparison,
    Hidden,
    LostClaim,
    PodOutcome,
)
from claimcheck.answers.scenario import WITH_PATCHES
from commandline.devices.json_report import encoded, eviction
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.objects import Object
from resourceapi.records.pools import DeviceId

Json = dict[str, Any]
_STRUCTS = {ATTRIBUTE: "DeviceAttribute", CAPACITY: "DeviceCapacity", TAINT: "DeviceTaint"}


def document(comparison: Comparison) -> Json:
    """The comparison as plain data."""
    return {
        "devices": [
            {
                **_device(each.device),
                "changes": [_change(change) for change in each.changes],
                "hidden": [_hidden(hidden) for hidden in each.hidden],
                **({"more": each.more} if each.more else {}),
            }
            for each in comparison.devices
        ],
        "pods": {
            "fitThen": [_pod(each) for each in comparison.fitting],
            "doNotFitThen": [_pod(each) for each in comparison.misfitting],
            "undecided": comparison.undecided,
        },
        "claims": [_claim(each) for each in comparison.lost],
        "evictions": [eviction(*each) for each in comparison.evicted],
        "withPatches": comparison.with_patches,
        "notes": [WITH_PATCHES] if comparison.with_patches else [],
        "patchesWithoutDevices": comparison.idle,
        "patchFailures": [
            {
                "name": name,
                "reason": failure.reason,
                "devices": failure.devices,
                "first": None if failure.device is None else _device(failure.device),
            }
            for name, failure in sorted(comparison.failures.items())
        ],
    }


def _device(device: DeviceId) -> Json:
    return {"driver": device.driver, "pool": device.pool, "device": device.device}


def _change(change: Change) -> Json:
    document: Json = {"what": change.what}
    if change.name:
        document["name"] = change.name
    old, new = (_value(change.what, each) for each in (change.old, change.new))
    return document | {"old": old, "new": new, "from": _giver(change.giver)}


def _hidden(hidden: Hidden) -> Json:
    return {
        "what": hidden.what,
        "name": hidden.name,
        "patch": hidden.patch,
        "value": _value(hidden.what, hidden.value),
        "by": _giver(hidden.effective.giver),
        "effective": _value(hidden.what, hidden.effective.value),
    }


def _value(what: str, value: Object | None) -> Json | None:
    return None if value is None else encoded(_STRUCTS[what], value)


def _giver(giver: Giver) -> Json:
    return {"kind": giver.kind, "name": giver.name} if giver.kind else {"kind": RESOURCE_SLICE.name}


def _pod(pod: PodOutcome) -> Json:
    namespace, _, name = pod.pod.rpartition("/")
    return {"namespace": namespace, "name": name, "nodes": pod.places.nodes, "names": list(pod.places.names)}


def _claim(claim: LostClaim) -> Json:
    namespace, _, name = claim.holder.claim.rpartition("/")
    return {
        "namespace": namespace,
        "name": name,
        "pods": list(claim.holder.pods),
        "others": list(claim.holder.others),
        **_device(claim.refused.device),
        "reason": claim.refused.reason,
    }
