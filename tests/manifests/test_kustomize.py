"""The renderer of kustomizations, and that their files are installed; e2e tests compare it with kustomize."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from manifests.kustomize import DIRECTORY, KustomizeError, render, render_value
from resourceapi.objects import Object


def test_all_files_are_installed() -> None:
    """An installation has the files of every kustomization: its directory is a package with ``*.yaml`` as data."""
    root = DIRECTORY.parent
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "*.yaml" in settings["package-data"]["*"]
    for kustomization in DIRECTORY.rglob("kustomization.yaml"):
        package = ".".join(kustomization.parent.relative_to(root).parts)
        assert any(fnmatch(package, pattern) for pattern in settings["packages"]["find"]["include"])


def write(directory: Path, **kustomization: Any) -> Path:
    directory.mkdir(exist_ok=True)
    whole = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **kustomization}
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(whole))
    return directory


@pytest.mark.parametrize(
    ("kustomization", "message"),
    [
        ({"namePrefix": "a-"}, "not supported: namePrefix"),
        ({"kind": "Other"}, "kind must be one of"),
        ({"configMapGenerator": []}, "generatorOptions must be"),
        (
            {"configMapGenerator": [{"name": "a", "files": [], "options": {"immutable": True}}]},
            "only labels are supported",
        ),
        ({"resources": ["missing.yaml"]}, "missing.yaml"),
        ({"patches": [{"target": {"kind": "Namespace"}, "patch": "a: b"}]}, "only JSON patches"),
    ],
)
def test_what_is_not_known_is_not_passed_over(kustomization: Object, message: str, tmp_path: Path) -> None:
    """A kustomization that is beyond this renderer is refused, rather than rendered in part."""
    with pytest.raises(KustomizeError, match=message):
        render(write(tmp_path / "k", **kustomization))


def test_a_kustomization_by_value(tmp_path: Path) -> None:
    """One that is in no file can refer to files."""
    (tmp_path / "a.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: a}}")
    assert [
        obj["kind"] for obj in render_value({"kind": "Kustomization", "resources": ["a.yaml"]}, tmp_path)
    ] == ["Namespace"]
