"""What is said of feature gates that are off."""

from __future__ import annotations

import re

import pytest

from advice.hints.gates import explain
from resourceapi.gates import GATES, parse
from resourceapi.releases import MODERN_RELEASES, Profile


@pytest.mark.parametrize("release", MODERN_RELEASES)
def test_advice_is_accepted(release: str) -> None:
    """The settings that would turn a gate on are settings with which the release starts, and do turn it on."""
    profile = Profile(release)
    advised = 0
    for gate in GATES.keys() - profile.gates:
        matched = re.search(r"--feature-gates (\S+)\)", explain(gate, profile))
        if matched:
            advised += 1
            assert gate in Profile(release, parse(matched[1])).gates
    assert advised > 0 or release in ("1.32", "1.33", "1.34")  # all that they can turn on is on later


def test_gates_that_do_not_exist() -> None:
    """Nobody is told to set a gate that the release does not know."""
    profile = Profile("1.36")
    unknown = [gate for gate, stages in GATES.items() if stages[0].minor > 36]
    assert unknown
    for gate in unknown:
        text = explain(gate, profile)
        assert text.startswith(f"feature gate {gate} does not exist in 1.36 (")
        assert "--feature-gates" not in text


@pytest.mark.parametrize("release", MODERN_RELEASES)
def test_gates_that_no_release_has(release: str) -> None:
    """They are off only where somebody has turned them off."""
    gate = "DRAAdminControlledDeviceAttributes"
    assert gate in Profile(release).gates
    profile = Profile(release, parse(f"{gate}=false"))
    assert gate not in profile.gates
    assert explain(gate, profile) == f"feature gate {gate} is turned off by these settings"


def test_gates_that_need_others() -> None:
    """A gate is turned on together with those that it needs."""
    assert explain("DRAWorkloadResourceClaims", Profile("1.37")).endswith(
        "turn it on with --feature-gates DRAWorkloadResourceClaims=true,GenericWorkload=true)"
    )
    off = Profile("1.37", {"DRAPartitionableDevices": False})
    assert explain("DRAPartitionableDevices", off) == (
        "feature gate DRAPartitionableDevices is turned off by these settings"
    )
    assert "DRAPartitionableDevices=true" in explain("DRADeviceCompatibilityGroups", off)
