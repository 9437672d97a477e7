"""What strangers write stays text: no report steers a terminal, forges a line, or gives a CI system a command."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from commandline.main import main
from commandline.reports.escaping import on_one_line, without_commands, write_json
from commandline.reports.sarif import _without_links
from documents import Document, parse

#: A line break and a workflow command, the older form of commands, a title for the terminal, C1, text backwards.
EVIL = "x\n::error file=pwn::boom\n##[error]y\x1b]0;pwn\x07\x9b31m\u202eevil"
FILE = "::error::a\n::error file=x::\x1b[31mb.yaml"
OLDER = "##[stop-commands]abc.yaml"
ANNOTATION = re.compile(r"::(error|warning|notice)( [a-z]|::)")


def _objects() -> list[dict[str, Any]]:
    group = "resource.k8s.io/v1"
    quoted = json.dumps(EVIL)
    device = {
        "name": EVIL,
        "attributes": {EVIL: {"string": EVIL}, "gpu.example.com/m": {"version": EVIL}},
        "capacity": {"c": {"value": "1"}},
        "taints": [{"key": EVIL, "value": EVIL, "effect": EVIL}],
    }
    good = {"name": "gpu-0", "attributes": {"model": {"string": EVIL}}}
    pool = {"name": EVIL, "generation": 1, "resourceSliceCount": 1}
    exactly = {
        "deviceClassName": "gpu",
        "selectors": [{"cel": {"expression": f"device.attributes['a.b'][{quoted}] == {quoted}"}}],
    }
    odd = {"deviceClassName": EVIL, "allocationMode": EVIL, "adminAccess": True, EVIL: EVIL}
    return [
        {
            "apiVersion": group,
            "kind": "ResourceSlice",
            "metadata": {"name": EVIL},
            "spec": {"driver": EVIL, "nodeName": EVIL, "pool": pool, "devices": [device]},
        },
        {
            "apiVersion": group,
            "kind": "ResourceSlice",
            "metadata": {"name": "good"},
            "spec": {"driver": "gpu.example.com", "nodeName": EVIL, "pool": pool, "devices": [good]},
        },
        {
            "apiVersion": group,
            "kind": "ResourceClaim",
            "metadata": {"name": EVIL, "namespace": EVIL, EVIL: 1, "labels": {EVIL: EVIL}},
            "spec": {
                "devices": {
                    "requests": [{"name": EVIL, "exactly": odd}],
                    "constraints": [{"matchAttribute": EVIL, "requests": [EVIL]}],
                    EVIL: EVIL,
                }
            },
        },
        {
            "apiVersion": group,
            "kind": "ResourceClaim",
            "metadata": {"name": EVIL, "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": EVIL, "exactly": exactly}]}},
        },
        {"apiVersion": group, "kind": "DeviceClass", "metadata": {"name": "gpu"}, "spec": {}},
        {"apiVersion": EVIL, "kind": EVIL, "metadata": {"name": EVIL}},
        {"apiVersion": f"resource.k8s.io/{EVIL}", "kind": "ResourceClaim", "metadata": {"name": EVIL}},
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": EVIL}},
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": EVIL, "namespace": "default"},
            "spec": {
                "containers": [{"name": "c", "image": "i"}],
                "resourceClaims": [{"name": EVIL, "resourceClaimName": EVIL}],
            },
        },
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": EVIL, "namespace": "default"},
            "spec": {"hard": {"gpu.deviceclass.resource.k8s.io/devices": "0"}},
        },
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with files whose names and contents are hostile."""
    monkeypatch.chdir(tmp_path)
    texts = [json.dumps(obj) + "\n" for obj in _objects()]
    Path(FILE).write_text("---\n".join(texts), "utf-8")
    Path("broken\n::error::.yaml").write_text("a: [\n::error::boom\x1b[31m", "utf-8")
    Path(OLDER).write_text("a: [")
    Path("kind.yaml").write_text('apiVersion: v1\nkind: "a\\n::error::b"\n', "utf-8")
    Path("config.yaml").write_text(json.dumps({EVIL: EVIL, "listen": {EVIL: 1}}), "utf-8")
    return tmp_path


