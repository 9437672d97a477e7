"""`claimcheck classic-simulate`: the timelines of the scenarios that come with it, and of files."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml

from classic.simulation import scenario
from commandline.classic_simulate import SCENARIOS
from commandline.main import main
from tests.commandline import snapshot_files
from tests.commandline.odd_values import spoil
from tests.commandline.snapshot_files import assert_snapshot

DIRECTORY = snapshot_files.DIRECTORY / "classic-simulate"


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Exit code, output and complaints."""
    code = main(["classic-simulate", *arguments])
    return code, *capsys.readouterr()


def test_scenarios_are_offered() -> None:
    """The option knows the scenarios without loading them."""
    assert SCENARIOS == scenario.NAMES


@pytest.mark.parametrize("name", scenario.NAMES)
def test_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The timeline for people says exactly this."""
    code, text, _ = run(capsys, "--scenario", name)
    assert code == 0
    assert_snapshot(text, DIRECTORY / f"{name}.txt")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The timeline for programs says exactly this; as YAML, it says the same."""
    code, text, _ = run(capsys, "--scenario", "best-case", "-o", "json")
    assert code == 0
    assert_snapshot(text, DIRECTORY / "best-case.json")
    _, as_yaml, _ = run(capsys, "--scenario", "best-case", "-o", "yaml")
    assert yaml.safe_load(as_yaml) == json.loads(text)


def test_color(capsys: pytest.CaptureFixture[str]) -> None:
    """What keeps a pod waiting is in color."""
    _, text, _ = run(capsys, "--scenario", "best-case", "--color", "always")
    assert "node-1: \x1b[33mPending\x1b[0m: waiting for resource driver" in text
    assert "default/device-consumer: \x1b[32mbound to node-1\x1b[0m after" in text


def test_printed_scenario_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The documents of a scenario are a scenario."""
    code, documents, _ = run(capsys, "--scenario", "slow-driver", "--print-scenario")
    assert code == 0
    file = tmp_path / "mine.yaml"
    file.write_text(documents)
    _, text, _ = run(capsys, str(file))
    _, same, _ = run(capsys, "--scenario", "slow-driver")
    assert f"slow-driver: {text}" == same


def objects(tmp_path: Path, *documents: object) -> str:
    """A file with objects."""
    file = tmp_path / "objects.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return str(file)


CLASS = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClass",
    "metadata": {"name": "gpu"},
    "driverName": "gpu.example.com",
}
CLAIM = {
    "apiVersion": "resource.k8s.io/v1alpha2",
    "kind": "ResourceClaim",
    "metadata": {"name": "shared"},
    "spec": {"resourceClassName": "gpu"},
}


def pod(name: str, *claims: str, **more: object) -> dict[str, object]:
    """A pod with claims by their names, and more fields of its spec."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "containers": [{"name": "c", "image": "x"}],
            "resourceClaims": [{"name": each, "source": {"resourceClaimName": each}} for each in claims],
            **more,
        },
    }


