"""Expressions that were written to get out of the Python code once generated for them mean what they say.

Upstream's answers are measured. The first three ran a shell command, ended in a SyntaxError and compared with another text.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commandline.main import main
from deviceselectors.compiler import compile_expression
from deviceselectors.environment import Environment
from deviceselectors.explaining import Explainer
from deviceselectors.runtime.device import prepare_device
from deviceselectors.runtime.program import EvaluationError, Program

DATA = json.loads((Path(__file__).parent / "data" / "injections.json").read_text(encoding="utf-8"))
CASES = DATA["cases"]
DEVICE = prepare_device(DATA["device"], DATA["device"]["driver"])
IDS = [str(number) for number in range(len(CASES))]


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands that an expression runs would leave something."""
    directory = tmp_path / "nothing-here"
    directory.mkdir()
    monkeypatch.chdir(directory)
    return directory


def _compiled(expression: str) -> Any:
    compiled = compile_expression(expression, Environment("stored"))
    assert compiled.ast is not None, compiled.error
    return compiled.ast


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_evaluation(case: dict[str, Any], empty_directory: Path) -> None:
    """With and without counting the answer is upstream's, and nothing happens besides."""
    program = Program(_compiled(case["expression"]))
    result = program.evaluate(DEVICE)
    assert (result.value, result.error, result.cost) == (case["match"], case["error"], case["cost"])
    if case["error"] is None:
        assert program.matches(DEVICE) is case["match"]
    else:
        with pytest.raises(EvaluationError) as raised:
            program.matches(DEVICE)
        assert str(raised.value) == case["error"]
    assert not list(empty_directory.iterdir())


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_explaining(case: dict[str, Any], empty_directory: Path) -> None:
    """What is not true has reasons, whatever texts it is made of, and looking for them does nothing besides."""
    reasons = Explainer(_compiled(case["expression"])).explain(DEVICE)
    assert bool(reasons) is (case["match"] is not True)
    assert not list(empty_directory.iterdir())


def _manifests(directory: Path, expressions: list[str]) -> tuple[Path, Path]:
    """A file with a claim and a pod per expression, and one with a node, a class and the device on it."""
    asks: list[dict[str, Any]] = []
    for number, expression in enumerate(expressions):
        request = {
            "name": "r",
            "exactly": {"deviceClassName": "any", "selectors": [{"cel": {"expression": expression}}]},
        }
        asks.append(_object("ResourceClaim", f"claim-{number}", {"devices": {"requests": [request]}}))
        reference = {"name": "device", "resourceClaimName": f"claim-{number}"}
        container = {"name": "c", "image": "i", "resources": {"claims": [{"name": "device"}]}}
        pod = _object("Pod", f"pod-{number}", {"resourceClaims": [reference], "containers": [container]})
        asks.append({**pod, "apiVersion": "v1"})
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    given = {key: DATA["device"][key] for key in ("attributes", "capacity")}
    spec = {"driver": DATA["device"]["driver"], "nodeName": "n1", "pool": pool}
    inventory = [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}},
        _object("DeviceClass", "any", {}),
        _object("ResourceSlice", "slice", {**spec, "devices": [{"name": "gpu-0", **given}]}),
    ]
    files = directory / "asks.json", directory / "inventory.json"
    for file, objects in zip(files, (asks, inventory), strict=True):
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return files


def _object(kind: str, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    namespaced = {"namespace": "default"} if kind in ("Pod", "ResourceClaim") else {}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, **namespaced},
        "spec": spec,
    }


@pytest.mark.parametrize("command", ["validate", "explain", "simulate"])
def test_commands(
    command: str, empty_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that evaluate selectors on an inventory come to their end, and leave nothing behind."""
    asks, inventory = _manifests(tmp_path, [case["expression"] for case in CASES])
    files = [str(asks)] if command == "validate" else ["-f", str(asks)]
    assert main([command, *files, "--inventory", str(inventory)]) in (0, 1)
    output = capsys.readouterr()
    assert "Traceback" not in output.out + output.err
    assert not list(empty_directory.iterdir())


def test_explained_as_upstream_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`explain` says of each claim whether its device is found, by upstream's answer."""
    for case in CASES[:6]:
        asks, inventory = _manifests(tmp_path, [case["expression"]])
        code = main(["explain", "-f", str(asks), "--inventory", str(inventory)])
        assert code == (0 if case["match"] else 1), capsys.readouterr().out
