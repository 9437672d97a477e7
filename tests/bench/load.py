"""Load for a webhook: reviews over TLS on connections that stay open, sent by asyncio without an HTTP library."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Callable
from typing import NamedTuple

_HEAD_END = b"\r\n\r\n"


class Result(NamedTuple):
    """Reviews per second, and latencies in seconds, sorted."""

    rate: float
    latencies: list[float]

    def percentile(self, percent: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * percent / 100))]


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self._received = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionError("closed"))

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(_HEAD_END)
        if not end or self._answer is None:
            return
        lowered = head.lower()
        at = lowered.index(b"content-length:") + len(b"content-length:")
        if len(body) >= int(lowered[at:].split(b"\r\n", 1)[0]):
            self._received = b""
            self._answer.set_result(head + end + body)

    async def ask(self, request: bytes) -> bytes:
        assert self.transport is not None
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._answer


Requests = Callable[[], bytes]


def request_of(body: bytes) -> bytes:
    """A whole HTTP request with a review."""
    head = f"POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + _HEAD_END + body


async def full_speed(
    port: int, authority: str, requests: Requests, *, connections: int, seconds: float
) -> Result:
    """As many reviews as the service answers, each connection waiting for its answer."""
    opened = [await _connect(port, authority) for _ in range(connections)]
    latencies: list[float] = []
    start = time.perf_counter()
    end = start + seconds

    async def run(connection: _Connection) -> None:
        while (sent := time.perf_counter()) < end:
            _check(await connection.ask(requests()))
            latencies.append(time.perf_counter() - sent)

    await asyncio.gather(*map(run, opened))
    elapsed = time.perf_counter() - start
    _close(opened)
    return Result(len(latencies) / elapsed, sorted(latencies))


async def steady(
    port: int, authority: str, requests: Requests, *, rate: float, connections: int, seconds: float
) -> Result:
    """A given number of reviews per second; waiting for a free connection counts as latency."""
    opened = [await _connect(port, authority) for _ in range(connections)]
    free: asyncio.Queue[_Connection] = asyncio.Queue()
    for connection in opened:
        free.put_nowait(connection)
    latencies: list[float] = []

    async def one(due: float) -> None:
        connection = await free.get()
        _check(await connection.ask(requests()))
        latencies.append(time.perf_counter() - due)
        free.put_nowait(connection)

    start = time.perf_counter()
    running = set()
    for number in range(int(rate * seconds)):
        due = start + number / rate
        if (pause := due - time.perf_counter()) > 0:
            await asyncio.sleep(pause)
        task = asyncio.create_task(one(due))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(*running)
    elapsed = time.perf_counter() - start
    _close(opened)
    return Result(len(latencies) / elapsed, sorted(latencies))


async def _connect(port: int, authority: str) -> _Connection:
    context = ssl.create_default_context(cafile=authority)
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        _Connection, "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )
    return connection


def _close(connections: list[_Connection]) -> None:
    for connection in connections:
        if connection.transport is not None:
            connection.transport.close()


def _check(answer: bytes) -> None:
    if b'"allowed":true' not in answer:
        raise SystemExit(f"the review is not admitted:\n{answer[:2000].decode(errors='replace')}")
