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
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listener:
        threading.Thread(target=_accept, args=(listener, list(backends)), daemon=True).start()
        yield int(listener.getsockname()[1])


def _accept(listener: socket.socket, backends: list[int]) -> None:
    turn = 0
    while True:
        try:
            client, _ = listener.accept()
        except OSError:
            return  # closed
        turn += 1
        backend = _connect([backends[(turn + offset) % len(backends)] for offset in range(len(backends))])
        if backend is None:
            client.close()
            continue
        for source, target in ((client, backend), (backend, client)):
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _connect(ports: Sequence[int]) -> socket.socket | None:
    for port in ports:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=5)
    return None


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        source.settimeout(None)
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
