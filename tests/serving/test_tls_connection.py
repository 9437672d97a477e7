"""What TLS on a connection leaves behind."""

from __future__ import annotations

import asyncio
import gc
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, Terms
from serving.connections import Connections, TLSConnection
from serving.listening import Acceptor, Shares, listen
from serving.tls import ServerTLS

CLIENTS = 20


class Plain(asyncio.Transport):
    """A connection to a client that never reads, as its server sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.reading = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
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


def test_nothing_is_read_from_a_client_that_does_not_read(tmp_path: Path) -> None:
    """The attack: requests for new keys (KeyUpdate), each of which OpenSSL answers, were read while no answer could be sent."""
    own = _certificates(tmp_path)
    tls = ServerTLS(own / LEAF, own / LEAF_KEY)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=str(own / BUNDLE)).wrap_bio(
        incoming, outgoing, server_hostname="localhost"
    )

    async def attack() -> list[bool]:
        plain = Plain()
        connection = TLSConnection(asyncio.Protocol(), tls.context, Connections(1))

        def sends() -> bool:
            data = outgoing.read()
            connection.get_buffer(len(data))[: len(data)] = data
            connection.buffer_updated(len(data))
            return plain.reading

        connection.connection_made(plain)
        with suppress(ssl.SSLWantReadError):
            client.do_handshake()
        sends()
        incoming.write(plain.written)
        client.do_handshake()
        found = [sends()]
        connection.pause_writing()
        client.write(b"x")
        found.append(sends())
        connection.resume_writing()
        found.append(plain.reading)
        client.write(b"y")
        found.append(sends())
        connection.connection_lost(None)
        return found

    assert asyncio.run(attack()) == [True, False, True, True]
