"""kubectl-validate, with the schemas of the release that Claimcheck answers for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests.e2e.binaries import KUBERNETES
from tests.e2e.control_plane import control_plane

_VERSION = "v0.0.4"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "claimcheck"


def kubectl_validate() -> list[str]:
    """The command, less the files to validate. Built with Go and kept in the user's cache, as its schemas are."""
    home = _CACHE / f"kubectl-validate-{_VERSION}"
    binary = home / "kubectl-validate"
    if not binary.exists():
        home.mkdir(parents=True, exist_ok=True)
        command = ["go", "install", f"sigs.k8s.io/kubectl-validate@{_VERSION}"]
        subprocess.run(command, check=True, env={**os.environ, "GOBIN": str(home)})
    return [str(binary), "--local-schemas", str(_schemas())]


def _schemas() -> Path:
    """A directory with the OpenAPI document of every group and version of a running API server."""
    directory = _CACHE / f"openapi-{KUBERNETES}"
    finished = directory / "complete"
    if finished.exists():
        return directory
    with control_plane("1.37") as server:
        for path in json.loads(server.client.ask("GET", "/openapi/v3").body)["paths"]:
            if not path.startswith(("api/", "apis/")) or path.count("/") != (
                1 if path.startswith("api/") else 2
            ):
                continue
            document = directory / f"{path}.json"
            document.parent.mkdir(parents=True, exist_ok=True)
            document.write_text(json.dumps(server.client.ask("GET", f"/openapi/v3/{path}").body))
    finished.touch()
    return directory
