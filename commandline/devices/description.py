"""All about one device, as ``kubectl describe`` prints it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from allocator.allocated import listed
from allocator.devices import Device
from allocator.patches.patch import removes
from allocator.patches.sources import Given
from claimcheck.answers.devices.cluster_devices import ClusterDevices, Use
from claimcheck.answers.evictions import because, when
from commandline.devices import words
from commandline.reports.escaping import on_one_line
from resourceapi.kinds import RESOURCE_SLICE
from resourceapi.objects import Object
from resourceapi.records.taints import read_taint

#: Fields of a device that are shown as they are.
_AS_THEY_ARE = ("allowMultipleAllocations", "bindsToNode", "bindingConditions", "bindingFailureConditions")


def lines(devices: ClusterDevices, device: Device) -> Iterator[str]:
    """The description line by line."""
    slice, sources = device.slice, devices.sources_of(device)
    problem, closed = devices.problem(device), devices.closed(device)
    state = words.node_state(devices, device)
    node = f" ({': '.join(each for each in (state, closed.detail) if each)})" if closed is not None else ""
    facts = [
        ("Name", device.id.device),
        ("Driver", device.id.driver),
        ("Pool", f"{device.id.pool} (generation {slice.generation}, slices {slice.count_in_pool})"),
        (RESOURCE_SLICE.name, slice.name),
        ("Node", words.place(device) + node),
        ("Status", devices.status(device) + (f": {problem}" if problem else "")),
    ]
    if selector := words.node_selector(device):
        facts.insert(5, ("Node Selector", json.dumps(selector)))
    facts += [(name, json.dumps(device.spec[name])) for name in _AS_THEY_ARE if name in device.spec]
    yield from _columns([(f"{name}:", value) for name, value in facts])
    left = devices.capacity_left(device)
    yield from _given("Attributes", sources.attributes, words.value)
    yield from _given(
        "Capacity",
        sources.capacity,
        words.amount_and_policy,
        {name: str(each) for name, each in left.items()},
    )
    yield from _counters(devices, device)
    if groups := devices.groups(device):
        yield from _section(
            "Compatibility Groups", [(f"{each.counter_set}:", *words.groups(each)) for each in groups]
        )
    yield from _section("Taints", [(str(read_taint(each.value)), _from(each)) for each in sources.taints])
    yield from _section("Claims", [_use(each) for each in devices.uses(device)])
    if leaving := devices.evicted_from(device):
        rows = [(each.pod.key, when(each.when, devices.now), because(each)) for each in leaving]
        yield from _section("Evictions", rows)


def _given(
    title: str,
    given: Mapping[str, Given],
    written: Callable[[Object], str],
    left: Mapping[str, str] | None = None,
) -> Iterator[str]:
    rows = []
    for name, each in given.items():
        value = "removed" if each.removed else written(each.value)
        if left and name in left:
            value += f", {left[name]} left"
        rows.append((f"{name}:", value, _from(each, written)))
    return _section(title, rows)


def _from(given: Given, written: Callable[[Object], str] | None = None) -> str:
    """Who gives a value, and what it hides; nothing of a slice that nobody contradicts."""
    text = str(given.giver) if given.giver.kind else ""
    if given.hidden and written is not None:
        hidden = [
            f"removal by {giver}" if removes(value) else f"{written(value)} of {giver}"
            for giver, value in given.hidden
        ]
        text += f", hides {' and '.join(hidden)}"
    return f"({text})" if text else ""


def _counters(devices: ClusterDevices, device: Device) -> Iterator[str]:
    rows = [
        (f"{each.counter_set}/{each.counter}:", f"takes {each.takes}", _of(str(each.left), str(each.total)))
        if each.left is not None
        else (f"{each.counter_set}/{each.counter}:", f"takes {each.takes}", "unknown counter")
        for each in devices.counters(device)
    ]
    return _section("Counters", rows)


def _of(left: str, total: str) -> str:
    return f"{left} of {total} left"


def _use(use: Use) -> tuple[str, ...]:
    result = use.result
    details = [f"request {result.request}"]
    if result.is_admin:
        details.append("admin access")
    if result.share:
        details.append(f"share {result.share}")
    details += [f"{listed(groups)} on {name}" for name, groups in sorted(result.groups.items())]
    for name, amount in sorted(result.capacity.items()):
        details.append(f"{name} {amount}")
    return use.holder.claim, ", ".join(details), use.holder.used_by


def _section(title: str, rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    rows = list(rows)
    if not rows:
        yield f"{title}: {words.NONE}"
        return
    yield f"{title}:"
    yield from ("  " + line for line in _columns(rows))


def _columns(rows: list[tuple[str, ...]]) -> Iterator[str]:
    rows = [tuple(map(on_one_line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
