"""Pods whose claims quotas keep from being made: `explain`, `simulate`, `doctor` and the Python API say the same of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import claimcheck
from allocator.time_limit import UNLIMITED, OutOfTime, TimeLimit
from claimcheck.answers.claim_quotas import ClaimQuotas
from claimcheck.answers.cluster_state import ClusterState
from claimcheck.answers.scenario import Reader
from claimcheck.inputs import values_in
from cluster.workloads import Workload
from commandline.main import main
from quota import admission
from resourceapi.quantity import Amounts, added
from resourceapi.releases import Profile

CASES: list[Any] = yaml.safe_load(Path(__file__).with_name("quota_cases.yaml").read_text("utf-8"))


def _spec(devices: int) -> Any:
    return {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu", "count": devices}}]}}


def _claim(name: str, devices: int, **metadata: Any) -> Any:
    metadata = {"name": name, "namespace": "team", **metadata}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": _spec(devices),
    }


def _template(devices: int) -> Any:
    metadata = {"name": f"of-{devices}", "namespace": "team"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata,
        "spec": {"spec": _spec(devices)},
    }


def _pod_spec(devices: int) -> Any:
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}
    return {
        "containers": [container],
        "resourceClaims": [{"name": "g", "resourceClaimTemplateName": f"of-{devices}"}],
    }


def _asked(kind: str, number: int, copies: int, devices: int) -> Any:
    metadata = {"name": f"asked-{number}", "namespace": "team"}
    if kind == "ResourceClaim":
        return _claim(metadata["name"], devices)
    if kind == "stored ResourceClaim":
        return _claim(metadata["name"], devices, uid="u", resourceVersion="1")
    if kind == "Pod":
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec(devices)}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": _pod_spec(devices)}
    spec = {"replicas": copies, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _cluster(case: Any) -> list[Any]:
    quota: Any = {"metadata": {"name": "team", "namespace": "team"}, "spec": {"hard": case["hard"]}}
    if "used" in case:
        quota["status"] = {"hard": case["hard"], "used": case["used"]}
    there = [_claim(f"there-{number}", devices) for number, devices in enumerate(case.get("there", ()))]
    return [
        {"apiVersion": "v1", "kind": "ResourceQuota", **quota},
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        *(_template(devices) for devices in (1, 2, 3, 8)),
        *there,
        *(_waiting(number) for number in range(case.get("made", 0))),
    ]


def _waiting(number: int) -> Any:
    """A pod of the Deployment `asked-0` that has its claim."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "asked-0-5d",
        "uid": "r",
        "controller": True,
    }
    metadata = {
        "name": f"asked-0-5d-{number}",
        "namespace": "team",
        "labels": {"pod-template-hash": "5d"},
        "ownerReferences": [owner],
    }
    status = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": f"there-{number}"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": _pod_spec(2), "status": status}


@pytest.mark.parametrize("case", CASES, ids=[each["name"] for each in CASES])
def test_who_gets_claims(case: Any) -> None:
    """By itself, and beside those before it."""
    profile = Profile("1.37")
    state = ClusterState(profile, "default")
    state.learn(values_in(_cluster(case), profile))
    asked = [_asked(kind, number, *rest) for number, (kind, *rest) in enumerate(case["asked"])]
    workloads = Reader(state, "default").workloads(
        state.learn(values_in(asked, profile), new=True), UNLIMITED
    )
    assert not state.failures
    quotas = ClaimQuotas(state)
    alone = [quotas.alone(each, UNLIMITED) for each in workloads]
    assert [each.copies for each in alone] == case["alone"]
    together = quotas.together(workloads)
    assert [each.copies for each in together] == case["together"]
    told = [each.refusal for each in alone if each.refusal]
    assert case.get("why", "") in "".join(told[:1])
    assert bool(told) == ("why" in case)
    assert [each.refused for each in workloads] == [each.refusal if not each.copies else "" for each in alone]


def _inventory(tmp_path: Path, limit: int) -> str:
    slice = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"d{number}"} for number in range(8)],
        },
    }
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1"},
        "status": {"allocatable": {"pods": "9"}},
    }
    quota = {"hard": {"gpu.deviceclass.resource.k8s.io/devices": limit}}
    objects = [slice, node, *_cluster(quota), _asked("Pod", 0, 1, 3)]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    return str(tmp_path / "cluster.yaml")


