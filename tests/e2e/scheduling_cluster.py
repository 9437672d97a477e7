"""A control plane with kube-scheduler and the scheduling sidecar, as they are deployed; every program can be killed.

kube-scheduler reaches the sidecar by a balancer that plays the Service.  Nodes are plain objects, so no pod ever runs.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import yaml

from commandline.manifests.options import BUILT_IN_GUARD, CRD_SERVED
from tests.e2e.balancer import Balancer
from tests.e2e.binaries import tool
from tests.e2e.control_plane import ApiServer, control_plane, free_port
from tests.e2e.deployed_scheduler import (
    SCHEDULER_NAME,
    add_accounts,
    authority,
    scheduler_configuration,
    sidecar_configuration,
)
from tests.e2e.etcd_history import KEEPS_HISTORY, STORES_JSON
from tests.e2e.programs import Program, running
from tests.e2e.ready_service import PERIOD_SECONDS, is_ready, ready_service

__all__ = ["SCHEDULER_NAME", "SchedulingCluster", "Sidecar", "scheduling_cluster", "until"]
PATIENCE_SECONDS = 120.0
QUERIES_PER_SECOND = 1000
"""What clients may ask of the API server, kube-scheduler's and kube-controller-manager's, with or without the sidecar."""

# Nodes that no kubelet reports on would be tainted after a minute, so there is no node lifecycle controller.
CONTROLLERS = (
    "resourceclaim-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "device-taint-eviction-controller",
)


def controller_flags_for(controllers: Sequence[str]) -> list[str]:
    """Of a kube-controller-manager with these controllers."""
    return [
        f"--controllers={','.join(controllers)}",
        f"--kube-api-qps={QUERIES_PER_SECOND}",
        f"--kube-api-burst={QUERIES_PER_SECOND}",
        "--concurrent-resourceclaim-syncs=50",
    ]


CONTROLLER_FLAGS = controller_flags_for(CONTROLLERS)
SERVER_FLAGS = [STORES_JSON, KEEPS_HISTORY]


class Sidecar(Program):
    """A replica of the sidecar, on a port that it keeps."""

    def __init__(self, config: Path, log: Path, port: int, authority: Path) -> None:
        command = str(Path(sys.executable).with_name("claimcheck"))
        super().__init__([command, "schedule", "--config", str(config)], log)
        self.config = config
        self.port = port
        self.authority = authority

    def leads(self) -> bool:
        """Whether it is ready for kube-scheduler."""
        return is_ready(self.port, self.authority)

    def is_warm(self) -> bool:
        """Whether it knows the cluster, and could lead at once."""
        return is_ready(self.port, self.authority, "/readyz/cluster")

    def restart(self, **sections: dict[str, Any]) -> None:
        """Stop it and start it again with other values in sections of its configuration."""
        self.stop()
        _change(self.config, sections)
        self.start()

    def logged(self) -> list[dict[str, Any]]:
        """The entries of its log so far."""
        entries = []
        for line in self.log.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                entries.append(json.loads(line))
        return entries


class SchedulingCluster:
    """The programs of the cluster, by what they are for."""

    def __init__(
        self,
        server: ApiServer,
        controllers: Program,
        scheduler: Program,
        sidecars: Sequence[Sidecar],
        service: Balancer | None,
    ) -> None:
        self.server = server
        self.client = server.client
        self.controllers = controllers
        self.scheduler = scheduler
        self.sidecars = list(sidecars)
        self.service = service

    def leader(self) -> Sidecar:
        """The sidecar that leads; waits for one."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            for each in self.sidecars:
                if each.is_running() and each.leads():
                    return each
            time.sleep(0.02)
        raise AssertionError(f"no sidecar leads: {[each.last_words(3) for each in self.sidecars]}")

    def leader_of_warm(self) -> Sidecar:
        """The sidecar that leads, once all others could."""
        until(lambda: all(each.is_warm() for each in self.sidecars), "some sidecars do not know the cluster")
        return self.leader()


