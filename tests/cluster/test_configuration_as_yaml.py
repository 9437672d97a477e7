"""What server-side apply makes of strings that are no YAML, or other YAML (`tests/e2e/test_kubectl.py` asks the real server)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cluster.configuration_as_yaml import ConfigurationRefused, read_as_yaml

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data/configurations_as_yaml.json").read_text(encoding="utf-8")
)


def configuration(parameters: Any) -> dict[str, Any]:
    """A DeviceClass with parameters of a driver."""
    opaque = {"driver": "a.example.com", "parameters": parameters}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "x"},
        "spec": {"config": [{"opaque": opaque}]},
    }


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_as_the_server_reads_it(case: dict[str, Any]) -> None:
    asked = configuration(case["parameters"])
    if "message" not in case:
        assert read_as_yaml(asked) == configuration(case.get("read", case["parameters"]))
        return
    with pytest.raises(ConfigurationRefused) as refused:
        read_as_yaml(asked)
    assert str(refused.value) == case["message"]
    assert refused.value.path[:5] == ("spec", "config", 0, "opaque", "parameters")
