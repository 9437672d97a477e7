"""Asks the real kube-apiserver about feature gates and served versions and writes its answers into `data`.

python -m tests.resourceapi.record [releases] [refusals]

`releases.json`: by release which versions of the DRA kinds are served by default and with every API switched on, and
the gates (stage, default, whether locked). `refusals.json`: settings of gates, by release, with the error that the server
gives at its start ("" if it takes them; of errors in no particular order, one order).
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.e2e.binaries import binaries
from tests.e2e.client import Client
from tests.e2e.control_plane import control_plane

DATA = Path(__file__).parent / "data"
RELEASES = ("1.34", "1.35", "1.36", "1.37")
GROUP = "resource.k8s.io"
_ENABLED = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="(\w*)"\} ([01])$', re.MULTILINE)
_FAILED = re.compile(r'"command failed" err=("(?:[^"\\]|\\.)*")')


def main(arguments: Iterable[str]) -> int:
    wanted = set(arguments) or {"releases", "refusals"}
    if "releases" in wanted:
        _write("releases", {release: _release(release) for release in RELEASES})
    if "refusals" in wanted:
        path = DATA / "refusals.json"
        recorded = json.loads(path.read_text(encoding="utf-8"))
        _write("refusals", [{**row, "error": refusal(row["release"], row["settings"])} for row in recorded])
    return 0


def refusal(release: str, settings: str) -> str:
    """The error that kube-apiserver ends with for these settings of feature gates, or nothing if it takes them."""
    with tempfile.TemporaryDirectory() as directory:
        command = [
            str(binaries() / "kube-apiserver"),
            f"--emulated-version={release}",
            f"--feature-gates={settings}",
            f"--cert-dir={directory}",
        ]
        log = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    error: str = json.loads(_FAILED.findall(log)[-1])
    # Without an etcd the server never starts; that is the first of its complaints if it has none about gates.
    return "" if error.startswith("[--etcd-servers must be specified") else error


def _release(release: str) -> dict[str, Any]:
    flags = [f"--emulated-version={release}"]
    with control_plane("1.37", flags=flags) as server:
        metrics = server.client.ask("GET", "/metrics").body
        served = _served(server.client)
    with control_plane("1.37", flags=[*flags, "--runtime-config=api/all=true"]) as server:
        served_with_all = _served(server.client)
    gates = {
        name: _described(release, name, stage or "GA", value == "1")
        for name, stage, value in sorted(_ENABLED.findall(metrics))
    }
    return {"served": served, "servedWithAll": served_with_all, "gates": gates}


def _described(release: str, gate: str, stage: str, enabled: bool) -> str:
    """`BETA off`, `GA on locked`: a locked gate can't be set to anything but what it is."""
    locked = "feature is locked to" in refusal(release, f"{gate}={str(not enabled).lower()}")
    return f"{stage} {'on' if enabled else 'off'}{' locked' if locked else ''}"


def _served(client: Client) -> dict[str, list[str]]:
    """The kinds of every version of the group that is served."""
    found = {}
    for version in client.ask("GET", f"/apis/{GROUP}").body.get("versions", ()):
        resources = client.ask("GET", f"/apis/{version['groupVersion']}").body["resources"]
        found[version["version"]] = sorted(
            resource["kind"] for resource in resources if "/" not in resource["name"]
        )
    return found


def _write(name: str, content: Any) -> None:
    (DATA / f"{name}.json").write_text(
        json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
