"""The real control plane's binaries: found where they are already, else built from Go modules and kept.

`python -m tests.e2e.binaries` makes sure that all are there and prints the directory of the servers.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

KUBERNETES = "1.37.1"
ETCD = "3.7.3"
HELM = "3.18.4"
NAMES = ("etcd", "kube-apiserver")
"""What every test needs."""
TOOLS = ("kubectl", "kube-controller-manager", "kube-scheduler", "helm")
"""What some tests need besides, from `tool`."""

_GO_VERSION = "1.26.0"
_STAGED_MODULE = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/", re.MULTILINE)


def binaries() -> Path:
    """The directory with etcd and kube-apiserver of release `KUBERNETES`; builds them (some 10 minutes) if need be.

    Looked at in this order: `$KUBEBUILDER_ASSETS` (which must hold that release), a control plane that other tools
    have built in the user's cache, our own cache. Raises CalledProcessError or OSError if the build fails.
    """
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        _require_release(Path(assets))
        return Path(assets)
    shared, own = _caches()
    if _complete(shared):
        return shared
    _build_missing(own, NAMES)
    return own


def tool(name: str) -> Path:
    """One of `TOOLS`, from the directory of `binaries`, else from our own cache, where it is built if need be."""
    beside = binaries() / name
    if os.access(beside, os.X_OK):
        return beside
    _, own = _caches()
    _build_missing(own, (name,))
    return own / name


def _caches() -> tuple[Path, Path]:
    """Where other tools keep a control plane that they have built, and where we do."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "control-plane" / f"bin-{KUBERNETES}", cache / "claimcheck" / f"control-plane-{KUBERNETES}"


def _complete(directory: Path, names: Sequence[str] = NAMES) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in names)


def _build_missing(directory: Path, names: Sequence[str]) -> None:
    if _complete(directory, names):
        return
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be building: then its result is used
        _build(directory, names)


def _require_release(directory: Path) -> None:
    command = [str(directory / "kube-apiserver"), "--version"]
    version = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if version != f"Kubernetes v{KUBERNETES}":
        raise OSError(f"KUBEBUILDER_ASSETS: {KUBERNETES} is needed, {directory} has {version}")


def _build(directory: Path, names: Sequence[str]) -> None:
    if not shutil.which("go"):
        raise OSError(
            f"Go {_GO_VERSION} or newer is needed to build the control plane (or set KUBEBUILDER_ASSETS)"
        )
    if "etcd" in names:
        etcd = f"go.etcd.io/etcd/server/v3 v{ETCD}"
        _build_one(directory, "etcd", "go.etcd.io/etcd/server/v3", f"require {etcd}\n", "-s -w")
    major, minor, _ = KUBERNETES.split(".")
    stamp = "-X k8s.io/component-base/version.git"
    flags = f"-s -w {stamp}Version=v{KUBERNETES} {stamp}Major={major} {stamp}Minor={minor}"
    requirements = f"require k8s.io/kubernetes v{KUBERNETES}\n\nreplace (\n{_published_modules(minor)})\n"
    if "helm" in names:
        _build_one(
            directory, "helm", "helm.sh/helm/v3/cmd/helm", f"require helm.sh/helm/v3 v{HELM}\n", "-s -w"
        )
    for name in names:
        if name not in ("etcd", "helm"):
            _build_one(directory, name, f"k8s.io/kubernetes/cmd/{name}", requirements, flags)


def _published_modules(minor: str) -> str:
    """Replacements by published modules for those that k8s.io/kubernetes takes from its own source tree."""
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}"]
    download = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd="/")
    go_mod = Path(json.loads(download.stdout)["GoMod"]).read_text()
    version = f"v0.{minor}.{KUBERNETES.rpartition('.')[2]}"
    return "".join(f"\t{module} => {module} {version}\n" for module in _STAGED_MODULE.findall(go_mod))


def _build_one(directory: Path, name: str, package: str, requirements: str, linker_flags: str) -> None:
    if os.access(directory / name, os.X_OK):
        return
    print(f"building {name}", file=sys.stderr, flush=True)
    source = directory / f"source-{name}"
    source.mkdir(exist_ok=True)
    (source / "go.mod").write_text(f"module claimcheck/{name}\n\ngo {_GO_VERSION}\n\n{requirements}")
    unfinished = directory / f".{name}"
    options = ["-mod=mod", "-trimpath", "-ldflags", linker_flags, "-o", str(unfinished)]
    subprocess.run(["go", "build", *options, package], check=True, cwd=source)
    unfinished.replace(directory / name)


if __name__ == "__main__":
    for each in TOOLS:
        tool(each)
    print(binaries())
