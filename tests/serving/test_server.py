"""A server with routes that have nothing to do with webhooks: what it decodes, where it runs handlers, what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from serving.bodies import Limits
from serving.metrics import ServerMetrics
from serving.routes import LARGE_BYTES, Caller, Clients, HTTPError, Route, Waiting, decode_json
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

    def decode(self, body: bytes) -> Any:
        self.decoded.append(len(body))
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
