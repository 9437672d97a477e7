"""Extended resources that a DeviceClass stands for (KEP-5004): pods that ask for devices by them get none here.

kube-scheduler's own check of resources lets such pods pass on nodes that don't have the resource, since its plugin
DynamicResources would make a claim for them. With the plugin disabled nobody does, and they would be bound without devices.
"""

from __future__ import annotations

from collections.abc import Iterator

from allocator.extended_resources import asks_for_devices, classes_by_resource
from resourceapi.manifests import entries, mapping
from resourceapi.objects import Object
from scheduler.cluster_picture import ClusterPicture
from scheduler.extender_api import CandidateNodes
from validation.pod_totals import container_requests


def nodes_without(candidates: CandidateNodes, picture: ClusterPicture) -> dict[str, str]:
    """The nodes on which no device plugin has what a pod asks for and a DeviceClass stands for, with the reason."""
    asked = set(_asked(candidates.pod))
    if not asked:
        return {}
    by_class = classes_by_resource(list(picture.classes.objects.values()))
    served = sorted(asked & by_class.keys())
    found: dict[str, str] = {}
    for node in candidates.nodes if served else ():
        there = mapping(picture.nodes.objects.get(node), "status", "allocatable")
        for resource in served:
            if there.get(resource, "0") == "0":
                found[node] = (
                    f"{resource} stands for DeviceClass {by_class[resource]}, which needs a ResourceClaim here"
                )
                break
    return found


def _asked(pod: Object) -> Iterator[str]:
    spec = mapping(pod, "spec")
    for containers in ("initContainers", "containers"):
        for container in entries(spec, containers):
            for resource, amount in container_requests(mapping(container)).items():
                if asks_for_devices(resource) and amount.value():
                    yield resource
