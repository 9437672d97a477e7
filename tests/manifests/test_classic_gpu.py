"""The rights of the classic GPU driver's accounts; e2e tests run it with them."""

from __future__ import annotations

from manifests.kustomize import DIRECTORY, render
from resourceapi.objects import Object
from tests.webhook.rights import granted

NAMESPACE, NODE_NAMESPACE = "claimcheck-classic-gpu", "claimcheck-classic-gpu-node"
#: Group, resources and verbs of what the controller asks for in all of the cluster.
NEEDED = (
    ("", "nodes", "list watch"),
    ("", "pods", "get"),
    ("resource.k8s.io", "resourceclasses", "list watch"),
    ("resource.k8s.io", "podschedulingcontexts", "get list watch"),
    ("resource.k8s.io", "resourceclaims", "get list watch update patch"),
    ("resource.k8s.io", "resourceclaims/status podschedulingcontexts/status", "update"),
    ("gpu.example.com", "gpurequirements gpuinits", "get"),
    ("events.k8s.io", "events", "create patch"),
)
LEASES = ("coordination.k8s.io", "leases")


def test_controller_has_the_rights_that_it_needs_and_no_more() -> None:
    everywhere = {
        (group, resource, verb, "", "")
        for group, resources, verbs in NEEDED
        for resource in resources.split()
        for verb in verbs.split()
    }
    of_lease = {(*LEASES, verb, NAMESPACE, "gpu.example.com") for verb in ("get", "update")}
    found = granted(render(DIRECTORY / "classic-gpu"), (NAMESPACE, "claimcheck-classic-gpu"))
    assert found == everywhere | of_lease


def test_lease_comes_empty() -> None:
    """So that the controller needs no right to create any."""
    (lease,) = (obj for obj in render(DIRECTORY / "classic-gpu") if obj["kind"] == "Lease")
    assert (lease["metadata"]["namespace"], lease["metadata"]["name"]) == (NAMESPACE, "gpu.example.com")
    assert lease.keys() == {"apiVersion", "kind", "metadata"}


def test_only_the_node_plugin_is_privileged() -> None:
    """Where pods may be privileged there is nothing but the node plugin, with no account that has rights; all pods are kept from
    whom they need not reach, and of the controller's replicas one stays."""
    objects = render(DIRECTORY / "classic-gpu")
    levels = {
        obj["metadata"]["name"]: obj["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for obj in objects
        if obj["kind"] == "Namespace"
    }
    assert levels == {NAMESPACE: "restricted", NODE_NAMESPACE: "privileged"}
    there = sorted(obj["kind"] for obj in objects if obj["metadata"].get("namespace") == NODE_NAMESPACE)
    assert there == ["DaemonSet", "NetworkPolicy", "ServiceAccount"]
    for kind, selecting in (
        ("Deployment", {"NetworkPolicy", "PodDisruptionBudget"}),
        ("DaemonSet", {"NetworkPolicy"}),
    ):
        (workload,) = (obj for obj in objects if obj["kind"] == kind)
        spec = workload["spec"]["template"]["spec"]
        assert all(container["resources"]["limits"]["memory"] for container in spec["containers"])
        labels, namespace = (
            workload["spec"]["template"]["metadata"]["labels"],
            workload["metadata"]["namespace"],
        )
        found = {
            obj["kind"]
            for obj in objects
            if obj["metadata"].get("namespace") == namespace and _selects(obj, labels)
        }
        assert found == selecting
    policies = {obj["metadata"]["name"]: obj["spec"] for obj in objects if obj["kind"] == "NetworkPolicy"}
    assert all(spec["policyTypes"] == ["Ingress", "Egress"] for spec in policies.values())
    assert not any("ingress" in spec for spec in policies.values())
    assert "egress" not in policies["claimcheck-classic-gpu-node"]


def _selects(obj: Object, labels: dict[str, str]) -> bool:
    """Whether a policy or a budget is for pods with these labels."""
    spec = obj.get("spec", {})
    selector = spec.get("podSelector") or spec.get("selector")
    return obj["kind"] not in ("Deployment", "DaemonSet") and bool(
        selector and selector["matchLabels"].items() <= labels.items()
    )


def test_node_plugin_has_no_rights_and_no_token() -> None:
    objects = render(DIRECTORY / "classic-gpu")
    assert not granted(objects, (NODE_NAMESPACE, "claimcheck-classic-gpu-node"))
    (plugin,) = (obj for obj in objects if obj["kind"] == "DaemonSet")
    assert plugin["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
