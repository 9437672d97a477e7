"""Every metric of the scheduler is explained to users."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAMES = """
from scheduler.metrics import Metrics
for family in Metrics().registry.collect():
    print(family.name + ("_total" if family.type == "counter" else ""))
"""


def test_metrics_are_in_the_guide(tmp_path: Path) -> None:
    """By its name, and none that there is not. Metrics' files are opened with the import, so that is another process."""
    directory = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", NAMES],
        cwd=ROOT,
        env={**os.environ, **directory},
        capture_output=True,
        text=True,
        check=True,
    )
    text = (ROOT / "docs" / "how-to" / "schedule.md").read_text("utf-8")
    shown = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `claimcheck_")}
    assert shown == set(done.stdout.split())
