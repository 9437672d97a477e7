"""The metrics of the scheduling sidecar beyond those of every server (:mod:`serving.metrics`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge

from resourceapi.objects import Object
from resourceapi.records.claims import Allocation, Claim
from serving.metrics import ServerMetrics

if TYPE_CHECKING:
    from scheduler.cluster_picture import ClusterPicture


_PREFIX = "claimcheck_scheduler"


class Metrics(ServerMetrics):
    """The metrics of one process: latency and attempts per verb are the server's, by its route."""

    def __init__(self) -> None:
        super().__init__(_PREFIX, "verb")
        registry = self.registry
        self.outcomes = _counter(
            registry, "attempts", "Answers to kube-scheduler by verb and result.", "verb", "result"
        )
        self.allocations = _counter(
            registry,
            "allocated_devices",
            "Devices given to claims, by driver, DeviceClass, and place of the alternative in firstAvailable (from 0).",
            "driver",
            "device_class",
            "alternative",
        )
        self.claims = _counter(registry, "allocated_claims", "Claims that were given devices.")
        self.searches = _counter(
            registry,
            "searches",
            "Kinds of nodes that were searched for devices, or whose outcome was known.",
            "cached",
        )
        self.drifted = _counter(
            registry,
            "drifted_claims",
            "Claims that memory had otherwise than the API server for longer than an event takes.",
        )
        self.wake_ups = _counter(
            registry, "wake_ups", "How many times kube-scheduler was made to ask about refused pods again."
        )
        self.pending = _gauge(registry, "pending_pods", "Pods that fit on no node, and wait.")
        self.assumed = _gauge(
            registry, "assumed_allocations", "Allocations that count in memory and are being written."
        )
        self.leads = _gauge(
            registry, "leads", "1 on the replica that answers kube-scheduler, 0 on the others."
        )
        self.without_claims = _gauge(
            registry,
            "pods_without_claims",
            "Pods that have waited for 30 s for claims from templates, also from templates that do not exist.",
        )
        self._searched = (0, 0)

    def count(self, verb: str, result: str) -> None:
        """Count an answer."""
        self.child(self.outcomes, verb, result).inc()

    def count_claim(self, claim: Object, allocation: Object) -> None:
        """Count a claim that was given devices by an AllocationResult."""
        self.claims.inc()
        for each in chosen_alternatives(Claim(claim), Allocation(allocation)):
            self.child(self.allocations, each.driver, each.device_class, each.alternative).inc()

    def show(self, picture: ClusterPicture, pending: int, *, leads: bool) -> None:
        """Show how things are.

        :param pending: how many pods wait.
        """
        self.pending.set(pending)
        self.assumed.set(picture.claims.assumed)
        self.leads.set(leads)
        effort = picture.state.effort
        for cached, now, before in zip(("false", "true"), effort, self._searched, strict=True):
            self.child(self.searches, cached).inc(now - before)
        self._searched = effort


def _counter(registry: CollectorRegistry, name: str, about: str, *labels: str) -> Counter:
    return Counter(f"{_PREFIX}_{name}", about, labels, registry=registry)


def _gauge(registry: CollectorRegistry, name: str, about: str) -> Gauge:
    return Gauge(f"{_PREFIX}_{name}", about, registry=registry, multiprocess_mode="livemostrecent")


class ChosenAlternative(NamedTuple):
    """What a device was given for.

    :param alternative: its place in ``firstAvailable``, from 0; empty for a request with ``exactly``.
    """

    driver: str
    device_class: str
    alternative: str


def chosen_alternatives(claim: Claim, allocation: Allocation) -> Iterator[ChosenAlternative]:
    """What the devices of an allocation were given for."""
    named = {
        request.name_of(place): (each.device_class, str(place) if request.is_list else "")
        for request in claim.devices.requests
        for place, each in enumerate(request.alternatives)
    }
    for result in allocation.results:
        yield ChosenAlternative(result.device.driver, *named.get(result.request, ("", "")))
