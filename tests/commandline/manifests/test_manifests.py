"""`claimcheck manifests`: what it prints for which options, and that files and installation agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from commandline.manifests import options
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from tests.case_files import read_all

ROOT = Path(__file__).parents[3]


@pytest.fixture
def manifests(capsys: pytest.CaptureFixture[str]) -> Any:
    """The objects that the command prints, by kind and name."""

    def run(*arguments: str) -> dict[tuple[str, str], Object]:
        image = [] if {"--image", "--url"} & set(arguments) else ["--image", "claimcheck:1"]
        assert main(["manifests", *image, *arguments]) == 0
        found = read_all(capsys.readouterr().out)
        named = {(obj["kind"], obj["metadata"]["name"]): obj for obj in found}
        assert len(named) == len(found)
        return named

    return run


def test_what_there_is(manifests: Any) -> None:
    """Everything that the service needs, in an order in which it can be applied."""
    kinds = [kind for kind, _ in manifests()]
    for kind in (
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Deployment",
        "Service",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ):
        assert kind in kinds
    assert kinds[0] == "Namespace"
    definitions = [name for kind, name in manifests() if kind == "CustomResourceDefinition"]
    assert definitions == ["resourceslicepatches.claimcheck.example.com"]
    assert "ServiceMonitor" not in kinds


def test_crds_where_they_serve(manifests: Any) -> None:
    """With --mode crd-served the CRDs come as well, and the configuration says so."""
    found = manifests("--mode", "crd-served")
    names = [name for kind, name in found if kind == "CustomResourceDefinition"]
    assert names == [
        f"{kind.resource}.{GROUP}" for kind in sorted(KINDS.values(), key=lambda kind: kind.resource)
    ]
    config = yaml.safe_load(found["ConfigMap", "claimcheck"]["data"]["webhook.yaml"])
    assert config["apiServer"]["serves"] == "CustomResources"


@pytest.mark.parametrize(
    ("image", "wanted"),
    [
        ("registry.example.com:5000/a/claimcheck:1.0", "registry.example.com:5000/a/claimcheck:1.0"),
        ("registry.example.com:5000/claimcheck", "registry.example.com:5000/claimcheck:latest"),
        ("claimcheck@sha256:00", "claimcheck@sha256:00"),
    ],
)
def test_image(manifests: Any, image: str | None, wanted: str) -> None:
    """A tag or digest is taken over; without --image it is that of the base."""
    found = manifests(*(() if image is None else ("--image", image)))
    (container,) = found["Deployment", "claimcheck"]["spec"]["template"]["spec"]["containers"]
    assert container["image"] == wanted


def test_replicas_and_monitor(manifests: Any) -> None:
    """Options for how many, and for who looks after them."""
    found = manifests("--replicas", "5", "--service-monitor", "--no-network-policy")
    assert found["Deployment", "claimcheck"]["spec"]["replicas"] == 5
    assert ("ServiceMonitor", "claimcheck") in found
    assert ("NetworkPolicy", "claimcheck") not in found


@pytest.mark.parametrize("mode", options.MODES)
@pytest.mark.parametrize("certificates", options.CERTIFICATES)
def test_another_namespace(manifests: Any, mode: str, certificates: str) -> None:
    """It is named wherever ours was: references, selectors, certificates, and the service's own configuration."""
    options = ("--mode", mode, "--certificates", certificates, "--service-monitor")
    ours, other = manifests(*options), manifests(*options, "--namespace", "elsewhere")
    assert "claimcheck-system" not in json.dumps(list(other.values()))
    as_ours = json.loads(json.dumps(list(other.values())).replace("elsewhere", "claimcheck-system"))
    quoted = [obj for obj in as_ours if obj["kind"] != "ConfigMap"]
    assert quoted == [obj for obj in ours.values() if obj["kind"] != "ConfigMap"]


def policies(found: dict[tuple[str, str], Object]) -> dict[str, str]:
    return {
        webhook["name"].partition(".")[0]: webhook["failurePolicy"]
        for obj in found.values()
        for webhook in obj.get("webhooks", ())
    }


