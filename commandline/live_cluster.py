"""``--live``: the live cluster that the options choose."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.options import asks_for_cluster, settle_namespace
from commandline.reports.escaping import complain

if TYPE_CHECKING:
    from argparse import Namespace

    from claimcheck.answers.live_cluster import LiveCluster
    from claimcheck.watching.followed_cluster import FollowedCluster
    from cluster.client import Client


_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|h|m|s))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def live_cluster(options: Namespace) -> LiveCluster:
    """The cluster of a kubeconfig, as :func:`commandline.options.add_cluster` lets users choose it; it is not asked yet.

    :raises Unanswerable: if it cannot be used.
    """
    from claimcheck.answers.live_cluster import LiveCluster, choose
    from cluster.context_access import Impersonation

    timeout = seconds(options.request_timeout)
    whom = Impersonation(
        options.impersonate or "", tuple(options.impersonate_groups), options.impersonate_uid or ""
    )
    chosen = choose(options.kubeconfig, options.kube_context, whom, named_by="--kubeconfig", tell=complain)
    return LiveCluster(chosen, timeout, tell=_tell)


def _tell(message: str) -> None:
    complain(f"claimcheck: {message}")


def cluster_of(options: Namespace, *, classic: bool = False) -> LiveCluster:
    """The cluster that the options ask for.

    Fills in the namespace and the release that the options leave open, as the context and the cluster say.

    :param classic: whether the release of classic DRA may be asked about.
    :raises UsageError: for a kubeconfig that cannot be used.
    """
    cluster = live_cluster(options)
    settle_namespace(options, cluster.namespace)
    options.kube_version = options.kube_version or cluster.release(classic=classic)
    return cluster


def followed_cluster(options: Namespace) -> tuple[FollowedCluster, Client]:
    """The cluster that the options ask for, to be followed by a client: nothing but what it serves is asked yet.

    :raises UsageError: for a kubeconfig that cannot be used, or if it does not answer.
    """
    from claimcheck.watching.followed_cluster import FollowedCluster
    from cluster.live_objects import SCHEDULING, resources
    from commandline.options import profile_of
    from resourceapi.api_client import Unavailable

    cluster = cluster_of(options)
    client, profile = cluster.client.within(None), profile_of(options)
    try:
        served = resources(client, profile, SCHEDULING)
    except Unavailable as error:
        raise UsageError(f"{cluster.source}: {cluster.failure(error)}") from None
    return FollowedCluster(cluster.name, profile, served), client


def cluster_or_inventory(options: Namespace) -> LiveCluster | None:
    """The live cluster, if the options ask for one; the namespace is known then.

    :raises UsageError: for options that contradict each other, or a cluster that cannot be used.
    """
    if not asks_for_cluster(options):
        settle_namespace(options)
        return None
    if options.inventory:
        raise UsageError("--inventory and a live cluster: use only one of them")
    return cluster_of(options)


def seconds(duration: str) -> float:
    """The time that a value of ``--request-timeout`` allows for an answer, as kubectl reads it: ``30``, ``30s``, ``1m30s``.

    :raises UsageError: if it is no duration, or none at all: nothing waits for ever.
    """
    from claimcheck.answers.live_cluster import TIMEOUT_SECONDS

    if not duration:
        return TIMEOUT_SECONDS
    if duration.isascii() and duration.isdigit():
        found = float(duration[:9])
    elif _DURATION.fullmatch(duration):
        found = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(duration))
    else:
        found = 0.0
    if not 0 < found < 1e6:
        raise UsageError(f"--request-timeout {duration}: expected a time above 0 such as 30s or 1m")
    return found
