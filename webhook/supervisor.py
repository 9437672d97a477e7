"""The parent process: owns the socket and the certificates, keeps the workers running, ends them.

It imports nothing that needs the metrics' directory before that is there, and starts no threads: workers are forked.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import socket
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from deviceselectors.runtime import compilation
from resourceapi.api_client import Unavailable
from serving.accepting import Shares
from serving.certificate_store import Conflict
from serving.logs import LOGGER, configure_logs, log
from webhook.assembly import make_cluster, make_context
from webhook.certificate_setup import make_injection, make_keeper, make_tls
from webhook.config import Config
from webhook.warmup import warm_up

# How often certificates are looked after.
CERTIFICATE_SECONDS = 10.0
# A worker that dies at once is not started again and again without a pause.
RESTART_SECONDS = 1.0
KILL_AFTER_SECONDS = 5.0
RETRY_SECONDS = 1.0
BACKLOG = 1024
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGCHLD}


def check(config: Config) -> None:
    """
    :raises ConfigError: for what would keep the service from starting, as far as the files tell.
    """
    make_context(config)
    _check_rest(config)


def _check_rest(config: Config) -> None:
    """What is needed besides the context."""
    runtime = Path()  # not looked into
    make_cluster(config)
    make_injection(config, runtime)
    make_keeper(config, runtime)


def serve(config: Config) -> None:
    """Serve until SIGTERM or SIGINT.

    :raises ConfigError: if the configuration turns out to be unusable before anything is served.
    """
    configure_logs(config.get("logging", "level"))
    _check_rest(config)
    compilation.set_wanted(config.get("expressions", "compile"))  # for the workers too, which are forked
    warm_up(make_context(config).server)
    with TemporaryDirectory(prefix="claimcheck-") as runtime, _listen(config) as listener:
        metrics = Path(runtime, "metrics")
        metrics.mkdir()
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
        _Supervisor(config, listener, Path(runtime)).run()


def _listen(config: Config) -> socket.socket:
    address, port = config.get("listen", "address"), config.get("listen", "port")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        listener = socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise config.error(("listen",), f"listen: {address}:{port}: {error.strerror or error}") from None
    listener.setblocking(False)
    return listener


class _Started(NamedTuple):
    """When a worker was started, and which one it is."""

    time: float
    number: int


class _Supervisor:
    def __init__(self, config: Config, listener: socket.socket, runtime: Path) -> None:
        self.config = config
        self.listener = listener
        self.runtime = runtime
        self.keeper = make_keeper(config, runtime)
        self.workers: dict[int, _Started] = {}  # by process id
        self.shares = Shares(config.get("listen", "workers"))
        # Workers see its end: what holds the writing end is this process only.
        self.lifeline, self.held = os.pipe()

    def run(self) -> None:
        """Serve. Signals are waited for, not handled, so that nothing happens at odd moments."""
        _allow_many_connections()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            if not self._have_certificates():
                return
            make_tls(self.config, self.runtime)  # workers would fail one after the other
            address, port = self.listener.getsockname()[:2]
            log(logging.INFO, "listening", address=address, port=port)
            for number in range(self.config.get("listen", "workers")):
                self._start(number, before)
            self._supervise(before)
            self._end()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _supervise(self, mask: set[signal.Signals | int]) -> None:
        due = time.monotonic() + CERTIFICATE_SECONDS
        while True:
            caught = signal.sigtimedwait(_SIGNALS, max(0.0, due - time.monotonic()))
            if caught is not None and caught.si_signo != signal.SIGCHLD:
                return
            for started in self._reap():
                self.shares.set(started.number, 0)
                pause = RESTART_SECONDS - (time.monotonic() - started.time)
                if pause > 0 and signal.sigtimedwait({signal.SIGTERM, signal.SIGINT}, pause) is not None:
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
            from webhook.worker import Place, run_worker

            run_worker(self.config, Place(self.listener, self.shares, number, self.lifeline, self.runtime))
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
                raise self.config.error(("tls",), f"tls: {error}") from None
            except (Conflict, Unavailable) as error:
                log(logging.WARNING, "no certificates yet", reason=str(error))
                if signal.sigtimedwait({signal.SIGTERM, signal.SIGINT}, RETRY_SECONDS) is not None:
                    return False
        return True

    def _maintain_certificates(self) -> None:
        if self.keeper is None:
            return
        try:
            self.keeper.maintain(datetime.now(UTC))
        except (OSError, Conflict, Unavailable) as error:
            log(logging.ERROR, "certificates not renewed", reason=str(error))

    def _end(self) -> None:
        """Tell all workers to drain; those that take too long are killed."""
        self.listener.close()  # with the last worker nobody listens any more
        limit = self.config.get("timeouts", "drain") * 2 + self.config.get("timeouts", "lameDuck")
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


def _forget_metrics(process: int) -> None:
    """Gauges of a process that is gone no longer count."""
    from prometheus_client.multiprocess import mark_process_dead

    mark_process_dead(process)  # type: ignore[no-untyped-call]


def _allow_many_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
