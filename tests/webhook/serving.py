"""The service inside the test's process, on loopback without TLS: for tests that decide when something goes on."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import Iterator
from typing import Any

from serving.bodies import Limits
from serving.connections import Connections
from serving.routes import Clients
from serving.server import Server
from tests.webhook.running import PATIENCE_SECONDS
from webhook.context import Context
from webhook.metrics import Metrics
from webhook.routes import ReviewLimits, deadline, make_routes

JSON = {"Content-Type": "application/json"}
FAST: dict[str, str] = {}
GENERAL = {"X-Forwarded-For": "a"}
"""Headers with which a request takes the fast path, and goes to the general server."""


class InFlight(Metrics):
    """Metrics that know how many reviews are being answered, wherever others keep what they count."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def enter(self, webhook: str) -> float:
        self.number += 1
        return super().enter(webhook)

    def leave(self, webhook: str, entered: float, code: int | None) -> None:
        self.number -= 1
        super().leave(webhook, entered, code)


class Serving:
    """A service in a thread of its own."""

    def __init__(self, server: Server, port: int) -> None:
        self.server = server
        self.port = port

    @property
    def in_flight(self) -> int:
        """How many reviews are being answered, as far as clients wait for them."""
        assert isinstance(self.server.metrics, InFlight)
        return self.server.metrics.number

    def send(
        self, body: bytes, path: str = "/validate", headers: dict[str, str] = FAST
    ) -> http.client.HTTPConnection:
        """Send a review; the answer is still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        connection.request("POST", path, body, {**JSON, **headers})
        return connection

    def ask(self, body: bytes, path: str = "/validate", headers: dict[str, str] = FAST) -> tuple[int, bytes]:
        return answer(self.send(body, path, headers))

    def is_healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        connection.request("GET", "/healthz")
        return answer(connection) == (200, b"ok\n")


def answer(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    """Status and body of what has been sent; the connection is closed."""
    with contextlib.closing(connection):
        response = connection.getresponse()
        return response.status, response.read()


@contextlib.contextmanager
def serving(
    context: Context, clients: Clients | None = None, connections: Connections | None = None, **limits: int
) -> Iterator[Serving]:
    """Serve a context for as long as a `with` block lasts."""
    started = threading.Event()
    found: list[Any] = []

    async def serve() -> None:
        metrics, bodies = InFlight(), ReviewLimits(**limits)
        made = Server(
            make_routes(context, metrics, bodies),
            metrics,
            Limits(60.0, 60.0, max(bodies)),
            deadline,
            clients=clients,
            connections=connections,
        )
        loop = asyncio.get_running_loop()
        server = await loop.create_server(made.protocol(idle_seconds=60), "127.0.0.1", 0)
        ending = asyncio.Event()
        found.extend(
            [made, server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(ending.set)]
        )
        started.set()
        await ending.wait()
        server.close()
        await made.shutdown(1)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    made, port, end = found
    try:
        yield Serving(made, port)
    finally:
        end()
        thread.join()
