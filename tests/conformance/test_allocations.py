"""Scenarios are replayed as the peer takes them, also those that no cluster could have."""

from __future__ import annotations

from resourceapi.objects import Object
from tests.conformance import allocations


def scenario(*slices: Object) -> Object:
    request = {"deviceClassName": "any", "allocationMode": "All"}
    claim = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
    }
    return {
        "features": ["all"],
        "mode": "all-nodes",
        "nodes": [{"metadata": {"name": "n"}}],
        "deviceClasses": [{"metadata": {"name": "any"}, "spec": {}}],
        "resourceSlices": list(slices),
        "claims": [],
        "pods": [{"name": "p", "claims": [claim]}],
    }


def slice_of(pool: str, device: str) -> Object:
    spec = {
        "driver": "gpu.example.com",
        "pool": {"name": pool, "generation": 1, "resourceSliceCount": 1},
        "nodeName": "n",
        "devices": [{"name": device}],
    }
    return {"metadata": {"name": "slice-1"}, "spec": spec}


def test_slices_of_one_name_all_count() -> None:
    """Upstream's own tests have such; for a cluster the second would be a change of the first."""
    answered = allocations.answer({"scenario": scenario(slice_of("b", "d-1"), slice_of("a", "d-0"))})
    (result,) = answered["pods"][0]["nodes"][0]["result"]
    assert [device["device"] for device in result["devices"]["results"]] == ["d-0", "d-1"]
