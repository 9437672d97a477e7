"""A day in a minute: pods come and go, memory stays as it is, and the sidecar's picture is that of the API server.

`CLAIMCHECK_SOAK_SECONDS=3600` makes it an hour; run with `-s` to see the figures.
"""

from __future__ import annotations

import os
import statistics
import time

from tests.bench.load import resident
from tests.e2e import fleet
from tests.e2e.churn import Churn
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, Sidecar, scheduling_cluster, until
from tests.e2e.test_scheduling_kills import judged, waiting

SECONDS = float(os.environ.get("CLAIMCHECK_SOAK_SECONDS", "60"))
SAMPLES = 30
NODES, ALIVE, RATE = 20, 60, 15.0
CHECK_SECONDS = 10
MOST_GROWTH = 0.10
"""Of memory between the second and the last third; what is kept grows up to its limits in the first."""


def test_pods_come_and_go() -> None:
    """Nothing is given twice, nothing leaks, memory is flat, and checks against the API server find no difference."""
    sizes: dict[Sidecar, list[float]] = {}
    with scheduling_cluster(replicas=2, config={"selfCheck": {"seconds": CHECK_SECONDS}}) as cluster:
        fleet.prepare(cluster.client, NODES)
        with Churn(cluster.client, SCHEDULER_NAME, alive=ALIVE, rate=RATE) as churn:
            for _ in range(SAMPLES):
                time.sleep(SECONDS / SAMPLES)
                for each in cluster.sidecars:
                    sizes.setdefault(each, []).append(resident(each.processes()))
        assert churn.problems == []
        until(lambda: not waiting(cluster), "pods are not placed in the end")
        judge = judged(cluster)
        assert judge.faults == []
        until(lambda: not judged(cluster).leaks(), "something leaks", 30)
        drifts = [
            entry
            for each in cluster.sidecars
            for entry in each.logged()
            if "drift" in str(entry.get("message"))
        ]
        assert drifts == []
    print(f"\n{churn.created} pods created, {churn.deleted} deleted in {SECONDS:.0f} s")
    for number, samples in enumerate(sizes.values()):
        third = len(samples) // 3
        before, after = statistics.median(samples[third : 2 * third]), statistics.median(samples[2 * third :])
        print(f"sidecar {number}: MiB {samples[0]:.1f}, then {before:.1f}, at the end {after:.1f}")
        assert after <= before * (1 + MOST_GROWTH)
