"""The servers that the other tests ask are the ones that they believe to ask."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conformance.profiles import PROFILES
from tests.e2e.control_plane import ApiServer


@pytest.mark.parametrize("profile", ["1.37", "1.37-all", "real-1.36", "real-1.34", "real-1.34-off"])
def test_server_is_of_its_profile(api_server: Callable[[str], ApiServer], profile: str) -> None:
    """Each profile's server is of its release and has a node that declares what it can declare."""
    client = api_server(profile).client
    version = client.ask("GET", "/version").body
    assert version["gitVersion"] == f"v{PROFILES[profile].release}"
    node = client.ask("GET", "/api/v1/nodes/node-a").body
    declared = [] if profile.startswith("real-1.34") else ["DRANodeAllocatableResources"]
    assert node["status"].get("declaredFeatures", []) == declared


def test_warnings_are_read(api_server: Callable[[str], ApiServer]) -> None:
    """Texts of Warning headers arrive unquoted and in order."""
    answer = api_server("1.37").client.ask(
        "POST",
        "/apis/resource.k8s.io/v1beta1/deviceclasses",
        {"apiVersion": "resource.k8s.io/v1beta1", "kind": "DeviceClass", "metadata": {"name": "c"}, "x": 1},
        query={"dryRun": "All", "fieldValidation": "Warn"},
    )
    assert answer.code == 201
    assert answer.warnings == [
        "resource.k8s.io/v1beta1 DeviceClass is deprecated in v1.35+, unavailable in v1.38+",
        'unknown field "x"',
    ]
