"""`claimcheck impact`: its reports, its exit codes, and changes that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commandline.main import main
from tests.claimcheck.impact.test_impact import DATA


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    """A file with the cluster of the cases."""
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all(DATA["cluster"]))
    return str(file)


def _run(*arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main(["impact", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return code, captured.out


def _case(name: str) -> dict[str, Any]:
    case: dict[str, Any] = next(each for each in DATA["cases"] if each["name"] == name)
    return case


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        (
            "the new pod of a Deployment takes a free device, and then the former one goes",
            0,
            "Deployment team/web: 1 pod is replaced",
        ),
        (
            "a DaemonSet stops where a new pod does not fit on the node of the former one",
            1,
            "DaemonSet team/agent: does not end: 1 pod is replaced, 1 former pod keeps running, 1 of 1 new pod without a place",
        ),
    ],
)
def test_rollouts(
    name: str, code: int, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In each format; only one that does not end makes something worse."""
    case, inventory, change = _case(name), tmp_path / "cluster.yaml", tmp_path / "change.yaml"
    inventory.write_text(yaml.safe_dump_all([*DATA["cluster"], *case["stored"]]))
    change.write_text(yaml.safe_dump_all(case["apply"]))
    arguments = [str(change), "--inventory", str(inventory)]
    found, out = _run(*arguments, capsys=capsys)
    assert (found, f"rollouts:\n  {line}\n" in out) == (code, True)
    assert line in _run(*arguments, "-o", "markdown", capsys=capsys)[1]
    assert line in _run(*arguments, "-o", "html", capsys=capsys)[1]
    (rollout,) = json.loads(_run(*arguments, "-o", "json", capsys=capsys)[1])["rollouts"]
    (wanted,) = case["rollouts"]
    workload = rollout.pop("workload")
    assert rollout.pop("ends") is (code == 0)
    assert f"{workload['kind']} {workload['namespace']}/{workload['name']}" == wanted["workload"]
    assert rollout | {"workload": wanted["workload"]} == wanted


def _rule(**metadata: Any) -> str:
    return yaml.safe_dump(
        {
            "apiVersion": "resource.k8s.io/v1beta2",
            "kind": "DeviceTaintRule",
            "metadata": metadata,
            "spec": {
                "deviceSelector": {"pool": "node-1"},
                "taint": {"key": "maintenance", "effect": "NoExecute"},
            },
        }
    )


def test_text(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary first, then what leaves, and what starts."""
    code, out = _run("--inventory", inventory, "--delete", "pod/single", "-n", "team", capsys=capsys)
    assert code == 1
    assert (
        out
        == """\
pods that leave their nodes: 1; pods that start: 1

leave their nodes:
  Pod team/single: at once because of its deletion; nothing starts it again

start:
  Pod team/waits on node-2
"""
    )


def test_json(inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for programs, of a change in a file."""
    file = tmp_path / "rule.yaml"
    file.write_text(_rule(name="drain"))
    code, out = _run(str(file), "--inventory", inventory, "-o", "json", capsys=capsys)
    assert code == 1
    assert [(each["pod"], each["when"], each["owner"]) for each in json.loads(out)["leaving"]] == [
        ("team/web-7f-a", "at once", {"kind": "Deployment", "name": "web"}),
        ("team/train-x", "in 60 seconds", {"kind": "Job", "name": "train"}),
    ]


def test_markdown_cannot_be_left(inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No name in a file ends the block in which it stands."""
    hostile = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x\n````\n# y", "namespace": "team"}}
    hostile["spec"] = {"nodeName": "node-1", "containers": []}
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*DATA["cluster"], hostile]))
    code, out = _run("--inventory", str(file), "--drain", "node-1", "-o", "markdown", capsys=capsys)
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == "### claimcheck impact"
    assert [line for line in lines if line.startswith(("`", "#"))][1:] == ["`````text", "`````"]
    assert "x\\n````\\n# y" in out


def test_nothing_gets_worse(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the exit code is 0."""
    assert _run("--inventory", inventory, "--cordon", "node-1", capsys=capsys) == (
        0,
        "nothing changes for pods\n",
    )
    code, out = _run("--inventory", inventory, "--to-version", "1.36", "-o", "yaml", capsys=capsys)
    assert code == 0
    assert not any(yaml.safe_load(out).values())


OTHERS: dict[str, dict[str, Any]] = {
    "a claim of another group": {
        "apiVersion": "evil.example.com/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "train", "namespace": "team"},
    },
    "a pod of another group": {
        "apiVersion": "evil.example.com/v1",
        "kind": "Pod",
        "metadata": {"name": "web-7f-a", "namespace": "team"},
    },
    "a pod that is there": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web-7f-a", "namespace": "team"},
        "status": {"phase": "Failed"},
    },
    "a pod that comes onto a node by itself": {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "own", "namespace": "team"},
        "spec": {"nodeName": "node-1"},
    },
    "a rule of another group": {
        "apiVersion": "evil.example.com/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "drain"},
    },
    "a workload": {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"replicas": 5},
    },
}


