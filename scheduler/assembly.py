"""From a configuration to the parts of the sidecar, each knowing only those that it needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from cluster.client import Client
from scheduler.claim_creation import ClaimCreation
from scheduler.cluster_picture import ClusterPicture
from scheduler.decisions import Decisions
from scheduler.extender_api import BindingRequest
from scheduler.filtering import Filter
from scheduler.preempting import Preemption
from scheduler.routes import Verbs
from scheduler.scoring import Scorer, Scoring
from scheduler.server_check import ServerCheck
from scheduler.wake_up_claim import WakeUpClaim
from scheduler.waking import Waking
from serving import api_server
from serving.api_server import make_profile, own_namespace
from serving.config_file import Config

if TYPE_CHECKING:  # metrics' files are opened with the import
    from scheduler.metrics import Metrics


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
    client = make_client(config)
    profile, serves = make_profile(config), config.get("apiServer", "serves")
    server = ServerCheck(client, profile, serves)
    picture = ClusterPicture(profile, server)
    decisions = Decisions()
    reflectors = picture.reflectors(client)
    waking = Waking(picture, _wake_up_claim(config, client).touch)
    filtering = Filter(
        picture,
        decisions,
        seconds=config.get("scheduling", "filterMilliseconds") / 1000,
        best_fit=config.get("scheduling", "objective") == "BestFit",
        refused=waking.refused,
    )
    scorer = Scorer(decisions, Scoring(config.get("scheduling", "scoring")))
    preemption = Preemption(picture, seconds=config.get("scheduling", "filterMilliseconds") / 1000)
    return Sidecar(
        verbs=Verbs(filtering, scorer.scores, _NoBinder(), preemption.victims),
        background=[
            server.run,
            *(server.first(each.run) for each in reflectors.values()),
            ClaimCreation(
                picture.pods.objects,
                config.get("scheduling", "schedulerName"),
                serves,
                metrics.without_claims.set,
            ).run,
            waking.run,
        ],
        checks={
            "apiServer": server.recognized.is_set,
            "cluster": lambda: all(each.synced.is_set() for each in reflectors.values()),
        },
        stop=lambda: None,
    )


def _wake_up_claim(config: Config, client: Client) -> WakeUpClaim:
    namespace = own_namespace(config, "leaderElection", "namespace")
    return WakeUpClaim(client, namespace, f"{config.get('leaderElection', 'leaseName')}-wake-up")


class _NoBinder:
    def bind(self, request: BindingRequest) -> str:
        """Bind nothing."""
        return "binding is not possible yet"
