"""A control plane of 1.30, the last release with classic DRA: etcd, kube-apiserver, controllers and kube-scheduler.

Nodes are plain objects, so no pod ever runs. An audit log has every write to claims, PodSchedulingContexts and pods.
"""

from __future__ import annotations

import contextlib
import json
import re
import ssl
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from resourceapi.objects import Object
from tests.conformance.profiles import PROFILES
from tests.e2e.binaries import CLASSIC, tool
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane, free_port
from tests.e2e.programs import Program, running
from tests.e2e.scheduling_cluster import QUERIES_PER_SECOND, until

__all__ = ["GROUP", "ClassicCluster", "classic_cluster", "node", "until"]

GROUP = "/apis/resource.k8s.io/v1alpha2"
_PROFILE = "1.30-classic"
_GATE = "--feature-gates=DynamicResourceAllocation=true"
# No node lifecycle controller: nodes that no kubelet reports on would be tainted after a minute.
_CONTROLLERS = ("resourceclaim-controller", "garbage-collector-controller", "namespace-controller")
# Admission would taint new nodes as not ready.
_SERVER_FLAGS = (*PROFILES[_PROFILE].flags, "--disable-admission-plugins=TaintNodesByCondition")
_WRITES = ["create", "update", "patch", "delete"]
_RECORDED = [
    {"group": "resource.k8s.io", "resources": ["resourceclaims", "resourceclaims/status"]},
    {"group": "resource.k8s.io", "resources": ["podschedulingcontexts", "podschedulingcontexts/status"]},
    {"group": "", "resources": ["pods", "pods/binding", "pods/status"]},
]
_AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "RequestResponse", "verbs": _WRITES, "resources": _RECORDED}, {"level": "None"}],
}


class ClassicCluster:
    """The programs of the cluster: each can be stopped, killed and started again."""

    def __init__(
        self, server: ApiServer, controllers: Program, scheduler: Program, directory: Path, port: int
    ) -> None:
        self.server = server
        self.client: Client = server.client
        self.kubeconfig = server.kubeconfig
        self.controllers = controllers
        self.scheduler = scheduler
        self.audit_log = directory / "audit.log"
        self._port = port
        self._tls = ssl.create_default_context(cafile=str(directory / "kube-scheduler.crt"))

    def make(self, path: str, *bodies: Object) -> None:
        """Create objects in the collection at a path, such as `f"{GROUP}/resourceclasses"`."""
        for body in bodies:
            answer = self.client.ask("POST", path, body)
            if answer.code >= 300:
                raise RuntimeError(f"{path}: {answer.code} {answer.body}")

    def add_nodes(self, *nodes: Object) -> None:
        """Create nodes that are ready, each with its status."""
        for each in nodes:
            self.make("/api/v1/nodes", each)
            path = f"/api/v1/nodes/{each['metadata']['name']}/status"
            patch = {"status": each["status"]}
            self.client.ask("PATCH", path, patch, content_type="application/merge-patch+json")

    def metric(self, name: str) -> float:
        """The sum of kube-scheduler's samples of that name, such as `scheduler_pod_scheduling_attempts_sum`."""
        url = f"https://localhost:{self._port}/metrics"
        with urllib.request.urlopen(url, context=self._tls) as answer:
            text = answer.read().decode()
        samples = re.findall(rf"^{re.escape(name)}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for value in samples)

    def writes(self) -> list[dict[str, Any]]:
        """The audit events of successful writes so far, in their order: verb, user, userAgent, objectRef, bodies."""
        events = []
        for line in self.audit_log.read_text().splitlines(keepends=True):
            if line.endswith("\n"):  # else it is being written
                event = json.loads(line)
                if event["stage"] == "ResponseComplete" and event["responseStatus"]["code"] < 300:
                    events.append(event)
        return events


def node(name: str, cpu: str = "4", labels: dict[str, str] | None = None) -> Object:
    """A plain node that is ready."""
    resources = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "status": {"capacity": resources, "allocatable": resources, "conditions": [ready]},
    }


