"""The configuration file: what it may say, and where in it a mistake is."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from commandline.main import main
from serving.config_file import ConfigError
from tests.webhook.examples import admission
from webhook.application import check
from webhook.assembly import ledger_namespace, left_out, make_context, watched_files
from webhook.config import load_config, schema_of_config
from webhook.label_guard import BUILT_IN_LABEL, LabelGuard, LabelRule
from webhook.policies import AdminAccess, OpaqueParameters
from webhook.prescheduled import PreScheduledPods
from webhook.reviews import parse_admission

TLS = "tls: {directory: certificates}\n"
FOR_ALL = "policies: {feasibility: {insecureSkipClientVerify: true}}\n"


def load(tmp_path: Path, text: str) -> Any:
    file = tmp_path / "webhook.yaml"
    file.write_text(text)
    return load_config(str(file))


def test_schema_is_one() -> None:
    """The published schema is a JSON Schema itself."""
    jsonschema.Draft202012Validator.check_schema(schema_of_config())


def test_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The schema can be had from the command."""
    assert main(["serve", "--print-schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema_of_config()


def test_defaults(tmp_path: Path) -> None:
    """What is left out has the schema's default; by default built-in kinds are guarded, without policies."""
    config = load(tmp_path, TLS)
    assert (config.get("listen", "address"), config.get("listen", "port")) == ("127.0.0.1", 8443)
    context = make_context(config)
    assert (context.rules, context.policies, context.facts is None) == (False, (), False)


def test_everything(tmp_path: Path) -> None:
    """Inventory, policies and schemas from files beside the configuration are taken."""
    (tmp_path / "schema.yaml").write_text("type: object\n")
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects" / "namespace.yaml").write_text(
        "{apiVersion: v1, kind: Namespace, metadata: {name: team, labels: {a: b}}}"
    )
    config = load(
        tmp_path,
        TLS
        + """
apiServer: {serves: CustomResources, release: "1.36", featureGates: {DRAAdminAccess: true}}
inventory: [objects]
lints: "Off"
policies:
  adminAccess: {mode: Warn, labels: [{key: a}, {key: b, value: "true"}]}
  opaqueParameters:
    mode: Enforce
    schemas: [{driver: d.example.com, apiVersion: v1, kind: K, schemaFile: schema.yaml}]
""",
    )
    context = make_context(config)
    admin, opaque = context.policies
    assert isinstance(admin, AdminAccess)
    assert admin.labels == (LabelRule("a"), LabelRule("b", "true"))
    assert isinstance(opaque, OpaqueParameters)
    assert (context.rules, context.facts, context.server.profile.name) == (True, None, "1.36")
    assert context.server.namespace_labels("team") == {"a": "b"}
    assert {file.name for file in watched_files(config)} == {"webhook.yaml", "namespace.yaml", "schema.yaml"}


BAD = {
    "unknown-field": (
        TLS + "listen:\n  prt: 1\n",
        "3:3: listen.prt: unknown field; known are address, port, workers",
    ),
    "wrong-type": (TLS + "listen:\n  port: many\n", "3:9: listen.port: 'many' is not of type 'integer'"),
    "out-of-range": (
        TLS + "listen: {port: 65536}\n",
        "2:16: listen.port: 65536 is greater than the maximum of 65535",
    ),
    "no-tls": ("lints: 'Off'\n", "1:1: tls: is missing; add `tls:` at the top level"),
    "two-certificates": (
        "tls:\n  directory: a\n  certificateFile: b\n  keyFile: c\n",
        "2:3: tls: needs exactly one of: certificateFile and keyFile or directory or secret",
    ),
    "directory-and-secret": (
        "tls:\n  directory: a\n  secret: {name: b}\n",
        "2:3: tls: needs exactly one of: certificateFile and keyFile or directory or secret",
    ),
    "injection-of-given-certificates": (
        "tls:\n  certificateFile: a\n  keyFile: b\n  inject: {customResourceDefinitions: [c]}\n",
        "4:11: tls.inject: only for own certificates (directory or secret)",
    ),
    "yes-for-a-name": (
        TLS + "listen:\n  y: 1\n",
        "3:3: listen.true: the key y is read as true, as in YAML 1.1: write 'y'",
    ),
    "secret-without-name": (
        "tls:\n  secret: {}\n",
        "2:11: tls.secret.name: is missing; add `name:` below `tls.secret`",
    ),
    "twice": ("tls: {directory: a}\ntls: {directory: b}\n", "2:1: tls: the key is there already in line 1"),
    "two-documents": (TLS + "---\n" + TLS, " expected one document, found 2"),
    "no-yaml": ("tls: [", "1:7: "),
    "unknown-release": (
        TLS + "apiServer:\n  release: '1.20'\n",
        "3:12: apiServer.release: unknown release '1.20'",
    ),
    "unknown-gate": (
        TLS + "apiServer:\n  featureGates:\n    Nope: true\n",
        "4:5: apiServer.featureGates: unrecognized feature gate: Nope",
    ),
    "missing-inventory": (TLS + "inventory:\n- nowhere\n", ":3:3: inventory[0]: "),
    "missing-certificate": (
        "tls:\n  certificateFile: none.crt\n  keyFile: none.key\n",
        "2:20: tls.certificateFile: cannot use ",
    ),
    "missing-client-authority": (
        "tls: {directory: d, clientAuthorityFile: none.crt}\n",
        "none.crt: no such file or directory",
    ),
    "reservations-for-everybody": (
        TLS + "apiServer: {serves: CustomResources}\nquota: {mode: Enforce}\n",
        "3:15: quota.mode: only the API server may ask for it, since that asks the cluster, and tells who uses what: name ",
    ),
    "quota-for-everybody": (
        TLS + "apiServer: {serves: BuiltIn}\nquota: {mode: Enforce}\n",
        "3:15: quota.mode: only the API server may ask for it, since that asks the cluster, and tells who uses what: name ",
    ),
    "requirement-without-authority": (
        "tls: {directory: a, requireClientCertificate: Reservations}\n",
        "1:21: tls.requireClientCertificate: needs `tls.clientAuthorityFile` too",
    ),
    "long-trust-lead": (
        "tls:\n  directory: a\n  authorityDays: 3\n  trustLeadHours: 24\n",
        "4:19: tls.trustLeadHours: must be less than a third of tls.authorityDays",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_have_a_place(tmp_path: Path, name: str) -> None:
    """A mistake is reported with file, line and column, before anything is served."""
    text, expected = BAD[name]
    with pytest.raises(ConfigError) as caught:
        check(load(tmp_path, text))
    assert expected in str(caught.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    """Everything that the schema finds is reported, in the order of the file."""
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, "listen: {port: -1}\nlints: maybe\n" + TLS)
    assert [problem.line for problem in caught.value.problems] == [1, 2]


SCHEMAS = {
    "no-schema": ("{type: thing}", "is not valid under any of the given schemas"),
    "reference-elsewhere": ("{$ref: 'https://example.com/a'}", "refers to another document"),
    "lookahead": ("{pattern: '(?=a)'}", "not a regular expression of RE2"),
    "pattern-properties": ("{patternProperties: {a: {}}}", "patternProperties is not supported"),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_unusable_schemas(tmp_path: Path, name: str) -> None:
    """Schemas of parameters that cannot be applied safely are refused where they stand."""
    schema, expected = SCHEMAS[name]
    text = (
        TLS
        + "policies:\n  opaqueParameters:\n    mode: Warn\n    schemas:\n"
        + f"    - {{driver: d, apiVersion: v1, kind: K, schema: {schema}}}\n"
    )
    with pytest.raises(ConfigError) as caught:
        check(load(tmp_path, text))
    problem = caught.value.problems[0]
    assert problem.line == 6
    assert expected in problem.message


def test_command_refuses_a_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command ends with code 2 and says what is wrong."""
    file = tmp_path / "webhook.yaml"
    file.write_text("lint: on\n")
    assert main(["serve", "--check", "--config", str(file)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"{file}:1:1: ")
    file.write_text(TLS)
    assert main(["serve", "--check", "--config", str(file)]) == 0
    assert main(["serve"]) == 2


def test_example_of_the_guide(tmp_path: Path) -> None:
    """The configuration in the guide is usable as it stands, once its inventory is there."""
    guide = (Path(__file__).parents[2] / "docs" / "how-to" / "webhook.md").read_text()
    block = guide.split("**A first configuration.**")[1].split("\n\n")[1]
    (tmp_path / "namespaces.yaml").write_text("{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n")
    config = load(tmp_path, textwrap.dedent(block))
    check(config)
    assert [policy.name for policy in make_context(config).policies] == ["admin-access"]


POLICIES = """
policies:
  adminAccess: {mode: Warn, labels: [{key: a}]}
  adminAccessLabels: {mode: Enforce, users: [admin]}
  preScheduledPods: {mode: Warn}
"""
SLICE = "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: s}, spec: {driver: d, pool: {name: p}}}"


def test_policies_about_other_objects(tmp_path: Path) -> None:
    """Those about namespaces and pods; what guards labels guards those of admin access if it names none of its own."""
    context = make_context(load(tmp_path, TLS + POLICIES))
    assert isinstance(context.labels, LabelGuard)
    assert context.labels.labels == (BUILT_IN_LABEL, LabelRule("a"))
    assert isinstance(context.pods, PreScheduledPods)
    assert context.pods.mode == "Warn"
    own = POLICIES.replace("users: [admin]", "labels: [{key: b, value: c}]")
    context = make_context(load(tmp_path, TLS + own))
    assert isinstance(context.labels, LabelGuard)
    assert context.labels.labels == (BUILT_IN_LABEL, LabelRule("b", "c"))


def test_policies_that_are_off(tmp_path: Path) -> None:
    """Nothing is looked at."""
    off = POLICIES.replace("Warn", "'Off'").replace("Enforce", "'Off'")
    context = make_context(load(tmp_path, TLS + off))
    assert (context.policies, context.labels, context.pods) == ((), None, None)


def test_off_needs_no_quotes(tmp_path: Path) -> None:
    """YAML takes Off for a truth value; where a word is expected it is one."""
    config = load(
        tmp_path,
        TLS
        + "lints: Off\npolicies: {feasibility: {mode: off}, adminAccess: {mode: Off, labels: [{key: a}]}}",
    )
    assert (config.get("lints"), config.get("policies", "feasibility", "mode")) == ("Off", "Off")
    assert make_context(config).policies == ()
    with pytest.raises(ConfigError, match="False is not of type 'string'"):
        load(tmp_path, TLS + "listen: {address: Off}")


def test_feasibility_needs_devices(tmp_path: Path) -> None:
    """It is told as soon as there are slices in the inventory, or the cluster is followed; unless it is off."""
    (tmp_path / "slice.yaml").write_text(SLICE)
    inventory = TLS + "inventory: [slice.yaml]\n"
    assert make_context(load(tmp_path, TLS + FOR_ALL)).feasibility is None
    assert make_context(load(tmp_path, inventory + FOR_ALL)).feasibility is not None
    off = inventory + "policies: {feasibility: {mode: 'Off'}}\n"
    assert make_context(load(tmp_path, off)).feasibility is None


def test_feasibility_needs_certificates(tmp_path: Path) -> None:
    """What takes time and tells of devices is for API servers that show a certificate; who configures none is told so."""
    (tmp_path / "slice.yaml").write_text(SLICE)
    inventory = TLS + "inventory: [slice.yaml]\n"
    assert make_context(load(tmp_path, inventory)).feasibility is None
    said = left_out(load(tmp_path, inventory))
    assert said.startswith(
        "no warnings about claims that no device can satisfy: only the API server may ask for it, "
    )
    for text in (TLS, inventory + FOR_ALL, inventory + "policies: {feasibility: {mode: 'Off'}}\n"):
        assert left_out(load(tmp_path, text)) == ""
    enforced = inventory + "policies: {feasibility: {mode: Enforce}}\n"
    with pytest.raises(ConfigError, match=r"policies\.feasibility\.mode: only the API server may ask for it"):
        make_context(load(tmp_path, enforced))
    watched = enforced.replace("inventory: [slice.yaml]", "apiServer: {devices: Watch}")
    with pytest.raises(ConfigError, match=r"policies\.feasibility\.mode: only the API server may ask for it"):
        check(load(tmp_path, watched))
    known = enforced.replace("tls: {", "tls: {clientAuthorityFile: ca.crt, ")
    feasibility = make_context(load(tmp_path, known)).feasibility
    assert feasibility is not None
    assert feasibility.is_for_known_clients


def test_patch_of_the_inventory_that_cannot_be_read(tmp_path: Path) -> None:
    """In whichever group it is, the configuration is refused, with the place of the value."""
    for group in ("resource.k8s.io", "claimcheck.example.com"):
        head = f"apiVersion: {group}/v1alpha3\nkind: ResourceSlicePatch\nmetadata: {{name: a}}\n"
        (tmp_path / "patch.yaml").write_text(f"{head}spec: {{devices: 5}}\n")
        with pytest.raises(ConfigError, match=r"patch\.yaml:4:17: json: cannot unmarshal number"):
            make_context(load(tmp_path, f"{TLS}inventory: [patch.yaml]\n"))


def test_known_nodes(tmp_path: Path) -> None:
    """Host names of nodes come from the inventory where the cluster is not followed."""
    node = "{apiVersion: v1, kind: Node, metadata: {name: worker, labels: {kubernetes.io/hostname: h}}}"
    (tmp_path / "node.yaml").write_text(node)
    context = make_context(load(tmp_path, TLS + "inventory: [node.yaml]" + POLICIES))
    spec = {"nodeName": "worker", "resourceClaims": [{"name": "c"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    assert context.pods is not None
    decision = context.pods.decide(parse_admission(admission(pod)))
    assert decision is not None
    assert "kubernetes.io/hostname: h" in decision.warning


@pytest.mark.parametrize(
    ("configured", "of_the_pod", "wanted"),
    [
        ("given", "pod", "given"),
        (None, "pod\n", "pod-ledgers"),
        (None, "", "claimcheck-system-ledgers"),
        (None, None, "claimcheck-system-ledgers"),
    ],
)
def test_namespace_of_ledgers(
    tmp_path: Path, configured: str | None, of_the_pod: str | None, wanted: str
) -> None:
    """Named after that where the service runs, which kubelet tells it, as long as nothing else is said."""
    if of_the_pod is not None:
        (tmp_path / "namespace").write_text(of_the_pod)
    named = f", namespace: {configured}" if configured else ""
    config = load(tmp_path, f"{TLS}apiServer: {{tokenFile: token}}\nquota: {{mode: Enforce{named}}}\n")
    assert ledger_namespace(config) == wanted


MISREAD = {
    "definition": ("$defs: {n: {type: string}}", "schema.yaml:1:9: $defs.false: the key n is read as false"),
    "property": (
        "properties:\n  x: {}\n  y: {}\n",
        "schema.yaml:3:3: properties.true: the key y is read as true",
    ),
    "in-a-list": ("allOf:\n- properties: {on: {}}\n", "allOf[0].properties.true: the key on is read as true"),
}


@pytest.mark.parametrize("name", MISREAD)
def test_names_that_yaml_takes_for_truth_values(tmp_path: Path, name: str) -> None:
    """A name in a schema that YAML reads as true or false is an error that says so; quoted, or meant, it is none."""
    text, expected = MISREAD[name]
    opaque = "{driver: d.example.com, apiVersion: v1, kind: K, schemaFile: schema.yaml}"
    config = load(tmp_path, TLS + f"policies: {{opaqueParameters: {{mode: Warn, schemas: [{opaque}]}}}}\n")
    (tmp_path / "schema.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        make_context(config)
    assert expected in str(caught.value)
    for fixed in (
        "$defs: {'n': {type: string}}",
        'properties: {"y": {}}',
        "properties: {true: {}, 'false': {}}",
    ):
        (tmp_path / "schema.yaml").write_text(fixed)
        make_context(config)
