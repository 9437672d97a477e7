"""CC017 to CC019: slices that contradict the other slices of their pool, and devices that cannot be bound."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.facts import Facts
from advice.lints.pools import MOST_NODES, FilePool
from advice.lints.table import (
    BINDING_WITHOUT_NODE,
    CRASHING_STEP,
    SEVERAL_NODES,
    SLICE_COUNT,
    Warning,
)
from resourceapi.field_errors import Key
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.manifests import devices_of, mapping, text
from resourceapi.phrases import number
from resourceapi.quantity import QuantityError, parse
from resourceapi.records.pools import COMPLETE_SINCE, SliceRecord

_UNUSED = "kube-scheduler uses no device of such a pool: "
_FAILS_FOR_ALL = (
    "before 1.35, requests for all devices of such a pool fail, and from 1.35 on nobody gets any: "
)
_EACH_STATES = "each slice must state how many slices its generation has"


def check(manifest: dict[str, Any], facts: Facts, file: str) -> Iterator[Warning]:
    """Warn about a ResourceSlice that does not agree with the others of its pool."""
    slice = SliceRecord(manifest)
    pool = facts.pools.of(slice)
    if pool is not None:
        is_complete = RESOURCE_SLICE.name in facts.complete
        if len(pool.nodes.all) > 1 and slice.node_name:
            yield _several_nodes(slice, pool, file, is_complete=is_complete)
        elif slice.generation == pool.newest:
            minor = facts.profile.minor
            yield from _count(slice, pool, file, is_complete=is_complete, is_used=minor < COMPLETE_SINCE)
    yield from _binding(manifest)
    yield from _steps(manifest)


def _count(
    slice: SliceRecord, pool: FilePool, file: str, *, is_complete: bool, is_used: bool
) -> Iterator[Warning]:
    """CC017.  In files, slices may be left out, but hardly ever are there too many in one file.

    :param is_used: whether the release gives devices of such a pool.
    """
    known, expected = len(pool.generation(pool.newest).slices), slice.count_in_pool
    if expected <= 0 or known == expected:
        return
    in_file = pool.in_file(file, pool.newest)
    is_note = not (is_complete or in_file > expected)
    there = in_file if in_file > expected and not is_complete else known
    yield Warning(
        SLICE_COUNT.code,
        ("spec", "pool", "resourceSliceCount"),
        f"resourceSliceCount is {expected}, but generation {pool.newest} of the pool has {number(there, 'slice')}",
        (_FAILS_FOR_ALL if is_used else _UNUSED) + _EACH_STATES,
        is_note=is_note,
    )


def _several_nodes(slice: SliceRecord, pool: FilePool, file: str, *, is_complete: bool) -> Warning:
    """CC018.  A pool may be on several nodes if one driver publishes all of it, and so counts all of its slices."""
    (driver, name), node, nodes = slice.pool, slice.node_name, pool.nodes
    listed = [other for other in nodes.first if other != node][:MOST_NODES]
    left = len(nodes.all) - (node in nodes.all) - len(listed)
    others = ", ".join(f'"{other}"' for other in listed) + (f" and {left} more" if left else "")
    is_counted = len(pool.generations) == 1 and len(pool.by_name) == slice.count_in_pool
    in_file = nodes.by_file.get(file, ())
    beside = len(in_file) > (node in in_file)
    return Warning(
        SEVERAL_NODES.code,
        ("spec", "nodeName"),
        f'the pool "{name}" of driver "{driver}" is on node "{node}", but also on {others}',
        "a driver on each node needs a pool on each node: name it after the node, or devices of different nodes count as "
        "the same device",
        is_note=is_counted or not (is_complete or beside),
    )


def _binding(manifest: dict[str, Any]) -> Iterator[Warning]:
    """CC019.  Who sets binding conditions has to know for which node; the slice says it, or the claim with bindsToNode."""
    spec = mapping(manifest, "spec")
    if text(spec, "nodeName"):
        return
    for path, device in devices_of(manifest):
        if device.get("bindingConditions") and not device.get("bindsToNode") and not device.get("nodeName"):
            yield Warning(
                BINDING_WITHOUT_NODE.code,
                (*path, "bindingConditions"),
                "the device has binding conditions, but neither nodeName nor bindsToNode: nobody can tell from the claim "
                "for which node to prepare it",
                "add `bindsToNode: true`, so that the claim's allocation names the node that was chosen",
            )


def _steps(manifest: dict[str, Any]) -> Iterator[Warning]:
    """CC023.  Where the gate is off the policy is dropped; where it is on, the server never answers."""
    for path, device in devices_of(manifest):
        for name, capacity in mapping(device, "capacity").items():
            if not mapping(capacity).get("requestPolicy"):  # few have one
                continue
            range_ = mapping(capacity, "requestPolicy", "validRange")
            try:
                step = parse(text(range_, "step"))
            except QuantityError:  # there is none, or the object is refused for it
                continue
            if step.value() == 0:
                yield Warning(
                    CRASHING_STEP.code,
                    (*path, "capacity", Key(name), "requestPolicy", "validRange", "step"),
                    f"kube-apiserver 1.34 to 1.36 read the step {step} as zero and divide by it: they cut the connection "
                    "instead of giving an answer",
                    "use a step of more than zero, and less than 2^63",
                )
