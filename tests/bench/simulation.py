"""`python -m tests.bench.simulation`: `claimcheck simulate` in clusters of growing size, with three shapes of claim.

A node has 8 GPUs, two on each PCIe root. Each pod asks for CPU and memory, and by turns for one GPU, for a better GPU or else
two others (`firstAvailable`), for two GPUs on one root. The pods are in Deployments, or each by itself. Of the nodes
all devices may differ, as with drivers that publish serial numbers. Told are seconds and memory of the whole command, reading included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

_DRIVER, _ROOT = "gpu.example.com", "resource.kubernetes.io/pcieRoot"
_GPUS = 8
_REPLICAS = 100
#: Pods and nodes.
_SIZES = ((1_000, 500), (10_000, 5_000))


class _Used(NamedTuple):
    """What a run took: by the clock and of all processors, in seconds, and of memory at most."""

    clock: float
    cpu: float
    megabytes: float

    def __str__(self) -> str:
        return f"{self.clock:9.1f} s{self.cpu:8.1f} s CPU{self.megabytes:6.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.simulation", description=__doc__)
    parser.add_argument("--nodes", type=int, help="only this size, with twice as many pods")
    parser.add_argument("--objective", default="kube-scheduler")
    parser.add_argument("--before", metavar="FILE", help="the claimcheck of another state, to compare with")
    options = parser.parse_args()
    sizes = _SIZES if options.nodes is None else ((2 * options.nodes, options.nodes),)
    command = Path(sys.executable).with_name("claimcheck")
    for title, is_different, replicas in (
        ("equal devices", False, _REPLICAS),
        ("equal devices, each pod by itself", False, 1),
        ("all devices different", True, _REPLICAS),
    ):
        print(title)
        all_used = []
        for pods, nodes in sizes:
            with tempfile.TemporaryDirectory(prefix="claimcheck-bench-") as name:
                directory = Path(name)
                _write(directory / "cluster.json", _cluster(nodes, is_different=is_different))
                _write(directory / "pods.json", _workloads(pods, replicas))
                used = _simulate(command, directory, options.objective)
                ratio = ""
                if options.before:
                    before = _simulate(Path(options.before), directory, options.objective)
                    ratio = f"; before{before}, {before.cpu / used.cpu:.1f}x"
            print(f"  {f'{pods:,} pods, {nodes:,} nodes':28}{used}{ratio}", flush=True)
            all_used.append(used)
        print(f"  grows {all_used[-1].cpu / all_used[0].cpu:.1f}-fold")


def _simulate(command: Path, directory: Path, objective: str) -> _Used:
    words: list[str | Path] = [command, "simulate"]
    words += ["-f", directory / "pods.json", "--inventory", directory / "cluster.json"]
    words += ["--compare", objective, "--timeout", "3600"]
    with (directory / "report").open("w+") as report:
        start = time.perf_counter()
        process = subprocess.Popen(words, stdout=report, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            report.seek(0)
            raise SystemExit(f"not all pods are placed:\n{report.read()[:2000]}")
    return _Used(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def _write(file: Path, objects: Iterator[dict[str, Any]]) -> None:
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def _cluster(nodes: int, *, is_different: bool) -> Iterator[dict[str, Any]]:
    yield {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": _selects(f'device.driver == "{_DRIVER}"'),
    }
    for number in range(nodes):
        name = f"node-{number:04}"
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}},
        }
        devices = [_device(number, gpu, is_different=is_different) for gpu in range(_GPUS)]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name},
            "spec": {"driver": _DRIVER, "nodeName": name, "pool": pool, "devices": devices},
        }


def _device(node: int, gpu: int, *, is_different: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "model": {"string": ("h100", "a100")[node % 2]},
        "index": {"int": gpu},
        "driverVersion": {"version": "1.2.3"},
        _ROOT: {"string": f"pci0000:{gpu // 2:02d}"},
    }
    if is_different:
        attributes["uuid"] = {"string": f"GPU-{node:08d}-{gpu}"}
    return {"name": f"gpu-{gpu}", "attributes": attributes, "capacity": {"memory": {"value": "80Gi"}}}


def _workloads(pods: int, replicas: int) -> Iterator[dict[str, Any]]:
    h100, a100 = (_selects(f'device.attributes["{_DRIVER}"].model == "{each}"') for each in ("h100", "a100"))
    better = {"name": "h100", "deviceClassName": "gpu", **h100}
    others = {"name": "a100", "deviceClassName": "gpu", "count": 2, **a100}
    shapes: dict[str, dict[str, Any]] = {
        "one": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]},
        "better": {"requests": [{"name": "gpu", "firstAvailable": [better, others]}]},
        "pair": {
            "requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu", "count": 2}}],
            "constraints": [{"requests": ["gpus"], "matchAttribute": _ROOT}],
        },
    }
    for name, devices in shapes.items():
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"spec": {"devices": devices}},
        }
    names = list(shapes)
    for number in range(pods // replicas):
        requests = {"cpu": "1", "memory": "4Gi"}
        spec = {
            "containers": [
                {
                    "name": "main",
                    "image": "image",
                    "resources": {"requests": requests, "claims": [{"name": "gpu"}]},
                }
            ],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": names[number % len(names)]}],
        }
        metadata = {"name": f"pods-{number}", "namespace": "default"}
        if replicas == 1:
            yield {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
            continue
        labels = {"app": metadata["name"]}
        template = {"metadata": {"labels": labels}, "spec": spec}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        }


def _selects(expression: str) -> dict[str, Any]:
    return {"selectors": [{"cel": {"expression": expression}}]}


if __name__ == "__main__":
    main()
