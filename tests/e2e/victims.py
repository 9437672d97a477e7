"""What a service is like for others while a stranger's objects are there: how fast it answers, and how much memory it takes."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.ready_service import ReadinessProbe
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import SchedulingCluster, Sidecar

NODES, GPUS = 200, 8
DRIVER = "gpu.example.com"
#: How often `/healthz` is asked, and how long an answer is waited for, in seconds.
_PERIOD_SECONDS, _LONGEST_SECONDS = 0.1, 60.0
_ONE_DEVICE: Object = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}


class Measured(NamedTuple):
    """A while in the life of a service.

    :param health: how long each answer of `/healthz` took, in seconds.
    :param binds: how long each pod of others waited for its node, in seconds.
    :param memory: the most that the service's processes had in memory, in bytes.
    """

    health: list[float]
    binds: list[float]
    memory: int


class Victim:
    """The sidecar in a cluster of 200 nodes, a tenant who makes a pod now and then, and a namespace for an attacker."""

    def __init__(self, cluster: SchedulingCluster) -> None:
        """Fill the cluster."""
        self.sidecar: Sidecar = cluster.leader()
        self.client: Client = cluster.client
        self._tenant = Workloads(cluster.client, "victim")
        self.attacker = Workloads(cluster.client, "attacker")
        for each in (self._tenant, self.attacker):
            each.add_namespace()
        self._tenant.add_class("gpu")
        for number in range(NODES):
            self._tenant.add_node(f"n{number}", [_slice(f"n{number}")])
        self._numbers = count()

    def measure(self, binds: int) -> Measured:
        """Have so many pods bound, one after the other; before each of them a node changes, as nodes do now and then."""
        health: list[float] = []
        sizes: list[int] = []
        with self._watching(health, sizes):
            waited = [self._seconds_of_bind() for _ in range(binds)]
        return Measured(health, waited, max(sizes))

    def _seconds_of_bind(self) -> float:
        name = f"v{next(self._numbers)}"
        changed = self.client.ask(
            "PATCH",
            "/api/v1/nodes/n0",
            {"metadata": {"labels": {"changed": name}}},
            content_type="application/merge-patch+json",
        )
        assert changed.code == 200, changed.body
        begin = time.monotonic()
        self._tenant.run(name, _ONE_DEVICE)
        self._tenant.bound(name)
        return time.monotonic() - begin

    @contextlib.contextmanager
    def _watching(self, health: list[float], sizes: list[int]) -> Iterator[None]:
        ending = threading.Event()

        def watch() -> None:
            with contextlib.closing(
                ReadinessProbe(self.sidecar.port, self.sidecar.authority, _LONGEST_SECONDS)
            ) as probe:
                while not ending.is_set():
                    begin = time.monotonic()
                    is_well = probe.is_ready("/healthz")
                    health.append(time.monotonic() - begin if is_well else _LONGEST_SECONDS)
                    sizes.append(_memory(self.sidecar.pid))
                    ending.wait(_PERIOD_SECONDS)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()


def _slice(node: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": node},
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{place}"} for place in range(GPUS)],
        },
    }


def _memory(group: int) -> int:
    """What the processes of a group have in memory, in bytes, pages that they share counted once for each."""
    page, found = os.sysconf("SC_PAGE_SIZE"), 0
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):  # it may have ended
                if os.getpgid(int(process.name)) == group:
                    found += int((process / "statm").read_text().split()[1]) * page
    return found
