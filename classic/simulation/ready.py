"""The scenarios that come with the program: the best case, and what can make it longer."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

import documents
from classic.simulation.scenario import Scenario, scenario_from
from resourceapi.objects import Object

BEST_CASE, SLOW_DRIVER, UNSUITABLE_NODE, NODE_FILLED, CLAIM_DEALLOCATED = NAMES = (
    "best-case",
    "slow-driver",
    "unsuitable-node",
    "node-filled",
    "claim-deallocated",
)
#: What all of them have.
_CLUSTER = "cluster"


def ready_scenario(name: str) -> Scenario:
    """A scenario by its name, one of `NAMES`."""
    return scenario_from((each for part in (_CLUSTER, name) for each in _objects(part)), "default")


def scenario_text(name: str) -> str:
    """The documents of a scenario, to be changed and used as a file."""
    return "---\n".join(_text(part) for part in (name, _CLUSTER))


def _objects(name: str) -> Iterator[Object]:
    for each in documents.parse(_text(name), f"{name}.yaml"):
        assert isinstance(each, documents.Document), each
        yield each.value


def _text(name: str) -> str:
    return files("classic.simulation").joinpath("scenarios", f"{name}.yaml").read_text("utf-8")
