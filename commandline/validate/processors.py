"""How many processors this process may use."""

from __future__ import annotations

import os

# Of the container that the process is in: microseconds per period, or "max", and the period (cgroup v2).
QUOTA_FILE = "/sys/fs/cgroup/cpu.max"


def usable_processors() -> int:
    """The processors that the process may run on, or the share of them that its container gets, rounded up."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota(count))


def _quota(count: int) -> int:
    """The container's share in processors; ``count`` where there is no limit."""
    try:
        with open(QUOTA_FILE, "rb") as file:
            quota, period = file.read(64).split()
        return max(-(-int(quota) // int(period)), 1)
    except (OSError, ValueError, ZeroDivisionError):  # not Linux, no limit ("max"), or nothing that we know
        return count
