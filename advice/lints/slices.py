"""CC008, CC016 to CC019: slices that contradict the other slices of their pool, and devices that cannot be used or bound.

The counter sets are in other slices of the pool, so the server cannot check the references. With an unknown counter the
scheduler does not use the pool; a device that consumes more than there is is never allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from advice.lints.facts import Facts
from advice.lints.pools import MOST_NODES, Counters, FilePool
from advice.lints.table import (
    BINDING_WITHOUT_NODE,
    CRASHING_STEP,
    OVERCONSUMED,
    SEVERAL_NODES,
    SLICE_COUNT,
    UNKNOWN_COUNTER,
    Warning,
)
from resourceapi.field_errors import Key, Path
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.manifests import devices_of, entries, mapping, text
from resourceapi.phrases import did_you_mean, number
from resourceapi.quantity import QuantityError, parse
from resourceapi.records.pools import COMPLETE_SINCE, SliceRecord


def check_counters(manifest: dict[str, Any], facts: Facts) -> Iterator[Warning]:
    """Warn about every counter that a device of a ResourceSlice consumes and the pool does not have enough of."""
    slice = SliceRecord(manifest)
    pool = facts.pools.of(slice)
    if pool is None:
        return
    counters = pool.counters(slice.generation)
    is_complete = RESOURCE_SLICE.name in facts.complete or pool.generation(slice.generation).is_complete
    enough = _Enough()
    for path, device in devices_of(manifest):
        for index, consumption in enumerate(entries(device, "consumesCounters")):
            at = (*path, "consumesCounters", index)
            yield from _check_consumption(consumption, at, counters, enough, is_complete=is_complete)


def _check_consumption(
    consumption: Any, path: Path, counters: Counters, enough: _Enough, *, is_complete: bool
) -> Iterator[Warning]:
    name = text(consumption, "counterSet")
    known = counters.get(name)
    if known is None:
        if name:
            yield Warning(
                UNKNOWN_COUNTER.code,
                (*path, "counterSet"),
                f'no slice of the pool has a counter set "{name}"',
                did_you_mean(name, sorted(counters)),
                is_note=not is_complete,
            )
        return
    for counter, amount in mapping(consumption, "counters").items():
        at = (*path, "counters", Key(counter))
        if counter not in known:  # a counter set is in one slice
            message = f'the counter set "{name}" has no counter "{counter}"'
            yield Warning(UNKNOWN_COUNTER.code, at, message, did_you_mean(counter, sorted(known)))
            continue
        value = str(mapping(amount).get("value"))
        if all(enough.is_more(value, there) for there in known[counter]):
            yield Warning(
                OVERCONSUMED.code,
                (*at, "value"),
                f'the device consumes {value} of the counter "{counter}", but the counter set "{name}" has only '
                + " or ".join(sorted(known[counter])),
                "such a device is never allocated: give the counter set more, or let the device consume less",
            )


class _Enough:
    """Compares quantities; devices consume the same few amounts."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], bool] = {}

    def is_more(self, value: str, there: str) -> bool:
        """Whether a value is more than there is; not if either is no quantity."""
        if value == there:
            return False
        key = value, there
        if key not in self._found:
            try:
                self._found[key] = parse(value).cmp(parse(there)) > 0
            except QuantityError:
                self._found[key] = False
        return self._found[key]


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
