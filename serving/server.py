"""An HTTP server for routes with JSON bodies, and the pages that every service has.

Independent of TLS, sockets and processes (:mod:`serving.worker`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from aiohttp import web

from serving.bodies import MAX_SENT, Bodies, Limits
from serving.connections import Connections
from serving.dispatch import Dispatcher, Reply, Request, Unfinished
from serving.fast_http import FastConnection, Head
from serving.http_server import GeneralHTTP
from serving.metrics import ServerMetrics
from serving.pages import MetricsPage, Pages
from serving.routes import (
    LARGE_BYTES,
    NO_CERTIFICATE,
    Caller,
    Clients,
    Deadline,
    HTTPError,
    Route,
    seconds_to_answer,
)
from serving.slots import Slots


class Server:
    """Answers requests to routes, which may be replaced at any time.

    While its ``pages`` are draining, each connection is closed with its next answer.

    :param deadline: makes the deadline of a request that begins now, from the seconds that the client waits.
    :param clients: which clients may ask for what; None if clients are not identified.
    :param checks: what has to be so before requests are answered, by name.
    :param connections: the open connections.
    :param shared: the directory for what all processes share.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        metrics: ServerMetrics,
        limits: Limits,
        deadline: Callable[[float], Deadline],
        *,
        clients: Clients | None = None,
        checks: Mapping[str, Callable[[], bool]] = MappingProxyType({}),
        connections: Connections | None = None,
        shared: Path | None = None,
    ) -> None:
        self.set_routes(routes)
        self.metrics = metrics
        self.connections = Connections(1_000_000) if connections is None else connections
        self.dispatcher = Dispatcher(self.connections, Slots(shared), metrics.label)
        self.fast_connections: set[FastConnection] = set()
        self._limits = limits
        self._deadline = deadline
        self._clients = clients
        self._metrics_page = MetricsPage(metrics.exposition)
        self.pages = Pages(checks, self._metrics_page)
        self._bodies = Bodies(limits)
        self._general: GeneralHTTP | None = None

    def set_routes(self, routes: Iterable[Route]) -> None:
        """Answer requests that come from now on by other routes."""
        self._routes = {route.path: route for route in routes}

    def protocol(self, *, idle_seconds: float) -> Callable[[], asyncio.Protocol]:
        """What makes the protocol of a connection; needs a running loop."""
        self._general = GeneralHTTP(
            self._answer, idle_seconds=idle_seconds, request_bytes=MAX_SENT * self._limits.body_bytes
        )
        return lambda: FastConnection(self, idle_seconds=idle_seconds)

    def general_protocol(self, unfinished: Unfinished | None = None) -> asyncio.Protocol:
        """The protocol of a connection that is no longer for the fast path.

        :param unfinished: its first request, as far as the fast path has come with it.
        """
        assert self._general is not None
        return self._general.protocol(unfinished)

    def knows(self, certificate: Any) -> bool:
        """Whether a client with a certificate, or with none, may ask for everything."""
        return self._clients is not None and not self._clients.doubt(certificate)

    def open_connections(self) -> int:
        """How many connections are open."""
        return len(self.fast_connections) + (0 if self._general is None else self._general.connections())

    async def shutdown(self, seconds: float) -> None:
        """Close all connections; requests that are being answered may take some seconds more."""
        for connection in list(self.fast_connections):
            connection.close()
        if self._general is not None:
            await self._general.shutdown(seconds)
        self.dispatcher.close()
        self._metrics_page.close()

    def takes_fast_path(self, head: Head, transport: asyncio.Transport) -> bool:
        """Whether a request is a small one to a route, of a client that may ask."""
        route = self._routes.get(head.path)
        if route is None or head.length >= min(LARGE_BYTES, route.max_bytes + 1):
            return False
        if self.pages.draining or not self.pages.is_ready():
            return False
        if self._clients is not None:
            try:
                self._clients.check(transport.get_extra_info("peercert"))
            except HTTPError:
                return False
        return True

    def answer_fast(self, head: Head, body: bytes, transport: asyncio.Transport) -> Reply | Unfinished:
        """Answer a request that takes the fast path, at once if possible."""
        route, code = self._routes[head.path], None
        entered = self.metrics.enter(route.name)
        try:
            try:
                caller = self._caller(
                    self._doubt(transport.get_extra_info("peercert")), head.query, len(body)
                )
                outcome = self.dispatcher.begin(Request(route, body, caller))
            except HTTPError as error:
                outcome = self.dispatcher.refused(route, error)
            if isinstance(outcome, Reply):
                code = outcome.code
                self.connections.answered(transport, len(outcome.body))
            return outcome
        finally:
            self.metrics.leave(route.name, entered, code)

    async def _answer(self, request: web.BaseRequest, unfinished: Unfinished | None) -> web.StreamResponse:
        """Answer any request of the general server."""
        route = self._routes.get(request.path)
        if route is not None:
            response = await self._measured(route, request, unfinished)
        else:
            response = await self.pages.answer(request)
        self.connections.answered(request.transport, response.content_length or 0)
        if self.pages.draining:
            response.force_close()
        return response

    async def _measured(
        self, route: Route, request: web.BaseRequest, unfinished: Unfinished | None
    ) -> web.Response:
        code = None
        entered = self.metrics.enter(route.name)
        try:
            response = await self._answer_at(route, request, unfinished)
            code = response.status
        finally:
            self.metrics.leave(route.name, entered, code)
        return response

    async def _answer_at(
        self, route: Route, request: web.BaseRequest, unfinished: Unfinished | None
    ) -> web.Response:
        try:
            doubt = self._doubt(request.get_extra_info("peercert"))
            if not self.pages.is_ready():
                raise HTTPError("not ready", 503)
            async with self._bodies.received(request, route, doubt) as body:
                self.connections.works(request.transport)
                if unfinished is not None and unfinished.request.body == body:
                    outcome = await self.dispatcher.go_on(unfinished)
                else:
                    caller = self._caller(doubt, request.query_string, len(body))
                    outcome = await self.dispatcher.answer(Request(route, body, caller))
            if isinstance(outcome, Unfinished):
                del body
                outcome = await self.dispatcher.wait(outcome)
            return outcome.response()
        except HTTPError as error:
            response = self.dispatcher.refused(route, error).response()
            if error.code != 400:
                response.force_close()  # what is left of the body is of no interest
            return response

    def _doubt(self, certificate: Any) -> str:
        """The doubt about a client.

        :raises HTTPError: if it is refused.
        """
        return NO_CERTIFICATE if self._clients is None else self._clients.check(certificate)

    def _caller(self, doubt: str, query: str, size: int) -> Caller:
        """The client of a request that begins now."""
        deadline = self._deadline(seconds_to_answer(query, self._limits.answer_seconds))
        return Caller(doubt, deadline, size)
