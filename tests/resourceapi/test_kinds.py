"""The rows of the kinds: which versions each release serves, and where an object holds what."""

from __future__ import annotations

from typing import Any

import pytest

from resourceapi import classic_kinds
from resourceapi.kinds import KINDS, RESOURCE_SLICE_PATCH, deprecation_warning, kind_in, kind_of, kinds_of
from resourceapi.measured import NEWEST
from resourceapi.model.versions import V1
from resourceapi.releases import CLASSIC, Profile
from tests.resourceapi.tables import recorded_releases

RECORDED: dict[str, Any] = recorded_releases()


@pytest.mark.parametrize("release", RECORDED)
def test_serves_what_the_server_can_serve(release: str) -> None:
    """A release serves a version of a kind if the real one does once all of its API is switched on."""
    minor = int(release.partition(".")[2])
    served = {
        (kind.name, version)
        for kind in (*KINDS.values(), *classic_kinds.KINDS.values())
        for version in (*kind.versions, *kind.former)
        if kind.served(version, minor)
    }
    assert served == {
        (kind, version) for version, kinds in RECORDED[release]["servedWithAll"].items() for kind in kinds
    }


def test_tells_classic_kinds_from_their_namesakes() -> None:
    """The version tells which kind is meant; one that classic DRA does not have is that of today, in no such version."""
    assert kind_of("resource.k8s.io/v1alpha2", "ResourceClaim") is classic_kinds.CLAIM
    assert kind_in("resource.k8s.io", "ResourceClaim", "v1") is KINDS["ResourceClaim"]
    assert kind_of("resource.k8s.io/v1alpha2", "DeviceClass") is KINDS["DeviceClass"]
    assert kind_of("core.k8s.io/v1alpha2", "ResourceClass") is None


def test_serves_classic_kinds_up_to_their_last_release() -> None:
    """1.30 is the last one with v1alpha2; it has no kind of today in any version."""
    classic, newest = Profile(CLASSIC), Profile()
    for kind in classic_kinds.KINDS.values():
        assert kind.served_by("v1alpha2", classic)
        assert not kind.served_by("v1alpha2", newest)
    assert not any(kind.newest_served_by(classic) for kind in KINDS.values())
    assert (kinds_of(classic), kinds_of(newest)) == (classic_kinds.KINDS, KINDS)


def test_does_not_serve_unknown_versions() -> None:
    assert not KINDS["ResourceClaim"].served("v1alpha2", NEWEST)


@pytest.mark.parametrize(
    ("kind", "version", "warning"),
    [
        ("ResourceClaim", "v1", ""),
        (
            "ResourceClaim",
            "v1beta2",
            "resource.k8s.io/v1beta2 ResourceClaim is deprecated in v1.36+, unavailable in v1.39+",
        ),
        (
            "DeviceClass",
            "v1beta1",
            "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
        ),
        ("DeviceTaintRule", "v1", ""),
        ("DeviceTaintRule", "v1beta2", ""),
        (
            "DeviceTaintRule",
            "v1alpha3",
            "resource.k8s.io/v1alpha3 DeviceTaintRule is deprecated in v1.36+, unavailable in v1.39+",
        ),
    ],
)
def test_deprecation_warnings(kind: str, version: str, warning: str) -> None:
    """Deprecated versions are warned about, whatever the release; those that will be deprecated later are not."""
    assert deprecation_warning(KINDS[kind], version) == warning


def test_says_where_the_spec_of_a_claim_is() -> None:
    """The kinds that hold the spec of a claim say where; it is there in the schema."""
    holders = {kind.name: kind.claim_spec for kind in KINDS.values() if kind.claim_spec is not None}
    assert holders == {"ResourceClaim": ("spec",), "ResourceClaimTemplate": ("spec", "spec")}


def test_patches_are_cluster_scoped() -> None:
    """As KEP-5027 has them, like the slices that they are about."""
    assert not RESOURCE_SLICE_PATCH.namespaced


def test_slices_know_no_null() -> None:
    """Only patches can mark an attribute as removed; what slices may hold is as it was."""
    assert "null" in V1["NullableDeviceAttribute"].by_name
    assert "null" not in V1["DeviceAttribute"].by_name
    assert V1["NullableDeviceAttribute"].by_name.keys() - V1["DeviceAttribute"].by_name.keys() == {"null"}