FILES = [FILE, "broken\n::error::.yaml", "kind.yaml", OLDER]
COMMANDS: dict[str, list[str]] = {
    **{f"validate-{form}": ["validate", "--notes", "-o", form, *FILES] for form in ("text", "json", "yaml")},
    "validate-sarif": ["validate", "-o", "sarif", *FILES],
    "validate-junit": ["validate", "-o", "junit", *FILES],
    "validate-summary": ["validate", "-o", "sarif=report.sarif", *FILES],
    "validate-namespace": ["validate", "--namespace", EVIL, FILE],
    "validate-absent": ["validate", EVIL],
    "validate-inventory": ["validate", "--inventory", EVIL, FILE],
    "validate-old": ["validate", "--old", FILE, FILE],
    "explain-text": ["explain", "-f", FILE, "--inventory", FILE],
    "explain-json": ["explain", "-o", "json", "-f", FILE, "--inventory", FILE],
    "explain-absent": ["explain", "-f", EVIL],
    "simulate-text": ["simulate", "-f", FILE, "--inventory", FILE],
    "simulate-json": ["simulate", "-o", "json", "-f", FILE, "--inventory", FILE],
    "quota-text": ["quota", "--quota", FILE, FILE],
    "quota-json": ["quota", "-o", "json", "--quota", FILE, FILE],
    "cel-text": ["cel", f"device.driver == {json.dumps(EVIL)}", "--inventory", FILE],
    "cel-wrong": ["cel", "device.nope\n::error::x", "--inventory", FILE],
    "cel-json": ["cel", "-o", "json", "device.nope\n::error::x"],
    "cel-derived": ["cel", "--derived", json.dumps(EVIL)],
    "convert": ["convert", "--to", "v1beta1", *FILES],
    "serve-absent": ["serve", "--config", EVIL],
    "serve-check": ["serve", "--check", "--config", "config.yaml"],
    "manifests": ["manifests", "--config", "config.yaml"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_hostile_names(folder: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Nothing that is not printable is written as it is, and no line is a command, in every report and every message."""
    main(COMMANDS[name])
    for written in capsys.readouterr():
        assert [char for char in written if not char.isprintable() and char not in "\n\t"] == []
        assert [line for line in written.split("\n") if line.lstrip().startswith("::")] == []
        assert "##[" not in written


def test_annotations(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for GitHub Actions is annotations and a summary, and no other command, in neither form."""
    main(["validate", "-o", "github", *FILES])
    written = capsys.readouterr().out
    assert [char for char in written if not char.isprintable() and char not in "\n\t"] == []
    *annotations, summary, end = written.split("\n")
    assert len(annotations) > 10
    assert all(ANNOTATION.match(line) for line in annotations)
    assert end == ""
    assert "##[" not in summary
    assert not summary.startswith(":")


def test_programs_get_the_values_unchanged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON, YAML and JUnit stay what they are, and JSON and YAML hold the values as they were."""
    reports: dict[str, Any] = {}
    for form in ("json", "yaml", "sarif", "junit"):
        main(["validate", "-o", form, *FILES])
        reports[form] = capsys.readouterr().out
    document = json.loads(reports["json"])
    assert document == yaml.safe_load(reports["yaml"])
    assert {FILE, EVIL} <= {result["file"] for result in document["results"]} | {
        result.get("name") for result in document["results"]
    }
    assert json.loads(reports["sarif"])["version"] == "2.1.0"
    assert ElementTree.fromstring(reports["junit"]).tag == "testsuites"


def test_converted_values_are_unchanged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `convert` writes anew is read back as it was, whatever the text."""
    claim = next(obj for obj in _objects() if obj["metadata"].get("namespace") == "default")
    Path("claim.yaml").write_text(yaml.safe_dump(claim), "utf-8")
    assert main(["convert", "--to", "v1beta1", "claim.yaml"]) == 0
    (document,) = parse(capsys.readouterr().out, "claim.yaml")
    assert isinstance(document, Document)
    request = claim["spec"]["devices"]["requests"][0]
    assert document.value["spec"]["devices"]["requests"] == [{"name": EVIL, **request["exactly"]}]


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("::error::x", "\\x3a:error::x"),
        ("a\n \t::x::y", "a\n \t\\x3a:x::y"),
        ("a ::error::", "a ::error::"),
        (":a\n:: ", ":a\n\\x3a: "),
        ("\n\n::a", "\n\n\\x3a:a"),
        ("a ##[stop-commands]b", "a #\\x23[stop-commands]b"),
        ("###[", "##\\x23["),
        ("## [a] #[b]", "## [a] #[b]"),
    ],
)
def test_without_commands(report: str, expected: str) -> None:
    """Only lines that begin with two colons are changed, blanks in front or not, and the older form of commands."""
    assert without_commands(report) == expected


def test_on_one_line() -> None:
    """Line breaks are escaped like all else; tabs stay."""
    assert on_one_line("a\n\tb\r\x85\u2028") == "a\\n\tb\\r\\x85\\u2028"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "ascii"])
def test_json_in_every_encoding(encoding: str) -> None:
    """Whatever a terminal's encoding lacks, JSON stays JSON and keeps the value."""
    value = {"é\x7f\x9b\u202e": "\U0001f600\ud800\U000e0001\\\n"}
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    write_json(value, stream)
    stream.flush()
    written = raw.getvalue().decode(encoding)
    assert json.loads(written) == value
    assert all(char.isprintable() or char == "\n" for char in written)


def test_no_links_in_sarif() -> None:
    """A message is no place for a stranger's link; other brackets stay."""
    assert _without_links("a[0]: [b](https://evil.example) [c](1) [a-z]([-a-z]*)") == (
        "a[0]: \\[b](https://evil.example) \\[c](1) [a-z]([-a-z]*)"
    )


def test_commands_to_copy_are_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A hint shows a command for a shell; a namespace's name is one word in it, whatever it is."""
    request = {"name": "a", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "a", "namespace": "$(id)"},
        "spec": {"devices": {"requests": [request]}},
    }
    file = tmp_path / "claim.json"
    file.write_text(json.dumps(claim))
    main(["validate", str(file)])
    assert "kubectl label namespace '$(id)' " in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        "validate {chart}",
        "validate {file}",
        "validate --inventory {file} kind.yaml",
        "validate --config {file} kind.yaml",
        "validate kind.yaml -o text={file}/report",
        "convert --to v1 {file}",
        "convert --to v1 --in-place {file}",
        "explain -f {file}",
        "help {file}",
        "{file}",
        "validate --{file}",
    ],
)
def test_no_name_forges_a_line(folder: Path, capsys: pytest.CaptureFixture[str], arguments: str) -> None:
    """A line break in the name of a file or directory is escaped in every message."""
    chart = Path("chart\nforged: all is well")
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").touch()
    main([word.format(chart=chart, file="nowhere\nforged: all is well") for word in arguments.split()])
    written = capsys.readouterr()
    assert "\\nforged" in written.out + written.err
    assert "\nforged" not in written.out + written.err


def test_a_name_that_is_not_utf8(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every report names the file; SARIF's had ended in a traceback."""
    Path(os.fsdecode(b"\xff.yaml")).write_text("a: [")
    for format in ("text", "json", "yaml", "sarif", "junit", "github"):
        assert main(["validate", "-o", format, "."]) == 1
        assert "udcff.yaml" in capsys.readouterr().out
