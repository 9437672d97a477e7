"""Pods end as a real kube-scheduler has ended them: on which node and with which devices, or for which reasons on none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from claimcheck import FakeCluster, Unschedulable, explain
from resourceapi.manifests import mapping, name_of
from tests.claimcheck.outcome_objects import Object
from tests.claimcheck.outcomes import Case, bound, cases, unbound


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_outcomes(case: Case) -> None:
    """Each pod in its turn."""
    expected = {**case.expected, **case.ours}
    assert {pod: _without_advice(each, expected[pod]) for pod, each in outcomes(case).items()} == expected


def outcomes(case: Case) -> dict[str, Object]:
    """What becomes of the pods of a case."""
    gates = dict.fromkeys(case.gates, True)
    cluster = FakeCluster.from_objects(list(case.objects), kube_version="1.37", feature_gates=gates)
    return {name: scheduled(case, cluster, pod) for name, pod in case.pods.items()}


def _without_advice(outcome: Object, expected: Object) -> Object:
    """The outcome without what Claimcheck adds to kube-scheduler's message."""
    said, wanted = outcome.get("says", ""), expected.get("says", "")
    return {"says": wanted} if wanted and said.startswith(f"{wanted} (") else outcome


def scheduled(case: Case, cluster: FakeCluster, pod: Object) -> Object:
    """What becomes of a pod; `explain` says the same before."""
    told = explain(pod, cluster)
    try:
        found = cluster.schedule(pod)
    except Unschedulable as error:
        message = str(error)
        if "waits for" in message:
            assert told.verdict == "waits"
            return {"waits": True}
        assert not told.fits, told
        said = unbound(case.name, message)
        for remedy in told.remedies:
            if remedy.kind == "preemption":
                names = remedy.subject.split(", ")
                said["evicts"] = sorted(name.removeprefix(f"default/{case.name}-") for name in names)
        if "reasons" in said:
            assert unbound(case.name, told.reason)["reasons"] == said["reasons"]
        return said
    assert told.fits, told
    claims = dict(found.claims)
    held: dict[str, Mapping[str, Any]] = {}
    for entry in pod["spec"]["resourceClaims"]:
        name = entry.get("resourceClaimName") or f"{name_of(pod)}-{entry['name']}"
        held[entry["name"]] = claims.pop(f"default/{name}", {})
    if claims:
        (held["extended"],) = claims.values()
    outcome = bound(case.name, pod, found.node, found.status, held)
    results = [
        each
        for status in held.values()
        for each in mapping(mapping(status, "allocation"), "devices").get("results", ())
    ]
    return {"waits": True, **outcome} if any("bindingConditions" in each for each in results) else outcome
