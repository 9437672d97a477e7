"""Limits on devices of claims that CRDs serve: held by two replicas under load, and when one of them is killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.e2e.admission_config import write_admission_configuration
from tests.e2e.balancer import balanced
from tests.e2e.binaries import tool
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.custom_resources import CONTROLLERS_FLAG
from tests.e2e.test_webhook import GROUP, crd, create, namespace, register, registration, until
from tests.webhook.client_certificates import write_client_certificates
from tests.webhook.examples import admission, claim
from tests.webhook.running import Running, running

RUNS = 20
CLIENTS, EACH, LIMIT = 50, 4, 100
GRACE = 12
RESOURCE = "gpu.example.com.deviceclass.resource.k8s.io/devices"
SYSTEM = "claimcheck-system"
OFF = "--runtime-config=resource.k8s.io/v1=false,resource.k8s.io/v1beta1=false,resource.k8s.io/v1beta2=false"


class Balanced(NamedTuple):
    """Where the API server finds the service: as tests of one replica have it (`Running`)."""

    port: int
    authority: Path


class Environment(NamedTuple):
    client: Client
    replicas: list[Running]


@pytest.fixture
def grace() -> int:
    """How long reservations last by themselves, in seconds."""
    return GRACE


@pytest.fixture
def environment(tmp_path: Path, grace: int) -> Iterator[Environment]:
    """A server that CRDs serve the claims of, kube-controller-manager, and two replicas behind a balancer."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(control_plane("1.37", flags=[OFF]))
        client = server.client
        assert (
            client.ask("POST", "/api/v1/namespaces", {**namespace(SYSTEM), "metadata": {"name": SYSTEM}}).code
            == 201
        )
        stack.enter_context(controller_manager(server, tmp_path))
        config = service_config(server, tmp_path)
        config["quota"]["graceSeconds"] = grace
        # as long as the webhooks wait: a flood on few processors takes its time
        config["timeouts"] = {"review": 30}
        replicas = [stack.enter_context(running(tmp_path, **config)) for _ in range(2)]
        port = stack.enter_context(balanced([replica.port for replica in replicas]))
        service: Any = Balanced(port, replicas[0].authority)
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        assert client.ask("POST", path, crd(service)).code == 201
        register(
            client,
            registration("ValidatingWebhookConfiguration", service, "/validate", ["resourceclaims"]),
        )
        add_namespace(client, "ready", 0)
        until(lambda: "exceeded quota" in str(create(client, sized("probe"), "ready").body))
        yield Environment(client, replicas)


def service_config(server: ApiServer, directory: Path, serves: str = "CustomResources") -> dict[str, Any]:
    """A configuration that enforces quota; the token is in a file, as kubelet would have it."""
    access = json.loads(server.kubeconfig.read_text())
    cluster = access["clusters"][0]["cluster"]
    token = directory / "token"
    token.write_text(access["users"][0]["user"]["token"])
    return {
        "apiServer": {
            "serves": serves,
            "claims": "Watch",
            "address": cluster["server"],
            "tokenFile": str(token),
            "caFile": cluster["certificate-authority"],
        },
        "quota": {
            "mode": "Enforce",
            "namespace": SYSTEM,
            "recountSeconds": 1,
            "graceSeconds": GRACE,
            "insecureSkipClientVerify": True,
        },
        "logging": {"level": "info"},
    }


@contextlib.contextmanager
def controller_manager(server: ApiServer, directory: Path) -> Iterator[None]:
    """kube-controller-manager, which counts claims and overwrites the status of quotas."""
    binary = tool("kube-controller-manager")
    command = [
        str(binary),
        f"--kubeconfig={server.kubeconfig}",
        "--secure-port=0",
        "--leader-elect=false",
        CONTROLLERS_FLAG,
        "--resource-quota-sync-period=2s",
    ]
    with (
        open(directory / "controllers.log", "wb") as log,
        subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT) as process,
    ):
        try:
            yield
        finally:
            process.terminate()


