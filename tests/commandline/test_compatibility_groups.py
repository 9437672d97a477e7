"""Compatibility groups: `explain`, `simulate` and `devices` judge by what claims remember, as `claimcheck schedule` does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from cluster.group_snapshots import InConfiguration
from commandline.main import main
from resourceapi import deep_json
from resourceapi.encoding import encode
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from tests.allocator.objects import DRIVER
from tests.commandline.test_kubeconfig import GROUP, FakeCluster, _address, _kubeconfig, cluster
from tests.scheduler.group_scenes import COUNTERS, MIG, VGPU, slices, spec_asking

__all__ = ["cluster"]
GATE = "DRADeviceCompatibilityGroups"
UID = "11111111-2222-3333-4444-555555555555"
RELEASES: dict[str, list[str]] = {
    "gate": ["--feature-gates", f"{GATE}=true"],
    "kep": ["--kube-version", "kep"],
}
#: Profiles in which groups do not count, and what is said then.
WITHOUT = {
    "gate-off": ([], f"compatibility groups, which do not count: the feature gate {GATE} is off."),
    "older": (["--kube-version", "1.36"], "compatibility groups, which Kubernetes 1.36 does not have."),
}
#: What mig-0 declares now; its claim remembers mig.
NOW = {"as-remembered": ("mig",), "changed": ("vgpu",), "removed": ()}


def of_group(kind: str, name: str, **content: object) -> Object:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, **content}


def holder(uid: str = UID) -> Object:
    """A claim with mig-0, as the sidecar writes it; `uid`: of the claim that its snapshot names."""
    result = {"request": "gpu", "driver": DRIVER, "pool": "n1-pool", "device": "mig-0"}
    allocation = {"devices": {"results": [{**result, "compatibilityGroups": {COUNTERS: ["mig"]}}]}}
    status = {"allocation": InConfiguration().with_snapshot(allocation, uid)}
    stored = encode(SCHEMAS_WITH_PROPOSALS["v1"], "ResourceClaim", {"status": status})
    held = of_group("ResourceClaim", "held", spec=spec_asking("mig"), status=stored["status"])
    held["metadata"]["uid"] = UID
    plain: Object = json.loads(deep_json.dumps(held))
    return plain


def objects(now: tuple[str, ...] = ("mig",), uid: str = UID) -> list[Object]:
    """A node with MIG partitions and vGPUs of one GPU, of which a claim holds mig-0."""
    changed = [part._replace(groups=now) if part.name == "mig-0" else part for part in (*MIG, *VGPU)]
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}}
    device_class = {**of_group("DeviceClass", "any"), "metadata": {"name": "any"}, "spec": {}}
    return [node, device_class, holder(uid), *slices(tuple(changed), "n1")]


def written(directory: Path, found: list[Object]) -> list[str]:
    """The options for a cluster in a file."""
    file = directory / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(found), encoding="utf-8")
    return ["--inventory", str(file)]


@pytest.fixture
def waiting(tmp_path: Path) -> list[str]:
    """The options for a claim for a vGPU, and one for a MIG partition."""
    file = tmp_path / "claims.yaml"
    claims = [of_group("ResourceClaim", type, spec=spec_asking(type)) for type in ("vgpu", "mig")]
    file.write_text(yaml.safe_dump_all(claims), encoding="utf-8")
    return ["-f", str(file)]


@pytest.mark.parametrize("options", RELEASES.values(), ids=RELEASES)
@pytest.mark.parametrize("now", NOW.values(), ids=NOW)
def test_what_claims_remember_counts(
    now: tuple[str, ...],
    options: list[str],
    waiting: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Whatever the slice says by now: a vGPU does not go with it, and another partition does."""
    where = [*written(tmp_path, objects(now)), *options, "-o", "json"]
    assert main(["explain", *waiting, *where]) == 1
    explained = json.loads(capsys.readouterr().out)
    assert {each["name"]: each["verdict"] for each in explained["objects"]} == {
        "vgpu": "does not fit",
        "mig": "fits",
    }
    assert "gpu-0-counters is in use with groups {mig}" in json.dumps(explained)
    assert main(["simulate", *waiting, *where]) == 1
    simulated = json.loads(capsys.readouterr().out)["runs"][0]["placements"]
    assert {each["pod"].rpartition("/")[2]: each["node"] for each in simulated} == {"vgpu": None, "mig": "n1"}
    assert main(["devices", *where]) == 0
    devices = {each["device"]: each for each in json.loads(capsys.readouterr().out)["devices"]}
    assert {name: each["status"] for name, each in devices.items()} == {
        "mig-0": "allocated",
        "mig-1": "free",
        "mig-2": "free",
        "vgpu-0": "other groups in use",
        "vgpu-1": "other groups in use",
    }
    shown = {"counterSet": COUNTERS, "groups": ["vgpu"], "inUse": ["mig"]}
    assert devices["vgpu-0"]["compatibilityGroups"] == [shown]
    assert devices["mig-0"]["claims"][0]["compatibilityGroups"] == {COUNTERS: ["mig"]}


