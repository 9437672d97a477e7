"""`claimcheck validate`: what it reads, what it asks, and how it ends."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from tests.case_files import read_yaml

CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: claim
spec:
  devices:
    requests:
    - name: gpu
      exactly:
        deviceClassName: gpu.example.com
"""
ADMIN_CLAIM = CLAIM + "        adminAccess: true\n"
WRONG_CLAIM = CLAIM.replace("gpu.example.com", "GPU")
CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %s}\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: default, labels: {%s}}\n"
LABEL = "resource.kubernetes.io/admin-access"
LABELLED_NAMESPACE = NAMESPACE % f"{LABEL}: 'true'"
OTHER = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"

UNRECOGNIZED = read_yaml(Path(__file__).with_name("unrecognized.yaml"))

Write = Callable[[str, str], str]
Report = Callable[..., dict[str, Any]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and returns its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Report:
    """Runs the command and returns its JSON report; `code` is the exit code that is expected."""

    def report(*arguments: str, code: int = 0) -> dict[str, Any]:
        assert main(["validate", "-o", "json", *arguments]) == code
        data: dict[str, Any] = json.loads(capsys.readouterr().out)
        return data

    return report


def _findings(report: dict[str, Any], rule: str = "") -> list[dict[str, Any]]:
    found = [finding for result in report["results"] for finding in result["findings"]]
    return [finding for finding in found if finding["rule"] == rule] if rule else found


# --- exit codes -------------------------------------------------------------------------------------------------


def test_valid(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """All valid: 0, and nothing but the summary."""
    assert main(["validate", write("claim.yaml", CLAIM)]) == 0
    assert capsys.readouterr().out == "1 object: 1 valid, 0 invalid\n"


def test_invalid(write: Write, report: Report) -> None:
    """One object that the server refuses: 1."""
    assert report(write("claim.yaml", CLAIM + "---\n" + WRONG_CLAIM), code=1)["summary"]["invalid"] == 1


def test_unreadable_file_wins_over_invalid(write: Write, report: Report, tmp_path: Path) -> None:
    """A file that is not there: 2, whatever else there is; the rest is still reported."""
    found = report(write("claim.yaml", WRONG_CLAIM), str(tmp_path / "missing.yaml"), code=2)
    assert found["summary"]["invalid"] == 1
    assert found["failures"] == [
        {"file": str(tmp_path / "missing.yaml"), "message": "no such file or directory"}
    ]


def test_text_that_is_no_yaml_is_invalid(write: Write, report: Report) -> None:
    """A manifest that cannot be parsed is the manifest's fault: 1."""
    [finding] = _findings(report(write("a.yaml", "a: [\n"), code=1))
    assert (finding["rule"], finding["line"]) == ("MalformedDocument", 1)


def test_bytes_that_are_no_text_are_invalid(report: Report, tmp_path: Path) -> None:
    """Not UTF-8: 1, at the place of the first bad byte."""
    (tmp_path / "a.yaml").write_bytes(b"kind: \xff\n")
    [finding] = _findings(report(str(tmp_path), code=1))
    assert (finding["line"], finding["column"]) == (1, 7)


def test_warnings_as_errors(write: Write) -> None:
    """A deprecated version is accepted with a warning, which can be made to count."""
    file = write("claim.yaml", CLAIM.replace("v1\n", "v1beta2\n", 1))
    served = ("--runtime-config", "resource.k8s.io/v1beta2=true")
    assert main(["validate", *served, file]) == 0
    assert main(["validate", *served, "--warnings-as-errors", file]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "nothing to validate: name files or directories, - for standard input, or --live"),
        (
            ("--kube-version", "1.20", "x"),
            "--kube-version: unknown release '1.20'; use one of 1.30, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37, kep",
        ),
        (("--feature-gates", "Nonsense=true", "x"), "--feature-gates: unrecognized feature gate: Nonsense"),
        (
            ("--feature-gates", "DRAAdminAcess=true", "x"),
            "--feature-gates: unrecognized feature gate: DRAAdminAcess (did you mean DRAAdminAccess?)",
        ),
        (
            ("--feature-gates", "DRAPrioritizedList=false", "x"),
            "--feature-gates: cannot set feature gate DRAPrioritizedList to false, feature is locked to true",
        ),
        (
            ("--feature-gates", "DRAAdminAccess", "x"),
            "--feature-gates: missing bool value for DRAAdminAccess",
        ),
        (
            ("-o", "pdf", "x"),
            "--output pdf: expected FORMAT or FORMAT=FILE with one of text, json, yaml, sarif, junit, github, html",
        ),
        (
            ("-o", "json", "-o", "text", "x"),
            "--output text: two reports cannot go to standard output, except one of text and one of github",
        ),
        (
            ("--runtime-config", "resource.k8s.io/v1beta9=true", "x"),
            "--runtime-config: group version resource.k8s.io/v1beta9 that has not been registered",
        ),
        (
            ("--subresource", "status", "x"),
            "--subresource status validates updates: it needs --old FILE with the stored objects",
        ),
        (
            ("--namespace-labels", "label", "x"),
            "--namespace-labels label: expected [NAMESPACE:]KEY=VALUE[,…]",
        ),
        (("--as", "jane", "x"), "--as is about a live cluster: add --live"),
        (("-A", "--live", "x"), "--all-namespaces is for --live without files and without --namespace"),
        (
            ("--old", "y", "--live", "x"),
            "--old and a live cluster: the cluster knows the stored objects; use only one of them",
        ),
        (
            ("--live", "--request-timeout", "0", "x"),
            "--request-timeout 0: expected a time above 0 such as 30s or 1m",
        ),
        (("--old", "/no/file", "x"), "--old /no/file: no such file or directory"),
    ],
)
def test_usage(arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be done ends with 2 and one line that says why."""
    assert main(["validate", *arguments]) == 2
    assert capsys.readouterr().err == f"claimcheck: {message}\n"


def test_inventory_that_is_not_there(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is said without the inventory that the answer was to depend on, however many processes there are."""
    files = [write("one.yaml", CLAIM), write("two.yaml", CLAIM)]
    for more in ((), ("--jobs", "2")):
        assert main(["validate", *files, "--inventory", "/no/where", *more]) == 2
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == (
            "",
            "claimcheck: --inventory /no/where: no such file or directory\n",
        )


def test_unknown_option(capsys: pytest.CaptureFixture[str]) -> None:
    """It ends with 2, as all refusals."""
    assert main(["validate", "--nonsense"]) == 2
    assert capsys.readouterr().err.startswith("claimcheck validate: unknown option --nonsense\n")
    assert main(["validate", "--warning-as-errors", "x"]) == 2
    assert "--warning-as-errors; did you mean --warnings-as-errors?\n" in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` has examples."""
    assert main(["validate", "--help"]) == 0
    assert "claimcheck validate --old stored.yaml new.yaml" in capsys.readouterr().out


def test_no_subcommand(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a subcommand the help is shown, and it is an error."""
    assert main([]) == 2
    assert "validate" in capsys.readouterr().err


# --- input ------------------------------------------------------------------------------------------------------


def test_standard_input(monkeypatch: pytest.MonkeyPatch, report: Report) -> None:
    """`-` is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(WRONG_CLAIM.encode())))
    [result] = report("-", code=1)["results"]
    assert (result["file"], result["name"]) == ("-", "claim")


def test_directories(write: Write, report: Report, tmp_path: Path) -> None:
    """YAML and JSON files at any depth, in the order of their paths; other files and hidden ones are left alone."""
    for name in ("b.yml", "a/c.yaml", "notes.txt", ".hidden.yaml", ".git/d.yaml"):
        write(name, CLAIM)
    write("c.json", json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    found = report(str(tmp_path))
    assert [Path(result["file"]).name for result in found["results"]] == ["c.yaml", "b.yml"]


def test_lists(write: Write, report: Report) -> None:
    """Items of a list are objects of their own; places are those in the file, pointers lead from its root."""
    items = "".join("- " + item.replace("\n", "\n  ").rstrip() + "\n" for item in (CLAIM, WRONG_CLAIM))
    [finding] = _findings(report(write("list.yaml", "apiVersion: v1\nkind: List\nitems:\n" + items), code=1))
    assert (finding["line"], finding["column"]) == (23, 28)
    assert finding["pointer"] == "/items/1/spec/devices/requests/0/exactly/deviceClassName"


def test_skipped_kinds_are_counted(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not validated is listed, context by itself; a directory may have files that are no manifests at all."""
    all = write("all.yaml", "---\n".join((CLAIM, OTHER, OTHER, NAMESPACE % "")))
    write("values.yaml", "replicas: 3\n")
    assert main(["validate", os.path.dirname(all)]) == 0
    assert capsys.readouterr().out == (
        "1 object: 1 valid, 0 invalid; 4 skipped: 2 ConfigMap, 1 without a kind, 1 Namespace (context)\n"
    )


def test_few_skipped_kinds_are_named(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of most objects, unless all are asked for; reports for programs have all."""
    kinds = [f"Kind{number}" for number in range(8) for _ in range(1 + (number == 7))]
    file = write("all.yaml", "---\n".join(f"apiVersion: a.b/v1\nkind: {kind}\n" for kind in kinds))
    main(["validate", file])
    assert (
        "9 skipped: 2 Kind7 (a.b/v1), 1 Kind0 (a.b/v1), 1 Kind1 (a.b/v1), 1 Kind2 (a.b/v1), 1 Kind3 (a.b/v1) and 3 other kinds\n"
        in capsys.readouterr().out
    )
    main(["validate", "--show-all", file])
    shown = capsys.readouterr().out
    assert "1 Kind5 (a.b/v1), 1 Kind6 (a.b/v1)\n" in shown
    main(["validate", "-o", "json", file])
    assert len(json.loads(capsys.readouterr().out)["skipped"]) == 8


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        (
            "apiVersion: resource.k8s.io/v1\nkind: Nonsense\n",
            'no matches for kind "Nonsense" in version "resource.k8s.io/v1"',
        ),
        (
            "apiVersion: core.k8s.io/v1alpha2\nkind: ResourceClass\n",
            'no matches for kind "ResourceClass" in version "core.k8s.io/v1alpha2"',
        ),
        (
            "apiVersion: resorce-claims.k8s.io/v1\nkind: ResourceClaim\n",
            'no matches for kind "ResourceClaim" in version "resorce-claims.k8s.io/v1"',
        ),
        ("kind: ResourceClaim\n", "apiVersion not set"),
        ("apiVersion: resource.k8s.io/v1\n", "kind not set"),
        ("Kind: ResourceClaim\napiVersion: v1\n", "kind not set"),
    ],
)
def test_not_served(manifest: str, message: str, write: Write, report: Report) -> None:
    """DRA's own names under a version, group or spelling that nothing serves are invalid, never skipped."""
    [finding] = _findings(report(write("a.yaml", manifest), code=1))
    assert (finding["rule"], finding["message"]) == ("NotServed", message)


def test_kinds_of_others(write: Write, report: Report) -> None:
    """Other groups may have kinds of the same names; those are skipped."""
    file = write("a.yaml", "apiVersion: example.com/v1\nkind: DeviceClass\n")
    assert report(file)["summary"]["skipped"] == 1


@pytest.mark.parametrize("case", UNRECOGNIZED, ids=lambda case: str(case["case"]))
def test_not_recognized(case: dict[str, Any], write: Write, report: Report) -> None:
    """What kubectl does not know, or reads as something else, is never skipped; it is told in kubectl's words."""
    found = _findings(report(write("a.yaml", case["file"]), "--no-lint", code=1 if case["errors"] else 0))
    assert [finding["message"] for finding in found] == case["errors"]
    assert set(case.get("hints", ())) <= {finding.get("hint") for finding in found}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("replicas: 3\n", "[apiVersion not set, kind not set]"),
        (
            "apiVersion: skaffold/v4beta6\nkind: Config\n",
            'no matches for kind "Config" in version "skaffold/v4beta6"',
        ),
        ("apiVersion: v1\nkind: Config\nclusters: []\n", 'no matches for kind "Config" in version "v1"'),
        (
            "apiVersion: builtin\nkind: LabelTransformer\n",
            'no matches for kind "LabelTransformer" in version "builtin"',
        ),
    ],
)
def test_strays_in_directories(text: str, message: str, write: Write, report: Report) -> None:
    """What is no manifest is an error beside objects, or in a file that is named; else the file is another tool's."""
    stray = write("values.yaml", text)
    write("claim.yaml", CLAIM)
    assert report(os.path.dirname(stray))["summary"]["skipped"] == 1
    assert report(stray, code=1)["summary"]["skipped"] == 0
    write("claim.yaml", CLAIM + "---\n" + text)
    found = report(os.path.dirname(stray), code=1)
    assert [finding["message"] for finding in _findings(found, "NotServed")] == [message]


def test_place_in_an_expression(write: Write, report: Report) -> None:
    """What the CEL compiler complains about is shown in the expression's own line."""
    selectors = "spec: {selectors: []}\n".replace("[]", "[{cel: {expression: 'device.driver == 3'}}]")
    literal = "spec:\n  selectors:\n  - cel:\n      expression: |\n        device.driver == 'a' &&\n        device.x\n"
    for spec, place in ((selectors, (4, 54)), (literal, (9, 15))):
        [finding] = _findings(report(write("class.yaml", CLASS % "gpu" + spec), code=1))
        assert (finding["line"], finding["column"]) == place


# --- context ----------------------------------------------------------------------------------------------------


def test_namespace_in_the_files(write: Write, report: Report) -> None:
    """A Namespace that comes after the claim counts."""
    report(write("claim.yaml", ADMIN_CLAIM), code=1)
    report(write("claim.yaml", f"{ADMIN_CLAIM}---\n{LABELLED_NAMESPACE}"))


def test_namespace_in_the_inventory(write: Write, report: Report) -> None:
    """The inventory's namespaces count; its objects are not validated themselves."""
    write("inventory/namespace.yaml", LABELLED_NAMESPACE)
    inventory = write("inventory/wrong.yaml", WRONG_CLAIM)
    found = report(write("claim.yaml", ADMIN_CLAIM), "--no-lint", "--inventory", str(Path(inventory).parent))
    assert found["summary"] == {
        "valid": 1,
        "invalid": 0,
        "errors": 0,
        "warnings": 0,
        "notes": 0,
        "skipped": 0,
    }


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (f"{LABEL}=true", 0),
        (f"default:{LABEL}=true", 0),
        (f"a=b,{LABEL}=true", 0),
        (f"other:{LABEL}=true", 1),
        (f"{LABEL}=yes", 1),
    ],
)
def test_namespace_labels(labels: str, code: int, write: Write, report: Report) -> None:
    """Labels from the flag hold for all namespaces, or for the one that is named."""
    report(write("claim.yaml", ADMIN_CLAIM), "--namespace-labels", labels, code=code)


def test_flag_wins_over_file(write: Write, report: Report) -> None:
    """The flag's label replaces the one that a file has."""
    file = write("claim.yaml", f"{ADMIN_CLAIM}---\n{LABELLED_NAMESPACE}")
    report(file, "--namespace-labels", f"{LABEL}=false", code=1)


def test_place_of_a_key(write: Write, report: Report) -> None:
    """An error about a key of a map has the map as its field, and the key as its place."""
    text = CLAIM.replace("metadata:\n", "metadata:\n  labels:\n    good: a\n    '-bad': b\n", 1)
    [finding] = report(write("claim.yaml", text), code=1)["results"][0]["findings"]
    assert (finding["field"], finding["line"], finding["column"]) == ("metadata.labels", 6, 5)


RENDERED = """---
# Source: chart/templates/claim.yaml
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: Claim}
---
# Source: chart/templates/broken.yaml
kind: [
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: Class}
"""


def test_object_of_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines of standard input help nobody: the object is named, and the template that Helm made it from."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RENDERED.encode())))
    assert main(["validate", "-"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.strip() for line in lines if "= in: " in line] == [
        "= in: ResourceClaim default/Claim (chart/templates/claim.yaml)",
        "= in: chart/templates/broken.yaml",
        "= in: DeviceClass Class",
    ]


def test_namespace_of_objects_without_one(write: Write, report: Report) -> None:
    """`-n` says where objects go that name no namespace."""
    found = report(
        write("claim.yaml", ADMIN_CLAIM), "-n", "tools", "--namespace-labels", f"tools:{LABEL}=true"
    )
    assert found["results"][0]["namespace"] == "tools"


def test_inventory_that_cannot_be_read(write: Write, report: Report) -> None:
    """A broken inventory is work that could not be done."""
    found = report(write("claim.yaml", CLAIM), "--inventory", write("inventory.yaml", "a: [\n"), code=2)
    assert found["failures"][0]["message"].startswith("line 1: ")


def test_objects_of_the_inventory_that_no_server_can_have_stored(write: Write, report: Report) -> None:
    """They are work that could not be done, with the line of the value; their names are known all the same."""
    broken = CLASS % "gpu.example.com" + "spec:\n  selectors:\n  - cel: {expression: 5}\n"
    line = 1 + broken[: broken.index("5}")].count("\n")
    for more in ((), ("--jobs", "2")):
        file = write("claim.yaml", CLAIM)
        found = report(file, file, "--inventory", write("iv.yaml", broken), *more, code=2)
        [failure] = found["failures"]
        assert failure["message"].startswith(f"line {line}: json: cannot unmarshal number into"), failure
        assert not _findings(found, "CC002")
    patch = "apiVersion: claimcheck.example.com/v1alpha3\nkind: ResourceSlicePatch\nmetadata: {name: a}\nspec: {devices: 5}\n"
    found = report(file, "--inventory", write("iv.yaml", patch), code=2)
    assert found["failures"][0]["message"].startswith("line 4: json: cannot unmarshal number into")


# --- releases ---------------------------------------------------------------------------------------------------


def test_release(write: Write, report: Report) -> None:
    """Another release answers otherwise: DeviceTaintRule v1 came with 1.37."""
    rule = "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: rule}\n"
    file = write("rule.yaml", rule + "spec: {taint: {key: example.com/a, effect: NoSchedule}}\n")
    assert report(file)["release"] == "1.37"
    found = report(file, "--kube-version", "v1.36.4", code=1)
    assert found["release"] == "1.36"
    assert found["results"][0]["status"]["code"] == 404


def test_proposals(write: Write, report: Report) -> None:
    """`kep` knows KEP-5963's snapshot in allocation results, which no release has yet."""
    status = "status: {allocation: {devices: {results: [{request: gpu, driver: d, pool: p, device: g, compatibilityGroups: {c: [mig]}}]}}}\n"
    file = write("claim.yaml", CLAIM + status)
    assert _findings(report(file, code=1), "UnknownField")
    report(file, "--kube-version", "kep")


# --- updates ----------------------------------------------------------------------------------------------------


def test_update_with_defaults(write: Write, report: Report) -> None:
    """The manifest that was applied serves as stored object: defaults that the server has filled in are no change."""
    old = write("old.yaml", CLAIM)
    report(write("same.yaml", CLAIM + "        count: 1\n"), "--old", old)
    [finding] = _findings(report(write("new.yaml", CLAIM + "        count: 2\n"), "--old", old, code=1))
    assert finding["message"] == "Invalid value: null: field is immutable"


def test_update_across_versions(write: Write, report: Report) -> None:
    """The stored object may be written in another version than the update."""
    flat = CLAIM.replace("v1\n", "v1beta1\n", 1).replace("      exactly:\n  ", "")
    report(write("new.yaml", CLAIM), "--old", write("old.yaml", flat))


def test_objects_without_stored_one_are_new(write: Write, report: Report) -> None:
    """Only what `--old` has is an update."""
    new = write("new.yaml", CLAIM + "---\n" + WRONG_CLAIM.replace("name: claim", "name: another"))
    [finding] = _findings(report(new, "--old", write("old.yaml", CLAIM), code=1))
    assert finding["field"] == "spec.devices.requests[0].exactly.deviceClassName"


def test_old_file_of_something_else(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """A file with none of the objects is the wrong file."""
    old = write("old.yaml", CLAIM.replace("name: claim", "name: another"))
    assert main(["validate", write("new.yaml", CLAIM), "--old", old]) == 2
    assert "has none of the given objects" in capsys.readouterr().err


UNREADABLE = """\
{{apiVersion: {version}, kind: {kind}, metadata: {{name: a, namespace: default}},
  spec: {spec}}}
"""


@pytest.mark.parametrize(
    ("version", "kind", "spec", "place"),
    [
        ("v1", "Pod", "{resourceClaims: [{name: g, resourceClaimName: y}]}", "spec.resourceClaims"),
        (
            "apps/v1",
            "Deployment",
            "{template: {spec: {resourceClaims: [{name: g, resourceClaimName: y}]}}}",
            "spec.template.spec.resourceClaims",
        ),
    ],
)
def test_old_pod_that_no_server_can_have(
    write: Write, capsys: pytest.CaptureFixture[str], version: str, kind: str, spec: str, place: str
) -> None:
    """A value of the wrong type in the file of stored objects is told as that of a claim is: `y` is a boolean."""
    old = write("old.yaml", UNREADABLE.format(version=version, kind=kind, spec=spec))
    new = write(
        "new.yaml", UNREADABLE.format(version=version, kind=kind, spec=spec.replace(": y}", ': "y"}'))
    )
    assert main(["validate", new, "--old", old]) == 2
    assert capsys.readouterr().err == (
        f"claimcheck: --old {old}: {kind} default/a: json: cannot unmarshal bool into Go struct field "
        f"PodResourceClaim.{place}.resourceClaimName of type string\n"
    )


def test_status(write: Write, report: Report) -> None:
    """A status update is checked against the status' rules, and leaves the spec alone."""
    status = "status: {reservedFor: [{resource: pods, name: pod, uid: a}]}\n"
    old = write("old.yaml", CLAIM)
    found = report(
        write("new.yaml", WRONG_CLAIM + status), "--no-lint", "--old", old, "--subresource", "status", code=1
    )
    assert [finding["field"] for finding in _findings(found)] == ["status.reservedFor"]


def test_in_use_field_survives(write: Write, report: Report) -> None:
    """A field whose gate is off is dropped from a new object, with a lint, and kept where it is stored already."""
    tolerating = write("new.yaml", CLAIM + "        tolerations: [{operator: Exists}]\n")
    assert _findings(report(tolerating, "--kube-version", "1.35"), "CC006")
    old = write("old.yaml", CLAIM + "        tolerations: [{operator: Exists}]\n")
    assert not _findings(report(tolerating, "--kube-version", "1.35", "--old", old))


# --- lints ------------------------------------------------------------------------------------------------------

POD = """apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  resourceClaims:
  - {name: gpu, resourceClaimName: my-calim}%s
  containers: [{name: app, image: app}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: my-claim}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
"""


def test_lints(write: Write, report: Report) -> None:
    """A lint warns, and `--no-lint` keeps it quiet."""
    file = write("pod.yaml", POD % "")
    assert [finding["rule"] for finding in _findings(report(file))] == ["CC004"]
    assert not _findings(report(file, "--no-lint"))


@pytest.mark.parametrize(
    "comment", ["claimcheck: ignore[CC004]", "claimcheck: ignore", "claimcheck: ignore[CC001, CC004] why"]
)
def test_ignored_lint(comment: str, write: Write, report: Report) -> None:
    """A comment on the line silences what it names, or all."""
    assert not _findings(report(write("pod.yaml", POD % f" # {comment}")))


def test_lints_of_versions_that_are_not_served(write: Write, report: Report) -> None:
    """Lints look at an object in a version that the release does not serve, but nothing is dropped from it."""
    text = """apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: slice, labels: {on: a}}
spec:
  driver: gpu.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu, basic: {attributes: {a: {strings: [b]}}}}]
"""
    assert [finding["rule"] for finding in _findings(report(write("slice.yaml", text), code=1))] == [
        "NotServed",
        "CC020",
    ]


def test_ignored_on_the_line_above(write: Write, report: Report) -> None:
    """The comment may stand above the line, but not further away; other codes are not silenced."""
    above = POD.replace("  - {name", "  # claimcheck: ignore[CC004]\n  - {name") % ""
    assert not _findings(report(write("pod.yaml", above)))
    assert _findings(report(write("pod.yaml", above.replace("CC004", "CC001"))))
    assert _findings(report(write("pod.yaml", "# claimcheck: ignore[CC004]\n" + POD % "")))


def test_repeated_keys(write: Write, report: Report) -> None:
    """kubectl silently takes the last of two values."""
    [finding] = _findings(
        report(write("claim.yaml", CLAIM.replace("  name: claim\n", "  name: a\n  name: claim\n")))
    )
    assert (finding["rule"], finding["field"], finding["line"]) == ("CC009", "metadata.name", 5)
    assert finding["message"] == "the key is already in line 4; kubectl sends only the last value"


def test_many_repeated_keys(write: Write, report: Report) -> None:
    """Of more than a hundred repeated keys of one object, the rest is only counted."""
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata:\n  name: a\n" + "  labels: {}\n" * 103
    )
    findings = _findings(report(write("class.yaml", text)))
    assert len(findings) == 101
    assert findings[-1]["message"] == "2 more keys are repeated"


def test_comment_behind_something_else(write: Write, report: Report) -> None:
    """A comment behind a value is about its own line only."""
    above = POD.replace("  - {name", "  # claimcheck: ignore[CC004]\n  - {name") % ""
    assert not _findings(report(write("pod.yaml", above)))
    behind = above.replace("\n  # claimcheck", " # claimcheck")
    assert _findings(report(write("pod.yaml", behind)))


def test_ignored_text(write: Write, report: Report) -> None:
    """What follows the end of a document without `---` never reaches the server."""
    found = report(write("claim.yaml", CLAIM + "...\n" + WRONG_CLAIM))
    assert [finding["rule"] for finding in _findings(found)] == ["CC010"]


def test_classes_are_known_with_an_inventory(write: Write, report: Report) -> None:
    """Without DeviceClasses among the files none is missed, with an inventory each is."""
    file = write("claim.yaml", CLAIM)
    assert not _findings(report(file))
    assert _findings(report(file, "--inventory", write("inventory.yaml", CLASS % "other")), "CC002")
    assert not _findings(report(file, "--inventory", write("inventory.yaml", CLASS % "gpu.example.com")))


# --- output -----------------------------------------------------------------------------------------------------


def test_several_outputs(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Reports go to files and to standard output in one run."""
    sarif, junit = tmp_path / "report.sarif", tmp_path / "report.xml"
    file = write("claim.yaml", WRONG_CLAIM)
    assert main(["validate", "-o", "text", "-o", f"sarif={sarif}", "-o", f"junit={junit}", file]) == 1
    assert capsys.readouterr().out.endswith("1 object: 0 valid, 1 invalid; 1 error\n")
    assert json.loads(sarif.read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert junit.read_text(encoding="utf-8").startswith("<?xml")


def test_output_to_files_only(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the summary goes to stderr, so that standard output stays empty."""
    assert main(["validate", "-o", f"json={tmp_path / 'report'}", write("claim.yaml", CLAIM)]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "1 object: 1 valid, 0 invalid\n")


def test_output_that_cannot_be_written(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A report that is lost is work that could not be done."""
    assert main(["validate", "-o", f"json={tmp_path / 'no' / 'report'}", write("claim.yaml", CLAIM)]) == 2
    assert "cannot write" in capsys.readouterr().err


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "colored"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_color(
    environment: dict[str, str], colored: bool, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Colours on a terminal, unless the environment asks for none."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    main(["validate", write("claim.yaml", WRONG_CLAIM)])
    assert ("\x1b[31merror\x1b[0m" in terminal.getvalue()) is colored


def test_progress_on_a_terminal(
    write: Write, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Long runs count on stderr, and clean up behind themselves."""
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("commandline.terminal.QUIET_SECONDS", 0.0)
    assert main(["validate", write("claim.yaml", CLAIM)]) == 0
    assert "\r0/1 objects" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")
    assert capsys.readouterr().out == "1 object: 1 valid, 0 invalid\n"


# --- as a process -----------------------------------------------------------------------------------------------


def _run(*command: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        encoding="utf-8",
    )


@pytest.mark.parametrize("command", [("commandline.main", "validate"), ("validation",)])
def test_modules(command: tuple[str, ...]) -> None:
    """`python -m validation` is the same command."""
    done = _run(*command, "-", text=WRONG_CLAIM)
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout.endswith("1 object: 0 valid, 1 invalid; 1 error\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(closed: str, write: Write) -> None:
    """What nobody wants to see is not written, and the exit code still tells."""
    command = (
        f"exec {sys.executable} -m commandline.main validate {write('claim.yaml', WRONG_CLAIM)} {closed}"
    )
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert bool(done.stdout) is (closed == "2>&-")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that takes nothing")
def test_device_that_is_full(write: Write) -> None:
    """A report that got lost is work that could not be done."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "commandline.main", "validate", write("claim.yaml", CLAIM)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "claimcheck: cannot write the output: no space left on device\n"


def test_reader_that_goes_away(write: Write) -> None:
    """A closed pipe ends the command without a traceback."""
    file = write("claims.yaml", "---\n".join([WRONG_CLAIM] * 3000))
    command = [sys.executable, "-m", "commandline.main", "validate", "--show-all", file]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 2


def test_output_that_is_not_unicode() -> None:
    """Characters that the output's encoding lacks are shown escaped."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "commandline.main", "validate", "-"]
    text = CLAIM.replace("gpu.example.com", "größe").encode()
    done = subprocess.run(command, input=text, capture_output=True, env=environment, check=False)
    assert done.returncode == 1
    assert b"gr\\xf6\\xdfe" in done.stdout
