"""One worker process: serves on a socket, follows changes of its files, drains when told to end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
from pathlib import Path
from typing import NamedTuple

from resourceapi.logs import LOGGER, log
from serving.application import Application, WorkerApplication
from serving.config_file import ConfigError
from serving.connections import Connections, TLSConnection
from serving.listening import Acceptor, Shares, most_connections
from serving.server import Server
from serving.tls import CertificateError, ExpiryLog, ServerTLS

POLL_SECONDS = 1.0
_ENDING = (signal.SIGTERM, signal.SIGINT)
# Requests leave hardly any reference cycles: collecting less often costs a little memory and saves pauses.
GC_THRESHOLDS = (5_000, 20, 50)


class Place(NamedTuple):
    """What a worker gets from the process that started it.

    ``number``: which of the workers it is.
    ``lifeline``: a pipe that ends when that process does, however it ends.
    ``runtime``: the directory with the copy of the certificates.
    """

    listener: socket.socket
    shares: Shares
    number: int
    lifeline: int
    runtime: Path


def run_worker(application: Application, place: Place) -> None:
    """Serve until SIGTERM or SIGINT, or until the process is gone that could send one; then drain."""
    gc.set_threshold(*GC_THRESHOLDS)
    asyncio.run(_Worker(application, place).run())


class _Worker:
    def __init__(self, application: Application, place: Place) -> None:
        self.place = place
        self.settings = application.settings
        self.application = application.worker(place.runtime, is_first=place.number == 0)
        self.connections = Connections(
            most_connections(self.settings.connections),
            idle_seconds=self.settings.idle_seconds,
            shed=self.application.metrics.shed.inc,
        )
        self.server = Server(
            self.application.routes(),
            self.application.metrics,
            self.application.limits,
            self.application.deadline,
            clients=self.application.clients,
            checks=self.application.checks,
            connections=self.connections,
            shared=place.runtime,
        )
        self.changes = Changes(
            self.application,
            application.tls(place.runtime),
            self.server,
            ExpiryLog(self.application.metrics.certificate_expiry.set) if place.number == 0 else None,
        )

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        ending = asyncio.Event()
        for number in _ENDING:
            loop.add_signal_handler(number, ending.set)
        loop.add_reader(self.place.lifeline, self._orphaned, ending)
        protocol = self.server.protocol(idle_seconds=self.settings.idle_seconds)
        acceptor = Acceptor(
            self.place.listener,
            lambda: TLSConnection(protocol(), self.changes.tls.context, self.connections, self.server.knows),
            shares=self.place.shares,
            process=self.place.number,
            connections=self.connections,
        )
        log(logging.INFO, "serving")
        following = asyncio.create_task(self._follow())
        self.application.start()
        await ending.wait()
        self.server.pages.draining = True
        following.cancel()
        log(logging.INFO, "draining")
        if self.server.open_connections():
            await asyncio.sleep(self.settings.drain_grace_seconds)
        acceptor.close()
        await self.server.shutdown(self.settings.drain_seconds)
        self.application.stop()
        log(logging.INFO, "stopped")
        # An interrupt comes to all processes of a terminal, and the supervisor passes it on: asyncio cannot take the
        # second one while it closes the loop.
        for number in _ENDING:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    def _orphaned(self, ending: asyncio.Event) -> None:
        """End as well: the process is gone that would restart and end workers, and renew certificates."""
        asyncio.get_running_loop().remove_reader(self.place.lifeline)
        log(logging.ERROR, "supervisor ended")
        ending.set()

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.connections.expire()
            await self.changes.apply()


class Changes:
    """Takes over changes of the certificate and of the configuration while the server serves."""

    def __init__(
        self,
        application: WorkerApplication,
        tls: ServerTLS,
        server: Server,
        expiry: ExpiryLog | None = None,
    ) -> None:
        """Begin with what is there now.

        :param expiry: tells of a certificate that ends; None where another process does.
        """
        self.tls = tls
        self._expiry = expiry
        self._application = application
        self._server = server
        self._reloads = application.metrics.reloads
        self._seen = _fingerprint(application.watched_files())
        self._look_at_expiry()

    async def apply(self) -> None:
        """Look for changed files; what goes wrong is logged."""
        try:
            self._refresh_certificate()
            self._look_at_expiry()
            # there may be many of them
            found = await asyncio.to_thread(lambda: _fingerprint(self._application.watched_files()))
            if found != self._seen:
                self._seen = found
                await self._reload()
        except OSError as error:  # no descriptors, a file system that fails: the next time, maybe
            log(logging.ERROR, "cannot look for changes", reason=error.strerror or str(error))
        except Exception:  # noqa: BLE001 - the next look may succeed, whatever is the matter with a file
            LOGGER.exception("cannot look for changes")

    def _refresh_certificate(self) -> None:
        try:
            if self.tls.refresh():
                self._reloads.labels("certificate", "success").inc()
                log(logging.INFO, "certificate replaced")
        except CertificateError as error:
            self._reloads.labels("certificate", "failure").inc()
            log(logging.ERROR, "certificate not replaced", reason=str(error))

    def _look_at_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.look(self.tls.validity, str(self.tls.certificate_file))

    async def _reload(self) -> None:
        try:
            fixed = await asyncio.to_thread(self._application.reload)
        except ConfigError as error:
            self._reloads.labels("configuration", "failure").inc()
            log(logging.ERROR, "configuration not changed", problems=[str(item) for item in error.problems])
            return
        self._server.set_routes(self._application.routes())
        if fixed:
            log(logging.WARNING, "some changes take effect with the next start", fields=fixed)
        self._seen = _fingerprint(self._application.watched_files())
        self._reloads.labels("configuration", "success").inc()
        log(logging.INFO, "configuration changed")


def _fingerprint(files: list[Path]) -> dict[Path, tuple[int, int, int]]:
    """Modification time, size and inode of each file that exists."""
    found = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found
