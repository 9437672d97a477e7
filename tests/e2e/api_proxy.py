"""A proxy before an API server that strikes at a request: just before it arrives, or once it has been answered."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import NamedTuple

_LONGEST_WAIT = 300.0
_CHUNK = 256 * 1024
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Moment(Enum):
    """When a strike comes: the API server has not seen the request, or its answer is lost."""

    BEFORE = "before"
    AFTER = "after"


class Seen(NamedTuple):
    """A request on its way to the API server."""

    method: str
    path: str
    body: bytes


class Trap(NamedTuple):
    """Which request to strike at, when, and what to do then.

    Its connection is closed, or, with `passes`, goes on when that is let pass.
    """

    matches: Callable[[Seen], bool]
    moment: Moment
    strike: Callable[[], None]
    passes: bool = False


class ApiProxy:
    """Passes on what comes, on its port; a trap that has been set strikes once."""

    def __init__(self, listener: socket.socket, target: int, certificates: Path) -> None:
        self.port = int(listener.getsockname()[1])
        self._target = target
        self._trap: Trap | None = None
        self._lock = threading.Lock()
        self._may_pass = threading.Event()
        certificate = certificates / "apiserver.crt"
        self._server_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._server_tls.load_cert_chain(certificate, certificates / "apiserver.key")
        self._client_tls = ssl.create_default_context(cafile=str(certificate))

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def set_trap(self, trap: Trap | None) -> None:
        """Strike at the next request that matches, instead of any that was to be struck at before."""
        with self._lock:
            self._trap = trap
            self._may_pass.clear()

    def let_pass(self) -> None:
        """Let go on what was struck at and waits."""
        self._may_pass.set()

    def is_set(self) -> bool:
        """Whether a trap waits for its request."""
        return self._trap is not None

    def accept(self, listener: socket.socket) -> None:
        """Serve until the listener is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError), plain:
            plain.settimeout(30)
            with (
                self._server_tls.wrap_socket(plain, server_side=True) as client,
                socket.create_connection(("127.0.0.1", self._target), timeout=30) as onward,
                self._client_tls.wrap_socket(onward, server_hostname="127.0.0.1") as server,
            ):
                self._relay(client, server)

    def _relay(self, client: ssl.SSLSocket, server: ssl.SSLSocket) -> None:
        """Pass on both ways in one thread, since TLS connections are not for two."""
        received = b""
        awaited: Trap | None = None
        while True:
            readable = [each for each in (client, server) if each.pending()]
            readable = readable or select.select([client, server], [], [])[0]
            if server in readable and (data := _received(server)) is not None:
                if not data:
                    return
                if awaited is not None and not self._go_on_after(awaited):
                    return
                awaited = None
                client.sendall(data)
            if client in readable and (data := _received(client)) is not None:
                if not data:
                    return
                received += data
                while (size := _request_size(received)) is not None:
                    whole, received = received[:size], received[size:]
                    trap = self._sprung(_seen(whole))
                    if trap is not None and trap.moment is Moment.BEFORE:
                        if not self._go_on_after(trap):
                            return
                        trap = None
                    awaited = trap
                    server.sendall(whole)

    def _go_on_after(self, trap: Trap) -> bool:
        """Strike; whether the connection lives on, when it may."""
        trap.strike()
        return trap.passes and self._may_pass.wait(_LONGEST_WAIT)

    def _sprung(self, seen: Seen) -> Trap | None:
        with self._lock:
            trap = self._trap
            if trap is None or not trap.matches(seen):
                return None
            self._trap = None
            return trap


@contextlib.contextmanager
def api_proxy(target: int, certificates: Path) -> Iterator[ApiProxy]:
    """A proxy before the API server on a port, with the same certificate, which is in that directory."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        proxy = ApiProxy(listener, target, certificates)
        threading.Thread(target=proxy.accept, args=(listener,), daemon=True).start()
        yield proxy


def _received(connection: ssl.SSLSocket) -> bytes | None:
    """What has come; None if it was nothing of the application's, empty at the end."""
    connection.settimeout(0)
    try:
        return connection.recv(_CHUNK)
    except ssl.SSLWantReadError:
        return None
    finally:
        connection.settimeout(30)


def _request_size(received: bytes) -> int | None:
    """How long the first request is, if all of it is there."""
    head, end, _ = received.partition(_HEAD_END)
    if not end:
        return None
    length = _LENGTH.search(head)
    size = len(head) + len(_HEAD_END) + (int(length[1]) if length else 0)
    return size if len(received) >= size else None


def _seen(request: bytes) -> Seen:
    head, _, body = request.partition(_HEAD_END)
    method, path, _ = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
    return Seen(method, path, body)
