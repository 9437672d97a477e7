"""`explain` and `simulate` about all pods that wait: `pods`, a namespace, or all namespaces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from commandline.main import main
from tests.claimcheck.doctor.test_checks import cluster, named


@pytest.fixture
def inventory(tmp_path: Path) -> str:
    """A file with three pods that wait in one namespace, one of them in a second time in another, and one that runs."""
    objects = cluster({"add": named("more pods than devices")["add"]})
    copies = [
        each | {"metadata": each["metadata"] | {"namespace": "other"}}
        for each in objects
        if each["metadata"]["name"] in ("next", "one")
    ]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml.safe_dump_all([*objects, *copies]))
    return str(file)


@pytest.mark.parametrize(
    ("arguments", "pods"),
    [
        (("pods", "-n", "team"), ["team/next", "team/next-1", "team/next-2"]),
        (("-n", "team"), ["team/next", "team/next-1", "team/next-2"]),
        (("po", "-n", "other"), ["other/next"]),
        (("pods",), []),
        (("-A",), ["other/next", "team/next", "team/next-1", "team/next-2"]),
        (("pods", "-A"), ["other/next", "team/next", "team/next-1", "team/next-2"]),
    ],
)
def test_pods_that_wait(
    inventory: str, arguments: tuple[str, ...], pods: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of the namespace, or of all; without a namespace that of the context, as for kubectl."""
    main(["explain", *arguments, "--inventory", inventory, "-o", "json"])
    captured = capsys.readouterr()
    found = [f"{each['namespace']}/{each['name']}" for each in json.loads(captured.out)["objects"]]
    assert sorted(found) == pods
    where = "in the namespace default; -A looks at all"
    assert captured.err == ("" if pods else f"no pod waits for devices {where}\n")


def test_they_are_simulated_together(inventory: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One device is free, so one of four is placed."""
    assert main(["simulate", "-A", "--inventory", inventory, "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["placed"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-A", "-n", "team"), "--all-namespaces and --namespace: use only one of them"),
        (("pod/next", "-A"), "--all-namespaces is about all pods that wait: name no files or objects"),
        ((), "no input: name files or directories, or - for standard input"),
        (("deployments",), "deployments: which one? Name objects as deployments/NAME"),
    ],
)
def test_what_cannot_be_asked(
    inventory: str, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message says what to change."""
    assert main(["explain", *arguments, "--inventory", inventory]) == 2
    assert message in capsys.readouterr().err