def test_failure_policy(manifests: Any) -> None:
    """For all webhooks, for one, or for all but one; the last word counts."""
    usual = {
        "pods": "Ignore",
        "namespaces": "Fail",
        "validate": "Fail",
        "classes": "Ignore",
        "patches": "Fail",
    }
    assert policies(manifests()) == usual
    assert policies(manifests("--failure-policy", "classes=Fail")) == {**usual, "classes": "Fail"}
    changed = manifests("--failure-policy", "Ignore", "--failure-policy", "validate=Fail")
    assert policies(changed) == {**dict.fromkeys(usual, "Ignore"), "validate": "Fail"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--failure-policy", "nobody=Fail"],
            "the webhooks are classes, namespaces, patches, pods, validate",
        ),
        (["--failure-policy", "Perhaps"], "'Perhaps' is not [WEBHOOK=]Fail|Ignore"),
        (["--replicas", "0"], "'0' is not a positive number"),
        (["--image", "claimcheck:"], "expected NAME[:TAG|@DIGEST]"),
        (["--image", ""], "expected NAME[:TAG|@DIGEST]"),
        (["--image", "claim check:1"], "expected NAME[:TAG|@DIGEST]"),
        (["--image", "@sha256:0"], "expected NAME[:TAG|@DIGEST]"),
        (["--namespace", "My Team"], "'My Team' is not a valid namespace name"),
        (["--config", "/no/where"], "manifests: --config /no/where: no such file or directory\n"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be meant is an error, with what would be right."""
    assert main(["manifests", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


OWN_CONFIG = """# ours
apiServer: {serves: BuiltIn, namespaces: Watch}
policies:
  adminAccess: {mode: Enforce, labels: [{key: a.example.com/b}, {key: c, value: d}]}
  adminAccessLabels: {mode: Enforce, groups: [admins]}
"""


def test_own_configuration(manifests: Any, tmp_path: Path) -> None:
    """It takes the place of the overlay's, but for what the manifests depend on; the API server asks about its labels."""
    (tmp_path / "own.yaml").write_text(OWN_CONFIG)
    usual, found = manifests(), manifests("--config", str(tmp_path / "own.yaml"))
    text = found["ConfigMap", "claimcheck"]["data"]["webhook.yaml"]
    given = usual["ConfigMap", "claimcheck"]["data"]["webhook.yaml"].splitlines()[:3]
    assert text == OWN_CONFIG + "\n".join([*given, ""])
    (namespaces,) = found["ValidatingWebhookConfiguration", "claimcheck-namespaces"]["webhooks"]
    (condition,) = namespaces["matchConditions"]
    assert condition["expression"].startswith(
        "['resource.kubernetes.io/admin-access', 'a.example.com/b', 'c'].exists(key, object.metadata"
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("listen: {port: 1}\nlints: Warn\ntls: {directory: d}\n", "lints: Warn\n"),
        ("# ours\nlints: Warn\n\ntls:\n  # here\n  directory: d\n", "# ours\nlints: Warn\n"),
        ("tls:\n  directory: d\n# lints, too\n\nlints: Warn\n", "# lints, too\n\nlints: Warn\n"),
        ("tls: {\n  directory: d\n}\nlints: Warn # only\n", "lints: Warn # only\n"),
    ],
)
def test_one_configuration_for_serve_and_for_manifests(
    given: str, kept: str, manifests: Any, tmp_path: Path
) -> None:
    """`listen` and `tls` are those of the manifests; everything else stays as it is written."""
    (tmp_path / "own.yaml").write_text(given)
    text = manifests("--config", str(tmp_path / "own.yaml"))["ConfigMap", "claimcheck"]["data"][
        "webhook.yaml"
    ]
    usual = manifests()["ConfigMap", "claimcheck"]["data"]["webhook.yaml"]
    assert text == kept + "\n".join([*usual.splitlines()[:3], ""])


