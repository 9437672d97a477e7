"""The manifests of the scheduler fit together."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from manifests.kustomize import DIRECTORY, render_value
from resourceapi.objects import Object
from scheduler.config import load_config, schema_of_config
from scheduler.endpoint import PORT_NAME, Endpoint
from scheduler.routes import make_routes
from tests.case_files import read_yaml
from tests.webhook.rights import Account, Right, granted

NAMESPACE = "claimcheck-system"
EXTENDER: Account = (NAMESPACE, "claimcheck-scheduler")
KUBE_SCHEDULER: Account = (NAMESPACE, "claimcheck-kube-scheduler")
MODES = {"built-in": [], "crd-served": ["crd-served"]}
CERTIFICATES = {"secret": [], "own": ["own-certificates"], "cert-manager": ["cert-manager"]}
EVERY = [
    pytest.param([*MODES[mode], *CERTIFICATES[kept]], id=f"{mode}-{kept}") for mode, kept in product(MODES, CERTIFICATES)
]  # fmt: skip


def rendered(components: list[str]) -> dict[tuple[str, str], Object]:
    """What is applied, with these components."""
    kustomization = {
        "kind": "Kustomization",
        "resources": ["scheduler"],
        "components": [f"../components/scheduler/{name}" for name in components],
    }
    found = render_value(kustomization, DIRECTORY / "overlays")
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in found}


def pod(found: dict[tuple[str, str], Object], name: str) -> Object:
    """The spec of a Deployment's pods."""
    spec: Object = found["Deployment", name]["spec"]["template"]["spec"]
    return spec


def config(found: dict[tuple[str, str], Object], name: str, file: str) -> Any:
    """A configuration in a ConfigMap."""
    return yaml.safe_load(found["ConfigMap", name]["data"][file])


@pytest.mark.parametrize("components", EVERY)
def test_kube_scheduler_finds_its_extender(components: list[str]) -> None:
    """By the name of its Service, which its certificate has, with files that are mounted, as a client that it knows."""
    found = rendered(components)
    (extender,) = config(found, "claimcheck-kube-scheduler", "kube-scheduler.yaml")["extenders"]
    service = found["Service", "claimcheck-scheduler"]
    host = f"{service['metadata']['name']}.{service['metadata']['namespace']}.svc"
    assert extender["urlPrefix"] == f"https://{host}"
    (port,) = service["spec"]["ports"]
    listens = config(found, "claimcheck-scheduler", "schedule.yaml")["listen"]["port"]
    assert (port["name"], port["port"], port["targetPort"]) == (PORT_NAME, 443, listens)
    mounted = {mount["mountPath"] for mount in pod(found, KUBE_SCHEDULER[1])["containers"][0]["volumeMounts"]}
    assert {path.rpartition("/")[0] for path in extender["tlsConfig"].values()} <= mounted
    tls = config(found, "claimcheck-scheduler", "schedule.yaml")["tls"]
    if "own-certificates" in components:
        assert tls["names"] == [host]
        assert tls["clientCertificate"] == "claimcheck-kube-scheduler"
    else:
        assert tls["clientNames"] == ["claimcheck-kube-scheduler"]
    if "cert-manager" in components:
        assert found["Certificate", "claimcheck-scheduler"]["spec"]["dnsNames"] == [host]
        assert (
            found["Certificate", "claimcheck-kube-scheduler"]["spec"]["commonName"] == tls["clientNames"][0]
        )


@pytest.mark.parametrize("components", [*EVERY, pytest.param(["prometheus"], id="prometheus")])
def test_all_but_the_namespace_can_be_deleted_by_a_label(components: list[str]) -> None:
    """Others may be in the same namespace."""
    for (kind, _), obj in rendered(components).items():
        labels = obj["metadata"].get("labels", {})
        assert (labels.get("app.kubernetes.io/part-of") == "claimcheck-scheduler") == (kind != "Namespace")


