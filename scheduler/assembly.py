"""From a configuration to the parts of the sidecar, each knowing only those that it needs."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from cluster.client import Client
from cluster.exact_client import ExactClient
from scheduler.binding import Binder
from scheduler.claim_creation import ClaimCreation
from scheduler.claim_writes import ClaimWrites
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.endpoint import Endpoint
from scheduler.filtering import Filter, Refused
from scheduler.leader_setup import make_leadership
from scheduler.leading import Leadership
from scheduler.pod_events import PodEvents
from scheduler.preempting import Preemption
from scheduler.prescheduled import PreScheduledPods
from scheduler.refusal_events import RefusalEvents
from scheduler.releasing import Releasing
from scheduler.routes import Verbs
from scheduler.scoring import Scorer, Scoring
from scheduler.self_check import SelfCheck
from scheduler.server_check import ServerCheck
from scheduler.take_over import CLAIMS_OF_ALL
from scheduler.undoing import Undoing
from scheduler.wake_up_claim import WakeUpClaim
from scheduler.waking import Waking
from serving import api_server
from serving.api_server import make_profile, own_namespace
from serving.config_file import Config

if TYPE_CHECKING:  # metrics' files are opened with the import
    from scheduler.metrics import Metrics


GAUGES_SECONDS = 1.0


class Sidecar(NamedTuple):
    """What serves kube-scheduler.

    :param background: each runs in a thread of its own until the event is set.
    :param checks: what has to be so before requests are answered.
    :param stop: lets go of what other replicas wait for.
    """

    verbs: Verbs
    background: Sequence[Callable[[Event], None]]
    checks: Mapping[str, Callable[[], bool]]
    stop: Callable[[], None]


def make_client(config: Config) -> Client:
    """A client of the cluster's API server.

    :raises ConfigError: if the CA certificates cannot be read.
    """
    return api_server.make_client(config)


def make_sidecar(config: Config, metrics: Metrics) -> Sidecar:
    """All parts, connected; nothing is asked of the API server yet."""
    get = config.get
    client = make_client(config)
    profile, serves = make_profile(config), get("apiServer", "serves")
    server = ServerCheck(client, profile, serves)
    picture = ClusterPicture(profile, server)
    decisions = Decisions()
    reflectors = picture.reflectors(client)
    endpoint = _endpoint(config, client)
    leadership = make_leadership(config, client, picture, reflectors, endpoint, lose=decisions.clear)
    wake_up_claim = _wake_up_claim(config, client)

    def wake() -> None:
        wake_up_claim.touch()
        metrics.wake_ups.inc()

    waking = Waking(picture, wake, leads=lambda: leadership.is_leading)
    instance = get("leaderElection", "identity") or socket.gethostname()
    events = PodEvents(client, instance)
    telling = RefusalEvents(
        picture, events, get("scheduling", "schedulerName"), leads=lambda: leadership.is_leading
    )

    undoing = Undoing()
    writes = ClaimWrites(
        ExactClient(client),
        profile.schemas["v1"],
        server,
        picture.claims.seen,
        timestamp=_now if picture.features.binding_conditions else None,
    )
    releasing = Releasing(client, picture, writes, undoing, leadership)

    def refused(refused: Refused) -> None:
        waking.refused(refused)
        telling.refused(refused)
        releasing.refused(refused)

    seconds = get("scheduling", "filterMilliseconds") / 1000
    verbs = Verbs(
        Filter(
            picture,
            decisions,
            seconds=seconds,
            term=lambda: leadership.term,
            best_fit=get("scheduling", "objective") == "BestFit",
            refused=refused,
        ),
        Scorer(decisions, Scoring(get("scheduling", "scoring"))).scores,
        Binder(
            client,
            picture,
            decisions,
            leadership,
            writes,
            undoing,
            timeout_seconds=get("scheduling", "bindingTimeoutSeconds"),
        ),
        Preemption(picture, seconds=seconds, term=lambda: leadership.term).victims,
    )
    prescheduled = PreScheduledPods(
        picture,
        writes,
        undoing,
        leadership,
        scheduler_name=get("scheduling", "schedulerName"),
        seconds=seconds,
        tell=events.warn,
    )
    creation = ClaimCreation(
        picture.pods.objects, get("scheduling", "schedulerName"), serves, metrics.without_claims.set
    )
    check = SelfCheck(client, picture, relist=reflectors[CLAIMS_OF_ALL].relist, found=metrics.drifted.inc)

    def show_metrics(ending: Event) -> None:
        while not ending.wait(GAUGES_SECONDS):
            metrics.show(picture, len(waking), leads=leadership.is_leading)

    return Sidecar(
        verbs=verbs,
        background=[
            server.run,
            *(server.first(each.run) for each in reflectors.values()),
            server.first(lambda ending: leadership.start()),
            *_keep_endpoint(endpoint, leadership),
            waking.run,
            telling.run,
            events.run,
            undoing.run,
            releasing.run,
            *([prescheduled.run] if get("scheduling", "preScheduledPods") else ()),
            creation.run,
            partial(check.run, get("selfCheck", "seconds")),
            show_metrics,
        ],
        checks={
            "apiServer": server.recognized.is_set,
            "cluster": lambda: all(each.synced.is_set() for each in reflectors.values()),
            "leader": lambda: leadership.is_leading,
        },
        stop=leadership.stop,
    )


def _now() -> str:
    """The time as claims have it: whole seconds, as kube-scheduler writes them."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _keep_endpoint(endpoint: Endpoint | None, leadership: Leadership) -> Iterator[Callable[[Event], None]]:
    if endpoint is not None:
        yield partial(endpoint.keep, lambda: partial(leadership.insist, leadership.term))


def _wake_up_claim(config: Config, client: Client) -> WakeUpClaim:
    namespace = own_namespace(config, "leaderElection", "namespace")
    return WakeUpClaim(client, namespace, f"{config.get('leaderElection', 'leaseName')}-wake-up")


def _endpoint(config: Config, client: Client) -> Endpoint | None:
    """What lets the Service lead to this replica, where there is such a Service."""
    service, address = config.get("leaderElection", "service"), os.environ.get("POD_IP", "")
    if service is None:
        return None
    try:
        namespace = own_namespace(config, "leaderElection", "namespace")
        return Endpoint(client, namespace, service, address, config.get("listen", "port"))
    except ValueError:
        message = "leaderElection.service: the variable POD_IP has to be an IP address of this replica"
        raise config.error(("leaderElection", "service"), message) from None