def test_without_an_image_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The pods could never start."""
    assert main(["manifests"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "--image IMAGE is needed" in captured.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lints: Warn\npolices: {}\n", "own.yaml:2:1: polices: unknown field"),
        ("{lints: Warn, tls: {directory: d}}\n", "own.yaml:1:15: remove tls, which the manifests set"),
        ("lints: Warn\ninventory: [cluster/]\n", "own.yaml:2:1: remove inventory"),
        (
            (
                "policies: {opaqueParameters: {mode: Warn, schemas: [\n"
                "  {driver: a.example.com, apiVersion: a/v1, kind: K, schemaFile: k.json}]}}\n"
            ),
            "own.yaml:2:54: put the schema itself under `schema`",
        ),
        ("tls: {directory: d}\nlints: Maybe\n", "own.yaml:2:8: lints: "),
        ("[]", "own.yaml:1:1"),
        (
            "quota: {mode: Enforce}",
            "own.yaml: quota.mode needs --client-authority",
        ),
        (
            "quota: {mode: Enforce, insecureSkipClientVerify: true}",
            "own.yaml: quota.mode needs --client-authority",
        ),
        ("apiServer: {serves: CustomResources}", "own.yaml: apiServer.serves must be BuiltIn in this mode"),
        (
            "apiServer: {devices: Watch}\npolicies: {feasibility: {mode: Enforce}}",
            "own.yaml: policies.feasibility.mode needs --client-authority",
        ),
    ],
)
def test_own_configuration_with_mistakes(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are told with their line, as the service would tell them."""
    (tmp_path / "own.yaml").write_text(text)
    assert main(["manifests", "--image", "a", "--config", str(tmp_path / "own.yaml")]) == 2
    assert message in capsys.readouterr().err


def test_own_namespace_of_ledgers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The service may write into one namespace only: another one, such as that of before, would have claims refused."""
    own = tmp_path / "own.yaml"
    given = ["manifests", "--image", "a", "--mode", "crd-served", "--config", str(own)]
    text = "apiServer: {serves: CustomResources}\nquota:\n  mode: Enforce\n  namespace: claimcheck-system"
    own.write_text(text)
    assert main(given) == 2
    assert "own.yaml:4:3: remove quota.namespace: the service may write" in capsys.readouterr().err
    own.write_text(f"{text}-ledgers")
    assert main(given) == 0


@pytest.mark.parametrize("mode", options.MODES)
@pytest.mark.parametrize("certificates", ["own", "secret", "cert-manager"])
def test_client_authority(manifests: Any, tmp_path: Path, certificates: str, mode: str) -> None:
    """Where quota is checked, the pods know the API server by the authority in a ConfigMap that the option makes."""
    file = tmp_path / "ca.crt"
    file.write_text("-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n")
    options = ("--mode", mode, "--certificates", certificates, "--namespace", "elsewhere")
    found = manifests(*options, "--client-authority", str(file))
    authority = found["ConfigMap", "claimcheck-clients"]
    assert (authority["metadata"]["namespace"], authority["data"]) == (
        "elsewhere",
        {"ca.crt": file.read_text()},
    )
    pod = found["Deployment", "claimcheck"]["spec"]["template"]["spec"]
    (mount,) = (each for each in pod["containers"][0]["volumeMounts"] if each["name"] == "clients")
    (volume,) = (each for each in pod["volumes"] if each["name"] == "clients")
    assert volume["configMap"] == {"name": "claimcheck-clients"}
    config = yaml.safe_load(found["ConfigMap", "claimcheck"]["data"]["webhook.yaml"])
    assert config["tls"]["clientAuthorityFile"] == f"{mount['mountPath']}/ca.crt"
    assert config["tls"]["requireClientCertificate"] == "Reservations"
    assert config["quota"] == {"mode": "Enforce"}
    assert ("ClusterRole", "claimcheck-quota") in found


def test_guard_without_client_authority(manifests: Any) -> None:
    """As long as nobody says how to know the API server, there is no quota in front of the built-in API, which enforces
    limits itself, and nothing waits for a ConfigMap."""
    found = manifests("--mode", "built-in-guard")
    config = yaml.safe_load(found["ConfigMap", "claimcheck"]["data"]["webhook.yaml"])
    assert config["quota"] == {"mode": "Off"}
    assert "clientAuthorityFile" not in config["tls"]
    assert ("ClusterRole", "claimcheck-quota") not in found
    assert "claimcheck-clients" not in json.dumps(list(found.values()))


def test_client_authority_for_an_own_configuration(manifests: Any, tmp_path: Path) -> None:
    """It comes into somebody's own configuration as well, which then may have quota."""
    (tmp_path / "ca.crt").write_text(CERTIFICATE)
    (tmp_path / "own.yaml").write_text("quota: {mode: Enforce}\n")
    found = manifests("--config", str(tmp_path / "own.yaml"), "--client-authority", str(tmp_path / "ca.crt"))
    config = yaml.safe_load(found["ConfigMap", "claimcheck"]["data"]["webhook.yaml"])
    assert config["tls"]["clientAuthorityFile"] == "/etc/claimcheck/clients/ca.crt"
    assert ("ClusterRole", "claimcheck-quota") in found


