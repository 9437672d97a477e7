"""Objects in versions that are switched off: first the server's answer, then what is wrong in any version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main


def _claim(request: dict[str, Any]) -> dict[str, Any]:
    return _object("ResourceClaim", "v1beta1", {"devices": {"requests": [{"name": "gpu", **request}]}})


def _object(kind: str, version: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": spec,
    }


TAINT = {"key": "example.com/broken", "effect": "Never"}


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        pytest.param(_claim({"deviceClassName": "gpu"}), [], id="nothing else"),
        pytest.param(
            _claim({"deviceClassName": "Gpu", "count": -1}),
            ["spec.devices.requests[0].deviceClassName", "spec.devices.requests[0].count"],
            id="wrong values",
        ),
        pytest.param(_claim({"exactly": {"deviceClassName": "Gpu"}}), [], id="fields of the other version"),
        pytest.param(
            _object("DeviceTaintRule", "v1alpha3", {"taint": TAINT}),
            ["spec.taint.effect"],
            id="kind in no other version",
        ),
        pytest.param(_object("DeviceClass", "v1alpha3", {}), [], id="version that is gone"),
    ],
)
def test_what_else_is_wrong(
    written: dict[str, Any], fields: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what is wrong after the object has been rewritten, too, is told."""
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps(written), encoding="utf-8")
    assert main(["validate", "--kube-version", "1.34", "-o", "json", str(file)]) == 1
    [result] = json.loads(capsys.readouterr().out)["results"]
    assert [finding["rule"] for finding in result["findings"]] == ["NotServed"]
    assert [finding["field"] for finding in result.get("afterwards", ())] == fields
