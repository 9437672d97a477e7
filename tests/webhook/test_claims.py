"""How ResourceClaims are counted for metrics."""

from __future__ import annotations

from typing import Any

import pytest

from cluster.store import Collection
from resourceapi.objects import Object
from webhook import object_cache
from webhook.metrics import Metrics
from webhook.object_cache import ClaimCounts, claim_labels, read_claim

SUB = [{"name": "s", "deviceClassName": "c"}]


def claim(name: str = "a", *, allocated: bool = False, **request: Any) -> Object:
    status: Object = {"allocation": {}} if allocated else {}
    spec = {"devices": {"requests": [{"name": "plain", "exactly": {}}, {"name": "r", **request}]}}
    return {"metadata": {"name": name, "namespace": "team"}, "spec": spec, "status": status}


def annotated(**annotations: str) -> Object:
    obj = claim()
    obj["metadata"]["annotations"] = {
        f"resource.kubernetes.io/{key}": value for key, value in annotations.items()
    }
    return obj


FROM_TEMPLATE = annotated(**{"pod-claim-name": "gpu"})
FOR_EXTENDED = annotated(**{"extended-resource-claim": "true", "pod-claim-name": "gpu"})


@pytest.mark.parametrize(
    ("obj", "allocated", "admin_access", "source", "first_available"),
    [
        pytest.param(claim(), "false", "false", "", "false", id="plain"),
        pytest.param(claim(allocated=True), "true", "false", "", "false", id="allocated"),
        pytest.param(claim(exactly={"adminAccess": True}), "false", "true", "", "false", id="admin-access"),
        pytest.param(claim(firstAvailable=SUB), "false", "false", "", "true", id="alternatives"),
        pytest.param(
            FROM_TEMPLATE, "false", "false", "resource_claim_template", "false", id="from-a-template"
        ),
        pytest.param(
            FOR_EXTENDED, "false", "false", "extended_resource", "false", id="for-extended-resources"
        ),
        pytest.param({"spec": None}, "false", "false", "", "false", id="odd"),
    ],
)
def test_labels(obj: Object, allocated: str, admin_access: str, source: str, first_available: str) -> None:
    """Each claim counts once: by allocation, admin access, where it comes from, and whether it has alternatives."""
    assert claim_labels(obj) == (allocated, admin_access, source, first_available)


def test_numbers_are_shown() -> None:
    """Total and allocated claims, with and without firstAvailable; they follow as claims change and go."""
    metrics, claims = Metrics(), Collection(read_claim)
    counts = ClaimCounts(claims)
    claims.replace(iter([claim("a"), claim("b", firstAvailable=SUB)]))
    counts.show(metrics)
    claims.put(claim("c", firstAvailable=SUB))
    claims.put(claim("b", allocated=True, firstAvailable=SUB))
    claims.put(claim("d"))
    claims.remove(claim("a"))
    shown = _shown(metrics)
    assert shown == {
        _total(): 1.0,
        _total(first="true"): 1.0,
        _total(allocated="true", first="true"): 1.0,
        'claimcheck_allocated_resource_claims{admin_access="false",first_available="true",source=""}': 1.0,
    }
    claims.lose()
    assert set(_shown(metrics).values()) == {0.0}


def _total(allocated: str = "false", first: str = "false") -> str:
    labels = f'admin_access="false",allocated="{allocated}",first_available="{first}",source=""'
    return f"claimcheck_resource_claims{{{labels}}}"


def _shown(metrics: Metrics) -> dict[str, float]:
    lines = metrics.exposition()[0].decode().splitlines()
    found = (line.rpartition(" ") for line in lines if "resource_claims{" in line)
    return {name: float(value) for name, _, value in found}


def test_deleted_claims_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The latest that have gone, by uid; one of the same name that is made anew is another one."""
    monkeypatch.setattr(object_cache, "MOST_DELETED", 2)
    claims = Collection(read_claim)
    deleted = ClaimCounts(claims).deleted
    claims.replace(())
    for uid in ("1", "2", "3"):
        obj = claim()
        obj["metadata"]["uid"] = uid
        claims.put(obj)
        assert uid not in deleted
        claims.remove(obj)
    claims.put(obj)
    assert [uid in deleted for uid in ("1", "2", "3", "4")] == [False, True, True, False]


def test_claims_that_are_gone_after_a_list_have_been_deleted() -> None:
    """So have those whose name another claim has; but not where the kind is not served for a while."""
    claims = Collection(read_claim)
    deleted = ClaimCounts(claims).deleted
    first, second = claim("a"), claim("b")
    first["metadata"]["uid"], second["metadata"]["uid"] = "1", "2"
    claims.replace([first, second])
    again = claim("a")
    again["metadata"]["uid"] = "3"
    claims.replace([again])
    assert [uid in deleted for uid in ("1", "2", "3")] == [True, True, False]
    claims.lose()
    assert "3" not in deleted
