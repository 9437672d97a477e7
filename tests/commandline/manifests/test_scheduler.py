"""`claimcheck manifests --component scheduler`: what it prints for which options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commandline.main import main
from resourceapi.objects import Object
from tests.case_files import read_all
from tests.commandline.snapshot_files import DIRECTORY, assert_snapshot

IMAGES = (
    "--image",
    "r.example.com/claimcheck:1",
    "--kube-scheduler-image",
    "r.example.com/kube-scheduler:v1",
)
SNAPSHOTS = {
    "scheduler-built-in": (),
    "scheduler-crd-served": ("--mode", "crd-served", "--certificates", "cert-manager", "--service-monitor"),
}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command prints, with both images."""
    assert main(["manifests", "--component", "scheduler", *IMAGES, *arguments]) == 0
    return capsys.readouterr().out


def objects(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[tuple[str, str], Object]:
    """The objects that the command prints, by kind and name."""
    found = read_all(printed(capsys, *arguments))
    named = {(obj["kind"], obj["metadata"]["name"]): obj for obj in found}
    assert len(named) == len(found)
    return named


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_output(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every object, as it is applied."""
    written = printed(capsys, *SNAPSHOTS[name])
    assert_snapshot(written, Path(DIRECTORY, "manifests", f"{name}.yaml"))


def test_options_change_what_they_name(capsys: pytest.CaptureFixture[str]) -> None:
    """The number of replicas is that of the extender; network policies can be left out."""
    found = objects(capsys, "--replicas", "3", "--no-network-policy")
    assert found["Deployment", "claimcheck-scheduler"]["spec"]["replicas"] == 3
    assert found["Deployment", "claimcheck-kube-scheduler"]["spec"]["replicas"] == 2
    assert not any(kind == "NetworkPolicy" for kind, _ in found)
    images = [
        container["image"]
        for (kind, _), obj in found.items()
        if kind == "Deployment"
        for container in obj["spec"]["template"]["spec"]["containers"]
    ]
    assert images == ["r.example.com/claimcheck:1", "r.example.com/kube-scheduler:v1"]


@pytest.mark.parametrize("certificates", ["own", "secret", "cert-manager"])
@pytest.mark.parametrize("mode", ["built-in-guard", "crd-served"])
def test_another_namespace(mode: str, certificates: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named wherever ours was: references, the URL of the extender, and the Leases."""
    options = ("--mode", mode, "--certificates", certificates, "--service-monitor")
    ours, other = printed(capsys, *options), printed(capsys, *options, "--namespace", "elsewhere")
    assert "claimcheck-system" not in other
    assert json.loads(json.dumps(read_all(other)).replace("elsewhere", "claimcheck-system")) == read_all(ours)


def test_own_configuration(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """It takes the place of the overlay's, but for what the manifests depend on."""
    file = tmp_path / "own.yaml"
    file.write_text("# ours\nlisten: {port: 1}\ntls: {directory: d}\nscheduling: {objective: BestFit}\n")
    name = ("ConfigMap", "claimcheck-scheduler")
    usual = objects(capsys)[name]["data"]["schedule.yaml"].splitlines()
    found = objects(capsys, "--config", str(file))[name]["data"]["schedule.yaml"]
    assert found == "\n".join(["# ours", "scheduling: {objective: BestFit}", *usual[:4], ""])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scheduling: {objectiv: BestFit}\n", "own.yaml:1:14: scheduling.objectiv: unknown field"),
        ("apiServer: {serves: CustomResources}\n", "apiServer.serves must be BuiltIn in this mode"),
        ("{tls: {directory: d}, logging: {}}\n", "own.yaml:1:2: remove tls, which the manifests set"),
    ],
)
def test_own_configuration_with_mistakes(
    text: str, message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """They are told with their line."""
    file = tmp_path / "own.yaml"
    file.write_text(text)
    assert main(["manifests", "--component", "scheduler", *IMAGES, "--config", str(file)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--component", "scheduler", *IMAGES, "--url", "https://a"], "--url is for the webhooks: leave it out"),
        (["--component", "scheduler", *IMAGES, "--failure-policy", "Fail"], "--failure-policy is for the webhooks"),
        (["--component", "scheduler", *IMAGES, "--client-authority", "a"], "--client-authority is for the webhooks"),
        (["--component", "scheduler", *IMAGES[2:]], "--image IMAGE is needed"),
        (["--component", "scheduler", *IMAGES[:2]], "--kube-scheduler-image IMAGE is needed"),
        (["--component", "scheduler", *IMAGES[:3], ":1"], "--kube-scheduler-image :1: expected NAME[:TAG|@DIGEST]"),
        (IMAGES, "--kube-scheduler-image is only for --component scheduler"),
    ],
)  # fmt: skip
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Options that do not fit together are an error, and nothing is printed."""
    assert main(["manifests", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
