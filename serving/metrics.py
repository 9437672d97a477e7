"""A server's metrics for Prometheus; names and buckets are modelled on those of controller-runtime's webhooks.

Several processes share what they count through files in ``$PROMETHEUS_MULTIPROC_DIR``, which must be set before this
module is imported.
"""

from __future__ import annotations

import os
from time import perf_counter
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector

from serving.metrics_directory import VARIABLE

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class ServerMetrics:
    """The metrics of one process about its routes and connections; services add their own to ``registry``.

    :param prefix: of the names of metrics.
    :param label: the label that has the name of the route.
    """

    def __init__(self, prefix: str, label: str) -> None:
        self.label = label
        self.registry = registry = CollectorRegistry()
        self._children: dict[tuple[object, ...], Any] = {}
        self.latency = Histogram(
            f"{prefix}_latency_seconds",
            "Time to answer a request.",
            [label],
            buckets=BUCKETS,
            registry=registry,
        )
        self.requests = Counter(
            f"{prefix}_requests",
            "Requests answered, by HTTP status.",
            [label, "code"],
            registry=registry,
        )
        self.in_flight = Gauge(
            f"{prefix}_requests_in_flight",
            "Requests being answered.",
            [label],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.shed = Counter(
            f"{prefix}_connections_shed",
            "Idle connections that were closed because there were too many.",
            registry=registry,
        )
        self.certificate_expiry = Gauge(
            "claimcheck_certificate_expiration_timestamp_seconds",
            "When the certificate that is served with expires, in seconds since 1970.",
            registry=registry,
            multiprocess_mode="livemax",  # one process sets it
        )
        self.reloads = Counter(
            "claimcheck_config_reloads",
            "Attempts to read a changed configuration or certificate.",
            ["what", "result"],
            registry=registry,
        )

    def enter(self, route: str) -> float:
        """Count a request that begins; the result is for :meth:`leave`."""
        self.child(self.in_flight, route).inc()
        return perf_counter()

    def leave(self, route: str, entered: float, code: int | None) -> None:
        """Count a request that has ended.

        :param code: the HTTP status of the answer; None if there is none.
        """
        self.child(self.in_flight, route).dec()
        if code is not None:
            self.child(self.latency, route).observe(perf_counter() - entered)
            self.child(self.requests, route, str(code)).inc()

    def child(self, metric: Any, *labels: str) -> Any:
        """The metric with these values of its labels, found faster than by the metric itself."""
        key = (id(metric), *labels)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = metric.labels(*labels)
        return found

    def exposition(self) -> tuple[bytes, str]:
        """The text that Prometheus scrapes, of all processes, and its content type."""
        registry = self.registry
        if VARIABLE in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST
