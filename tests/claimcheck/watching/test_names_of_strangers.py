"""How many names of pods and claims are compared with those that there are: each comparison takes some 20 µs, and no time limit ends them."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from allocator.time_limit import OutOfTime, TimeLimit
from claimcheck.watching.waiting_pods import QUIET_SECONDS
from deviceselectors.spelling import similar_capacity
from resourceapi import phrases
from resourceapi.objects import Object
from tests.claimcheck.watching.test_waiting_pods import DRIVER, Watched, pod

KNOWN, WRONG = 50, 1_500


def _there(number: int) -> str:
    return f"gpu.nvidia.com/name-{number:04}"


def _wrong(number: int) -> str:
    return f"gpu.nvidai.com/name-{number:04}"


def _in_pod(spec: Object) -> Callable[[Watched], None]:
    def put(watched: Watched) -> None:
        watched.waits("evil", "evil", spec=spec)

    return put


def _classes(watched: Watched) -> None:
    entries = []
    for claim in range(8):
        requests = [
            {
                "name": f"r{request}",
                "firstAvailable": [
                    {"name": f"a{each}", "deviceClassName": f"gpu-of-nvidai-{claim}{request:02}{each}"}
                    for each in range(8)
                ],
            }
            for request in range(32)
        ]
        watched.claim(f"evil-{claim}", "evil", requests=requests)
        entries.append({"name": f"c{claim}", "resourceClaimName": f"evil-{claim}"})
    watched.put("Pod", pod("evil", "evil", spec={"resourceClaims": entries}))


def _resources(watched: Watched) -> None:
    limits = {_wrong(number): "1" for number in range(60)}
    containers = [{"name": "c", "image": "i", "resources": {"limits": limits, "requests": limits}}]
    watched.put("Pod", pod("evil", "evil", spec={"containers": containers, "resourceClaims": []}))


def _affinity(values: bool) -> Object:
    expressions = [
        {"key": _there(number), "operator": "In", "values": ["walue-of-label"]}
        if values
        else {"key": _wrong(number), "operator": "Exists"}
        for number in range(KNOWN if values else WRONG)
    ]
    terms = [{"matchExpressions": expressions}] * (10 if values else 1)
    return {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        }
    }


@pytest.mark.parametrize(
    "put",
    [
        pytest.param(_in_pod({"nodeSelector": {_wrong(each): "x" for each in range(WRONG)}}), id="labels"),
        pytest.param(_in_pod(_affinity(values=False)), id="affinity"),
        pytest.param(_in_pod(_affinity(values=True)), id="values"),
        pytest.param(
            _in_pod({"tolerations": [{"key": _wrong(each), "operator": "Exists"} for each in range(WRONG)]}),
            id="tolerations",
        ),
        pytest.param(_classes, id="classes"),
        pytest.param(_resources, id="resources"),
    ],
)
def test_few_names_are_compared(put: Callable[[Watched], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: 2,500 labels that are nearly those of a node with 99 took 15 s, 2,048 classes beside 500 took 40, in the time of all."""
    compared, edits = 0, phrases.edits

    def counted(first: str, second: str, limit: int) -> int:
        nonlocal compared
        compared += 1
        return edits(first, second, limit)

    watched = Watched()
    labels = {_there(number): f"value-of-label-{number}" for number in range(KNOWN)}
    taints = [{"key": _there(number), "effect": "NoSchedule"} for number in range(KNOWN)]
    allocatable = {
        "cpu": "8",
        "memory": "8Gi",
        "pods": "2000",
        **{_there(each): "1" for each in range(KNOWN)},
    }
    metadata = {"name": "node-1", "labels": labels}
    watched.put(
        "Node", {"metadata": metadata, "spec": {"taints": taints}, "status": {"allocatable": allocatable}}
    )
    for number in range(KNOWN):
        watched.put("DeviceClass", {"metadata": {"name": f"gpu-of-nvidia-{number:03}"}, "spec": {}})
    put(watched)
    watched.after(0.0)
    monkeypatch.setattr(phrases, "edits", counted)
    watched.after(QUIET_SECONDS)
    assert watched.pods.causes().total() == 1
    assert 0 < compared < 20_000


def test_time_ends_the_comparison_of_capacities(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attack: 256 capacities that are nearly those of 900 took 14 s of the 2 s that a pod has."""
    watched = Watched()
    capacity = {f"capacity-number-{each:03}": {"value": "1"} for each in range(32)}
    pool = {"name": "more", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "gpu-1", "capacity": capacity}]
    spec = {"driver": DRIVER, "nodeName": "node-1", "pool": pool, "devices": devices}
    watched.put("ResourceSlice", {"metadata": {"name": "more"}, "spec": spec})
    requests = [
        {
            "name": f"r{each}",
            "exactly": {
                "deviceClassName": "gpu",
                "count": 1,
                "capacity": {"requests": {f"capacity-numbre-{each:03}-{one}": "1" for one in range(8)}},
            },
        }
        for each in range(32)
    ]
    watched.waits("evil", requests=requests)
    compared = list[str]()

    def slow(name: str, known: Collection[str]) -> str:
        compared.append(name)
        monkeypatch.setattr(TimeLimit, "is_over", True)
        monkeypatch.setattr(TimeLimit, "check", _over)
        return similar_capacity(name, known)

    monkeypatch.setattr("allocator.explaining.finder.similar_capacity", slow)
    watched.after(0.0)
    watched.after(QUIET_SECONDS)
    assert len(compared) == 1


def _over(limit: TimeLimit) -> None:
    raise OutOfTime
