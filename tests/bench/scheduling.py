"""`python -m tests.bench.scheduling`: pods with claims per second, by the sidecar beside kube-scheduler's own plugin.

Each round has a fresh control plane, with equal raised limits of all clients. Times are from the creation of a pod to its
binding. Where the time goes: the processor seconds of each program, and of the sidecar how long each verb takes.

`--hard 5`: of the pods, so many percent ask for what no node has. `--driver FILE`: another program makes the load; it is called
with `--server URL --token TOKEN --nodes N --pods N --hard PERCENT --scheduler NAME --timeout SECONDS --seed N`.
`--large`: 5,000 nodes; also what the sidecar takes in memory.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from typing import Any, NamedTuple

from tests.bench.load import cpu_seconds, resident
from tests.e2e import fleet
from tests.e2e.allocation_history import Judge
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, SchedulingCluster, scheduling_cluster
from tests.e2e.watch_recorder import WatchRecorder

PLUGIN, SIDECAR = "plugin", "sidecar"
#: How often kubelet asks whether a pod is ready, as the manifests have it.
KUBELET_SECONDS = 1.0
_TOKEN_WORDS = re.compile(r'(\w+)="([^"]*)"')
_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")


class Outcome(NamedTuple):
    """What a round has shown; `half` and `nearly_all` of the pods are bound within so many seconds."""

    placeable: int
    bound: int
    seconds: float
    half: float
    nearly_all: float
    faults: list[str]


def percentile(ordered: list[float], percent: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scheduling")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--hard", type=int, nargs="*", default=[0, 5], metavar="PERCENT")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--replicas", type=int, default=1, help="of the sidecar")
    parser.add_argument("--only", choices=[PLUGIN, SIDECAR])
    parser.add_argument("--driver", metavar="FILE")
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    if options.large:
        options.nodes = 5000
    print(f"{options.nodes} nodes of {fleet.GPUS} GPUs, {options.pods} pods")
    print(f"{'':26}{'bound':>10}{'pods/s':>9}{'p50 s':>8}{'p99 s':>8}{'faults':>8}")
    for hard in options.hard:
        for _ in range(options.rounds):
            for name in (PLUGIN, SIDECAR):
                if options.only in (None, name):
                    _round(name, hard, options)


def _round(name: str, hard: int, options: argparse.Namespace) -> None:
    replicas = options.replicas if name == SIDECAR else 0
    with scheduling_cluster(replicas=replicas, server_flags=[], probe_seconds=KUBELET_SECONDS) as cluster:
        programs = _programs(cluster)
        before = {program: cpu_seconds(pids) for program, pids in programs.items()}
        outcome = _driven(cluster, hard, options) if options.driver else _own_load(cluster, hard, options)
        used = {program: cpu_seconds(pids) - before[program] for program, pids in programs.items()}
        rate = outcome.bound / outcome.seconds
        print(
            f"{f'{name}, {hard}% impossible':26}{f'{outcome.bound}/{outcome.placeable}':>10}{rate:9.1f}"
            f"{outcome.half:8.2f}{outcome.nearly_all:8.2f}{len(outcome.faults):8}"
        )
        for fault in outcome.faults[:5]:
            print(f"    {fault}")
        print("    CPU s: " + ", ".join(f"{program} {seconds:.1f}" for program, seconds in used.items()))
        if cluster.sidecars:
            memory = ", ".join(f"{resident(each.processes()):.0f}" for each in cluster.sidecars)
            print(f"    sidecar's memory, MiB: {memory}")
            _print_verbs(cluster)
        sys.stdout.flush()


def _programs(cluster: SchedulingCluster) -> dict[str, list[int]]:
    found = {
        "kube-apiserver": cluster.server.program.processes(),
        "kube-scheduler": cluster.scheduler.processes(),
        "kube-controller-manager": cluster.controllers.processes(),
    }
    if cluster.sidecars:
        found["sidecar"] = [pid for each in cluster.sidecars for pid in each.processes()]
    return found


def _own_load(cluster: SchedulingCluster, hard: int, options: argparse.Namespace) -> Outcome:
    kinds = fleet.kinds(options.pods, seed=options.seed, hard=hard)
    placeable = sum(kind != fleet.HARD for kind in kinds)
    with WatchRecorder(cluster.client) as recorder:
        fleet.prepare(cluster.client, options.nodes)
        _settle(cluster)
        created: dict[str, float] = {}
        start = time.monotonic()

        def note(name: str) -> None:
            created[name] = time.monotonic()

        fleet.submit(cluster.client, enumerate(kinds), SCHEDULER_NAME, note)
        bound: dict[str, float] = {}
        seen = 0
        while len(bound) < placeable and time.monotonic() < start + options.timeout:
            time.sleep(0.1)
            new = recorder.seen["pods"][seen:]
            seen += len(new)
            for seconds, line in new:
                if b'"nodeName":"' in line:  # not every event is worth being decoded
                    name = json.loads(line)["object"]["metadata"]["name"]
                    if int(name[1:]) < options.pods:  # not the one for which it was waited before
                        bound.setdefault(name, seconds)
        time.sleep(2)
    judge = Judge()
    judge.see_all(recorder.changes())
    seconds = (max(bound.values()) if len(bound) >= placeable else time.monotonic()) - start
    latencies = sorted(at - created[name] for name, at in bound.items() if name in created)
    of_kind = Counter(kinds[int(name[1:])] for name in bound if name in created)
    faults = judge.faults + [leak for leak in judge.leaks() if "finalizer" not in leak]
    if of_kind[fleet.HARD]:
        faults.append("a pod is bound that no node has enough GPUs for")
    half, nearly_all = percentile(latencies, 50), percentile(latencies, 99)
    return Outcome(placeable, len(latencies), seconds, half, nearly_all, faults)


def _settle(cluster: SchedulingCluster) -> None:
    """Wait until all know the devices: a pod that comes after them has been bound, and is gone again."""
    body = fleet.pod(99_999, "one", SCHEDULER_NAME)
    fleet.post(cluster.client, fleet.PODS, body)
    path = f"{fleet.PODS}/{body['metadata']['name']}"
    deadline = time.monotonic() + 120
    while not cluster.client.ask("GET", path).body["spec"].get("nodeName"):
        if time.monotonic() > deadline:
            raise SystemExit(f"not even one pod is bound: {cluster.client.ask('GET', path).body['status']}")
        time.sleep(0.1)
    cluster.client.ask("DELETE", path)
    while (
        cluster.client.ask("GET", path).code != 404 or cluster.client.ask("GET", fleet.CLAIMS).body["items"]
    ):
        time.sleep(0.1)


def _driven(cluster: SchedulingCluster, hard: int, options: argparse.Namespace) -> Outcome:
    access = json.loads(cluster.server.kubeconfig.read_text())
    arguments = {
        "server": access["clusters"][0]["cluster"]["server"],
        "token": access["users"][0]["user"]["token"],
        "nodes": options.nodes,
        "pods": options.pods,
        "hard": hard,
        "scheduler": SCHEDULER_NAME,
        "timeout": options.timeout,
        "seed": options.seed,
    }
    command = [sys.executable, options.driver]
    for name, value in arguments.items():
        command += [f"--{name}", str(value)]
    ended = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    try:
        said: Any = json.loads(ended.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        raise SystemExit(f"{options.driver} says:\n{ended.stdout}") from None
    half, nearly_all = (float("nan") if said[name] is None else said[name] for name in ("p50_s", "p99_s"))
    faults = list(said["wrong"]) + [f"{said['allocated_without_pod']} allocations are held by nobody"] * bool(
        said["allocated_without_pod"]
    )
    return Outcome(said["placeable"], said["bound"], said["seconds"], half, nearly_all, faults)


def _print_verbs(cluster: SchedulingCluster) -> None:
    """How often the leader was asked for each verb, and how long that took."""
    samples = _metrics(cluster)
    verbs = sorted({labels["verb"] for name, labels, _ in samples if name.endswith("_latency_seconds_count")})
    for verb in verbs:
        of_verb = [(name, labels, value) for name, labels, value in samples if labels.get("verb") == verb]
        count = sum(value for name, _, value in of_verb if name.endswith("_latency_seconds_count"))
        total = sum(value for name, _, value in of_verb if name.endswith("_latency_seconds_sum"))
        if not count:
            continue
        buckets = [
            (float(labels["le"]), value)
            for name, labels, value in of_verb
            if name.endswith("_latency_seconds_bucket")
        ]
        at_most = min((limit for limit, value in buckets if value >= 0.99 * count), default=float("inf"))
        print(
            f"    {verb}: {count:.0f} calls, {total:.1f} s, mean {total / count * 1e3:.1f} ms, p99 <= {at_most * 1e3:g} ms"
        )


def _metrics(cluster: SchedulingCluster) -> list[tuple[str, dict[str, str], float]]:
    leader = cluster.leader()
    context = ssl.create_default_context(cafile=str(leader.authority))
    with urllib.request.urlopen(f"https://127.0.0.1:{leader.port}/metrics", context=context) as answer:
        lines = answer.read().decode().splitlines()
    matches = [match for line in lines if (match := _SAMPLE.match(line))]
    return [(each[1], dict(_TOKEN_WORDS.findall(each[2] or "")), float(each[3])) for each in matches]


if __name__ == "__main__":
    main()
