"""Pods that name their node: kube-scheduler passes over them, and `claimcheck schedule` gives its own devices there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from allocator.pod_nodes import SIDECAR
from commandline.main import main
from resourceapi.objects import Object
from tests.commandline.test_compatibility_groups import of_group

SCHEMA = Path(__file__).parents[2] / "scheduler" / "config.schema.json"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with a cluster of two nodes: n1 has one device and a taint, n2 has two."""
    found: list[Object] = [{**of_group("DeviceClass", "any"), "metadata": {"name": "any"}, "spec": {}}]
    for name, count in (("n1", 1), ("n2", 2)):
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"d{number}"} for number in range(count)]
        spec = {"driver": "d.example.com", "nodeName": name, "pool": pool, "devices": devices}
        taints = [{"key": "a", "effect": "NoSchedule"}] if name == "n1" else []
        found += [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"taints": taints}},
            {**of_group("ResourceSlice", name, spec=spec), "metadata": {"name": name}},
        ]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(found), encoding="utf-8")
    return tmp_path


def ask(
    command: str, files: Path, capsys: pytest.CaptureFixture[str], scheduler: str, count: int, *more: str
) -> tuple[int, str]:
    """What a command answers for a pod on n1 that wants so many devices."""
    exactly = {"deviceClassName": "any", "count": count}
    spec = {
        "nodeName": "n1",
        "schedulerName": scheduler,
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
    }
    claim = of_group(
        "ResourceClaim", "c", spec={"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    )
    asking = [claim, {**of_group("Pod", "p", spec=spec), "apiVersion": "v1"}]
    (files / "pod.yaml").write_text(yaml.safe_dump_all(asking), encoding="utf-8")
    where = ["-f", str(files / "pod.yaml"), "--inventory", str(files / "cluster.yaml")]
    code = main([command, *where, *more])
    return code, capsys.readouterr().out


def test_pod_of_the_sidecar_gets_devices(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On its node, which need not be open for it, and on no other."""
    code, text = ask("explain", files, capsys, SIDECAR, 1)
    assert (code, "fits on n1\n" in text, "nobody allocates" in text) == (0, True, False)
    assert "  it names its node n1: `claimcheck schedule` gives it devices there\n" in text
    code, text = ask("simulate", files, capsys, SIDECAR, 1, "-o", "json")
    assert (code, json.loads(text)["runs"][0]["placements"][0]["node"]) == (0, "n1")


def test_pod_of_the_sidecar_that_does_not_fit(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only its node counts; it is not kube-scheduler that says so."""
    for command in ("explain", "simulate"):
        code, text = ask(command, files, capsys, SIDECAR, 2)
        assert code == 1
        assert "nobody allocates" not in text
        assert "kube-scheduler would say" not in text
        assert "1 of 2" in text


@pytest.mark.parametrize("scheduler", ["", "default-scheduler", "other"])
@pytest.mark.parametrize("command", ["explain", "simulate"])
def test_other_pods(command: str, scheduler: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody allocates their claims; the sidecar may be configured for another name."""
    code, text = ask(command, files, capsys, scheduler, 1)
    assert code == 1
    assert "nobody allocates its resource claims" in text
    assert ("unless `claimcheck schedule` serves it;" in text) == (scheduler == "other")


def test_name_of_the_sidecars_pods() -> None:
    """It is the one that its configuration has by default."""
    schema = json.loads(SCHEMA.read_text("utf-8"))
    assert schema["properties"]["scheduling"]["properties"]["schedulerName"]["default"] == SIDECAR


def test_claim_with_devices_of_another_node(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """kubelet waits, until the pod runs: then the node has changed since."""
    selector = {"nodeSelectorTerms": [{"matchFields": [_is_named("n2")]}]}
    allocation = {"devices": {"results": []}, "nodeSelector": selector}
    exactly = {"deviceClassName": "any", "count": 1}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    with open(files / "cluster.yaml", "a", encoding="utf-8") as cluster:
        claim = {**of_group("ResourceClaim", "c", spec=spec), "status": {"allocation": allocation}}
        cluster.write("---\n" + yaml.safe_dump(claim))
    uses = {
        "containers": [{"name": "c", "image": "i"}],
        "resourceClaims": [{"name": "g", "resourceClaimName": "c"}],
    }
    pod = {**of_group("Pod", "p", spec={"nodeName": "n1", **uses}), "apiVersion": "v1"}
    for phase, expected in (("Pending", "does not fit on n1"), ("Running", "is on n1")):
        (files / "pod.yaml").write_text(yaml.safe_dump({**pod, "status": {"phase": phase}}), encoding="utf-8")
        main(["explain", "-f", str(files / "pod.yaml"), "--inventory", str(files / "cluster.yaml")])
        assert expected in capsys.readouterr().out.partition("\n")[0]


def _is_named(node: str) -> Object:
    return {"key": "metadata.name", "operator": "In", "values": [node]}
