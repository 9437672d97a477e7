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


def test_only_prometheus_reaches_it() -> None:
    """And that only its metrics."""
    objects = {each["kind"]: each for each in render(DIRECTORY / "watch")}
    spec = objects["NetworkPolicy"]["spec"]
    pod = objects["Deployment"]["spec"]["template"]
    assert spec["podSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert "Ingress" in spec["policyTypes"]
    (rule,), (container,) = spec["ingress"], pod["spec"]["containers"]
    assert [each["port"] for each in rule["ports"]] == [each["name"] for each in container["ports"]]
    assert rule["from"]
    assert f"--port={container['ports'][0]['containerPort']}" in container["args"]
    assert container["resources"]["limits"]["memory"]
