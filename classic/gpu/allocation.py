"""What an allocated claim says about its GPUs: written by the driver, read by its node plugin and after a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from classic.gpu.parameters import ParametersError, memory_bytes, written
from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object


class UnreadableAllocation(ClaimcheckError):
    """The driver has not written this allocation, or another version of it has."""


class Allocation(NamedTuple):
    """GPUs of a node: how many bytes of each, by name, and how they are initialized."""

    node: str
    memory: dict[str, int]
    init_command: tuple[str, ...] = ()


def allocation_result(driver_name: str, allocation: Allocation) -> Object:
    """The AllocationResult of a claim, which pods on the node may share."""
    data: Object = {
        "devices": [{"device": name, "memory": written(memory)} for name, memory in allocation.memory.items()]
    }
    if allocation.init_command:
        data["initCommand"] = list(allocation.init_command)
    on_node = {"key": "metadata.name", "operator": "In", "values": [allocation.node]}
    return {
        "availableOnNodes": {"nodeSelectorTerms": [{"matchFields": [on_node]}]},
        "resourceHandles": [{"driverName": driver_name, "data": json.dumps(data)}],
        "shareable": True,
    }


def allocation_of(driver_name: str, result: Object) -> Allocation | None:
    """What an AllocationResult gives of the driver's GPUs; None if nothing.

    :raises UnreadableAllocation: if it is not one that :func:`allocation_result` has made.
    """
    handles = [each for each in entries(result, "resourceHandles") if text(each, "driverName") == driver_name]
    if not handles:
        return None
    nodes = list(_nodes(result))
    if len(handles) != 1 or len(nodes) != 1:
        raise UnreadableAllocation("an allocation has one handle, and is for one node")
    memory, init_command = read_data(text(handles[0], "data"))
    return Allocation(nodes[0], memory, init_command)


def read_data(data: str) -> tuple[dict[str, int], tuple[str, ...]]:
    """The bytes of GPUs, and the command that initializes them, in the ``data`` of a handle.

    :raises UnreadableAllocation: if the driver has not written it.
    """
    try:
        found = json.loads(data)
        devices = entries(found, "devices")
        memory = {device["device"]: memory_bytes(device["memory"], "memory") for device in devices}
        command = tuple(entries(found, "initCommand"))
    except (ValueError, RecursionError, KeyError, TypeError, ParametersError):
        raise UnreadableAllocation("the data of the handle is not the driver's") from None
    if (
        not memory
        or len(memory) != len(devices)
        or not all(isinstance(each, str) for each in (*memory, *command))
    ):
        raise UnreadableAllocation("the data of the handle is not the driver's")
    return memory, command


def _nodes(result: Object) -> Iterator[str]:
    """The names of the nodes that an allocation names."""
    for term in entries(mapping(result, "availableOnNodes"), "nodeSelectorTerms"):
        for requirement in entries(term, "matchFields"):
            if text(requirement, "key") == "metadata.name":
                yield from (value for value in entries(requirement, "values") if isinstance(value, str))