@pytest.mark.parametrize("components", EVERY)
def test_pods_have_what_they_mount(components: list[str]) -> None:
    """Every mount is of a volume, and every volume is mounted; ConfigMaps are there, Secrets are known."""
    found = rendered(components)
    for _, name in (EXTENDER, KUBE_SCHEDULER):
        spec = pod(found, name)
        (container,) = spec["containers"]
        assert [m["name"] for m in container["volumeMounts"]] == [v["name"] for v in spec["volumes"]]
        for volume in spec["volumes"]:
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in found
            if "secret" in volume and "cert-manager" in components:
                assert volume["secret"]["secretName"] in [
                    obj["spec"]["secretName"] for (kind, _), obj in found.items() if kind == "Certificate"
                ]


@pytest.mark.parametrize("components", EVERY)
def test_kube_scheduler_gets_no_key_but_its_own(components: list[str]) -> None:
    """Of a Secret with other keys, only some entries are mounted."""
    (tls,) = (v for v in pod(rendered(components), KUBE_SCHEDULER[1])["volumes"] if v["name"] == "tls")
    if tls["secret"]["secretName"] == "claimcheck-scheduler-tls":
        assert [item["key"] for item in tls["secret"]["items"]] == ["ca.crt", "client.crt", "client.key"]


def test_secret_of_own_certificates_is_there_empty() -> None:
    """So the extender needs no right to create Secrets; without data, applying it again keeps what the extender has written."""
    found = rendered(["own-certificates"])
    secret = found["Secret", config(found, "claimcheck-scheduler", "schedule.yaml")["tls"]["secret"]["name"]]
    assert secret.keys().isdisjoint(("data", "stringData", "immutable", "type"))
    rights = granted(list(found.values()), EXTENDER)
    assert {verb for _, resource, verb, _, _ in rights if resource == "secrets"} == {"get", "update"}


@pytest.mark.parametrize("components", EVERY)
def test_nothing_is_created_that_can_come_with_the_manifests(components: list[str]) -> None:
    """With a right to create, a name cannot be told. So what is written under its name comes with the manifests, and no manifest
    says what its writers write: applying it again changes nothing."""
    found = rendered(components)
    for account in (EXTENDER, KUBE_SCHEDULER):
        rights = granted(list(found.values()), account)
        created = {resource for _, resource, verb, *_ in rights if verb == "create"}
        assert created <= {"events", "pods/binding", "resourceclaims"}
        for kind, resource in (("Lease", "leases"), ("EndpointSlice", "endpointslices")):
            for name in {name for _, each, _, _, name in rights if each == resource}:
                obj = found[kind, name]
                assert obj["metadata"]["namespace"] == NAMESPACE
                assert obj.keys() - {"addressType"} == {"apiVersion", "kind", "metadata"}


def test_endpoints_are_those_that_the_leader_writes() -> None:
    """The slice of each type of addresses has the name, the type and the labels of the leader's."""
    found = rendered([])
    for address in ("10.0.0.1", "fd00::1"):
        api = Mock()
        api.request.side_effect = [(404, {}), (201, {})]
        Endpoint(api, NAMESPACE, "claimcheck-scheduler", address, 1).take(lambda: None)
        written = api.request.call_args.args[2]
        obj = found["EndpointSlice", written["metadata"]["name"]]
        assert obj["addressType"] == written["addressType"]
        assert obj["metadata"]["labels"].items() >= written["metadata"]["labels"].items()


def test_both_schedule_the_same_pods() -> None:
    """kube-scheduler has one profile, of the name that the extender knows, without the plugin that allocates."""
    found = rendered([])
    (profile,) = config(found, "claimcheck-kube-scheduler", "kube-scheduler.yaml")["profiles"]
    extender = config(found, "claimcheck-scheduler", "schedule.yaml")
    assert profile["schedulerName"] == extender["scheduling"]["schedulerName"]
    assert {"name": "DynamicResources"} in profile["plugins"]["multiPoint"]["disabled"]
    for _, name in (EXTENDER, KUBE_SCHEDULER):
        assert pod(found, name)["schedulerName"] == "default-scheduler"


