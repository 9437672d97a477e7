"""What a service is like for others while a stranger's objects are there: how fast it answers, and how much memory it takes."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.deployed import NAMESPACE
from tests.e2e.deployed_scheduler import SIDECAR
from tests.e2e.ready_service import ReadinessProbe
from tests.e2e.scheduled_pods import Workloads
from tests.e2e.scheduling_cluster import SchedulingCluster
from tests.webhook.running import Running

NODES, GPUS = 200, 8
DRIVER = "gpu.example.com"
#: How often `/healthz` is asked, and how long an answer is waited for, in seconds.
_PERIOD_SECONDS, _LONGEST_SECONDS = 0.1, 60.0
_ONE_DEVICE: Object = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}


class Measured(NamedTuple):
    """A while in the life of a service.

    :param health: how long each answer of `/healthz` took, in seconds.
    :param waits: how long another tenant waited each time for what they wanted, in seconds.
    :param memory: the most that the service's processes had in memory, in bytes.
    """

    health: list[float]
    waits: list[float]
    memory: int


class Victim(ABC):
    """A service in a cluster of 200 nodes, a tenant who wants something of it now and then, and a namespace for an attacker."""

    def __init__(self, client: Client, port: int, authority: Path, pid: int) -> None:
        """Fill the cluster.

        :param port: where the service answers `/healthz`.
        :param authority: signs its certificate.
        :param pid: the process that it is, or whose children it is.
        """
        self.client = client
        self._port = port
        self._authority = authority
        self._pid = pid
        self._tenant = Workloads(client, "victim")
        self.attacker = Workloads(client, "attacker")
        for each in (self._tenant, self.attacker):
            each.add_namespace()
        self._tenant.add_class("gpu")
        for number in range(NODES):
            self._tenant.add_node(f"n{number}", [_slice(f"n{number}")])
        self._numbers = count()

    def measure(self, times: int) -> Measured:
        """Have the tenant get what they want so often, one after the other."""
        health: list[float] = []
        sizes: list[int] = []
        with self._watching(health, sizes):
            waited = [self._seconds(f"v{next(self._numbers)}") for _ in range(times)]
        return Measured(health, waited, max(sizes))

    @abstractmethod
    def _seconds(self, name: str) -> float:
        """How long it takes to get what the tenant wants, under a new name."""

    @contextlib.contextmanager
    def _watching(self, health: list[float], sizes: list[int]) -> Iterator[None]:
        ending = threading.Event()

        def watch() -> None:
            with contextlib.closing(ReadinessProbe(self._port, self._authority, _LONGEST_SECONDS)) as probe:
                is_over = False
                while not is_over:
                    begin = time.monotonic()
                    is_well = probe.is_ready("/healthz")
                    health.append(time.monotonic() - begin if is_well else _LONGEST_SECONDS)
                    sizes.append(_memory(self._pid))
                    is_over = ending.wait(_PERIOD_SECONDS)

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ending.set()
            thread.join()


class SchedulingVictim(Victim):
    """The sidecar, and a tenant whose pods are to be bound."""

    def __init__(self, cluster: SchedulingCluster) -> None:
        leader = cluster.leader_of_warm()
        super().__init__(cluster.client, leader.port, leader.authority, leader.pid)

    def transitions(self) -> int:
        """How often the Lease has changed hands."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{SIDECAR}"
        return int(self.client.ask("GET", path).body["spec"].get("leaseTransitions", 0))

    def _seconds(self, name: str) -> float:
        """Of a pod for its node; a node changes before, as nodes do now and then."""
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


class WebhookVictim(Victim):
    """The webhook, and a tenant whose claims are to be admitted."""

    def __init__(self, client: Client, service: Running) -> None:
        super().__init__(client, service.port, service.authority, service.process.pid)

    def is_asked(self) -> bool:
        """Whether claims are reviewed, by a service that knows the classes."""
        asked = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "none"}}]}}
        answer = self._tenant.create_claim(f"asked-{next(self._numbers)}", asked)
        return any("there is no DeviceClass" in each for each in answer.warnings)

    def _seconds(self, name: str) -> float:
        """Of a claim until it has been created."""
        begin = time.monotonic()
        answer = self._tenant.create_claim(name, _ONE_DEVICE)
        assert answer.code == 201, answer.body
        return time.monotonic() - begin


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


def _memory(pid: int) -> int:
    """What a process and its children have in memory, in bytes, pages that they share counted once for each."""
    page, found = os.sysconf("SC_PAGE_SIZE"), 0
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(OSError):  # it may have ended
                parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
                if pid in (int(process.name), parent):
                    found += int((process / "statm").read_text().split()[1]) * page
    return found
