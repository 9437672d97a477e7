"""`python -m tests.bench.page`: what the answers of `claimcheck ui` take for 5,000 nodes with 8 devices each, equal and all different.

Processor seconds, as the machine may do other things. Nothing is asserted.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from gzip import compress
from typing import Any

from claimcheck.answers.cluster_state import ClusterState
from commandline.page.cluster_pages import ClusterPages
from documents.manifest import Unwritten
from resourceapi.releases import Profile
from serving.routes import HTTPError

NODES, DEVICES, CLASSES = 5_000, 8, 10
ROOT = "resource.kubernetes.io/pcieRoot"
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c", "namespace": "default"},
    "spec": {
        "devices": {
            "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu-1", "count": 2}}],
            "constraints": [{"matchAttribute": ROOT}],
        }
    },
}
TEXT = json.dumps(CLAIM)
ASKED: list[tuple[str, dict[str, str]]] = [
    ("cluster", {}),
    ("map", {}),
    ("capacity", {}),
    ("room", {"text": TEXT}),
    ("changed-capacity", {"cordon": "n7"}),
    ("room", {"text": TEXT, "cordon": "n7"}),
    ("changed-capacity", {"like": "n7", "nodes": "100"}),
    ("new-nodes", {"deviceClass": "gpu-1", "count": "8", "copies": "100"}),
    ("pools", {}),
    ("pool", {"driver": "gpu.example.com", "pool": "n1"}),
    ("validate", {"text": TEXT}),
    ("validate", {"text": TEXT + "\n"}),
    ("explain-text", {"text": TEXT}),
]


def _device(node: int, place: int, *, differs: bool) -> dict[str, Any]:
    attributes = {"model": {"string": "H100"}, ROOT: {"string": f"pci0000:{place // 2:02x}"}}
    own = {"uuid": {"string": f"{node}-{place}"}} if differs else {}
    return {
        "name": f"gpu-{place}",
        "attributes": attributes | own,
        "capacity": {"memory": {"value": "80Gi"}},
    }


def _objects(*, differ: bool) -> Iterator[dict[str, Any]]:
    for node in range(NODES):
        name = f"n{node}"
        allocatable = {"cpu": "64", "memory": "512Gi", "pods": "110"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"allocatable": allocatable},
        }
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": name},
            "spec": {
                "driver": "gpu.example.com",
                "nodeName": name,
                "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
                "devices": [_device(node, place, differs=differ) for place in range(DEVICES)],
            },
        }
    for number in range(CLASSES):
        expression = f'device.attributes["gpu.example.com"].model == "H{number}00"'
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": f"gpu-{number}"},
            "spec": {"selectors": [{"cel": {"expression": expression}}]},
        }


def main() -> None:
    for differ in (False, True):
        print(f"{NODES:,} nodes with {DEVICES} devices, {'all different' if differ else 'equal'}")
        state = ClusterState(Profile(), "default")
        begun = time.process_time()
        manifests = state.learn(Unwritten("objects", each) for each in _objects(differ=differ))
        print(f"  {'objects read':16}{time.process_time() - begun:8.2f} s")
        pages = ClusterPages("objects", lambda: (state, manifests), is_live=False, seconds=60)  # noqa: B023
        for name, query in ASKED:
            begun = time.process_time()
            try:
                size = f"{len(compress(pages.answers[f'/api/v1/{name}'](query).encode(), 5)) / 1000:,.1f} kB"
            except HTTPError as error:
                size = error.message
            print(f"  {name:16}{time.process_time() - begun:8.2f} s  {size}")
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"  most memory so far {most} MB", file=sys.stdout)


if __name__ == "__main__":
    main()
