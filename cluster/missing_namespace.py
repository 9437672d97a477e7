"""What to log of a request that failed, with advice where the service's own namespace is missing, as on a machine outside of the cluster."""

from __future__ import annotations

import re

from resourceapi.api_client import Unavailable

_missing = re.compile(r'namespaces "([a-z0-9-]+)" not found').search


def reason_of(error: Unavailable) -> dict[str, str]:
    """The fields of a log message: the reason, and what to do about it if that is known."""
    missing = _missing(error.reason)
    if missing is None:
        return {"reason": error.reason}
    hint = f"kubectl create namespace {missing[1]}, or name another one in leaderElection.namespace"
    return {"reason": error.reason, "hint": hint}
