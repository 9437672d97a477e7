"""Pods that ask for devices by extended resources are refused where only a DeviceClass could serve them."""

from __future__ import annotations

import pytest

from resourceapi.objects import Object
from tests.scheduler.test_filtering import Cluster, claim, pod

REASON = "example.com/gpu stands for DeviceClass gpu, which needs a ResourceClaim here"
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"


def asking(resource: str, amount: str = "1", where: str = "containers", *claims: str) -> Object:
    asked = pod("p", *claims)
    asked["spec"][where] = [{"name": "c", "resources": {"requests": {resource: amount}}}]
    return asked


def cluster() -> Cluster:
    """The class stands for example.com/gpu, of which the device plugin of n2 has two."""
    made = Cluster()
    made.picture.classes.put(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"extendedResourceName": "example.com/gpu"},
        }
    )
    made.picture.nodes.put({"metadata": {"name": "n1"}, "status": {"allocatable": {"example.com/gpu": "0"}}})
    made.picture.nodes.put({"metadata": {"name": "n2"}, "status": {"allocatable": {"example.com/gpu": "2"}}})
    return made


@pytest.mark.parametrize("where", ["containers", "initContainers"])
def test_pod_is_refused_where_no_device_plugin_has_the_resource(where: str) -> None:
    assert cluster().ask(asking("example.com/gpu", "1", where)) == (["n2"], {}, {"n1": REASON})


def test_resource_named_by_the_class_is_served_nowhere() -> None:
    reason = f"{IMPLICIT} stands for DeviceClass gpu, which needs a ResourceClaim here"
    assert cluster().ask(asking(IMPLICIT)) == ([], {}, {"n1": reason, "n2": reason})


@pytest.mark.parametrize(
    ("resource", "amount"), [("example.com/other", "1"), ("cpu", "1"), ("example.com/gpu", "0")]
)
def test_other_resources_are_kube_schedulers_business(resource: str, amount: str) -> None:
    assert cluster().ask(asking(resource, amount)) == (["n1", "n2"], {}, {})


def test_claims_are_looked_at_on_the_other_nodes() -> None:
    made = cluster()
    made.picture.claim_objects.put(claim("c"))
    fitting, _, beyond = made.ask(asking("example.com/gpu", "1", "containers", "c"))
    assert (fitting, beyond) == (["n2"], {"n1": REASON})
