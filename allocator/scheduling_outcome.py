"""How scheduling a pod ends, given the outcomes on the eligible nodes: an error on one of them may fail the attempt.

kube-scheduler runs its filters on nodes until it has found one more than it wants to choose from
(`numFeasibleNodesToFind`), or has checked them all. An error on any node that it checks fails the attempt, even if the
pod fits on other nodes; the pod waits and is tried again. In clusters of up to 100 nodes, all are checked. In larger ones,
if enough nodes fit, the result depends on where the attempt starts (each starts where the previous one stopped) and on
which of its 16 workers is faster.
Source: kube-scheduler 1.37.1, `pkg/scheduler/schedule_one.go`, and its answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Protocol

from allocator.errors import AWAY, FATAL
from allocator.node_resources import Shortage


class SchedulingOutcome(Enum):
    """How an attempt to schedule a pod ends."""

    FITS = "fits"
    MISFIT = "does not fit"
    #: each attempt fails with an error
    ERROR = "error"
    #: the pod fits, but an attempt fails if it reaches a node with an error before it has found enough others
    CHANCE = "left to chance"
    #: nodes on which the search gave up could change the outcome
    UNDECIDED = "undecided"


class NodeOutcome(Protocol):
    """How a node serves a pod's claims."""

    @property
    def fits(self) -> bool:
        """Whether the claims fit."""

    @property
    def error_kind(self) -> str:
        """FATAL for an error that fails the attempt to schedule the pod."""

    @property
    def is_undecided(self) -> bool:
        """Whether the search gave up."""


def feasible_nodes(nodes: int) -> int:
    """How many nodes kube-scheduler chooses from (`numFeasibleNodesToFind`, percentageOfNodesToScore not being set).

    :param nodes: how many nodes the cluster has.
    :returns: all of up to 100, a falling share of more.
    """
    if nodes < 100:
        return nodes
    return max(100, nodes * max(5, 50 - nodes // 125) // 100)


def enough_nodes(nodes: int) -> int:
    """How many nodes must fit before kube-scheduler stops asking further ones: one more than it chooses from.

    :param nodes: how many nodes the cluster has.
    """
    return feasible_nodes(nodes) + 1


def outcome_of(nodes: int, outcomes: Iterable[NodeOutcome]) -> SchedulingOutcome:
    """How scheduling a pod ends, given the outcomes on the eligible nodes.

    :param nodes: how many nodes the cluster has.
    """
    fitting = failing = undecided = 0
    for outcome in outcomes:
        fitting += outcome.fits
        failing += outcome.error_kind == FATAL
        undecided += outcome.is_undecided
    return scheduling_outcome(nodes, fitting, failing, undecided)


def scheduling_outcome(nodes: int, fitting: int, failing: int, undecided: int = 0) -> SchedulingOutcome:
    """How scheduling a pod ends.

    :param nodes: how many nodes the cluster has.
    :param fitting: on how many nodes the pod fits.
    :param failing: on how many there is an error that fails the attempt.
    :param undecided: on how many the search gave up.
    """
    if failing:
        enough = enough_nodes(nodes)
        if fitting >= enough:
            return SchedulingOutcome.CHANCE
        return SchedulingOutcome.ERROR if fitting + undecided < enough else SchedulingOutcome.UNDECIDED
    if fitting:
        return SchedulingOutcome.FITS
    return SchedulingOutcome.UNDECIDED if undecided else SchedulingOutcome.MISFIT


# The message with which kube-scheduler sums up why a pod is on no node: each reason with the number of nodes.

_NO_DEVICES, _AWAY = "cannot allocate all claims", "resourceclaim not available on the node"
_NO_NODES = "no nodes available to schedule pods"


def device_reason(error: str) -> str:
    """What kube-scheduler says of a node that does not serve a pod's claims.

    :param error: why the search ended early there; empty if it found nothing.
    """
    return _AWAY if error == AWAY else error or _NO_DEVICES


class RefusedNode(Protocol):
    """A node that does not serve a pod's claims: `error` says why the search ended early there; empty if it found nothing."""

    @property
    def error(self) -> str: ...  # noqa: D102 - as of NodeAnswer

    @property
    def shortages(self) -> Sequence[Shortage]: ...  # noqa: D102 - as of NodeAnswer


def device_reasons(node: RefusedNode) -> list[str]:
    """What kube-scheduler says of a node that does not serve a pod's claims."""
    return [each.reason for each in node.shortages] or [device_reason(node.error)]


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
