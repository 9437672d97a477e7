"""What kubectl does around a request: its order of keys, its annotation, and what it cannot apply (`tests/e2e` asks the real one)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.cluster.test_configuration_as_yaml import configuration

PARAMETERS = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: claim}
spec:
  devices:
    requests:
    - {name: gpu, exactly: {deviceClassName: gpu.example.com}}
    config:
    - opaque:
        driver: gpu.example.com
        parameters: {strategy: TimeSlicing, apiVersion: gpu.example.com/v1, kind: GpuConfig}
"""
GENERATED = PARAMETERS.replace("name: claim", "generateName: claim-")
Findings = Callable[..., list[tuple[str, str, str]]]


@pytest.fixture
def findings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Findings:
    """Runs the command on a text; returns rule, field and hint of each finding."""

    def findings(text: str, *options: str, code: int = 0) -> list[tuple[str, str, str]]:
        file = tmp_path / "objects.yaml"
        file.write_text(text, encoding="utf-8")
        assert main(["validate", "-o", "json", "--no-lint", str(file), *options]) == code
        report: Any = json.loads(capsys.readouterr().out)
        found = [finding for result in report["results"] for finding in result["findings"]]
        return [(finding["rule"], finding.get("field", ""), finding.get("hint", "")) for finding in found]

    return findings


@pytest.mark.parametrize("stored", ["as-applied", "as-written"])
def test_parameters_in_any_order(stored: str, findings: Findings, tmp_path: Path) -> None:
    """Parameters of drivers are compared as text, but kubectl sorts their keys, in both files."""
    old = tmp_path / "stored.json"
    read = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim", "namespace": "default"},
        "spec": {
            "devices": {
                "requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}],
                "config": [
                    {
                        "opaque": {
                            "driver": "gpu.example.com",
                            "parameters": {
                                "apiVersion": "gpu.example.com/v1",
                                "kind": "GpuConfig",
                                "strategy": "TimeSlicing",
                            },
                        }
                    }
                ],
            }
        },
    }
    old.write_text(PARAMETERS if stored == "as-written" else json.dumps(read), encoding="utf-8")
    assert findings(PARAMETERS, "--old", str(old)) == []
    [(rule, field, _)] = findings(PARAMETERS.replace("TimeSlicing", "MPS"), "--old", str(old), code=1)
    assert (rule, field) == ("FieldValueInvalid", "spec")


def test_generated_names(findings: Findings) -> None:
    """Only `kubectl create` can have the server make a name; other clients can, too."""
    hint = "write a `name`, or let `kubectl create` send the object (`claimcheck validate --create`)"
    assert findings(GENERATED, code=1) == [("GeneratedName", "metadata.generateName", hint)]
    assert findings(GENERATED, "--create") == []
    assert findings(GENERATED, "--as-sent") == []
    assert findings(GENERATED.replace("generateName", "name: a, generateName")) == []


@pytest.mark.parametrize(
    ("parameters", "hint"),
    [({"k": "a\x7fb"}, "leave the character out"), ({"k" * 1023: "a"}, "another key")],
    ids=["character", "key"],
)
def test_what_is_no_yaml_once_it_is_json(parameters: dict[str, str], hint: str, findings: Findings) -> None:
    """The server reads what it is to apply as YAML; nobody else does."""
    text = json.dumps(configuration(parameters))
    assert findings(text) == findings(text, "--create") == []
    [(rule, _, found)] = findings(text, "--server-side", code=1)
    assert rule == "PatchRefused"
    assert hint in found


def test_null_of_an_unknown_field(findings: Findings) -> None:
    """`kubectl apply` drops it before anybody is asked, `kubectl create` does not."""
    text = PARAMETERS.replace("metadata:", "unknown: null\nmetadata:")
    assert findings(text) == []
    assert [rule for rule, _, _ in findings(text, "--create", code=1)] == ["UnknownField"]


def _slice(devices: int) -> dict[str, Any]:
    attributes = {f"attribute-{number:02}".replace("-", "_"): {"string": "x" * 40} for number in range(32)}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "large"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": "node-a",
            "pool": {"name": "node-a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{number}", "attributes": attributes} for number in range(devices)],
        },
    }


def test_copy_in_an_annotation(findings: Findings) -> None:
    """A slice within all limits of the API can be too large to be applied: the copy of it is an annotation."""
    hint = "use `kubectl apply --server-side`: without it, kubectl keeps a copy of the whole manifest in an annotation"
    assert findings(json.dumps(_slice(128)), code=1) == [("FieldValueTooLong", "metadata.annotations", hint)]
    assert findings(json.dumps(_slice(100))) == []
    assert findings(json.dumps(_slice(128)), "--create") == []


