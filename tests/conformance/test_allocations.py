"""Scenarios are replayed as the peer takes them, also those that no cluster could have."""

from __future__ import annotations

from pathlib import Path

import pytest

from resourceapi.objects import Object
from tests.conformance import allocations
from tests.conformance.cases import read_cases

RECORDED = sorted(Path(__file__).with_name("allocations").glob("*.jsonl.gz"))
#: 1.34 tries the devices of a request in all orders, which are too many to try them here.
UNDECIDED = {"fuzz-1-01261/all", "fuzz-1-04045/all"}


@pytest.mark.parametrize("path", RECORDED, ids=[path.name.removesuffix(".jsonl.gz") for path in RECORDED])
def test_former_releases(path: Path) -> None:
    """What the allocator of that release answers, with default gates and with all: the same devices, and the same errors."""
    cases = list(read_cases(path))
    different = {
        case["id"] for case in cases if not allocations.compare(case, allocations.answer(case)).answer
    }
    assert len(cases) == (216 if path.name.startswith("1.32") else 450)  # it has few features
    assert different == (UNDECIDED if path.name.startswith("1.34") else set())


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
