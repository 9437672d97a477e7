"""A place has one path per version; errors are shown at the user's."""

from __future__ import annotations

import pytest

from conversion.hub import path_to_hub, path_to_version
from resourceapi.field_errors import Path

REQUEST = ("spec", "devices", "requests", 0)
IN_TEMPLATE = ("spec", "spec", "devices", "requests", 0)
DEVICE = ("spec", "devices", 0)


@pytest.mark.parametrize(
    ("kind", "hub", "flat"),
    [
        ("ResourceClaim", (*REQUEST, "exactly", "count"), (*REQUEST, "count")),
        ("ResourceClaim", (*REQUEST, "firstAvailable", 1, "count"), (*REQUEST, "firstAvailable", 1, "count")),
        ("ResourceClaim", (*REQUEST, "name"), (*REQUEST, "name")),
        ("ResourceClaimTemplate", (*IN_TEMPLATE, "exactly", "count"), (*IN_TEMPLATE, "count")),
        ("ResourceSlice", (*DEVICE, "attributes"), (*DEVICE, "basic", "attributes")),
        ("ResourceSlice", (*DEVICE, "name"), (*DEVICE, "name")),
        ("ResourceSlice", ("spec", "pool", "name"), ("spec", "pool", "name")),
        ("DeviceClass", ("spec", "selectors", 0), ("spec", "selectors", 0)),
    ],
)
def test_paths_of_the_hub_and_of_v1beta1(kind: str, hub: Path, flat: Path) -> None:
    """Each is found from the other, and v1 has the hub's."""
    assert path_to_version(hub, kind, "v1beta1") == flat
    assert path_to_hub(flat) == hub
    assert path_to_version(hub, kind, "v1") == hub


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("ResourceClaim", "v1", (*REQUEST, "exactly", "adminAccess")),
        ("ResourceClaim", "v1beta1", (*REQUEST, "adminAccess")),
        ("ResourceClaimTemplate", "v1", (*IN_TEMPLATE, "exactly", "adminAccess")),
        ("ResourceClaimTemplate", "v1beta1", (*IN_TEMPLATE, "adminAccess")),
    ],
)
def test_admin_access_is_found_although_the_server_shortens_its_path(
    kind: str, version: str, expected: Path
) -> None:
    """The server leaves out `exactly`, and a template's own `spec`."""
    assert path_to_version((*REQUEST, "adminAccess"), kind, version) == expected
