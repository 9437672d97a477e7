"""Installed as users do it, with what the package index has: by pip and by pipx."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.built_distribution import ROOT, build

GOOD = ROOT / "manifests" / "examples" / "good"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution and the wheel."""
    return build(tmp_path_factory.mktemp("dist"))


def run(*command: str, directory: Path, **environment: str) -> str:
    done = subprocess.run(
        command,
        check=False,
        cwd=directory,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("which", ["sdist", "wheel"])
def test_pip_install(which: str, built: tuple[Path, Path], tmp_path: Path) -> None:
    """Into an empty environment; the source distribution names what it is built with."""
    venv.create(tmp_path / "environment", with_pip=True)
    directory = tmp_path / "environment" / "bin"
    wanted = built[0] if which == "sdist" else built[1]
    run(str(directory / "pip"), "install", "--quiet", str(wanted), directory=tmp_path)
    report = run(str(directory / "claimcheck"), "validate", str(GOOD), directory=tmp_path)
    assert "0 invalid" in report


def test_pipx_run(built: tuple[Path, Path], tmp_path: Path) -> None:
    pipx = [sys.executable, "-m", "pipx", "run", "--spec", str(built[1]), "claimcheck"]
    own = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    assert "0 invalid" in run(*pipx, "validate", str(GOOD), directory=tmp_path, **own)
