"""What is kept of pods."""

from __future__ import annotations

import re
import tracemalloc
from pathlib import Path

import pytest

from resourceapi.records.pods import MOST_CLAIMS_KEPT, Pod, pod_with_claims

ENTRIES = 60_000
MIB = 1 << 20


@pytest.mark.parametrize("source", ["resourceClaimName", "resourceClaimTemplateName"])
def test_entries_of_a_pod_are_bounded(source: str) -> None:
    """15 MiB were kept of a pod that API servers store as 1 MiB."""
    claims = [{"name": f"{number:x}", source: "c"} for number in range(ENTRIES)]
    pod = {"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"resourceClaims": claims}}
    tracemalloc.start()
    try:
        kept = pod_with_claims(pod)
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert isinstance(kept, Pod)
    assert len(kept.claims) == MOST_CLAIMS_KEPT
    assert size < MIB


def labels(number: int) -> tuple[tuple[str, str], ...]:
    """The labels that are kept of a pod with some that others have, and some of its own."""
    values = {"app": f"web-{number % 2}", "index": f"index-{number}"}
    kept = pod_with_claims(
        {
            "metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": values},
            "spec": {"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]},
        }
    )
    assert isinstance(kept, Pod)
    assert dict(kept.labels) == values
    return kept.labels


def test_labels_are_kept_once_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Interned, each of a tenant's pods left its labels in memory for good, on Python 3.12."""
    known: dict[str, str] = {}
    monkeypatch.setattr("resourceapi.records.pods.MOST_LABEL_TEXTS", 20)
    monkeypatch.setattr("resourceapi.records.pods._label_texts", known)
    (_, first), _ = labels(2)
    (_, second), _ = labels(4)
    assert first is second
    for number in range(1_000):
        labels(number)
        assert len(known) <= 20


def test_nothing_keeps_texts_for_ever() -> None:
    """Python 3.12 never lets go of what was interned, and objects of strangers are full of texts."""
    packages = [
        "allocator",
        "cluster",
        "conversion",
        "quota",
        "resourceapi",
        "scheduler",
        "serving",
        "webhook",
    ]
    root = Path(__file__).parents[2]
    sources = [path for package in packages for path in root.joinpath(package).rglob("*.py")]
    assert len(sources) > 100
    assert [path.name for path in sources if re.search(r"\bintern\(|import intern\b", path.read_text())] == []
