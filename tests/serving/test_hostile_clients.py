"""Clients that are no API servers: clear answers, no crash, and health checks are answered throughout."""

from __future__ import annotations

import http.client
import json
import random
import resource
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from queue import Queue

import pytest

from serving.unsent import MOST_BYTES
from tests.webhook.examples import admission, claim, conversion
from tests.webhook.running import PATIENCE_SECONDS, Running, running
from tests.webhook.wire import Wire
from webhook.routes import ADMISSION_BYTES, CONVERSION_BYTES

REVIEW = json.dumps(admission(claim())).encode()
IDLE = 1_000


class Prober:
    """Asks for health all the time; `problems` is what it was told instead."""

    def __init__(self, service: Running) -> None:
        self.problems: list[str] = []
        self.asked = 0
        self._service = service
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        self._ending.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                code, body = self._service.ask("GET", "/healthz")
            except OSError as error:
                self.problems.append(repr(error))
            else:
                if (code, body) != (200, b"ok\n"):
                    self.problems.append(f"{code} {body!r}")
            self.asked += 1
            if self._ending.wait(0.05):
                return


@contextmanager
def attacked(
    directory: Path, *, workers: int = 2, limits: dict[str, int] | None = None, **timeouts: float
) -> Iterator[Running]:
    """Some workers; in the end none of them has died, and health was answered all the time."""
    with running(
        directory,
        listen={"workers": workers},
        apiServer={"serves": "CustomResources"},
        timeouts=timeouts,
        limits=limits or {},
        logging={"level": "info"},
    ) as started:
        prober = Prober(started)
        try:
            yield started
        finally:
            prober.end()
        assert prober.problems == []
        assert prober.asked > 0
        messages = {entry.get("message") for entry in started.logged}
        assert not messages & {"worker ended", "request failed"}
        # whatever clients do wrong is no error of the service, and worth one line
        assert not [
            entry for entry in started.logged if entry.get("level") == "error" or "exception" in entry
        ]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that waits for what is slow to come, as everything may be on a busy machine."""
    with attacked(tmp_path_factory.mktemp("patient"), body=600, idle=600, review=30) as started:
        yield started


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One that soon gives up whoever is slow."""
    with attacked(tmp_path_factory.mktemp("impatient"), body=2, idle=10) as started:
        yield started


def post(
    service: Running, path: str, body: bytes | Iterator[bytes], content_type: str = "application/json"
) -> tuple[int, bytes]:
    """The answer to a body; pieces are sent in chunks."""
    return service.ask("POST", path, body, Content_Type=content_type)


def raw(service: Running, data: bytes, *, tls: bool = True) -> bytes:
    """What comes back for bytes as they are, up to the end of the connection."""
    with service.wire(tls=tls) as wire:
        wire.sendall(data)
        return wire.rest()


