"""`python -m tests.bench.patches`: what ResourceSlicePatches cost in a large cluster, beside the same cluster without them.

1,000 patches, half of them with selectors, and 20,000 devices, each with a serial number. Printed are processor times, memory,
and their ratios to those without patches; and how long one more patch takes that is added, changed and removed, with its ratio
to 50 ms and 10 µs for each device that it touches. Nothing is asserted about them.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

from allocator.features import GATES, Features
from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.manifests import key_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node
from tests.bench.allocator import large_slice, wanted_claim
from tests.bench.load import resident
from tests.bench.scenarios import decoded

_NODES, _PATCHES, _DEVICES = 2_500, 1_000, 8
_DRIVER = "gpu.example.com"
_OWN = f'device.attributes["{_DRIVER}"]'

_NODE = f"node-{_NODES // 2}"
#: the filter of one more patch, and how many devices it is about
_TOUCHED: dict[str, tuple[Object, int]] = {
    "a device": ({"driver": _DRIVER, "pool": _NODE, "device": "gpu-0"}, 1),
    "a pool": ({"driver": _DRIVER, "pool": _NODE}, _DEVICES),
    "all devices": ({}, _NODES * _DEVICES),
}

Selector = Callable[[int], str]
SELECTORS: dict[str, Selector] = {
    "of models": lambda number: (
        f'device.driver == "{_DRIVER}" && {_OWN}.model == "H{number % 3}" && {_OWN}.index == {number % 8}'
    ),
    "of capacity": lambda number: (
        f'device.capacity["{_DRIVER}"].memory.compareTo(quantity("{number}Gi")) > 0'
    ),
    "of one device": lambda number: f'{_OWN}.uuid == "GPU-{number:08d}-{number % 8}"',
    "of all": lambda _: "true",
}


def main() -> None:
    if len(sys.argv) == 2:
        print(_memory(sys.argv[1]))
        return
    print(
        f"{_PATCHES:,} patches, {_NODES * _DEVICES:,} devices{'':22}"
        + "".join(f"{each:>18}" for each in SELECTORS)
    )
    columns = [_measured(selector) for selector in SELECTORS.values()]
    for name in columns[0]:
        print(f"  {name:50}" + "".join(f"{column[name]:>18}" for column in columns))
    plain = float(_asked("none"))
    ratios = [f"{float(_asked(name)) / plain:17.2f}x" for name in SELECTORS]
    print(f"  {f'memory of the process, to {plain:.0f} MiB without':50}" + "".join(ratios))


def _measured(selector: Selector) -> dict[str, str]:
    plain, patched = _cluster(), _cluster()
    gc.collect()
    gc.freeze()
    found = {"first merge": f"{_seconds(lambda: _fill(patched, selector)):.2f} s"}
    for name, (filter, devices) in _TOUCHED.items():
        allowed = 0.050 + devices * 10e-6
        for what, seconds in _times_of_one_more(patched, filter).items():
            found[f"a patch of {name} is {what}"] = f"{seconds * 1e3:.1f} ms {seconds / allowed:5.2f}x"
    for kind, number in (("with a selector", 0), ("with names", 1)):
        times = []
        for value in range(5):
            change = patch(number, selector, f"other-{value}")
            times.append(_seconds(partial(_change, patched, change)))
        found[f"a patch {kind} changes"] = f"{median(times) * 1e3:.1f} ms"
    for state in (plain, patched):
        state.warm_up()
        _schedule(state)
    before, after = [min(_seconds(partial(_schedule, state)) for _ in range(5)) for state in (plain, patched)]
    found["scheduling, to that without"] = f"{after / before:.2f}x"
    gc.unfreeze()
    return found


def _cluster() -> SchedulingState:
    nodes = [Node(f"node-{index}") for index in range(_NODES)]
    slices = [large_slice(index, f"H{index % 3}") for index in range(_NODES)]
    return SchedulingState(Features(GATES), nodes, {"gpu": DeviceClass("gpu")}, slices)


def _fill(state: SchedulingState, selector: Selector) -> None:
    for number in range(_PATCHES):
        state.put_patch(patch(number, selector))
    state.settle(UNLIMITED)


def _change(state: SchedulingState, patch: Object) -> None:
    state.put_patch(patch)
    state.settle(UNLIMITED)


def _remove(state: SchedulingState, name: str) -> None:
    state.remove_patch(name)
    state.settle(UNLIMITED)


def _times_of_one_more(state: SchedulingState, filter: Object) -> dict[str, float]:
    """The processor times that a patch takes when it is added, changed and removed."""
    steps: dict[str, Callable[[], object]] = {
        "added": partial(
            _change, state, _patch("one-more", filter, {"admin.example.com/one-more": {"int": 1}})
        ),
        "changed": partial(
            _change, state, _patch("one-more", filter, {"admin.example.com/one-more": {"int": 2}})
        ),
        "removed": partial(_remove, state, "one-more"),
    }
    times = [[_seconds(step) for step in steps.values()] for _ in range(5)]
    return dict(zip(steps, map(median, zip(*times, strict=True)), strict=True))


def patch(number: int, selector: Selector, value: str = "value") -> Object:
    """A patch of an even number has a selector, one of an odd number the names of a pool, and half of these of a device."""
    filter: dict[str, Any] = {"driver": _DRIVER, "pool": f"node-{number * 2}"}
    if number % 4 == 1:
        filter["device"] = f"gpu-{number % 8}"
    if number % 2 == 0:
        filter = {"selectors": [{"cel": {"expression": selector(number)}}]}
    attributes = {f"admin.example.com/a{number % 20}": {"string": value}, f"{_DRIVER}/rack": {"int": number}}
    return _patch(f"patch-{number}", filter, attributes, priority=number % 5)


def _patch(name: str, filter: Object, attributes: Object, *, priority: int = 0) -> Object:
    devices = {"filter": filter, "priority": priority, "attributes": attributes}
    (found,) = decoded("ResourceSlicePatch", [{"metadata": {"name": name}, "spec": {"devices": devices}}])
    return found


def _schedule(state: SchedulingState) -> None:
    claims = [wanted_claim(f"claim-{index}") for index in range(20)]
    for claim in claims:
        state.place([Claim(claim)], Mode.SCHEDULER, UNLIMITED)
    for claim in claims:
        state.release(key_of(claim))


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def _asked(name: str) -> str:
    """What a process of its own says about its memory, in MiB."""
    return subprocess.check_output([sys.executable, "-m", "tests.bench.patches", name], text=True)


def _memory(name: str) -> float:
    """What the process has in memory; its maximum would be that of the one that has started it."""
    state = _cluster()
    if name in SELECTORS:
        _fill(state, SELECTORS[name])
    state.warm_up()
    _schedule(state)
    gc.collect()
    return resident([os.getpid()])


if __name__ == "__main__":
    main()
