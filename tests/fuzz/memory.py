"""How much memory this process has used."""

from __future__ import annotations

from pathlib import Path


def peak_megabytes() -> float:
    """The most memory that this program has held at once, in MB (2**20 bytes).

    Not `getrusage`: its figure begins with that of the process from which this one was started.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM in /proc/self/status")