def test_one_story(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same words, wherever somebody asks."""
    cluster = _inventory(tmp_path, 2)
    said = "waits for quota for its claim from template of-3: 1 too few devices"
    for command in ("explain pod/asked-0 -n team", "simulate pod/asked-0 -n team", "doctor"):
        assert main([*command.split(), "--inventory", cluster]) == 1
        assert said in capsys.readouterr().out.splitlines()[0]
    known = claimcheck.Cluster.from_objects(Path(cluster))
    pod = _asked("Pod", 1, 1, 3)
    explained = claimcheck.explain(pod, known)
    assert (explained.verdict, explained.fits) == ("waits", False)
    assert said in explained.reason
    assert said in claimcheck.simulate(pod, known).placements[0].reason
    with pytest.raises(claimcheck.Unschedulable, match=said):
        claimcheck.FakeCluster.from_objects(Path(cluster)).schedule(pod)


def test_enough_quota(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said of it but that it was looked at."""
    cluster = _inventory(tmp_path, 3)
    assert main(["explain", "pod/asked-0", "-n", "team", "--inventory", cluster]) == 0
    told = capsys.readouterr().out
    assert "fits on n1" in told.splitlines()[0]
    assert "ResourceQuotas for claims" in told
    assert main(["doctor", "--inventory", cluster]) == 0


def _pod_of_templates(*devices: int) -> Any:
    pod = _asked("Pod", 0, 1, 1)
    entries = [
        {"name": f"e{number}", "resourceClaimTemplateName": f"of-{each}"}
        for number, each in enumerate(devices)
    ]
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": entries}
    return {**pod, "spec": spec}


def _read(limit: int, pod: Any, quotas: int = 1) -> Workload:
    """A pod, where each of some quotas leaves room for so many devices."""
    profile = Profile("1.37")
    state = ClusterState(profile, "default")
    cluster = _cluster({"hard": {"gpu.deviceclass.resource.k8s.io/devices": str(limit)}})
    more = [{**cluster[0], "metadata": {"name": f"q{n}", "namespace": "team"}} for n in range(quotas - 1)]
    state.learn(values_in([*cluster, *more], profile))
    asked = state.learn(values_in([pod], profile), new=True)
    (workload,) = Reader(state, "default").workloads(asked, UNLIMITED)
    return workload


@pytest.mark.parametrize(
    ("limit", "refused"),
    [
        (0, "template of-2: 2 too few"),
        (5, "template of-3: 1 too few"),
        (6, "template of-1: 1 too few"),
        (7, "template of-2: 2 too few"),
        (8, "template of-2: 1 too few"),
        (9, ""),
    ],
)
def test_the_first_claim_that_does_not_fit_is_named(limit: int, refused: str) -> None:
    """Claims are made in the order of the pod's entries."""
    workload = _read(limit, _pod_of_templates(2, 1, 3, 1, 2))
    assert workload.refused.startswith(f"quota for its claim from {refused}" if refused else "")
    assert bool(workload.refused) == bool(refused)


@pytest.mark.parametrize("limit", [10_000, 8], ids=["fits", "refused"])
def test_quotas_are_not_looked_at_for_each_claim(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """1,024 claims of one pod, 100 quotas of 100 names took 36 s: each quota was copied for each claim."""
    copied = 0

    def counted(one: Amounts, other: Amounts) -> Amounts:
        nonlocal copied
        copied += 1
        return added(one, other)

    monkeypatch.setattr(admission, "added", counted)
    work = []
    for claims in (16, 32, 64):
        copied = 0
        _read(limit, _pod_of_templates(*[1] * claims), quotas=20)
        work.append(copied)
    assert work[2] - work[1] <= 3 * 20  # was 64 times 20, or more where some do not fit
    assert work[0] <= 12 * 20


def test_only_claims_of_limited_namespaces_that_are_asked_about_are_read() -> None:
    """Large claims of one namespace took the time of whoever came first; and what a quota of CPU has to do with claims is nothing."""
    profile, read = Profile("1.37"), list[str]()
    state = ClusterState(profile, "default")
    hard = {"gpu.deviceclass.resource.k8s.io/devices": "8"}
    for namespace, limits in (("team", hard), ("other", hard), ("cpu", {"requests.cpu": "8"})):
        (quota,) = (each for each in _cluster({"hard": limits}) if each["kind"] == "ResourceQuota")
        quota["metadata"]["namespace"] = namespace
        claims = [_claim(f"c{number}", 1, namespace=namespace) for number in range(3)]
        state.learn(values_in([quota, *claims], profile))
    state.learn(values_in(_cluster({"hard": hard}), profile))
    for key, claim in state.of("ResourceClaim").items():
        state.of("ResourceClaim")[key] = {
            **claim,
            "spec": {"devices": _Noted(key, claim["spec"]["devices"], read)},
        }
    quotas = ClaimQuotas(state)
    (asked,) = Reader(state, "default").workloads(
        state.learn(values_in([_asked("ResourceClaim", 0, 1, 6)], profile), new=True), UNLIMITED
    )
    read.clear()
    with pytest.raises(OutOfTime):
        quotas.alone(asked, TimeLimit(-1.0))
    assert read == []
    assert quotas.alone(asked, UNLIMITED).refusal
    assert set(read) == {"team/c0", "team/c1", "team/c2"}


class _Noted(dict[str, Any]):
    """What a claim asks for; notes when it is read."""

    def __init__(self, key: str, devices: Any, read: list[str]) -> None:
        super().__init__(devices)
        self._key, self._read = key, read

    def get(self, name: str, default: Any = None) -> Any:
        self._read.append(self._key)
        return super().get(name, default)
