"""Short ways to write the objects that the allocator works on, and to ask it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from allocator.features import GATES, Features
from allocator.scheduling import Mode, NodeAnswer, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.decoding import decode
from resourceapi.model.versions import SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import DeviceClass, read_device_class
from resourceapi.records.nodes import Node

ALL_FEATURES = Features(GATES)
DRIVER = "gpu.example.com"


def decoded(kind: str, value: Object) -> Object:
    """An object of v1 in normal form."""
    return decode(SCHEMAS_WITH_PROPOSALS["v1"], kind, value).object


def without(*gates: str) -> Features:
    """All features but those of these gates."""
    return Features(GATES - set(gates))


def node(name: str = "n", labels: dict[str, str] | None = None, declared: Sequence[str] = ()) -> Node:
    return Node(name, labels or {}, declared_features=frozenset(declared))


def device(name: str, **fields: Any) -> Object:
    """A device; `attributes` and `capacity` may be given as plain values."""
    for key, value in fields.pop("attributes", {}).items():
        fields.setdefault("attributes", {})[key] = value if isinstance(value, dict) else {_type(value): value}
    return {"name": name, **fields}


def _type(value: Any) -> str:
    return {bool: "bool", int: "int", list: "strings"}.get(type(value), "string")


def draws(counter_set: str, amounts: dict[str, str], groups: Sequence[str] | None = None) -> Object:
    """What a device consumes of a counter set."""
    entry: Object = {"counterSet": counter_set, "counters": counters(amounts)}
    if groups is not None:
        entry["compatibilityGroups"] = list(groups)
    return entry


def counters(amounts: dict[str, str]) -> Object:
    return {name: {"value": value} for name, value in amounts.items()}


def slice_of(
    *devices: Object | str,
    name: str = "slice",
    pool: str = "pool",
    driver: str = DRIVER,
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> Object:
    """A ResourceSlice in normal form, for all nodes unless `spec` says otherwise."""
    if not {"nodeName", "nodeSelector", "perDeviceNodeSelection"} & spec.keys():
        spec.setdefault("allNodes", True)
    spec |= {
        "driver": driver,
        "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
    }
    if devices:
        spec["devices"] = [device(each) if isinstance(each, str) else each for each in devices]
    return decoded("ResourceSlice", {"metadata": {"name": name}, "spec": spec})


def counter_slice(sets: dict[str, dict[str, str]], **fields: Any) -> Object:
    """A ResourceSlice with shared counters."""
    shared = [{"name": name, "counters": counters(amounts)} for name, amounts in sets.items()]
    return slice_of(**{"name": "counters", "count": 2, "sharedCounters": shared, **fields})


def exactly(name: str = "r", count: int | None = 1, device_class: str = "any", **fields: Any) -> Object:
    """A request; `count` None means all devices."""
    return {"name": name, "exactly": _details(count, device_class, fields)}


def first_of(name: str, *alternatives: Object) -> Object:
    return {"name": name, "firstAvailable": list(alternatives)}


def alternative(name: str, count: int | None = 1, device_class: str = "any", **fields: Any) -> Object:
    return {"name": name, **_details(count, device_class, fields)}


def _details(count: int | None, device_class: str, fields: Object) -> Object:
    if "selectors" in fields:
        fields["selectors"] = [{"cel": {"expression": text}} for text in fields["selectors"]]
    if "capacity" in fields:
        fields["capacity"] = {"requests": fields["capacity"]}
    mode = {"allocationMode": "All"} if count is None else {"allocationMode": "ExactCount", "count": count}
    return {"deviceClassName": device_class, **mode, **fields}


def claim(*requests: Object, name: str = "c", constraints: Sequence[Object] = (), **spec: Any) -> Object:
    """A ResourceClaim in normal form."""
    devices = {"requests": list(requests), "constraints": list(constraints), **spec}
    return decoded(
        "ResourceClaim", {"metadata": {"name": name, "namespace": "ns"}, "spec": {"devices": devices}}
    )


def held(*devices: str, pool: str = "pool", name: str = "holder", **fields: Any) -> Object:
    """A ResourceClaim to which devices of a pool are allocated; `fields` are those of each result."""
    results = [{"request": "r", "driver": DRIVER, "pool": pool, "device": each, **fields} for each in devices]
    allocation = {"devices": {"results": results}}
    return decoded(
        "ResourceClaim",
        {"metadata": {"name": name, "namespace": "ns"}, "status": {"allocation": allocation}},
    )


def device_class(
    name: str = "any", selectors: Sequence[str] = (), config: Sequence[Object] = ()
) -> DeviceClass:
    return read_device_class(class_object(name, selectors, config))


def class_object(name: str = "any", selectors: Sequence[str] = (), config: Sequence[Object] = ()) -> Object:
    """A DeviceClass in normal form."""
    spec = {
        "selectors": [{"cel": {"expression": text}} for text in selectors],
        "config": list(config),
    }
    return decoded("DeviceClass", {"metadata": {"name": name}, "spec": spec})


def opaque(text: str) -> Object:
    """A configuration that one recognises by its text."""
    return {"opaque": {"driver": DRIVER, "parameters": {"is": text}}}


def cluster(
    *slices: Object,
    features: Features = ALL_FEATURES,
    holders: Iterable[Object] = (),
    classes: Iterable[DeviceClass] | None = None,
    nodes: Sequence[Node] | None = None,
) -> SchedulingState:
    """A cluster, by default with one node `n` and one class `any` that selects all devices."""
    known = [device_class()] if classes is None else classes
    made = SchedulingState(features, nodes or [node()], {each.name: each for each in known}, slices)
    for each in holders:
        made.hold(Claim(each))
    return made


def ask(state: SchedulingState, *claims: Object) -> NodeAnswer:
    """What the first node has for a pod with these claims."""
    return state.place([Claim(each) for each in claims], Mode.ALL_NODES, UNLIMITED).nodes[0]


def placed(state: SchedulingState, wanted: Object) -> Object:
    """A claim with what it is given on the first node."""
    ((found, allocation),) = state.place([Claim(wanted)], Mode.FIRST_FIT, UNLIMITED).allocated.items()
    return found.allocated(allocation).object


def devices_of(answer: NodeAnswer) -> list[str] | None:
    """`request=device` for every device that was found, over all claims; None if the claims do not fit."""
    assert not answer.error, answer.error
    if answer.result is None:
        return None
    return [
        f"{each['request']}={each['device']}"
        for result in answer.result
        for each in result["devices"].get("results", ())
    ]
