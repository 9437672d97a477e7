"""What kubelet asks a process that serves nothing else, and what others may do to its port."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import aiohttp
import pytest

from serving import pages
from serving.listening import listen
from serving.pages import health_served

ASK = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"


@asynccontextmanager
async def served(is_ready: bool = True) -> AsyncIterator[int]:
    """The port of a process that is ready or not."""
    listener = listen("127.0.0.1", 0)
    port = int(listener.getsockname()[1])
    async with health_served(listener, lambda: is_ready):
        yield port


@pytest.mark.parametrize(
    ("is_ready", "codes"),
    [(False, [200, 503, 404, 404]), (True, [200, 200, 404, 404])],
    ids=["starting", "ready"],
)
def test_process_is_healthy_at_once_and_ready_when_it_says_so(is_ready: bool, codes: list[int]) -> None:
    async def ask() -> list[int]:
        found = []
        async with served(is_ready) as port, aiohttp.ClientSession() as session:
            for path in ("healthz", "readyz", "metrics", "x" * 4000):
                async with session.get(f"http://127.0.0.1:{port}/{path}") as answer:
                    found.append(answer.status)
        return found

    assert asyncio.run(ask()) == codes


def test_metrics_are_shown_if_there_are_any() -> None:
    async def scrape() -> tuple[int, str, str]:
        listener = listen("127.0.0.1", 0)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/metrics"
        async with (
            health_served(listener, lambda: True, lambda: (b"a 1", "text/plain; version=0.0.4")),
            aiohttp.ClientSession() as session,
            session.get(url) as answer,
        ):
            return answer.status, answer.headers["Content-Type"], await answer.text()

    assert asyncio.run(scrape()) == (200, "text/plain; version=0.0.4", "a 1")


async def ask(port: int, request: bytes = ASK) -> bytes:
    """The first bytes of an answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    try:
        return await reader.read(100)
    finally:
        writer.close()


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: ", ASK], ids=["silent", "slow", "idle"])
def test_connections_are_shed(
    sent: bytes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The attack: more idle connections than there are descriptors; kubelet is answered, and the log has one line."""
    most = 20
    monkeypatch.setattr(pages, "MOST_CONNECTIONS", most)

    async def attack() -> tuple[list[bytes], int]:
        held, answers = [], []
        async with served() as port:
            for number in range(5 * most):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                if sent == ASK:
                    assert (await reader.read(100)).startswith(b"HTTP/1.1 200 ")
                held.append((reader, writer))
                if number % most == 0:
                    answers.append(await ask(port))
            ended = 0
            for reader, writer in held[: 3 * most]:
                with suppress(ConnectionResetError):
                    await reader.read()
                ended += 1
                writer.close()
            for _, writer in held:
                writer.close()
        return answers, ended

    with caplog.at_level(logging.WARNING):
        answers, ended = asyncio.run(attack())
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
    assert ended == 3 * most
    assert len(caplog.records) == 1


def test_slow_connections_expire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who sends its head byte by byte is closed, although no more connections are needed."""
    monkeypatch.setattr(pages, "IDLE_SECONDS", -10.0)  # together with the grace that connections get: at once
    monkeypatch.setattr(pages, "EXPIRE_SECONDS", 0.01)

    async def drip() -> bytes:
        async with served() as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /heal")
            try:
                return await reader.read(100)
            except ConnectionResetError:
                return b""
            finally:
                writer.close()

    assert asyncio.run(drip()) == b""


@pytest.mark.parametrize(
    ("request_", "start"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + b"X: y\r\n" * 1000 + b"\r\n", b"HTTP/1.0 400 "),
        (b"GET /" + b"x" * 65536 + b" HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.0 400 "),
        (b"GET /healthz HTTP/2.0\r\nHost: a\r\n\r\n", b"HTTP/1.0 505 "),
        (b"\x16\x03\x01\x02\x00", b"HTTP/1.0 400 "),
        (b"DELETE /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"HTTP/1.1 405 "),
    ],
    ids=["many-headers", "long-path", "version", "tls", "method"],
)
def test_other_requests_are_refused(request_: bytes, start: bytes) -> None:
    async def attack() -> bytes:
        async with served() as port:
            return await ask(port, request_)

    assert asyncio.run(attack()).startswith(start)


def test_address_that_is_taken_is_an_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(OSError, match="in use"):
            listen("127.0.0.1", taken.getsockname()[1])