def test_client_authority_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key is for nobody else."""
    file = tmp_path / "ca.crt"
    for text, mode, message in (
        ("", "crd-served", "the file has no certificate (PEM)"),
        (
            "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----",
            "crd-served",
            "the file has a private key",
        ),
        ("", "built-in-guard", "the file has no certificate (PEM)"),
    ):
        file.write_text(text)
        assert main(["manifests", "--mode", mode, "--client-authority", str(file)]) == 2
        assert message in capsys.readouterr().err


def test_json(capsys: pytest.CaptureFixture[str], manifests: Any) -> None:
    """The same as a List in JSON."""
    assert main(["manifests", "--image", "claimcheck:1", "-o", "json"]) == 0
    items = json.loads(capsys.readouterr().out)["items"]
    assert items == list(manifests().values())


CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("mode", options.MODES)
def test_service_elsewhere(manifests: Any, tmp_path: Path, mode: str) -> None:
    """With --url only what asks the service is printed; all of it asks there, and knows the service."""
    authority = tmp_path / "ca.crt"
    authority.write_text(CERTIFICATE)
    found = manifests("--mode", mode, "--url", "https://127.0.0.1:8443/", "--authority", str(authority))
    kinds = {kind for kind, _ in found}
    assert kinds == {
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
    text = json.dumps(list(found.values()))
    assert '"service"' not in text
    for path in ("/validate", "/mutate", *(["/convert"] if mode == "crd-served" else [])):
        assert f'"https://127.0.0.1:8443{path}"' in text
    assert text.count('"url"') == text.count('"caBundle"')


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--url", "https://127.0.0.1:8443"), "--url and --authority need each other"),
        (("--authority", "CERTIFICATE"), "--url and --authority need each other"),
        (("--url", "https://h", "--authority", "missing"), "No such file"),
        (("--url", "https://h", "--authority", "KEY"), "the file has a private key"),
        (("--url", "https://h", "--authority", "EMPTY"), "the file has no certificate"),
    ],
)
def test_service_elsewhere_needs_both(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    """The address and a way to know who is there; a private key is not given away."""
    key = "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n"
    for name, content in (("CERTIFICATE", CERTIFICATE), ("KEY", CERTIFICATE + key), ("EMPTY", "")):
        (tmp_path / name).write_text(content)
    given = [str(tmp_path / each) if each.isupper() else each for each in arguments]
    assert main(["manifests", *given]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    [
        *("http://h", "h:1", "https://", "https://u:p@h", "https://h/path", "https://h?q", "https://h#f"),
        *("https://h:0", "https://h:99999", "https://[h"),
    ],
)
def test_service_elsewhere_is_https(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing but a host and a port."""
    assert main(["manifests", "--url", url, "--authority", "ca.crt"]) == 2
    assert "is not https://HOST[:PORT]" in capsys.readouterr().err


@pytest.mark.parametrize("mode", options.MODES)
def test_definitions_are_kept(manifests: Any, mode: str) -> None:
    """`kubectl delete -f -` comes to the CRDs first, while the policy refuses to delete those of the groups."""
    found = manifests("--mode", mode, "--image", "claimcheck:1")
    names = list(found)
    definitions = [key for key in names if key[0] == "CustomResourceDefinition"]
    policy = names.index(("ValidatingAdmissionPolicy", "claimcheck-definitions"))
    binding = names.index(("ValidatingAdmissionPolicyBinding", "claimcheck-definitions"))
    assert max(map(names.index, definitions)) < min(policy, binding)
    (condition,) = found[names[policy]]["spec"]["matchConditions"]
    for key in definitions:
        assert f"'{found[key]['spec']['group']}'" in condition["expression"]
    assert found[names[binding]]["spec"]["validationActions"] == ["Deny"]
