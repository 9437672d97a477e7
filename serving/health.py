"""Whether a process works that serves nothing else: ``/healthz`` and ``/readyz`` over plain HTTP, for kubelet."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from serving.connections import Connections, PlainConnection
from serving.http_server import GeneralHTTP
from serving.listening import Acceptor, Shares, most_connections
from serving.pages import Pages

MOST_CONNECTIONS = 500
IDLE_SECONDS = 60.0
REQUEST_BYTES = 1 << 20
EXPIRE_SECONDS = 1.0


@asynccontextmanager
async def health_served(listener: socket.socket, is_ready: Callable[[], bool]) -> AsyncIterator[None]:
    """Answer in the block, in the event loop that it is in.

    :param listener: from :func:`serving.listening.listen`; closed in the end.
    """
    pages = Pages({"ready": is_ready})
    connections = Connections(most_connections(MOST_CONNECTIONS), idle_seconds=IDLE_SECONDS)

    async def answer(request: web.BaseRequest, _: object) -> web.StreamResponse:
        response = await pages.answer(request)
        connections.answered(request.transport)
        return response

    general = GeneralHTTP(answer, idle_seconds=IDLE_SECONDS, request_bytes=REQUEST_BYTES)
    acceptor = Acceptor(
        listener,
        lambda: PlainConnection(general.protocol(), connections),
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
        await general.shutdown(0)


async def _expire(connections: Connections) -> None:
    while True:
        await asyncio.sleep(EXPIRE_SECONDS)
        connections.expire()
