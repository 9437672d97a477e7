"""kubectl's plugin: its executables, and the manifest for krew."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from commandline.main import main

ROOT = Path(__file__).parents[2]
FILE = ROOT / "manifests" / "krew" / "claimcheck.yaml"
PLUGIN = yaml.safe_load(FILE.read_text())
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_executables() -> None:
    """kubectl finds both by their names."""
    scripts = PROJECT["scripts"]
    assert scripts["kubectl-claimcheck"] == scripts["claimcheck"]
    assert "kubectl_complete-claimcheck" in scripts


def test_krew_manifest() -> None:
    """As krew demands it: the file is named after the plugin, versions begin with v, and what is installed exists."""
    assert PLUGIN["metadata"]["name"] == FILE.stem
    spec = PLUGIN["spec"]
    assert spec["version"] == "v" + PROJECT["version"].partition(".dev")[0]
    assert len(spec["shortDescription"]) <= 50
    assert PROJECT["requires-python"].removeprefix(">=") in spec["caveats"]
    assert {platform["bin"] for platform in spec["platforms"]} <= set(PROJECT["scripts"])


@pytest.mark.parametrize(
    "platform", PLUGIN["spec"]["platforms"], ids=lambda each: each["uri"].rpartition("/")[2]
)
def test_platforms(platform: dict[str, object]) -> None:
    """Each has an archive of its own, of this version, with a checksum."""
    selector = platform["selector"]
    assert isinstance(selector, dict)
    labels = selector["matchLabels"]
    uri = str(platform["uri"])
    assert uri.endswith(
        f"/{PLUGIN['spec']['version']}/kubectl-claimcheck-{labels['os']}-{labels['arch']}.tar.gz"
    )
    assert re.fullmatch("[0-9a-f]{64}", str(platform["sha256"]))


@pytest.mark.parametrize("format", ["text", "json"])
def test_version(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The version, and the releases that it knows."""
    assert main(["version", "-o", format]) == 0
    shown = capsys.readouterr().out
    assert PROJECT["version"] in shown
    assert "1.34" in shown
    assert "1.37" in shown