def sized(name: str, devices: int = 1) -> dict[str, Any]:
    obj = claim(count=devices)
    obj["metadata"] = {"name": name}
    return obj


def add_namespace(client: Client, name: str, limit: int) -> None:
    """A namespace in which so many devices may be claimed, and so many claims made twice over."""
    assert client.ask("POST", "/api/v1/namespaces", namespace(name)).code == 201
    hard = {RESOURCE: str(limit), f"count/resourceclaims.{GROUP}": str(10 * LIMIT)}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "devices"},
        "spec": {"hard": hard},
    }
    assert client.ask("POST", f"/api/v1/namespaces/{name}/resourcequotas", quota).code == 201
    # Until its controller has seen a quota, the API server takes no claims at all there.
    path = f"/api/v1/namespaces/{name}/resourcequotas/devices"
    until(lambda: "used" in client.ask("GET", path).body.get("status", {}))


def flood(client: Client, in_namespace: str) -> list[int]:
    """All clients at once create their claims; the HTTP codes."""
    codes: list[int] = []

    def run(number: int) -> None:
        for index in range(EACH):
            codes.append(create(client, sized(f"c{number}-{index}"), in_namespace, dry_run=False).code)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return codes


def kill(replica: Running) -> None:
    """End a replica, its worker included, as if its machine had lost power."""
    worker = replica.wait_for("serving")["process"]
    replica.process.kill()
    os.kill(worker, signal.SIGKILL)


def stored(client: Client, in_namespace: str) -> int:
    answer = client.ask("GET", f"/apis/{GROUP}/v1/namespaces/{in_namespace}/resourceclaims")
    assert answer.code == 200, answer.body
    return len(answer.body["items"])


def test_exactly_the_limit(environment: Environment) -> None:
    """Fifty clients on two replicas against a limit of 100: 100 claims are admitted, no more and no less, each time.

    Where the API server did not wait for an answer, no more are admitted either, and the run does not count.
    """
    exact = late = 0
    while exact < RUNS:
        name = f"flood-{exact}-{late}"
        add_namespace(environment.client, name, LIMIT)
        codes = flood(environment.client, name)
        admitted = codes.count(201)
        assert admitted == stored(environment.client, name) <= LIMIT
        if 500 in codes and late < 2 * RUNS:
            late += 1
            continue
        assert (admitted, set(codes)) == (LIMIT, {201, 403})
        exact += 1
    print(
        f"\n{RUNS} runs of {CLIENTS} clients with {EACH} claims each: {LIMIT} admitted in each; {late} repeated"
    )


def test_refusal_names_what_is_short(environment: Environment) -> None:
    """The message says which request and class, how much, and who has the rest; deletion makes room again."""
    add_namespace(environment.client, "named", 3)
    assert create(environment.client, sized("first", 2), "named", dry_run=False).code == 201
    answer = create(environment.client, sized("second", 2), "named", dry_run=False)
    assert answer.code == 403
    assert (
        'needed 2 for request "main" (class "gpu.example.com", ExactCount): 2, quota "devices" leaves 1 of 3 '
        '(used by claim "first" 2)'
    ) in answer.body["message"]
    path = f"/apis/{GROUP}/v1/namespaces/named/resourceclaims/first"
    assert environment.client.ask("DELETE", path).code == 200
    until(lambda: create(environment.client, sized("second", 2), "named", dry_run=False).code == 201)


def follows_claims(replica: Running) -> bool:
    """Whether a replica has heard of a claim; it looks now and then whether there are any."""
    _, metrics = replica.ask("GET", "/metrics")
    return b"claimcheck_resource_claims{" in metrics


