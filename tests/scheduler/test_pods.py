"""What is kept of pods."""

from __future__ import annotations

import tracemalloc

import pytest

from scheduler.pods import MOST_CLAIMS_KEPT, PodRecord, read_pod

ENTRIES = 60_000
MIB = 1 << 20


@pytest.mark.parametrize("source", ["resourceClaimName", "resourceClaimTemplateName"])
def test_entries_of_a_pod_are_bounded(source: str) -> None:
    """15 MiB were kept of a pod that API servers store as 1 MiB."""
    claims = [{"name": f"{number:x}", source: "c"} for number in range(ENTRIES)]
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"resourceClaims": claims}}
    tracemalloc.start()
    try:
        kept = read_pod(pod)
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert isinstance(kept, PodRecord)
    assert len(kept.claims) == MOST_CLAIMS_KEPT
    assert size < MIB
