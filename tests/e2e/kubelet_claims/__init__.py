"""The parts of kubelet 1.30 that find plugins and have claims prepared, on a node of a real control plane."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.binaries import kubelet_claims


class KubeletClaims:
    """The running program (`main.go`)."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, command: str, argument: str = "") -> Any:
        """The program's answer: `error`, or what there is to tell."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{command} {argument}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


@contextlib.contextmanager
def running_kubelet_claims(kubeconfig: Path, kubelet: Path, node: str) -> Iterator[KubeletClaims]:
    """Run it until the end.

    :param kubelet: kubelet's directory.
    """
    registry, state = kubelet / "plugins_registry", kubelet / "state"
    for directory in (registry, state):
        directory.mkdir(exist_ok=True)
    command = [str(kubelet_claims()), str(kubeconfig), str(registry), str(state), node]
    with (
        (kubelet / "kubelet-claims.log").open("w") as log,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        try:
            yield KubeletClaims(process)
        finally:
            process.kill()
