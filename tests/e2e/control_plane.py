"""A real etcd and kube-apiserver on loopback, with the flags of a profile, for as long as a `with` block lasts."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.conformance.profiles import PROFILES
from tests.e2e.binaries import binaries, tool
from tests.e2e.client import Client
from tests.e2e.programs import Program, running

_START_SECONDS = 300
_TOKEN = "claimcheck-e2e"
_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "node-a"},
    "status": {"declaredFeatures": ["DRANodeAllocatableResources"]},
}
# It uses up what a node has.
_SLICE = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "of-node-a"},
    "spec": {
        "driver": "probe.example.com",
        "pool": {"name": "probe", "resourceSliceCount": 1},
        "nodeName": "node-a",
        "devices": [
            {"name": "d", "nodeAllocatableResources": {"cpu": {"mapping": {"deviceMultiplier": "2"}}}}
        ],
    },
}


class ApiServer(NamedTuple):
    """A running kube-apiserver: how to ask it, and a kubeconfig for programs that want one (cluster-admin)."""

    profile: str
    client: Client
    kubeconfig: Path
    etcd: str
    program: Program

    def start(self) -> None:
        """Start it again after it has been killed, ready for requests."""
        self.restart()

    def restart(self, *flags: str) -> None:
        """Stop it and start it again, ready for requests, with further flags, which overrule those before."""
        self.program.stop()
        self.program.start(*flags)
        _wait_until_ready(self.program, self.client)


@contextlib.contextmanager
def control_plane(profile: str, etcd: str = "", flags: Sequence[str] | None = None) -> Iterator[ApiServer]:
    """Start etcd and kube-apiserver of the release and with the flags of `profile`, ready for requests; stop both at the end.

    `etcd`: the URL of another server's etcd, to share what it stores instead of having an own one. `flags`: other
    flags than the profile's. The server has the namespace `default` and a node `node-a` that declares
    DRANodeAllocatableResources. Raises RuntimeError with the end of the log if it doesn't come up.
    """
    directory = binaries(PROFILES[profile].release)
    with contextlib.ExitStack() as stack:
        run = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="claimcheck-e2e-")))
        etcd_port, peer_port, port = _free_ports(3)
        shared = bool(etcd)
        if not shared:
            etcd = f"http://127.0.0.1:{etcd_port}"
            stack.enter_context(running(_etcd(directory, run, etcd, peer_port), run / "etcd.log"))
        command = _kube_apiserver(
            directory, run, etcd, port, PROFILES[profile].flags if flags is None else flags
        )
        program = stack.enter_context(running(command, run / "kube-apiserver.log"))
        client = _when_ready(program, run / "certs" / "apiserver.crt", port)
        stack.callback(client.close)
        answer = client.ask("POST", "/api/v1/nodes", _NODE)
        if answer.code != 201 and not shared:
            raise RuntimeError(f"no Node: {answer.body}")
        _wait_for_node(client)
        yield ApiServer(profile, client, kubeconfig(run / "kubeconfig", port, _TOKEN), etcd, program)


@contextlib.contextmanager
def component(server: ApiServer, name: str, flags: Sequence[str]) -> Iterator[Program]:
    """kube-scheduler or kube-controller-manager beside a server, with these flags; stopped at the end."""
    with tempfile.TemporaryDirectory(prefix="claimcheck-e2e-") as run:
        command = [
            str(tool(name, PROFILES[server.profile].release)),
            f"--kubeconfig={server.kubeconfig}",
            "--leader-elect=false",
        ]
        with running([*command, "--secure-port=0", *flags], Path(run) / f"{name}.log") as program:
            yield program


def free_port() -> int:
    """A port that nobody listens on now."""
    return _free_ports(1)[0]


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _etcd(directory: Path, run: Path, client: str, peer_port: int) -> list[str]:
    peer = f"http://127.0.0.1:{peer_port}"
    return [
        str(directory / "etcd"),
        f"--data-dir={run / 'etcd'}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=error",
    ]


def _kube_apiserver(directory: Path, run: Path, etcd: str, port: int, flags: Sequence[str]) -> list[str]:
    key = run / "service-account.key"
    subprocess.run(["openssl", "genrsa", "-out", str(key), "2048"], check=True, capture_output=True)
    tokens = run / "tokens.csv"
    tokens.write_text(f"{_TOKEN},admin,admin,system:masters\n")
    return [
        str(directory / "kube-apiserver"),
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={run / 'certs'}",
        "--service-account-issuer=https://claimcheck.invalid",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--token-auth-file={tokens}",
        "--authorization-mode=RBAC",
        "--disable-admission-plugins=ServiceAccount",
        *flags,
    ]


def _when_ready(program: Program, certificate: Path, port: int) -> Client:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and program.is_running():
        time.sleep(0.2)
        if not certificate.exists():
            continue
        try:
            client = Client(port, _TOKEN, str(certificate))
        except OSError:
            continue  # the certificate is half written
        _wait_until_ready(program, client)
        return client
    raise RuntimeError(f"kube-apiserver did not become ready:\n{program.last_words()}")


def _wait_until_ready(program: Program, client: Client) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and program.is_running():
        with contextlib.suppress(OSError):  # not listening yet
            if (
                client.ask("GET", "/readyz").code == 200
                and client.ask("GET", "/api/v1/namespaces/default").code == 200
            ):
                return
        time.sleep(0.1)
    raise RuntimeError(f"kube-apiserver did not become ready:\n{program.last_words()}")


def _wait_for_node(client: Client) -> None:
    """Wait until admission knows the node: it watches them. Where no feature asks for nodes, nobody needs to know."""
    path = "/apis/resource.k8s.io/v1/resourceslices"
    deadline = time.monotonic() + _START_SECONDS
    while 'node "node-a" not found' in str(client.ask("POST", path, _SLICE, {"dryRun": "All"}).body):
        if time.monotonic() > deadline:
            raise RuntimeError("kube-apiserver does not take notice of its node")
        time.sleep(0.1)


def kubeconfig(path: Path, port: int, token: str) -> Path:
    """Write a kubeconfig for somebody with a token; `path` is in the directory of the server."""
    server = {
        "server": f"https://127.0.0.1:{port}",
        "certificate-authority": str(path.parent / "certs" / "apiserver.crt"),
    }
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": server}],
        "users": [{"name": "e2e", "user": {"token": token}}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }
    path.write_text(json.dumps(config))
    return path
