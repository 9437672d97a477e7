"""A server with routes that have nothing to do with webhooks: what it decodes, where it runs handlers, what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import http.client
import json
import logging
import socket
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest
from aiohttp.http_exceptions import BadHttpMessage

from serving import http_server
from serving.bodies import Limits
from serving.http_server import GeneralHTTP, Response
from serving.logs import LogLimit
from serving.metrics import ServerMetrics
from serving.routes import (
    BRIEF_BYTES,
    LARGE_BYTES,
    Caller,
    Clients,
    HTTPError,
    Route,
    Waiting,
    decode_json,
)
from serving.server import Server
from tests.webhook.running import PATIENCE_SECONDS
from tests.webhook.serving import FAST, GENERAL, answer

BOTH = pytest.mark.parametrize("headers", [FAST, GENERAL], ids=["fast", "general"])


class Patience:
    """A deadline that never comes."""

    def stop(self) -> None:
        """Nothing."""

    def is_open(self) -> bool:
        return True

    def seconds_left(self) -> float:
        return PATIENCE_SECONDS


class Echo:
    """Handlers, with what they have decoded and the threads that they ran in."""

    def __init__(self) -> None:
        self.decoded: list[int] = []
        self.threads: list[str] = []
        self.decoding: list[str] = []

    def decode(self, body: bytes) -> Any:
        self.decoded.append(len(body))
        self.decoding.append(threading.current_thread().name)
        return decode_json(body)

    def echo(self, decoded: Any, caller: Caller) -> Any:
        self.threads.append(threading.current_thread().name)
        return {"echo": decoded, "size": caller.size}

    def wait(self, decoded: Any, caller: Caller) -> Waiting:
        return Waiting(lambda: self.echo(decoded, caller), "too late", "too many")

    def fail(self, decoded: Any, caller: Caller) -> Any:
        raise HTTPError("not today", 503) if decoded else ValueError("secret")

    def routes(self) -> list[Route]:
        return [
            Route(
                "/echo", self.echo, 2 * LARGE_BYTES, may_block=lambda body, _: body == 1, decode=self.decode
            ),
            Route("/wait", self.wait, 100, decode=self.decode),
            Route("/fail", self.fail, 100, log_fields=lambda _: {"uid": "u"}),
        ]


class Served:
    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port

    def send(
        self, path: str, body: bytes, headers: Mapping[str, str] = MappingProxyType({})
    ) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        connection.request("POST", path, body, {"Content-Type": "application/json", **headers})
        return connection

    def ask(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        return answer(self.send(path, body, headers))


@contextlib.contextmanager
def serving(routes: list[Route], clients: Clients | None = None) -> Iterator[Served]:
    started = threading.Event()
    found: list[Any] = []

    async def serve() -> None:
        server = Server(
            routes,
            ServerMetrics("test", "verb"),
            Limits(60.0, 60.0, 2 * LARGE_BYTES),
            lambda seconds: Patience(),
            clients=clients,
        )
        loop, ending = asyncio.get_running_loop(), asyncio.Event()
        listening = await loop.create_server(server.protocol(idle_seconds=60), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        found.extend([Served(server, port), lambda: loop.call_soon_threadsafe(ending.set)])
        started.set()
        await ending.wait()
        listening.close()
        await server.shutdown(1)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    try:
        yield found[0]
    finally:
        found[1]()
        thread.join()


@BOTH
@pytest.mark.parametrize(
    ("path", "body", "thread"),
    [
        pytest.param("/echo", b"2", "Thread-", id="at-once"),
        pytest.param("/echo", b"1", "worker_", id="may-block"),
        pytest.param("/wait", b"2", "waiter_", id="has-to-wait"),
        pytest.param("/echo", b"2".ljust(BRIEF_BYTES - 1), "Thread-", id="brief"),
        pytest.param("/echo", b"2".ljust(BRIEF_BYTES), "worker_", id="not-brief"),
        pytest.param("/echo", b"2".ljust(LARGE_BYTES), "worker_", id="large"),
    ],
)
def test_bodies_are_decoded_once(path: str, body: bytes, thread: str, headers: dict[str, str]) -> None:
    """Wherever a handler has to run, and whichever way a request takes."""
    echo = Echo()
    with serving(echo.routes()) as served:
        code, text = served.ask(path, body, headers)
    assert (code, json.loads(text)) == (200, {"echo": json.loads(body), "size": len(body)})
    assert echo.decoded == [len(body)]
    assert [name.startswith(thread) for name in echo.threads] == [True]
    decoding = "worker_" if len(body) >= BRIEF_BYTES else "Thread-"
    assert [name.startswith(decoding) for name in echo.decoding] == [True]


def test_answers_are_not_kept() -> None:
    """A connection that stays open keeps nothing of the last answer; of 4 MB each, 60 of them were 230 MB."""
    with serving(Echo().routes()) as served:
        connection = served.send("/echo", b"2".ljust(LARGE_BYTES), GENERAL)
        assert connection.getresponse().read()
        assert served.ask("/echo", b"2", {})[0] == 200  # which the event loop answers after that
        kept = [each for each in gc.get_objects() if isinstance(each, Response) and each.body]
        assert kept == []
        connection.close()


def test_all_that_have_slots_have_threads() -> None:
    """However few processors there are, clients never wait for threads that others have."""
    together = threading.Barrier(12)

    def wait(decoded: Any, caller: Caller) -> int:
        return together.wait(PATIENCE_SECONDS)

    routes = [Route(f"/{lane}", wait, LARGE_BYTES, lane=str(lane)) for lane in range(together.parties)]
    with serving(routes) as served:
        sent = [served.send(route.path, b"1".ljust(BRIEF_BYTES)) for route in routes]
        assert {answer(each)[0] for each in sent} == {200}


@pytest.mark.parametrize(("fields", "is_answered"), [(4, True), (5, False)])
def test_heads_are_bounded(fields: int, is_answered: bool) -> None:
    """At 32 KiB; unfinished heads of a megabyte each, on 1,000 connections, would take all memory."""
    with serving(Echo().routes()) as served, socket.create_connection(("127.0.0.1", served.port)) as client:
        client.settimeout(PATIENCE_SECONDS)
        field = f"a: {'x' * 7_900}\r\n"
        client.sendall(f"GET /healthz HTTP/1.1\r\nHost: a\r\n{field * fields}".encode())
        if is_answered:
            client.sendall(b"\r\n")
        try:
            assert client.recv(9) == b"HTTP/1.1 " * is_answered
        except ConnectionResetError:
            assert not is_answered


def test_one_request_waits_behind_another() -> None:
    """Of those that come before the one before them is answered, no more are read: each may have a head of 32 KiB."""

    class Plain(asyncio.Transport):
        is_reading_now = True

        def pause_reading(self) -> None:
            self.is_reading_now = False

        def resume_reading(self) -> None:
            self.is_reading_now = True

        def write(self, data: Any) -> None:
            """Nobody reads it."""

        def is_closing(self) -> bool:
            return False

        def close(self) -> None:
            """In the end."""

    async def main() -> None:
        goes_on = asyncio.Event()

        async def wait(request: Any, first: Any) -> Response:
            await goes_on.wait()
            return Response(text="")

        handler = GeneralHTTP(wait, idle_seconds=9.0, request_bytes=10_000).protocol()
        transport = Plain()
        handler.connection_made(transport)
        found = []
        for _ in range(2):
            handler.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            for _ in range(5):
                await asyncio.sleep(0)
            found.append(transport.is_reading_now)
        goes_on.set()
        for _ in range(20):
            await asyncio.sleep(0)
        found.append(transport.is_reading_now)
        handler.connection_lost(None)
        assert found == [True, False, True]

    asyncio.run(main())


def test_warnings_of_asyncio_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """One for each client that leaves before it is answered was 2,000 lines in ten seconds."""
    with serving(Echo().routes()):
        for _ in range(9):
            logging.getLogger("asyncio").warning("SSL connection is closed")
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == [
        "SSL connection is closed"
    ]


@BOTH
def test_errors(caplog: pytest.LogCaptureFixture, headers: dict[str, str]) -> None:
    """An HTTP error of a handler is answered as it is; any other is logged with the route and its fields, not told."""
    with serving(Echo().routes()) as served:
        assert served.ask("/fail", b"1", headers) == (503, b"not today\n")
        assert served.ask("/fail", b"0", headers) == (500, b"internal error\n")
        assert served.ask("/fail", b"{", headers)[0] == 400
        assert served.ask("/wait", b" " * 101, headers)[0] == 413
    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.getMessage() == "request failed"
    assert record.fields == {"verb": "fail", "uid": "u"}  # type: ignore[attr-defined]


@BOTH
def test_refusals_do_not_fill_the_log(caplog: pytest.LogCaptureFixture, headers: dict[str, str]) -> None:
    """Anybody who reaches the port can be refused at no cost; of each route and code there is a line now and then."""
    with serving(Echo().routes()) as served:
        for _ in range(20):
            assert served.ask("/fail", b"1", headers)[0] == 503
            assert served.ask("/fail", b"{", headers)[0] == 400
            assert served.ask("/wait", b"{", headers)[0] == 400
    refused = [record.fields for record in caplog.records if record.getMessage() == "request refused"]  # type: ignore[attr-defined]
    assert [(each["verb"], each["code"]) for each in refused] == [("fail", 503), ("fail", 400), ("wait", 400)]


def test_what_is_not_http_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with serving(Echo().routes()) as served:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", served.port), PATIENCE_SECONDS) as connection:
                connection.sendall(b"GET / NONSENSE\r\n\r\n")
                while connection.recv(4096):
                    pass
    assert len([each for each in caplog.records if "request refused: " in each.getMessage()]) <= 1


@BOTH
def test_routes_are_replaced(headers: dict[str, str]) -> None:
    """Requests are answered by the routes that there are when they come."""
    echo = Echo()
    with serving(echo.routes()) as served:
        assert served.ask("/new", b"1", headers)[0] == 404
        served.server.set_routes([Route("/new", echo.echo, 100)])
        assert served.ask("/new", b"1", headers)[0] == 200
        assert served.ask("/echo", b"1", headers)[0] == 404


@pytest.mark.parametrize(
    ("message", "logged"),
    [
        (
            "Got more than 8190 bytes when reading: b'Bearer secret...'.",
            "Got more than 8190 bytes when reading",
        ),
        ("Bad status line 'secret'", "Bad status line"),
        ("Invalid header token:\n\n  b'secret'\n    ^", "Invalid header token"),
        ("Data after `Connection: close`", "Data after `Connection: close`"),
    ],
)
def test_what_is_sent_is_not_in_the_log(message: str, logged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be most of a token."""
    monkeypatch.setattr(http_server, "_NO_HTTP", LogLimit())
    error = BadHttpMessage(message)
    record = logging.LogRecord("", logging.ERROR, "", 0, "", (), (BadHttpMessage, error, None))
    assert http_server._in_short(record)
    assert record.getMessage() == f"request refused: {logged}"