def test_leases_are_those_that_roles_allow() -> None:
    """Each leads by a Lease of its own."""
    found = rendered([])
    leads = config(found, "claimcheck-kube-scheduler", "kube-scheduler.yaml")["leaderElection"]
    lease = config(found, "claimcheck-scheduler", "schedule.yaml")["leaderElection"]
    objects = list(found.values())
    for account, name, namespace in (
        (KUBE_SCHEDULER, leads["resourceName"], leads["resourceNamespace"]),
        (EXTENDER, lease["leaseName"], lease["namespace"]),
    ):
        assert ("coordination.k8s.io", "leases", "update", namespace, name) in granted(objects, account)


@pytest.mark.parametrize("components", EVERY)
def test_configuration_can_be_used(components: list[str], tmp_path: Path) -> None:
    """By `claimcheck schedule`, which listens where probes and the Service ask."""
    found = rendered(components)
    file = tmp_path / "schedule.yaml"
    file.write_text(found["ConfigMap", "claimcheck-scheduler"]["data"]["schedule.yaml"])
    loaded = load_config(str(file))
    (container,) = pod(found, "claimcheck-scheduler")["containers"]
    assert [port["containerPort"] for port in container["ports"]] == [loaded.get("listen", "port")]
    assert loaded.get("listen", "address") == "0.0.0.0"
    assert container["args"][0] == "schedule"
    serves = "CustomResources" if "crd-served" in components else "BuiltIn"
    assert loaded.get("apiServer", "serves") == serves


def test_the_service_is_for_the_replica_that_leads() -> None:
    """It has no selector, and that replica may write where it leads, by its name."""
    found = rendered([])
    lease = config(found, "claimcheck-scheduler", "schedule.yaml")["leaderElection"]
    service = found["Service", lease["service"]]
    assert "selector" not in service["spec"]
    assert service["metadata"]["namespace"] == lease["namespace"]
    right = ("discovery.k8s.io", "endpointslices", "update", lease["namespace"], lease["service"])
    assert right in granted(list(found.values()), EXTENDER)


def test_verbs_are_those_of_the_extender() -> None:
    """Each verb is a path that it has."""
    (extender,) = config(rendered([]), "claimcheck-kube-scheduler", "kube-scheduler.yaml")["extenders"]
    named = {f"/{value}" for key, value in extender.items() if key.endswith("Verb")}
    assert named == {route.path for route in make_routes(Mock(), Mock(), 1)}


def test_kube_scheduler_waits_longer_than_a_filter_takes() -> None:
    """So that an answer that leaves nodes undecided arrives."""
    found = rendered([])
    (extender,) = config(found, "claimcheck-kube-scheduler", "kube-scheduler.yaml")["extenders"]
    usual = schema_of_config()["properties"]["scheduling"]["properties"]["filterMilliseconds"]["default"]
    assert usual * 2 <= float(extender["httpTimeout"].removesuffix("s")) * 1000


def needed(account: Account, components: list[str]) -> frozenset[Right]:
    """What an account asks for, as e2e tests audit it."""
    entries = read_yaml(DIRECTORY.parent / "tests" / "manifests" / "scheduler_rights.yaml")[account[1]]
    return frozenset(
        (entry.get("group", ""), resource, verb, entry.get("namespace", ""), name)
        for entry in entries
        if entry.get("only") is None or entry["only"] in (*components, *([] if "crd-served" in components else ["built-in"]))
        for resource in entry["resources"]
        for verb in entry["verbs"]
        for name in entry.get("names", [""])
    )  # fmt: skip


@pytest.mark.parametrize("components", EVERY)
@pytest.mark.parametrize("account", [EXTENDER, KUBE_SCHEDULER], ids=["extender", "kube-scheduler"])
def test_rights_are_those_that_are_needed(account: Account, components: list[str]) -> None:
    """Roles allow what each asks for, and nothing else."""
    assert granted(list(rendered(components).values()), account) == needed(account, components)


def test_kube_scheduler_changes_neither_claims_nor_bindings() -> None:
    """That is for the extender alone."""
    rights = granted(list(rendered([]).values()), KUBE_SCHEDULER)
    assert {verb for group, _, verb, *_ in rights if group == "resource.k8s.io"} == {"list", "watch"}
    assert not any(resource == "pods/binding" for _, resource, *_ in rights)
