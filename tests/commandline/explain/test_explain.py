"""`claimcheck explain`: reports for the scenarios in `snapshots/explain/`, each a folder with pods and claims, and a cluster."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import pytest
import yaml

from allocator import pod_claims
from commandline.errors import UNFINISHED
from commandline.main import main
from commandline.terminal import Progress
from resourceapi.node_selection import selects
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from tests.commandline import snapshot_files
from tests.commandline.odd_values import spoil
from tests.commandline.snapshot_files import assert_snapshot

DIRECTORY = snapshot_files.DIRECTORY / "explain"
CASES = sorted(path.name for path in DIRECTORY.iterdir() if path.is_dir())
OPTIONS = {
    "groups": ["--kube-version", "kep"],
    "clashes": ["--kube-version", "kep"],
    "gangs": ["--feature-gates", "GenericWorkload=true,DRAWorkloadResourceClaims=true"],
}


def run(
    case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, str]:
    """Exit code and output for a case."""
    monkeypatch.chdir(DIRECTORY / case)
    arguments = [
        "explain",
        "-f",
        "workloads.yaml",
        "--inventory",
        "cluster.yaml",
        *OPTIONS.get(case, []),
        *more,
    ]
    code = main(arguments)
    return code, capsys.readouterr().out


@pytest.mark.parametrize("case", CASES)
def test_text(case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for people says exactly this."""
    code, text = run(case, monkeypatch, capsys)
    assert_snapshot(text, DIRECTORY / case / "text.txt")
    assert code == 1


