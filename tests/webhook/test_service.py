"""The running service: what it answers to good and bad requests, and that nothing gets lost when something changes."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import pytest
from cryptography import x509

from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import Terms
from tests.webhook.client_certificates import write_client_certificates
from tests.webhook.examples import admission, claim, conversion
from tests.webhook.running import PATIENCE_SECONDS, Running, running, write_config
from webhook.routes import ADMISSION_BYTES

JSON = {"Content_Type": "application/json"}
REVIEW = json.dumps(admission(claim())).encode()
CRDS = {"serves": "CustomResources"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that waits for what is slow to come, as everything may be on a busy machine."""
    with running(
        tmp_path_factory.mktemp("patient"),
        listen={"workers": 2},
        apiServer=CRDS,
        timeouts={"body": 600, "idle": 600, "lameDuck": 0.2},
    ) as started:
        yield started


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that soon gives up whoever is slow."""
    timeouts = {"body": 1, "idle": 5, "lameDuck": 0.2}
    with running(tmp_path_factory.mktemp("impatient"), timeouts=timeouts) as started:
        yield started


def test_webhooks_answer(service: Running) -> None:
    """Each webhook answers at its path."""
    bad = service.review("/validate", admission(claim(count=-1)))["response"]
    assert (bad["allowed"], bad["status"]["code"]) == (False, 422)
    assert service.review("/mutate", admission(claim()))["response"]["patchType"] == "JSONPatch"
    converted = service.review("/convert", conversion([claim()], "v1beta1"))["response"]
    assert converted["convertedObjects"][0]["apiVersion"] == "resource.k8s.io/v1beta1"


def test_numbers_come_back_as_they_were(service: Running) -> None:
    """Conversion keeps numbers that Python cannot."""
    obj = claim()
    obj["spec"]["devices"]["config"] = [
        {"opaque": {"driver": "d.example.com", "parameters": {"a": "NUMBER"}}}
    ]
    text = json.dumps(conversion([obj], "v1beta1")).replace('"NUMBER"', "1.500e400")
    code, body = service.ask("POST", "/convert", text.encode(), **JSON)
    assert code == 200
    assert b'"parameters":{"a":1.500e400}' in body


def test_deep_values_come_back(service: Running) -> None:
    """Conversion keeps values that are nested over more levels than Python writes by itself."""
    obj = claim()
    obj["spec"]["devices"]["config"] = [{"opaque": {"driver": "d.example.com", "parameters": {"a": "DEEP"}}}]
    deep = "[" * 5000 + "]" * 5000
    text = json.dumps(conversion([obj], "v1beta1")).replace('"DEEP"', deep)
    code, body = service.ask("POST", "/convert", text.encode(), **JSON)
    assert code == 200
    assert deep.encode() in body


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health(service: Running, path: str) -> None:
    """Probes are answered."""
    assert service.ask("GET", path) == (200, b"ok\n")


def test_metrics(service: Running) -> None:
    """Metrics are those of all workers together."""
    for _ in range(20):
        service.review("/validate", admission(claim(count=-1)))
    text = service.ask("GET", "/metrics")[1].decode()
    denied = 'kind="ResourceClaim",reason="Invalid",verdict="denied",webhook="validate"'
    counted = next(line for line in text.splitlines() if denied in line)
    assert float(counted.split()[-1]) >= 20
    assert 'claimcheck_webhook_latency_seconds_bucket{le="0.001",webhook="validate"}' in text
    assert 'claimcheck_webhook_requests_in_flight{webhook="validate"} 0.0' in text


def test_logs_have_the_uid(service: Running) -> None:
    """A refusal can be found by the uid of its request."""
    review = admission(claim(count=-1), uid="find-me")
    service.review("/validate", review)
    entry = service.wait_for("refused", uid="find-me")
    assert (entry["message"], entry["level"], entry["kind"]) == ("refused", "info", "ResourceClaim")


BAD = {
    "garbage": (b"\xff\x00garbage", JSON, 400),
    "empty": (b"", JSON, 400),
    "no-review": (b"[]", JSON, 400),
    "nested-deeply": (b"[" * 200_000, JSON, 400),
    "nested-deeply-and-closed": (b'{"a":' + b"[" * 9_000 + b"]" * 9_000 + b"}", JSON, 400),
    "yaml": (REVIEW, {"Content_Type": "application/yaml"}, 415),
    "no-content-type": (REVIEW, {"Content_Type": ""}, 415),
    "compressed": (REVIEW, {**JSON, "Content_Encoding": "gzip"}, 415),
    "one-byte-too-many": (b" " * (ADMISSION_BYTES + 1), JSON, 413),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_requests(service: Running, name: str) -> None:
    """What is no review is answered with a 4xx that says why."""
    body, headers, expected = BAD[name]
    code, text = service.ask("POST", "/validate", body, **headers)
    assert code == expected, text
    assert text
    assert service.ask("GET", "/healthz")[0] == 200


def test_body_of_the_largest_size(service: Running) -> None:
    """The limit itself is allowed."""
    code, _ = service.ask("POST", "/validate", REVIEW.ljust(ADMISSION_BYTES), **JSON)
    assert code == 200


@pytest.mark.parametrize(
    ("method", "path", "code"), [("GET", "/validate", 405), ("POST", "/healthz", 405), ("GET", "/", 404)]
)
def test_other_methods_and_paths(service: Running, method: str, path: str, code: int) -> None:
    """Only what is documented is there."""
    assert service.ask(method, path)[0] == code


@pytest.mark.parametrize("more", [{}, {"X_General": "a"}], ids=["direct", "general"])
def test_nothing_is_converted_where_the_kinds_are_built_in(impatient: Running, more: dict[str, str]) -> None:
    """Nobody asks there but strangers."""
    body = json.dumps(conversion([claim()], "v1beta1")).encode()
    assert impatient.ask("POST", "/convert", body, **JSON, **more) == (404, b"there is nothing here\n")
    assert impatient.ask("POST", "/validate", REVIEW, **JSON, **more)[0] == 200


def test_slow_body(impatient: Running) -> None:
    """A body that does not come is given up, with an answer that says so."""
    connection = impatient.connect()
    connection.putrequest("POST", "/validate")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "100")
    connection.endheaders(b"{")
    response = connection.getresponse()
    assert (response.status, response.read()) == (408, b"the body took longer than 1 s\n")
    connection.close()


def test_slow_head(impatient: Running) -> None:
    """A connection on which no request comes is closed, whatever trickles in."""
    with impatient.wire() as wire:
        wire.sendall(b"POST /validate HTTP/1.1\r\n")
        assert wire.rest() == b""


def test_large_lists_are_converted(service: Running) -> None:
    """A list that is larger than any single review is converted, and health is answered meanwhile."""
    objects = [claim() for _ in range(15_000)]
    for obj in objects:
        obj["metadata"]["annotations"] = {"a": "x" * 50}
    converted: list[int] = []
    working = threading.Thread(
        target=lambda: converted.append(
            len(service.review("/convert", conversion(objects, "v1beta1"))["response"]["convertedObjects"])
        )
    )
    working.start()
    healthy = 0
    while working.is_alive():
        assert service.ask("GET", "/healthz")[0] == 200
        healthy += 1
    working.join()
    assert converted == [15_000]
    assert healthy > 5  # several hundred, as long as nobody else needs the processors


def test_many_bad_objects_to_convert(service: Running) -> None:
    """A huge batch of garbage is one clear failure."""
    result = service.review("/convert", conversion([{"kind": 1}] * 50_000, "v1"))["response"]["result"]
    assert result["status"] == "Failure"
    assert len(result["message"]) < 2000


def test_client_certificates(tmp_path: Path) -> None:
    """With an authority for clients, reviews are for clients with a certificate of it and one of the names."""
    write_client_certificates(tmp_path, ["apiserver", "other"])
    tls = {
        "directory": "certificates",
        "clientAuthorityFile": "authority.crt",
        "clientNames": ["apiserver"],
    }
    with running(tmp_path, tls=tls) as service:
        assert service.ask("GET", "/healthz")[0] == 200
        answers = {}
        for name in (None, "other", "apiserver"):
            connection = service.connect(certificate=None if name is None else tmp_path / f"{name}.pem")
            connection.request("POST", "/validate", REVIEW, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answers[name] = (response.status, response.read()[:40])
            connection.close()
    assert answers[None] == (403, b"a client certificate is needed\n")
    assert answers["other"] == (403, b"the client certificate is for somebody e")
    assert answers["apiserver"][0] == 200


def test_only_new_claims_wait_for_quota(tmp_path: Path) -> None:
    """Where quota cannot be asked about, new claims have to wait; all else is answered."""
    write_client_certificates(tmp_path, [])
    (tmp_path / "token").write_text("t")
    api_server = {**CRDS, "address": "https://127.0.0.1:1", "tokenFile": "token", "caFile": "authority.crt"}
    quota = {"mode": "Enforce", "insecureSkipClientVerify": True}
    with running(tmp_path, apiServer=api_server, quota=quota) as service:
        code, text = service.ask("POST", "/validate", REVIEW, **JSON)
        assert (code, text[:27]) == (503, b"quota cannot be checked now")
        stored, changed = claim(allocationMode="ExactCount", count=1), claim(count=-1)
        for each in (stored, changed):
            each["metadata"] |= {"resourceVersion": "1", "uid": "u"}
        assert service.review("/validate", admission(stored, stored))["response"]["allowed"]
        assert service.review("/validate", admission(changed, stored))["response"]["status"]["code"] == 422


@pytest.mark.parametrize("serves", ["CustomResources", "BuiltIn"])
@pytest.mark.parametrize("names", [["apiserver"], None], ids=["named", "any-name"])
def test_quota_needs_a_client_certificate(tmp_path: Path, names: list[str] | None, serves: str) -> None:
    """Without a certificate nothing is asked of the cluster, whichever way and wherever limits are held; all else is
    answered."""
    write_client_certificates(tmp_path, ["apiserver", "other"])
    (tmp_path / "token").write_text("t")
    tls: dict[str, Any] = {
        "directory": "certificates",
        "clientAuthorityFile": "authority.crt",
        "requireClientCertificate": "Reservations",
    }
    if names:
        tls["clientNames"] = names
    address = {"address": "https://127.0.0.1:1", "tokenFile": "token", "caFile": "authority.crt"}
    api_server = {**address, "serves": serves}
    stored = claim(allocationMode="ExactCount", count=1)
    stored["metadata"] |= {"resourceVersion": "1", "uid": "u"}
    disguised = REVIEW.replace(b'"CREATE"', b'"\\u0043REATE"')
    update, dry_run = (
        json.dumps(review).encode() for review in (admission(stored, stored), admission(claim(), dryRun=True))
    )

    def ask(service: Running, name: str | None, body: bytes, path: str = "/validate", **more: str) -> Any:
        connection = service.connect(certificate=None if name is None else tmp_path / f"{name}.pem")
        connection.request("POST", path, body, {"Content-Type": "application/json", **more})
        response = connection.getresponse()
        found = response.status, response.read()
        connection.close()
        return found

    with running(tmp_path, tls=tls, apiServer=api_server, quota={"mode": "Enforce"}) as service:
        for more in ({}, {"X-General": "a"}):
            for name in (None, "other") if names else (None,):
                for body in (REVIEW, disguised, dry_run):
                    code, text = ask(service, name, body, **more)
                    response = json.loads(text)["response"]
                    assert (code, response["allowed"], response["status"]["code"]) == (200, False, 403)
                    why = "somebody else" if name else "is needed"
                    assert "only for an API server" in response["status"]["message"]
                    assert why in response["status"]["message"]
                    assert response["auditAnnotations"] == {"quota": "unknown client"}
                code, text = ask(service, name, update, **more)
                assert json.loads(text)["response"]["allowed"]
            for body in (REVIEW, disguised, dry_run):
                code, text = ask(service, "apiserver", body, **more)
                assert (code, text[:27]) == (503, b"quota cannot be checked now")
        body = json.dumps(conversion([claim()], "v1beta1")).encode()
        # the built-in API converts by itself
        code = 200 if serves == "CustomResources" else 404
        assert ask(service, None, body, "/convert")[0] == code
        assert ask(service, None, REVIEW, "/mutate")[0] == 200


@pytest.mark.parametrize("namespace", ["", "team/secrets?a=", "..", "Team", "a" * 64])
def test_namespaces_are_no_paths(tmp_path: Path, namespace: str) -> None:
    """What is no name of a namespace is no part of what the API server is asked."""
    write_client_certificates(tmp_path, [])
    (tmp_path / "token").write_text("t")
    api_server = {"address": "https://127.0.0.1:1", "tokenFile": "token", "caFile": "authority.crt"}
    review = json.dumps(admission(claim(), namespace=namespace)).encode()
    quota = {"mode": "Enforce", "insecureSkipClientVerify": True}
    with running(tmp_path, apiServer=api_server, quota=quota) as service:
        code, text = service.ask("POST", "/validate", review, **JSON)
        assert (code, text) == (400, b"request.namespace must be the name of a namespace\n")


def test_idle_connections_are_in_nobodys_way(service: Running) -> None:
    """With many idle connections, and many that never begin TLS, the others are answered."""
    idle = [socket.create_connection(("127.0.0.1", service.port), PATIENCE_SECONDS) for _ in range(300)]
    try:
        assert service.ask("GET", "/healthz")[0] == 200
        assert service.review("/validate", admission(claim()))["response"]["allowed"]
    finally:
        for each in idle:
            each.close()


def test_old_tls_is_refused(service: Running) -> None:
    """TLS 1.1 is not spoken."""
    context = ssl.create_default_context(cafile=str(service.authority))
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    address = ("127.0.0.1", service.port)
    with socket.create_connection(address, PATIENCE_SECONDS) as plain, pytest.raises(ssl.SSLError):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


class Load:
    """Reviews on several connections that stay open; a connection is replaced only when the service says so."""

    def __init__(self, service: Running, clients: int = 4) -> None:
        self.service = service
        self.answered = 0
        self.problems: list[str] = []
        self._ending = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(clients)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def wait_for_more(self, count: int = 50) -> None:
        """Wait until so many more have been answered."""
        wanted, deadline = self.answered + count, time.monotonic() + PATIENCE_SECONDS
        while self.answered < wanted:
            assert time.monotonic() < deadline, self.problems
            time.sleep(0.02)

    def _run(self) -> None:
        connection = self.service.connect()
        try:
            while not self._ending.is_set():
                connection.request("POST", "/validate", REVIEW, {"Content-Type": "application/json"})
                response = connection.getresponse()
                if response.status != 200 or b'"allowed":true' not in response.read():
                    self.problems.append(f"status {response.status}")
                self.answered += 1
                if response.will_close:
                    connection.close()
                    if self.service.process.poll() is not None or "draining" in self._messages():
                        return
        except (OSError, ssl.SSLError) as error:
            self.problems.append(repr(error))
        finally:
            connection.close()

    def _messages(self) -> set[str]:
        return {str(entry.get("message")) for entry in list(self.service.logged)}


def test_changes_lose_no_request(tmp_path: Path) -> None:
    """Under load the configuration changes, the certificate is renewed, a broken configuration comes and goes, and
    the service is told to end: every request is answered."""
    # within the drain grace each client has to ask once more, however rarely it gets a processor
    config: dict[str, Any] = {"listen": {"workers": 2}, "apiServer": CRDS, "timeouts": {"lameDuck": 10}}
    with running(tmp_path, **config) as service:
        with Load(service) as load:
            load.wait_for_more()
            write_config(tmp_path, **config, lints="Off")
            service.wait_for("configuration changed", 2)
            (tmp_path / "webhook.yaml").write_text("tls: [")
            service.wait_for("configuration not changed", 2)
            terms = Terms(("localhost", "127.0.0.1", "new.name"), timedelta(9), timedelta(9), timedelta(1))
            maintain(DirectoryStore(tmp_path / "certificates"), terms, datetime.now(UTC))
            service.wait_for("certificate replaced", 2)
            load.wait_for_more()
            service.process.send_signal(signal.SIGTERM)
            service.process.wait(PATIENCE_SECONDS)
        assert load.problems == []
        assert service.process.returncode == 0
        service.wait_for("stopped", 2)


def test_dead_worker_is_replaced(tmp_path: Path) -> None:
    """A worker that is killed is started again."""
    with running(tmp_path) as service:
        os.kill(service.wait_for("serving")["process"], signal.SIGKILL)
        service.wait_for("serving", 2)
        assert service.ask("GET", "/readyz")[0] == 200


def test_damaged_certificate_changes_nothing(tmp_path: Path) -> None:
    """A certificate without its key is not taken; the service goes on with the old one."""
    first = tmp_path / "first"
    terms = Terms(("127.0.0.1",), timedelta(9), timedelta(9), timedelta(1))
    maintain(DirectoryStore(first), terms, datetime.now(UTC))
    for name in ("tls.crt", "tls.key"):
        shutil.copy(first / "current" / name, tmp_path / name)
    shutil.copytree(first, tmp_path / "certificates", symlinks=True)
    with running(tmp_path, tls={"certificateFile": "tls.crt", "keyFile": "tls.key"}) as service:
        other = tmp_path / "other"
        maintain(DirectoryStore(other), terms, datetime.now(UTC))
        shutil.copy(other / "current" / "tls.key", tmp_path / "tls.key")
        service.wait_for("certificate not replaced")
        assert service.ask("GET", "/healthz")[0] == 200
        shutil.copy(first / "current" / "tls.key", tmp_path / "tls.key")


def test_certificate_that_ends(tmp_path: Path) -> None:
    """One that nobody has renewed is told of when the service starts, and its end is shown; one worker does both."""
    terms = Terms(("127.0.0.1",), timedelta(9), timedelta(9), timedelta(1))
    made = maintain(DirectoryStore(tmp_path / "certificates"), terms, datetime.now(UTC) - timedelta(8))
    for name in ("tls.crt", "tls.key"):
        (tmp_path / name).write_bytes(made[name])
    tls = {"certificateFile": "tls.crt", "keyFile": "tls.key"}
    with running(tmp_path, tls=tls, listen={"port": 0, "workers": 2}) as service:
        service.wait_for("certificate expires soon")
        _, metrics = service.ask("GET", "/metrics")
    end = x509.load_pem_x509_certificate(made["tls.crt"]).not_valid_after_utc.timestamp()
    shown = re.search(
        r"^claimcheck_certificate_expiration_timestamp_seconds (\S+)$", metrics.decode(), re.MULTILINE
    )
    assert shown is not None
    assert float(shown[1]) == end
    assert len([each for each in service.logged if each["message"] == "certificate expires soon"]) == 1
