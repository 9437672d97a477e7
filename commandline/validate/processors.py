"""The number of processors that this process may use."""

from __future__ import annotations

import os

# The container's limit (cgroup v2): microseconds per period, or "max", and the period in microseconds.
QUOTA_FILE = "/sys/fs/cgroup/cpu.max"


def usable_processors() -> int:
    """The processors that the process may run on, limited by its container's share, rounded up."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota(count))


def _quota(count: int) -> int:
    """The container's share in processors; ``count`` if there is no limit."""
    try:
        with open(QUOTA_FILE, "rb") as file:
            quota, period = file.read(64).split()
        return max(-(-int(quota) // int(period)), 1)
    except (OSError, ValueError, ZeroDivisionError):  # not Linux, no limit ("max"), or another format
        return count
