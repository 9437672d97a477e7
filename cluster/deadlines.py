"""A time by which an answer must have been read, however slowly it comes: headers, ``100 Continue`` and body."""

from __future__ import annotations

import errno
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from io import BufferedReader, RawIOBase
from socket import socket
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

_ends: ContextVar[float | None] = ContextVar("ends", default=None)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Have the answers of connections of :data:`POOLS` that are asked for within it read in this time, or not at all."""
    token = _ends.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _ends.reset(token)


class _Timed(RawIOBase):
    """What comes through a socket before a moment; each read waits for no longer."""

    def __init__(self, sock: socket, raw: Any, ends: float) -> None:
        self._sock, self._raw, self._ends = sock, raw, ends

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._sock.settimeout(left)
        read: int | None = self._raw.readinto(buffer)
        return read

    def readall(self) -> bytes:
        """Nothing: whoever reads names a size. ``http.client`` does not for a chunk whose size is below zero."""
        raise OSError(errno.EBADMSG, "a part of the answer has a size below zero")

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket, *arguments: Any, **more: Any) -> None:
        super().__init__(sock, *arguments, **more)
        ends = _ends.get()
        if ends is not None:
            self.fp = BufferedReader(_Timed(sock, self.fp.detach(), ends))


class _Plain(HTTPConnection):
    response_class = _Response


class _Secure(HTTPSConnection):
    response_class = _Response


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _Plain


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


#: The classes of pools by the scheme of a URL, for :class:`urllib3.PoolManager`.
POOLS: dict[str, type[HTTPConnectionPool]] = {"http": _PlainPool, "https": _SecurePool}
