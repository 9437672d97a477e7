"""Asks a real kube-apiserver what its release is: gates and what they depend on, served versions, kinds, fields."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from resourceapi.gates import GATES
from tests.conformance.profiles import PROFILES, of_release
from tests.e2e.binaries import binaries
from tests.e2e.client import Client
from tests.e2e.control_plane import control_plane
from tests.release.data import GROUP, Record
from tests.release.fields import documented
from tests.release.pod_structs import extract

_ENABLED = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)",stage="(\w*)"\} ([01])$', re.MULTILINE)
_FAILED = re.compile(r'"command failed" err=("(?:[^"\\]|\\.)*")')
_DEPENDS = re.compile(r"(\w+) is enabled, but depends on features that are disabled: \[([\w ]*)\]")
_ALL_OF_A_STAGE = ("AllAlpha", "AllBeta")
_EVERY_API = "--runtime-config=api/all=true"
_EVERY_GATE = "--feature-gates=AllAlpha=true,AllBeta=true"
Tell = Callable[[str], None]


def record_of(version: str, tell: Tell) -> Record:
    """All that the server of release `version` (down to the patch) says of itself; `tell` is told how far it is."""
    minor = int(version.split(".")[1])
    name = f"asking {version}"
    PROFILES[name] = next(of_release(version, {"servedWithAll": {}}))._replace(name=name)
    try:
        tell("a server with its defaults")
        with control_plane(name, flags=[]) as server:
            metrics = server.client.ask("GET", "/metrics").body
            served = _served(server.client)
        tell("a server with every API")
        dra = ["--feature-gates=DynamicResourceAllocation=true"] if minor < 34 else []
        with control_plane(name, flags=[_EVERY_API, *dra]) as server:
            with_all = _served(server.client)
            documents = {
                each: server.client.ask("GET", f"/openapi/v3/apis/{GROUP}/{each}").body for each in with_all
            }
        tell("a server with every API and gate")
        with control_plane(name, flags=[_EVERY_API, _EVERY_GATE]) as server:
            kinds = _kinds(server.client)
    finally:
        del PROFILES[name]
    enabled = [row for row in sorted(_ENABLED.findall(metrics)) if row[0] not in _ALL_OF_A_STAGE]
    gates = {}
    for number, (gate, stage, value) in enumerate(enabled):
        if number % 40 == 0:
            tell(f"gates: {number} of {len(enabled)}")
        gates[gate] = _described(version, gate, stage or "GA", value == "1")
    tell("what the gates depend on")
    needs = _dependencies(version, gates)
    return Record(
        release={
            "served": served,
            "servedWithAll": with_all,
            "gates": {gate: text for gate, text in gates.items() if gate in GATES},
            "dependsOn": {gate: needed for gate, needed in needs.items() if gate in GATES},
            "kinds": kinds,
        },
        other_gates={
            "stages": {gate: text for gate, text in gates.items() if gate not in GATES},
            "dependsOn": {gate: needed for gate, needed in needs.items() if gate not in GATES},
        },
        fields=documented(documents),
        workloads=_workloads(version),
    )


def _workloads(version: str) -> dict[str, Any]:
    """The structs of pods and workloads, from the source."""
    return extract(
        *(_module(f"k8s.io/{name}@v0.{version.removeprefix('1.')}") for name in ("api", "apimachinery"))
    )


def _module(module: str) -> Path:
    command = ["go", "mod", "download", "-json", module]
    download = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd="/")
    return Path(json.loads(download.stdout)["Dir"])


def refusal(version: str, settings: str) -> str:
    """The error that kube-apiserver ends with for these settings of feature gates, or nothing if it takes them."""
    with tempfile.TemporaryDirectory() as directory:
        command = [
            str(binaries(version) / "kube-apiserver"),
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


def _described(version: str, gate: str, stage: str, enabled: bool) -> str:
    """`BETA off`, `GA on locked`: a locked gate can't be set to anything but what it is."""
    locked = "feature is locked to" in refusal(version, f"{gate}={str(not enabled).lower()}")
    return f"{stage} {'on' if enabled else 'off'}{' locked' if locked else ''}"


def _dependencies(version: str, gates: Mapping[str, str]) -> dict[str, list[str]]:
    """By gate what must be on for it, as far as that can be off."""
    settable = [gate for gate, text in gates.items() if not text.endswith("locked")]
    found: dict[str, set[str]] = {}
    for off in _halves(settable):
        settings = ",".join(f"{gate}={str(gate not in off).lower()}" for gate in settable)
        for gate, needed in _DEPENDS.findall(refusal(version, settings)):
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


def _kinds(client: Client) -> dict[str, str]:
    """The kinds of every version of Kubernetes' own groups."""
    paths = {"v1": "/api/v1"}
    for group in client.ask("GET", "/apis").body["groups"]:
        paths |= {each["groupVersion"]: f"/apis/{each['groupVersion']}" for each in group["versions"]}
    found = {}
    for version, path in sorted(paths.items()):
        resources = client.ask("GET", path).body["resources"]
        kinds = {each["kind"] for each in resources if "/" not in each["name"]}
        found[version] = " ".join(sorted(kinds))
    return found
