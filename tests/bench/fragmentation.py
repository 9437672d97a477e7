"""`python -m tests.bench.fragmentation [SEEDS]`: how many pods the objectives place on GPUs that can be partitioned.

The pods of each line fill all GPUs exactly, so the optimum is known. With `../shared/peer/scenarios.py` (or that of
CLAIMCHECK_SHARED) its `fragmentation-*` scenarios come first. Nothing is asserted; the last lines add up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from allocator.features import GATES, Features
from allocator.packing import pack
from allocator.scheduling import Mode, SchedulingState
from allocator.simulation import UNHURRIED, Placement, Pod, Simulation
from allocator.time_limit import UNLIMITED
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import read_device_class
from resourceapi.records.nodes import read_node
from tests.allocator.mig import ARRIVALS, LAYOUTS, gpus, pods, random_layouts, wanted
from tests.allocator.objects import decoded

_NODES, _GPUS = 4, 4
_SHARED = Path(os.environ.get("CLAIMCHECK_SHARED") or Path(__file__).parents[3] / "shared")
Line = tuple[str, int, int, int, int]
"""Name, pods, and how many of them first-fit, best-fit and a batch place."""


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print(f"{'':44}{'pods':>6}{'first-fit':>11}{'best-fit':>10}{'batch':>7}{'ms per pod':>12}")
    lines = [*_measured(), *_fresh(seeds)]
    worse = sum(best < first for _, _, first, best, _ in lines)
    better = sum(best > first for _, _, first, best, _ in lines)
    full = sum(first == count for _, count, first, _, _ in lines)
    batches = [(batch, count) for _, count, _, _, batch in lines if batch >= 0]
    print(
        f"best-fit places more on {better}, fewer on {worse} of {len(lines)}; first-fit places all on {full}"
    )
    print(f"batches place all on {sum(batch == count for batch, count in batches)} of {len(batches)}")


def _fresh(seeds: int) -> Iterator[Line]:
    for family, layouts in LAYOUTS.items():
        for arrival in ARRIVALS:
            for seed in range(1000, 1000 + seeds):
                profiles = wanted(_NODES * _GPUS, layouts, arrival, Random(f"{family} {seed}"))
                yield _line(f"{family}, {arrival}, {seed}", gpus(_NODES, _GPUS), pods(profiles))

    for arrival in ARRIVALS:
        for seed in range(1000, 1000 + seeds):
            random = Random(f"random {seed}")
            profiles = wanted(_NODES * _GPUS, random_layouts(5, random), arrival, random)
            yield _line(f"random layouts, {arrival}, {seed}", gpus(_NODES, _GPUS), pods(profiles))


def _line(name: str, cluster: SchedulingState, asked: list[Pod]) -> Line:
    simulation = Simulation(cluster, UNHURRIED)
    first = _placed(simulation.run(asked, Mode.FIRST_FIT))
    simulation.reset()
    start = time.process_time()
    best = _placed(simulation.run(asked, Mode.BEST_FIT))
    spent = (time.process_time() - start) / len(asked) * 1e3
    batch = _placed(pack(simulation, asked))
    print(f"{name:44}{len(asked):6}{first:11}{best:10}{batch:7}{spent:12.1f}", flush=True)
    return name, len(asked), first, best, batch


def _placed(placements: list[Placement]) -> int:
    return sum(bool(each.node) for each in placements)


def _measured() -> Iterator[Line]:
    """The scenarios of the peer's generator, if that is there."""
    generator = _SHARED / "peer" / "scenarios.py"
    if not generator.exists():
        return
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, str(generator), name, "fragmentation"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        for file in sorted(Path(name).glob("fragmentation-*.json")):
            yield _scenario(json.loads(file.read_text(encoding="utf-8")))


def _scenario(scenario: Object) -> Line:
    asked = [
        Pod(
            pod["name"],
            {each["metadata"]["name"]: Claim(decoded("ResourceClaim", each)) for each in pod["claims"]},
        )
        for pod in scenario["pods"]
    ]
    if not any(pod.get("release") for pod in scenario["pods"]):
        return _line(scenario["name"], _cluster(scenario), asked)
    first, best = (_churn(scenario, asked, mode) for mode in (Mode.FIRST_FIT, Mode.BEST_FIT))
    print(f"{scenario['name']:44}{len(asked):6}{first:11}{best:10}", flush=True)
    return scenario["name"], len(asked), first, best, -1


def _cluster(scenario: Object) -> SchedulingState:
    gates = GATES if "all" in scenario["features"] else scenario["features"]
    classes = [read_device_class(decoded("DeviceClass", each)) for each in scenario["deviceClasses"]]
    slices = [decoded("ResourceSlice", each) for each in scenario["resourceSlices"]]
    by_name = {each.name: each for each in classes}
    return SchedulingState(Features(gates), filter(None, map(read_node, scenario["nodes"])), by_name, slices)


def _churn(scenario: Object, asked: list[Pod], mode: Mode) -> int:
    """Pods that come and go: claims are released before later pods come."""
    cluster = _cluster(scenario)
    claims = {name: claim for pod in asked for name, claim in pod.claims.items()}
    placed = 0
    for pod, described in zip(asked, scenario["pods"], strict=True):
        for name in described.get("release") or ():
            cluster.release(claims[name].key)
        placed += bool(cluster.place(list(pod.claims.values()), mode, UNLIMITED).placed)
    return placed


if __name__ == "__main__":
    main()
