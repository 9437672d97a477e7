"""From a configuration to the part that decides whether this replica leads."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping

from cluster.client import Client
from cluster.exact_client import ExactClient
from cluster.leading import Candidate, Election, Fence, Leadership, Unopposed, unique_identity
from cluster.reflector import Reflector
from documents.garbage import CollectorPaused
from resourceapi.api_client import Unavailable
from scheduler.cluster_picture import ClusterPicture
from scheduler.endpoint import Endpoint
from scheduler.take_over import CLAIMS_OF_ALL, TakeOver
from scheduler.waking import WakeUpClaim
from serving.api_server import make_client, own_namespace
from serving.config_file import Config

# A request that takes longer is given up: then there is time for another one before the Lease expires.
PART_OF_LEASE = 1 / 3
#: How long a watch may be behind until claims are listed again, and how long that may take.
CATCH_UP_SECONDS, RELIST_SECONDS = 5.0, 30.0


def make_leadership(
    config: Config,
    client: Client,
    picture: ClusterPicture,
    reflectors: Mapping[str, Reflector],
    wake_up_claim: WakeUpClaim,
    endpoint: Endpoint | None,
    lose: Callable[[], None],
) -> Leadership:
    """The replica's part in the election; nothing is requested yet.

    :param client: with which claims are written.
    :param reflectors: those of the picture, by path.
    :param wake_up_claim: what is changed to see when the watch of claims has caught up.
    :param endpoint: lets the Service lead here, where there is one.
    :param lose: drops what was decided.
    :raises ConfigError: if the CA certificates cannot be read.
    """
    candidate = make_candidate(config)

    def catch_up() -> None:
        for path, reflector in reflectors.items():
            if not reflector.synced.is_set():
                raise Unavailable(f"GET {path}: not listed yet")
        claims = reflectors[CLAIMS_OF_ALL]
        try:
            # others may have made gigabytes of claims, which take longer to list than pods can wait
            claims.wait_for(wake_up_claim.touch(), CATCH_UP_SECONDS)
        except Unavailable:
            claims.relist(RELIST_SECONDS)
        if not picture.is_served:
            raise Unavailable("the API server does not serve all kinds that are needed")

    def is_on_node(namespace: str, name: str, uid: str) -> bool:
        pod = picture.pods.objects.get(f"{namespace}/{name}")
        return pod is not None and pod.uid == uid and bool(pod.node)

    take_over = TakeOver(
        ExactClient(client),
        candidate.identity,
        catch_up=catch_up,
        claims=lambda: [each.object for each in list(picture.claim_objects.objects.values())],
        seen=picture.claims.seen,
        is_on_node=is_on_node,
    )

    def take_all_over(fence: Fence) -> None:
        # To look through all objects for garbage takes seconds in a large cluster, and the Lease does not wait.
        with CollectorPaused():
            take_over(fence)
            picture.warm_up()
            if endpoint is not None:
                endpoint.take(fence)

    return Leadership(
        candidate,
        renew_seconds=config.get("leaderElection", "renewSeconds"),
        take_over=take_all_over,
        lose=lose,
    )


def make_candidate(config: Config) -> Candidate:
    """The replica as a candidate, with an identity of this process alone.

    :raises ConfigError: if the CA certificates cannot be read.
    """
    seconds = config.get("leaderElection", "leaseSeconds")
    if not config.get("leaderElection", "enabled"):
        return Unopposed(seconds)
    return Election(
        make_client(config, timeout=PART_OF_LEASE * seconds),
        own_namespace(config, "leaderElection", "namespace"),
        config.get("leaderElection", "leaseName"),
        identity=unique_identity(config.get("leaderElection", "identity") or socket.gethostname()),
        seconds=seconds,
    )
