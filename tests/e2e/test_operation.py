"""What an operator does, and what befalls a service, under a steady load through a real API server.

Two replicas share their certificates in a Secret of the cluster and stand behind a TCP balancer.  Run with `-s` to see
the figures.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from cryptography import x509

from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import BUNDLE, Terms
from tests.e2e.balancer import Balancer, balancing
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.deployed import LONGEST_WAIT
from tests.e2e.test_webhook import POLICIES, connection_to, create, namespace, register, until
from tests.webhook.examples import claim
from tests.webhook.running import PATIENCE_SECONDS, Running, running, write_config

NAME, PLACE = "claimcheck-operated", "operated"
SECRET, SYSTEM = "claimcheck-certificates", "claimcheck-system"
CONFIGURATION = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{NAME}"
SECRET_PATH = f"/api/v1/namespaces/{SYSTEM}/secrets/{SECRET}"
CLIENTS, KILLS = 8, 6
# An authority for 3 min, leaves for 1 min; a new authority is trusted for 27 s before it signs.
LIVES = {"authorityDays": 180 / 86_400, "leafDays": 60 / 86_400, "trustLeadHours": 27 / 3_600}
TIMEOUTS = {"lameDuck": 2, "drain": 5}


class Replica:
    """One replica on a port of its own, which it keeps when it is started again."""

    def __init__(self, directory: Path, server: ApiServer, lives: dict[str, float]) -> None:
        directory.mkdir()
        self.directory = directory
        self.config: dict[str, Any] = {
            "listen": {"port": _free_port(), "workers": 2},
            "tls": {
                "secret": {"name": SECRET, "namespace": SYSTEM},
                "inject": {"validatingWebhookConfigurations": [NAME]},
                **lives,
            },
            "apiServer": connection_to(server, directory),
            "policies": POLICIES,
            "timeouts": TIMEOUTS,
            "logging": {"level": "info"},
        }
        self._stack = contextlib.ExitStack()
        self.running: Running | None = None

    @property
    def port(self) -> int:
        return int(self.config["listen"]["port"])

    def start(self) -> None:
        self.running = self._stack.enter_context(running(self.directory, **self.config))

    def stop(self) -> None:
        """End it as kubelet does, and wait for that."""
        self._stack.close()

    def kill(self) -> None:
        """End all its processes as if its machine had lost power."""
        assert self.running is not None
        workers = [entry["process"] for entry in self.running.logged if entry.get("message") == "serving"]
        for process in (self.running.process.pid, *workers):
            os.kill(process, signal.SIGKILL)
        self._stack.close()

    def reconfigure(self, **changes: Any) -> None:
        write_config(self.directory, **{**self.config, **changes})


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Environment(NamedTuple):
    client: Client
    replicas: list[Replica]
    balancer: Balancer


@contextlib.contextmanager
def operated(directory: Path, lives: dict[str, float]) -> Iterator[Environment]:
    """An API server that asks two replicas about claims in one namespace."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37"))
        client = server.client
        for name in (SYSTEM, PLACE):
            labels = {"resource.kubernetes.io/admin-access": "true"}
            body = {**namespace(name), "metadata": {"name": name, "labels": labels}}
            assert client.ask("POST", "/api/v1/namespaces", body).code == 201
        replicas = [Replica(directory / f"replica-{number}", server, lives) for number in range(2)]
        balancer = stack.enter_context(balancing([replica.port for replica in replicas]))
        register(client, _registration(balancer.port))
        starts = [threading.Thread(target=replica.start) for replica in replicas]
        for start in starts:
            start.start()
        for start in starts:
            start.join()
        for replica in replicas:
            stack.callback(replica.stop)
        until(lambda: create(client, claim(adminAccess=True), PLACE).code == 422)
        yield Environment(client, replicas, balancer)


def _registration(port: int) -> dict[str, Any]:
    """The configuration without a bundle: the replicas put it there."""
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "operations": ["CREATE"],
        "resources": ["resourceclaims"],
    }
    webhook = {
        "name": "validate.claimcheck.example.com",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/validate"},
        "rules": [rule],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": PLACE}},
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "timeoutSeconds": LONGEST_WAIT,
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [webhook],
    }


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[Environment]:
    with operated(tmp_path, {}) as made:
        yield made


class Load:
    """Clients that create claims, good ones and such that a policy refuses, without a pause worth mentioning."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._good: Counter[int] = Counter()
        self._bad: Counter[int] = Counter()
        self._rounds = [0] * CLIENTS
        self.problems: list[str] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    @property
    def asked(self) -> int:
        with self._lock:
            return self._good.total() + self._bad.total()

    @property
    def failed(self) -> int:
        """Requests that got neither an admission nor the policy's refusal."""
        with self._lock:
            asked = self._good.total() + self._bad.total()
            return asked - self._good[201] - self._bad[422] - self._bad[201]

    @property
    def admitted_wrongly(self) -> int:
        with self._lock:
            return self._bad[201]

    def wait_for_all(self) -> None:
        """Wait until every client has got all its answers to what it asks by now."""
        with self._lock:
            before = list(self._rounds)
        wait_until(lambda: all(now > then + 1 for now, then in zip(self._rounds, before, strict=True)))

    def _run(self, number: int) -> None:
        while not self._ending.is_set():
            for obj, codes, expected in (
                (claim(), self._good, 201),
                (claim(adminAccess=True), self._bad, 422),
            ):
                answer = create(self._client, obj, PLACE)
                with self._lock:
                    codes[answer.code] += 1
                    if answer.code != expected:
                        self.problems.append(str(answer.body.get("message")))
            with self._lock:
                self._rounds[number] += 1
            time.sleep(0.02)


