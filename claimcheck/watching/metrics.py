"""What `watch` tells Prometheus: devices by driver and class, pods that wait by cause, and whether it does its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import monotonic, time

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from allocator.time_limit import TimeLimit
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.watching.causes import CAUSES
from claimcheck.watching.device_counts import DeviceCounts, count_devices
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.pace import Pace

_Labels = tuple[str, ...]
_PREFIX = "claimcheck_watch"
#: How long patches of devices, and then the selectors of classes, may take.
LIMIT_SECONDS = 6.0


class Metrics(Collector):
    """The metrics; read by any thread."""

    def __init__(
        self,
        cluster: FollowedCluster,
        waiting: Callable[[], Mapping[str, int]],
        events: Callable[[], Mapping[str, int]],
        clock: Callable[[], float] = monotonic,
        pool_label: str = "",
    ) -> None:
        """Know nothing of devices yet; :meth:`refresh` counts them.

        :param waiting: how many pods wait by cause.
        :param events: how many events have been written or not, by result.
        :param pool_label: the label of nodes that says to which node pool they belong; empty: there are none.
        """
        self._pool_label = pool_label
        self._cluster = cluster
        self._waiting = waiting
        self._events = events
        self._pace = Pace(clock)
        self._counted: tuple[DeviceCounts, float] | None = None
        self._looked_at = 0.0
        self._changes = -1
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def looked(self) -> None:
        """Note that pods have been looked at now."""
        self._looked_at = time()

    def refresh(self) -> None:
        """Count devices, if it is time to.

        :raises OutOfTime: if patches take too long.
        """
        changes = self._cluster.changes
        if not self._pace.is_time:
            return
        if changes != self._changes or self._counted is None:
            with self._pace.working():
                state = self._cluster.state_without_pending()
                devices = ClusterDevices(state, TimeLimit(LIMIT_SECONDS))
                counts = count_devices(devices, TimeLimit(LIMIT_SECONDS), self._pool_label)
        else:
            counts, _ = self._counted
        self._counted, self._changes = (counts, time()), changes

    def exposition(self) -> tuple[bytes, str]:
        """The text that Prometheus scrapes, and its content type."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST

    def collect(self) -> Iterator[Metric]:
        """The metrics as they are now."""
        yield from self._devices()
        yield _gauge(
            "waiting_pods",
            "Pods that wait for a node, as explained last, by cause.",
            {(cause,): self._waiting().get(cause, 0) for cause in CAUSES},
            "cause",
        )
        yield _gauge(
            "look_timestamp_seconds",
            "When pods were looked at last, in seconds since 1970.",
            {(): self._looked_at},
        )
        events = CounterMetricFamily(
            f"{_PREFIX}_events", "Events, by whether they were written.", labels=["result"]
        )
        for result, number in self._events().items():
            events.add_metric([result], number)
        yield events

    def _devices(self) -> Iterator[Metric]:
        counts, counted_at = self._counted or (DeviceCounts({}, {}, 0, {}), 0.0)
        for name, what, found, label in (
            ("devices", "Devices by driver and state.", counts.drivers, "driver"),
            ("class_devices", "Devices by DeviceClass and state.", counts.classes, "device_class"),
        ):
            states: dict[_Labels, float] = {
                (of, state): number for of, each in found.items() for state, number in each.states.items()
            }
            yield _gauge(name, what, states, label, "state")
        yield _gauge(
            "class_largest_free_set",
            "The most devices of a DeviceClass that are free on one node.",
            {(name,): each.largest for name, each in counts.classes.items()},
            "device_class",
        )
        if self._pool_label:
            yield from _of_node_pools(counts)
        yield _gauge(
            "classes_not_counted", "DeviceClasses whose selectors took too long.", {(): counts.unknown}
        )
        yield _gauge(
            "devices_timestamp_seconds",
            "When that was so, in seconds since 1970; 0 before.",
            {(): counted_at},
        )


def _of_node_pools(counts: DeviceCounts) -> Iterator[Metric]:
    labels = ("node_pool", "driver")
    states: dict[_Labels, float] = {
        (*of, state): number
        for of, each in counts.node_pools.items()
        for state, number in each.states.items()
    }
    yield _gauge("node_pool_devices", "Devices by node pool, driver and state.", states, *labels, "state")
    yield _gauge(
        "node_pool_largest_free_set",
        "The most devices of a driver that are free on one node of a node pool.",
        {of: each.largest for of, each in counts.node_pools.items()},
        *labels,
    )


def _gauge(name: str, what: str, values: Mapping[_Labels, float], *labels: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"{_PREFIX}_{name}", what, labels=labels)
    for of, value in values.items():
        family.add_metric(list(of), value)
    return family
