"""What TLS on a connection leaves behind."""

from __future__ import annotations

import asyncio
import gc
import ssl
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from serving.accepting import Acceptor, Shares
from serving.certificate_store import DirectoryStore, maintain
from serving.certificates import BUNDLE, LEAF, LEAF_KEY, Terms
from serving.connections import Connections
from serving.listening import listen
from serving.tls import ServerTLS
from serving.tls_connection import TLSConnection

CLIENTS = 20


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
