"""Several processes on one socket: connections are shared out, and nobody outlives the process that started them."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import ssl
import time
from collections import Counter
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, Terms
from serving.connections import Connections, TLSConnection
from serving.listening import Acceptor, Shares
from tests.webhook.running import PATIENCE_SECONDS, Running, running


def test_shares() -> None:
    """A process is busier if some other has fewer connections."""
    shares = Shares(3)
    assert not shares.is_busier(0)
    shares.set(0, 1)
    assert shares.is_busier(0)
    shares.set(1, 2)
    shares.set(2, 1)
    assert not shares.is_busier(0)
    assert shares.is_busier(1)


class Exhausted(socket.socket):
    """A listener of a process that has no file descriptors left."""

    def accept(self) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")


def test_pause_when_nothing_is_left() -> None:
    """A process that cannot take a connection that others have left to it looks away for a while."""

    async def is_listening() -> bool:
        crowded = Connections(10)
        crowded.opened(asyncio.Transport({"socket": 1}))
        with Exhausted() as listener:
            acceptor = Acceptor(
                listener,
                asyncio.Protocol,
                shares=Shares(2),
                process=0,
                connections=crowded,
            )
            acceptor._accept_if_still_waiting()
            try:
                return asyncio.get_running_loop().remove_reader(listener)
            finally:
                acceptor.close()

    assert not asyncio.run(is_listening())


def owners(service: Running, processes: set[int]) -> Counter[int]:
    """How many connections each process has (Linux)."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f":{service.port:04X}"
    inodes = {
        f"socket:[{fields[9]}]"
        for line in lines
        if (fields := line.split())[1].endswith(port) and fields[3] == "01"
    }
    found: Counter[int] = Counter()
    for process in processes:
        for link in Path(f"/proc/{process}/fd").iterdir():
            try:
                found[process] += os.readlink(link) in inodes
            except OSError:
                continue
    return found


async def shared_out(tls: ssl.SSLContext, client: ssl.SSLContext, gone: int) -> list[tuple[int, int]]:
    """How many connections two acceptors have, after each that is opened; when there are 12, some are closed."""
    shares = Shares(2)
    serving: list[list[asyncio.BaseTransport]] = [[], []]
    counted = [Connections(100), Connections(100)]

    class Accepted(asyncio.Protocol):
        def __init__(self, process: int) -> None:
            self.open = serving[process]

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            self.transport = transport
            self.open.append(transport)
            transport.write(b".")  # type: ignore[attr-defined]

        def connection_lost(self, error: Exception | None) -> None:
            self.open.remove(self.transport)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        acceptors = [
            Acceptor(
                listener.dup(),
                lambda process=process: TLSConnection(Accepted(process), tls, counted[process]),  # type: ignore[misc]
                shares=shares,
                process=process,
                connections=counted[process],
            )
            for process in range(2)
        ]
        counts, writers = [], []
        for number in range(24):
            if number == 12:
                for transport in serving[0][:gone]:
                    transport.close()
                while len(serving[0]) > 6 - gone:
                    await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_connection(*listener.getsockname(), ssl=client)
            assert await reader.read(1) == b"."
            writers.append(writer)
            counts.append((len(serving[0]), len(serving[1])))
        for acceptor in acceptors:
            acceptor.close()
        for writer in writers:
            writer.close()
        for writer in writers:
            with suppress(OSError):
                await writer.wait_closed()
        while any(serving):
            await asyncio.sleep(0.01)
    return counts


@pytest.mark.parametrize("gone", [0, 4])
def test_connections_are_shared_out(tmp_path: Path, gone: int) -> None:
    """Each of two processes gets a connection when it has fewer, also after some were closed.

    Here they are one, so that what is left to another is taken up at once, however busy the machine is.
    """
    terms = Terms(("127.0.0.1",), timedelta(9), timedelta(9), timedelta(1))
    maintain(DirectoryStore(tmp_path), terms, datetime.now(UTC))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(tmp_path / "current" / LEAF, tmp_path / "current" / LEAF_KEY)
    client = ssl.create_default_context(cafile=str(tmp_path / "current" / BUNDLE))
    counts = asyncio.run(shared_out(tls, client, gone))
    assert all(abs(one - other) <= 1 for one, other in counts[:12])
    assert counts[11] == (6, 6)
    # one that has come to have fewer says so when the next connection comes
    assert all(abs(one - other) <= 1 for one, other in counts[12 + gone + 2 :])
    assert sum(counts[-1]) == 24 - gone


def test_all_workers_get_connections(tmp_path: Path) -> None:
    """Two workers have the connections between them, and each of them some."""
    with running(tmp_path, listen={"workers": 2}) as service, ExitStack() as stack:
        workers = {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
        opened = 0
        while True:
            for _ in range(4):
                connection = stack.enter_context(closing(service.connect()))
                connection.request("GET", "/healthz")
                assert connection.getresponse().read() == b"ok\n"
                opened += 1
            counts = owners(service, workers)
            assert sum(counts.values()) == opened
            # the less busy one may not get a processor in time
            if opened >= 12 and all(counts[worker] >= 3 for worker in workers):
                break
            assert opened < 400, counts


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    """When the supervisor is killed, its workers drain and end, and the port is free again."""
    with running(tmp_path, listen={"workers": 2}, timeouts={"lameDuck": 0.1, "drain": 1}) as service:
        workers = {entry["process"] for entry in service.logged if entry.get("message") == "serving"}
        os.kill(service.process.pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE_SECONDS
        while any(map(is_running, workers)):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", service.port)) != 0
    assert sum(entry.get("message") == "stopped" for entry in service.logged) == 2
