"""What kubelet asks a driver."""

from __future__ import annotations

import asyncio
import socket

import aiohttp
import pytest

from classic.health import health_served


def test_driver_is_healthy_at_once_and_ready_when_it_knows_the_cluster() -> None:
    is_ready = False

    async def ask() -> list[int]:
        nonlocal is_ready
        codes = []
        port = _free_port()
        async with health_served(port, lambda: is_ready), aiohttp.ClientSession() as session:
            for path in ("healthz", "readyz", "readyz", "metrics"):
                async with session.get(f"http://127.0.0.1:{port}/{path}") as answer:
                    codes.append(answer.status)
                is_ready = len(codes) > 1
        return codes

    assert asyncio.run(ask()) == [200, 503, 200, 404]


def test_port_that_is_taken_is_an_error() -> None:
    async def serve(port: int) -> None:
        async with health_served(port, lambda: True):
            pass

    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            asyncio.run(serve(taken.getsockname()[1]))


def test_without_a_port_nothing_is_served() -> None:
    async def serve() -> None:
        async with health_served(0, lambda: True):
            pass

    asyncio.run(serve())


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