@contextlib.contextmanager
def classic_cluster(
    nodes: int | Sequence[Object] = 3,
    *,
    server_flags: Sequence[str] = (),
    scheduler_flags: Sequence[str] = ("--v=5",),
    scheduler_config: dict[str, Any] | None = None,
    controller_flags: Sequence[str] = (),
) -> Iterator[ClassicCluster]:
    """Start all of it, with its nodes, ready to schedule; stop it at the end.

    :param nodes: the nodes, or how many plain ones: `node-1`, `node-2` …
    :param server_flags: further ones of kube-apiserver.
    :param scheduler_flags: of kube-scheduler; `--v=5` has its log tell why the plugin turns pods down.
    :param scheduler_config: further fields of its KubeSchedulerConfiguration, such as `podInitialBackoffSeconds`.
    :param controller_flags: further ones of kube-controller-manager.
    """
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="claimcheck-classic-")))
        flags = [*_SERVER_FLAGS, *_audit_flags(directory), *server_flags]
        server = stack.enter_context(control_plane(_PROFILE, flags=flags))
        stack.callback(server.program.kill)  # it would wait for whoever still watches something
        server.client.ask("DELETE", "/api/v1/nodes/node-a")  # it has no room for any pod
        controllers = stack.enter_context(
            running(_controllers(server, controller_flags), directory / "controllers.log")
        )
        port = free_port()
        scheduler = stack.enter_context(
            running(
                _scheduler(server, directory, port, scheduler_config or {}, scheduler_flags),
                directory / "scheduler.log",
            )
        )
        certificate = directory / "kube-scheduler.crt"
        until(
            lambda: certificate.exists() or not scheduler.is_running(), "kube-scheduler makes no certificate"
        )
        until(lambda: _is_listening(port) or not scheduler.is_running(), "kube-scheduler does not listen")
        if not scheduler.is_running():
            raise RuntimeError(f"kube-scheduler did not start:\n{scheduler.last_words()}")
        cluster = ClassicCluster(server, controllers, scheduler, directory, port)
        cluster.add_nodes(
            *([node(f"node-{each + 1}") for each in range(nodes)] if isinstance(nodes, int) else nodes)
        )
        yield cluster


def _audit_flags(directory: Path) -> list[str]:
    policy = directory / "audit-policy.json"
    policy.write_text(json.dumps(_AUDIT_POLICY))
    # Each event is in the file before the request is answered.
    return [
        f"--audit-policy-file={policy}",
        f"--audit-log-path={directory / 'audit.log'}",
        "--audit-log-mode=blocking",
    ]


def _controllers(server: ApiServer, more: Sequence[str]) -> list[str]:
    return [
        str(tool("kube-controller-manager", CLASSIC)),
        f"--kubeconfig={server.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        _GATE,
        f"--controllers={','.join(_CONTROLLERS)}",
        f"--kube-api-qps={QUERIES_PER_SECOND}",
        f"--kube-api-burst={QUERIES_PER_SECOND}",
        *more,
    ]


def _scheduler(
    server: ApiServer, directory: Path, port: int, config: dict[str, Any], more: Sequence[str]
) -> list[str]:
    whole = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {
            "kubeconfig": str(server.kubeconfig),
            "qps": QUERIES_PER_SECOND,
            "burst": QUERIES_PER_SECOND,
        },
        **config,
    }
    file = directory / "scheduler.json"
    file.write_text(json.dumps(whole))
    return [
        str(tool("kube-scheduler", CLASSIC)),
        f"--config={file}",
        _GATE,
        f"--secure-port={port}",
        "--bind-address=127.0.0.1",
        f"--cert-dir={directory}",
        "--authorization-always-allow-paths=/metrics,/healthz",
        *more,
    ]


def _is_listening(port: int) -> bool:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{port}/healthz", context=context) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
