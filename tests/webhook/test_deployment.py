"""The manifests fit together, and fit the service that they deploy."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.client import TIMEOUT
from commandline.manifests import deployment, options
from manifests.kustomize import render
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP, OWN_GROUP
from resourceapi.objects import Object
from serving.config_file import Config
from serving.supervisor import KILL_AFTER_SECONDS
from tests.case_files import read_all
from tests.webhook.examples import context
from webhook.config import load_config
from webhook.crds import CRD_VERSIONS, crd_versions
from webhook.injection import COLLECTIONS
from webhook.label_guard import BUILT_IN_LABEL
from webhook.metrics import Metrics
from webhook.routes import ReviewLimits, make_routes

MANIFESTS = Path(__file__).parents[2] / "manifests"
OVERLAYS = ("built-in-guard", "crd-served")
KUSTOMIZED = sorted(file.parent for file in MANIFESTS.rglob("kustomization.yaml"))


def objects(file: Path) -> list[Object]:
    return read_all(file.read_text(encoding="utf-8"))


def config_of(overlay: str) -> Config:
    return load_config(str(MANIFESTS / "overlays" / overlay / "webhook.yaml"))


def webhooks_of(overlay: str) -> Iterator[Object]:
    """What is asked about the group; what is asked about other objects is in the base."""
    for configuration in objects(MANIFESTS / "overlays" / overlay / "webhooks.yaml"):
        yield from configuration["webhooks"]


def webhooks_of_base() -> list[Object]:
    return [
        webhook
        for configuration in objects(MANIFESTS / "base" / "webhooks.yaml")
        for webhook in configuration["webhooks"]
    ]


@pytest.fixture
def pod() -> Object:
    (deployment,) = objects(MANIFESTS / "base" / "deployment.yaml")
    spec: Object = deployment["spec"]["template"]["spec"]
    return spec


@pytest.mark.parametrize("directory", KUSTOMIZED, ids=lambda path: str(path.relative_to(MANIFESTS)))
def test_nothing_is_forgotten(directory: Path) -> None:
    """A kustomization names every file beside it, and no others."""
    (kustomization,) = objects(directory / "kustomization.yaml")
    named = [name for name in kustomization.get("resources", []) if name.endswith(".yaml")]
    for generator in kustomization.get("configMapGenerator", []):
        named += generator["files"]
    assert sorted(named) == sorted(
        file.name for file in directory.glob("*.yaml") if file.name != "kustomization.yaml"
    )


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_configuration_is_for_the_pod(overlay: str, pod: Object) -> None:
    """It can be read, listens where probes and the Service ask, and finds its certificate where the Secret is."""
    config = config_of(overlay)
    (container,) = pod["containers"]
    mounted = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert container["args"] == ["serve", "--config", f"{mounted['config']}/webhook.yaml"]
    assert [port["containerPort"] for port in container["ports"]] == [config.get("listen", "port")]
    assert config.get("listen", "address") == "0.0.0.0"
    assert config.get("tls", "certificateFile") == f"{mounted['tls']}/tls.crt"
    assert config.get("tls", "keyFile") == f"{mounted['tls']}/tls.key"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_pod_has_time_to_drain(overlay: str, pod: Object) -> None:
    """Nothing is killed that the service itself would still finish."""
    config = config_of(overlay)
    (container,) = pod["containers"]
    drain = config.get("timeouts", "lameDuck") + 2 * config.get("timeouts", "drain") + KILL_AFTER_SECONDS
    sleep = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert sleep + drain <= pod["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_webhooks_are_narrow(overlay: str) -> None:
    """They are about kinds and versions that there are, at paths that the service has, and not about its own namespace."""
    versions = {
        f"{kind.resource}.{group}": crd_versions(kind) for kind in KINDS.values() for group in kind.groups
    }
    paths = {route.path for route in make_routes(context(), Metrics(), ReviewLimits())}
    for webhook in webhooks_of(overlay):
        assert webhook["clientConfig"]["service"]["path"] in paths
        for rule in webhook["rules"]:
            (group,) = rule["apiGroups"]
            for name in rule["resources"]:
                assert set(versions[f"{name.removesuffix('/status')}.{group}"]) <= set(rule["apiVersions"])
                assert set(rule["apiVersions"]) <= {"v1alpha3"} or rule["apiVersions"] == list(CRD_VERSIONS)
        if any(rule.get("scope") == "Namespaced" for rule in webhook["rules"]):
            (excluded,) = webhook["namespaceSelector"]["matchExpressions"]
            assert excluded["values"] == ["kube-system", "claimcheck-system"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_timeouts_leave_time_for_quota(overlay: str) -> None:
    """A webhook that creates claims waits longer than the service waits for the API server."""
    for webhook in webhooks_of(overlay):
        asked = {name for rule in webhook["rules"] for name in rule["resources"]}
        if webhook["clientConfig"]["service"]["path"] == "/validate" and "resourceclaims" in asked:
            assert TIMEOUT < webhook["timeoutSeconds"] <= 10
        else:
            assert webhook["timeoutSeconds"] <= 5


def test_crds_are_asked_about_as_a_whole() -> None:
    """Where CRDs serve the kinds, both webhooks see all of them, and each status."""
    wanted = {kind.resource for kind in KINDS.values()}
    wanted |= {f"{kind.resource}/status" for kind in KINDS.values() if kind.has_status}
    for webhook in webhooks_of("crd-served"):
        assert {name for rule in webhook["rules"] for name in rule["resources"]} == wanted
        assert webhook["failurePolicy"] == "Fail"


def test_kinds_of_the_own_group_are_asked_about() -> None:
    """Where the API server has the group, both webhooks see what is a custom resource of ours, whose rules only they know."""
    wanted = {(OWN_GROUP, kind.resource) for kind in KINDS.values() if kind.further_group}
    asked = [
        (webhook["clientConfig"]["service"]["path"], *rule["apiGroups"], *rule["resources"])
        for webhook in webhooks_of("built-in-guard")
        for rule in webhook["rules"]
        if rule["apiGroups"] != [GROUP] and set(rule["operations"]) == {"CREATE", "UPDATE"}
    ]
    assert sorted(asked) == sorted((path, *each) for path in ("/mutate", "/validate") for each in wanted)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_device_administrators_may_patch(overlay: str) -> None:
    """Who writes patches of slices has a role for that; no role that Kubernetes gives to admins of namespaces includes it.

    The role that gathers others has no rules in the manifests: they are kube-controller-manager's, and whoever applied the
    manifests again would be told of a conflict.
    """
    roles = [obj for obj in render(MANIFESTS / "overlays" / overlay) if obj["kind"] == "ClusterRole"]
    writing = {
        role["metadata"]["name"]: role["metadata"].get("labels", {})
        for role in roles
        for rule in role.get("rules", ())
        if "resourceslicepatches" in rule["resources"] and "create" in rule["verbs"]
    }
    (gathering,) = (role for role in roles if "aggregationRule" in role)
    assert "rules" not in gathering
    (selector,) = gathering["aggregationRule"]["clusterRoleSelectors"]
    assert writing == {"claimcheck-device-patches": selector["matchLabels"]}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_webhooks_say_what_they_do(overlay: str) -> None:
    """Every webhook is about equivalent versions as well, short, without side effects in a dry run, and has a reasoned
    failurePolicy: a comment in front of it."""
    files = [MANIFESTS / "base" / "webhooks.yaml", MANIFESTS / "overlays" / overlay / "webhooks.yaml"]
    text = "".join(file.read_text(encoding="utf-8") for file in files)
    for webhook in (*webhooks_of_base(), *webhooks_of(overlay)):
        assert webhook["matchPolicy"] == "Equivalent"
        assert webhook["timeoutSeconds"] <= 10
        assert webhook["sideEffects"] in ("None", "NoneOnDryRun")
        assert webhook["admissionReviewVersions"] == ["v1"]
        assert f"# failurePolicy {webhook['failurePolicy']}: " in text


def test_other_objects_are_asked_about_narrowly() -> None:
    """Of pods and namespaces, with all that depends on them, only those that a policy looks at; some never."""
    pods, namespaces = webhooks_of_base()
    for webhook in (pods, namespaces):
        (excluded,) = webhook["namespaceSelector"]["matchExpressions"]
        assert excluded["values"] == ["kube-system", "claimcheck-system"]
        assert webhook["matchConditions"]
    assert [rule["operations"] for rule in pods["rules"]] == [["CREATE"]]
    assert [rule["resources"] for rule in namespaces["rules"]] == [
        ["namespaces", "namespaces/status", "namespaces/finalize"]
    ]
    assert (pods["failurePolicy"], namespaces["failurePolicy"]) == ("Ignore", "Fail")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_guarded_labels_are_asked_about(overlay: str) -> None:
    """The API server asks about every label that the configuration guards."""
    _, namespaces = webhooks_of_base()
    (condition,) = namespaces["matchConditions"]
    policies = config_of(overlay).get("policies")
    guarded = policies["adminAccessLabels"].get("labels", policies.get("adminAccess", {}).get("labels", []))
    for label in (*guarded, {"key": BUILT_IN_LABEL.key}):
        assert f"'{label['key']}'" in condition["expression"]


def test_image_is_for_the_pod(pod: Object) -> None:
    """The Dockerfile has two stages of a pinned base, and ends as the user that the pod runs as, who may run the command."""
    lines = (MANIFESTS.parent / "Dockerfile").read_text(encoding="utf-8").splitlines()
    steps = [line.split() for line in lines if line and line[0].isupper()]
    (base,) = (step[1].removeprefix("PYTHON=") for step in steps if step[0] == "ARG")
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+@sha256:[0-9a-f]{64}", base)
    assert [step[1] for step in steps if step[0] == "FROM"] == ["${PYTHON}", "${PYTHON}"]
    user = pod["securityContext"]
    assert steps[-2:] == [
        ["USER", f"{user['runAsUser']}:{user['runAsGroup']}"],
        ["ENTRYPOINT", '["/opt/claimcheck/bin/claimcheck"]'],
    ]


def test_pod_runs_with_as_little_as_possible(pod: Object) -> None:
    """Nothing of the container can be written, nobody becomes root, memory has a limit; two pods are apart."""
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert "memory" in container["resources"]["limits"]
    assert {"cpu", "memory"} <= container["resources"]["requests"].keys()
    assert pod["priorityClassName"] == "system-cluster-critical"
    assert {probe for probe in container if probe.endswith("Probe")} == {
        "startupProbe",
        "livenessProbe",
        "readinessProbe",
    }
    keys = [constraint["topologyKey"] for constraint in pod["topologySpreadConstraints"]]
    assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]
    (deployment,) = objects(MANIFESTS / "base" / "deployment.yaml")
    (budget,) = objects(MANIFESTS / "base" / "poddisruptionbudget.yaml")
    assert (deployment["spec"]["replicas"], budget["spec"]["minAvailable"]) == (2, 1)


@pytest.mark.parametrize("certificates", options.CERTIFICATES)
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_configuration_is_usable_with_any_certificates(
    overlay: str, certificates: str, tmp_path: Path
) -> None:
    """Whatever the certificates come from, the configuration that is deployed is one that the service takes."""
    (config_map,) = (obj for obj in rendered(overlay, certificates) if obj["kind"] == "ConfigMap")
    (tmp_path / "webhook.yaml").write_text(config_map["data"]["webhook.yaml"])
    load_config(str(tmp_path / "webhook.yaml"))


def rendered(overlay: str, certificates: str) -> list[Object]:
    parser = ArgumentParser()
    options.add_arguments(parser)
    return deployment.objects_of(parser.parse_args(["--mode", overlay, "--certificates", certificates]))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_own_authority_comes_into_all_that_asks(overlay: str, tmp_path: Path) -> None:
    """The injector is told of every object that asks the service, and may write these and no others; its certificate is for the
    name by which they ask, and where the ServiceMonitor looks for it."""
    objects = rendered(overlay, "own")
    (config_map,) = (obj for obj in objects if obj["kind"] == "ConfigMap")
    (tmp_path / "webhook.yaml").write_text(config_map["data"]["webhook.yaml"])
    config = load_config(str(tmp_path / "webhook.yaml"))
    asking: dict[str, list[str]] = {}
    for obj in objects:
        converts = (
            obj["spec"]["conversion"]["strategy"] == "Webhook"
            if "conversion" in obj.get("spec", {})
            else False
        )
        if converts or obj["kind"].endswith("WebhookConfiguration"):
            asking.setdefault(f"{obj['kind'].lower()}s", []).append(obj["metadata"]["name"])
    injected = {
        name.lower(): sorted(config.get("tls", "inject", name))
        for name in COLLECTIONS
        if config.get("tls", "inject", name)
    }
    assert injected == {kind: sorted(names) for kind, names in asking.items()}
    (role,) = (
        obj for obj in objects if (obj["kind"], obj["metadata"]["name"]) == ("ClusterRole", "claimcheck-ca")
    )
    granted = {rule["resources"][0]: sorted(rule["resourceNames"]) for rule in role["rules"]}
    assert granted == injected
    assert config.get("tls", "names") == ["claimcheck.claimcheck-system.svc"]
    assert config.get("tls", "secret") == {"name": "claimcheck-tls", "namespace": "claimcheck-system"}
