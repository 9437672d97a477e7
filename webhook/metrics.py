"""The metrics of the webhooks beyond those of every server (:mod:`serving.metrics`)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge

from resourceapi.kinds import KINDS
from resourceapi.objects import Object
from serving.metrics import ServerMetrics
from webhook.object_cache import ClaimLabels

KINDS_WITH_VERDICTS = frozenset((*KINDS, "Namespace", "Pod"))


class Metrics(ServerMetrics):
    """The metrics of one process of the webhooks."""

    def __init__(self) -> None:
        super().__init__("claimcheck_webhook", "webhook")
        self.verdicts = Counter(
            "claimcheck_webhook_verdicts",
            "Verdicts by kind of object and the reason of the refusal.",
            ["webhook", "kind", "verdict", "reason"],
            registry=self.registry,
        )
        self.claims, self.allocated_claims = _claim_gauges(self.registry)

    def set_claims(self, labels: ClaimLabels, number: int) -> None:
        """Show how many claims there are with these labels."""
        self.claims.labels(*labels).set(number)
        if labels.allocated == "true":
            self.allocated_claims.labels(*labels[1:]).set(number)

    def count_admission(self, webhook: str, kind: str, response: Object) -> None:
        """Count the response of an AdmissionReview about an object of a kind."""
        outcome = "allowed" if response["allowed"] else "denied"
        reason = response.get("status", {}).get("reason", "")
        counted = kind if kind in KINDS_WITH_VERDICTS else "other"
        self.child(self.verdicts, webhook, counted, outcome, reason).inc()

    def count_conversion(self, webhook: str, response: Object) -> None:
        """Count the response of a ConversionReview."""
        outcome = "converted" if response["result"]["status"] == "Success" else "failed"
        self.child(self.verdicts, webhook, "", outcome, "").inc()


def _claim_gauges(registry: CollectorRegistry) -> tuple[Gauge, Gauge]:
    """All claims, and those that are allocated.  Every process counts the same claims; the latest number is shown."""
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
