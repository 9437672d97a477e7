"""The message with which kube-scheduler sums up why a pod is on no node: each reason with the number of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from allocator.errors import AWAY

_NO_DEVICES, _AWAY = "cannot allocate all claims", "resourceclaim not available on the node"
_NO_NODES = "no nodes available to schedule pods"


def device_reason(error: str) -> str:
    """What kube-scheduler says of a node that does not serve a pod's claims.

    :param error: why the search ended early there; empty if it found nothing.
    """
    return _AWAY if error == AWAY else error or _NO_DEVICES


def refused(nodes: int, reason: str) -> str:
    """The message of a pod that is refused before nodes are looked at.

    :param nodes: how many nodes the cluster has.
    """
    return f"0/{nodes} nodes are available: {reason}."


def unavailable(nodes: int, reasons: Iterable[str] | Counter[str]) -> str:
    """The message, without what follows on preemption.

    :param nodes: how many nodes the cluster has.
    :param reasons: the reasons of all nodes.
    """
    counted = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return f"0/{nodes} nodes are available: {', '.join(counted)}." if nodes else _NO_NODES
