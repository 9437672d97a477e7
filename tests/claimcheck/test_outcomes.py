"""Pods end as a real kube-scheduler has ended them: on which node, what they take of it, or for which reasons on none."""

from __future__ import annotations

import pytest

from claimcheck import FakeCluster, Unschedulable
from tests.claimcheck.outcomes import Case, Object, cases, outcome_of


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.name)
def test_outcomes(case: Case) -> None:
    """Each pod in its turn."""
    gates = dict.fromkeys(case.gates, True)
    cluster = FakeCluster.from_objects(list(case.objects), kube_version="1.37", feature_gates=gates)
    assert [_scheduled(cluster, pod) for pod in case.pods] == list(case.expected)


def _scheduled(cluster: FakeCluster, pod: Object) -> Object:
    try:
        found = cluster.schedule(pod)
    except Unschedulable as error:
        return outcome_of("", str(error), {})
    return outcome_of(found.node, "", found.status)