@pytest.mark.parametrize("other", OTHERS)
def test_nothing_hides_what_a_rule_does(
    other: str, inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is not looked at changes nothing, and is told: the answer is not complete."""
    file = tmp_path / "change.yaml"
    file.write_text(_rule(name="drain") + "---\n" + yaml.safe_dump(OTHERS[other]))
    code, out = _run(str(file), "--inventory", inventory, capsys=capsys)
    assert code == 2
    assert "pods that leave their nodes: 2" in out
    assert f"Not looked at: {OTHERS[other]['kind']} " in out


def test_an_object_that_is_there_twice(
    inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first one may evict pods before the second one is applied, which hid that."""
    file = tmp_path / "change.yaml"
    file.write_text(_rule(name="drain") + "---\n" + _rule(name="drain").replace("NoExecute", "NoSchedule"))
    code, out = _run(str(file), "--inventory", inventory, capsys=capsys)
    assert code == 2
    told = "More than once in the change: DeviceTaintRule drain. What the last one does is told."
    assert told in out


@pytest.mark.parametrize(
    ("files", "skipped"),
    [
        ({".evil.yaml": ""}, ".evil.yaml"),
        ({"Chart.yaml": "name: c", "templates/evil.yaml": ""}, "templates/evil.yaml"),
        ({"kustomization.yaml": "patches: [{path: rule.yaml}]", "rule.yaml": ""}, "rule.yaml"),
    ],
    ids=["hidden", "chart", "kustomization"],
)
def test_files_that_are_not_read_are_told(
    files: dict[str, str],
    skipped: str,
    inventory: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A rule in a file that is left out may do anything."""
    directory = tmp_path / "change"
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(content or _rule(name="drain"))
    (directory / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: node-9}\n")
    code = main(["impact", "--inventory", inventory, str(directory)])
    assert code == 2
    assert f"{directory / skipped}: " in capsys.readouterr().out


def test_files_of_an_option(inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`-f` is what kubectl has, and files that are left out on purpose are not read."""
    (tmp_path / "change").mkdir()
    (tmp_path / "change" / "rule.yaml").write_text(_rule(name="drain"))
    asked = ("--inventory", inventory, "-f", str(tmp_path / "change"), "--cordon", "node-1")
    assert "leave their nodes" in _run(*asked, capsys=capsys)[1]
    assert "leave their nodes:" not in _run(*asked, "--exclude", "rule.yaml", capsys=capsys)[1]


def test_files_that_a_repository_leaves_out_are_told(
    inventory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever proposes a change can write the configuration file, too."""
    change = tmp_path / "change"
    change.mkdir()
    monkeypatch.chdir(change)
    (change / ".claimcheck.yaml").write_text("exclude: rule.yaml\n")
    (change / "rule.yaml").write_text(_rule(name="drain"))
    (change / "node.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: node-9}\n")
    assert main(["impact", "--inventory", inventory, "-f", ".", "--cordon", "node-1"]) == 2
    assert "exclude leaves out a file" in capsys.readouterr().out


def test_comments_have_a_limit(inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However much a change does, a pull request gets its comment."""
    file = tmp_path / "rules.yaml"
    file.write_text("---\n".join(_rule(name=f"{number:05}-{'x' * 200}") for number in range(300)))
    out = _run(str(file), "--inventory", inventory, "-o", "markdown", capsys=capsys)[1]
    assert len(out) < 32_000
    assert out.splitlines()[-1] == "```"


def test_namespace_of_objects_in_files(
    inventory: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`-n` is that of objects that name none."""
    file = tmp_path / "pod.yaml"
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "new"}, "spec": spec}
    file.write_text(yaml.safe_dump(pod))
    out = _run(str(file), "--inventory", inventory, "-n", "team", "-o", "json", capsys=capsys)[1]
    assert [each["pod"] for each in json.loads(out)["starting"]] == ["Pod team/new"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a change"),
        (["--delete", "gpu"], "expected TYPE/NAME"),
        (["--delete", "deployment/web"], "the types are"),
        (["--delete", "namespace/team"], "the types are"),
        (["--delete", "deviceclass/gp"], "DeviceClass gp is not in the cluster"),
        (["--drain", "node-9"], "Node node-9 is not in the cluster"),
        (["--to-version", "1.2"], "--to-version: "),
        (["--to-feature-gates", "DRAA=true"], "--to-feature-gates: "),
        (["missing.yaml"], "missing.yaml: no such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_change(
    arguments: list[str], message: str, inventory: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no change, or cannot be made, is an error."""
    assert main(["impact", "--inventory", inventory, *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
