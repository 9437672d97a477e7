"""Options of subcommands that answer kubelet and Prometheus over HTTP, without TLS."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING

from commandline.errors import UsageError

if TYPE_CHECKING:
    import socket

MOST_PORT = 65535
#: Where it is answered unless an option says otherwise.
LOOPBACK = "127.0.0.1"


def port_of(option: str, given: str) -> int:
    """The port that an option names; 0 for none.

    :param option: with its subcommand, for errors.
    :raises UsageError: if it is no port.
    """
    is_number = given.isascii() and given.isdigit() and len(given) <= len(str(MOST_PORT))
    if not is_number or int(given) > MOST_PORT:
        raise UsageError(f"{option} {given}: expected a number from 0, for none, to {MOST_PORT}")
    return int(given)


def address_of(option: str, given: str) -> str:
    """The IP address that an option names; parameters and errors as of :func:`port_of`."""
    try:
        return str(ip_address(given))
    except ValueError:
        raise UsageError(f"{option} {given}: expected an IP address") from None


def listener_on(address: str, port: int, options: str) -> socket.socket:
    """A socket that listens there.

    :param options: those that say where, for errors.
    :raises UsageError: if that is not possible.
    """
    from serving.listening import listen

    try:
        return listen(address, port)
    except OSError as error:
        raise UsageError(f"{options}: {error.strerror or error}") from None
