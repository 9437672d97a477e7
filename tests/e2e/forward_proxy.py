"""A forward proxy that leads every connection to one port of this machine, whatever host is asked for."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator


class ForwardProxy(socketserver.ThreadingTCPServer):
    """``asked``: the hosts and ports of CONNECT requests.  ``authorizations``: their headers Proxy-Authorization."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.target = target
        self.asked: list[str] = []
        self.authorizations: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(socketserver.StreamRequestHandler):
    server: ForwardProxy

    def handle(self) -> None:
        method, host, _ = self.rfile.readline().decode().split(" ", 2)
        if method != "CONNECT":
            self.wfile.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            return
        self.server.asked.append(host)
        while (line := self.rfile.readline().decode().strip()) != "":
            name, _, value = line.partition(": ")
            if name.lower() == "proxy-authorization":
                self.server.authorizations.append(value)
        with socket.create_connection(("127.0.0.1", self.server.target)) as target:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_copy, args=(target, self.connection))
            back.start()
            _copy(self.connection, target)
            back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while part := source.recv(65536):
            sink.sendall(part)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def forward_proxy(target: int) -> Iterator[ForwardProxy]:
    """A running proxy to a port of this machine."""
    with ForwardProxy(target) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield proxy
        proxy.shutdown()
        thread.join()
