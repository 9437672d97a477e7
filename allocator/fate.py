"""What becomes of a pod, given what the nodes that are open to it answer: an error on one of them may be the end for all.

kube-scheduler runs its filters on nodes until it has found one more than it wants to choose from
(`numFeasibleNodesToFind`), or has asked them all. An error on any node that it asks ends the attempt, wherever else the
pod would fit; the pod waits and is tried again. Up to 100 nodes all are asked. Of more it matters where the attempt
starts (each starts where the one before has stopped), and which of its 16 workers comes first, if enough nodes fit.
Source: kube-scheduler 1.37.1, `pkg/scheduler/schedule_one.go`, and its answers.
"""

from __future__ import annotations

from enum import Enum


class Fate(Enum):
    """How an attempt to schedule a pod ends."""

    FITS = "fits"
    MISFIT = "does not fit"
    #: an error ends each attempt
    ERROR = "error"
    #: it fits, but an attempt that comes to a certain node before it has found enough others ends with an error
    CHANCE = "left to chance"
    #: nodes on which the search was given up could make a difference
    UNDECIDED = "undecided"


def feasible_nodes(nodes: int) -> int:
    """How many nodes kube-scheduler looks for: all of up to 100, a falling share of more (percentageOfNodesToScore)."""
    if nodes < 100:
        return nodes
    return max(100, nodes * max(5, 50 - nodes // 125) // 100)


def fate(nodes: int, fitting: int, failing: int, undecided: int = 0) -> Fate:
    """The fate of a pod in a cluster of so many nodes.

    On `fitting` nodes the pod fits, on `failing` an error ends the attempt, on `undecided` the search was given up.
    """
    if failing:
        enough = feasible_nodes(nodes)
        if fitting > enough:
            return Fate.CHANCE
        return Fate.ERROR if fitting + undecided <= enough else Fate.UNDECIDED
    if fitting:
        return Fate.FITS
    return Fate.UNDECIDED if undecided else Fate.MISFIT
