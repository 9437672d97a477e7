"""What a service hands in to be served: its settings, its certificates, and its part in each worker process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from serving.bodies import Limits
from serving.certificate_store import Keeper
from serving.config_file import Config, ConfigError
from serving.routes import Clients, Deadline, Route
from serving.tls import ServerTLS

if TYPE_CHECKING:
    from serving.metrics import ServerMetrics


class Settings(NamedTuple):
    """The settings of a server that take effect when it starts.

    ``address``: IP address to listen on.
    ``port``: 0 for any free one.
    ``workers``: how many processes.
    ``connections``: how many a process has open at most.
    ``idle_seconds``: how long a connection may be open without a request.
    ``drain_grace_seconds``: how long clients get, when the service ends, to use each connection once more and to be told
    that it closes.
    ``drain_seconds``: how long requests that are being answered may take after that.
    """

    address: str
    port: int
    workers: int
    connections: int
    idle_seconds: float
    drain_grace_seconds: float
    drain_seconds: float


class WorkerApplication(Protocol):
    """A service in one worker process."""

    @property
    def metrics(self) -> ServerMetrics:
        """What the process counts."""

    @property
    def limits(self) -> Limits:
        """What requests may take."""

    @property
    def clients(self) -> Clients | None:
        """Which clients may ask for what; None if clients are not identified."""

    def deadline(self, seconds: float) -> Deadline:
        """The deadline of a request that begins now."""

    def routes(self) -> Iterable[Route]:
        """The routes, as configured now."""

    @property
    def checks(self) -> Mapping[str, Callable[[], bool]]:
        """What has to be so before requests are answered, by name; ``/readyz/NAME`` tells it."""

    def start(self) -> None:
        """Begin the work in the background."""

    def stop(self) -> None:
        """End the work in the background."""

    def watched_files(self) -> list[Path]:
        """The files whose change is a reason to :meth:`reload`."""

    def reload(self) -> list[str]:
        """Read the configuration again; return the names of changed settings that take effect only with the next start.

        :raises ConfigError: if it cannot be used; then nothing has changed.
        """


class Application(Protocol):
    """A service in the process that starts the workers."""

    @property
    def settings(self) -> Settings:
        """The settings of the server."""

    @property
    def log_level(self) -> str:
        """The name of the least level of log lines."""

    def prepare(self) -> None:
        """Load what all workers share, before they are forked; start no threads.

        :raises ConfigError: if the configuration turns out to be unusable.
        """

    def certificates(self, runtime: Path) -> Keeper | None:
        """What makes and renews certificates; None if they are given.

        :param runtime: a directory of this service alone, for as long as it runs.
        :raises ConfigError: if they cannot be kept as configured.
        """

    def tls(self, runtime: Path) -> ServerTLS:
        """The certificate to serve with.

        :param runtime: as for :meth:`certificates`.
        :raises ConfigError: if there is no usable one.
        """

    def config_error(self, section: str, message: str) -> ConfigError:
        """An error about a section of the configuration: ``listen`` or ``tls``."""

    def worker(self, runtime: Path, *, is_first: bool) -> WorkerApplication:
        """The service in a worker process; called in that process.

        :param runtime: as for :meth:`certificates`.
        :param is_first: true for one of the workers, which does what has to be done once.
        """


# What every service's :class:`Application` has of its configuration.


class Configured:
    """The part of an application that the sections tell which all services have."""

    def __init__(self, config: Config, *, workers: int) -> None:
        """Take a configuration.

        :param workers: how many processes serve.
        """
        self._config = config
        self._workers = workers

    @property
    def settings(self) -> Settings:
        """The settings of the server."""
        get = self._config.get
        return Settings(
            address=get("listen", "address"),
            port=get("listen", "port"),
            workers=self._workers,
            connections=get("limits", "connections"),
            idle_seconds=get("timeouts", "idle"),
            drain_grace_seconds=get("timeouts", "lameDuck"),
            drain_seconds=get("timeouts", "drain"),
        )

    @property
    def log_level(self) -> str:
        """The name of the least level of log lines."""
        level: str = self._config.get("logging", "level")
        return level

    def config_error(self, section: str, message: str) -> ConfigError:
        """An error about a section of the configuration."""
        return self._config.error((section,), message)
