"""`claimcheck simulate`: reports for the scenarios in `snapshots/simulate/`, each a folder with pods and claims, and a cluster."""

from __future__ import annotations

import json
import random
from itertools import count
from pathlib import Path

import pytest
import yaml

from commandline.main import main
from commandline.terminal import Progress
from tests.commandline import snapshot_files
from tests.commandline.odd_values import spoil
from tests.commandline.snapshot_files import assert_snapshot

DIRECTORY = snapshot_files.DIRECTORY / "simulate"
OPTIONS = {
    "partitions": ["--compare", "first-fit,best-fit", "--batch", "--node-template", "template.yaml"],
    "replicas": ["--compare", "best-fit"],
    "unplaced": [],
    "gangs": ["--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true"],
}


def run(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, str]:
    """Exit code and output for a case."""
    monkeypatch.chdir(DIRECTORY / case)
    code = main(["simulate", "-f", "workloads.yaml", "--inventory", "cluster.yaml", *more])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("case", "code"), [("partitions", 0), ("replicas", 1), ("unplaced", 1), ("gangs", 1)]
)
def test_text(
    case: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report for people says exactly this."""
    found, text = run(case, monkeypatch, capsys, *OPTIONS[case])
    assert_snapshot(text, DIRECTORY / case / "text.txt")
    assert found == code


@pytest.mark.parametrize("case", OPTIONS)
def test_json(case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for programs says exactly this."""
    _, text = run(case, monkeypatch, capsys, *OPTIONS[case], "-o", "json")
    assert_snapshot(text, DIRECTORY / case / "json.json")


def test_unplaced_pods_are_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each pod is in one group, whose reason and changes are those of `explain` once the others are placed."""
    _, text = run("unplaced", monkeypatch, capsys, "-o", "json")
    report = json.loads(text)
    names = [name for group in report["unplaced"] for name in group["pods"]]
    assert sorted(names) == sorted(report["runs"][0]["left"])
    objects = list(yaml.safe_load_all(Path("cluster.yaml").read_text(encoding="utf-8")))
    (kept,) = (each for each in objects if each["kind"] == "ResourceClaim")
    for placement in report["runs"][0]["placements"]:
        for device in placement.get("devices", ()):
            result = {key: device[key] for key in ("request", "driver", "pool", "device")}
            status = {**kept["status"], "allocation": {"devices": {"results": [result]}}}
            metadata = {"name": device["claim"].partition("/")[2], "namespace": "team"}
            objects.append({**kept, "metadata": metadata, "status": status})
    after = tmp_path / "after.yaml"
    after.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    main(["explain", "-f", "workloads.yaml", "--inventory", str(after), "-o", "json"])
    explained = {
        f"{each['kind']} {each['namespace']}/{each['name']}": each
        for each in json.loads(capsys.readouterr().out)["objects"]
    }
    for group in report["unplaced"]:
        known = explained[group["pods"][0].removesuffix("-5")]
        assert group["reason"] == known.get("kubeSchedulerWouldSay", known.get("problem"))
    assert len(report["unplaced"]) == 4


def test_all_placed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 is for all pods placed: by the last objective, here the one that wastes less."""
    code, text = run("partitions", monkeypatch, capsys)
    assert (code, text.splitlines()[0]) == (1, "kube-scheduler: 3 of 4 pods placed on 1 node")
    code, text = run("partitions", monkeypatch, capsys, "--compare", "best-fit")
    assert (code, text.splitlines()[0]) == (0, "best-fit: 4 of 4 pods placed on 1 node")


def test_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    """A pod that alone fits nowhere is left for the reason that `explain` gives."""
    case = snapshot_files.DIRECTORY / "explain" / "node-resources"
    arguments = [str(case / "workloads.yaml"), "--inventory", str(case / "cluster.yaml"), "-o", "json"]
    main(["explain", "-f", *arguments])
    explained = json.loads(capsys.readouterr().out)["objects"]
    main(["simulate", "-f", *arguments])
    placements = json.loads(capsys.readouterr().out)["runs"][0]["placements"]
    left = {each["pod"]: each.get("reason") for each in placements}
    expected = {
        f"Pod default/{each['name']}": each["kubeSchedulerWouldSay"]
        for each in explained
        if each["verdict"] != "fits"
    }
    assert {name: left[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--compare", "worst-fit"],
            "expected kube-scheduler, first-fit, best-fit, or several",
            id="objective",
        ),
        pytest.param(["--node-template", "workloads.yaml"], "there is no Node", id="template-without-node"),
        pytest.param(["--node-template", "nowhere.yaml"], "nowhere.yaml", id="no-such-template"),
    ],
)
def test_usage(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Options that make no sense end the command with 2."""
    monkeypatch.chdir(DIRECTORY / "replicas")
    assert main(["simulate", "-f", "workloads.yaml", "--inventory", "cluster.yaml", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_unknown_class(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A class that is nowhere is named, even where there is no node on which that could end the attempt."""
    cases = DIRECTORY.with_name("explain")
    workloads, node = tmp_path / "workloads.yaml", tmp_path / "node.yaml"
    workloads.write_text(
        (cases / "unknown-class" / "workloads.yaml").read_text(encoding="utf-8"), encoding="utf-8"
    )
    node.write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n}\n", encoding="utf-8")
    assert main(["simulate", "-f", str(workloads), "--inventory", str(node)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["there is no DeviceClass gpus.example.com", "there is no DeviceClass fpga"]


def test_stray_slice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With several nodes in a template file each slice must say whose it is."""
    text = (DIRECTORY / "replicas" / "cluster.yaml").read_text(encoding="utf-8")
    (tmp_path / "two.yaml").write_text(text.replace("nodeName: n2", "allNodes: true"), encoding="utf-8")
    monkeypatch.chdir(DIRECTORY / "replicas")
    arguments = [
        "-f",
        "workloads.yaml",
        "--inventory",
        "cluster.yaml",
        "--node-template",
        str(tmp_path / "two.yaml"),
    ]
    assert main(["simulate", *arguments]) == 2
    assert "slice n2 belongs to none of the nodes" in capsys.readouterr().err


def test_error_on_another_node(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What leaves a pod pending is said: the node with the error and how to fix it, or that the scheduler passes it over."""
    monkeypatch.chdir(DIRECTORY.with_name("explain") / "error-elsewhere")
    arguments = ["simulate", "-f", "workloads.yaml", "--inventory", "cluster.yaml", "-o", "json"]
    assert main(arguments) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    errors = [each["error"] for each in run["placements"]]
    assert [each["node"] for each in run["placements"]] == [None, None, None]
    assert errors[0].startswith(
        "an error on n3 fails the attempt: claim default/h100: selector #0 on device "
    )
    assert errors[0].endswith("with has(…) &&, or read it with .? and orValue(…))")
    assert errors[1].startswith(
        "an error on n3 fails the attempt: claim default/all-alike, request gpus: cannot add "
    )
    assert errors[2].startswith("the scheduler passes over a pod that names its node (n1)")


def test_out_of_time(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the limit was hit is said, and the exit code is that of work that could not be done."""
    ticks = count(0.0, 1_000.0)
    monkeypatch.setattr(Progress, "clock", lambda self: next(ticks))
    code, text = run("replicas", monkeypatch, capsys, "--timeout", "500")
    lines = text.splitlines()
    assert code == 2
    assert lines[0].startswith("kube-scheduler: 0 of ")
    assert ": the time for all pods was over before it was decided whether it fits" in lines[1]
    assert lines[lines.index("left after kube-scheduler") + 1] == "  no time to find out (--timeout)"
    code, text = run("replicas", monkeypatch, capsys, "--timeout", "500", "-o", "json")
    assert code == 2
    (first,) = json.loads(text)["runs"]
    assert first["undecided"] == first["left"]
    assert first["fragmentation"] is None
    assert all(each["undecided"] is True and each["error"] for each in first["placements"])


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "inf", "nan"])
def test_no_such_time(
    seconds: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time is a finite number above 0."""
    monkeypatch.chdir(DIRECTORY / "replicas")
    assert (
        main(["simulate", "-f", "workloads.yaml", "--inventory", "cluster.yaml", f"--timeout={seconds}"]) == 2
    )
    assert "expected a number of seconds above 0" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(40))
def test_odd_values(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever stands in the files, the command ends with an answer."""
    chance = random.Random(seed)
    for name in ("workloads.yaml", "cluster.yaml", "template.yaml"):
        documents = list(yaml.safe_load_all((DIRECTORY / "partitions" / name).read_text(encoding="utf-8")))
        spoil(chance.choice(documents), chance)
        (tmp_path / name).write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    files = {name: str(tmp_path / f"{name}.yaml") for name in ("workloads", "cluster", "template")}
    arguments = [
        "-f",
        files["workloads"],
        "--inventory",
        files["cluster"],
        "--node-template",
        files["template"],
    ]
    assert main(["simulate", *arguments]) in (0, 1, 2)
    capsys.readouterr()


def test_generated_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Claims whose names the server makes are different ones, even with the same prefix."""
    cluster = DIRECTORY / "replicas" / "cluster.yaml"
    request = "{name: g, exactly: {deviceClassName: gpu, count: 2}}"
    text = f"""apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{generateName: a-}}
spec: {{devices: {{requests: [{request}]}}}}
"""
    (tmp_path / "workloads.yaml").write_text(f"{text}---\n{text}", encoding="utf-8")
    assert main(["simulate", "-f", str(tmp_path / "workloads.yaml"), "--inventory", str(cluster)]) == 0
    assert "kube-scheduler: 2 of 2 pods placed on 2 nodes" in capsys.readouterr().out


def test_too_many_pods_and_claims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workloads share what room there is for pods and their claims; one pod of each is simulated."""
    monkeypatch.setattr("claimcheck.answers.tried.MAX_OBJECTS", 12)
    case = DIRECTORY / "replicas"
    text = (case / "workloads.yaml").read_text(encoding="utf-8").replace("parallelism: 5", "parallelism: 6")
    more = "---\n".join(each for each in text.split("---\n") if "kind: Job" in each)
    others = [more.replace("name: train", f"name: {name}", 1) for name in ("other", "third")]
    (tmp_path / "workloads.yaml").write_text("---\n".join([text, *others]), encoding="utf-8")
    arguments = ["-f", str(tmp_path / "workloads.yaml"), "--inventory", str(case / "cluster.yaml")]
    assert main(["simulate", *arguments]) == 2
    text = capsys.readouterr().out
    assert "train: error" not in text
    assert "Job default/other: error: only 1 of its 6 pods are simulated" in text
    assert "Job default/third: error: only 1 of its 6 pods are simulated" in text


def test_too_many_replicas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A workload with more pods than can be listed is cut short, and that is said."""
    case = DIRECTORY / "replicas"
    text = (
        (case / "workloads.yaml")
        .read_text(encoding="utf-8")
        .replace("parallelism: 5", "parallelism: 2000000000")
    )
    (tmp_path / "workloads.yaml").write_text(text, encoding="utf-8")
    arguments = ["-f", str(tmp_path / "workloads.yaml"), "--inventory", str(case / "cluster.yaml")]
    assert main(["simulate", *arguments]) == 2
    text = capsys.readouterr().out
    assert "Job default/train: error: only 10,000 of its 2,000,000,000 pods are simulated" in text
    assert "kube-scheduler: 4 of 10,000 pods placed on 2 nodes" in text


def test_pods_that_name_what_no_device_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those with the same reason are grouped, also where what would help is a name instead of another one."""
    group = {"apiVersion": "resource.k8s.io/v1"}
    device = {"name": "d", "attributes": {"model": {"string": "a100"}}}
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    slice = {"driver": "d.example.com", "nodeName": "n1", "pool": pool, "devices": [device]}
    misspelt = {"cel": {"expression": 'device.attributes["d.example.com"].?modell.orValue("") == "a100"'}}
    request = {"name": "r", "exactly": {"deviceClassName": "any", "selectors": [misspelt]}}
    objects = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        {**group, "kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}},
        {**group, "kind": "ResourceSlice", "metadata": {"name": "n1"}, "spec": slice},
    ]
    claim = {**group, "kind": "ResourceClaim", "spec": {"devices": {"requests": [request]}}}
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    (tmp_path / "claim.yaml").write_text(
        yaml.safe_dump({**claim, "metadata": {"name": "c"}}), encoding="utf-8"
    )
    where = ["-f", str(tmp_path / "claim.yaml"), "--inventory", str(tmp_path / "cluster.yaml")]
    assert main(["simulate", *where, "-o", "json"]) == 1
    (left,) = json.loads(capsys.readouterr().out)["unplaced"]
    (renamed,) = (each for each in left["remedies"] if each["kind"] == "name")
    assert renamed["value"] == {"modell": "model"}
