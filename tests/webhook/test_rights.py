"""The manifests give the service the rights that it needs, and no others; e2e tests show that it needs them."""

from __future__ import annotations

import copy
import pathlib
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from tempfile import NamedTemporaryFile
from typing import Any

import pytest

from commandline.manifests import deployment, options
from resourceapi.objects import Object
from tests.webhook.rights import INJECTOR, MODES, granted, needed

Path = tuple[str | int, ...]
WITH_QUOTA = "-with-quota"


@cache
def rendered(mode: str) -> list[Object]:
    """What is deployed with certificates of the service's own, which need the most rights."""
    return manifests(mode, "--certificates", "own")


def manifests(mode: str, *arguments: str) -> list[Object]:
    parser = ArgumentParser()
    options.add_arguments(parser)
    with NamedTemporaryFile("w", suffix=".crt") as authority:
        authority.write("-----BEGIN CERTIFICATE-----\n")
        authority.flush()
        overlay = mode.removesuffix(WITH_QUOTA)
        quota = () if overlay == mode else ("--client-authority", authority.name)
        return deployment.objects_of(parser.parse_args(["--mode", overlay, *quota, *arguments]))


def parts(mode: str) -> Iterator[tuple[str, Path]]:
    """Everything that grants something to an account: bindings, rules, and each group, resource, verb and name in them."""
    bound = {obj["roleRef"]["name"] for obj in rendered(mode) if "roleRef" in obj}
    for index, obj in enumerate(rendered(mode)):
        name = f"{mode}-{obj['kind']}-{obj['metadata']['name']}"
        if obj["kind"].endswith("RoleBinding"):
            yield name, (index,)
        if obj["kind"] not in ("Role", "ClusterRole") or obj["metadata"]["name"] not in bound:
            continue  # what is bound to nobody is for the cluster's owner to give
        for number, rule in enumerate(obj["rules"]):
            yield f"{name}-{number}", (index, "rules", number)
            for key, values in rule.items():
                for at, value in enumerate(values):
                    yield f"{name}-{number}-{key}-{value}", (index, "rules", number, key, at)


def without(mode: str, path: Path) -> list[Object]:
    """What is deployed, but for one thing."""
    objects: Any = copy.deepcopy(rendered(mode))
    owner = objects
    for key in path[:-1]:
        owner = owner[key]
    del owner[path[-1]]
    return list(objects)


@pytest.mark.parametrize("mode", MODES)
def test_rights_are_those_that_are_needed(mode: str) -> None:
    """Roles that are bound to an account allow what it asks for, and nothing else."""
    assert granted(rendered(mode)) == needed(mode)
    assert granted(rendered(mode), INJECTOR) == needed(f"injector-{mode}")


@pytest.mark.parametrize("mode", MODES)
def test_who_evaluates_strangers_input_writes_nothing_of_the_clusters(mode: str) -> None:
    """Outside of its own namespace the service only reads; what changes whom the API server asks is another's right, and
    another account's pod reads nothing but objects by name."""
    reading = {"get", "list", "watch"}
    assert {verb for _, _, verb, namespace, _ in granted(rendered(mode)) if not namespace} <= reading
    assert all(name for *_, name in granted(rendered(mode), INJECTOR))


@pytest.mark.parametrize("mode", MODES)
def test_who_evaluates_strangers_input_writes_no_configuration(mode: str) -> None:
    """Where configurations are, the service changes nothing but its own Secret; where it may change all ConfigMaps, there are
    no others, no pods and no accounts."""
    objects = rendered(mode)
    writing = {
        (namespace, resource, name)
        for _, resource, verb, namespace, name in granted(objects)
        if namespace and verb not in ("create", "get", "list", "watch")
    }
    own, ledgers = "claimcheck-system", "claimcheck-system-ledgers"
    kept = {(ledgers, "configmaps", "")} if mode == "crd-served" else set()
    assert writing == {(own, "secrets", "claimcheck-tls")} | kept
    there = {obj["kind"] for obj in objects if obj["metadata"].get("namespace") == ledgers}
    assert there == ({"Role", "RoleBinding"} if kept else set())


@pytest.mark.parametrize("mode", MODES)
def test_pods_are_read_for_quota_only(mode: str, tmp_path: pathlib.Path) -> None:
    """A configuration without quota leaves out what only quota needs."""
    serves = "CustomResources" if mode == "crd-served" else "BuiltIn"
    (tmp_path / "own.yaml").write_text(f"apiServer: {{serves: {serves}}}\n")
    left = {resource for _, resource, *_ in granted(manifests(mode, "--config", str(tmp_path / "own.yaml")))}
    assert not left & {"pods", "resourcequotas", "configmaps"}


@pytest.mark.parametrize(
    ("mode", "path"),
    [pytest.param(mode, path, id=name) for mode in MODES for name, path in parts(mode)],
)
def test_nothing_can_be_taken_away(mode: str, path: Path) -> None:
    """Whatever is taken away is missing: nothing is granted twice, nor for no purpose."""
    left = without(mode, path)
    assert (granted(left), granted(left, INJECTOR)) != (needed(mode), needed(f"injector-{mode}"))
