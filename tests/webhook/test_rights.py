"""The manifests give the service the rights that it needs, and no others; e2e tests show that it needs them."""

from __future__ import annotations

import copy
from argparse import ArgumentParser
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from commandline import deployment
from tests.webhook.rights import granted, needed

Object = dict[str, Any]
Path = tuple[str | int, ...]


@cache
def rendered(mode: str) -> list[Object]:
    """What is deployed with certificates of the service's own, which need the most rights."""
    parser = ArgumentParser()
    deployment.add_arguments(parser)
    return deployment.rendered(parser.parse_args(["--mode", mode, "--certificates", "own"]))


def parts(mode: str) -> Iterator[tuple[str, Path]]:
    """Everything that grants something: bindings, rules, and each group, resource, verb and name in them."""
    for index, obj in enumerate(rendered(mode)):
        name = f"{mode}-{obj['kind']}-{obj['metadata']['name']}"
        if obj["kind"].endswith("RoleBinding"):
            yield name, (index,)
        if obj["kind"] not in ("Role", "ClusterRole"):
            continue
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


@pytest.mark.parametrize("mode", deployment.MODES)
def test_rights_are_those_that_are_needed(mode: str) -> None:
    """Roles that are bound to the account allow what it asks for, and nothing else."""
    assert granted(rendered(mode)) == needed(mode)


@pytest.mark.parametrize(
    ("mode", "path"),
    [pytest.param(mode, path, id=name) for mode in deployment.MODES for name, path in parts(mode)],
)
def test_nothing_can_be_taken_away(mode: str, path: Path) -> None:
    """Whatever is taken away is missing: nothing is granted twice, nor for no purpose."""
    assert granted(without(mode, path)) != needed(mode)
