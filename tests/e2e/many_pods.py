"""A cluster of nodes with eight devices, and pods that come all at once, of which some fit nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from resourceapi.objects import Object

DEVICES, DRIVER = 8, "gpu.acme.example"


def cluster_objects(nodes: int) -> Iterator[Object]:
    """The cluster."""
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    for name in (f"node-{number}" for number in range(nodes)):
        yield {
            "kind": "Node",
            "metadata": {"name": name},
            "status": {"capacity": amounts, "allocatable": amounts},
        }
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        devices = [{"name": f"gpu-{number}"} for number in range(DEVICES)]
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool, "devices": devices}
        yield {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": spec}
    selectors = [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]
    yield {"kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}
    for name, count in (("fits", 1), ("impossible", DEVICES + 1)):
        requests = [{"name": "gpu", "exactly": {"deviceClassName": "gpu", "count": count}}]
        spec = {"spec": {"devices": {"requests": requests}}}
        yield {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}


def pods_at_once(pods: int, impossible: int) -> Iterator[Object]:
    """The pods, of which so many ask for more devices than a node has."""
    for number in range(pods):
        template = "fits" if number % (pods // impossible) else "impossible"
        spec = {
            "containers": [{"name": "c", "image": "x"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
        }
        yield {"kind": "Pod", "metadata": {"name": f"{template}-{number}"}, "spec": spec}
