"""`claimcheck doctor`: its reports, its exit codes, and what leaves findings out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from allocator.time_limit import OutOfTime
from commandline.main import main
from tests.claimcheck.doctor.test_checks import cluster, named

SICK = ("more pods than devices", "a slice of a former generation", "a pool that lacks a slice")


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    """A file with a cluster that has three illnesses."""
    added = [each for name in SICK for each in named(name)["add"]]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(cluster({"add": added})))
    return str(file)


def _run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["doctor", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def test_text(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A paragraph for each cause, errors first, and what to do."""
    code, out = _run("--inventory", inventory, capsys=capsys)
    assert code == 1
    assert (
        out
        == """\
error[CD001]: Pods team/next-1, team/next-2: does not fit on node-1: request gpu finds 0 of 1 device: held by 2 pods: team/train, team/next
  one of them would fit if pod team/train ended, which uses claim train (on node-1)
  more: claimcheck simulate -A

error[CD010]: pool nic.acme.example/nics: lacks slices of its newest generation
  nobody else can have this device
  if that lasts, look at the pods of nic.acme.example on node-1
  more: claimcheck devices --driver=nic.acme.example

warning[CD012]: ResourceSlice former: of a former generation of a pool of gpu.acme.example, which has all slices of a newer one
  more: claimcheck lint CD012

2 errors, 1 warning; claimcheck lint CODE says what one means
"""
    )


def test_json(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for programs, with all objects."""
    code, out = _run("--inventory", inventory, "-o", "json", capsys=capsys)
    document = json.loads(out)
    assert code == 1
    assert [each["code"] for each in document["findings"]] == ["CD001", "CD010", "CD012"]
    assert document["findings"][0]["objects"] == [
        {"kind": "Pod", "namespace": "team", "name": "next-1"},
        {"kind": "Pod", "namespace": "team", "name": "next-2"},
    ]
    assert document["findings"][1]["devices"] == 1
    assert (document["unfinished"], document["unread"], document["failures"]) == ([], [], [])


def test_sarif(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each finding is a result whose rule has the page of its check."""
    _, out = _run("--inventory", inventory, "-o", "sarif", capsys=capsys)
    (run,) = json.loads(out)["runs"]
    assert [each["id"] for each in run["tool"]["driver"]["rules"]] == ["CD001", "CD010", "CD012"]
    assert all(
        each["help"]["markdown"].startswith(f"# {each['id']}") for each in run["tool"]["driver"]["rules"]
    )
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("CD001", "error"),
        ("CD010", "error"),
        ("CD012", "warning"),
    ]


def test_annotations(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A command of a workflow for each finding."""
    _, out = _run("--inventory", inventory, "-o", "github", capsys=capsys)
    assert [line.partition(" ")[0] for line in out.splitlines()] == ["::error", "::error", "::warning"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--disable", "CD001,CD010"), 0),
        (("--disable", "CD001,CD010", "--warnings-as-errors"), 1),
        (("--disable", "CD001,CD010", "--disable", "CD012,CC009", "--warnings-as-errors"), 0),
        (("-n", "other"), 1),
        (("-n", "other", "--disable", "CD010"), 0),
    ],
)
def test_exit_code(
    inventory: str, arguments: tuple[str, ...], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 for errors, and for warnings if these are to be errors; what is left out does not count."""
    assert _run("--inventory", inventory, *arguments, capsys=capsys)[0] == code


def test_a_healthy_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(cluster({})))
    assert _run("--inventory", str(file), capsys=capsys) == (0, "nothing wrong was found\n")


def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is told, and the exit code is 2 whatever was found."""
    file = tmp_path / "cluster.yaml"
    slice: dict[str, Any] = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "spec": {"driver": 1},
    }
    file.write_text(yaml.safe_dump_all([*cluster({}), slice]))
    code, out = _run("--inventory", str(file), capsys=capsys)
    assert code == 2
    assert "error: " in out


@pytest.mark.parametrize(
    ("format", "told"),
    [
        ("text", "\nnothing wrong was found in what was looked at\n"),
        ("github", "::error file=cluster::There was no time to look at all ResourceSlices (--timeout).\n"),
        ("sarif", '"executionSuccessful":false'),
    ],
)
def test_what_there_was_no_time_for(
    format: str,
    told: str,
    inventory: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No format says that nothing is wrong with what nobody has looked at."""
    monkeypatch.setattr("claimcheck.answers.doctor.examination._heard", _late)
    code, out = _run("--inventory", inventory, "-o", format, capsys=capsys)
    assert code == 2
    assert told in out.replace(inventory, "cluster").replace(": false", ":false")


def _late(*_: object) -> None:
    raise OutOfTime


def test_settings_of_a_repository(
    inventory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One file leaves out checks and lints."""
    (tmp_path / ".claimcheck.yaml").write_text("disable: [CD001, CD010, CC009]\n")
    monkeypatch.chdir(tmp_path)
    assert _run("--inventory", inventory, capsys=capsys)[0] == 0
    assert main(["validate", inventory, "--inventory", inventory]) == 0


def test_an_unknown_check(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A code that does not exist leaves out nothing, so it is an error."""
    assert main(["doctor", "--inventory", inventory, "--disable", "CD0001"]) == 2
    assert (
        capsys.readouterr().err
        == "claimcheck: --disable CD0001: no lint has this code; did you mean CD001?\n"
    )