@pytest.mark.parametrize("options", [(), ("--create",), ("--as-sent",)])
def test_request_that_is_too_large(options: tuple[str, ...], findings: Findings) -> None:
    """A server reads 3 MiB of a body."""
    body = _slice(1)
    body["metadata"]["annotations"] = {"example.com/a": "x" * (3 << 20)}
    assert findings(json.dumps(body), *options, code=1) == [("Refused", "", "")]


STORED = """
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata:
  name: gpu
  labels: {tier: gold}
  managedFields:
  - {manager: driver, operation: Update, apiVersion: resource.k8s.io/v1, fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:tier": {}}}}}
spec: {selectors: [{cel: {expression: device.driver == "a"}}]}
"""
APPLIED = "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu, labels: {tier: %s}}}"


@pytest.fixture
def old(tmp_path: Path) -> str:
    """A file with a stored class whose label a driver has set."""
    (tmp_path / "old.yaml").write_text(STORED, encoding="utf-8")
    return str(tmp_path / "old.yaml")


def test_fields_of_other_managers(old: str, findings: Findings) -> None:
    """With --server-side they are named, unless they are taken over, or left as they are."""
    hint = (
        "leave these fields out, write the values that they have, or take them over with `--force-conflicts`"
    )
    options = ("--old", old, "--server-side")
    assert findings(APPLIED % "silver", *options, code=1) == [("FieldManagerConflict", "", hint)]
    assert findings(APPLIED % "gold", *options) == []
    assert findings(APPLIED % "silver", *options, "--force-conflicts") == []
    assert (
        findings(APPLIED % "silver", *options, "--field-manager=driver", code=1)[0][0]
        == "FieldManagerConflict"
    )
    assert findings(APPLIED % "-", *options, "--force-conflicts", code=1)[0][:2] == (
        "FieldValueInvalid",
        "metadata.labels",
    )


