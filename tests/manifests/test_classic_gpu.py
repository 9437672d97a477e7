"""The rights of the classic GPU driver's accounts; e2e tests run it with them."""

from __future__ import annotations

from manifests.kustomize import DIRECTORY, render
from tests.webhook.rights import granted

NAMESPACE = "claimcheck-classic-gpu"
#: Group, resources and verbs of what the controller asks for in all of the cluster.
NEEDED = (
    ("", "nodes", "list watch"),
    ("", "pods", "get"),
    ("resource.k8s.io", "resourceclasses podschedulingcontexts", "list watch"),
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
    new_lease = {(*LEASES, "create", NAMESPACE, "")}
    found = granted(render(DIRECTORY / "classic-gpu"), (NAMESPACE, "claimcheck-classic-gpu"))
    assert found == everywhere | of_lease | new_lease


def test_node_plugin_has_no_rights_and_no_token() -> None:
    objects = render(DIRECTORY / "classic-gpu")
    assert not granted(objects, (NAMESPACE, "claimcheck-classic-gpu-node"))
    (plugin,) = (obj for obj in objects if obj["kind"] == "DaemonSet")
    assert plugin["spec"]["template"]["spec"]["automountServiceAccountToken"] is False