@pytest.mark.parametrize("case", [case for case in CASES if (DIRECTORY / case / "json.json").exists()])
def test_json(case: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The report for programs says exactly this."""
    _, text = run(case, monkeypatch, capsys, "-o", "json")
    assert_snapshot(text, DIRECTORY / case / "json.json")


def test_one_node(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--node` no other node is looked at."""
    code, text = run("held", monkeypatch, capsys, "--node", "n2")
    assert code == 1
    assert text.startswith("Pod team-b/train (workloads.yaml:1): does not fit on n2: ")


def test_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where everything fits, the exit code is 0."""
    workloads = tmp_path / "claim.yaml"
    text = (DIRECTORY / "too-many" / "workloads.yaml").read_text(encoding="utf-8")
    workloads.write_text(text.replace("count: 5", "count: 3"), encoding="utf-8")
    assert (
        main(["explain", "-f", str(workloads), "--inventory", str(DIRECTORY / "too-many" / "cluster.yaml")])
        == 0
    )
    assert "fits on n1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--node", "nowhere"], "--node nowhere: there is no such node", id="no-such-node"),
        pytest.param(
            ["--kubeconfig", "x"], "--inventory and a live cluster: use only one of them", id="two-clusters"
        ),
        pytest.param(["--kube-version", "1.2"], "unknown release '1.2'", id="no-such-release"),
    ],
)
def test_usage(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Options that make no sense end the command with 2."""
    monkeypatch.chdir(DIRECTORY / "held")
    assert main(["explain", "-f", "workloads.yaml", "--inventory", "cluster.yaml", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_nothing_requests_devices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Files in which nothing requests devices are an error."""
    monkeypatch.chdir(DIRECTORY / "too-many")
    assert main(["explain", "-f", "cluster.yaml"]) == 2
    assert "cluster.yaml: nothing requests devices" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["explain", "simulate"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--inventory", "nowhere"], "--inventory nowhere: no such file", id="missing"),
        pytest.param(
            [], "describe the cluster with --inventory DIR, or ask a live one with --live", id="none"
        ),
    ],
)
def test_no_cluster(
    command: str,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a cluster there is no answer, not the answer for an empty one."""
    monkeypatch.chdir(DIRECTORY / "too-many")
    assert main([command, "-f", "workloads.yaml", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "-f", "-", "--inventory", "-"],
        ["validate", "-", "--inventory", "-"],
        ["validate", "-", "--old", "-"],
        ["quota", "-", "--quota", "-"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_standard_input_twice(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads standard input second would find nothing, and answer accordingly."""
    assert main(arguments) == 2
    message = "claimcheck: - stands for standard input, which can be read only once\n"
    assert capsys.readouterr() == ("", message)


def test_cluster_among_the_files(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The cluster may be described in the same files as the workloads."""
    monkeypatch.chdir(DIRECTORY / "too-many")
    assert main(["explain", "-f", "workloads.yaml", "cluster.yaml"]) == 1
    assert "does not fit on n1" in capsys.readouterr().out


def test_allocated_claim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A claim that the inventory shows as allocated keeps what it has, and the report lists it."""
    cluster = DIRECTORY / "held" / "cluster.yaml"
    claims = [
        each
        for each in yaml.safe_load_all(cluster.read_text(encoding="utf-8"))
        if each["kind"] == "ResourceClaim"
    ]
    claims[0].pop("status")
    workloads = tmp_path / "claim.yaml"
    workloads.write_text(yaml.safe_dump(claims[0]), encoding="utf-8")
    assert main(["explain", "-f", str(workloads), "--inventory", str(cluster)]) == 0
    lines = capsys.readouterr().out.splitlines()
    place = next(index for index, line in enumerate(lines) if line.endswith(", allocated"))
    assert lines[place + 1].startswith("    gpu: gpu.example.com/")


def test_pod_that_is_not_scheduled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said of a pod that kube-scheduler does not look at it, or not yet."""
    pod = tmp_path / "pod.yaml"
    more = "schedulingGates: [{name: a.example.com/wait}]\n  schedulerName: other"
    pod.write_text(BOUND.format(node="''").replace("nodeName: ''", more), encoding="utf-8")
    cluster = DIRECTORY / "node-resources" / "cluster.yaml"
    assert main(["explain", "-f", str(pod), "--inventory", str(cluster)]) == 1
    text = capsys.readouterr().out
    assert "waits for the removal of its scheduling gates: a.example.com/wait\n" in text
    assert "  it is for the scheduler other; what is said here holds for kube-scheduler\n" in text


def test_time_limit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be decided in time is said to be so, with the option, and the exit code is 2."""
    monkeypatch.chdir(DIRECTORY / "node-resources")
    ticks = count(0.0, 1_000.0)
    monkeypatch.setattr(Progress, "clock", lambda self: next(ticks))
    arguments = ["explain", "-f", "workloads.yaml", "--inventory", "cluster.yaml", "--timeout", "500"]
    assert main(arguments) == 2
    text = capsys.readouterr().out
    assert "Pod default/everything (workloads.yaml:11): not decided within the time limit" in text
    assert "The time limit of 500 s was over before 10 of 10 were decided (--timeout).\n" in text


BOUND = """
apiVersion: v1
kind: Pod
metadata: {{name: p}}
spec:
  nodeName: {node}
  containers: [{{name: c, image: x, resources: {{limits: {{example.com/gpu: 1}}}}}}]
"""


@pytest.mark.parametrize(
    ("node", "expected", "code"),
    [
        pytest.param(
            "n-plugin",
            "is on n-plugin\n  example.com/gpu comes from the device plugin of n-plugin\n",
            0,
            id="device-plugin",
        ),
        pytest.param(
            "n-ok", "gets no devices: the scheduler passes over a pod that names its node", 1, id="bypass"
        ),
    ],
)
def test_pod_on_a_node(
    node: str, expected: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod that names its node has what device plugins give there; nobody makes a claim for it."""
    pod = tmp_path / "pod.yaml"
    pod.write_text(BOUND.format(node=node), encoding="utf-8")
    cluster = DIRECTORY / "node-resources" / "cluster.yaml"
    assert main(["explain", "-f", str(pod), "--inventory", str(cluster)]) == code
    assert expected in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(60))
def test_odd_values(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever stands in the files, the command ends with an answer."""
    chance = random.Random(seed)
    case = chance.choice(CASES)
    files = []
    for name in ("workloads.yaml", "cluster.yaml"):
        documents = list(yaml.safe_load_all((DIRECTORY / case / name).read_text(encoding="utf-8")))
        for _ in range(2):
            spoil(chance.choice(documents), chance)
        files.append(tmp_path / name)
        files[-1].write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    assert main(["explain", "-f", str(files[0]), "--inventory", str(files[1])]) in (0, 1, 2)
    capsys.readouterr()


def test_device_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a claim remembers of a device's groups counts when the slices have the device no more; both are named."""
    text = (DIRECTORY / "groups" / "cluster.yaml").read_text(encoding="utf-8")
    gone = "\n".join(line for line in text.splitlines() if "name: gpu-0-mig-0" not in line)
    (tmp_path / "cluster.yaml").write_text(gone, encoding="utf-8")
    monkeypatch.chdir(DIRECTORY / "groups")
    arguments = [
        "-f",
        "workloads.yaml",
        "--inventory",
        str(tmp_path / "cluster.yaml"),
        "--kube-version",
        "kep",
    ]
    assert main(["explain", *arguments]) == 1
    text = capsys.readouterr().out
    assert (
        "gpu-0 is in use with groups {mig} (gpu-0-mig-0 is gone from the slices), "
        "the device has groups {vgpu}; held by pod team-a/mig (claim mig-user)" in text
    )
    assert "if pod team-a/mig ended, which uses claim mig-user (on n1)" in text


TWO_KINDS = """\
{apiVersion: v1, kind: Node, metadata: {name: n1}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu},
 spec: {selectors: [{cel: {expression: device.driver == "gpu.example.com"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: nic},
 spec: {selectors: [{cel: {expression: device.driver == "nic.example.com"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: gpus},
 spec: {driver: gpu.example.com, nodeName: n1, pool: {name: a, generation: 1, resourceSliceCount: 1},
  devices: [{name: g, attributes: {x.example.com/root: {string: r}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: nics},
 spec: {driver: nic.example.com, nodeName: n1, pool: {name: b, generation: 1, resourceSliceCount: 1},
  devices: [{name: nic0, attributes: {numa: {int: 0}, x.example.com/root: {string: r}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: both, namespace: default},
 spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}, {name: nic, exactly: {deviceClassName: nic}}],
  constraints: [{matchAttribute: NAME}]}}}
"""


@pytest.mark.parametrize(
    ("name", "meant"), [("gpu.example.com/numa", ""), ("x.example.com/roots", "x.example.com/root")]
)
def test_a_name_is_suggested_for_a_constraint_only_if_devices_of_every_request_have_it(
    name: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "all.yaml").write_text(TWO_KINDS.replace("NAME", name))
    assert main(["explain", str(tmp_path / "all.yaml")]) == 1
    text = capsys.readouterr().out
    assert f"has the attribute {name}" in text
    assert (f"did you mean {meant}?" in text) if meant else "did you mean" not in text


HELD = """\
{apiVersion: v1, kind: Node, metadata: {name: n1}}
---
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: gpus},
 spec: {driver: gpu.example.com, nodeName: n1, pool: {name: a, generation: 1, resourceSliceCount: 1},
  devices: [{name: g0, attributes: {numa: {int: 0}}}, {name: g1, attributes: {numa: {int: 1}}},
   {name: g2, attributes: {numa: {int: 2}}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: other, namespace: default, uid: u, resourceVersion: "1"},
 spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}},
 status: {allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: a, device: g0}]}}}}
"""
ALIKE = """\
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: alike, namespace: default},
 spec: {devices: {requests: [{name: r, exactly: {deviceClassName: gpu, count: COUNT}}],
  constraints: [{matchAttribute: gpu.example.com/numa}]}}}
"""


@pytest.mark.parametrize(
    ("count", "despite"),
    [
        (3, "even if no other claim held devices; without one of them the other could be met then"),
        (2, "but without any one of them the other can"),
    ],
)
def test_a_conflict_says_if_devices_that_others_hold_count_as_free(
    count: int, despite: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With 3 devices of which one is held, 3 do not fit even without the constraint: it must not seem so."""
    (tmp_path / "cluster.yaml").write_text(HELD)
    (tmp_path / "claim.yaml").write_text(ALIKE.replace("COUNT", str(count)))
    arguments = ["explain", str(tmp_path / "claim.yaml"), "--inventory", str(tmp_path / "cluster.yaml")]
    assert main(arguments) == 1
    assert despite in capsys.readouterr().out


def test_time_limit_where_an_allocated_claim_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its node selector may have thousands of requirements, and is asked of each node: no more of them than there is time for."""
    cluster = DIRECTORY / "allocated-elsewhere" / "cluster.yaml"
    claim = next(
        each for each in yaml.safe_load_all(cluster.read_text()) if each["metadata"]["name"] == "shared"
    )
    claim["metadata"]["name"] = "other"
    (tmp_path / "claim.yaml").write_text(yaml.safe_dump(claim))
    asked: list[bool] = []

    def slow(selector: Object, node: Node) -> bool:
        asked.append(selects(selector, node))
        return asked[-1]

    monkeypatch.setattr(pod_claims, "selects", slow)
    monkeypatch.setattr(Progress, "clock", lambda self: 4.0 * len(asked))
    arguments = ["explain", "-f", str(tmp_path / "claim.yaml"), "--inventory", str(cluster)]
    assert main([*arguments, "--timeout", "20"]) == 0
    assert len(asked) == 4
    assert "is allocated on n1" in capsys.readouterr().out
    asked.clear()
    assert main([*arguments, "--timeout", "10"]) == UNFINISHED
    assert len(asked) == 3
    assert "is allocated on" not in capsys.readouterr().out