@pytest.mark.parametrize("grace", [3600])
def test_claims_that_come_and_go(environment: Environment) -> None:
    """A claim that is deleted before any recount makes room, however long a reservation lasts by itself."""
    assert create(environment.client, sized("seen"), "default", dry_run=False).code == 201
    until(lambda: all(map(follows_claims, environment.replicas)))
    add_namespace(environment.client, "brief", 1)
    path = f"/apis/{GROUP}/v1/namespaces/brief/resourceclaims/brief"
    for _ in range(3):
        until(partial(_gets, environment.client, sized("brief"), "brief", (201,)))
        assert environment.client.ask("DELETE", path).code == 200


def test_killed_replica(environment: Environment) -> None:
    """Killed under load, a replica takes no more than what it held with it, and that only for a while."""
    name = "killed"
    add_namespace(environment.client, name, LIMIT)
    killer = threading.Timer(0.4, kill, [environment.replicas[0]])
    killer.start()
    codes = flood(environment.client, name)
    killer.join()
    assert stored(environment.client, name) == codes.count(201) <= LIMIT
    missing = LIMIT - stored(environment.client, name)
    admitted, refused = codes.count(201), codes.count(403)
    print(f"\nkilled: {admitted} admitted, {refused} refused, {len(codes) - admitted - refused} failed")
    time.sleep(GRACE)
    for number in range(missing):
        until(partial(_gets, environment.client, sized(f"late-{number}"), name, (201, 409)))
    until(partial(_gets, environment.client, sized("too-many"), name, (403,)))
    assert stored(environment.client, name) == LIMIT


def _gets(client: Client, obj: dict[str, Any], in_namespace: str, codes: tuple[int, ...]) -> bool:
    """Whether creating an object gets one of these answers (409: an earlier attempt got none, but was stored)."""
    return create(client, obj, in_namespace, dry_run=False).code in codes


def test_reason_before_the_servers_own_refusal(tmp_path: Path) -> None:
    """Where the API server enforces quotas itself, the webhook refuses the same claims, with the reason, which nobody gets
    who shows no certificate."""
    write_client_certificates(tmp_path, ["kube-apiserver"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shown = write_admission_configuration(tmp_path, f"127.0.0.1:{port}", tmp_path / "kube-apiserver.pem")
    with contextlib.ExitStack() as stack:
        flags = [f"--admission-control-config-file={shown}"]
        server = stack.enter_context(control_plane("1.37", flags=flags))
        stack.enter_context(controller_manager(server, tmp_path))
        config = service_config(server, tmp_path, "BuiltIn")
        del config["quota"]["insecureSkipClientVerify"]
        config["listen"] = {"port": port}
        config["tls"] = {
            "directory": "certificates",
            "clientAuthorityFile": "authority.crt",
            "requireClientCertificate": "Reservations",
        }
        service = stack.enter_context(running(tmp_path, **config))
        client = server.client
        add_namespace(client, "guarded", 1)
        assert create(client, sized("first"), "guarded", dry_run=False).code == 201
        plain = create(client, sized("second"), "guarded")
        assert (plain.code, "webhook" in plain.body["message"]) == (403, False)
        resources = ["resourceclaims"]
        register(client, registration("ValidatingWebhookConfiguration", service, "/validate", resources))
        until(lambda: "webhook" in create(client, sized("second"), "guarded").body.get("message", ""))
        answer = create(client, sized("second"), "guarded")
        own = plain.body["message"]
        assert answer.code == 403
        assert answer.body["message"].startswith(
            f'admission webhook "validate.claimcheck.example.com" denied the request: {own}: '
        )
        assert answer.body["message"].endswith('quota "devices" has none left of 1 (used by claim "first" 1)')
        stranger = sized("second")
        stranger["metadata"]["namespace"] = "guarded"
        told = service.review("/validate", admission(stranger))["response"]
        assert (told["allowed"], told["status"]["code"]) == (False, 403)
        assert "only for an API server that shows its certificate" in told["status"]["message"]
        assert "first" not in json.dumps(told)
