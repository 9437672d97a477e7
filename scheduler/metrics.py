"""The metrics of the scheduling sidecar beyond those of every server (:mod:`serving.metrics`)."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

from serving.metrics import ServerMetrics


class Metrics(ServerMetrics):
    """The metrics of one process: latency and attempts per verb are the server's, by its route."""

    def __init__(self) -> None:
        super().__init__("claimcheck_scheduler", "verb")
        self.outcomes = Counter(
            "claimcheck_scheduler_attempts",
            "Answers to kube-scheduler by verb and result.",
            ["verb", "result"],
            registry=self.registry,
        )
        self.assumed = Gauge(
            "claimcheck_scheduler_assumed_allocations",
            "Allocations that count in memory and are being written.",
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )
        self.drifted = Counter(
            "claimcheck_scheduler_drifted_claims",
            "Claims that memory had otherwise than the API server for longer than an event takes.",
            registry=self.registry,
        )
        self.leads = Gauge(
            "claimcheck_scheduler_leads",
            "1 on the replica that answers kube-scheduler, 0 on the others.",
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )

        self.without_claims = Gauge(
            "claimcheck_scheduler_pods_without_claims",
            "Pods that have waited for 30 s for claims from templates, which kube-controller-manager creates.",
            registry=self.registry,
            multiprocess_mode="livemostrecent",
        )

    def count(self, verb: str, result: str) -> None:
        """Count an answer."""
        self.child(self.outcomes, verb, result).inc()
