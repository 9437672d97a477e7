"""Who would have to give up devices: what keeps pods running, as far as the cluster's objects tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.commandline.test_kubeconfig import GROUP, FakeCluster, cluster
from tests.commandline.test_live import live

__all__ = ["cluster", "live"]
Json = dict[str, Any]
NAME = "web-5d8f9"


def typed(api_version: str, kind: str, name: str, more: Json, **metadata: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}, **more}


def in_team(api_version: str, kind: str, name: str, more: Json, **metadata: Any) -> Json:
    return typed(api_version, kind, name, more, namespace="team", **metadata)


def owned_by(kind: str, name: str) -> list[Json]:
    return [{"apiVersion": "x/v1", "kind": kind, "name": name, "uid": "1", "controller": True}]


def workload(kind: str, name: str, controller: str, its_name: str) -> Json:
    containers = {"containers": [{"name": "main", "image": "x"}]}
    spec = {"selector": {}, "template": {"metadata": {"labels": {"app": "web"}}, "spec": containers}}
    group = "batch/v1" if kind == "Job" else "apps/v1"
    return in_team(group, kind, name, {"spec": spec}, ownerReferences=owned_by(controller, its_name))


def claim(name: str, status: Json) -> Json:
    requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]
    more = {"spec": {"devices": {"requests": requests}}, "status": status}
    return in_team("resource.k8s.io/v1", "ResourceClaim", name, more)


def pod(name: str, spec: Json, **metadata: Any) -> Json:
    containers = [{"name": "main", "image": "x"}]
    claims = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
    return in_team(
        "v1", "Pod", name, {"spec": {"containers": containers, "resourceClaims": claims, **spec}}, **metadata
    )


def objects(kind: str, name: str, labels: Json) -> list[Json]:
    """Two pods of an owner that hold both devices of a node, and one that waits."""
    devices = [{"name": f"gpu-{number}"} for number in range(2)]
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.acme.io", "nodeName": "n", "pool": pool, "devices": devices}
    found = [
        typed("resource.k8s.io/v1", "ResourceSlice", "n", {"spec": spec}),
        typed("resource.k8s.io/v1", "DeviceClass", "gpu", {"spec": {}}),
        typed("v1", "Node", "n", {"status": {"allocatable": {"cpu": "8", "pods": "110"}}}),
        claim("waiting-gpu", {}),
        pod("waiting", {}),
    ]
    for number in range(2):
        using = {"resource": "pods", "name": f"web-{number}", "uid": "2"}
        held = {"request": "gpu", "driver": "gpu.acme.io", "pool": "n", "device": f"gpu-{number}"}
        status = {"reservedFor": [using], "allocation": {"devices": {"results": [held]}}}
        found.append(claim(f"web-{number}-gpu", status))
        found.append(
            pod(f"web-{number}", {"nodeName": "n"}, labels=labels, ownerReferences=owned_by(kind, name))
        )
    return found


@pytest.mark.parametrize(
    ("owner", "labels", "workloads", "remedy"),
    [
        pytest.param(("ReplicaSet", NAME), {}, [], f"ReplicaSet team/{NAME} were scaled down to 1", id="bare"),
        pytest.param(
            ("ReplicaSet", NAME), {"pod-template-hash": "5d8f9"}, [],
            "Deployment team/web were scaled down to 1", id="label",
        ),
        pytest.param(
            ("ReplicaSet", NAME), {}, [workload("ReplicaSet", NAME, "Deployment", "web")],
            "Deployment team/web were scaled down to 1", id="adopted",
        ),
        pytest.param(
            ("ReplicaSet", NAME), {"rollouts-pod-template-hash": "5d8f9"},
            [workload("ReplicaSet", NAME, "Rollout", "web")],
            "Rollout team/web ended", id="rollout",
        ),
        pytest.param(
            ("StatefulSet", "web"), {}, [workload("StatefulSet", "web", "LeaderWorkerSet", "big")],
            "LeaderWorkerSet team/big ended", id="of-an-operator",
        ),
        pytest.param(
            ("StatefulSet", "web"), {}, [workload("StatefulSet", "web", "StatefulSet", "web")],
            "StatefulSet team/web were scaled down to 1", id="itself",
        ),
        pytest.param(
            ("Job", "train"), {}, [workload("Job", "train", "CronJob", "nightly")],
            "Job team/train ended", id="cron-job",
        ),
    ],
)  # fmt: skip
def test_owner_in_files(
    owner: tuple[str, str],
    labels: Json,
    workloads: list[Json],
    remedy: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A ReplicaSet or StatefulSet that something controls is scaled back by it, so that is named."""
    everything = [*objects(*owner, labels), *workloads]
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": everything}))
    assert main(["explain", "pod/waiting", "-n", "team", "--inventory", str(tmp_path)]) == 1
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("    - if ")] == [
        f"    - if {remedy} (on n)"
    ]


@pytest.mark.parametrize(
    ("is_readable", "remedy"),
    [(True, "Rollout team/web ended"), (False, f"ReplicaSet team/{NAME} were scaled down to 1")],
)
def test_owner_in_a_cluster(
    is_readable: bool, remedy: str, live: FakeCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cluster is asked what controls a ReplicaSet whose pods do not tell."""
    paths = {
        "ResourceSlice": f"{GROUP}/v1/resourceslices",
        "DeviceClass": f"{GROUP}/v1/deviceclasses",
        "ResourceClaim": f"{GROUP}/v1/resourceclaims",
        "Node": "/api/v1/nodes",
        "Pod": "/api/v1/pods",
    }
    live.versions = {"v1": ("resourceclaims", "deviceclasses", "resourceslices")}
    everything = objects("ReplicaSet", NAME, {})
    for kind, path in paths.items():
        live.lists[path] = [each for each in everything if each["kind"] == kind]
    live.objects["/api/v1/namespaces/team/pods/waiting"] = pod("waiting", {})
    if is_readable:
        path = f"/apis/apps/v1/namespaces/team/replicasets/{NAME}"
        live.objects[path] = workload("ReplicaSet", NAME, "Rollout", "web")
    assert main(["explain", "pod/waiting"]) == 1
    assert f"    - if {remedy} (on n)" in capsys.readouterr().out
