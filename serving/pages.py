"""The pages that every service has for kubelet and Prometheus: ``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING

from aiohttp import web

from resourceapi.logs import LOGGER
from serving.connections import Connections, PlainConnection, TLSConnection
from serving.http_server import GeneralHTTP, Response, text
from serving.listening import Acceptor, Shares, most_connections
from serving.logs import LogLimit

if TYPE_CHECKING:
    from serving.tls import ServerTLS

# The text that Prometheus scrapes, rendered now and then: whoever reaches the port may ask for it, and it
# takes a while.

# Scrapers ask every few seconds at most; all who ask in between get the same text.
RENDER_SECONDS = 1.0
# Some hundred times what the metrics of a service take.
MOST_BYTES = 8 * 1024 * 1024

Exposition = tuple[bytes, str]
"""A text and its content type."""


class MetricsPage:
    """What one process shows to all who ask; for the thread of the event loop.

    :param render: makes the text; runs in a thread of its own, once at a time.
    :param clock: returns seconds since any fixed point in time.
    """

    def __init__(self, render: Callable[[], Exposition], clock: Callable[[], float] = monotonic) -> None:
        self._render = render
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        self._shown: asyncio.Future[Exposition | None] | None = None
        self._since = float("-inf")
        self._log_limit = LogLimit()

    async def current(self) -> Exposition | None:
        """The text of at most :data:`RENDER_SECONDS` ago, or the one that is being made; None if it cannot be made."""
        shown = self._shown
        if shown is None or (shown.done() and self._clock() - self._since >= RENDER_SECONDS):
            self._since = self._clock()
            shown = self._shown = asyncio.get_running_loop().run_in_executor(self._thread, self._rendered)
        return await asyncio.shield(shown)  # whoever goes does not take it from the others

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _rendered(self) -> Exposition | None:
        try:
            body, content_type = self._render()
            if len(body) > MOST_BYTES:
                raise ValueError(f"the metrics have more than {MOST_BYTES:,} bytes")
        except Exception:  # noqa: BLE001 - whatever is wrong with a file of them, the service goes on
            if self._log_limit.left_out("") is not None:
                LOGGER.exception("no metrics")
            return None
        return body, content_type


class Pages:
    """Answers requests for pages.

    While ``draining``, ``/readyz`` fails. ``/readyz/NAME`` tells one of the checks, whatever the others are.

    :param checks: what has to be so before requests are answered, by name.
    :param metrics: what is at ``/metrics``; None for nothing.
    """

    def __init__(
        self,
        checks: Mapping[str, Callable[[], bool]] = MappingProxyType({}),
        metrics: MetricsPage | None = None,
    ) -> None:
        self.draining = False
        self._checks = checks
        self._metrics = metrics
        self._pages: dict[str, Callable[[], web.Response]] = {
            "/healthz": lambda: text(200, "ok"),
            "/readyz": self._readiness,
            **{f"/readyz/{name}": partial(_check, check) for name, check in checks.items()},
        }

    def is_ready(self) -> bool:
        """Whether all checks hold."""
        return all(check() for check in self._checks.values())

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """The page that a request asks for, or an error."""
        is_of_metrics = self._metrics is not None and request.path == "/metrics"
        if not is_of_metrics and request.path not in self._pages:
            return text(404, "there is nothing here")
        if request.method not in ("GET", "HEAD"):
            return text(405, "only GET", Allow="GET, HEAD")
        if self._metrics is not None and is_of_metrics:
            shown = await self._metrics.current()
            if shown is None:
                return text(500, "internal error")
            return Response(body=shown[0], headers={"Content-Type": shown[1]})
        return self._pages[request.path]()

    def _readiness(self) -> web.Response:
        return text(503, "shutting down") if self.draining else _checked(self.is_ready())


def _check(check: Callable[[], bool]) -> web.Response:
    return _checked(check())


def _checked(holds: bool) -> web.Response:
    return text(200, "ok") if holds else text(503, "not ready")


# Whether a process works that serves nothing else: ``/healthz`` and ``/readyz`` over plain HTTP, for
# kubelet, and what it counts, for Prometheus.

MOST_CONNECTIONS = 500
IDLE_SECONDS = 60.0
REQUEST_BYTES = 1 << 20
EXPIRE_SECONDS = 1.0
#: How long requests that are being answered may take in the end; 0 is for ever to aiohttp.
DRAIN_SECONDS = 1.0


@asynccontextmanager
async def health_served(
    listener: socket.socket, is_ready: Callable[[], bool], render: Callable[[], Exposition] | None = None
) -> AsyncIterator[None]:
    """Answer in the block, in the event loop that it is in.

    :param listener: from :func:`serving.listening.listen`; closed in the end.
    :param render: makes the text at ``/metrics``, in a thread of its own; None for nothing there.
    """
    metrics = MetricsPage(render) if render is not None else None
    pages = Pages({"ready": is_ready}, metrics)
    connections = Connections(most_connections(MOST_CONNECTIONS), idle_seconds=IDLE_SECONDS)

    async def answer(request: web.BaseRequest, _: object) -> web.StreamResponse:
        response = await pages.answer(request)
        connections.answered(request.transport)
        return response

    general = GeneralHTTP(answer, idle_seconds=IDLE_SECONDS, request_bytes=REQUEST_BYTES)
    try:
        async with accepted(listener, general, connections):
            yield
    finally:
        if metrics is not None:
            metrics.close()


@asynccontextmanager
async def accepted(
    listener: socket.socket, general: GeneralHTTP, connections: Connections, tls: ServerTLS | None = None
) -> AsyncIterator[None]:
    """Accept connections in the block, and close them at its end.

    :param listener: from :func:`serving.listening.listen`; closed in the end.
    :param tls: None for connections without TLS.
    """

    def protocol() -> asyncio.BaseProtocol:
        application = general.protocol()
        if tls is None:
            return PlainConnection(application, connections)
        return TLSConnection(application, tls.context, connections)

    acceptor = Acceptor(
        listener,
        protocol,
        shares=Shares(1),
        process=0,
        connections=connections,
    )
    expiring = asyncio.create_task(_expire(connections))
    try:
        yield
    finally:
        expiring.cancel()
        acceptor.close()
        await general.shutdown(DRAIN_SECONDS)


async def _expire(connections: Connections) -> None:
    while True:
        await asyncio.sleep(EXPIRE_SECONDS)
        connections.expire()
