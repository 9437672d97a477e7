"""Answers about Kubernetes Dynamic Resource Allocation, before the cluster gives them.

What is named here is the public API, as docs/reference/python.md has it. All else, the other packages of the distribution
included, is private and may change with any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimcheck.clusters import Cluster, Device
    from claimcheck.conversion import convert
    from claimcheck.explanations import Explanation, Remedy, explain
    from claimcheck.expressions import Evaluation, Expression
    from claimcheck.fake_clusters import FakeCluster, Scheduled, Unschedulable
    from claimcheck.placements import AllocatedDevice, Placement, Simulation, simulate
    from claimcheck.validation import Finding, validate
    from resourceapi.errors import ClaimcheckError

#: Where each public name is defined.
_MODULES = {
    "validate": "claimcheck.validation",
    "Finding": "claimcheck.validation",
    "Cluster": "claimcheck.clusters",
    "Device": "claimcheck.clusters",
    "explain": "claimcheck.explanations",
    "Explanation": "claimcheck.explanations",
    "Remedy": "claimcheck.explanations",
    "simulate": "claimcheck.placements",
    "Simulation": "claimcheck.placements",
    "Placement": "claimcheck.placements",
    "AllocatedDevice": "claimcheck.placements",
    "FakeCluster": "claimcheck.fake_clusters",
    "Scheduled": "claimcheck.fake_clusters",
    "Unschedulable": "claimcheck.fake_clusters",
    "Expression": "claimcheck.expressions",
    "Evaluation": "claimcheck.expressions",
    "convert": "claimcheck.conversion",
    "ClaimcheckError": "resourceapi.errors",
}

__all__ = [
    "AllocatedDevice",
    "ClaimcheckError",
    "Cluster",
    "Device",
    "Evaluation",
    "Explanation",
    "Expression",
    "FakeCluster",
    "Finding",
    "Placement",
    "Remedy",
    "Scheduled",
    "Simulation",
    "Unschedulable",
    "convert",
    "explain",
    "simulate",
    "validate",
]


def __getattr__(name: str) -> object:
    """Load what is asked for: the command imports this package too, and starts in milliseconds."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
