"""`python -m tests.bench.telling`: how soon `watch` tells pods why they wait, and what kube-scheduler does beside it.

Each round is two runs, one without `watch` and one with it, in turns the first; each has a fresh control plane with 100 nodes of 8
devices and 300 pods that come at once, of which 30 fit nowhere. Printed are the pods that kube-scheduler binds in a second until the last
one that fits is bound, the processor's seconds of it and of `watch`, and the seconds from the first refusal of each pod that stays until
its Event, both as the API server tells somebody who watches. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

from resourceapi.manifests import entries, mapping, text
from resourceapi.objects import Object
from tests.bench.load import cpu_seconds, resident
from tests.e2e import live_impact
from tests.e2e.control_plane import free_port
from tests.e2e.live_objects import LiveObjects
from tests.e2e.many_pods import cluster_objects, pods_at_once
from tests.e2e.programs import Program
from tests.e2e.scheduling_cluster import until
from tests.e2e.test_watch import grant, watching
from tests.e2e.watch_recorder import WatchRecorder

_NAMESPACE, _CONTROLLER = "team", "claimcheck-watch"
_SECONDS = 300.0
_PATHS = {"pods": "/api/v1/pods", "events": f"/apis/events.k8s.io/v1/namespaces/{_NAMESPACE}/events"}


class _Run(NamedTuple):
    """What a run has shown; `told`: the seconds until each pod was told."""

    rate: float
    scheduler: float
    watch: float
    mebibytes: float
    told: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.telling")
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods", type=int, default=300)
    parser.add_argument("--impossible", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only-with", action="store_true", help="no runs without `watch`")
    parser.add_argument(
        "--niceness", type=int, default=0, help="of `watch`; 10 is about the weight that its requests give it"
    )
    options = parser.parse_args()
    rates: dict[bool, list[float]] = {False: [], True: []}
    for number in range(options.rounds):
        for with_watch in (True,) if options.only_with else ((False, True), (True, False))[number % 2]:
            run = _run(options, with_watch)
            rates[with_watch].append(run.rate)
            print(_line(with_watch, run), flush=True)
    for with_watch, found in rates.items():
        if found:
            print(f"median {'with' if with_watch else 'without'}: {median(found):.2f} pods/s")


def _line(with_watch: bool, run: _Run) -> str:
    line = f"{'with' if with_watch else 'without':8}{run.rate:6.2f} pods/s, kube-scheduler {run.scheduler:.1f} s of a processor"
    if not with_watch:
        return line
    told = sorted(run.told)
    return (
        f"{line}, watch {run.watch:.1f} s, {run.mebibytes:.0f} MiB; {len(told)} told after {median(told):.2f} s (median), "
        f"{told[-1]:.2f} s (most)"
    )


def _run(options: argparse.Namespace, with_watch: bool) -> _Run:
    pods, impossible = options.pods, options.impossible
    with (
        live_impact.cluster_and_scheduler() as (server, scheduler),
        tempfile.TemporaryDirectory() as directory,
    ):
        grant(server)
        there = LiveObjects(server.client, [_NAMESPACE])
        for each in cluster_objects(options.nodes):
            there.make(each)
        with contextlib.ExitStack() as stack:
            seen = _Seen(stack.enter_context(WatchRecorder(server.client, _PATHS)))
            program: Program | None = None
            if with_watch:
                port = str(free_port())
                program = stack.enter_context(watching(server, Path(directory) / "watch.log", "--port", port))
                os.setpriority(os.PRIO_PROCESS, program.pid, options.niceness)
                time.sleep(5.0)  # it has begun before the pods come
            used = cpu_seconds([scheduler.pid])
            begun = time.monotonic()
            for each in pods_at_once(pods, impossible):
                there.make(each)
            until(lambda: seen.bound() == pods - impossible, "some are not bound", _SECONDS)
            if program is not None:
                until(lambda: seen.untold() == set(), "some are not told", _SECONDS)
            return _Run(
                (pods - impossible) / (max(seen.bound_at.values()) - begun),
                cpu_seconds([scheduler.pid]) - used,
                cpu_seconds([program.pid]) if program else 0.0,
                resident([program.pid]) if program else 0.0,
                seen.seconds(),
            )


class _Seen:
    """When pods were first refused, bound and told, as somebody sees it who watches."""

    def __init__(self, recorder: WatchRecorder) -> None:
        self._recorder = recorder
        self._read = dict.fromkeys(recorder.seen, 0)
        self.bound_at: dict[str, float] = {}
        self._refused_at: dict[str, float] = {}
        self._told_at: dict[str, float] = {}

    def bound(self) -> int:
        """How many are bound."""
        for at, pod in self._new("pods"):
            name, conditions = pod["metadata"]["name"], entries(mapping(pod, "status"), "conditions")
            if text(pod["spec"], "nodeName"):
                self.bound_at.setdefault(name, at)
            if any(
                text(each, "type") == "PodScheduled" and text(each, "status") == "False"
                for each in conditions
            ):
                self._refused_at.setdefault(name, at)
        return len(self.bound_at)

    def untold(self) -> set[str]:
        """The pods that are refused, on no node, and not told why."""
        self.bound()
        for at, event in self._new("events"):
            if event["reportingController"] == _CONTROLLER:
                self._told_at.setdefault(event["regarding"]["name"], at)
        return self._refused_at.keys() - self.bound_at.keys() - self._told_at.keys()

    def seconds(self) -> list[float]:
        """How long each pod that stays was not told."""
        staying = self._told_at.keys() - self.bound_at.keys()
        return [self._told_at[name] - self._refused_at[name] for name in staying]

    def _new(self, resource: str) -> Iterator[tuple[float, Object]]:
        lines = self._recorder.seen[resource]
        end = len(lines)
        for at, line in lines[self._read[resource] : end]:
            event = json.loads(line)
            if event["type"] in ("ADDED", "MODIFIED"):
                yield at, event["object"]
        self._read[resource] = end


if __name__ == "__main__":
    main()
