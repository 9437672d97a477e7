"""The chart as helm renders and installs it: it deploys what `claimcheck manifests` prints."""

from __future__ import annotations

import json
import subprocess
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.manifests.options import CERTIFICATES, MODES
from resourceapi.objects import Object
from tests.case_files import read_all
from tests.e2e.binaries import KUBERNETES, tool
from tests.e2e.control_plane import control_plane
from tests.e2e.custom_resources import FLAGS

CHART = Path(__file__).parents[2] / "manifests" / "chart"
IMAGE = ("registry.example.com/claimcheck", "1.2.3")
DIGEST = "sha256:" + "0" * 64
AUTHORITY = "-----BEGIN CERTIFICATE-----\nbm90IHJlYWxseQ==\n-----END CERTIFICATE-----\n"
CONFIG = """\
apiServer:
  serves: {serves}
policies:
  adminAccessLabels:
    mode: Enforce
    groups: [system:masters]
    labels:
    - key: its.example.com/A_b.c
    - key: b.example.com
quota: {{mode: {quota}}}
"""
GUARD = "policies: {adminAccess: {mode: Enforce, labels: [{key: %s}]}}"
_ARGUMENTS = ["--report-port=8081", "--node-pool-label=a: b # {{c}}\n- d"]
# What would be more than a text in the manifests that it is put into.
ESCAPES = [
    *(
        (GUARD % json.dumps(key), "is not the key of a label")
        for key in ("a\n---\nkind: Secret", "a'", "a\\", "a/b/c", "", "-a", "A/b", "a" * 64, "a" * 254 + "/b")
    ),
    *((f"apiServer: {{}}{end}kind: Secret", "write line breaks as") for end in "\r\x85\u2028\u2029"),
]
FEASIBILITY = """\
apiServer: {{serves: {serves}, devices: {devices}}}
policies: {{feasibility: {{mode: Enforce, insecureSkipClientVerify: {skip}}}}}
"""
OTHER_LEDGERS = (
    "apiServer: {serves: CustomResources}\nquota: {mode: Enforce, namespace: claimcheck-system-ledgers}"
)
KEPT = "helm.sh/resource-policy"


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(tool("helm")), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)


def template(*arguments: str) -> subprocess.CompletedProcess[str]:
    return helm("template", "claimcheck", str(CHART), "--kube-version", KUBERNETES, *arguments)


def rendered(*arguments: str, namespace: str = "claimcheck-system") -> dict[tuple[str, str], Object]:
    """The objects of the chart, without what keeps CRDs when it is uninstalled."""
    image = [f"--set=image.repository={IMAGE[0]}", f"--set-string=image.tag={IMAGE[1]}"]
    done = template("--namespace", namespace, *image, *arguments)
    assert done.returncode == 0, done.stderr
    objects = [obj for obj in yaml.safe_load_all(done.stdout) if obj is not None]
    for obj in objects:
        if obj["kind"] == "CustomResourceDefinition":
            annotations = obj["metadata"]["annotations"]
            assert annotations.pop(KEPT) == "keep"
            if not annotations:
                del obj["metadata"]["annotations"]
    return by_name(objects)


def by_name(objects: list[Object]) -> dict[tuple[str, str], Object]:
    named = {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}
    assert len(named) == len(objects)
    return named


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    """What the command prints, without the namespace of the release, which helm makes."""
    from commandline.main import main

    def run(*arguments: str) -> dict[tuple[str, str], Object]:
        assert main(["manifests", "--image", ":".join(IMAGE), *arguments]) == 0
        objects = by_name(read_all(capsys.readouterr().out))
        made = (
            "Namespace",
            next(
                (obj["metadata"]["namespace"] for (kind, _), obj in objects.items() if kind == "Deployment"),
                "",
            ),
        )
        return {key: obj for key, obj in objects.items() if key != made}

    return run