def test_snapshot_of_another_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It does not count: then what slices say is in use."""
    where = [*written(tmp_path, objects(("vgpu",), "other")), *RELEASES["gate"], "-o", "json"]
    assert main(["devices", *where, "vgpu-0"]) == 0
    read = capsys.readouterr()
    [device] = json.loads(read.out)["devices"]
    assert device["compatibilityGroups"][0]["inUse"] == ["vgpu"]
    assert "claims remember" not in read.err


def test_devices_show_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of the device, those in use on its counter sets, and those that claims remember."""
    where = [*written(tmp_path, objects()), *RELEASES["gate"]]
    assert main(["devices", *where, "vgpu-0"]) == 0
    assert "\nCompatibility Groups:\n  gpu-0-counters:  groups {vgpu}  groups {mig} in use\n" in (
        capsys.readouterr().out
    )
    assert main(["devices", *where, "mig-0"]) == 0
    assert "default/held  request gpu, groups {mig} on gpu-0-counters" in capsys.readouterr().out
    assert main(["devices", *where, "-o", "wide"]) == 0
    assert "gpu-0-counters=vgpu " in capsys.readouterr().out


@pytest.mark.parametrize(("options", "said"), WITHOUT.values(), ids=WITHOUT)
def test_groups_that_do_not_count_are_mentioned(
    options: list[str], said: str, waiting: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command says so, and why; those of slices and those that claims remember are both left out."""
    where = [*written(tmp_path, objects()), *options]
    for command in (["explain", *waiting], ["simulate", *waiting], ["devices"]):
        assert main([*command, *where]) == 0
        read = capsys.readouterr()
        assert f"ResourceSlice n1-devices declares {said}\n" in read.out + read.err


def test_gate_off_in_a_cluster_that_has_groups(
    cluster: FakeCluster, waiting: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The gate is named, rather than a pool that lacks slices."""
    cluster.versions = {"v1": ("resourceclaims", "deviceclasses", "resourceslices")}
    _, device_class, _, *found = objects()
    cluster.lists[f"{GROUP}/v1/resourceslices"] = found
    cluster.lists[f"{GROUP}/v1/deviceclasses"] = [device_class]
    cluster.lists["/api/v1/nodes"] = [{"metadata": {"name": "n1"}}]
    live = ["--kubeconfig", _kubeconfig(tmp_path, _address(cluster)), "--live"]
    off = "compatibility groups are off (DRADeviceCompatibilityGroups)"
    assert main(["explain", *waiting, *live]) == 1
    text = capsys.readouterr().out
    assert f"{off}, so slices with them do not count: 1 of 2 slices of {DRIVER}/n1-pool have them" in text
    assert "2 of 2 slices" not in text
    assert main(["devices", *live, "-o", "json", "mig-0"]) == 0
    [device] = json.loads(capsys.readouterr().out)["devices"]
    assert device["status"] == "feature gate off"
    assert device["problem"] == f"{off}, and 1 of 2 slices of {DRIVER}/n1-pool have them"
