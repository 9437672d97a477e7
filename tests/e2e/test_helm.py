"""`validate --helm` with a real helm: templates are told of the server by whose rules their objects are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main
from tests.e2e.binaries import tool

CHART = """apiVersion: v2
name: gpu
version: 1.0.0
kubeVersion: ">=1.34"
"""
TEMPLATE = """{{- if .Capabilities.APIVersions.Has "resource.k8s.io/v1/DeviceClass" }}
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: GPU-{{ .Capabilities.KubeVersion.Minor }}
{{- end }}
"""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], 'Invalid value: "GPU-37"'),
        (["--kube-version", "1.34"], 'Invalid value: "GPU-34"'),
        (["--runtime-config", "resource.k8s.io/v1=false"], "0 objects"),
        (
            ["--kube-version", "1.30"],
            "chart requires kubeVersion: >=1.34 which is incompatible with Kubernetes v1.30.0",
        ),
    ],
)
def test_conditions_and_constraints(
    options: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A template under a condition on a version is rendered where the server serves that."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(CHART)
    (tmp_path / "templates" / "class.yaml").write_text(TEMPLATE)
    monkeypatch.setenv("PATH", str(tool("helm").parent))
    main(["validate", "--helm", *options, str(tmp_path)])
    assert told in capsys.readouterr().out


def test_schemas_read_no_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The attack: a `$ref` to a file, whose values Helm quotes where those of the chart are others."""
    (tmp_path / "secret.json").write_text('{"enum": ["s3cret"]}')
    chart = tmp_path / "chart"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(CHART)
    (chart / "templates" / "class.yaml").write_text(TEMPLATE)
    (chart / "values.schema.json").write_text(f'{{"$ref": "file://{tmp_path}/secret.json"}}')
    monkeypatch.setenv("PATH", str(tool("helm").parent))
    main(["validate", "--helm", str(chart)])
    said = "".join(capsys.readouterr())
    assert "s3cret" not in said
    assert 'Invalid value: "GPU-37"' in said
