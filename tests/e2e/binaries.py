"""The real control planes' binaries: found where they are already, else built from Go modules and kept.

`python -m tests.e2e.binaries` makes sure that all are there and prints the directories of the servers: of the newest
release, of the last one with classic DRA, and of two between them. `python -m tests.e2e.binaries RELEASE` does so for one.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from resourceapi.measured import CLASSIC_MINOR, MEASURED, NEWEST, measured

KUBERNETES = measured(NEWEST)
CLASSIC = measured(CLASSIC_MINOR)
"""The last release with classic DRA: the API version v1alpha2, and drivers that negotiate with kube-scheduler."""
ASKED = (KUBERNETES, CLASSIC, *(measured(minor) for minor in (34, 36) if minor in MEASURED))
"""The releases that every run of the tests asks; others are built where somebody asks for them."""
ETCD = "3.7.3"
HELM = "3.18.4"
NAMES = ("etcd", "kube-apiserver")
"""What every test needs."""
TOOLS = ("kubectl", "kube-controller-manager", "kube-scheduler", "helm")
"""What some tests need besides, from `tool`."""
CLASSIC_TOOLS = ("kube-controller-manager", "kube-scheduler")
"""What they need of the release with classic DRA."""

KUBELET_CLAIMS = Path(__file__).parent / "kubelet_claims" / "main.go"
"""A program of our own, from parts of kubelet 1.30."""

_GO_VERSION = "1.26.0"
_STAGED_MODULE = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/", re.MULTILINE)


def binaries(release: str = KUBERNETES) -> Path:
    """The directory with etcd and kube-apiserver of a release; builds them (some 10 minutes) if need be.

    Looked at in this order: the directory that a variable names (see `assets`), a control plane that other tools have built in the
    user's cache, our own cache. Raises CalledProcessError or OSError if the build fails.
    """
    named = os.environ.get(assets(release))
    if named:
        _require_release(Path(named), release)
        return Path(named)
    shared, own = _caches(release)
    if _complete(shared):
        return shared
    _build_missing(own, release, NAMES)
    return own


def is_built(release: str) -> bool:
    """Whether a release can be asked without being built first."""
    return assets(release) in os.environ or any(map(_complete, _caches(release)))


def assets(release: str) -> str:
    """The variable that names the directory with a release's binaries, if they are not to be built."""
    major, minor, _ = release.split(".")
    return "KUBEBUILDER_ASSETS" if release == KUBERNETES else f"KUBEBUILDER_ASSETS_{major}_{minor}"


def tool(name: str, release: str = KUBERNETES) -> Path:
    """One of `TOOLS`, from the directory of `binaries`, else from our own cache, where it is built if need be."""
    beside = binaries(release) / name
    if os.access(beside, os.X_OK):
        return beside
    _, own = _caches(release)
    _build_missing(own, release, (name,))
    return own / name


def kubelet_claims() -> Path:
    """The program `KUBELET_CLAIMS`, from our own cache, where it is built if need be, or has changed."""
    _, cache = _caches(CLASSIC)
    source = KUBELET_CLAIMS.read_text()
    name = f"kubelet-claims-{hashlib.sha256(source.encode()).hexdigest()[:12]}"
    (cache / f"source-{name}").mkdir(parents=True, exist_ok=True)
    (cache / f"source-{name}" / KUBELET_CLAIMS.name).write_text(source)
    _build_missing(cache, CLASSIC, (name,))
    return cache / name


def _caches(release: str) -> tuple[Path, Path]:
    """Where other tools keep a control plane that they have built, and where we do."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "control-plane" / f"bin-{release}", cache / "claimcheck" / f"control-plane-{release}"


def _complete(directory: Path, names: Sequence[str] = NAMES) -> bool:
    return all(os.access(directory / name, os.X_OK) for name in names)


def _build_missing(directory: Path, release: str, names: Sequence[str]) -> None:
    if _complete(directory, names):
        return
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be building: then its result is used
        _build(directory, release, names)


def _require_release(directory: Path, release: str) -> None:
    command = [str(directory / "kube-apiserver"), "--version"]
    version = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    if version != f"Kubernetes v{release}":
        raise OSError(f"{assets(release)}: {release} is needed, {directory} has {version}")


def _build(directory: Path, release: str, names: Sequence[str]) -> None:
    if not shutil.which("go"):
        raise OSError(
            f"kube-apiserver {release} is not there: `python -m tests.e2e.binaries {release}` builds it with Go"
            f" {_GO_VERSION} or newer (or have {assets(release)} name a directory with its binaries)"
        )
    if "etcd" in names:
        etcd = f"go.etcd.io/etcd/server/v3 v{ETCD}"
        _build_one(directory, "etcd", "go.etcd.io/etcd/server/v3", f"require {etcd}\n", "-s -w")
    major, minor, _ = release.split(".")
    stamp = "-X k8s.io/component-base/version.git"
    flags = f"-s -w {stamp}Version=v{release} {stamp}Major={major} {stamp}Minor={minor}"
    requirements = f"require k8s.io/kubernetes v{release}\n\nreplace (\n{_published_modules(release)})\n"
    if "helm" in names:
        _build_one(
            directory, "helm", "helm.sh/helm/v3/cmd/helm", f"require helm.sh/helm/v3 v{HELM}\n", "-s -w"
        )
    for name in names:
        if name not in ("etcd", "helm"):
            has_source = (directory / f"source-{name}" / KUBELET_CLAIMS.name).exists()
            package = "." if has_source else f"k8s.io/kubernetes/cmd/{name}"
            _build_one(directory, name, package, requirements, flags)


def _published_modules(release: str) -> str:
    """Replacements by published modules for those that k8s.io/kubernetes takes from its own source tree."""
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{release}"]
    download = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd="/")
    go_mod = Path(json.loads(download.stdout)["GoMod"]).read_text()
    version = f"v0.{release.removeprefix('1.')}"
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
    for wanted in sys.argv[1:] or ASKED:
        for each in {KUBERNETES: TOOLS, CLASSIC: CLASSIC_TOOLS}.get(wanted, ()):
            tool(each, wanted)
        if wanted == CLASSIC:
            kubelet_claims()
        print(binaries(wanted))