def wait_until(condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def secret(client: Client, entry: str) -> bytes:
    return base64.b64decode(client.ask("GET", SECRET_PATH).body["data"][entry])


def bundle(client: Client) -> bytes:
    config = client.ask("GET", CONFIGURATION).body["webhooks"][0]["clientConfig"]
    return base64.b64decode(config.get("caBundle", ""))


def test_rotation_fails_no_request(tmp_path: Path) -> None:
    """Leaves are renewed and a new authority takes over while the API server asks all the time."""
    with operated(tmp_path, LIVES) as environment:
        client = environment.client
        first = secret(client, "authority.crt")
        leaves = set()

        def has_rotated() -> bool:
            leaves.add(secret(client, "tls.crt"))
            return secret(client, "authority.crt") != first

        with Load(client) as load:
            wait_until(has_rotated, 600)
            wait_until(lambda: first not in bundle(client))
            time.sleep(12)
            leaves.add(secret(client, "tls.crt"))
        second = x509.load_pem_x509_certificate(secret(client, "authority.crt"))
        serving = x509.load_pem_x509_certificate(secret(client, "tls.crt"))
        assert serving.issuer == second.subject
        print(f"\nrotation: {load.asked} requests, {len(leaves)} leaves, 2 authorities, {load.failed} failed")
        assert load.failed == 0, load.problems[:3]
        assert load.admitted_wrongly == 0
        assert len(leaves) >= 4


def test_bundle_is_put_back(environment: Environment, tmp_path: Path) -> None:
    """What overwrites the bundle, or takes it out, is undone within moments; both replicas have one authority."""
    good = bundle(environment.client)
    assert good == secret(environment.client, "ca.crt")
    terms = Terms(("localhost",), timedelta(9), timedelta(9), timedelta(1))
    other = maintain(DirectoryStore(tmp_path / "other"), terms, datetime.now(UTC))[BUNDLE]
    path = "/webhooks/0/clientConfig/caBundle"
    replace = {"op": "replace", "path": path, "value": base64.b64encode(other).decode()}
    for operation in (replace, {"op": "remove", "path": path}):
        answer = environment.client.ask(
            "PATCH", CONFIGURATION, [operation], content_type="application/json-patch+json"
        )
        assert answer.code == 200, answer.body
        wait_until(lambda: bundle(environment.client) == good)


def test_deleted_secret_comes_back(environment: Environment) -> None:
    """A Secret that somebody deletes is made again, with the authority that is trusted already."""
    before = secret(environment.client, "authority.crt")
    with Load(environment.client) as load:
        assert environment.client.ask("DELETE", SECRET_PATH).code == 200
        wait_until(lambda: environment.client.ask("GET", SECRET_PATH).code == 200)
        time.sleep(2)
    assert secret(environment.client, "authority.crt") == before
    assert (load.failed, load.admitted_wrongly) == (0, 0), load.problems[:3]


def test_reload_and_rolling_restart_fail_no_request(environment: Environment) -> None:
    """The configuration changes, then one replica after the other is replaced as a Deployment does it."""
    with Load(environment.client) as load:
        for replica in environment.replicas:
            assert replica.running is not None
            replica.reconfigure(lints="Off")
            replica.running.wait_for("configuration changed", 2)
        reloaded = load.asked
        for replica in environment.replicas:
            environment.balancer.backends.remove(replica.port)  # it is no endpoint any more
            time.sleep(0.5)
            replica.stop()
            replica.start()
            environment.balancer.backends.append(replica.port)
            time.sleep(1)
    print(
        f"\nreload: {reloaded} requests, rolling restart: {load.asked - reloaded} requests, {load.failed} failed"
    )
    assert load.failed == 0, load.problems[:3]
    assert load.admitted_wrongly == 0


def test_killed_replica_fails_only_what_it_had(environment: Environment) -> None:
    """When one of two replicas is killed, requests fail that were in flight on it, and no others; none passes unchecked."""
    with Load(environment.client) as load:
        for number in range(KILLS):
            killed = environment.replicas[number % 2]  # the one that all have gone to since the last time
            time.sleep(2)
            other = environment.replicas[1 - number % 2]
            failed, lost, elsewhere = load.failed, *map(environment.balancer.lost, (killed.port, other.port))
            killed.kill()
            time.sleep(2)
            load.wait_for_all()
            failed, lost = load.failed - failed, environment.balancer.lost(killed.port) - lost
            assert environment.balancer.lost(other.port) == elsewhere
            print(
                f"\nkill -9, number {number}: {lost} in flight on it, {failed} failed, {load.asked} asked so far"
            )
            assert failed <= lost, load.problems[:3]
            killed.start()
    assert load.admitted_wrongly == 0
    assert load.asked > 200
