"""`python -m tests.bench.allocator`: times of the allocator beside those of kube-scheduler's, on the peer's scenarios.

Both get the same pods one after the other and have read everything else before. Counted is what lies between a pod's
arrival and its claims being allocated (first-fit, scheduler), or every node having answered (all-nodes: each result is
made). Of the time by the clock and that of the processor the smaller one counts, on both sides, and of several runs the
best, as anything else on the machine only adds. Expressions are compiled anew in each run, on both sides.

Where pods go is compared, too. Nothing is asserted about times.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from allocator.scheduling import Mode, SchedulingState
from allocator.time_limit import UNLIMITED
from deviceselectors import compiler
from resourceapi.manifests import key_of
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from tests.bench.scenarios import Replay, decoded
from tests.e2e import allocator_peer
from tests.e2e.referee import shared

PREFIXES = (
    "simple-",
    "perf-",
    "topology-",
    "mig-",
    "compat-",
    "consumable-",
    "prioritized-",
    "taints-",
    "lists-",
    "cluster-5000",
    "hard-",
)
_ROUNDS = 3
#: What takes longer is not run again, in seconds.
_LONG = 1.0


class _Result(NamedTuple):
    """Seconds for all pods; where each went, or on how many nodes it fits; on how many nodes the search gave up."""

    seconds: float
    placed: list[str]
    timeouts: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("prefix", nargs="*", default=PREFIXES, help="how the names of scenarios begin")
    parser.add_argument("--timeout", default="2s", help="of the peer, per node (default: 2s)")
    parser.add_argument(
        "--growth", action="store_true", help="hard scenarios in rising sizes, without the peer"
    )
    parser.add_argument("--memory", action="store_true", help="only tell the memory for 5,000 nodes")
    options = parser.parse_args()
    if options.memory:
        print(_memory())
        return
    _changes()
    if not allocator_peer.is_available():
        print("no comparison of allocators: the peer's sources are not there (CLAIMCHECK_SHARED)")
        return
    if options.growth:
        _growth()
        return
    with tempfile.TemporaryDirectory(prefix="claimcheck-bench-") as name:
        _table(allocator_peer.write_scenarios(Path(name), options.prefix), options.timeout)


# --- beside the peer


def _table(files: list[Path], timeout: str) -> None:
    print(f"{'scenario':36}{'pods':>6}{'placed':>8}{'peer':>13}{'claimcheck':>14}{'per pod':>13}{'ratio':>9}")
    _ask(_scenario(files[0]))
    for file in files:
        scenario = _scenario(file)
        mine, peer = _ask(scenario), _ask_peer(file, timeout)
        for _ in range(_ROUNDS - 1):
            if mine.seconds < _LONG:
                mine = min(mine, _ask(scenario))
            if peer.seconds < _LONG:
                peer = min(peer, _ask_peer(file, timeout))
        pods = len(mine.placed)
        placed = sum(each not in ("", "0") for each in mine.placed)
        note = ""
        if peer.timeouts:
            note = f"peer gave up on {peer.timeouts}"
        elif mine.placed != peer.placed:
            note = "DIFFERS"
        print(
            f"{file.stem:36}{pods:6}{placed:8}{peer.seconds * 1e3:10.1f} ms{mine.seconds * 1e3:11.1f} ms"
            f"{mine.seconds / pods * 1e6:10.0f} us{peer.seconds / mine.seconds:8.1f}x  {note}",
            flush=True,
        )


def _scenario(file: Path) -> dict[str, Any]:
    scenario: dict[str, Any] = json.loads(file.read_text())
    return scenario


def _ask(scenario: dict[str, Any]) -> _Result:
    compiler._cache.clear()
    replay = Replay(scenario)
    replay.cluster.warm_up()
    gc.collect()
    run = replay.run()
    return _Result(sum(run.seconds), run.placed)


def _ask_peer(file: Path, timeout: str) -> _Result:
    answer = allocator_peer.answers_of_file(file, "-results", "none", "-timeout", timeout)
    nanoseconds = answer["prefilterNS"] + min(answer["allocateNS"], answer["allocateCPUNS"])
    every = answer["mode"] == Mode.ALL_NODES.value
    placed = [str(pod["nodesFound"]) if every else pod.get("node", "") for pod in answer["pods"]]
    return _Result(nanoseconds * 1e-9, placed, answer["timeouts"])


# --- growth


def _growth() -> None:
    """Hard scenarios, each twice and four times as large."""
    module = _peers_scenarios()
    families: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
        "pigeonhole": lambda n: module.hard_pigeonhole(7 * n),
        "count": lambda n: module.hard_count(7 * n),
        "match": lambda n: module.hard_match(5, 8 * n),
        "match, more requests": lambda n: module.hard_match(3 * n, 8),
        "match last": lambda n: module.hard_match_last(3 * n, 4),
        "distinct": lambda n: module.hard_distinct(7 * n),
        "claims": lambda n: module.hard_claims(8 * n, 4 * n),
        "counters, count": lambda n: module.hard_counters(2 * n, small=True),
        "counters, requests": lambda n: module.hard_counters(2 * n),
        "mig": module.hard_mig,
        "prioritized": lambda n: module.hard_prioritized(2 * n, 4, 8),
        "topology": lambda n: module.hard_topology(4 * n, 8, 4),
    }
    print(f"{'hard scenarios':36}{'1x':>11}{'2x':>11}{'4x':>11}{'per doubling':>18}")
    for name, make in families.items():
        times = []
        for size in (1, 2, 4):
            (scenario,) = make(size)
            times.append(min(_ask(scenario).seconds for _ in range(_ROUNDS)))
        steps = ", ".join(f"{after / before:.1f}x" for before, after in pairwise(times))
        print(f"{name:36}" + "".join(f"{each * 1e3:8.1f} ms" for each in times) + f"{steps:>18}", flush=True)


def _peers_scenarios() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peer_scenarios", shared() / "peer" / "scenarios.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- changes in a large cluster

_NODES, _DEVICES, _DRIVER = 5_000, 8, "gpu.example.com"


def _changes() -> None:
    """What a change costs among 5,000 nodes with 8 devices each, and how much memory those take."""
    cluster = _large_cluster()
    cluster.warm_up()
    pod = wanted_claim("pod")
    cluster.place([Claim(pod)], Mode.ALL_NODES, UNLIMITED)
    gc.collect()
    print(f"{_NODES:,} nodes with {_DEVICES} devices each{'':24}{'median':>11}{'worst':>11}")
    _latency("a slice changes", lambda index: cluster.put_slice(large_slice(index, f"H{index % 3}")))
    _latency(
        "the next pod after it",
        lambda _: cluster.place([Claim(pod)], Mode.ALL_NODES, UNLIMITED),
        before=cluster,
    )
    (shared_slice,) = decoded("ResourceSlice", [_slice_json(0, "net") | {"metadata": {"name": "net"}}])
    del shared_slice["spec"]["nodeName"]
    shared_slice["spec"]["allNodes"] = True
    shared_slice["spec"]["pool"]["name"] = "net"
    _latency("a slice for all nodes comes or goes", lambda index: _toggle(cluster, shared_slice, index))
    claims = [wanted_claim(f"held-{index}") for index in range(100)]
    _latency(
        "a pod is placed", lambda index: cluster.place([Claim(claims[index])], Mode.FIRST_FIT, UNLIMITED)
    )
    _latency("a claim is released", lambda index: cluster.release(key_of(claims[index])))
    _latency(
        "a node's labels change",
        lambda index: cluster.put_node(Node(f"node-{index}", {"changed": str(index)})),
    )
    program = [sys.executable, "-m", "tests.bench.allocator", "--memory"]
    print(
        f"{'memory of a process with that inventory':60}{subprocess.check_output(program, text=True).strip():>8}"
    )
    print(flush=True)


def _latency(title: str, change: Callable[[int], object], before: SchedulingState | None = None) -> None:
    times = []
    for index in range(100):
        if before is not None:
            before.put_slice(large_slice(index, f"B{index % 3}"))
        start = time.process_time()
        change(index)
        times.append(time.process_time() - start)
    times.sort()
    print(f"  {title:58}{times[50] * 1e3:8.2f} ms{times[-1] * 1e3:8.2f} ms")


def _toggle(cluster: SchedulingState, slice: dict[str, Any], index: int) -> None:
    if index % 2:
        cluster.remove_slice("net")
    else:
        cluster.put_slice(slice)


def _large_cluster() -> SchedulingState:
    replay = Replay(
        {
            "features": ["DRAConsumableCapacity", "DRADeviceTaints", "DRAPartitionableDevices"],
            "nodes": [_node(index) for index in range(_NODES)],
            "deviceClasses": [
                {
                    "metadata": {"name": "gpu"},
                    "spec": {"selectors": [_selects(f'device.driver == "{_DRIVER}"')]},
                }
            ],
            "resourceSlices": [],
            "pods": [],
        }
    )
    for index in range(_NODES):
        replay.cluster.put_slice(large_slice(index, f"H{index % 3}"))
    return replay.cluster


def _selects(expression: str) -> dict[str, Any]:
    return {"cel": {"expression": expression}}


def _node(index: int) -> dict[str, Any]:
    name = f"node-{index}"
    return {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}


def large_slice(index: int, model: str) -> dict[str, Any]:
    """A slice of the large cluster, decoded."""
    (found,) = decoded("ResourceSlice", [_slice_json(index, model)])
    return found


def _slice_json(index: int, model: str) -> dict[str, Any]:
    """A slice with GPUs as a driver describes them."""
    devices = [
        {
            "name": f"gpu-{gpu}",
            "attributes": {
                "model": {"string": model},
                "index": {"int": gpu},
                "type": {"string": "gpu"},
                "healthy": {"bool": True},
                "driverVersion": {"version": "1.2.3"},
                "uuid": {"string": f"GPU-{index:08d}-{gpu}"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{gpu // 2:02d}"},
            },
            "capacity": {"memory": {"value": "80Gi"}, "cores": {"value": "132"}},
        }
        for gpu in range(_DEVICES)
    ]
    pool = {"name": f"node-{index}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": _DRIVER, "nodeName": f"node-{index}", "pool": pool, "devices": devices}
    return {"metadata": {"name": f"slice-{index}"}, "spec": spec}


def wanted_claim(name: str) -> dict[str, Any]:
    """A claim for one of the GPUs of a model."""
    selector = _selects(f'device.attributes["{_DRIVER}"].model == "H1"')
    wanted = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, "selectors": [selector]}
    spec = {"devices": {"requests": [{"name": "gpu", "exactly": wanted}]}}
    (found,) = decoded("ResourceClaim", [{"metadata": {"name": name, "namespace": "bench"}, "spec": spec}])
    return found


def _memory() -> str:
    cluster = _large_cluster()
    cluster.warm_up()
    for index in range(10):
        cluster.place([Claim(wanted_claim(str(index)))], Mode.FIRST_FIT, UNLIMITED)
        cluster.place([Claim(wanted_claim(str(index)))], Mode.ALL_NODES, UNLIMITED)
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"


if __name__ == "__main__":
    main()
