"""The rights of `claimcheck watch`; an e2e test runs it with them."""

from __future__ import annotations

from manifests.kustomize import DIRECTORY, render
from tests.webhook.rights import granted

ACCOUNT = ("claimcheck-system", "claimcheck-watch")
READ = {
    "": "namespaces nodes pods resourcequotas",
    "resource.k8s.io": "deviceclasses devicetaintrules resourceclaims resourceclaimtemplates resourceslices",
    "claimcheck.example.com": "resourceslicepatches",
    "scheduling.k8s.io": "podgroups",
}


def test_reads_what_scheduling_depends_on_and_writes_events() -> None:
    reading = {
        (group, resource, verb, "", "")
        for group, resources in READ.items()
        for resource in resources.split()
        for verb in ("list", "watch")
    }
    writing = {("events.k8s.io", "events", verb, "", "") for verb in ("create", "patch")}
    assert granted(render(DIRECTORY / "watch"), ACCOUNT) == reading | writing


def test_nobody_reaches_it() -> None:
    """It has no port, and a NetworkPolicy lets nothing in."""
    objects = {each["kind"]: each for each in render(DIRECTORY / "watch")}
    spec = objects["NetworkPolicy"]["spec"]
    pod = objects["Deployment"]["spec"]["template"]
    assert spec["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert "Ingress" in spec["policyTypes"]
    assert "ingress" not in spec
    (container,) = pod["spec"]["containers"]
    assert "ports" not in container
    assert container["resources"]["limits"]["memory"]
