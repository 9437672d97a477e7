"""A gRPC server on a Unix socket for kubelet alone, which appears at its path when it can be used."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import grpc
from grpc.aio import Server, server

from classic.kubelet.rpc import Service
from resourceapi.errors import ClaimcheckError

#: As kubelet's own gRPC servers have it; requests of real pods are far smaller.
MOST_REQUEST_BYTES = 4 * 1024 * 1024

# Paths of sockets have at most 107 bytes on Linux. Before a socket is in its place, its name has a prefix.
_MOST_PATH_BYTES = 107
_RANDOM_BYTES = 3


class CannotListen(ClaimcheckError):
    """There cannot be a socket at this path."""


class SocketServer:
    """Serves at a path until it is stopped; whatever socket was there before is replaced.

    :param most_calls: how many calls are answered at a time; further ones fail.
    """

    def __init__(self, path: Path, services: Sequence[Service], most_calls: int) -> None:
        self._path = path
        self._services = services
        self._most_calls = most_calls
        self._server: Server | None = None
        self._identity: tuple[int, int] | None = None

    async def start(self) -> None:
        """Listen, and put the socket in its place.

        :raises CannotListen: if that is not possible
        """
        new = self._path.with_name(f".{secrets.token_hex(_RANDOM_BYTES)}.{self._path.name}")
        if len(os.fsencode(new)) > _MOST_PATH_BYTES:
            raise CannotListen(f"{self._path}: the path of a socket can't be that long")
        try:
            self._require_socket_or_nothing()
            self._server = self._listening_at(new)
            await self._server.start()
            found = new.stat()
            self._identity = (found.st_dev, found.st_ino)
            # kubelet ignores names with a dot in front: it sees the socket only now, when it is answered.
            new.replace(self._path)
        except (OSError, RuntimeError) as error:
            await self.stop(0)
            with suppress(OSError):
                new.unlink()
            raise CannotListen(f"{self._path}: {error}") from error

    async def stop(self, grace: float) -> None:
        """Remove the socket, and stop when the calls that are being answered are over, after so many seconds at the latest."""
        with suppress(OSError):
            found = self._path.lstat()
            # The next process may have put its own there already.
            if (found.st_dev, found.st_ino) == self._identity:
                self._path.unlink()
        if self._server is not None:
            await self._server.stop(grace)

    def _require_socket_or_nothing(self) -> None:
        with suppress(FileNotFoundError):
            if not stat.S_ISSOCK(self._path.lstat().st_mode):
                raise CannotListen(f"{self._path}: this is something other than a socket")

    def _listening_at(self, path: Path) -> Server:
        listening = server(
            options=[
                ("grpc.max_receive_message_length", MOST_REQUEST_BYTES),
                ("grpc.max_concurrent_streams", self._most_calls),
            ],
            maximum_concurrent_rpcs=self._most_calls,
        )
        for service in self._services:
            listening.add_generic_rpc_handlers(
                (grpc.method_handlers_generic_handler(service.name, service.methods),)
            )
        # The socket must never be open to others, not even for a moment.
        umask = os.umask(0o177)
        try:
            listening.add_insecure_port(f"unix:{quote(str(path))}")
        finally:
            os.umask(umask)
        return listening
