"""The devices for programs, one after the other. docs/how-to/devices.md describes the keys."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from allocator.devices import Device
from allocator.evictions import Eviction
from allocator.patches.patch import NULL, removes
from allocator.patches.sources import Given, Giver
from claimcheck.answers.devices.cluster_devices import (
    MOST_LISTED,
    ClusterDevices,
    Use,
)
from claimcheck.answers.devices.fills import fills
from claimcheck.answers.devices.pool_left import CounterLeft, GroupsOn
from claimcheck.answers.evictions import when
from commandline.devices.options import YAML
from commandline.reports.escaping import write_json_entries
from commandline.reports.writing import failure_documents
from resourceapi.encoding import encode
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.quantity import Quantity


def write_documents(format: str, devices: ClusterDevices, chosen: Iterable[Device]) -> None:
    """Write the devices to standard output one after the other, as they may be many, and what could not be read."""
    failures = {"failures": failure_documents(devices.state.failures)}
    entries = documents(devices, chosen)
    if format != YAML:
        write_json_entries("devices", entries, failures, sys.stdout)
        return
    from documents.emitting import block, item_lines

    first = next(entries, None)
    sys.stdout.write("devices: []\n" if first is None else "devices:\n")
    for entry in entries if first is None else chain([first], entries):
        sys.stdout.writelines(line + "\n" for line in item_lines(entry))
    sys.stdout.writelines(line + "\n" for line in block(failures))


ATTRIBUTE = "DeviceAttribute"
Json = dict[str, Any]
_SCHEMA = SCHEMAS_WITH_PROPOSALS["v1"]
#: What is told with who gives it, or what is left of it, or what changes whenever a file is read.
_TOLD_APART = frozenset(
    ("name", "nodeName", "nodeSelector", "allNodes", "attributes", "capacity", "taints", "consumesCounters")
)


def device_document(devices: ClusterDevices, device: Device) -> Json:
    """A device as plain data."""
    slice, sources, left = device.slice, devices.sources_of(device), devices.capacity_left(device)
    document: Json = {
        "driver": device.id.driver,
        "pool": device.id.pool,
        "device": device.id.device,
        "resourceSlice": slice.name,
        "generation": slice.generation,
        "status": devices.status(device),
    }
    if problem := devices.problem(device):
        document["problem"] = problem
    document |= _place(device)
    if closed := devices.closed(device):
        document["nodeClosed"] = closed.named
    if others := {key: value for key, value in device.spec.items() if key not in _TOLD_APART}:
        document |= {key: value for key, value in encode(_SCHEMA, "Device", others).items() if key in others}
    document["attributes"] = _given(sources.attributes, ATTRIBUTE, slice.name, {})
    document["capacity"] = _given(sources.capacity, "DeviceCapacity", slice.name, left)
    document["counters"] = [_counter(each) for each in devices.counters(device)]
    if groups := devices.groups(device):
        document["compatibilityGroups"] = [_groups(each) for each in groups]
    taints = sources.taints[:MOST_LISTED]
    document["taints"] = [_said("DeviceTaint", each.value, each.giver, slice.name) for each in taints]
    for name, said in (
        ("Attributes", sources.attributes),
        ("Capacity", sources.capacity),
        ("Taints", sources.taints),
    ):
        if len(said) > MOST_LISTED:
            document[f"more{name}"] = len(said) - MOST_LISTED
    document["claims"] = [_use(each) for each in devices.uses(device)]
    if leaving := devices.evicted_from(device):
        document["evictions"] = [eviction(each, when(each.when, devices.now)) for each in leaving]
    return document


def fills_document(devices: ClusterDevices, device: Device) -> list[Json]:
    """How full the capacities are that claims share, as plain data."""
    return [
        {
            "capacity": each.capacity,
            "total": str(each.total),
            "used": each.used,
            "step": None if each.step is None else str(each.step),
            "ticks": [
                {"kind": tick.kind, "amount": str(tick.amount), "place": tick.place} for tick in each.ticks
            ],
        }
        for each in fills(devices, device)
    ]


def eviction(found: Eviction, when: str) -> Json:
    """A pod that is evicted."""
    document: Json = {"namespace": found.pod.namespace, "name": found.pod.name, "when": when}
    return document | {"taints": [str(each) for each in found.taints[:MOST_LISTED]]}


def _place(device: Device) -> Json:
    """Where the device can be used."""
    where = device.placement
    found: Json = {key: where[key] for key in ("nodeName", "allNodes") if where.get(key)}
    if selector := where.get("nodeSelector"):
        found["nodeSelector"] = encode(_SCHEMA, "NodeSelector", selector)
    return found


def _given(given: Mapping[str, Given], struct: str, slice: str, left: Mapping[str, Quantity]) -> Json:
    found: Json = {}
    for name, each in islice(given.items(), MOST_LISTED):
        entry = _said(struct, each.value, each.giver, slice)
        if name in left:
            entry["left"] = str(left[name])
        if each.hidden:
            entry["hides"] = [
                _said(struct, value, giver, slice) for giver, value in each.hidden[:MOST_LISTED]
            ]
        if len(each.hidden) > MOST_LISTED:
            entry["hidesMore"] = len(each.hidden) - MOST_LISTED
        found[name] = entry
    return found


def _said(struct: str, value: Object, giver: Giver, slice: str) -> Json:
    """A value as in the API, and who gives it."""
    kind, name = (giver.kind, giver.name) if giver.kind else (RESOURCE_SLICE.name, slice)
    return encoded(struct, value) | {"from": {"kind": kind, "name": name}}


def encoded(struct: str, value: Object) -> Json:
    """An attribute, capacity or taint as in the API."""
    if removes(value):
        return {NULL: {}}
    if struct == ATTRIBUTE:
        return dict(value)  # which is the same in the API, and there are many
    document = encode(_SCHEMA, struct, value)
    document.pop("timeAdded", None)  # that of a file is when it is read
    return document


def _counter(counter: CounterLeft) -> Json:
    return {
        "counterSet": counter.counter_set,
        "counter": counter.counter,
        "takes": str(counter.takes),
        "left": None if counter.left is None else str(counter.left),
        "total": None if counter.total is None else str(counter.total),
    }


def _groups(found: GroupsOn) -> Json:
    common = found.in_use
    used = None if common is None else sorted(common.groups or ())
    return {"counterSet": found.counter_set, "groups": sorted(found.groups), "inUse": used}


def _use(use: Use) -> Json:
    namespace, _, name = use.holder.claim.rpartition("/")
    document: Json = {"namespace": namespace, "name": name, "request": use.result.request}
    if use.result.is_admin:
        document["adminAccess"] = True
    if share := use.result.share:
        document["shareID"] = share
    if remembered := use.result.groups:
        document["compatibilityGroups"] = {key: sorted(groups) for key, groups in sorted(remembered.items())}
    if amounts := use.result.capacity:
        document["consumedCapacity"] = {key: str(amount) for key, amount in sorted(amounts.items())}
    return document | {"pods": list(use.holder.pods), "others": list(use.holder.others)}


def documents(devices: ClusterDevices, chosen: Iterable[Device]) -> Iterator[Json]:
    """All devices, one after the other."""
    return (device_document(devices, device) for device in chosen)
