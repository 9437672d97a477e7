"""Connections have a limit: who does nothing makes place, and who works or asks keeps it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from serving.connections import BUFFER_BYTES, GRACE_SECONDS, Connections, TLSConnection
from serving.slots import SharedSlot
from serving.unsent import MOST_BYTES, UNREAD_SECONDS
from tests.webhook.examples import admission, claim
from tests.webhook.running import PATIENCE_SECONDS, Running, running

MOST = 16


class Transport(asyncio.Transport):
    """One of a socket of its own."""

    def __init__(self) -> None:
        super().__init__({"socket": object()})
        self.is_there = True
        self.unsent = 0

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def abort(self) -> None:
        self.is_there = False


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def some(connections: Connections, count: int) -> list[Transport]:
    opened = [Transport() for _ in range(count)]
    for each in opened:
        connections.opened(each)
    return opened


def test_newcomers_take_the_place_of_the_oldest() -> None:
    """At the limit nobody goes, above it whoever has been there the longest without asking."""
    connections = Connections(4)
    first = some(connections, 4)
    assert all(each.is_there for each in first)
    (newcomer,) = some(connections, 1)
    assert [each.is_there for each in first] == [False, True, True, True]
    assert newcomer.is_there
    assert len(connections) == 4


def test_who_asks_stays_longer() -> None:
    """Those that were never answered have half of the places; of the others the least recently answered goes first."""
    connections = Connections(4)
    asking = some(connections, 4)
    for each in (*asking, asking[0]):
        connections.answered(each)
    silent = some(connections, 1)
    assert [each.is_there for each in asking] == [True, False, True, True]
    silent += some(connections, 1)
    assert [each.is_there for each in asking] == [True, False, False, True]
    silent += some(connections, 10)
    assert [each.is_there for each in asking] == [True, False, False, True]
    assert [each.is_there for each in silent] == [False] * 10 + [True] * 2


def test_work_is_never_interrupted() -> None:
    """A connection whose request is worked on stays, even if that leaves no place for a newcomer."""
    connections = Connections(2)
    working = some(connections, 2)
    for each in working:
        connections.works(each)
    (newcomer,) = some(connections, 1)
    assert not newcomer.is_there
    assert all(each.is_there for each in working)
    connections.answered(working[1])
    (newcomer,) = some(connections, 1)
    assert newcomer.is_there
    assert [each.is_there for each in working] == [True, False]


def test_closed_ones_count_no_longer() -> None:
    """Whatever a connection did, its place is free when it is gone, and nothing is kept of it."""
    connections = Connections(3)
    fresh, answered, working = opened = some(connections, 3)
    connections.answered(answered)
    connections.works(working)
    for each in opened:
        connections.closed(each)
    assert len(connections) == 0
    connections.answered(fresh)  # what is told too late
    connections.works(fresh)
    assert len(connections) == 0


def test_nothing_lasts_without_requests() -> None:
    """What is idle, or does not take its answer, ends a little after the time for that; work takes as long as it takes."""
    clock = Clock()
    connections = Connections(9, idle_seconds=100, clock=clock)
    silent, answered, working = some(connections, 3)
    connections.works(working)
    clock.now = 50
    connections.answered(answered)
    clock.now = 100 + GRACE_SECONDS
    connections.expire()
    assert [each.is_there for each in (silent, answered, working)] == [False, True, True]
    clock.now += 50
    connections.expire()
    assert [each.is_there for each in (silent, answered, working)] == [False, False, True]


def test_who_reads_nothing_is_closed() -> None:
    """After a while without any progress; slow readers stay."""
    clock = Clock()
    connections = Connections(9, clock=clock)
    silent, slow, quick = some(connections, 3)
    for each in (silent, slow, quick):
        connections.answered(each, 1000)
    silent.unsent = slow.unsent = 1000
    for clock.now in (1.0, UNREAD_SECONDS):
        slow.unsent -= 1
        connections.expire()
    clock.now += UNREAD_SECONDS - 2
    connections.expire()
    assert [each.is_there for each in (silent, slow, quick)] == [False, True, True]
    clock.now += 2
    connections.expire()
    assert [each.is_there for each in (slow, quick)] == [False, True]


def test_answers_that_nobody_reads_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    """Beyond the limit for all of them, who has read nothing for longest goes; whoever reads takes no room."""
    clock = Clock()
    connections = Connections(99, clock=clock)
    unread, reading = some(connections, 4), some(connections, 4)
    for each in (*reading, *unread):
        connections.answered(each, MOST_BYTES // 4)
        clock.now += 0.1
        each.unsent = MOST_BYTES // 4 if each in unread else 0
    assert all(each.is_there for each in (*reading, *unread))
    connections.answered(reading[0], MOST_BYTES // 4 + 1)
    assert [each.is_there for each in (*reading, *unread)] == [True] * 4 + [False, False, True, True]
    assert len(connections) == 6
    connections.closed(unread[2])
    connections.closed(unread[3])
    connections.answered(reading[1], MOST_BYTES // 2)
    assert all(each.is_there for each in reading)
    assert caplog.messages == ["clients do not read their answers: their connections are closed"]


def test_buffers_are_small() -> None:
    """The buffer of a TLS connection is as small as said, whatever asyncio asks for."""

    async def size() -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        connection = TLSConnection(asyncio.Protocol(), context, Connections(1))
        found = len(connection.get_buffer(-1))
        connection.connection_lost(None)
        return found

    assert asyncio.run(size()) == BUFFER_BYTES < SSLProtocol.max_size / 10


@asynccontextmanager
async def having(slot: SharedSlot, seconds: float = PATIENCE_SECONDS) -> AsyncIterator[None]:
    async with asyncio.timeout(seconds):
        await slot.acquire("team")
    yield
    slot.release("team")


def hold(file: Path, held: Any) -> None:
    async def main() -> None:
        async with having(SharedSlot(file)):
            held.set()
            await asyncio.sleep(PATIENCE_SECONDS)

    asyncio.run(main())


def test_slot_is_shared_and_outlives_the_dead(tmp_path: Path) -> None:
    """While one process has the slot, another waits for a while and gives up; when the one is killed, it is free."""
    import multiprocessing  # here, as every process of `make test` would have to load it

    forking = multiprocessing.get_context("fork")
    held = forking.Event()
    holder = forking.Process(target=hold, args=(tmp_path / "slot", held))
    holder.start()
    assert held.wait(PATIENCE_SECONDS)

    async def main() -> None:
        slot = SharedSlot(tmp_path / "slot")
        with pytest.raises(TimeoutError):
            async with having(slot, 0.1):
                raise AssertionError
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGKILL)
        for _ in range(2):  # having waited in vain, and having had it, leaves nothing behind
            async with having(slot):
                pass

    asyncio.run(main())
    holder.join()


def test_slot_within_a_process(tmp_path: Path) -> None:
    """In one process as well there is one at a time."""
    inside: list[int] = []
    most: list[int] = []

    async def use(slot: SharedSlot, number: int) -> None:
        async with having(slot):
            assert not slot.is_free_for("team")
            inside.append(number)
            most.append(len(inside))
            await asyncio.sleep(0)
            inside.remove(number)

    async def main() -> None:
        slot = SharedSlot(tmp_path / "slot")
        await asyncio.gather(*(use(slot, number) for number in range(5)))
        assert slot.is_free_for("team")

    asyncio.run(main())
    assert most == [1] * 5


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(
        tmp_path_factory.mktemp("crowded"),
        limits={"connections": MOST},
        apiServer={"serves": "CustomResources"},
        timeouts={"idle": 600},
    ) as started:
        yield started


def half_a_hello(service: Running) -> bytes:
    context = ssl.create_default_context(cafile=str(service.authority))
    outgoing = ssl.MemoryBIO()
    hello = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1")
    with suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    whole = outgoing.read()
    return whole[: len(whole) // 2]


@pytest.mark.parametrize("kind", ["silent", "half-hello", "half-open", "general", "tls"])
def test_crowds(crowded: Running, kind: str) -> None:
    """However far idle connections have come, all but the last few are closed, and who asks keeps its connection."""
    hello = half_a_hello(crowded)
    context = ssl.create_default_context(cafile=str(crowded.authority))
    good = crowded.connect()
    good.connect()
    kept = good.sock
    with ExitStack() as stack:
        idle: list[socket.socket] = []
        for number in range(4 * MOST):
            plain = stack.enter_context(
                socket.create_connection(("127.0.0.1", crowded.port), PATIENCE_SECONDS)
            )
            if kind == "half-hello":
                plain.sendall(hello)
            elif kind != "silent":
                with suppress(OSError):
                    plain = stack.enter_context(context.wrap_socket(plain, server_hostname="127.0.0.1"))
                    if kind == "general":
                        plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
                        assert b"200 OK" in plain.recv(1000)
                    elif kind == "half-open":
                        plain.shutdown(socket.SHUT_WR)
            idle.append(plain)
            if not number % 4:
                good.request("GET", "/healthz")
                assert good.getresponse().read() == b"ok\n"
                assert good.sock is kept
        for each in idle[: 2 * MOST]:
            with suppress(ConnectionResetError, ssl.SSLError):
                while each.recv(4096):
                    pass
        assert crowded.review("/validate", admission(claim()))["response"]["allowed"]
        metrics = crowded.ask("GET", "/metrics")[1].decode()
    good.close()
    (shed,) = (
        line for line in metrics.splitlines() if line.startswith("claimcheck_webhook_connections_shed_total")
    )
    assert float(shed.split()[-1]) > MOST or kind == "half-open"
