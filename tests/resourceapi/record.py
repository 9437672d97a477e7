"""Asks real API servers about feature gates and served versions, and writes down what they answer.

python -m tests.resourceapi.record [--release 1.34] [releases] [refusals]

`data/releases.json`: by release which versions of the DRA kinds are served by default and with every API switched on, and
the DRA gates (stage, default, whether locked); all other gates, and what must be on for each, into the data of the
product (`resourceapi/data/other_gates`). `data/refusals.json`: settings of gates, by release, with the error that the
server gives at its start ("" if it takes them; of errors in no particular order, one order).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from resourceapi import other_gates
from resourceapi.gates import GATES
from resourceapi.measured import MEASURED, measured
from tests.conformance.profiles import PROFILES
from tests.e2e.binaries import binaries
from tests.e2e.client import Client
from tests.e2e.control_plane import control_plane

DATA = Path(__file__).parent / "data"
GROUP = "resource.k8s.io"
_ENABLED = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="(\w*)"\} ([01])$', re.MULTILINE)
_FAILED = re.compile(r'"command failed" err=("(?:[^"\\]|\\.)*")')
_DEPENDS = re.compile(r"(\w+) is enabled, but depends on features that are disabled: \[([\w ]*)\]")
_ALL_OF_A_STAGE = ("AllAlpha", "AllBeta")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.resourceapi.record", description=__doc__.splitlines()[0]
    )
    releases = [f"1.{minor}" for minor in MEASURED]
    parser.add_argument("--release", action="append", choices=releases, help="ask only this one")
    parser.add_argument("what", nargs="*", choices=("releases", "refusals", []))
    options = parser.parse_args(arguments)
    wanted = options.release or releases
    if not options.what or "releases" in options.what:
        known = _read("releases") | {release: _release(release) for release in wanted}
        _write(DATA / "releases.json", {release: known[release] for release in releases if release in known})
    if not options.what or "refusals" in options.what:
        rows = [
            {**row, "error": refusal(row["release"], row["settings"])} if row["release"] in wanted else row
            for row in _read("refusals")
        ]
        _write(DATA / "refusals.json", rows)
    return 0


def refusal(release: str, settings: str) -> str:
    """The error that kube-apiserver ends with for these settings of feature gates, or nothing if it takes them."""
    with tempfile.TemporaryDirectory() as directory:
        command = [
            str(binaries(_patch_of(release)) / "kube-apiserver"),
            f"--feature-gates={settings}",
            f"--cert-dir={directory}",
        ]
        log = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stderr
    found = _FAILED.findall(log)
    # up to 1.33 what is wrong with a flag is printed as any other error
    error: str = json.loads(found[-1]) if found else _plain_error(log)
    # Without an etcd the server never starts; that is the first of its complaints if it has none about gates.
    return "" if "--etcd-servers must be specified" in error else error


def _plain_error(log: str) -> str:
    lines = [line for line in log.splitlines() if line.startswith("Error: ")]
    text = lines[-1].removeprefix("Error: ") if lines else ""
    return re.sub(r'^invalid argument ".*" for "--feature-gates" flag: ', "", text)


def _patch_of(release: str) -> str:
    return measured(int(release.partition(".")[2]))


def _release(release: str) -> dict[str, Any]:
    minor = int(release.partition(".")[2])
    profile = next(
        name
        for name, each in PROFILES.items()
        if each.release == measured(minor) and not name.endswith(("-all", "-off"))
    )
    dra = ["--feature-gates=DynamicResourceAllocation=true"] if minor < 34 else []
    with control_plane(profile, flags=[]) as server:
        metrics = server.client.ask("GET", "/metrics").body
        served = _served(server.client)
    with control_plane(profile, flags=["--runtime-config=api/all=true", *dra]) as server:
        served_with_all = _served(server.client)
    gates = {
        name: _described(release, name, stage or "GA", value == "1")
        for name, stage, value in sorted(_ENABLED.findall(metrics))
        if name not in _ALL_OF_A_STAGE
    }
    others = {
        "stages": {gate: text for gate, text in gates.items() if gate not in GATES},
        "dependsOn": {
            gate: needed for gate, needed in _dependencies(release, gates).items() if gate not in GATES
        },
    }
    _write(other_gates.DATA / f"{release}.json", others)
    own = {gate: text for gate, text in gates.items() if gate in GATES}
    return {"served": served, "servedWithAll": served_with_all, "gates": own}


def _described(release: str, gate: str, stage: str, enabled: bool) -> str:
    """`BETA off`, `GA on locked`: a locked gate can't be set to anything but what it is."""
    locked = "feature is locked to" in refusal(release, f"{gate}={str(not enabled).lower()}")
    return f"{stage} {'on' if enabled else 'off'}{' locked' if locked else ''}"


def _dependencies(release: str, gates: Mapping[str, str]) -> dict[str, list[str]]:
    """By gate what must be on for it, as far as that can be off."""
    settable = [gate for gate, text in gates.items() if not text.endswith("locked")]
    found: dict[str, set[str]] = {}
    for off in _halves(settable):
        settings = ",".join(f"{gate}={str(gate not in off).lower()}" for gate in settable)
        for gate, needed in _DEPENDS.findall(refusal(release, settings)):
            found.setdefault(gate, set()).update(needed.split())
    return {gate: sorted(needed) for gate, needed in sorted(found.items())}


def _halves(gates: Sequence[str]) -> Iterator[set[str]]:
    """Sets of gates to turn off, so that of any two gates each is off in one in which the other is on."""
    for bit in range(len(gates).bit_length()):
        for value in (0, 1):
            yield {gate for index, gate in enumerate(gates) if index >> bit & 1 == value}


def _served(client: Client) -> dict[str, list[str]]:
    """The kinds of every version of the group that is served."""
    found = {}
    body = client.ask("GET", f"/apis/{GROUP}").body
    for version in body["versions"] if isinstance(body, dict) and "versions" in body else ():
        resources = client.ask("GET", f"/apis/{version['groupVersion']}").body["resources"]
        found[version["version"]] = sorted(
            resource["kind"] for resource in resources if "/" not in resource["name"]
        )
    return found


def _read(name: str) -> Any:
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def _write(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
