"""What explain says of the pods that kube-scheduler would evict; `data/outcomes/preemption.yaml` has whom it does evict."""

from __future__ import annotations

from typing import Any

import pytest

from claimcheck import Explanation, FakeCluster, explain
from tests.claimcheck.outcome_objects import Object, objects_of, pod_of

EVICTS_FOR_NO_DEVICES = (
    "kube-scheduler evicts no pod of a lower priority for it: their claims would keep the devices meanwhile"
)
CASE: Object = {"case": "short", "nodes": {"n": {"cpu": "2"}}, "devices": {"n": ["d0"]}}


def told(case: Object, pod: Object) -> Explanation:
    """What explain says of a pod with a claim for one device in a cluster."""
    whole: Object = {**CASE, "pods": {"p": pod}, **case}
    whole["claims"] = {"c": ["r"], **case.get("claims", {})}
    cluster = FakeCluster.from_objects(list(objects_of(whole)), kube_version="1.37")
    return explain(pod_of("short", "p", pod), cluster)


def wants(**more: Any) -> Object:
    return {"uses": ["c"], "requests": {"cpu": "1"}, "priority": 10, **more}


def test_price() -> None:
    """The remedy names those that go, with their priorities, and whether they use devices."""
    running = {
        "gpu": {"node": "n", "uses": ["d"], "requests": {"cpu": "1"}, "priority": 5},
        "plain": {"node": "n", "requests": {"cpu": "1"}},
    }
    found = told(
        {
            "devices": {"n": ["d0", "d1"]},
            "running": running,
            "claims": {"d": {"requests": ["r"], "holds": ["r n/d1"], "for": ["gpu"]}},
        },
        wants(requests={"cpu": "2"}),
    )
    (remedy,) = [each for each in found.remedies if each.kind == "preemption"]
    assert remedy.text == (
        "once kube-scheduler has evicted default/short-gpu (priority 5, which uses devices), default/short-plain (priority 0), "
        "as it does for a priority of 10"
    )
    assert remedy.nodes == ("short-n",)


def test_many() -> None:
    """Three are named, the others counted."""
    running = {f"low{place}": {"node": "n", "requests": {"cpu": "400m"}} for place in range(5)}
    (remedy,) = [
        each
        for each in told({"running": running}, wants(requests={"cpu": "2"})).remedies
        if each.kind == "preemption"
    ]
    assert "short-low2 (priority 0) and 2 more, as" in remedy.text
    assert len(remedy.subject.split(", ")) == 5


@pytest.mark.parametrize(
    "spec",
    [{"preemptionPolicy": "Never"}, {"priority": None, "priorityClassName": "x"}],
    ids=["never preempts", "priority not filled in"],
)
def test_nobody(spec: Object) -> None:
    """A pod that never preempts, or whose priority the API server has not filled in, has no such remedy."""
    running = {"low": {"node": "n", "requests": {"cpu": "2"}}}
    assert "preemption" not in {each.kind for each in told({"running": running}, wants(spec=spec)).remedies}


@pytest.mark.parametrize("cpu", ["1", "2"], ids=["only devices are short", "devices and CPU are short"])
def test_devices(cpu: str) -> None:
    """Where pods of a lower priority hold the devices, it is said that kube-scheduler evicts nobody for these."""
    claims = {"d": {"requests": ["r"], "holds": ["r n/d0"], "for": ["low"]}}
    running: Object = {"low": {"node": "n", "uses": ["d"], "requests": {"cpu": cpu}}}
    found = told({"running": running, "claims": claims}, wants())
    assert EVICTS_FOR_NO_DEVICES in found.notes
    running["low"]["priority"] = 10
    assert EVICTS_FOR_NO_DEVICES not in told({"running": running, "claims": claims}, wants()).notes
