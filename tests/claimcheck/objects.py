"""Objects that the tests of the Python API ask about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PLACEMENT = Path(__file__).parents[2] / "manifests" / "examples" / "placement"
CLUSTER = PLACEMENT / "cluster.yaml"
Json = dict[str, Any]


def claim(name: str = "gpu", profile: str = "half", count: int = 1) -> Json:
    """A claim for partitions of the cluster in the placement example."""
    selector = {"cel": {"expression": f'device.attributes["gpu.example.com"].profile == "{profile}"'}}
    exactly = {"deviceClassName": "gpu.example.com", "count": count, "selectors": [selector]}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def template(name: str = "gpu", profile: str = "half", count: int = 1) -> Json:
    """The template of such claims."""
    spec = {"spec": claim(name, profile, count)["spec"]}
    return {**claim(name), "kind": "ResourceClaimTemplate", "spec": spec}


def pod(name: str = "train", **source: str) -> Json:
    """A pod that uses the template ``gpu``, or what the keyword says: ``resourceClaimName`` or ``resourceClaimTemplateName``."""
    container = {"name": "c", "image": "x", "resources": {"claims": [{"name": "gpu"}]}}
    claims = [{"name": "gpu", **(source or {"resourceClaimTemplateName": "gpu"})}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], "resourceClaims": claims},
    }
