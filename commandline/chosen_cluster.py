"""The live cluster of commands that look at one in place of an inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commandline.errors import UsageError
from commandline.options import asks_for_cluster, settle_namespace

if TYPE_CHECKING:
    from argparse import Namespace

    from claimcheck.answers.live_cluster import LiveCluster


def cluster_or_inventory(options: Namespace) -> LiveCluster | None:
    """The live cluster, if the options ask for one; the namespace is known then.

    :raises UsageError: for options that contradict each other, or a cluster that cannot be used.
    """
    if not asks_for_cluster(options):
        settle_namespace(options)
        return None
    if options.inventory:
        raise UsageError("--inventory and a live cluster: use only one of them")
    from commandline.live_cluster import cluster_of

    return cluster_of(options)
