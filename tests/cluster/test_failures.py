"""Why a server does not answer, in words for people."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from urllib3 import PoolManager, ProxyManager

from cluster.access import Access
from cluster.client import MAX_REASON, Client, reason
from resourceapi.api_client import Unavailable
from tests.webhook.client_certificates import write_client_certificates


def why(server: str, pool: PoolManager, timeout: float = 60.0) -> str:
    with pytest.raises(Unavailable) as caught:
        Client(Access(server, pool, list), timeout=timeout).request("GET", "/")
    return caught.value.reason


class _Silent(BaseHTTPRequestHandler):
    def do_CONNECT(self) -> None:
        self.send_response(403, "Not for you")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def proxy() -> Iterator[str]:
    """A proxy that lets nobody through, and speaks no TLS."""
    with HTTPServer(("127.0.0.1", 0), _Silent) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_reasons_are_short() -> None:
    """What libraries say about a failure is of bounded length."""
    assert len(reason(OSError("x" * 10_000))) == MAX_REASON


def test_nobody_listens() -> None:
    """Neither at the server's port nor at the proxy's."""
    assert why("http://127.0.0.1:9", PoolManager()) == "connection refused"
    proxied = ProxyManager("http://127.0.0.1:9")
    assert why("https://cluster.invalid", proxied) == "the proxy does not answer: connection refused"


def test_no_such_host() -> None:
    """The name is in the reason."""
    assert why("https://no-such-host.invalid", PoolManager()) == "the host no-such-host.invalid is not known"


def test_proxy_that_refuses(proxy: str) -> None:
    """What the proxy says is told."""
    told = why("https://cluster.invalid", ProxyManager(proxy))
    assert told == "the proxy does not answer: 403 Not for you"


def test_no_tls(proxy: str) -> None:
    """An address of https where http is spoken."""
    told = why(proxy.replace("http:", "https:"), PoolManager())
    assert told == "it does not speak TLS; is the address one of https?"


def test_silence() -> None:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert why(address, PoolManager(), timeout=0.05) == "no complete answer came in time"


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"x"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n", b" "),
    ],
)
def test_answers_that_drip(begin: bytes, more: bytes) -> None:
    """What keeps coming and never ends is no answer, wherever in it."""

    def drip() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.sendall(begin)
            while not over.wait(0.01):
                connection.sendall(more)

    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=drip)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        assert why(address, PoolManager(), timeout=0.2) == "no complete answer came in time"
        over.set()
        thread.join()


def test_chunk_with_a_size_below_zero() -> None:
    """It is refused at once; http.client takes it for one that ends with the connection, of any size."""

    def answer() -> None:
        connection, _ = server.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n{}")
            over.wait()

    over = Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        told = why(address, PoolManager(), timeout=0.5)
        over.set()
        thread.join()
    assert told == "a part of the answer has a size below zero"


def test_certificate_of_nobody_known(tmp_path: Path) -> None:
    """What is wrong with a certificate is told."""
    write_client_certificates(tmp_path, ["server"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    with HTTPServer(("127.0.0.1", 0), _Silent) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        told = why(f"https://127.0.0.1:{server.server_port}", PoolManager())
        server.shutdown()
        thread.join()
    assert told == "its certificate is not trusted: unable to get local issuer certificate"
