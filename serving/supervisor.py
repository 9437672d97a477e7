"""The parent process: owns the socket and the certificates, keeps the workers running, ends them.

It imports nothing that needs the metrics' directory before that is there, and starts no threads: workers are forked.
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import socket
import time
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from resourceapi.api_client import Unavailable
from resourceapi.errors import WriteConflict
from resourceapi.logs import LOGGER, log
from serving.listening import Shares, listen
from serving.logs import configure_logs
from serving.metrics_directory import VARIABLE

if TYPE_CHECKING:
    from serving.application import Application

# How often certificates are looked after.
CERTIFICATE_SECONDS = 10.0
# A worker that dies at once is not started again and again without a pause.
RESTART_SECONDS = 1.0
KILL_AFTER_SECONDS = 5.0
RETRY_SECONDS = 1.0
_ENDING = {signal.SIGTERM, signal.SIGINT}
_SIGNALS = {*_ENDING, signal.SIGCHLD}


def serve(application: Application) -> None:
    """Serve an application until SIGTERM or SIGINT.

    :raises ConfigError: if the configuration turns out to be unusable before anything is served.
    """
    configure_logs(application.log_level)
    application.prepare()
    # freeze what exists, so that forked workers keep sharing its pages
    gc.collect()
    gc.freeze()
    with TemporaryDirectory(prefix="claimcheck-") as runtime, _listen(application) as listener:
        metrics = Path(runtime, "metrics")
        metrics.mkdir()
        os.environ[VARIABLE] = str(metrics)
        try:
            _Supervisor(application, listener, Path(runtime)).run()
        finally:  # the directory goes, and other metrics of this process must not look for it
            del os.environ[VARIABLE]


def _listen(application: Application) -> socket.socket:
    address, port = application.settings.address, application.settings.port
    try:
        return listen(address, port)
    except OSError as error:
        message = f"listen: {address}:{port}: {error.strerror or error}"
        raise application.config_error("listen", message) from None


class _Started(NamedTuple):
    """When a worker was started (:func:`time.monotonic`), and which one it is."""

    time: float
    number: int


class _Supervisor:
    def __init__(self, application: Application, listener: socket.socket, runtime: Path) -> None:
        self.application = application
        self.settings = application.settings
        self.listener = listener
        self.runtime = runtime
        self.keeper = application.certificates(runtime)
        self.workers: dict[int, _Started] = {}  # by process id
        self.shares = Shares(self.settings.workers)
        # only this process holds the writing end, so workers see the pipe end with it
        self.lifeline, self.held = os.pipe()

    def run(self) -> None:
        """Serve. Signals are waited for, not handled, so that nothing happens at odd moments."""
        _allow_many_connections()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            if not self._have_certificates():
                return
            self.application.tls(self.runtime)  # workers would fail one after the other
            address, port = self.listener.getsockname()[:2]
            log(logging.INFO, "listening", address=address, port=port)
            for number in range(self.settings.workers):
                self._start(number, before)
            self._supervise(before)
            self._end()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _supervise(self, mask: set[signal.Signals | int]) -> None:
        due = time.monotonic() + CERTIFICATE_SECONDS
        while True:
            if next_signal(_SIGNALS, max(0.0, due - time.monotonic())) in _ENDING:
                return
            for started in self._reap():
                self.shares.set(started.number, 0)
                pause = RESTART_SECONDS - (time.monotonic() - started.time)
                if pause > 0 and next_signal(_ENDING, pause) is not None:
                    return
                self._start(started.number, mask)
            if time.monotonic() >= due:
                due = time.monotonic() + CERTIFICATE_SECONDS
                self._maintain_certificates()

    def _start(self, number: int, mask: set[signal.Signals | int]) -> None:
        process = os.fork()
        if process:
            self.workers[process] = _Started(time.monotonic(), number)
            return
        code = 1
        try:
            os.close(self.held)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            # imported here, since the metrics' files are opened with the import
            from serving.worker import Place, run_worker

            place = Place(self.listener, self.shares, number, self.lifeline, self.runtime)
            run_worker(self.application, place)
            code = 0
        except Exception:  # noqa: BLE001 - the process ends here, in any case
            LOGGER.exception("worker failed")
        finally:
            os._exit(code)

    def _reap(self) -> list[_Started]:
        """The workers that have ended meanwhile."""
        ended = []
        while self.workers:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                break
            if process in self.workers:
                ended.append(self.workers.pop(process))
                _forget_metrics(process)
                log(logging.ERROR, "worker ended", worker=process, status=os.waitstatus_to_exitcode(status))
        return ended

    def _have_certificates(self) -> bool:
        """Wait until there are certificates; False if told to end before.

        :raises ConfigError: if there never will be.
        """
        while self.keeper is not None:
            try:
                self.keeper.maintain(datetime.now(UTC))
                break
            except OSError as error:
                raise self.application.config_error("tls", f"tls: {error}") from None
            except (WriteConflict, Unavailable) as error:
                log(logging.WARNING, "no certificates yet", reason=str(error))
                if next_signal(_ENDING, RETRY_SECONDS) is not None:
                    return False
        return True

    def _maintain_certificates(self) -> None:
        if self.keeper is None:
            return
        try:
            self.keeper.maintain(datetime.now(UTC))
        except (OSError, WriteConflict, Unavailable) as error:
            log(logging.ERROR, "certificates not renewed", reason=str(error))

    def _end(self) -> None:
        """Tell all workers to drain; those that take too long are killed."""
        self.listener.close()  # with the last worker nobody listens any more
        limit = self.settings.drain_seconds * 2 + self.settings.drain_grace_seconds
        deadline = time.monotonic() + limit + KILL_AFTER_SECONDS
        for process in self.workers:
            os.kill(process, signal.SIGTERM)
        while self.workers and time.monotonic() < deadline:
            process, _ = os.waitpid(-1, os.WNOHANG)
            if process:
                self.workers.pop(process, None)
            else:
                signal.sigtimedwait({signal.SIGCHLD}, 0.2)
        for process in self.workers:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def next_signal(signals: Collection[signal.Signals], seconds: float) -> signal.Signals | None:
    """Wait for one of these signals, which are blocked; None if none comes in time.

    Python returns a signal that never came, of no number, to a process that is stopped until the time is over.
    """
    caught = signal.sigtimedwait(signals, seconds)
    return next((each for each in signals if caught is not None and caught.si_signo == each), None)


def _forget_metrics(process: int) -> None:
    """Gauges of a process that is gone no longer count."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)  # type: ignore[no-untyped-call]


def _allow_many_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
