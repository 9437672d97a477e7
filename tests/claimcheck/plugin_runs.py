"""Runs of pytest with the plugin, in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def pytest_with_plugin(directory: Path) -> str:
    """What pytest prints about the tests of a directory, with nothing of this project's own configuration."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "claimcheck.pytest_plugin",
        "--strict-markers",
        "-q",
        "-rA",
    ]
    command += ["-p", "no:cacheprovider", "--rootdir", str(directory), "-c", os.devnull]
    command += ["--import-mode=importlib", str(directory)]
    # it is named above, whether or not the checkout is installed with its entry point
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True
    ).stdout
