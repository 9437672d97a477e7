"""The service inside the test's process, on loopback without TLS: for tests that decide when something goes on."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import Iterator
from typing import Any

from tests.webhook.running import PATIENCE_SECONDS
from webhook.clients import Clients
from webhook.context import Context
from webhook.metrics import Metrics
from webhook.service import Limits, Service

JSON = {"Content-Type": "application/json"}
DIRECT: dict[str, str] = {}
GENERAL = {"X-Forwarded-For": "a"}
"""Headers by which a request is answered by the short way, and by the general server."""


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

    def __init__(self, service: Service, port: int) -> None:
        self.service = service
        self.port = port

    @property
    def in_flight(self) -> int:
        """How many reviews are being answered, as far as clients wait for them."""
        assert isinstance(self.service.metrics, InFlight)
        return self.service.metrics.number

    def send(
        self, body: bytes, path: str = "/validate", headers: dict[str, str] = DIRECT
    ) -> http.client.HTTPConnection:
        """Send a review; the answer is still to be read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        connection.request("POST", path, body, {**JSON, **headers})
        return connection

    def ask(
        self, body: bytes, path: str = "/validate", headers: dict[str, str] = DIRECT
    ) -> tuple[int, bytes]:
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
def serving(context: Context, clients: Clients | None = None, **limits: Any) -> Iterator[Serving]:
    """Serve a context for as long as a `with` block lasts."""
    started = threading.Event()
    found: list[Any] = []

    async def serve() -> None:
        service = Service(context, InFlight(), Limits(**{"seconds": 60.0, "review": 60.0, **limits}), clients)
        loop = asyncio.get_running_loop()
        server = await loop.create_server(service.protocol(idle_seconds=60), "127.0.0.1", 0)
        ending = asyncio.Event()
        found.extend(
            [service, server.sockets[0].getsockname()[1], lambda: loop.call_soon_threadsafe(ending.set)]
        )
        started.set()
        await ending.wait()
        server.close()
        await service.shutdown(1)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert started.wait(PATIENCE_SECONDS)
    service, port, end = found
    try:
        yield Serving(service, port)
    finally:
        end()
        thread.join()
