"""What `impact` says of changes comes true with a real kube-scheduler and kube-controller-manager."""

from __future__ import annotations

from tests.e2e.live_impact import LiveCluster, cluster_and_scheduler

SEEDS = range(6_000, 6_016)


def test_comes_true() -> None:
    """Who leaves, and who waits then; more changes with `python -m tests.e2e.live_impact`."""
    with cluster_and_scheduler() as (server, scheduler):
        live = LiveCluster(server, scheduler)
        differences = [(seed, each) for seed in SEEDS for each in live.differences(seed)]
    assert differences == []
    assert live.counted["pods leave"] > 2
    assert live.counted["pods pend or start"] > 2
