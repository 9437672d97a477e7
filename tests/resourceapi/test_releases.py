"""Releases: what can be asked for, and with which gates."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi.gates import GateError
from resourceapi.measured import NEWEST
from resourceapi.releases import RELEASES, Profile, UnknownRelease, split_api_version
from tests.resourceapi.tables import recorded_releases

RECORDED: dict[str, Any] = recorded_releases()


def test_knows_the_recorded_releases() -> None:
    """The recorded releases, the one of classic DRA, and the profile for what is only proposed."""
    assert set(RELEASES) == {*RECORDED, "kep"}
    assert ["1.30", f"1.{NEWEST}"] == [min(RECORDED), max(RECORDED)]


@pytest.mark.parametrize(
    ("release", "name", "minor"),
    [
        pytest.param("1.30", "1.30", 30, id="classic"),
        pytest.param("1.32", "1.32", 32, id="oldest"),
        pytest.param("1.37", "1.37", 37, id="newest"),
        pytest.param("v1.36", "1.36", 36, id="with-v"),
        pytest.param("1.36.4", "1.36", 36, id="with-patch"),
        pytest.param("v1.35.0-rc.1", "1.35", 35, id="release-candidate"),
        pytest.param("v1.34.2-gke.1000", "1.34", 34, id="with-vendor"),
        pytest.param("v1.34.2+k3s1", "1.34", 34, id="with-build"),
        pytest.param("kep", "kep", 37, id="proposals"),
    ],
)
def test_reads_releases(release: str, name: str, minor: int) -> None:
    """What `kubectl version` prints names a release as well as 1.36 does."""
    profile = Profile(release)
    assert (profile.name, profile.minor) == (name, minor)


@pytest.mark.parametrize(
    "release", ["1.31", "1.38", "2.34", "1", "", "v", "latest", "1.", "1.3", "1.340", "1.37x"]
)
def test_refuses_other_releases(release: str) -> None:
    """A release without recorded answers is refused, not guessed; the text says which are known."""
    with pytest.raises(
        UnknownRelease, match=r"use one of 1\.30, 1\.32, 1\.33, 1\.34, 1\.35, 1\.36, 1\.37, kep$"
    ):
        Profile(release)


def test_settings_of_gates_hold_for_the_profile() -> None:
    assert "DRAConsumableCapacity" in Profile("1.37").gates
    assert "DRAConsumableCapacity" not in Profile("1.37", {"DRAConsumableCapacity": False}).gates
    with pytest.raises(GateError, match="locked to true"):
        Profile("1.37", {"DRAPrioritizedList": False})


def test_proposals_are_the_newest_release_and_what_is_proposed() -> None:
    """The profile `kep` has the newest release's gates and those of the proposed fields, unless they are set."""
    newest, proposals = Profile("1.37"), Profile("kep")
    gate = "DRADeviceCompatibilityGroups"
    assert proposals.gates == newest.gates | {gate}
    assert gate not in Profile("kep", {gate: False}).gates
    result = "DeviceRequestAllocationResult"
    assert "compatibilityGroups" not in newest.schemas["v1"][result].by_name
    for version in ("v1", "v1beta2", "v1beta1"):
        assert "compatibilityGroups" in proposals.schemas[version][result].by_name


@pytest.mark.parametrize(
    ("release", "settings", "declarative"),
    [
        ("1.34", {}, False),
        ("1.35", {}, False),
        ("1.35", {"DeclarativeValidationTakeover": True}, True),
        ("1.36", {}, False),
        ("1.37", {}, True),
        ("1.37", {"DeclarativeValidationBeta": False}, False),
    ],
)
def test_generation_of_rules(release: str, settings: dict[str, bool], declarative: bool) -> None:
    """Declarative rules that have a hand-written twin are in force with DeclarativeValidationBeta, from 1.37 on; in 1.35 another gate has them."""
    assert Profile(release, settings).declarative is declarative


@pytest.mark.parametrize(
    ("api_version", "parts"),
    [
        ("resource.k8s.io/v1", ("resource.k8s.io", "v1")),
        ("v1", ("", "v1")),
        ("", ("", "")),
        ("a/b/c", ("a/b", "c")),
    ],
)
def test_group_and_version(api_version: str, parts: tuple[str, str]) -> None:
    assert split_api_version(api_version) == parts
