"""`python -m tests.bench.watching [NODES [PODS [BYTES]]]`: what memory `watch` takes, in MB, and the processor's time for a look.

A cluster of so many nodes (5,000) of 8 devices, all but those of every tenth node held by pods, and 30 pods that wait; then so many
further pods (0) with so many bytes (250,000) of annotations. Objects come in pages, as from an API server, and have what it and kubelet
add: managedFields, images, conditions. Nothing is asserted.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from claimcheck.watching.examinations import Examinations
from claimcheck.watching.followed_cluster import FollowedCluster
from claimcheck.watching.metrics import Metrics
from claimcheck.watching.waiting_pods import QUIET_SECONDS, WaitingPods
from cluster.client import ANSWER_BYTES
from cluster.live_objects import Resource
from commandline.watch_report import Report
from resourceapi.api_client import Listing, TooLarge
from resourceapi.objects import Object
from resourceapi.releases import Profile

V1, DRIVER = "resource.k8s.io/v1", "gpu.acme.example"
_DEVICES = 8
_REFUSED = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/5000 nodes"}


def main() -> None:
    nodes, pods, size = (int(each) for each in [*sys.argv[1:], *("5000", "0", "250000")[len(sys.argv) - 1 :]])
    lists: dict[Resource, Callable[[], Iterator[Object]]] = {
        Resource("v1", "Namespace", "namespaces"): lambda: iter([_object("team", "")]),
        Resource("v1", "Node", "nodes"): lambda: map(_node, range(nodes)),
        Resource("v1", "ResourceQuota", "resourcequotas"): lambda: iter(()),
        Resource(V1, "DeviceClass", "deviceclasses"): lambda: iter([_class()]),
        Resource(V1, "ResourceSlice", "resourceslices"): lambda: map(_slice, range(nodes)),
        Resource(V1, "ResourceClaim", "resourceclaims"): lambda: _claims(nodes),
        Resource("v1", "Pod", "pods"): lambda: _pods(nodes, pods, size),
    }
    now = 0.0
    cluster = FollowedCluster("cluster", Profile(), lists)
    told: list[str] = []
    watched = WaitingPods(
        cluster, lambda _, note: told.append(note), ["default-scheduler"], clock=lambda: now
    )
    print(f"{'':24}{'now':>8}{'peak':>8}")
    _say("begun")
    for each, made in lists.items():
        cluster.collections[each].replace(Listing(_Pages(made()), each.path))
    gc.collect()
    _say("held")
    watched.look()
    for number in range(3):
        now += QUIET_SECONDS + 60 * number
        begun = time.process_time()
        watched.look()
        gc.collect()
        _say(f"looked ({time.process_time() - begun:.1f} s)")
    metrics = Metrics(cluster, watched.causes, dict)
    begun = time.process_time()
    metrics.refresh()
    gc.collect()
    _say(f"counted ({time.process_time() - begun:.1f} s)")
    report = Report()
    begun = time.process_time()
    Examinations(cluster, report.publish).refresh()
    gc.collect()
    _say(f"examined ({time.process_time() - begun:.1f} s)")
    print(metrics.exposition()[0].decode())
    print(f"report: {len(report.find('/report', False).content):,} bytes")
    print(f"{len(told)} pods told: {told[:1]}")


def _say(what: str) -> None:
    now = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    print(f"{what:24}{now / 1e6:8.0f}{peak / 1e6:8.0f}", flush=True)


class _Pages:
    """An API server with one list."""

    def __init__(self, items: Iterator[Object]) -> None:
        self._items = items

    def request(self, method: str, path: str, body: Any = None, query: Any = None) -> tuple[int, Any]:
        page = list(islice(self._items, int(query["limit"])))
        is_last = len(page) < int(query["limit"])
        metadata = {"resourceVersion": "1", "continue": "" if is_last else page[-1]["metadata"]["name"]}
        text = json.dumps({"metadata": metadata, "items": page})
        if len(text) > ANSWER_BYTES:
            self._items = chain(page, self._items)
            raise TooLarge(f"the answer has more than {ANSWER_BYTES:,} bytes")
        del page
        return 200, json.loads(text)


def _object(name: str, namespace: str = "team", **parts: Any) -> Object:
    fields: Object = {
        f"f:{name}": {".": {}, "f:reason": {}, "f:status": {}} for name in ("metadata", "spec", "status")
    }
    manager = {
        "manager": "kubelet",
        "operation": "Update",
        "apiVersion": "v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {f"f:part-{number}": fields for number in range(8)},
    }
    metadata = {
        "name": name,
        **({"namespace": namespace} if namespace else {}),
        "uid": f"00000000-0000-0000-0000-{hash((name, namespace)) % 10**12:012}",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"kubernetes.io/hostname": name, "app.kubernetes.io/name": "train"},
        "managedFields": [manager],
    }
    return {"metadata": metadata, **parts}


def _node(number: int) -> Object:
    amounts = {"cpu": "128", "memory": "1056Gi", "ephemeral-storage": "1900Gi", "pods": "110"}
    images = [
        {
            "names": [f"registry.example.com/team/image-{each}@sha256:{each:064}"],
            "sizeBytes": 10**9 + each,
        }
        for each in range(50)
    ]
    conditions = [
        {
            "type": kind,
            "status": "False",
            "lastHeartbeatTime": "2026-01-01T00:00:00Z",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": f"KubeletHasSufficient{kind}",
            "message": f"kubelet has sufficient {kind} available",
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    status = {"allocatable": amounts, "capacity": amounts, "images": images, "conditions": conditions}
    return _object(f"node-{number}", "", spec={"podCIDR": "10.0.0.0/24"}, status=status)


def _class() -> Object:
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    return _object("gpu", "", spec={"selectors": selectors})


def _slice(number: int) -> Object:
    devices = [
        {
            "name": f"gpu-{index}",
            "attributes": {
                "model": {"string": "H200"},
                "uuid": {"string": f"GPU-{number:08}-{index:012}"},
                "index": {"int": index},
                "driverVersion": {"version": "580.1.2"},
                "resource.kubernetes.io/pcieRoot": {"string": f"pci0000:{index:02}"},
            },
            "capacity": {"memory": {"value": "141Gi"}},
        }
        for index in range(_DEVICES)
    ]
    pool = {"name": f"node-{number}", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": f"node-{number}", "pool": pool, "devices": devices}
    return _object(f"node-{number}-gpus", "", spec=spec)


def _claim(name: str, count: int, node: int | None = None) -> Object:
    requests = [
        {"name": "gpu", "exactly": {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}}
    ]
    status: Object = {}
    if node is not None:
        pool = f"node-{node}"
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pool]}]}]
        results = [
            {"request": "gpu", "driver": DRIVER, "pool": pool, "device": f"gpu-{index}"}
            for index in range(count)
        ]
        status = {
            "allocation": {"devices": {"results": results}, "nodeSelector": {"nodeSelectorTerms": terms}},
            "reservedFor": [{"resource": "pods", "name": name, "uid": name}],
        }
    return _object(name, spec={"devices": {"requests": requests}}, status=status)


def _claims(nodes: int) -> Iterator[Object]:
    yield from (_claim(f"train-{each}", _DEVICES, each) for each in range(nodes) if each % 10)
    yield from (_claim(f"waits-{each}", _DEVICES + 1) for each in range(30))


def _pod(name: str, node: str = "", annotations: Object | None = None) -> Object:
    container = {
        "name": "train",
        "image": "registry.example.com/team/train:1",
        "command": ["python", "-m", "train"],
        "env": [{"name": f"VARIABLE_{number}", "value": "value" * 4} for number in range(20)],
        "resources": {"requests": {"cpu": "16", "memory": "64Gi"}, "claims": [{"name": "gpu"}]},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets", "readOnly": True}],
    }
    spec = {
        "schedulerName": "default-scheduler",
        "containers": [container],
        "resourceClaims": [{"name": "gpu", "resourceClaimName": name}],
        "tolerations": [
            {
                "key": f"node.kubernetes.io/{key}",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
            for key in ("not-ready", "unreachable")
        ],
        "volumes": [
            {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
        ],
        **({"nodeName": node} if node else {}),
    }
    status = {"phase": "Running"} if node else {"phase": "Pending", "conditions": [_REFUSED]}
    pod = _object(name, spec=spec, status=status)
    pod["metadata"]["annotations"] = annotations or {}
    return pod


def _pods(nodes: int, more: int, size: int) -> Iterator[Object]:
    yield from (_pod(f"train-{each}", f"node-{each}") for each in range(nodes) if each % 10)
    yield from (_pod(f"waits-{each}") for each in range(30))
    yield from (_pod(f"large-{each}", "node-0", {"note": "x" * size}) for each in range(more))


if __name__ == "__main__":
    main()
