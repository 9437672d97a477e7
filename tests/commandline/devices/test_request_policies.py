"""`claimcheck devices` shows the request policies of capacities."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.commandline.test_impact_on_devices import patch


@pytest.mark.parametrize(
    ("capacity", "said"),
    [
        (
            {"value": "99G"},
            "100G (default 1G, from 1G to 50G in steps of 1G) → 99G (no policy)",
        ),
        (
            {"value": "99G", "requestPolicy": {"default": "10G", "validValues": ["10G", "20G"]}},
            "100G (default 1G, from 1G to 50G in steps of 1G) → 99G (default 10G, only 10G or 20G)",
        ),
        (
            {
                "value": "99G",
                "requestPolicy": {"default": "1G", "validRange": {"min": "1G", "max": "50G", "step": "1G"}},
            },
            "100G → 99G",
        ),
    ],
)
def test_policies(
    capacity: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A patch replaces the policy as well, so that it is told where it differs; the description of a device has it."""
    policy = {"default": "1G", "validRange": {"min": "1G", "max": "50G", "step": "1G"}}
    device = {
        "name": "nic-0",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": "100G", "requestPolicy": policy}},
    }
    slice = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "n1"},
        "spec": {
            "driver": "nic.example.com",
            "nodeName": "n1",
            "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1},
            "devices": [device],
        },
    }
    lower = patch("lower", capacity={"nic.example.com/bandwidth": capacity})
    (tmp_path / "cluster.yaml").write_text(json.dumps(slice), encoding="utf-8")
    (tmp_path / "patch.yaml").write_text(json.dumps(lower), encoding="utf-8")
    where = ["--inventory", str(tmp_path / "cluster.yaml")]
    assert main(["impact", *where, str(tmp_path / "patch.yaml")]) == 0
    assert f"  capacity bandwidth: {said}  (ResourceSlicePatch lower)\n" in capsys.readouterr().out
    assert main(["devices", *where, "n1/nic-0"]) == 0
    described = "bandwidth:  100G (default 1G, from 1G to 50G in steps of 1G)\n"
    assert described in capsys.readouterr().out
