"""`python -m tests.bench.connections`: what many idle connections cost, and whom they keep waiting.

For each way of being idle: 10,000 connections are opened and kept by a process of their own, as far as the service lets
them; meanwhile a well-behaved client sends reviews at a steady rate on a few connections. Printed are the memory of all
processes of the service, how many connections it holds, and the client's latencies beside those without any crowd, before
and after. `--hold`: with a limit of connections that lets all of them stay.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import socket
import ssl
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from tests.bench.load import Result, Target, resident, steady
from tests.bench.webhook import Reviews
from tests.webhook.running import Running, running

COUNT = 10_000
WORKERS = 2
RATE, CONNECTIONS, SECONDS = 200, 8, 5.0
_SECONDS_TO_CONNECT = 60
KINDS = (
    "TCP without a byte",
    "half a ClientHello",
    "TLS, no request",
    "TLS, half open",
    "TLS, after a request",
)


def main(arguments: list[str]) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    count = min(COUNT, most - 1_000)
    limits = {"connections": count} if "--hold" in arguments else {}
    print(f"{count} connections, {WORKERS} workers, {RATE} reviews/s beside them")
    print(f"  {'':24}{'MiB':>8}{'held':>8}{'p50 ms':>9}{'p99 ms':>9}{'quiet p99':>11}{'ratio':>7}")
    for kind in KINDS:
        with (
            tempfile.TemporaryDirectory(prefix="claimcheck-bench-") as name,
            _service(Path(name), limits) as service,
        ):
            workers = sorted(
                {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
            )
            target = Target(service.port, str(service.authority), workers)
            processes = [service.process.pid, *workers]
            _measure(target)  # to warm up
            before, alone = _measure(target), resident(processes)
            with _crowd(service, kind, count):
                beside, memory, held = _measure(target), resident(processes), _held(target)
            after = _measure(target)
            quiet = max(before.percentile(99), after.percentile(99))
            print(
                f"  {kind:24}{memory:8.0f}{held:8}{beside.percentile(50) * 1e3:9.1f}{beside.percentile(99) * 1e3:9.1f}"
                f"{quiet * 1e3:11.1f}{beside.percentile(99) / quiet:7.2f}   (without them {alone:.0f} MiB)",
                flush=True,
            )


@contextlib.contextmanager
def _service(directory: Path, limits: dict[str, int]) -> Iterator[Running]:
    with running(
        directory,
        listen={"workers": WORKERS},
        apiServer={"serves": "CustomResources"},
        lints="Off",
        limits=limits,
        timeouts={"idle": 600},
        logging={"level": "info"},
    ) as service:
        yield service


def _measure(target: Target) -> Result:
    return steady(target, Reviews(), rate=RATE, connections=CONNECTIONS, seconds=SECONDS)


def _held(target: Target) -> int:
    """Connections that are open on the side of the service (Linux)."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{target.port:04X}"):
            inodes.add(f"socket:[{fields[9]}]")
    found = 0
    for process in target.processes:
        for link in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                found += os.readlink(link) in inodes
    return found


@contextlib.contextmanager
def _crowd(service: Running, kind: str, count: int) -> Iterator[None]:
    """Connections of a process of their own, so that keeping them costs the client nothing."""
    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe()
    process = forking.Process(target=_keep, args=(theirs, service.port, service.authority, kind, count))
    process.start()
    try:
        ours.recv()
        yield
    finally:
        ours.send("end")
        process.join()


def _keep(pipe: Connection, port: int, authority: Path, kind: str, count: int) -> None:
    context = ssl.create_default_context(cafile=str(authority))
    hello = _half_a_hello(context)
    opened = []
    for _ in range(count):
        try:
            connection = socket.create_connection(("127.0.0.1", port), _SECONDS_TO_CONNECT)
            opened.append(connection)
            if kind == "half a ClientHello":
                connection.sendall(hello)
            elif kind.startswith("TLS"):
                connection = context.wrap_socket(connection, server_hostname="localhost")
                opened[-1] = connection
                if kind == "TLS, half open":
                    socket.socket.shutdown(connection, socket.SHUT_WR)
                elif kind == "TLS, after a request":
                    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
                    connection.recv(1000)
        except OSError:
            continue  # it had to make place already
    pipe.send(len(opened))
    pipe.recv()
    os._exit(0)


def _half_a_hello(context: ssl.SSLContext) -> bytes:
    outgoing = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost").do_handshake()
    whole = outgoing.read()
    return whole[: len(whole) // 2]


if __name__ == "__main__":
    main(sys.argv[1:])
