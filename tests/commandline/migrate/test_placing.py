"""Every example of the article on classic DRA, and parameters of a driver: mistakes are named, results are valid and placed."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline.main import main
from tests.commandline.snapshot_files import assert_snapshot

HERE = Path(__file__).parent
FILES = sorted(file.name for file in (HERE / "article").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES)
def test_mistakes_are_named(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Parameters alone are nothing to validate; all else would be refused today, and the first error names the mistake."""
    monkeypatch.chdir(HERE / "article")
    code = main(["validate", "-o", "json", file])
    out = capsys.readouterr().out
    expected = {
        "allocated-claim.yaml": 'no matches for kind \\"ResourceClaim\\" in version \\"resource.k8s.io/v1alpha2\\"',
        "claim-template.yaml": 'no matches for kind \\"ResourceClaimTemplate\\" in version \\"resource.k8s.io/v1alpha2\\"',
        "class.yaml": 'no matches for kind \\"ResourceClass\\" in version \\"core.k8s.io/v1alpha2\\"',
        "pod.yaml": "cannot unmarshal string into Go struct field ResourceRequirements.spec.containers.resources.claims",
        "requirements.yaml": "",
    }[file]
    assert code == (1 if expected else 0)
    assert expected in out


def test_all_of_them_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result and all that is said about it; it is valid, and the pod and the claim find devices."""
    monkeypatch.chdir(HERE)
    assert main(["migrate", "article"]) == 0
    out, err = capsys.readouterr()
    assert_snapshot(out, HERE / "article.migrated.yaml")
    assert_snapshot(err, HERE / "article.remarks.txt")
    result = tmp_path / "migrated.yaml"
    result.write_text(out, encoding="utf-8")
    assert main(["validate", "--warnings-as-errors", str(result)]) == 0
    assert "4 objects: 4 valid" in capsys.readouterr().out
    assert main(["explain", "--inventory", "cluster", str(result)]) == 0
    explained = capsys.readouterr().out
    assert "device: gpu.example.com/node-a/large" in explained
    assert "device: gpu.nvidia.com/node-a/gpu-0" in explained
    assert "2 checked: 2 fit" in explained


def test_parameters_of_a_published_driver(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What they ask for is found on a node: two GPUs with such memory, name and version, and a MIG device."""
    assert main(["migrate", str(HERE / "nvidia" / "pod.yaml")]) == 0
    result = tmp_path / "migrated.yaml"
    result.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["validate", "--warnings-as-errors", str(result)]) == 0
    capsys.readouterr()
    assert main(["explain", "--inventory", str(HERE / "nvidia" / "cluster.yaml"), str(result)]) == 0
    explained = capsys.readouterr().out
    for device in ("gpu-0", "gpu-1", "gpu-2-mig"):
        assert f"device: gpu.nvidia.com/node-a/{device}\n" in explained


@pytest.mark.parametrize("file", FILES)
def test_one_by_one(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file lacks is said; what migrates is valid."""
    code = main(["migrate", "-o", "json", str(HERE / "article" / file)])
    out = capsys.readouterr().out
    missing = file == "claim-template.yaml"
    assert code == (1 if missing else 0)
    assert ("GPURequirements device-consumer-gpu-parameters is not among the files" in out) is missing
