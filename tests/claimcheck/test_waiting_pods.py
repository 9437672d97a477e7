"""Which pods wait for devices, and for what else: `explain`, `simulate`, `doctor` and the Python API agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import claimcheck
from commandline.main import main

SPEC = {"devices": {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]}}
GATED = "waits for the removal of its scheduling gates: example.com/quota"
PASSED_OVER = "the scheduler passes over a pod that names its node (n1)"


def _claim(name: str, **fields: Any) -> Any:
    metadata = {"name": name, "namespace": "team"}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": metadata,
        "spec": SPEC,
        **fields,
    }


def _pod(name: str, **spec: Any) -> Any:
    spec["containers"] = [{"name": "c", "image": "i", "resources": {"claims": [{"name": "g"}]}}]
    spec["resourceClaims"] = [{"name": "g", "resourceClaimName": name}]
    metadata = {"name": name, "namespace": "team", "uid": name}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": {"phase": "Pending"},
    }


def _inventory(tmp_path: Path, *objects: Any, devices: int = 4) -> str:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    offered = [{"name": f"d{number}"} for number in range(devices)]
    node: Any = {"metadata": {"name": "n1", "labels": {"kubernetes.io/hostname": "n1"}}}
    cluster: list[Any] = [
        {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {"apiVersion": "v1", "kind": "Node", **node, "status": {"allocatable": {"pods": "9"}}},
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": offered},
        },
        *objects,
    ]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(cluster), encoding="utf-8")
    return str(file)


def _said(command: str, inventory: str, capsys: pytest.CaptureFixture[str]) -> str:
    main([*command.split(), "--inventory", inventory])
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_gates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod with gates takes no devices from others, and is no illness: somebody keeps it from kube-scheduler on purpose."""
    pods = [_pod("gated", schedulingGates=[{"name": "example.com/quota"}]), _pod("other")]
    inventory = _inventory(tmp_path, _claim("gated"), _claim("other"), *pods, devices=1)
    assert main(["explain", "pod/gated", "-n", "team", "--inventory", inventory]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert GATED in first
    assert second == "  after that: fits on n1"
    said = _said("simulate -A", inventory, capsys)
    assert f"Pod team/gated: {GATED}" in said
    assert "1 of 1 pod placed" in said
    assert "nothing wrong" in _said("doctor", inventory, capsys)
    cluster = claimcheck.Cluster.from_objects(Path(inventory))
    found = claimcheck.explain(pods[0], cluster)
    assert (found.verdict, found.reason) == ("waits", GATED)


def test_pods_on_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod that was created on a node waits for its claims there; one that has its devices starts."""
    result = {"request": "g", "driver": "d.example.com", "pool": "n1", "device": "d0"}
    user = {"resource": "pods", "name": "starts", "uid": "starts"}
    allocated = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
    inventory = _inventory(
        tmp_path,
        _claim("starts", status=allocated),
        _claim("waits"),
        _pod("starts", nodeName="n1"),
        _pod("waits", nodeName="n1"),
    )
    for command in ("explain -A", "explain pods -n team", "simulate -A", "simulate -n team", "doctor"):
        said = _said(command, inventory, capsys)
        assert PASSED_OVER in said, command
        assert "Pod team/starts" not in said, command


def test_the_same_question(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`doctor` names the command that gives its own answer: of two pods that fit alone, only one is left."""
    inventory = _inventory(tmp_path, _claim("a"), _claim("b"), _pod("a"), _pod("b"), devices=1)
    for asked in ("doctor", "doctor -n team"):
        cause, more, *_ = _said(asked, inventory, capsys).splitlines()
        _, _, command = more.partition("more: claimcheck ")
        assert cause.partition(": ")[2] in _said(command, inventory, capsys)
    inventory = _inventory(tmp_path, _claim("a"), _pod("a"), devices=0)
    assert "more: claimcheck explain pod/a -n team" in _said("doctor", inventory, capsys)


def test_admin_access(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No claim is made from a template with admin access once its namespace has lost the label, whoever asks."""
    requests = [{"name": "g", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}]
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "admin", "namespace": "team"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }
    pod = _pod("monitor")
    pod["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": "admin"}]
    label = {"resource.kubernetes.io/admin-access": "true"}
    for labels, waits in (({}, True), (label, False)):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": labels}}
        inventory = _inventory(tmp_path, namespace, template, pod)
        for command in ("explain -A", "simulate -A", "doctor"):
            said = _said(command, inventory, capsys)
            refused = "waits for a claim from template team/admin, which the API server refuses: admin access"
            assert (refused in said) == waits, said
