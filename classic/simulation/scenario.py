"""What a negotiation begins with, and what happens while it goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

import documents
from classic.simulation.api_server import CLASS, NODE, POD, NotAdmitted, admitted, is_stored
from classic.simulation.devices import DriverSettings
from resourceapi.errors import ClaimcheckError
from resourceapi.manifests import entries, mapping, name_of, text
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object
from resourceapi.records.nodes import HOSTNAME

#: The kind of the document that describes a scenario beside its objects.
KIND = "ClassicScenario"
#: After which a simulation ends in any case, and the longest that may be wished for.
SECONDS, MAX_SECONDS = 300.0, 86_400.0
#: How many objects a simulation can have.
MAX_OBJECTS = 5_000
#: How many devices its drivers can have together.
MAX_DEVICES = 50_000
_SETTINGS = {
    "startSeconds": "start_seconds",
    "checkSeconds": "check_seconds",
    "allocateSeconds": "allocate_seconds",
    "deallocateSeconds": "deallocate_seconds",
}


class ScenarioError(ClaimcheckError):
    """A scenario cannot be used."""


@dataclass(frozen=True)
class Arrival:
    """Objects that are created while pods wait.

    :ivar seconds: when.
    """

    seconds: float
    objects: tuple[Object, ...]


@dataclass(frozen=True)
class Scenario:
    """A cluster with classic drivers.

    :ivar objects: what is there at the beginning: nodes, classes, templates, claims, parameters, pods.
    :ivar drivers: the drivers by name; others have one device on each node.
    :ivar arrivals: what comes later.
    :ivar seconds: after which the simulation ends, if pods are still waiting then.
    """

    objects: tuple[Object, ...]
    description: str = ""
    drivers: Mapping[str, DriverSettings] = field(default_factory=dict)
    arrivals: tuple[Arrival, ...] = ()
    seconds: float = SECONDS

    def of_kind(self, kind: str) -> list[Object]:
        """The objects of a kind at the beginning and later on."""
        later = (obj for arrival in self.arrivals for obj in arrival.objects)
        return [obj for obj in (*self.objects, *later) if text(obj, "kind") == kind]

    @property
    def driver_names(self) -> list[str]:
        """The drivers of the classes."""
        return sorted({text(each, "driverName") for each in self.of_kind(CLASS)})

    def settings(self, driver_name: str) -> DriverSettings:
        """What a driver has."""
        everywhere = {name_of(node): 1 for node in self.of_kind(NODE)}
        return self.drivers.get(driver_name) or DriverSettings(everywhere)

    def parameters(self, owner: Object) -> Object | None:
        """The object to which the ``parametersRef`` of a claim or template refers."""
        reference = mapping(owner, "spec", "parametersRef")
        for obj in self.objects:
            group = text(obj, "apiVersion").rpartition("/")[0]
            if (
                text(obj, "kind") == text(reference, "kind")
                and group == text(reference, "apiGroup")
                and name_of(obj) == text(reference, "name")
            ):
                return obj
        return None


def scenario_from(documents: Iterable[Object], namespace: str) -> Scenario:
    """The scenario of documents: objects, and at most one description.

    :param namespace: of objects that do not name one.
    :raises ScenarioError: if they cannot be used.
    """
    objects: list[Object] = []
    descriptions: list[Object] = []
    for each in documents:
        (descriptions if text(each, "kind") == KIND else objects).append(each)
    if len(descriptions) > 1:
        raise ScenarioError(f"there is more than one {KIND}")
    spec = mapping(descriptions[0], "spec") if descriptions else {}
    found = Scenario(_with_nodes(_placed(objects, namespace)), drivers=_drivers(spec))
    found = replace(
        found,
        description=text(spec, "description"),
        arrivals=tuple(_arrival(each, namespace) for each in entries(spec, "later")),
        seconds=_seconds(spec, "seconds", SECONDS),
    )
    _check(found)
    return found


def _with_nodes(objects: tuple[Object, ...]) -> tuple[Object, ...]:
    """The objects with three nodes, if there are none."""
    if any(text(each, "kind") == NODE for each in objects):
        return objects
    names = (f"node-{number}" for number in range(1, 4))
    return (*objects, *(_node(name) for name in names))


def _node(name: str) -> Object:
    resources = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    metadata = {"name": name, "labels": {HOSTNAME: name}}
    return {"apiVersion": "v1", "kind": NODE, "metadata": metadata, "status": {"allocatable": resources}}


def _drivers(spec: Object) -> dict[str, DriverSettings]:
    found = {}
    for name, given in mapping(spec, "drivers").items():
        unknown = sorted(set(mapping(given)) - {*_SETTINGS, "devices", "shareable"})
        if unknown:
            known = ", ".join((*_SETTINGS, "devices", "shareable"))
            raise ScenarioError(f"driver {name}: unknown field {unknown[0]}; use {known}")
        devices = mapping(given, "devices")
        if not all(_is_count(each) for each in devices.values()):
            raise ScenarioError(f"driver {name}: devices has to say a number for each node")
        times = {field: _seconds(given, key, 0.0) for key, field in _SETTINGS.items()}
        found[str(name)] = DriverSettings(dict(devices), mapping(given).get("shareable") is True, **times)
    return found


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_OBJECTS


def _seconds(given: Any, key: str, default: float) -> float:
    value = mapping(given).get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_SECONDS:
        raise ScenarioError(f"{key} has to be a number of seconds, at most {MAX_SECONDS:,.0f}")
    return float(value)


def _arrival(given: Any, namespace: str) -> Arrival:
    return Arrival(_seconds(given, "after", 0.0), _placed(entries(given, "objects"), namespace))


def _placed(objects: Iterable[Any], namespace: str) -> tuple[Object, ...]:
    """The objects as they are stored."""
    try:
        return tuple(admitted(mapping(each), namespace) for each in objects)
    except NotAdmitted as error:
        raise ScenarioError(str(error)) from None


def _check(scenario: Scenario) -> None:
    objects = [*scenario.objects, *(obj for each in scenario.arrivals for obj in each.objects)]
    if len(objects) > MAX_OBJECTS:
        raise ScenarioError(f"there are more than {MAX_OBJECTS:,} objects")
    for obj in objects:
        if not name_of(obj):
            raise ScenarioError(f"a {text(obj, 'kind') or 'document'} has no name")
        if (
            text(obj, "apiVersion").startswith("resource.k8s.io/")
            and text(obj, "apiVersion") != CLASSIC_API_VERSION
        ):
            raise ScenarioError(
                f"{text(obj, 'kind')} {name_of(obj)}: only {CLASSIC_API_VERSION} is negotiated about"
            )
        if obj.get("structuredParameters") is True:
            raise ScenarioError(
                f"ResourceClass {name_of(obj)} has structuredParameters: the scheduler allocates such claims by itself"
            )
    if not scenario.of_kind(POD):
        makers = sorted({text(each, "kind") for each in objects if mapping(each, "spec", "template")})
        instead = f": write the pods of {' and '.join(makers)} as Pods" if makers else ""
        raise ScenarioError(f"there is no pod to schedule{instead}")
    _check_devices(scenario)


def _check_devices(scenario: Scenario) -> None:
    nodes, names = {name_of(each) for each in scenario.of_kind(NODE)}, scenario.driver_names
    for driver, settings in scenario.drivers.items():
        if driver not in names:
            raise ScenarioError(f"driver {driver}: no ResourceClass has this driverName")
        for node in settings.devices:
            if node not in nodes:
                raise ScenarioError(f"driver {driver}: devices: there is no Node {node}")
    described = sum(sum(each.devices.values()) for each in scenario.drivers.values())
    if described + len(nodes) * (len(names) - len(scenario.drivers)) > MAX_DEVICES:
        raise ScenarioError(f"drivers have more than {MAX_DEVICES:,} devices")


def stored(objects: Iterable[Object]) -> list[Object]:
    """The objects that the API server has, in an order in which they can be created: pods last."""
    return sorted(filter(is_stored, objects), key=lambda each: text(each, "kind") == POD)


# The scenarios that come with the program: the best case, and what can make it longer.

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
