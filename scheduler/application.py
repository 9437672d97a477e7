"""The scheduling sidecar as an application for :mod:`serving`: settings, certificates, and its worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from time import monotonic

from scheduler.assembly import Sidecar, make_client, make_endpoint
from scheduler.config import client_name, load_config
from scheduler.routes import make_routes
from serving import supervisor
from serving.api_server import make_profile
from serving.application import Configured
from serving.bodies import Limits
from serving.certificate_store import (
    Keeper,
    certificates_are_own,
    check_notes,
    make_keeper,
    make_tls,
    require_given_files,
)
from serving.config_file import Config
from serving.routes import Clients, Route
from serving.tls import ServerTLS


def check(config: Config) -> list[str]:
    """Check whether the sidecar can start with a configuration, as far as the files that it names tell.

    :returns: what else to tell.
    :raises ConfigError: if not.
    """
    config.is_only_checked = True
    _check(config)
    return check_notes(config)


def _check(config: Config) -> None:
    runtime = Path()  # not read
    make_profile(config)
    client = make_client(config)
    if not config.is_only_checked:
        make_endpoint(config, client)
    make_keeper(config, runtime, "scheduler", client_name=client_name(config))
    require_given_files(config)
    if not certificates_are_own(config):
        make_tls(config, runtime)


def serve(config: Config) -> None:
    """Serve as an extender until SIGTERM or SIGINT.

    :raises ConfigError: if the configuration turns out to be unusable before anything is served.
    """
    supervisor.serve(Scheduler(config))


class Scheduler(Configured):
    """The sidecar in the process that starts its worker (a :class:`serving.application.Application`)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, workers=1)  # as there is one picture of the cluster

    def prepare(self) -> None:
        """Check the configuration."""
        _check(self._config)

    def certificates(self, runtime: Path) -> Keeper | None:
        """What makes and renews own certificates."""
        return make_keeper(self._config, runtime, "scheduler", client_name=client_name(self._config))

    def tls(self, runtime: Path) -> ServerTLS:
        """The certificate to serve with."""
        return make_tls(self._config, runtime, knows_own_clients=bool(client_name(self._config)))

    def worker(self, runtime: Path, *, is_first: bool) -> SchedulerWorker:
        """The sidecar in this process."""
        return SchedulerWorker(self._config)


class Deadline:
    """How long kube-scheduler waits (a :class:`serving.routes.Deadline`)."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds
        self._stopped = Event()

    def stop(self) -> None:
        """Note that the client no longer waits."""
        self._stopped.set()

    def is_open(self) -> bool:
        """Whether the client still waits."""
        return not self._stopped.is_set() and monotonic() < self._end

    def seconds_left(self) -> float:
        """Seconds until the client gives up."""
        return max(0.0, self._end - monotonic())


class SchedulerWorker:
    """The sidecar in its worker process (a :class:`serving.application.WorkerApplication`)."""

    def __init__(self, config: Config) -> None:
        # imported here, since the metrics' files are opened with the import
        from scheduler.metrics import Metrics

        self.metrics = Metrics()
        self._config = config
        self._sidecar = Sidecar(config, self.metrics)
        self._ending = Event()

    @property
    def limits(self) -> Limits:
        """What requests may take."""
        get = self._config.get
        return Limits(get("timeouts", "body"), get("timeouts", "answer"), get("limits", "request"))

    @property
    def clients(self) -> Clients | None:
        """Which clients are kube-scheduler; None if they are not identified."""
        get = self._config.get
        own = client_name(self._config)
        if own:
            return Clients((own,))
        if get("tls", "clientAuthorityFile") is None:
            return None
        return Clients(tuple(get("tls", "clientNames") or ()), for_all_requests=True)

    def deadline(self, seconds: float) -> Deadline:
        """The deadline of a request that begins now."""
        return Deadline(seconds)

    def routes(self) -> Iterator[Route]:
        """The extender's verbs."""
        return make_routes(self._sidecar.verbs, self.metrics, self._config.get("limits", "request"))

    @property
    def checks(self) -> Mapping[str, Callable[[], bool]]:
        """Whether this replica knows the cluster (``cluster``), and leads (``leader``)."""
        return self._sidecar.checks

    def start(self) -> None:
        """Follow the cluster, and try to lead."""
        for run in self._sidecar.background:
            Thread(target=run, args=(self._ending,), daemon=True).start()

    def stop(self) -> None:
        """End the work in the background; another replica may lead at once."""
        self._ending.set()
        self._sidecar.stop()

    def watched_files(self) -> list[Path]:
        """The configuration."""
        return [Path(self._config.document.file)]

    def reload(self) -> list[str]:
        """Read the configuration again; all of it takes effect with the next start, so these are the changed sections."""
        config = load_config(self._config.document.file)
        before, after = self._config.document.value, config.document.value
        return [name for name in {**before, **after} if before.get(name) != after.get(name)]
