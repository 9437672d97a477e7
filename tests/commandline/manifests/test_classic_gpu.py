"""`claimcheck manifests --component classic-gpu`: what it prints for which options."""

from __future__ import annotations

import pytest

from commandline.main import main
from manifests.kustomize import DIRECTORY, render
from resourceapi.objects import Object
from tests.case_files import read_all

IMAGE = ("--image", "r.example.com/claimcheck:1")


def objects(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Object]:
    """The objects that the command prints."""
    assert main(["manifests", "--component", "classic-gpu", *IMAGE, *arguments]) == 0
    return read_all(capsys.readouterr().out)


def containers(found: list[Object]) -> dict[str, Object]:
    """The container of the Deployment and of the DaemonSet."""
    return {
        obj["kind"]: obj["spec"]["template"]["spec"]["containers"][0]
        for obj in found
        if obj["kind"] in ("Deployment", "DaemonSet")
    }


def test_without_options_it_is_the_kustomization_with_the_image(capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(capsys)
    for container in containers(found).values():
        assert container["image"] == "r.example.com/claimcheck:1"
        container["image"] = "claimcheck:0.1.0.dev0"
    assert found == render(DIRECTORY / "classic-gpu")


def test_namespace_is_another_one_everywhere_but_names_stay(capsys: pytest.CaptureFixture[str]) -> None:
    usual, moved = objects(capsys), objects(capsys, "--namespace", "gpus")
    names = {"claimcheck-classic-gpu": "gpus", "claimcheck-classic-gpu-node": "gpus-node", None: None}
    assert [obj["metadata"]["name"] for obj in moved] == [
        names[obj["metadata"]["name"]] if obj["kind"] == "Namespace" else obj["metadata"]["name"]
        for obj in usual
    ]
    assert [obj["metadata"].get("namespace") for obj in moved] == [
        names[obj["metadata"].get("namespace")] for obj in usual
    ]
    subjects = [subject for obj in moved for subject in obj.get("subjects", ())]
    assert {subject["namespace"] for subject in subjects} == {"gpus"}


def test_network_policies_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert "NetworkPolicy" in {obj["kind"] for obj in objects(capsys)}
    assert "NetworkPolicy" not in {obj["kind"] for obj in objects(capsys, "--no-network-policy")}


def test_replicas_are_those_of_the_controller(capsys: pytest.CaptureFixture[str]) -> None:
    (deployment,) = (obj for obj in objects(capsys, "--replicas", "3") if obj["kind"] == "Deployment")
    assert deployment["spec"]["replicas"] == 3


def test_lease_that_the_role_is_for_has_the_name_of_the_driver(capsys: pytest.CaptureFixture[str]) -> None:
    found = objects(capsys)
    (resource_class,) = (obj for obj in found if obj["kind"] == "ResourceClass")
    (role,) = (obj for obj in found if obj["kind"] == "Role")
    names = {name for rule in role["rules"] for name in rule.get("resourceNames", ())}
    assert names == {resource_class["driverName"]}


def test_arguments_of_the_containers_are_those_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    from commandline.subcommands import parser_of

    for container in containers(objects(capsys)).values():
        subcommand, *arguments = container["args"]
        assert parser_of(subcommand).parse_args(arguments).example == "gpu"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*IMAGE, "--url", "https://a"], "--url is for other components: leave it out with --component classic-gpu"),
        ([*IMAGE, "--mode", "crd-served"], "--mode is for other components"),
        ([*IMAGE, "--service-monitor"], "--service-monitor is for other components"),
        ([], "--image IMAGE is needed"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_an_error(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manifests", "--component", "classic-gpu", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
