"""A filter that comes before the event about a claim waits for that."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from resourceapi.records.pods import read_pod
from scheduler.filtering import ClaimArrivals
from tests.scheduler.small_cluster import Sidecar, claim, cluster, pod
from tests.webhook.running import PATIENCE_SECONDS


def test_a_claim_that_comes_late() -> None:
    """Others that come meanwhile do not count."""
    sidecar = Sidecar(cluster(pod("p", "c")))
    arrivals = ClaimArrivals(sidecar.picture, seconds=PATIENCE_SECONDS)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(arrivals.wait_for_claims, read_pod(pod("p", "c", "d")))
        for name in ("c", "x"):
            sidecar.api.add(claim(name))
            sidecar.sync()
        assert not waiting.done()
        sidecar.api.add(claim("d"))
        sidecar.sync()
        assert waiting.result(PATIENCE_SECONDS) is None


def test_a_claim_that_does_not_come() -> None:
    """No other filter waits then: claims that do not exist must not hold up those that do."""
    sidecar = Sidecar(cluster())
    arrivals = ClaimArrivals(sidecar.picture, seconds=0)
    arrivals.wait_for_claims(read_pod(pod("p", "c")))
    arrivals._seconds = PATIENCE_SECONDS
    arrivals.wait_for_claims(read_pod(pod("q", "c")))


def test_filter_waits_for_it() -> None:
    """So that the pod has no event that its claim does not exist."""
    sidecar = Sidecar(cluster(pod("p", "c")))
    sidecar.filter._arrivals._seconds = PATIENCE_SECONDS
    with ThreadPoolExecutor(1) as pool:
        deciding = pool.submit(sidecar.decide, "p")
        sidecar.api.add(claim("c"))
        sidecar.sync()
        assert deciding.result(PATIENCE_SECONDS) == ["n1"]