def until(
    done: Callable[[], bool], otherwise: str | Callable[[], str], seconds: float = PATIENCE_SECONDS
) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError(otherwise if isinstance(otherwise, str) else otherwise())
        time.sleep(0.05)


@contextlib.contextmanager
def scheduling_cluster(
    *,
    replicas: int = 2,
    server_flags: Sequence[str] = SERVER_FLAGS,
    config: dict[str, Any] | None = None,
    address: Callable[[ApiServer, int], str] | None = None,
    beside: Callable[[ApiServer], AbstractContextManager[object]] = contextlib.nullcontext,
    controllers: Sequence[str] = CONTROLLERS,
    controller_flags: Sequence[str] = (),
    scheduler_flags: Sequence[str] = (),
    probe_seconds: float = PERIOD_SECONDS,
) -> Iterator[SchedulingCluster]:
    """Start all of it, ready to schedule; stop it at the end.

    :param replicas: how many sidecars; none for kube-scheduler with its own plugin.
    :param server_flags: of kube-apiserver.
    :param config: what the sidecars' configuration says besides.
    :param address: where a replica, by its number, is to reach the API server, if not directly.
    :param beside: what is there before anything else asks the API server.
    :param controllers: those of kube-controller-manager.
    :param controller_flags: further flags of it.
    :param scheduler_flags: further ones of kube-scheduler.
    :param probe_seconds: how often the sidecars are asked whether they are ready.
    """
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="claimcheck-scheduling-")))
        server = stack.enter_context(control_plane("1.37", flags=server_flags))
        stack.enter_context(beside(server))
        common = [f"--kubeconfig={server.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        flags = [*controller_flags_for(controllers), *controller_flags]
        manager = stack.enter_context(
            running([str(tool("kube-controller-manager")), *common, *flags], directory / "controllers.log")
        )
        add_accounts(server.client, CRD_SERVED if _is_crd_served(config or {}) else BUILT_IN_GUARD)
        sidecars = []
        for number in range(replicas):
            reached = address(server, number) if address else ""
            sidecars.append(_sidecar(directory, server, number, config or {}, reached))
            stack.callback(sidecars[-1].stop)
            sidecars[-1].start()
        service = None
        if sidecars:
            until(authority(directory).exists, "no sidecar has made a certificate")
            ports = [each.port for each in sidecars]
            service = stack.enter_context(ready_service(ports, authority(directory), probe_seconds))
        port = service.port if service else 0
        whole = scheduler_configuration(server, directory, port, QUERIES_PER_SECOND)
        file = directory / "scheduler.yaml"
        file.write_text(yaml.safe_dump(whole))
        command = [str(tool("kube-scheduler")), f"--config={file}", "--secure-port=0", *scheduler_flags]
        scheduler = stack.enter_context(running(command, directory / "scheduler.log"))
        cluster = SchedulingCluster(server, manager, scheduler, sidecars, service)
        if sidecars:
            cluster.leader()
        yield cluster


def _is_crd_served(config: dict[str, Any]) -> bool:
    return bool(config.get("apiServer", {}).get("serves") == "CustomResources")


def _sidecar(directory: Path, server: ApiServer, number: int, more: dict[str, Any], address: str) -> Sidecar:
    port = free_port()
    file = directory / f"sidecar-{number}.yaml"
    file.write_text(yaml.safe_dump(sidecar_configuration(server, directory, port, address)))
    _change(file, more)
    return Sidecar(file, directory / f"sidecar-{number}.log", port, authority(directory))


def _change(config: Path, sections: dict[str, dict[str, Any]]) -> None:
    whole = yaml.safe_load(config.read_text())
    for section, values in sections.items():
        whole[section] = {**whole.get(section, {}), **values}
    config.write_text(yaml.safe_dump(whole))
