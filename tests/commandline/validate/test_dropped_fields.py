"""Objects of an inventory are read as the server of the release stores them: what its gates do not allow is not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.commandline.test_kubeconfig import GROUP, FakeCluster, _address, _kubeconfig, cluster

__all__ = ["cluster"]


def _part(group: str) -> dict[str, Any]:
    consumed = {"counterSet": "gpu-0", "counters": {"m": {"value": "1"}}, "compatibilityGroups": [group]}
    return {"name": group, "consumesCounters": [consumed]}


def _slice(name: str, **content: Any) -> dict[str, Any]:
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": "gpu.example.com", "nodeName": "n1", "pool": pool, **content}
    return {"metadata": {"name": name}, "spec": spec}


COUNTERS = {"name": "gpu-0", "counters": {"m": {"value": "4"}}}
SLICES = [
    _slice("counters", sharedCounters=[COUNTERS]),
    _slice("devices", devices=[_part("mig"), _part("vgpu")]),
]
CLASS = {"metadata": {"name": "gpu"}, "spec": {}}


def _typed(kind: str, value: dict[str, Any], version: str = "resource.k8s.io/v1") -> str:
    return json.dumps({"apiVersion": version, "kind": kind, **value})


def _pods(tmp_path: Path) -> str:
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    template = {"metadata": {"name": "one"}, "spec": {"spec": {"devices": {"requests": [request]}}}}
    entry = {"name": "gpu", "resourceClaimTemplateName": "one"}
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [entry]}
    pods = [_typed("Pod", {"metadata": {"name": name}, "spec": spec}, "v1") for name in "ab"]
    file = tmp_path / "pods.yaml"
    file.write_text("\n---\n".join([_typed("ResourceClaimTemplate", template), *pods]), encoding="utf-8")
    return str(file)


def _inventory(tmp_path: Path) -> str:
    objects = [_typed("DeviceClass", CLASS), *(_typed("ResourceSlice", each) for each in SLICES)]
    file = tmp_path / "inventory.yaml"
    file.write_text("\n---\n".join(objects), encoding="utf-8")
    return str(file)


def _placed(capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    main(["simulate", "-o", "json", *arguments])
    report = json.loads(capsys.readouterr().out)
    return sum(bool(pod["node"]) for pod in report["runs"][0]["placements"])


GATE = "DRADeviceCompatibilityGroups"


@pytest.mark.parametrize(
    ("release", "gates", "placed"),
    [
        pytest.param("1.34", "DRAPartitionableDevices=true", 2, id="before-the-field"),
        pytest.param("1.36", "", 2, id="last-before-the-field"),
        pytest.param("1.37", "", 2, id="gate-off"),
        pytest.param("1.37", f"{GATE}=true", 1, id="gate-on"),
        pytest.param("kep", f"{GATE}=false", 2, id="proposal-gate-off"),
        pytest.param("kep", "", 1, id="proposal"),
    ],
)
def test_groups_in_files(
    release: str, gates: str, placed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the server drops compatibility groups, devices are placed as if they had none."""
    target = ["--kube-version", release, "--feature-gates", gates]
    assert _placed(capsys, "-f", _pods(tmp_path), "--inventory", _inventory(tmp_path), *target) == placed


@pytest.mark.parametrize(
    ("release", "placed"),
    [
        pytest.param("1.36", 2, id="does-not-know-them"),
        pytest.param("1.37", 0, id="ignores-their-slices"),
        pytest.param("kep", 0, id="skips-their-devices"),
    ],
)
def test_groups_in_a_cluster(
    release: str, placed: int, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a server has stored stays when the gate is switched off, as long as the release knows the field."""
    cluster.lists[f"{GROUP}/v1/resourceslices"] = SLICES
    cluster.lists[f"{GROUP}/v1/deviceclasses"] = [CLASS]
    cluster.versions = {"v1": ("resourceslices", "deviceclasses")}
    gates = f"{GATE}=false" if release == "kep" else ""
    config = ["--kubeconfig", _kubeconfig(tmp_path, _address(cluster))]
    target = ["--kube-version", release, "--feature-gates", gates]
    assert _placed(capsys, "-f", _pods(tmp_path), *config, *target) == placed


def test_claim_that_is_not_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod that refers to one is told what is wrong with it, not that there is none."""
    choice = {"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": "gpu"}]}
    spec = {"devices": {"requests": [choice]}}
    named = [
        ("ResourceClaim", "resourceClaimName", spec),
        ("ResourceClaimTemplate", "resourceClaimTemplateName", {"spec": spec}),
    ]
    for kind, reference, content in named:
        pod_spec = {
            "containers": [{"name": "c", "image": "i"}],
            "resourceClaims": [{"name": "g", reference: "one"}],
        }
        pod = _typed("Pod", {"metadata": {"name": "pod"}, "spec": pod_spec}, "v1")
        file = tmp_path / f"{kind}.yaml"
        file.write_text(
            f"{_typed(kind, {'metadata': {'name': 'one'}, 'spec': content})}\n---\n{pod}", encoding="utf-8"
        )
        target = ["--kube-version", "1.34", "--feature-gates", "DRAPrioritizedList=false"]
        arguments = ["-f", str(file), "--inventory", _inventory(tmp_path), *target]
        for command in ("explain", "simulate"):
            assert main([command, *arguments]) != 0
            text = capsys.readouterr().out
            noun = "claim" if kind == "ResourceClaim" else "template"
            assert f"{noun} default/one is not valid: {kind}.resource.k8s.io " in text
            assert "neither in the files" not in text
