"""The webhooks as an application for :mod:`serving`: settings, certificates, and their part in each worker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread

from deviceselectors.request_budget import RequestBudget
from resourceapi.logs import log
from serving import supervisor
from serving.api_server import make_client
from serving.application import Configured
from serving.bodies import Limits
from serving.certificate_store import Keeper, certificates_are_own, check_notes, make_tls, require_given_files
from serving.config_file import Config
from serving.routes import Clients, Route
from serving.tls import ServerTLS
from webhook.assembly import left_out, make_cluster, make_context, make_label_guard, watched_files, watches
from webhook.config import load_config
from webhook.injection import injects_itself, make_injection, make_keeper
from webhook.label_guard import start_check
from webhook.routes import ReviewLimits, deadline, make_routes
from webhook.warmup import warm_up

# Sections that take effect at the start of the service only; so does what is watched of the cluster.
_FIXED = ("listen", "tls", "timeouts", "limits", "logging")


def check(config: Config) -> list[str]:
    """Check whether the webhooks can be served with a configuration, as far as the files that it names tell.

    :returns: what else to tell.
    :raises ConfigError: if not.
    """
    config.is_only_checked = True
    make_context(config)
    _check_connections(config)
    return [*check_notes(config), *filter(None, [left_out(config)])]


def serve(config: Config) -> None:
    """Serve the webhooks until SIGTERM or SIGINT.

    :raises ConfigError: if the configuration turns out to be unusable before anything is served.
    """
    supervisor.serve(Webhooks(config))


def _check_connections(config: Config) -> None:
    """Check what is configured about the API server and certificates, without asking for any.

    :raises ConfigError: if it cannot be used.
    """
    runtime = Path()  # not read
    make_cluster(config)
    make_injection(config, runtime)
    make_keeper(config, runtime)
    require_given_files(config)
    if not certificates_are_own(config):
        make_tls(config, runtime)


class Webhooks(Configured):
    """The webhooks in the process that starts the workers (a :class:`serving.application.Application`)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config, workers=config.get("listen", "workers"))

    def prepare(self) -> None:
        """Check the configuration and load what is loaded at first use, for all workers."""
        _check_connections(self._config)
        warm_up(make_context(self._config).server)
        if said := left_out(self._config):
            log(logging.WARNING, said)

    def certificates(self, runtime: Path) -> Keeper | None:
        """What makes and renews own certificates."""
        return make_keeper(self._config, runtime)

    def tls(self, runtime: Path) -> ServerTLS:
        """The certificate to serve with."""
        return make_tls(self._config, runtime)

    def worker(self, runtime: Path, *, is_first: bool) -> WebhookWorker:
        """The webhooks in this process, one of the workers."""
        return WebhookWorker(self._config, runtime, is_first=is_first)


class WebhookWorker:
    """The webhooks in a worker process (a :class:`serving.application.WorkerApplication`)."""

    def __init__(self, config: Config, runtime: Path, *, is_first: bool) -> None:
        # imported here, since the metrics' files are opened with the import
        from webhook.metrics import Metrics

        self.metrics = Metrics()
        self._config = config
        self._is_first = is_first
        self._cluster = make_cluster(config)
        self._context = make_context(config, self._cluster)
        self._quota_ends = Event()
        self._injection = make_injection(config, runtime) if is_first and injects_itself(config) else None

    @property
    def limits(self) -> Limits:
        """What reviews may take."""
        get = self._config.get
        largest = max(get("limits", "review"), get("limits", "conversion"))
        return Limits(get("timeouts", "body"), get("timeouts", "review"), largest)

    @property
    def clients(self) -> Clients | None:
        """Which clients are API servers."""
        get = self._config.get
        if get("tls", "clientAuthorityFile") is None:
            return None
        names = tuple(get("tls", "clientNames") or ())
        return Clients(names, for_all_requests=get("tls", "requireClientCertificate") == "Reviews")

    def deadline(self, seconds: float) -> RequestBudget:
        """What a review that begins now may use."""
        return deadline(seconds)

    def routes(self) -> Iterator[Route]:
        """The webhooks, as configured now."""
        get = self._config.get
        limits = ReviewLimits(get("limits", "review"), get("limits", "conversion"))
        return make_routes(self._context, self.metrics, limits)

    @property
    def checks(self) -> Mapping[str, Callable[[], bool]]:
        """Whether everything that is watched of the cluster has been listed."""
        return {"cluster": self._cluster.is_synced}

    def start(self) -> None:
        """Watch the cluster; in the first worker also recount quotas, and inject the authority where that is configured."""
        self._start_quota()
        self._check_registration()
        self._cluster.claim_counts.show(self.metrics)
        self._cluster.follow()
        if self._injection is not None:
            Thread(target=self._injection.run, args=(Event(),), daemon=True).start()

    def stop(self) -> None:
        """End the recounting of quotas."""
        self._quota_ends.set()

    def watched_files(self) -> list[Path]:
        """The configuration and the files that it names."""
        return watched_files(self._config)

    def reload(self) -> list[str]:
        """Read the configuration again; the names of changed sections that take effect with the next start."""
        config = load_config(self._config.document.file)
        self._context = make_context(config, self._cluster)
        before, self._config = self._config.document.value, config
        self._start_quota()
        self._check_registration()
        return [name for name in _FIXED if config.document.value.get(name) != before.get(name)]

    def _check_registration(self) -> None:
        """Look whether the API server asks about the labels that are guarded, if it is known which one that is."""
        guard = make_label_guard(self._config)
        if self._is_first and guard is not None and watches(self._config):
            start_check(make_client(self._config), dict.fromkeys(rule.key for rule in guard.labels))

    def _start_quota(self) -> None:
        """Recount the quotas of the current context in the background, no longer those of an earlier one."""
        self._quota_ends.set()
        self._quota_ends = Event()
        if self._is_first and self._context.quota is not None:
            Thread(target=self._context.quota.run, args=(self._quota_ends,), daemon=True).start()
