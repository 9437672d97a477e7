"""kubectl against a server of a test: what people see."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from tests.e2e.binaries import tool
from tests.e2e.control_plane import ApiServer

_SECONDS = 180


class Output(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    text: str
    errors: str

    @property
    def warnings(self) -> list[str]:
        """The server's warnings, as kubectl prints them."""
        lines = self.errors.splitlines()
        return [line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: ")]

    @property
    def value(self) -> Any:
        assert self.code == 0, self.errors
        return json.loads(self.text)


class Kubectl:
    """Commands as an administrator, or as somebody else."""

    def __init__(self, server: ApiServer, cache: Path) -> None:
        self.kubeconfig = server.kubeconfig
        self._command = [str(tool("kubectl")), f"--kubeconfig={server.kubeconfig}", f"--cache-dir={cache}"]

    def __call__(self, *arguments: str, user: str = "", groups: tuple[str, ...] = ()) -> Output:
        identity = [f"--as={user}"] if user else []
        identity += [f"--as-group={group}" for group in groups]
        done = subprocess.run(
            [*self._command, *identity, *arguments],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Output(done.returncode, done.stdout, done.stderr)

    def send(self, verb: str, obj: object, *arguments: str, user: str = "") -> Output:
        """``create``, ``replace`` or ``apply`` of an object from standard input."""
        identity = [f"--as={user}"] if user else []
        done = subprocess.run(
            [*self._command, *identity, verb, "-f", "-", *arguments],
            input=json.dumps(obj),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Output(done.returncode, done.stdout, done.stderr)
