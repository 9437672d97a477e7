"""A TCP balancer on loopback: connections go to its backends by turns, past those that do not listen."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence

_CHUNK = 64 * 1024


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
    """A connection to a backend; `waiting`: something was sent to it, and no answer has come since."""

    def __init__(self, backend: int, client: socket.socket, server: socket.socket) -> None:
        self.backend = backend
        self.client = client
        self.server = server
        self.waiting = False
        self.lost = False

    def copy(self, source: socket.socket, target: socket.socket) -> None:
        from_server = source is self.server
        with contextlib.suppress(OSError):
            source.settimeout(None)
            while chunk := source.recv(_CHUNK):
                self.waiting = not from_server
                target.sendall(chunk)
            if not from_server:
                self.waiting = False  # the client waits no more
        if from_server and self.waiting:
            self.lost = True
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


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
            for source, target in ((client, relay.server), (relay.server, client)):
                threading.Thread(target=relay.copy, args=(source, target), daemon=True).start()

    def _connected(self, client: socket.socket) -> _Relay | None:
        backends = list(self.backends)
        for offset in range(len(backends)):
            port = backends[(self._turn + offset) % len(backends)]
            with contextlib.suppress(OSError):
                return _Relay(port, client, socket.create_connection(("127.0.0.1", port), timeout=5))
        return None