@pytest.fixture
def open_files() -> Iterator[None]:
    """As many of them as are allowed at all."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


TOO_LARGE = {
    "review": ("/validate", ADMISSION_BYTES),
    "mutation": ("/mutate", ADMISSION_BYTES),
    "conversion": ("/convert", CONVERSION_BYTES),
}


@pytest.mark.parametrize("name", TOO_LARGE)
@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_one_byte_too_many(service: Running, name: str, chunked: bool) -> None:
    """A body that is a byte too long is refused with 413, whether its length was announced or not."""
    path, limit = TOO_LARGE[name]
    body: bytes | Iterator[bytes] = b" " * (limit + 1)
    if chunked:
        body = iter([b" " * 65536] * (limit // 65536) + [b" "])
    code, text = post(service, path, body)
    assert (code, text) == (413, f"the body is too large: the limit is {limit} bytes\n".encode())


BODIES = {
    "nothing": b"",
    "noise": random.Random(1).randbytes(10_000),
    "no-utf-8": REVIEW.replace(b"claim", b"\xff\xfe"),
    "cut-off": REVIEW[:-1],
    "twice": REVIEW * 2,
    "null": b"null",
    "number": b"9" * 100_000,
    "nested-lists": b"[" * 100_000,
    "nested-objects": b'{"a":' * 9_990 + b"1" + b"}" * 9_990,
    "nested-in-the-object": REVIEW.replace(
        b'"devices"', b'"x":' + b"[" * 5_000 + b"]" * 5_000 + b',"devices"'
    ),
    "not-a-number": REVIEW.replace(b'"uid"', b'"a":NaN,"uid"'),
    "no-request": b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}',
    "other-review": b'{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","request":{}}',
    "types-swapped": REVIEW.replace(b'"kind": {', b'"kind": [{').replace(
        b'"ResourceClaim"}', b'"ResourceClaim"}]'
    ),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("path", ["/validate", "/mutate", "/convert"])
def test_garbage(service: Running, path: str, name: str) -> None:
    """What is no review is a bad request that says why; an object that is odd in itself is refused or taken in a review."""
    code, text = post(service, path, BODIES[name])
    odd = name in ("no-utf-8", "nested-in-the-object") and path != "/convert"
    assert code in ((200, 400) if odd else (400,)), text
    assert 0 < len(text) < 20_000


TYPES = [
    "",
    "text/plain",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "json",
    "application/jsonx",
]


@pytest.mark.parametrize("content_type", TYPES)
def test_wrong_content_types(service: Running, content_type: str) -> None:
    """Only JSON is read."""
    code, text = post(service, "/validate", REVIEW, content_type)
    assert (code, text) == (415, b"Content-Type must be application/json\n")


HTTP = {
    "noise": random.Random(2).randbytes(1_000),
    "no-http": b"HELO there\r\n\r\n",
    "http-2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "huge-header": b"POST /validate HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    "huge-target": b"POST /" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "negative-length": b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
    "two-lengths": b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    "length-and-chunks": b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "bad-chunk": b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
}


@pytest.mark.parametrize("name", HTTP)
def test_broken_http(service: Running, name: str) -> None:
    """What is no HTTP, or ambiguous, gets a 4xx and the connection ends; it says nothing of what was sent, nor by what
    it was read."""
    answer = raw(service, HTTP[name])
    assert answer.startswith((b"HTTP/1.0 4", b"HTTP/1.1 4"))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"server:" not in head.lower()
    assert body in (b"bad request\n", b"request-uri too long\n", b"request header fields too large\n")


SECRET = b"s3cr3t-of-the-request"
ECHOES = {
    "target": b"POST /" + SECRET + b"\x01 HTTP/1.1\r\nHost: a\r\n\r\n",
    "method": SECRET + b"\x01 / HTTP/1.1\r\nHost: a\r\n\r\n",
    "header": b"GET / HTTP/1.1\r\n" + SECRET + b"\x01: a\r\n\r\n",
    "value": b"GET / HTTP/1.1\r\nA: " + SECRET + b"\x01\x00\r\n\r\n",
    "version": b"GET / HTTP/" + SECRET + b"\r\n\r\n",
    "nowhere": b"GET /" + SECRET + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
}


@pytest.mark.parametrize("name", ECHOES)
def test_requests_are_not_echoed(service: Running, name: str) -> None:
    """Whatever is wrong with a request, nothing of it comes back."""
    answer = raw(service, ECHOES[name])
    assert answer.startswith((b"HTTP/1.0 4", b"HTTP/1.1 4"))
    assert SECRET not in answer
    assert SECRET[:8] not in answer


@pytest.mark.parametrize("version", [b"2.0", b"3.0", b"0.9", b"1.2"])
@pytest.mark.parametrize("path", [b"/validate", b"/healthz", b"/nowhere"])
def test_other_versions_of_http(service: Running, path: bytes, version: bytes) -> None:
    """A version of HTTP that is not spoken is no request to answer."""
    head = b"POST %s HTTP/%s\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    answer = raw(service, head % (path, version, len(REVIEW)) + REVIEW)
    assert answer.startswith((b"HTTP/1.1 505 ", b"HTTP/1.0 505 ", b"HTTP/1.1 400 ", b"HTTP/1.0 400 "))
    if version == b"2.0":
        assert b" 505 " in answer[:20]


def test_no_tls(service: Running) -> None:
    """Who does not speak TLS gets no answer to speak of."""
    assert b"200" not in raw(service, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", tls=False)


def test_slow_senders(impatient: Running) -> None:
    """Many who send a byte now and then are given up after the time for a body; others are answered meanwhile."""
    head = b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    with ExitStack() as stack:
        senders = []
        for _ in range(50):
            wire = stack.enter_context(impatient.wire())
            wire.sendall(head + b"{")
            senders.append(wire)
        for _ in range(3):
            time.sleep(0.5)
            for wire in senders:
                wire.sendall(b" ")
            assert impatient.review("/validate", admission(claim()))["response"]["allowed"]
        for wire in senders:
            answer = wire.rest()
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert answer.endswith(b"\r\n\r\nthe body took longer than 2 s\n")


def test_a_thousand_idle_connections(impatient: Running, open_files: None) -> None:
    """Connections that do nothing, in TLS or before it, are in nobody's way, and are closed after a while."""
    context = ssl.create_default_context(cafile=str(impatient.authority))
    with ExitStack() as stack:
        idle = []
        for number in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", impatient.port), PATIENCE_SECONDS)
            if number % 2:
                connection = context.wrap_socket(connection, server_hostname="localhost")
            idle.append(stack.enter_context(connection))
        for _ in range(20):
            assert impatient.review("/validate", admission(claim()))["response"]["allowed"]
            assert impatient.ask("GET", "/readyz")[0] == 200
        for connection in idle:
            with suppress(ConnectionResetError, ssl.SSLError):
                assert connection.recv(1) == b""


