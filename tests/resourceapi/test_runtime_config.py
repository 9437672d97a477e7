"""``--runtime-config``: what it may say, and which versions a server with it serves. All of it is what kube-apiserver 1.37.1 did."""

from __future__ import annotations

import pytest

from resourceapi.kind import GA_SINCE
from resourceapi.kinds import KINDS
from resourceapi.measured import OLDEST
from resourceapi.releases import Profile, RuntimeConfigError, parse_runtime_config
from tests.resourceapi.tables import recorded_releases, table


@pytest.mark.parametrize("row", table("runtime_config"))
def test_versions_that_are_served(row: dict[str, str]) -> None:
    """Of a claim, and of a kind that has other versions."""
    profile = Profile(apis=parse_runtime_config(row["flag"]))
    for resource in ("ResourceClaim", "DeviceTaintRule"):
        kind = KINDS[resource]
        served = [version for version in kind.versions if kind.served_by(version, profile)]
        assert " ".join(served) == row[resource]


@pytest.mark.parametrize("row", table("runtime_config_refusals"))
def test_refused_as_by_the_server(row: dict[str, str]) -> None:
    """The server does not start, and says why."""
    with pytest.raises(RuntimeConfigError) as caught:
        parse_runtime_config(row["flag"])
    assert str(caught.value) == row["error"]


@pytest.mark.parametrize("release", recorded_releases())
def test_served_by_default(release: str) -> None:
    """Without the flag the stable versions alone; where the group has none yet, all, or there were nothing to ask."""
    profile = Profile(release, apis={})
    served = {
        (kind.name, version)
        for kind in KINDS.values()
        for version in (*kind.versions, *kind.former)
        if kind.served_by(version, profile)
    }
    without_stable = OLDEST <= profile.minor < GA_SINCE
    recorded = recorded_releases()[release]["servedWithAll" if without_stable else "served"]
    assert served == {(kind, version) for version, kinds in recorded.items() for kind in kinds}
