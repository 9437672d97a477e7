"""What the service counts, for Prometheus; names and buckets are modelled on those of controller-runtime's webhooks.

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

from resourceapi.kinds import KINDS
from webhook.object_cache import ClaimLabels

SHARED = "PROMETHEUS_MULTIPROC_DIR"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


COUNTED = frozenset((*KINDS, "Namespace", "Pod"))


class Metrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self._children: dict[tuple[object, ...], Any] = {}
        self.latency = Histogram(
            "claimcheck_webhook_latency_seconds",
            "Time to answer a review.",
            ["webhook"],
            buckets=BUCKETS,
            registry=registry,
        )
        self.requests = Counter(
            "claimcheck_webhook_requests",
            "Requests answered, by HTTP status.",
            ["webhook", "code"],
            registry=registry,
        )
        self.in_flight = Gauge(
            "claimcheck_webhook_requests_in_flight",
            "Requests being answered.",
            ["webhook"],
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.verdicts = Counter(
            "claimcheck_webhook_verdicts",
            "Verdicts by kind of object and the reason of the refusal.",
            ["webhook", "kind", "verdict", "reason"],
            registry=registry,
        )
        self.claims, self.allocated_claims = _claim_gauges(registry)
        self.not_compiled = Counter(
            "claimcheck_expressions_not_compiled",
            "Expressions that are interpreted because the code generated for them was refused.",
            registry=registry,
        )
        self.shed = Counter(
            "claimcheck_webhook_connections_shed",
            "Idle connections that were closed because there were too many.",
            registry=registry,
        )
        self.reloads = Counter(
            "claimcheck_config_reloads",
            "Attempts to read a changed configuration or certificate.",
            ["what", "result"],
            registry=registry,
        )

    def set_claims(self, labels: ClaimLabels, number: int) -> None:
        """Show how many claims there are of a kind."""
        self.claims.labels(*labels).set(number)
        if labels.allocated == "true":
            self.allocated_claims.labels(*labels[1:]).set(number)

    def enter(self, webhook: str) -> float:
        """Count a request that comes in; what :meth:`leave` needs to know of it."""
        self._child(self.in_flight, webhook).inc()
        return perf_counter()

    def leave(self, webhook: str, entered: float, code: int | None) -> None:
        """Count a request that is answered with an HTTP status, or given up."""
        self._child(self.in_flight, webhook).dec()
        if code is not None:
            self._child(self.latency, webhook).observe(perf_counter() - entered)
            self._child(self.requests, webhook, str(code)).inc()

    def _child(self, metric: Any, *labels: str) -> Any:
        """The metric with these labels; finding it again is most of what counting costs."""
        key = (id(metric), *labels)
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = metric.labels(*labels)
        return found

    def count_verdict(self, webhook: str, review: dict[str, Any], answer: dict[str, Any]) -> None:
        """Count what an answer says about the object of a review."""
        response = answer["response"]
        if "allowed" not in response:
            verdict = response["result"]["status"]
            outcome = "converted" if verdict == "Success" else "failed"
            self._child(self.verdicts, webhook, "", outcome, "").inc()
            return
        kind = review["request"]["kind"]["kind"]
        known = kind if kind in COUNTED else "other"
        reason = response.get("status", {}).get("reason", "")
        outcome = "allowed" if response["allowed"] else "denied"
        self._child(self.verdicts, webhook, known, outcome, reason).inc()

    def exposition(self) -> tuple[bytes, str]:
        """The text that Prometheus scrapes, of all processes, and its content type."""
        registry = self._registry
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST


def _claim_gauges(registry: CollectorRegistry) -> tuple[Gauge, Gauge]:
    """All claims, and those that are allocated. Every process counts the same claims; who has looked last is right."""
    total = Gauge(
        "claimcheck_resource_claims",
        "ResourceClaims in the cluster, with and without firstAvailable.",
        ClaimLabels._fields,
        registry=registry,
        multiprocess_mode="livemostrecent",
    )
    allocated = Gauge(
        "claimcheck_allocated_resource_claims",
        "ResourceClaims in the cluster that are allocated, with and without firstAvailable.",
        ClaimLabels._fields[1:],
        registry=registry,
        multiprocess_mode="livemostrecent",
    )
    return total, allocated
