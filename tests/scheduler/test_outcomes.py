"""Pods end with the sidecar as with kube-scheduler's own plugin (`tests/claimcheck/data/outcomes`), where devices take CPU and the like."""

from __future__ import annotations

from collections import Counter

import pytest

from allocator.node_resources import needs_of
from allocator.pod_nodes import RESOURCES, rejections
from allocator.time_limit import UNLIMITED
from cluster.objects import ClusterObjects
from resourceapi.manifests import mapping, name_of
from scheduler.extender_api import BindingRequest, CandidateNodes
from tests.claimcheck.outcome_objects import NAMESPACE, Object
from tests.claimcheck.outcomes import Case, bound, by_extender, cases
from tests.scheduler.fake_api import FakeApi
from tests.scheduler.fake_places import CORE, RESOURCE
from tests.scheduler.small_cluster import Sidecar

CASES = [each for each in cases() if each.subject == "node_allocatable_resources"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_outcomes(case: Case) -> None:
    """Each pod in its turn: the node, the devices, what the pod's status says they take of the node, or the reasons."""
    api = FakeApi(
        each for each in case.objects if each["kind"] not in ("PriorityClass", "ResourceClaimTemplate")
    )
    sidecar = Sidecar(api, dict.fromkeys(case.gates, True))
    found = {name: _scheduled(case, sidecar, pod) for name, pod in case.pods.items()}
    assert found == {name: by_extender(each) for name, each in case.expected.items()}


def _scheduled(case: Case, sidecar: Sidecar, pod: Object) -> Object:
    api, spec = sidecar.api, pod["spec"]
    api.add({**pod, "metadata": {**pod["metadata"], "uid": f"uid-{name_of(pod)}"}})
    sidecar.sync()
    stored = api.get(f"{CORE}/namespaces/{NAMESPACE}/pods/{name_of(pod)}")
    refused = _refused_by_kube_scheduler(case, sidecar, spec)
    nodes = tuple(name_of(each) for each in api.all("nodes", CORE) if name_of(each) not in refused)
    sidecar.decisions._in_flight.clear()
    verdicts = sidecar.filter.answer(CandidateNodes(stored, nodes))
    reasons = Counter([*refused.values(), *verdicts.failed.values(), *verdicts.beyond_preemption.values()])
    if not verdicts.fitting:
        return {"reasons": dict(reasons)}
    node = verdicts.fitting[0]
    error = sidecar.binder.bind(BindingRequest(NAMESPACE, name_of(pod), f"uid-{name_of(pod)}", node))
    assert not error
    sidecar.sync()
    claims = {
        each["name"]: api.get(
            f"{RESOURCE}/namespaces/{NAMESPACE}/resourceclaims/{each['resourceClaimName']}"
        )["status"]
        for each in spec["resourceClaims"]
    }
    stored = api.get(f"{CORE}/namespaces/{NAMESPACE}/pods/{name_of(pod)}")
    assert stored["spec"]["nodeName"] == node
    return bound(case.name, pod, node, mapping(stored, "status"), claims)


def _refused_by_kube_scheduler(case: Case, sidecar: Sidecar, spec: Object) -> dict[str, str]:
    """The nodes about which no extender is asked, as they have too little for the pod itself."""
    objects = ClusterObjects(sidecar.picture.profile)
    for each in sidecar.api.all("nodes", CORE):
        objects.nodes.put(each)
    for each in sidecar.api.all("pods", CORE):
        objects.pods.put(each)
    resources, needs = objects.node_resources(), needs_of(spec, sidecar.picture.profile)
    found = rejections(spec, needs, objects.all_nodes(), resources, UNLIMITED)
    return {
        node: " and ".join([each.reason for each in why if each.plugin == RESOURCES])
        for node, why in found.items()
    }