def test_pods_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without Nodes there are three; a claim that cannot be shared keeps the second pod waiting."""
    code, text, _ = run(capsys, objects(tmp_path, CLASS, CLAIM, pod("a", "shared"), pod("b", "shared")))
    assert code == 1
    assert "default/a: bound to node-1 after" in text
    assert "default/b: not bound" in text
    assert "resourceclaim in use: default/shared" in text


def test_claims_that_do_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A pod whose claim does not exist is not tried, with either kind of parameters."""
    code, text, _ = run(capsys, objects(tmp_path, CLASS, pod("a", "missing")))
    assert code == 1
    assert "default/a: not bound, 0 attempts" in text
    assert "with structured parameters (resource.k8s.io/v1): not bound, 0 attempts" in text


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (
            {"schedulingGates": [{"name": "x.y/a"}, {"name": "x.y/b"}]},
            "Unschedulable: waiting for scheduling gates: [x.y/a x.y/b]",
        ),
        ({"schedulerName": "mine"}, "is not queued: spec.schedulerName is mine"),
    ],
)
def test_pods_that_are_not_attempted(
    field: dict[str, object], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pod with scheduling gates, or of another scheduler, is not tried, with either kind of parameters; it says why once."""
    code, text, _ = run(capsys, objects(tmp_path, CLASS, CLAIM, pod("a", "shared", **field)))
    assert code == 1
    assert text.count(said) == 1
    assert "default/a: not bound, 0 attempts" in text
    assert "with structured parameters (resource.k8s.io/v1): not bound, 0 attempts" in text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"apiVersion": "resource.k8s.io/v1alpha3"}, "only resource.k8s.io/v1alpha2 is negotiated about"),
        ({"structuredParameters": True}, "the scheduler allocates such claims by itself"),
        ({"driverName": "no_"}, "driverName: Invalid value"),
    ],
)
def test_classes_that_are_not_negotiated_about(
    change: dict[str, object], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What 1.30 does not serve, refuses, or allocates without a driver, is an error."""
    code, _, complaint = run(capsys, objects(tmp_path, {**CLASS, **change}, CLAIM, pod("a", "shared")))
    assert code == 2
    assert message in complaint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no input"),
        (["--print-scenario"], "name it with --scenario"),
        (["--scenario", "best-case", "x.yaml"], "--scenario stands for files"),
        (["--scenario", "best"], "invalid choice"),
        (["missing.yaml"], "there is no pod to schedule"),
    ],
)
def test_wrong_options(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that make no sense are refused."""
    code, _, complaint = run(capsys, *arguments)
    assert code == 2
    assert message in complaint


NODES = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"node-{number}"}, "status": {}}
    for number in range(11)
]
WORKLOAD = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "d"},
    "spec": {"template": {"spec": {}}},
}


@pytest.mark.parametrize(
    ("documents", "drivers", "message"),
    [
        ([pod("a")], {"gpu.example.org": {}}, "driver gpu.example.org: no ResourceClass has this driverName"),
        ([pod("a")], {"gpu.example.com": {"devices": {"node-99": 1}}}, "devices: there is no Node node-99"),
        (
            [pod("a")],
            {"gpu.example.com": {"devices": {f"node-{number}": 5000 for number in range(11)}}},
            "drivers have more than 50,000 devices",
        ),
        ([WORKLOAD], {}, "there is no pod to schedule: write the pods of Deployment as Pods"),
        ([pod(f"a{number}") for number in range(5000)], {}, "there are more than 5,000 objects"),
    ],
)
def test_scenarios_that_cannot_be_used(
    documents: list[object],
    drivers: object,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What a scenario says of drivers has to fit its objects, and all of it is limited."""
    scenario = {"apiVersion": "claimcheck/v1", "kind": "ClassicScenario", "spec": {"drivers": drivers}}
    code, _, complaint = run(capsys, objects(tmp_path, CLASS, *NODES, *documents, scenario))
    assert code == 2
    assert message in complaint


def test_references_are_written_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The timeline for people does not show the syntax of a programming language."""
    reference = {"apiGroup": "example.com", "kind": "Parameters", "name": "p"}
    claim = {**CLAIM, "spec": {"resourceClassName": "gpu", "parametersRef": reference}}
    _, text, _ = run(capsys, objects(tmp_path, CLASS, claim, pod("a", "shared")))
    assert "spec.parametersRef = apiGroup: example.com, kind: Parameters, name: p" in text


def test_time_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """A simulation that takes too long ends with an error."""
    code, _, complaint = run(capsys, "--scenario", "best-case", "--timeout", "0.000001")
    assert code == 2
    assert "the simulation takes longer than 1e-06 s (--timeout)" in complaint


@pytest.mark.parametrize("seed", range(60))
def test_odd_values(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever files have, there is an answer, and never a traceback."""
    documents = list(yaml.safe_load_all(scenario.scenario_text("claim-deallocated")))
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 3)):
        spoil(documents, chance)
    code, _, _ = run(capsys, objects(tmp_path, *documents))
    assert code in (0, 1, 2)