@pytest.mark.parametrize(
    ("mode", "certificates", "with_authority"), list(product(MODES, CERTIFICATES, (False, True)))
)
def test_the_chart_is_what_the_command_prints(
    mode: str, certificates: str, with_authority: bool, printed: Any, tmp_path: Path
) -> None:
    (tmp_path / "ca.crt").write_text(AUTHORITY)
    values = [f"--set=mode={mode}", f"--set=certificates={certificates}"]
    options = ["--mode", mode, "--certificates", certificates]
    if with_authority:
        values.append(f"--set-file=clientAuthority={tmp_path / 'ca.crt'}")
        options += ["--client-authority", str(tmp_path / "ca.crt")]
    assert rendered(*values) == printed(*options)


@pytest.mark.parametrize(
    ("values", "options", "namespace"),
    [
        (["--set=serviceMonitor=true"], ["--service-monitor"], "claimcheck-system"),
        (["--set=networkPolicy=false"], ["--no-network-policy"], "claimcheck-system"),
        (["--set=replicas=5"], ["--replicas", "5"], "claimcheck-system"),
        (["--set=failurePolicies.classes=Fail"], ["--failure-policy", "classes=Fail"], "claimcheck-system"),
        ([], ["--namespace", "policies"], "policies"),
        (["--set=mode=crd-served"], ["--mode", "crd-served", "--namespace", "12"], "12"),
        (
            [f"--set=image.digest={DIGEST}"],
            ["--image", f"{IMAGE[0]}@{DIGEST}"],
            "claimcheck-system",
        ),
    ],
)
def test_each_value_is_an_option(values: list[str], options: list[str], namespace: str, printed: Any) -> None:
    assert rendered(*values, namespace=namespace) == printed(*options)


@pytest.mark.parametrize(
    ("values", "options", "namespace"),
    [
        ([], [], "claimcheck-system"),
        (["--set=serviceMonitor=true"], ["--service-monitor"], "claimcheck-system"),
        (["--set=networkPolicy=false"], ["--no-network-policy"], "claimcheck-system"),
        ([], ["--namespace", "monitored"], "monitored"),
        ([f"--set=image.digest={DIGEST}"], ["--image", f"{IMAGE[0]}@{DIGEST}"], "claimcheck-system"),
        (["--set=mode=crd-served", "--set=replicas=3"], [], "claimcheck-system"),
        (
            [f"--set-json=arguments={json.dumps(_ARGUMENTS)}"],
            [f"--argument={each}" for each in _ARGUMENTS],
            "claimcheck-system",
        ),
    ],
)
def test_watch_is_what_the_command_prints(
    values: list[str], options: list[str], namespace: str, printed: Any
) -> None:
    """Instead of the webhooks."""
    found = rendered("--set=component=watch", *values, namespace=namespace)
    assert found == printed("--component", "watch", *options)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("quota", ["Enforce", '"Off"'])
