"""From a configuration to the parts of the sidecar, each knowing only those that it needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from socket import gethostname
from threading import Event
from typing import TYPE_CHECKING

from cluster.client import Client
from cluster.event_writer import EventWriter
from cluster.exact_client import ExactClient
from cluster.leading import Leadership
from cluster.reflector import Reflector
from resourceapi.logs import LOGGER
from resourceapi.times import now
from scheduler.binding import Binder
from scheduler.binding_conditions import BindingConditions
from scheduler.claim_creation import ClaimCreation
from scheduler.claim_writes import ClaimWrites
from scheduler.cluster_picture import ClusterPicture, Settling
from scheduler.decisions import Decisions
from scheduler.endpoint import Endpoint
from scheduler.filtering import Filter, Refused
from scheduler.giving_up import GivingUp
from scheduler.leader_setup import make_leadership
from scheduler.patch_events import PatchEvents
from scheduler.picture_lock import SearchTime
from scheduler.pod_allocation import Undoing
from scheduler.preempting import Preemption
from scheduler.prescheduled import PreScheduledPods
from scheduler.refusal_events import PodEvents, RefusalEvents
from scheduler.releasing import Releaser, Releasing
from scheduler.routes import Verbs
from scheduler.scoring import Scorer, Scoring
from scheduler.self_check import SelfCheck
from scheduler.server_check import ServerCheck
from scheduler.take_over import CLAIMS_OF_ALL
from scheduler.waking import WakeUpClaim, Waking
from serving import api_server
from serving.api_server import make_profile, own_namespace, patch_group
from serving.config_file import Config

if TYPE_CHECKING:  # metrics' files are opened with the import
    from scheduler.metrics import Metrics


GAUGES_SECONDS = 1.0
#: How often it is looked at whether the cluster is known.
KNOWN_SECONDS = 0.05
#: kube-scheduler's own events have the name of its profile there, which is ``claimcheck`` by default.
EVENTS_CONTROLLER = "claimcheck-scheduler"


def make_client(config: Config) -> Client:
    """A client of the cluster's API server.

    :raises ConfigError: if the CA certificates cannot be read.
    """
    return api_server.make_client(config)


def make_endpoint(config: Config, client: Client) -> Endpoint | None:
    """What lets the Service lead to this replica, where there is such a Service.

    :raises ConfigError: if it is not known where this replica is.
    """
    service, address = config.get("leaderElection", "service"), os.environ.get("POD_IP", "")
    if service is None:
        return None
    namespace = own_namespace(config, "leaderElection", "namespace")
    try:
        return Endpoint(client, namespace, service, address, config.get("listen", "port"))
    except ValueError:
        message = "leaderElection.service: the variable POD_IP has to be an IP address of this replica"
        raise config.error(("leaderElection", "service"), message) from None


class Sidecar:
    """What serves kube-scheduler; nothing is asked of the API server before the background work begins.

    Each part is made when the first of those that need it is made.
    """

    def __init__(self, config: Config, metrics: Metrics) -> None:
        """Make the parts.

        :raises ConfigError: if one cannot be made as configured.
        """
        self._config = config
        self._metrics = metrics
        self._client = make_client(config)
        self._endpoint = make_endpoint(config, self._client)
        self._scheduler_name: str = config.get("scheduling", "schedulerName")
        self._seconds: float = config.get("scheduling", "filterMilliseconds") / 1000
        self._decisions = Decisions()
        self._undoing = Undoing()
        self._search_time = SearchTime()
        self.verbs = Verbs(
            Filter(
                self._picture,
                self._decisions,
                seconds=self._seconds,
                term=lambda: self._leadership.term,
                best_fit=config.get("scheduling", "objective") == "BestFit",
                conditions=self._conditions,
                search_time=self._search_time,
                refused=self._refused,
            ),
            Scorer(self._decisions, Scoring(config.get("scheduling", "scoring"))).scores,
            Binder(
                self._client,
                self._picture,
                self._decisions,
                self._leadership,
                self._writes,
                self._undoing,
                self._conditions,
                self._search_time,
            ),
            Preemption(
                self._picture,
                seconds=self._seconds,
                term=lambda: self._leadership.term,
                search_time=self._search_time,
            ).victims,
        )
        #: each runs in a thread of its own until the event is set
        self.background = list(self._background())

    @property
    def checks(self) -> Mapping[str, Callable[[], bool]]:
        """What has to be so before requests are answered."""
        return {
            "apiServer": self._server.recognized.is_set,
            "cluster": self._knows_cluster,
            "leader": self._leads,
        }

    def stop(self) -> None:
        """Let another replica lead."""
        self._leadership.stop()

    def _knows_cluster(self) -> bool:
        return self._picture.is_served and all(each.synced.is_set() for each in self._reflectors.values())

    def _leads(self) -> bool:
        return self._leadership.is_leading

    # --- what is known of the cluster

    @cached_property
    def _server(self) -> ServerCheck:
        return ServerCheck(self._client, make_profile(self._config), self._config.get("apiServer", "serves"))

    @cached_property
    def _picture(self) -> ClusterPicture:
        return ClusterPicture(make_profile(self._config), self._server, patch_group(self._config))

    @cached_property
    def _reflectors(self) -> dict[str, Reflector]:
        return self._picture.reflectors(self._client)

    # --- who leads

    @cached_property
    def _leadership(self) -> Leadership:
        return make_leadership(
            self._config,
            self._client,
            self._picture,
            self._reflectors,
            self._wake_up_claim,
            self._endpoint,
            lose=self._decisions.clear,
        )

    # --- what is written

    @cached_property
    def _writes(self) -> ClaimWrites:
        return ClaimWrites(
            ExactClient(self._client),
            self._picture.profile.schemas["v1"],
            self._server,
            self._picture.claims.seen,
            timestamp=now if self._picture.features.binding_conditions else None,
            allocated=self._metrics.count_claim,
        )

    @cached_property
    def _prescheduled(self) -> PreScheduledPods:
        return PreScheduledPods(
            self._picture,
            self._writes,
            self._undoing,
            self._leadership,
            scheduler_name=self._scheduler_name,
            seconds=self._seconds,
            search_time=self._search_time,
            tell=self._events.warn,
        )

    @cached_property
    def _conditions(self) -> BindingConditions:
        return BindingConditions(
            self._picture, timeout_seconds=self._config.get("scheduling", "bindingTimeoutSeconds")
        )

    # --- what becomes of pods that are refused

    @cached_property
    def _wake_up_claim(self) -> WakeUpClaim:
        name = f"{self._config.get('leaderElection', 'leaseName')}-wake-up"
        namespace = own_namespace(self._config, "leaderElection", "namespace")
        return WakeUpClaim(self._client, namespace, name)

    @cached_property
    def _waking(self) -> Waking:
        def wake() -> None:
            self._wake_up_claim.touch()
            self._metrics.wake_ups.inc()

        return Waking(self._picture, wake, leads=self._leads)

    @cached_property
    def _event_writer(self) -> EventWriter:
        instance = self._config.get("leaderElection", "identity") or gethostname()
        return EventWriter(self._client, EVENTS_CONTROLLER, instance)

    @cached_property
    def _events(self) -> PodEvents:
        return PodEvents(self._event_writer)

    @cached_property
    def _telling(self) -> RefusalEvents:
        return RefusalEvents(self._picture, self._events, self._scheduler_name, leads=self._leads)

    @cached_property
    def _patch_events(self) -> PatchEvents:
        return PatchEvents(self._picture, self._event_writer, leads=self._leads)

    @cached_property
    def _releaser(self) -> Releaser:
        return Releaser(self._client, self._picture, self._writes, self._undoing, self._leadership)

    @cached_property
    def _releasing(self) -> Releasing:
        return Releasing(self._picture, self._releaser)

    @cached_property
    def _giving_up(self) -> GivingUp:
        return GivingUp(
            self._picture,
            self._conditions,
            self._releaser,
            scheduler_name=self._scheduler_name,
            tell=self._events.warn,
        )

    def _refused(self, refused: Refused) -> None:
        self._waking.refused(refused)
        self._telling.refused(refused)
        self._releasing.refused(refused)

    # --- in the background

    def _lead(self, ending: Event) -> None:
        """Take part in the election once the cluster is known: devices have the taints by then that patches and rules give them."""
        while not (self._knows_cluster() and self._picture.is_settled):
            if ending.wait(KNOWN_SECONDS):
                return
        try:
            self._picture.warm_up_first()
        except Exception:  # noqa: BLE001 - the take-over warms up as well, and tries again
            LOGGER.exception("the cluster cannot be looked through")
        if not ending.is_set():
            self._leadership.start()

    def _background(self) -> Iterator[Callable[[Event], None]]:
        get = self._config.get
        yield self._server.run
        for reflector in self._reflectors.values():
            yield self._server.first(reflector.run)
        yield self._server.first(self._lead)
        if self._endpoint is not None:
            yield partial(
                self._endpoint.keep, lambda: partial(self._leadership.insist, self._leadership.term)
            )
        for part in (
            Settling(self._picture),
            self._waking,
            self._telling,
            self._patch_events,
            self._event_writer,
        ):
            yield part.run
        for taking_back in (self._undoing, self._releasing, self._giving_up):
            yield taking_back.run
        if get("scheduling", "preScheduledPods"):
            yield self._prescheduled.run
        yield self._creation.run
        yield partial(self._check.run, get("selfCheck", "seconds"))
        yield self._show_metrics

    @cached_property
    def _creation(self) -> ClaimCreation:
        return ClaimCreation(
            self._picture.pods.objects,
            self._scheduler_name,
            self._config.get("apiServer", "serves"),
            self._metrics.without_claims.set,
        )

    @cached_property
    def _check(self) -> SelfCheck:
        relist = self._reflectors[CLAIMS_OF_ALL].relist
        return SelfCheck(self._client, self._picture, relist=relist, found=self._metrics.drifted.inc)

    def _show_metrics(self, ending: Event) -> None:
        while not ending.wait(GAUGES_SECONDS):
            self.show_metrics()

    def show_metrics(self) -> None:
        """Show how things are now."""
        self._metrics.show(self._picture, len(self._waking), leads=self._leads())
