"""Where connections come in: the one place that opens a port.

Who listens elsewhere has none of the limits of :mod:`serving.connections`; ``tests/test_listening.py`` keeps it so.
"""

from __future__ import annotations

import resource
import socket

BACKLOG = 1024
# Descriptors for files, and for connections to the API server.
SPARE_DESCRIPTORS = 200
LEAST_CONNECTIONS = 16  # however few descriptors there are


def listen(address: str, port: int) -> socket.socket:
    """A socket that listens, for :class:`serving.accepting.Acceptor`.

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
