"""What the page says of pools, for authors of drivers."""

from __future__ import annotations

import pytest

from commandline.page import pools as pools_of_page
from commandline.page.cluster_pages import ClusterPages
from serving.routes import HTTPError
from tests.commandline import snapshot_files
from tests.commandline.page.test_cluster_pages import _of_command, ask

LISTING = str(snapshot_files.DIRECTORY / "devices" / "listing" / "cluster.yaml")


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ClusterPages:
    """Those of a cluster with pools of several states."""
    return _of_command(["--inventory", LISTING], monkeypatch)


def test_pools_with_problems_come_first(pages: ClusterPages) -> None:
    """An incomplete one, and one with a slice of an older generation."""
    found = ask(pages, "pools")
    assert [(each["pool"], each["slices"], each["wanted"], each["problems"]) for each in found["pools"]] == [
        ("fpgas", 1, 2, ["All slices of generation 3 are there: no (1 of 2 slices)"]),
        (
            "n1",
            1,
            1,
            [
                "No slices of older generations are left: no (n1-gpus-before: drivers delete them once the new ones are there)"
            ],
        ),
        ("n2", 2, 2, []),
        ("zone-a/network", 1, 1, []),
    ]
    assert found["morePools"] == 0


def test_a_pool_has_checks_findings_and_what_is_dropped(pages: ClusterPages) -> None:
    """What `validate` says of its slices, and what releases with their default gates drop."""
    found = ask(pages, "pool", driver="fpga.example.com", pool="fpgas")
    assert [each["holds"] for each in found["checks"]] == [False, True, True, True, True]
    assert [(each["resourceSlice"], each["rule"]) for each in found["findings"]] == [("fpgas-1", "CC017")]
    assert found["dropped"] == []
    found = ask(pages, "pool", driver="mig.example.com", pool="n2")
    assert found["releases"] == ["1.34", "1.35", "1.36", "1.37"]
    fields = [
        {"field": "spec.devices[].consumesCounters", "places": 3},
        {"field": "spec.sharedCounters", "places": 1},
    ]
    assert [(each["release"], sorted(each["fields"], key=str)) for each in found["dropped"]] == [
        ("1.34", fields),
        ("1.35", fields),
    ]
    assert len(ask(pages, "pool", driver="gpu.example.com", pool="n1")["slices"]) == 2
    with pytest.raises(HTTPError) as error:
        ask(pages, "pool", driver="gpu.example.com", pool="n7")
    assert error.value.code == 404


def test_releases_are_asked_within_a_time(pages: ClusterPages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is over, only those are told that were asked."""
    monkeypatch.setattr(pools_of_page, "SECONDS", 1e-9)
    assert ask(pages, "pool", driver="mig.example.com", pool="n2")["releases"] == []
