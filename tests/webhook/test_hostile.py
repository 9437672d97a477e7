"""Clients that are no API servers: clear answers, no crash, and health checks are answered throughout."""

from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.webhook.examples import admission, claim, conversion
from tests.webhook.running import Running, running
from webhook.service import ADMISSION_BYTES, CONVERSION_BYTES

JSON = {"Content-Type": "application/json"}
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


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two workers; in the end none of them has died, and health was answered all the time."""
    with running(
        tmp_path_factory.mktemp("hostile"),
        listen={"workers": 2},
        apiServer={"serves": "CustomResources"},
        timeouts={"body": 2, "idle": 5},
        logging={"level": "info"},
    ) as started:
        prober = Prober(started)
        yield started
        prober.end()
        assert prober.problems == []
        assert prober.asked > 0
        messages = {entry.get("message") for entry in started.logged}
        assert not messages & {"worker ended", "review failed"}
        # whatever clients do wrong is no error of the service, and worth one line
        assert not [
            entry for entry in started.logged if entry.get("level") == "error" or "exception" in entry
        ]


def post(service: Running, path: str, body: object, **headers: str) -> tuple[int, bytes]:
    """The answer to a body; iterables are sent in chunks, and not to the end if the answer comes before."""
    connection = service.connect()
    try:
        with suppress(BrokenPipeError, ConnectionResetError, ssl.SSLError):
            connection.request("POST", path, body, {**JSON, **headers})  # type: ignore[arg-type]
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def raw(service: Running, data: bytes, *, tls: bool = True) -> bytes:
    """What comes back for bytes as they are, up to the end of the connection.

    Whoever refuses early closes while bytes are still on their way to it; so the answer is read beside the
    sending, and whatever becomes of that: a TLS socket would be of no more use after a failed write.
    """
    with socket.create_connection(("127.0.0.1", service.port), 20) as connection:
        session = Session(connection, service.authority) if tls else None
        sender = threading.Thread(
            target=_send, args=(connection, data if session is None else session.sealed(data))
        )
        sender.start()
        received = b""
        with suppress(OSError):
            while chunk := connection.recv(65536) if session is None else session.received():
                received += chunk
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)  # whoever still sends is done
        sender.join()
        return received


def _send(connection: socket.socket, data: bytes) -> None:
    """Send bytes, as far as they are taken."""
    with suppress(OSError):
        connection.sendall(data)


class Session:
    """TLS apart from its connection, so that reading and writing do not wait for each other."""

    def __init__(self, connection: socket.socket, authority: Path) -> None:
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=str(authority))
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        while True:
            try:
                self._tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                connection.sendall(self._outgoing.read())
                self._incoming.write(connection.recv(65536))

    def sealed(self, data: bytes) -> bytes:
        """What is to be sent for these bytes."""
        self._tls.write(data)
        return self._outgoing.read()

    def received(self) -> bytes:
        """The next bytes of the other side; none after its farewell."""
        while True:
            try:
                return self._tls.read(65536)
            except ssl.SSLWantReadError:
                if not (chunk := self._connection.recv(65536)):
                    return b""
                self._incoming.write(chunk)


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
    body: object = b" " * (limit + 1)
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
    code, text = post(service, "/validate", REVIEW, **{"Content-Type": content_type})
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
    """What is no HTTP, or ambiguous, gets a 4xx and the connection ends."""
    assert raw(service, HTTP[name]).startswith((b"HTTP/1.0 4", b"HTTP/1.1 4"))


def test_no_tls(service: Running) -> None:
    """Who does not speak TLS gets no answer to speak of."""
    assert b"200" not in raw(service, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", tls=False)


def test_slow_senders(service: Running) -> None:
    """Many who send a byte now and then are given up after the time for a body; others are answered meanwhile."""
    with ExitStack() as stack:
        senders = []
        for _ in range(50):
            connection = service.connect()
            stack.callback(connection.close)
            connection.putrequest("POST", "/validate")
            for header, value in {**JSON, "Content-Length": "1000"}.items():
                connection.putheader(header, value)
            connection.endheaders(b"{")
            senders.append(connection)
        for _ in range(3):
            time.sleep(0.5)
            for connection in senders:
                with suppress(OSError):  # those who were given up already
                    connection.send(b" ")
            assert service.review("/validate", admission(claim()))["response"]["allowed"]
        answers = [connection.getresponse() for connection in senders]
        assert {(answer.status, answer.read()) for answer in answers} == {
            (408, b"the body took longer than 2 s\n")
        }


def test_a_thousand_idle_connections(service: Running) -> None:
    """Connections that do nothing, in TLS or before it, are in nobody's way, and are closed after a while."""
    context = ssl.create_default_context(cafile=str(service.authority))
    with ExitStack() as stack:
        idle = []
        for number in range(IDLE):
            connection = socket.create_connection(("127.0.0.1", service.port), 20)
            if number % 2:
                connection = context.wrap_socket(connection, server_hostname="localhost")
            idle.append(stack.enter_context(connection))
        for _ in range(20):
            assert service.review("/validate", admission(claim()))["response"]["allowed"]
            assert service.ask("GET", "/readyz")[0] == 200
        for connection in idle:
            connection.settimeout(20)
            with suppress(ConnectionResetError, ssl.SSLError):
                assert connection.recv(1) == b""


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


def test_connections_that_break_off(service: Running) -> None:
    """Whoever goes away in the middle, or does not read the answers, leaves nothing behind."""
    for cut in range(0, 200, 10):
        connection = service.connect()
        connection.connect()
        assert connection.sock is not None
        connection.sock.sendall((b"POST /validate HTTP/1.1\r\nHost: a\r\n" + REVIEW)[:cut])
        connection.sock.close()
    head = f"POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {len(REVIEW)}\r\n\r\n"
    connection = service.connect(timeout=3)
    connection.connect()
    assert connection.sock is not None
    with suppress(OSError, http.client.HTTPException):
        for _ in range(2_000):
            connection.sock.sendall(head.encode() + REVIEW)
    connection.sock.close()
    assert service.review("/validate", admission(claim()))["response"]["allowed"]
