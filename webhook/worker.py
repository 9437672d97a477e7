"""One process of the service: serves on a socket, follows changes of its files, drains when told to end."""

from __future__ import annotations

import asyncio
import gc
import logging
import resource
import signal
import socket
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from deviceselectors.runtime import compilation
from serving.accepting import Acceptor, Shares
from serving.connections import Connections
from serving.logs import LOGGER, log
from serving.shared_slot import SharedSlot
from serving.tls import CertificateError
from webhook.assembly import make_cluster, make_context, watched_files
from webhook.certificate_setup import injects_itself, make_injection, make_tls
from webhook.clients import Clients
from webhook.config import Config, ConfigError, load_config
from webhook.metrics import Metrics
from webhook.service import Limits, Service

POLL_SECONDS = 1.0
# What a process opens besides connections: files, sockets to the API server.
SPARE_DESCRIPTORS = 200
LEAST_CONNECTIONS = 16  # however few descriptors there are
# Reviews leave next to no cycles behind: looking for them less often costs a little memory and saves pauses.
GC_THRESHOLDS = (5_000, 20, 50)
# Taken once, at the start of the process that owns the socket; so is what is followed of the cluster.
_FIXED = ("listen", "tls", "timeouts", "limits", "expressions")


class Place(NamedTuple):
    """What a worker has of the process that started it.

    ``number``: which of the workers it is.  ``lifeline``: a pipe that ends when that process does, however it ends.
    ``runtime``: the directory with the copy of the certificates.
    """

    listener: socket.socket
    shares: Shares
    number: int
    lifeline: int
    runtime: Path


def run_worker(config: Config, place: Place) -> None:
    """Serve until SIGTERM or SIGINT, or until there is nobody who could send one, then drain."""
    gc.set_threshold(*GC_THRESHOLDS)
    asyncio.run(_Worker(config, place).run())


class _Worker:
    def __init__(self, config: Config, place: Place) -> None:
        self.config = config
        self.place = place
        self.metrics = Metrics()
        compilation.watch_refusals(self.metrics.not_compiled.inc)
        self.tls = make_tls(config, place.runtime)
        self.connections = Connections(
            max(
                min(config.get("limits", "connections"), _most_descriptors() - SPARE_DESCRIPTORS),
                LEAST_CONNECTIONS,
            ),
            idle_seconds=config.get("timeouts", "idle"),
            shed=self.metrics.shed.inc,
        )
        self._seen = _fingerprint(watched_files(config))
        self._quota_ends = Event()
        self._cluster = make_cluster(config)
        # what is to be done once for all workers
        self._is_first = place.number == 0
        self._injection = None
        if self._is_first and injects_itself(config):
            self._injection = make_injection(config, place.runtime)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        ending = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ending.set)
        loop.add_reader(self.place.lifeline, self._orphaned, ending)
        service = self._service()
        accepting = Acceptor(
            self.place.listener,
            lambda: self.tls.context,
            service.protocol(idle_seconds=self.config.get("timeouts", "idle")),
            shares=self.place.shares,
            process=self.place.number,
            connections=self.connections,
        )
        log(logging.INFO, "serving")
        following = asyncio.create_task(self._follow(service))
        self._run_quota(service)
        self._cluster.claim_counts.show(self.metrics)
        self._cluster.follow()
        if self._injection is not None:
            Thread(target=self._injection.run, args=(Event(),), daemon=True).start()
        await ending.wait()
        service.draining = True
        following.cancel()
        log(logging.INFO, "draining")
        await self._lame_duck(service)
        accepting.close()
        await service.shutdown(self.config.get("timeouts", "drain"))
        self._quota_ends.set()
        log(logging.INFO, "stopped")

    def _orphaned(self, ending: asyncio.Event) -> None:
        """The process is gone that would start, renew and end all this."""
        asyncio.get_running_loop().remove_reader(self.place.lifeline)
        log(logging.ERROR, "supervisor ended")
        ending.set()

    def _run_quota(self, service: Service) -> None:
        """Let the context's quota do its work in the background, instead of an earlier one."""
        self._quota_ends.set()
        self._quota_ends = Event()
        if service.context.quota is not None and self._is_first:
            Thread(target=service.context.quota.run, args=(self._quota_ends,), daemon=True).start()

    def _service(self) -> Service:
        config = self.config
        limits = Limits(
            config.get("timeouts", "body"),
            config.get("limits", "review"),
            config.get("limits", "conversion"),
            config.get("timeouts", "review"),
        )
        clients = None
        if config.get("tls", "clientAuthorityFile") is not None:
            needed_for = config.get("tls", "requireClientCertificate")
            names = tuple(config.get("tls", "clientNames") or ())
            clients = Clients(names, for_all_reviews=needed_for == "Reviews")
        return Service(
            make_context(config, self._cluster),
            self.metrics,
            limits,
            clients,
            self._is_ready,
            self.connections,
            SharedSlot(self.place.runtime / "huge"),
        )

    def _is_ready(self) -> bool:
        """Whether what verdicts need to know of the cluster is known."""
        return self._cluster.is_synced()

    async def _lame_duck(self, service: Service) -> None:
        """Give clients time to use each connection once more, to be told that it closes."""
        if service.connections():
            await asyncio.sleep(self.config.get("timeouts", "lameDuck"))

    async def _follow(self, service: Service) -> None:
        """Look for changed files, forever."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self.connections.expire()
            try:
                await self._refresh(service)
            except OSError as error:  # no descriptors, a file system that fails: the next time, maybe
                log(logging.ERROR, "cannot look for changes", reason=error.strerror or str(error))
            except Exception:  # noqa: BLE001 - following goes on, whatever is the matter with a file
                LOGGER.exception("cannot look for changes")

    async def _refresh(self, service: Service) -> None:
        try:
            if self.tls.refresh():
                self.metrics.reloads.labels("certificate", "success").inc()
                log(logging.INFO, "certificate replaced")
        except CertificateError as error:
            self.metrics.reloads.labels("certificate", "failure").inc()
            log(logging.ERROR, "certificate not replaced", reason=str(error))
        # there may be many of them
        found = await asyncio.to_thread(lambda: _fingerprint(watched_files(self.config)))
        if found != self._seen:
            self._seen = found
            await self._reload(service)

    async def _reload(self, service: Service) -> None:
        """Replace the context; a configuration that cannot be used changes nothing."""
        try:
            config = await asyncio.to_thread(load_config, self.config.document.file)
            service.context = await asyncio.to_thread(make_context, config, self._cluster)
            self._run_quota(service)
        except ConfigError as error:
            self.metrics.reloads.labels("configuration", "failure").inc()
            log(logging.ERROR, "configuration not changed", problems=[str(item) for item in error.problems])
            return
        fixed = [
            name for name in _FIXED if config.document.value.get(name) != self.config.document.value.get(name)
        ]
        if fixed:
            log(logging.WARNING, "some changes take effect with the next start", fields=fixed)
        self.config = config
        self._seen = _fingerprint(watched_files(config))
        self.metrics.reloads.labels("configuration", "success").inc()
        log(logging.INFO, "configuration changed")


def _most_descriptors() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _fingerprint(files: list[Path]) -> dict[Path, tuple[int, int, int]]:
    """What tells that files have changed; those that are not there are left out."""
    found = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size, status.st_ino)
    return found
