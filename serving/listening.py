"""Where connections come in: the one place that opens a port.

Who listens elsewhere has none of the limits of :mod:`serving.connections`; ``tests/test_listening.py`` keeps it so.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import mmap
import resource
import socket
from collections.abc import Callable

from resourceapi.logs import log
from serving.connections import Connections

BACKLOG = 1024
# Descriptors for files, and for connections to the API server.
SPARE_DESCRIPTORS = 200
LEAST_CONNECTIONS = 16  # however few descriptors there are


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens, for :class:`Acceptor`.

    :param address: an IP address of this machine.
    :param port: 0 for any free one.
    :raises OSError: if that is not possible.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family, backlog=BACKLOG)
    listener.setblocking(False)
    return listener


def free_port(address: str) -> int:
    """A port that nobody listens on at the moment."""
    with listen(address, 0) as listener:
        return int(listener.getsockname()[1])


def most_connections(wanted: int) -> int:
    """As many connections as are wanted and as there are descriptors for."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(min(wanted, descriptors - SPARE_DESCRIPTORS), LEAST_CONNECTIONS)


# Several processes accept connections from one socket, so that none of them gets many more than another.
# Otherwise the process that wakes up first would accept all that wait; and an API server keeps its few
# connections for long.

# How long a process that has more connections than another leaves a new one to the others.
DEFER_SECONDS = 0.01
# How long to accept no connections after the process has run out of descriptors or memory.
PAUSE_SECONDS = 1.0
_BYTES = 4
_SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class Shares:
    """How many connections each process has, in memory that they share; made before they are forked.

    :param processes: how many.
    """

    def __init__(self, processes: int) -> None:
        self._numbers = memoryview(mmap.mmap(-1, processes * _BYTES)).cast("I")

    def set(self, process: int, connections: int) -> None:
        """Publish how many connections a process has."""
        self._numbers[process] = connections

    def is_busier(self, process: int) -> bool:
        """Whether another process has fewer connections."""
        return self._numbers[process] > min(self._numbers)


class Acceptor:
    """Accepts connections from a listening socket, as one of several processes; needs a running loop.

    :param protocol: makes the protocol of a new connection, which counts itself in ``connections``.
    :param process: the index of this process in ``shares``.
    :param connections: all open connections, those in their handshakes included.
    """

    def __init__(
        self,
        listener: socket.socket,
        protocol: Callable[[], asyncio.BaseProtocol],
        *,
        shares: Shares,
        process: int,
        connections: Connections,
    ) -> None:
        self._listener = listener
        self._protocol = protocol
        self._shares = shares
        self._process = process
        self._connections = connections
        self._loop = asyncio.get_running_loop()
        self._starting: set[asyncio.Task[None]] = set()
        self._closed = False
        self._listen()

    def close(self) -> None:
        """Accept no more connections."""
        self._closed = True
        self._loop.remove_reader(self._listener)
        self._listener.close()

    def _listen(self) -> None:
        if not self._closed:
            self._loop.add_reader(self._listener, self._ready)

    def _pause(self, seconds: float, then: Callable[[], None]) -> None:
        self._loop.remove_reader(self._listener)
        self._loop.call_later(seconds, then)

    def _ready(self) -> None:
        """Accept the connection that waits, unless another process has fewer."""
        self._count()
        if self._shares.is_busier(self._process):
            self._pause(DEFER_SECONDS, self._accept_if_still_waiting)
        else:
            self._accept()

    def _accept_if_still_waiting(self) -> None:
        self._listen()
        if not self._closed:
            self._accept()  # which stops listening for a while if there is a shortage

    def _count(self) -> None:
        self._shares.set(self._process, len(self._connections) + len(self._starting))

    def _accept(self) -> None:
        try:
            plain, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:
            if error.errno not in _SHORTAGES:
                raise
            log(logging.ERROR, "no more connections", reason=error.strerror)
            self._pause(PAUSE_SECONDS, self._listen)
            return
        plain.setblocking(False)
        task = self._loop.create_task(self._begin(plain))
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)
        self._count()

    async def _begin(self, plain: socket.socket) -> None:
        # clients that do not speak TLS, or break off, need no line in the log
        with contextlib.suppress(OSError):
            await self._loop.connect_accepted_socket(self._protocol, plain)