POST = b"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = {
    "pipelined": (b"", b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n" * 500),
    "pipelined-metrics": (b"", b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 500),
    "upgraded": (
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        b"x" * 16384,
    ),
    "connected": (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", b"x" * 16384),
    "line": (b"", b"x" * 16384),
    "header": (b"GET / HTTP/1.1\r\nX: ", b"x" * 16384),
    "headers": (b"GET / HTTP/1.1\r\n", b"a: b\r\n" * 3000),
    "body-of-a-page": (
        b"GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"4000\r\n" + b"x" * 0x4000 + b"\r\n",
    ),
    "chunks": (POST, b"1\r\n \r\n" * 3000),
    "chunk-extension": (POST + b"1;", b"x" * 16384),
    "trailers": (POST + b"0\r\n", b"a: b\r\n" * 3000),
}
WITHOUT_END = 128 * 1024 * 1024
HELD = 32 * 1024 * 1024


@pytest.mark.parametrize("name", ENDLESS)
def test_senders_without_end(impatient: Running, name: str) -> None:
    """Whatever has no end is not kept: the connection ends, or no more is read of it while nobody reads the answers."""
    begin, part = ENDLESS[name]
    before = memory(impatient)
    context = ssl.create_default_context(cafile=str(impatient.authority))
    with socket.create_connection(("127.0.0.1", impatient.port), PATIENCE_SECONDS) as plain:
        wire = context.wrap_socket(plain, server_hostname="127.0.0.1")
        wire.settimeout(1)  # beyond that, no more is read
        sent = 0
        with suppress(OSError):
            wire.sendall(begin)
            while sent < WITHOUT_END:
                wire.sendall(part)
                sent += len(part)
        wire.close()
    assert sent < WITHOUT_END
    assert impatient.ask("GET", "/healthz") == (200, b"ok\n")
    assert memory(impatient) - before < HELD


def test_answers_that_nobody_reads(tmp_path: Path) -> None:
    """Twelve conversions of 8 MB: the connections of those that were answered first end. A hundred took 1.7 GB."""
    large = {
        **claim("v1beta1"),
        "metadata": {"name": "a", "namespace": "team", "annotations": {"a": "x" * 100_000}},
    }
    body = json.dumps(conversion([large] * 80, "v1")).encode()
    head = (
        b"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    with attacked(tmp_path, workers=1, body=600, idle=600, review=30) as service, ExitStack() as opened:
        wires = [opened.enter_context(service.wire()) for _ in range(MOST_BYTES // len(body) + 4)]
        for wire in wires:
            wire.sendall(head % len(body) + body)
            assert wire.recv(1) == b"H"
        service.wait_for("clients do not read their answers: their connections are closed")
        assert len(wires[0].rest()) < len(body)


def memory(service: Running) -> int:
    """How many bytes the workers take (Linux)."""
    children = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children").read_text().split()
    pages = [int(Path(f"/proc/{child}/statm").read_text().split()[1]) for child in children]
    return sum(pages) * resource.getpagesize()


def test_huge_client_hellos(impatient: Running, open_files: None) -> None:
    """A few bytes announce a ClientHello of 128 KiB, for which OpenSSL makes room: a connection takes no more than that."""
    before = memory(impatient)
    announcing = b"\x16\x03\x01\x00\x04" + b"\x01\x01\xff\xf0"
    with ExitStack() as stack:
        for _ in range(IDLE):
            plain = stack.enter_context(
                socket.create_connection(("127.0.0.1", impatient.port), PATIENCE_SECONDS)
            )
            plain.sendall(announcing)
        assert impatient.review("/validate", admission(claim()))["response"]["allowed"]
        assert memory(impatient) - before < IDLE * 256 * 1024


def test_no_tickets(service: Running) -> None:
    """Their making would be a third of a handshake, and API servers resume no sessions."""
    context = ssl.create_default_context(cafile=str(service.authority))
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    with socket.create_connection(("127.0.0.1", service.port), PATIENCE_SECONDS) as plain:
        wire = context.wrap_socket(plain, server_hostname="127.0.0.1")
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert b" 200 " in wire.recv(1000)
        assert wire.session is None or not wire.session.has_ticket
        wire.close()


def test_huge_batches_to_convert(service: Running) -> None:
    """Several batches of tens of thousands of objects at once, good and bad, are answered."""
    good = json.dumps(conversion([claim()] * 20_000, "v1beta1")).encode()
    bad = json.dumps(conversion([{"kind": 1}] * 200_000, "v1")).encode()
    mixed = json.dumps(
        conversion([claim(), {"apiVersion": "resource.k8s.io/v1", "kind": "Pod"}] * 10_000, "v1beta2")
    )
    answers: dict[int, bytes] = {}

    def ask(number: int, body: bytes) -> None:
        code, text = post(service, "/convert", body)
        assert code == 200
        answers[number] = text

    threads = [
        threading.Thread(target=ask, args=item) for item in enumerate([good, bad, mixed.encode(), good, bad])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results = [json.loads(answers[number])["response"] for number in range(5)]
    assert [result["result"]["status"] for result in results] == [
        "Success",
        "Failure",
        "Failure",
        "Success",
        "Failure",
    ]
    assert len(results[0]["convertedObjects"]) == 20_000
    assert all(
        len(result["result"]["message"]) < 3_000
        for result in results
        if result["result"]["status"] == "Failure"
    )


def test_many_bodies_at_once(tmp_path: Path) -> None:
    """All that is being sent takes four times the largest body at most: who sends more is told so, and none is held on to."""
    size = 100_000
    head = f"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    answers: Queue[bytes] = Queue()

    def listen(wire: Wire) -> None:
        with suppress(OSError):
            answers.put(wire.rest())

    with attacked(
        tmp_path, limits={"review": size, "conversion": size}, body=600, idle=600, workers=1
    ) as service:
        with ExitStack() as stack:
            for _ in range(5):
                wire = stack.enter_context(service.wire())
                wire.sendall(head.encode() + b" " * (size - 1))
                threading.Thread(target=listen, args=(wire,)).start()
            refused = answers.get(timeout=PATIENCE_SECONDS)
            assert refused.startswith(b"HTTP/1.1 503 ")
            assert refused.endswith(b"\r\n\r\ntoo much is being sent at once\n")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while post(service, "/convert", b" " * size)[0] != 400:
            assert time.monotonic() < deadline


def test_connections_that_break_off(service: Running) -> None:
    """Whoever goes away in the middle, or does not read the answers, leaves nothing behind."""
    for cut in range(0, 200, 10):
        connection = service.connect()
        connection.connect()
        assert connection.sock is not None
        connection.sock.sendall((b"POST /validate HTTP/1.1\r\nHost: a\r\n" + REVIEW)[:cut])
        connection.sock.close()
    head = f"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(REVIEW)}\r\n\r\n"
    connection = service.connect()
    connection.connect()
    assert connection.sock is not None
    connection.sock.settimeout(3)  # when nothing is taken any more
    with suppress(OSError, http.client.HTTPException):
        for _ in range(2_000):
            connection.sock.sendall(head.encode() + REVIEW)
    connection.sock.close()
    assert service.review("/validate", admission(claim()))["response"]["allowed"]
