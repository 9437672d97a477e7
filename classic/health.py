"""Whether a driver works, for kubelet: ``/healthz`` and ``/readyz`` over plain HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def health_served(port: int, is_ready: Callable[[], bool]) -> AsyncIterator[None]:
    """Answer on all addresses of this machine.

    :param port: 0: not at all.
    :raises OSError: if the port is taken.
    """
    if not port:
        yield
        return

    async def healthy(_: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def ready(_: web.Request) -> web.Response:
        return web.Response(text="ok\n") if is_ready() else web.Response(text="not ready\n", status=503)

    app = web.Application()
    app.router.add_get("/healthz", healthy)
    app.router.add_get("/readyz", ready)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, port=port).start()
        yield
    finally:
        await runner.cleanup()
