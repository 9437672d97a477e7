"""A TCP balancer on loopback: connections go to its backends by turns, past those that do not listen."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence

_CHUNK = 64 * 1024
_ALERT = 64  # bytes; TLS takes leave with less, and asks for nothing with so little


@contextlib.contextmanager
def balanced(backends: Sequence[int]) -> Iterator[int]:
    """The port of a balancer for services on these ports, for as long as the block lasts."""
    with balancing(backends) as balancer:
        yield balancer.port


@contextlib.contextmanager
def balancing(backends: Sequence[int]) -> Iterator[Balancer]:
    """A balancer whose backends can change, for as long as the block lasts."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        balancer = Balancer(listener, backends)
        threading.Thread(target=balancer.accept, args=(listener,), daemon=True).start()
        yield balancer


class _Relay:
    """A connection to a backend.

    `lost`: the client has sent something there, or was about to, that the backend went away without answering.
    """

    def __init__(self, backend: int, client: socket.socket, server: socket.socket) -> None:
        self.backend = backend
        self.client = client
        self.server = server
        self.lost = False
        self._waiting = False  # for the answer to what has been sent
        self._server_gone = False
        self._client_gone = False
        self._running = 2
        self._lock = threading.Lock()

    def to_server(self) -> None:
        """Copy what the client sends, until it goes."""
        with contextlib.suppress(OSError):
            while chunk := self.client.recv(_CHUNK):
                if len(chunk) > _ALERT:
                    with self._lock:
                        self._waiting = True
                        self.lost |= self._server_gone
                with contextlib.suppress(OSError):  # what it sends to one who is gone is to be seen, too
                    self.server.sendall(chunk)
        with self._lock:
            self._client_gone = True
        self._end(self.server)

    def to_client(self) -> None:
        """Copy what the backend answers, until it goes."""
        with contextlib.suppress(OSError):
            while chunk := self.server.recv(_CHUNK):
                with self._lock:
                    self._waiting = False
                self.client.sendall(chunk)
        with self._lock:
            self._server_gone = True
            self.lost |= self._waiting and not self._client_gone
        self._end(self.client)

    def _end(self, target: socket.socket) -> None:
        """Tell the other side; the second to come here closes both."""
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)
        with self._lock:
            self._running -= 1
            last = not self._running
        if last:
            self.client.close()
            self.server.close()


class Balancer:
    """`backends` are the ports that new connections go to; open ones stay where they are."""

    def __init__(self, listener: socket.socket, backends: Sequence[int]) -> None:
        self.port = int(listener.getsockname()[1])
        self.backends = list(backends)
        self._relays: list[_Relay] = []
        self._turn = 0

    def lost(self, backend: int) -> int:
        """On how many connections so far a backend has gone without an answer."""
        return sum(relay.lost for relay in list(self._relays) if relay.backend == backend)

    def accept(self, listener: socket.socket) -> None:
        """Serve until the listener is closed."""
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self._turn += 1
            relay = self._connected(client)
            if relay is None:
                client.close()
                continue
            self._relays.append(relay)
            for copy in (relay.to_server, relay.to_client):
                threading.Thread(target=copy, daemon=True).start()

    def _connected(self, client: socket.socket) -> _Relay | None:
        _send_at_once(client)
        backends = list(self.backends)
        for offset in range(len(backends)):
            port = backends[(self._turn + offset) % len(backends)]
            with contextlib.suppress(OSError):
                server = socket.create_connection(("127.0.0.1", port), timeout=5)
                server.settimeout(None)
                _send_at_once(server)
                return _Relay(port, client, server)
        return None


def _send_at_once(connection: socket.socket) -> None:
    """Pass on each piece as it comes: held back until the one before is acknowledged, a request would take 40 ms more."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