def test_a_configuration_of_ones_own(mode: str, quota: str, printed: Any, tmp_path: Path) -> None:
    """It is used as it stands; labels that it guards and roles that it needs follow."""
    serves = "CustomResources" if mode == "crd-served" else "BuiltIn"
    (tmp_path / "ca.crt").write_text(AUTHORITY)
    (tmp_path / "webhook.yaml").write_text(CONFIG.format(serves=serves, quota=quota))
    values = [f"--set=mode={mode}", f"--set-file=clientAuthority={tmp_path / 'ca.crt'}"]
    options = ["--mode", mode, "--client-authority", str(tmp_path / "ca.crt")]
    found = rendered(*values, f"--set-file=config={tmp_path / 'webhook.yaml'}")
    assert found == printed(*options, "--config", str(tmp_path / "webhook.yaml"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "image.repository is required"),
        (["--set=image.repository=a", "--set=mode=both"], "mode"),
        (["--set=image.repository=a", "--set=component=scheduler"], "component"),
        (["--set=image.repository=a", "--set=replica=2"], "replica"),
        (["--set=image.repository=a", "--set-string=config=listen: {port: 1}"], "remove listen"),
        (["--set=image.repository=a", "--set-string=config=a: ["], "config:"),
        (
            ["--set=image.repository=a", "--set=mode=crd-served", "--set-string=config=quota: {}"],
            "apiServer.serves must be CustomResources",
        ),
        (
            ["--set=image.repository=a", "--set-string=config=quota: {mode: Enforce}"],
            "quota.mode needs clientAuthority",
        ),
        (
            [
                "--set=image.repository=a",
                "--set-json=config="
                + json.dumps(FEASIBILITY.format(serves="BuiltIn", devices="Watch", skip="false")),
            ],
            "policies.feasibility.mode needs clientAuthority, the authority of the API server's client certificate",
        ),
        (
            [
                "--set=image.repository=a",
                "--set=mode=crd-served",
                "--namespace=policies",
                "--set-json=config=" + json.dumps(OTHER_LEDGERS),
            ],
            "remove quota.namespace: the service may write its ledgers into policies-ledgers only",
        ),
        *(
            (["--set=image.repository=a", f"--set-json=config={json.dumps(text)}"], message)
            for text, message in ESCAPES
        ),
    ],
)
def test_what_the_chart_refuses(values: list[str], message: str) -> None:
    done = template(*values)
    assert done.returncode != 0
    assert message in done.stderr


@pytest.mark.parametrize(
    ("mode", "text"),
    [
        ("crd-served", OTHER_LEDGERS),
        ("crd-served", FEASIBILITY.format(serves="CustomResources", devices="Watch", skip="false")),
        ("built-in-guard", FEASIBILITY.format(serves="BuiltIn", devices="Watch", skip="true")),
        ("built-in-guard", FEASIBILITY.format(serves="BuiltIn", devices="Inventory", skip="false")),
        ("built-in-guard", "policies: {feasibility: {mode: Off}}\napiServer: {devices: Watch}"),
    ],
)
def test_what_the_chart_and_the_command_take(mode: str, text: str, printed: Any, tmp_path: Path) -> None:
    """Claims are looked at for whom the service knows, or for everybody, and ledgers are where it may write them."""
    (tmp_path / "webhook.yaml").write_text(text)
    found = rendered(f"--set=mode={mode}", f"--set-file=config={tmp_path / 'webhook.yaml'}")
    assert found == printed("--mode", mode, "--config", str(tmp_path / "webhook.yaml"))


def test_line_breaks_of_windows() -> None:
    """They are written as all others are."""
    text = CONFIG.format(serves="BuiltIn", quota='"Off"')
    config = json.dumps(text.replace("\n", "\r\n"))
    written = rendered(f"--set-json=config={config}")["ConfigMap", "claimcheck"]["data"]["webhook.yaml"]
    assert written.startswith(f"{text}listen:")


@pytest.mark.parametrize("mode", MODES)
def test_helm_finds_nothing_to_lint(mode: str) -> None:
    done = helm("lint", "--strict", str(CHART), "--set=image.repository=a", f"--set=mode={mode}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_install_and_uninstall() -> None:
    """An API server takes everything; CRDs outlive the release, as all claims would go with them."""
    with control_plane("1.37", flags=FLAGS) as server:
        ask = server.client.ask
        values = ["--set=image.repository=a", "--set=mode=crd-served"]
        where = ["--namespace", "policies", "--kubeconfig", str(server.kubeconfig)]
        done = helm("install", "claimcheck", str(CHART), "--create-namespace", *where, *values)
        assert done.returncode == 0, done.stderr
        deployments = "/apis/apps/v1/namespaces/policies/deployments"
        assert names(ask("GET", deployments).body) == {"claimcheck", "claimcheck-ca"}
        done = helm("uninstall", "claimcheck", *where)
        assert done.returncode == 0, done.stderr
        crds = names(ask("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions").body)
        assert "resourceclaims.resource.k8s.io" in crds
        assert names(ask("GET", deployments).body) == set()


def names(found: Object) -> set[str]:
    return {each["metadata"]["name"] for each in found["items"]}
