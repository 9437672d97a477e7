"""`simulate`, `explain`, `devices` and the sidecar's events say of pods what becomes of them at real kube-schedulers."""

from __future__ import annotations

from tests.e2e.live_answers import LiveCluster, two_schedulers

SEEDS = range(1_000, 1_004)


def test_same_answers() -> None:
    """Pod by pod: node, devices, and why it waits, in the same words; more clusters with `python -m tests.e2e.live_answers`."""
    with two_schedulers() as cluster:
        live = LiveCluster(cluster)
        differences = [(seed, each) for seed in SEEDS for each in live.differences(seed)]
    assert differences == []
    assert min(live.counted[each] for each in ("placed", "refused", "events", "devices refused")) > 4
