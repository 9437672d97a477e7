"""Load for a webhook: reviews over TLS on connections that stay open, sent from one thread without any library.

Generator and service share the machine's cores, so what the generator costs is kept small and counted by itself.
"""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"
_TICKS_PER_SECOND = 100


class Target(NamedTuple):
    """A webhook that runs: its port, the certificate to trust, its processes."""

    port: int
    authority: str
    processes: Sequence[int]


class Result(NamedTuple):
    """What a run has shown.

    `rate`: reviews per second; `latencies`: seconds, sorted; `service_cpu`, `generator_cpu`: CPU seconds per review.
    """

    rate: float
    latencies: list[float]
    service_cpu: float
    generator_cpu: float

    def percentile(self, percent: float) -> float:
        return self.latencies[min(len(self.latencies) - 1, int(len(self.latencies) * percent / 100))]


Requests = Callable[[], bytes]


def request_of(body: bytes) -> bytes:
    """A whole HTTP request with a review."""
    head = f"POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + _HEAD_END + body


def full_speed(target: Target, requests: Requests, *, connections: int, seconds: float) -> Result:
    """As many reviews as the service answers, each connection waiting for its answer."""
    with _Load(target, connections) as load:
        for connection in load.connections:
            load.send(connection, requests(), time.perf_counter())
        while time.perf_counter() < load.start + seconds:
            for connection in load.answered(1.0):
                load.send(connection, requests(), time.perf_counter())
        return load.result()


def steady(target: Target, requests: Requests, *, rate: float, connections: int, seconds: float) -> Result:
    """A given number of reviews per second; waiting for a free connection counts as latency."""
    with _Load(target, connections) as load:
        free = deque(load.connections)
        sent, count = 0, int(rate * seconds)
        while len(load.latencies) < count:
            due = load.start + sent / rate
            now = time.perf_counter()
            if sent < count and now >= due and free:
                load.send(free.popleft(), requests(), due)
                sent += 1
                continue
            wait = max(0.0, due - now) if sent < count and free else 1.0
            free.extend(load.answered(wait))
        return load.result()


def counted(target: Target, requests: Requests, *, connections: int, count: int) -> Result:
    """So many reviews, as fast as the service answers."""
    with _Load(target, connections) as load:
        sent = 0
        for connection in load.connections:
            load.send(connection, requests(), time.perf_counter())
            sent += 1
        while len(load.latencies) < count:
            for connection in load.answered(1.0):
                if sent < count:
                    load.send(connection, requests(), time.perf_counter())
                    sent += 1
        return load.result()


class _Connection:
    """One request at a time: when it was due, and what of the answer is there."""

    __slots__ = ("due", "received", "socket")

    def __init__(self, target: Target, tls: ssl.SSLContext) -> None:
        plain = socket.create_connection(("127.0.0.1", target.port), 30)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = tls.wrap_socket(plain, server_hostname="localhost")
        self.received = b""
        self.due = 0.0


class _Load:
    """Open connections, and what is measured on them; their answers must all admit."""

    def __init__(self, target: Target, connections: int) -> None:
        tls = ssl.create_default_context(cafile=target.authority)
        self._target = target
        self.connections = [_Connection(target, tls) for _ in range(connections)]
        self._by_number = {each.socket.fileno(): each for each in self.connections}
        self._poll = select.epoll()
        for each in self.connections:
            each.socket.setblocking(False)
            self._poll.register(each.socket.fileno(), select.EPOLLIN)
        self.latencies: list[float] = []
        self._service = cpu_seconds(target.processes)
        self._generator = time.process_time()
        self.start = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self.connections:
            connection.socket.close()
        self._poll.close()

    def send(self, connection: _Connection, request: bytes, due: float) -> None:
        """Send a request; it is small enough for the socket's buffer."""
        connection.due = due
        connection.socket.send(request)

    def answered(self, wait: float) -> list[_Connection]:
        """The connections whose answer is complete, after waiting for some at most so many seconds."""
        done = []
        for number, _ in self._poll.poll(wait):
            connection = self._by_number[number]
            try:
                data = connection.socket.recv(1 << 16)
            except ssl.SSLWantReadError:
                continue
            connection.received += data
            if not data:
                raise SystemExit("the service has closed a connection")
            if _is_complete(connection.received):
                self.latencies.append(time.perf_counter() - connection.due)
                _check(connection.received)
                connection.received = b""
                done.append(connection)
        return done

    def result(self) -> Result:
        """What has been measured since the start."""
        elapsed = time.perf_counter() - self.start
        count = len(self.latencies)
        service = cpu_seconds(self._target.processes) - self._service
        generator = time.process_time() - self._generator
        return Result(count / elapsed, sorted(self.latencies), service / count, generator / count)


def cpu_seconds(processes: Sequence[int]) -> float:
    """What processes have used so far (Linux)."""
    ticks = 0
    for process in processes:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _TICKS_PER_SECOND


def resident(processes: Sequence[int]) -> float:
    """MiB that processes have in memory, each counted with its share of what they have in common (Linux)."""
    total = 0
    for process in processes:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def _is_complete(received: bytes) -> bool:
    head, end, body = received.partition(_HEAD_END)
    if not end:
        return False
    lowered = head.lower()
    at = lowered.index(_LENGTH) + len(_LENGTH)
    return len(body) >= int(lowered[at:].split(b"\r\n", 1)[0])


def _check(answer: bytes) -> None:
    if b'"allowed":true' not in answer:
        raise SystemExit(f"the review is not admitted:\n{answer[:2000].decode(errors='replace')}")
