"""What TLS on a connection leaves behind."""

from __future__ import annotations

import asyncio
import gc
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, Terms
from serving.connections import WRITE_BYTES, Connections, TLSConnection
from serving.listening import Acceptor, Shares, listen
from serving.reading import ROUND_SECONDS
from serving.tls import ServerTLS

CLIENTS = 20


class Plain(asyncio.Transport):
    """A connection to a client that never reads, as its server sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.most = 0
        self.reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.most = max(self.most, len(data))
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def abort(self) -> None:
        pass


def _certificates(directory: Path) -> Path:
    terms = Terms(("localhost",), timedelta(9), timedelta(9), timedelta(1))
    maintain(DirectoryStore(directory), terms, datetime.now(UTC))
    return directory / "current"


@pytest.mark.parametrize("kind", ["unknown-certificate", "no-tls", "breaks-off", "good"])
def test_connections_leave_nothing_for_the_collector(tmp_path: Path, kind: str) -> None:
    """The attack: handshakes with certificates of 90 KB, whose memory was given back only by the next collections."""
    own, others = _certificates(tmp_path / "own"), _certificates(tmp_path / "others")
    tls = ServerTLS(own / LEAF, own / LEAF_KEY, own / BUNDLE)
    client = ssl.create_default_context(cafile=str(own / BUNDLE))
    if kind == "unknown-certificate":
        client.load_cert_chain(others / LEAF, others / LEAF_KEY)

    async def attack() -> int:
        connections = Connections(100)
        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        acceptor = Acceptor(
            listener,
            lambda: TLSConnection(asyncio.Protocol(), tls.context, connections),
            shares=Shares(1),
            process=0,
            connections=connections,
        )
        for _ in range(CLIENTS):
            with suppress(OSError):
                secure = kind in ("unknown-certificate", "good")
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1",
                    port,
                    ssl=client if secure else None,
                    server_hostname="localhost" if secure else None,
                )
                if kind == "no-tls":
                    writer.write(b"GET / HTTP/1.1\r\n\r\n")
                if kind not in ("breaks-off", "good"):
                    await reader.read()
                writer.close()
                await writer.wait_closed()
        while len(connections):
            await asyncio.sleep(0.01)
        acceptor.close()
        await asyncio.sleep(0)
        # the clients' are of this process, too, and may wait for the collector
        return sum(isinstance(each, ssl.SSLObject) and each.server_side for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(attack()) == 0
    finally:
        gc.enable()


class Talk:
    """A connection to a client, whose TLS and plain transport are here; needs a running loop."""

    def __init__(
        self, directory: Path, application: asyncio.Protocol | None = None, *, is_known: bool = False
    ) -> None:
        own = _certificates(directory)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=str(own / BUNDLE))
        self.client = context.wrap_bio(self._incoming, self._outgoing, server_hostname="localhost")
        self.plain = Plain()
        tls = ServerTLS(own / LEAF, own / LEAF_KEY)
        connections = Connections(1)
        self.turns = connections.reading_turns
        self.connection = TLSConnection(
            application or asyncio.Protocol(), tls.context, connections, lambda certificate: is_known
        )
        self.connection.connection_made(self.plain)
        with suppress(ssl.SSLWantReadError):
            self.client.do_handshake()
        self.sends()
        self.gets()
        self.client.do_handshake()
        self.sends()

    def sends(self) -> None:
        """What the client has written comes."""
        data = self._outgoing.read()
        self.connection.get_buffer(len(data))[: len(data)] = data
        self.connection.buffer_updated(len(data))

    def gets(self) -> None:
        """The client gets what has been written."""
        self._incoming.write(self.plain.written)
        self.plain.written.clear()

    def read(self) -> bytes:
        """All that the client has got."""
        read = b""
        with suppress(ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            while part := self.client.read(1 << 20):
                read += part
        return read


def test_nothing_is_read_from_a_client_that_does_not_read(tmp_path: Path) -> None:
    """The attack: requests for new keys (KeyUpdate), each of which OpenSSL answers, were read while no answer could be sent."""

    async def attack() -> list[bool]:
        talk = Talk(tmp_path)
        found = [talk.plain.reading]
        talk.connection.pause_writing()
        talk.client.write(b"x")
        talk.sends()
        found.append(talk.plain.reading)
        talk.connection.resume_writing()
        found.append(talk.plain.reading)
        talk.client.write(b"y")
        talk.sends()
        found.append(talk.plain.reading)
        talk.connection.connection_lost(None)
        return found

    assert asyncio.run(attack()) == [True, False, True, True]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_answers_are_encrypted_as_the_client_reads(tmp_path: Path, kind: Callable[[bytes], bytes]) -> None:
    """The attack: OpenSSL kept as much memory as the largest answer, on each connection, as long as it was open."""
    answers = [bytes(range(256)) * 1000, b"", b"last"]

    async def attack() -> None:
        talk = Talk(tmp_path)
        transport = talk.connection._get_app_transport()  # type: ignore[attr-defined]
        talk.connection.pause_writing()
        for each in answers:
            transport.write(kind(each))
        assert not talk.plain.written
        assert transport.get_write_buffer_size() == sum(map(len, answers))
        talk.connection.resume_writing()
        assert transport.get_write_buffer_size() == 0
        assert talk.plain.most <= WRITE_BYTES + 100
        talk.gets()
        assert talk.read() == b"".join(answers)
        talk.connection.connection_lost(None)

    asyncio.run(attack())


def test_answers_are_sent_before_tls_ends(tmp_path: Path) -> None:
    """Also what waits for the client to read."""

    async def main() -> None:
        talk = Talk(tmp_path)
        transport = talk.connection._get_app_transport()  # type: ignore[attr-defined]
        talk.connection.pause_writing()
        transport.write(b"x" * 100_000)
        transport.close()
        talk.gets()
        assert talk.read() == b"x" * 100_000
        talk.connection.connection_lost(None)

    asyncio.run(main())


class Received(asyncio.Protocol):
    def __init__(self) -> None:
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data += data


def work_long() -> None:
    """Compute longer than a round may take."""
    end = time.thread_time() + 2 * ROUND_SECONDS
    while time.thread_time() < end:
        pass


@pytest.mark.parametrize("is_known", [False, True], ids=["stranger", "known"])
def test_strangers_are_read_from_in_their_turn(tmp_path: Path, is_known: bool) -> None:
    """Nothing more is received meanwhile, whatever else allows it, and nothing gets lost."""

    async def main() -> None:
        received = Received()
        talk = Talk(tmp_path, received, is_known=is_known)
        await asyncio.sleep(0)  # the round of the handshake
        assert talk.turns.take(work_long, is_first=False)
        talk.client.write(b"x" * 1000)
        talk.sends()
        assert received.data == b"x" * (1000 * is_known)
        assert talk.plain.reading == is_known
        talk.connection.pause_writing()
        talk.connection.resume_writing()
        assert talk.plain.reading == is_known
        while not received.data:
            await asyncio.sleep(0)
        assert talk.plain.reading
        talk.client.write(b"y" * 1000)
        talk.sends()
        while len(received.data) < 2000:
            await asyncio.sleep(0)
        assert received.data == b"x" * 1000 + b"y" * 1000
        talk.connection.connection_lost(None)

    asyncio.run(main())


def test_who_leaves_before_its_turn_is_not_read_from(tmp_path: Path) -> None:
    """Nor does it disturb the turns of others."""

    async def main() -> None:
        received = Received()
        talk = Talk(tmp_path, received)
        await asyncio.sleep(0)  # the round of the handshake
        assert talk.turns.take(work_long, is_first=False)
        talk.client.write(b"x")
        talk.sends()
        talk.connection.connection_lost(None)
        for _ in range(3):
            await asyncio.sleep(0)
        assert not received.data

    asyncio.run(main())
