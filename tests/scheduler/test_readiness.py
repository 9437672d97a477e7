"""When the sidecar may answer: once it knows the cluster, and only as long as the API server has what it needs."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from cluster.store import Collection
from scheduler.assembly import Sidecar
from scheduler.metrics import Metrics
from tests.scheduler.test_leader_setup import config

NEEDED = ("nodes", "slices", "classes", "claim_objects", "pods")


@pytest.fixture
def sidecar(tmp_path: Path) -> Sidecar:
    """One that has listed everything."""
    sidecar = Sidecar(config(tmp_path, enabled=False), Metrics())
    assert not knows_cluster(sidecar)
    for name in NEEDED:
        collection(sidecar, name).replace([])
    for reflector in sidecar._reflectors.values():
        reflector.synced.set()
    return sidecar


def knows_cluster(sidecar: Sidecar) -> bool:
    return sidecar.checks["cluster"]()


def collection(sidecar: Sidecar, name: str) -> Collection[object]:
    found: Collection[object] = getattr(sidecar._picture, name)
    return found


@pytest.mark.parametrize("name", NEEDED)
def test_kinds_that_are_needed(sidecar: Sidecar, name: str) -> None:
    """Without claims or slices it would answer as if all devices were free, or as if there were none."""
    assert knows_cluster(sidecar)
    collection(sidecar, name).lose()
    assert not knows_cluster(sidecar)
    collection(sidecar, name).replace([])
    assert knows_cluster(sidecar)


def test_taint_rules_need_not_be_served(sidecar: Sidecar) -> None:
    """Not every API server has them."""
    sidecar._picture.rules.lose()
    assert knows_cluster(sidecar)


def test_takes_part_in_the_election_once_patches_and_rules_have_been_applied(
    sidecar: Sidecar, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then a device may lack the taint that forbids it, and to apply them all at once would hold up everything."""
    picture, ending = sidecar._picture, Event()
    steps: list[str] = []

    def wait(seconds: float) -> bool:
        steps.append("waits")
        picture.is_settled = True
        return False

    picture.is_settled = False
    monkeypatch.setattr(ending, "wait", wait)
    monkeypatch.setattr(picture, "warm_up_first", lambda: steps.append("warms up"))
    monkeypatch.setattr(sidecar._leadership, "start", lambda: steps.append("starts"))
    sidecar._lead(ending)
    assert steps == ["waits", "warms up", "starts"]