@pytest.mark.parametrize(
    ("lacks", "options", "told"),
    [
        (True, ("--server-side",), True),
        (False, ("--server-side",), False),
        (True, ("--server-side", "--force-conflicts"), False),
        (True, (), False),
    ],
)
def test_nobody_manages_what_was_saved(
    lacks: bool, options: tuple[str, ...], told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`kubectl get -o yaml` leaves managedFields out: then conflicts cannot be found, which is said."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(STORED.replace("managedFields:", "unmanaged:") if lacks else STORED, encoding="utf-8")
    new.write_text(APPLIED % "gold", encoding="utf-8")
    assert main(["validate", str(new), "--no-lint", "--old", str(old), *options]) == 0
    line = f"claimcheck: no managedFields in {old}: conflicts cannot be told; save it with --show-managed-fields\n"
    assert capsys.readouterr().err == (line if told else "")


@pytest.mark.parametrize(("managed", "accepted"), [("[]", False), ("[{manager: a}]", False), ("null", True)])
def test_managers_in_the_manifest(managed: str, accepted: bool, old: str, findings: Findings) -> None:
    """Server-side apply takes no list of managers, not even an empty one, for new and stored objects."""
    text = (APPLIED % "gold").replace("name: gpu", f"name: gpu, managedFields: {managed}")
    expected = [] if accepted else [("PatchRefused", "metadata.managedFields", "")]
    for options in ((), ("--old", old)):
        assert findings(text, "--server-side", *options, code=0 if accepted else 1) == expected


def test_entries_that_are_there_twice(findings: Findings) -> None:
    """Server-side apply cannot tell them apart, in a new object as well."""
    text = (APPLIED % "gold").replace("name: gpu", "name: gpu, finalizers: [a.b/c, a.b/c]")
    assert findings(text, "--server-side", code=1)[0][0] == "PatchRefused"
    assert findings(text) == []


@pytest.mark.parametrize(
    ("type", "patch", "expected"),
    [
        (
            "merge",
            "spec: {selectors: [{cel: {expression: device.drive}}]}",
            ("FieldValueInvalid", "spec.selectors[0].cel.expression", 1),
        ),
        ("strategic", "metadata:\n  labels: {tier: '-'}", ("FieldValueInvalid", "metadata.labels", 2)),
        ("json", "- {op: remove, path: /nothing}", ("PatchRefused", "", 1)),
        ("json", "[{op: add, path: /metadata/labels/a, value: b}]", None),
        ("merge", "metadata: {labels: null}", None),
    ],
)
def test_patches(
    type: str,
    patch: str,
    expected: tuple[str, str, int] | None,
    old: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A patch is carried out on the objects of --old; what is wrong with it is shown in its file."""
    file = tmp_path / "patch.yaml"
    file.write_text(patch, encoding="utf-8")
    command = ["validate", "-o", "json", "--old", old, "--patch", str(file), "--patch-type", type]
    assert main(command) == (0 if expected is None else 1)
    [result] = json.loads(capsys.readouterr().out)["results"]
    found = [(each["rule"], each.get("field", ""), each["line"]) for each in result["findings"]]
    assert found == ([] if expected is None else [expected])


def test_operations_of_another_type(old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is refused is shown in the patch, not in the stored object, and a list is a JSON patch."""
    patch = tmp_path / "ops.json"
    patch.write_text('[{"op": "test", "path": "/kind", "value": "DeviceClass"}]', encoding="utf-8")
    assert main(["validate", "--old", old, "--patch-file", str(patch)]) == 1
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == f"{patch}:1:1: error: a strategic patch must be a mapping"
    assert "= hint: a list of operations is a JSON patch: `--patch-type json`" in lines


@pytest.mark.parametrize(("type", "code"), [("strategic", 0), ("json", 0), ("merge", 1)])
@pytest.mark.parametrize("text", ["", "# nothing\n", "null"])
def test_empty_patches(type: str, code: int, text: str, old: str, tmp_path: Path) -> None:
    """They change nothing, but are no merge patches."""
    (tmp_path / "patch.yaml").write_text(text, encoding="utf-8")
    assert main(["validate", "--old", old, "-p", f"{tmp_path}/patch.yaml", "--patch-type", type]) == code


@pytest.mark.parametrize("option", ["--server-side", "--patch-file", ""])
def test_another_uid(option: str, tmp_path: Path, findings: Findings) -> None:
    """It is a precondition of an update with the whole object, and immutable in a patch."""
    old, patch = tmp_path / "old.yaml", tmp_path / "patch.yaml"
    old.write_text(STORED.replace("name: gpu", "name: gpu\n  uid: a-b-c"), encoding="utf-8")
    text = (APPLIED % "gold").replace("name: gpu", "name: gpu, uid: abc")
    patch.write_text("metadata: {uid: abc}", encoding="utf-8")
    options = (option, *([str(patch)] if option == "--patch-file" else ())) if option else ()
    [(rule, field, _)] = findings(text, "--old", str(old), *options, code=1)
    assert (rule, field) == (("FieldValueInvalid", "metadata.uid") if option else ("Refused", ""))


def test_patch_is_a_file(old: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A patch in the command line, as kubectl's -p takes it, is no name of a file."""
    assert main(["validate", "--old", old, "-p", '{"metadata": {"labels": {"a": "b"}}}']) == 2
    message = "claimcheck: --patch-file names a file: write the JSON into one, or name - and write it to standard input\n"
    assert capsys.readouterr().err == message


def test_nothing_to_patch(old: str, tmp_path: Path, findings: Findings) -> None:
    """Only what is stored can be patched."""
    (tmp_path / "patch.yaml").write_text("{}", encoding="utf-8")
    other = (APPLIED % "gold").replace("name: gpu", "name: other") + "\n---\n" + APPLIED % "gold"
    assert findings(other, "--old", old, "--patch", str(tmp_path / "patch.yaml"), code=1) == [
        ("ObjectNotFound", "", "")
    ]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("x" * 128, "", id="longest"),
        pytest.param("é" * 65, "may not be more than 128 bytes", id="too-long"),
        pytest.param("a\tb", "invalid character U+0009 (at position 1)", id="unprintable"),
    ],
)
def test_name_of_the_manager(name: str, why: str, old: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What the server refuses as the name of who applies."""
    arguments = ["validate", old, "--server-side", "--force-conflicts", "--old", old, "--field-manager", name]
    assert main(arguments) == (2 if why else 1)  # the file has managedFields
    message = f"claimcheck: --field-manager: the server refuses this name: {why}\n"
    assert capsys.readouterr().err == (message if why else "")


def test_server_side_needs_files(capsys: pytest.CaptureFixture[str]) -> None:
    """The objects of a cluster are not applied."""
    assert main(["validate", "--live", "--server-side"]) == 2
    assert capsys.readouterr().err == "claimcheck: --server-side is for files that are applied: name them\n"


@pytest.mark.parametrize(
    "options",
    [
        ("--patch", "p.yaml"),
        ("--patch-type", "json"),
        ("--force-conflicts",),
        ("--field-manager", "x"),
        ("--old", "o.yaml", "--subresource", "status", "--server-side"),
        ("--old", "o.yaml", "--patch", "nowhere.yaml"),
    ],
)
def test_options_that_go_together(options: tuple[str, ...]) -> None:
    """What makes no sense without another option is a mistake in the command line."""
    assert main(["validate", "x.yaml", *options]) == 2
