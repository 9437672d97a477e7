"""`claimcheck devices` of a live cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.commandline.test_kubeconfig import (
    GROUP,
    OWN_GROUP,
    PATCHES,
    FakeCluster,
    _address,
    _claim,
    _kubeconfig,
    cluster,
)

__all__ = ["cluster"]
SLICE = {
    "metadata": {"name": "s"},
    "spec": {
        "driver": "gpu.example.com",
        "nodeName": "n1",
        "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "g0", "attributes": {"model": {"string": "a100"}}}],
    },
}
PATCH = {
    "metadata": {"name": "p"},
    "spec": {"devices": {"attributes": {"gpu.example.com/model": {"string": "generic"}}}},
}
CLASS = {
    "metadata": {"name": "gpu.example.com"},
    "spec": {
        "selectors": [
            {"cel": {"expression": 'device.attributes["gpu.example.com"].?model.orValue("") == "generic"'}}
        ]
    },
}


@pytest.fixture
def config(cluster: FakeCluster, tmp_path: Path) -> str:
    """A kubeconfig for a cluster with a device, and a pod that waits."""
    cluster.versions = {"v1": ("resourceclaims", "deviceclasses", "resourceslices")}
    cluster.lists[f"{GROUP}/v1/resourceslices"] = [SLICE]
    cluster.lists[f"{GROUP}/v1/deviceclasses"] = [CLASS]
    cluster.lists[f"{GROUP}/v1/resourceclaims"] = [_claim("first")]
    cluster.lists["/api/v1/nodes"] = [{"metadata": {"name": "n1"}}]
    cluster.has_patches = True
    return _kubeconfig(tmp_path, _address(cluster))


def run(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit code, output and what is said beside it."""
    code = main(["devices", *options])
    written = capsys.readouterr()
    return code, written.out, written.err


def devices(written: str) -> list[dict[str, Any]]:
    """The devices of a report."""
    found: list[dict[str, Any]] = json.loads(written)["devices"]
    return found


def test_live(config: str, cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """The devices are those of the cluster, as its patches make them; claims are allocated in it."""
    cluster.lists[f"{OWN_GROUP}/{PATCHES}"] = [PATCH]
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "n1", "device": "g0"}
    claim = {**_claim("first"), "status": {"allocation": {"devices": {"results": [result]}}}}
    cluster.lists[f"{GROUP}/v1/resourceclaims"] = [claim]
    code, written, said = run(capsys, "--kubeconfig", config, "-o", "json")
    assert (code, said) == (0, "")
    [found] = devices(written)
    model = found["attributes"]["model"]
    assert (model["string"], model["from"]) == ("generic", {"kind": "ResourceSlicePatch", "name": "p"})
    assert (found["status"], found["claims"][0]["name"]) == ("allocated", "first")


def test_live_is_the_default(
    config: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an inventory it is the cluster that kubectl asks."""
    monkeypatch.setenv("KUBECONFIG", config)
    assert run(capsys, "g0", "-o", "json")[0] == 0
    assert run(capsys, "g1") == (2, "", "claimcheck: no device g1\n")


def test_impact(
    config: str, cluster: FakeCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a patch would do to the pods of a live cluster."""
    file = tmp_path / "patch.json"
    own = {"apiVersion": "claimcheck.example.com/v1alpha3", "kind": "ResourceSlicePatch"}
    file.write_text(json.dumps({**own, **PATCH}), encoding="utf-8")
    assert main(["impact", "--kubeconfig", config, "-o", "json", str(file)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert json.loads(captured.out)["starting"] == [{"pod": "Pod team/pod", "node": "n1"}]


def test_forbidden_slices(config: str, cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Devices that may not be read are not no devices."""
    cluster.forbidden = {f"{GROUP}/v1/resourceslices"}
    code, written, said = run(capsys, "--kubeconfig", config)
    assert (code, written) == (2, "")
    assert "nodes is forbidden: User cannot list nodes" in said
    assert "no devices found" not in said


def test_forbidden_claims(config: str, cluster: FakeCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """What is missing in the answer is said."""
    cluster.forbidden = {f"{GROUP}/v1/resourceclaims"}
    code, written, said = run(capsys, "--kubeconfig", config)
    assert (code, written.splitlines()[1].split()[2]) == (2, "free")
    assert "devices that they hold count as free" in said


def test_no_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster that does not answer is not one without devices."""
    code, written, said = run(capsys, "--kubeconfig", _kubeconfig(tmp_path, "http://127.0.0.1:9"))
    assert (code, written, said.count("\n")) == (2, "", 1)
    assert "no answer from http://127.0.0.1:9: connection refused" in said
