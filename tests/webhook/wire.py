"""A connection of which the two directions do not wait for each other."""

from __future__ import annotations

import io
import socket
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Self

_CHUNK = 65536


class Wire:
    """Bytes to and from a port of this machine, in TLS or as they are.

    Whoever refuses a request early answers and closes while bytes are still on their way to it; so answers are read
    beside the sending, and whatever becomes of that: a TLS socket would be of no more use after a failed write.
    """

    def __init__(self, port: int, authority: Path | None, seconds: float) -> None:
        """
        :param authority: the bundle to verify the other side by; None for no TLS.
        :param seconds: how long to wait for anything.
        """
        self._connection = socket.create_connection(("127.0.0.1", port), seconds)
        self._unsent: SimpleQueue[bytes | None] = SimpleQueue()
        self._sender = threading.Thread(target=self._send)
        self._sender.start()
        self._tls: ssl.SSLObject | None = None
        if authority is not None:
            try:
                self._begin_tls(authority)
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection; what has not been sent yet never will be."""
        self._unsent.put(None)
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)  # whoever still sends is done
        self._sender.join()
        self._connection.close()

    def sendall(self, data: bytes) -> None:
        """Let these bytes be sent, as far as they are taken."""
        if self._tls is None:
            self._unsent.put(bytes(data))
        elif data:
            self._tls.write(data)
            self._unsent.put(self._outgoing.read())

    def recv(self, size: int = _CHUNK) -> bytes:
        """The next bytes of the other side; none after its end."""
        if self._tls is None:
            return self._connection.recv(size)
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                if not (chunk := self._connection.recv(_CHUNK)):
                    return b""
                self._incoming.write(chunk)

    def rest(self) -> bytes:
        """All that still comes, up to the end of the connection."""
        received = b""
        with suppress(ConnectionError, ssl.SSLError):
            while chunk := self.recv():
                received += chunk
        return received

    def makefile(self, mode: str) -> io.BufferedReader:
        """What comes, as `http.client` wants it."""
        return io.BufferedReader(_Incoming(self))

    def _begin_tls(self, authority: Path) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=str(authority))
        tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname="127.0.0.1")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                self._unsent.put(self._outgoing.read())
                if chunk := self._connection.recv(_CHUNK):
                    self._incoming.write(chunk)
                else:
                    self._incoming.write_eof()
        self._unsent.put(self._outgoing.read())
        self._tls = tls

    def _send(self) -> None:
        with suppress(OSError):
            while (data := self._unsent.get()) is not None:
                self._connection.sendall(data)


class _Incoming(io.RawIOBase):
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        received = self._wire.recv(len(buffer))
        buffer[: len(received)] = received
        return len(received)
