"""The manifests as kustomize renders them: an API server takes them, and the pod lives with what they allow."""

from __future__ import annotations

import copy
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from commandline.manifests import deployment, options
from resourceapi.objects import Object
from tests.e2e.binaries import tool
from tests.e2e.control_plane import ApiServer, control_plane
from tests.e2e.custom_resources import FLAGS
from tests.e2e.deployed import apply
from tests.e2e.kubectl import Kubectl

MANIFESTS = Path(__file__).parents[2] / "manifests"
NAMESPACE = "claimcheck-system"
AUTHORITY = "authority.crt"


def render(directory: Path) -> list[Object]:
    """The objects of a kustomization."""
    command = [str(tool("kubectl")), "kustomize", str(directory)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return list(yaml.safe_load_all(text))


@pytest.fixture(scope="module")
def without_group() -> Iterator[ApiServer]:
    """A server that does not serve the group."""
    with control_plane("1.37", flags=FLAGS) as server:
        yield server


@pytest.fixture
def server(
    request: pytest.FixtureRequest, api_server: Callable[[str], ApiServer], without_group: ApiServer
) -> ApiServer:
    """The server that an overlay is for, with the service's namespaces: a dry run of one does not make it."""
    server = api_server("1.37") if request.param == "built-in-guard" else without_group
    for obj in render(MANIFESTS / "overlays" / request.param):
        if obj["kind"] == "Namespace":
            assert apply(server.client, obj).code in (200, 201)
    return server


OVERLAYS = [pytest.param(name, name, id=name) for name in ("built-in-guard", "crd-served")]
WITH_SCHEDULER = [*OVERLAYS, pytest.param("scheduler", "built-in-guard", id="scheduler")]


@pytest.mark.parametrize(("overlay", "server"), WITH_SCHEDULER, indirect=["server"])
def test_api_server_takes_them(overlay: str, server: ApiServer) -> None:
    """Every object, with no unknown field and no warning; an eye is kept on pod security, too."""
    for obj in render(MANIFESTS / "overlays" / overlay):
        answer = apply(server.client, obj, dryRun="All")
        assert answer.code in (200, 201), (obj["kind"], answer.body)
        assert answer.warnings == [], obj["kind"]


@pytest.mark.parametrize(("overlay", "server"), OVERLAYS, indirect=["server"])
def test_kubectl_applies_what_the_command_prints(overlay: str, server: ApiServer, tmp_path: Path) -> None:
    """In another namespace, with own certificates, and a configuration of one's own: nothing is unknown, and nothing is
    warned about."""
    for name in ("elsewhere", "elsewhere-ledgers"):
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        assert apply(server.client, namespace).code in (200, 201)
    command = [sys.executable, "-m", "commandline.main", "manifests", "--mode", overlay]
    command += ["--namespace", "elsewhere", "--image", "registry.example.com/claimcheck:1"]
    if overlay == "built-in-guard":
        labels = "labels: [{key: a.example.com/b}]"
        (tmp_path / "own.yaml").write_text(f"policies: {{adminAccessLabels: {{mode: Warn, {labels}}}}}\n")
        command += ["--config", str(tmp_path / "own.yaml")]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    (tmp_path / "manifests.yaml").write_text(text)
    kubectl = Kubectl(server, tmp_path / "cache")
    done = kubectl("apply", "--server-side", "--dry-run=server", "-f", str(tmp_path / "manifests.yaml"))
    assert (done.code, done.errors) == (0, "")
    assert len(done.text.splitlines()) == len(list(yaml.safe_load_all(text)))


@pytest.mark.parametrize(("overlay", "server"), WITH_SCHEDULER, indirect=["server"])
def test_pod_is_admitted(overlay: str, server: ApiServer) -> None:
    """The pods of Deployments fulfil the restricted standard, which their namespace enforces; others do not."""
    deployments = [obj for obj in render(MANIFESTS / "overlays" / overlay) if obj["kind"] == "Deployment"]
    assert deployments
    for each in deployments:
        pod = {"apiVersion": "v1", "kind": "Pod", **copy.deepcopy(each["spec"]["template"])}
        pod["metadata"] = {"name": "claimcheck", "namespace": NAMESPACE}
        answer = apply(server.client, pod, dryRun="All")
        assert (answer.code, answer.warnings) == (201, []), answer.body
        assert answer.body["spec"]["priority"] > 1_000_000_000
        del pod["spec"]["securityContext"]
        assert apply(server.client, pod, dryRun="All").code == 403


@pytest.mark.parametrize("mode", options.MODES)
@pytest.mark.parametrize("certificates", options.CERTIFICATES)
def test_scheduler_is_what_kustomize_renders(mode: str, certificates: str, tmp_path: Path) -> None:
    """So it is with --component scheduler."""
    parser = ArgumentParser()
    options.add_arguments(parser)
    arguments = ["--component", "scheduler", "--mode", mode, "--certificates", certificates]
    parsed = parser.parse_args(
        [*arguments, "--service-monitor", "--kube-scheduler-image", "k:1", "--image", "c:1"]
    )
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    directory = tmp_path / "manifests" / "overlays" / "own"
    directory.mkdir()
    kustomization = deployment.scheduler_kustomization(parsed)
    for field in ("resources", "components"):  # written for the directory above
        kustomization[field] = [f"../{name}" for name in kustomization[field]]
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    assert _by_name(deployment.objects_of(parsed)) == _by_name(render(directory))


def test_classic_driver_is_what_kustomize_renders(tmp_path: Path) -> None:
    """So it is with --component classic-gpu."""
    parser = ArgumentParser()
    options.add_arguments(parser)
    parsed = parser.parse_args(
        ["--component", "classic-gpu", "--replicas", "3", "--image", "r.example.com/c:1"]
    )
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    directory = tmp_path / "manifests" / "own"
    directory.mkdir()
    kustomization = deployment.classic_gpu_kustomization(parsed)
    kustomization["resources"] = [f"../{name}" for name in kustomization["resources"]]
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    assert _by_name(deployment.objects_of(parsed)) == _by_name(render(directory))


def _is_converted(obj: Object) -> bool:
    """Whether it is a CRD whose objects the service converts."""
    spec = obj.get("spec", {})
    return obj["kind"] == "CustomResourceDefinition" and bool(spec["conversion"]["strategy"] == "Webhook")


def test_cert_manager_puts_its_bundle_into_all(tmp_path: Path) -> None:
    """With the component, whatever asks the service is told where its authority is."""
    for name in ("built-in-guard", "crd-served"):
        directory = tmp_path / "manifests"
        shutil.copytree(MANIFESTS, directory, dirs_exist_ok=True)
        file = directory / "overlays" / name / "kustomization.yaml"
        file.write_text(file.read_text() + "components: [../../components/cert-manager]\n")
        asking = [
            obj["metadata"].get("annotations", {}).get("cert-manager.io/inject-ca-from")
            for obj in render(file.parent)
            if obj["kind"].endswith("WebhookConfiguration") or _is_converted(obj)
        ]
        assert asking
        assert set(asking) == {"claimcheck-system/claimcheck"}


@pytest.mark.parametrize("mode", options.MODES)
@pytest.mark.parametrize("certificates", options.CERTIFICATES)
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="as-it-is"),
        pytest.param(("--service-monitor", "--replicas", "3"), id="monitored"),
        pytest.param(("--image", "r.example.com:5000/claimcheck:1"), id="tag"),
        pytest.param(("--client-authority", AUTHORITY), id="known-clients"),
        pytest.param(("--image", "r.example.com/claimcheck@sha256:0123"), id="digest"),
    ],
)
def test_command_prints_what_kustomize_renders(
    mode: str, certificates: str, arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """`claimcheck manifests` is no second source: kustomize makes the same objects of the same files."""
    parser = ArgumentParser()
    options.add_arguments(parser)
    (tmp_path / AUTHORITY).write_text("-----BEGIN CERTIFICATE-----\n")
    given = [str(tmp_path / each) if each == AUTHORITY else each for each in arguments]
    parsed = parser.parse_args(["--mode", mode, "--certificates", certificates, *given])
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    directory = tmp_path / "manifests" / "overlays" / "own"
    directory.mkdir()
    kustomization = deployment.kustomization(parsed)
    for field in ("resources", "components"):  # written for the directory above
        kustomization[field] = [f"../{name}" for name in kustomization[field]]
    (directory / "kustomization.yaml").write_text(yaml.safe_dump(kustomization))
    rendered = _by_name(deployment.objects_of(parsed))
    if AUTHORITY in arguments:  # what is in a file of somebody's is for the command alone
        del rendered["ConfigMap", "claimcheck-clients"]
    assert rendered == _by_name(render(directory))


def _by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
