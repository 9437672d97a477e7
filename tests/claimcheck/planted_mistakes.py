"""Pods that wait because of one typing mistake, in random clusters in which they would fit without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from tests.claimcheck.random_inventories import Json

_DRIVERS = ("accel.acme.io", "npu.vendor.dev", "fpga.example.org", "gpu.chips.net")
_MODELS = ("blackwell-b200", "mi300x", "gaudi-3", "hopper", "trainium2", "v100-sxm2")
_ATTRIBUTES = ("model", "firmware", "partition", "architecture", "linkType")
_CAPACITIES = ("memory", "bandwidth", "encoders", "throughput")
_LABELS = {"zone": ("east", "west", "north"), "rack": ("r-17", "r-18"), "hardware": ("dense", "light")}
_CLASSES = ("training", "inference", "rendering", "batch-jobs")
_TAINTS = ("acme.io/degraded", "maintenance", "vendor.dev/overheated")
_NAMESPACES = ("research", "production", "staging-area")


class Planted(NamedTuple):
    """A cluster and a pod with a mistake in it.

    :param wrong: what is misspelt; empty where it depends on the object in which it is.
    :param meant: what is there.
    """

    objects: list[Json]
    wrong: str
    meant: str


class _Words(NamedTuple):
    """What the objects of a cluster are called: each of these can be misspelt."""

    driver: str
    device_class: str
    attribute: str
    value: str
    capacity: str
    label: str
    label_value: str
    taint: str
    counters: str
    claim: str
    namespace: str
    hardware: str
    host: str


def misspelt(draw: Random, word: str) -> str:
    """A word as somebody types it who is in a hurry."""
    letters = [place for place, each in enumerate(word) if each.isalpha()]
    place = draw.choice(letters[1:-1] if len(letters) > 3 else letters)
    ways: tuple[Callable[[], str], ...] = (
        lambda: word[:place] + word[place + 1 :],
        lambda: word[:place] + word[place] + word[place:],
        lambda: word[:place] + word[place + 1 : place + 2] + word[place] + word[place + 2 :],
        lambda: word[:place] + draw.choice("aeiourstn") + word[place + 1 :],
    )
    while (found := draw.choice(ways)()) == word or not (found[:1].isalnum() and found[-1:].isalnum()):
        pass
    return found


def planted(kind: str, seed: object) -> Planted:
    """One of a kind of mistake, of those in `KINDS`."""
    draw = Random(f"planted {kind} {seed}")
    label = draw.choice(sorted(_LABELS))
    right = _Words(
        driver=draw.choice(_DRIVERS),
        device_class=draw.choice(_CLASSES),
        attribute=draw.choice(_ATTRIBUTES),
        value=draw.choice(_MODELS),
        capacity=draw.choice(_CAPACITIES),
        label=label,
        label_value=draw.choice(_LABELS[label]),
        taint=draw.choice(_TAINTS),
        counters=draw.choice(("card-counters", "slots", "engines")),
        claim=draw.choice(("workspace-accelerator", "trainer", "shared-npu")),
        namespace=draw.choice(_NAMESPACES),
        hardware=draw.choice(("overheated", "reserved", "faulty-link")),
        host=draw.choice(("worker-17", "ip-10-0-3-4", "gpu-host")),
    )
    return KINDS[kind](draw, right)


# --- the kinds


def _of(field: str, *, upper: bool = False) -> Callable[[Random, _Words], Planted]:
    """A mistake in what the pod, its claim or a slice says."""

    def made(draw: Random, right: _Words) -> Planted:
        meant = getattr(right, field)
        wrong = meant.upper() if upper else misspelt(draw, meant)
        return Planted(_objects(draw, right, right._replace(**{field: wrong})), wrong, meant)

    return made


def _in_slice(draw: Random, right: _Words) -> Planted:
    wrong = misspelt(draw, right.counters)
    return Planted(_objects(draw, right, right, drawn_from=wrong), wrong, right.counters)


def _in_affinity(field: str) -> Callable[[Random, _Words], Planted]:
    """A mistake in what the pod requires of its node by node affinity."""

    def made(draw: Random, right: _Words) -> Planted:
        found = _of(field)(draw, right)
        ((key, value),) = found.objects[-1]["spec"].pop("nodeSelector").items()
        expression = {"key": key, "operator": "In", "values": [value]}
        required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        found.objects[-1]["spec"]["affinity"] = affinity
        return found

    return made


def _in_toleration(draw: Random, right: _Words) -> Planted:
    """In the value of a toleration of devices."""
    found = _objects(draw, right, right)
    wrong = misspelt(draw, right.hardware)
    for toleration in _request(found)["tolerations"]:
        toleration |= {"operator": "Equal", "value": wrong}
    return Planted(found, wrong, right.hardware)


def _of_another_type(attribute: Json, wrong: str, meant: str) -> Callable[[Random, _Words], Planted]:
    """A value that is compared as if it were of another type."""

    def made(draw: Random, right: _Words) -> Planted:
        found = _objects(draw, right, right)
        for device in _devices(found):
            device["attributes"][right.attribute] = attribute
        expression = f'device.attributes["{right.driver}"].{right.attribute} == {wrong}'
        _request(found)["selectors"] = [{"cel": {"expression": expression}}]
        return Planted(found, wrong, meant)

    return made


def _effect(draw: Random, right: _Words) -> Planted:
    found = _objects(draw, right, right)
    _request(found)["tolerations"][0]["effect"] = "NoExecute"
    return Planted(found, f"{right.taint}:NoExecute", f"{right.taint}:NoSchedule")


def _of_nodes(field: str) -> Callable[[Random, _Words], Planted]:
    """A mistake in a toleration of the pod, for nodes all of which have the taint."""

    def made(draw: Random, right: _Words) -> Planted:
        found = _objects(draw, right, right)
        meant = getattr(right, field)
        wrong = misspelt(draw, meant)
        for node in (each for each in found if each["kind"] == "Node"):
            node["spec"] = {"taints": [{"key": right.taint, "value": right.hardware, "effect": "NoSchedule"}]}
        said = right._replace(**{field: wrong})
        toleration = {"key": said.taint, "operator": "Equal", "value": said.hardware}
        found[-1]["spec"]["tolerations"] = [toleration]
        return Planted(found, wrong, meant)

    return made


def _counter(draw: Random, right: _Words) -> Planted:
    found = _objects(draw, right, right)
    wrong = misspelt(draw, "units")
    for device in _devices(found):
        device["consumesCounters"][0]["counters"] = {wrong: {"value": "1"}}
    return Planted(found, wrong, "units")


def _slice_of_no_node(draw: Random, right: _Words) -> Planted:
    """In the node that all slices name."""
    found = [each for each in _objects(draw, right, right) if "node-1" not in each["metadata"]["name"]]
    text = json.dumps(found).replace('"node-0"', f'"{right.host}"')
    wrong = misspelt(draw, right.host)
    found = [
        each
        for each in json.loads(text)
        if "nodeName" not in (each.get("spec") or {}) or each["spec"]["nodeName"] == right.host
    ]
    for each in found:
        if each["kind"] == "ResourceSlice":
            each["spec"]["nodeName"] = wrong
    return Planted(found, wrong, right.host)


def _slice_for_labels(draw: Random, right: _Words) -> Planted:
    """In the node selector of all slices."""
    found = _objects(draw, right, right)
    wrong = misspelt(draw, right.label_value)
    expression = {"key": right.label, "operator": "In", "values": [wrong]}
    for each in (each for each in found if each["kind"] == "ResourceSlice"):
        del each["spec"]["nodeName"]
        each["spec"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return Planted(found, wrong, right.label_value)


def _extended_resource(draw: Random, right: _Words) -> Planted:
    meant = f"{right.driver}/{right.hardware}"
    wrong = f"{misspelt(draw, right.driver)}/{right.hardware}"
    found = [each for each in _objects(draw, right, right) if each["kind"] != "ResourceClaim"]
    found[0]["spec"]["extendedResourceName"] = meant
    del found[-1]["spec"]["resourceClaims"]
    found[-1]["spec"]["containers"][0]["resources"] = {"limits": {wrong: "1"}}
    return Planted(found, wrong, meant)


def _request(objects: list[Json]) -> Json:
    claim = next(each for each in objects if each["kind"] == "ResourceClaim")
    found: Json = claim["spec"]["devices"]["requests"][0]["exactly"]
    return found


def _devices(objects: list[Json]) -> list[Json]:
    slices = (each for each in objects if each["kind"] == "ResourceSlice")
    return [device for each in slices for device in each["spec"].get("devices", ())]


def _other_namespace(draw: Random, right: _Words) -> Planted:
    wrong = misspelt(draw, right.namespace)
    objects = _objects(draw, right, right._replace(namespace=wrong))
    return Planted(objects, wrong, right.namespace)


def _template(draw: Random, right: _Words) -> Planted:
    wrong = misspelt(draw, right.claim)
    return Planted(
        _objects(draw, right, right._replace(claim=wrong), template=right.claim), wrong, right.claim
    )


def _only(part: str, field: str) -> Callable[[Random, _Words], Planted]:
    """A mistake in a part of the claim that names what others name, too."""

    def made(draw: Random, right: _Words) -> Planted:
        meant = getattr(right, field)
        wrong = misspelt(draw, meant)
        return Planted(_objects(draw, right, right, **{part: wrong}), wrong, meant)

    return made


KINDS: dict[str, Callable[[Random, _Words], Planted]] = {
    "value": _of("value"),
    "value in capitals": _of("value", upper=True),
    "number as a text": _of_another_type({"int": 3}, '"3"', "3"),
    "boolean as a text": _of_another_type({"bool": True}, '"true"', "true"),
    "text as a boolean": _of_another_type({"string": "true"}, "true", '"true"'),
    "text as a number": _of_another_type({"string": "80"}, "80", '"80"'),
    "version as a text": _of_another_type({"version": "1.2.3"}, '"1.2.3"', 'semver("1.2.3")'),
    "attribute": _of("attribute"),
    "domain": _only("domain", "driver"),
    "driver": _only("driver", "driver"),
    "constraint": _only("constraint", "attribute"),
    "capacity": _of("capacity"),
    "capacity in a selector": _only("measured", "capacity"),
    "class": _of("device_class"),
    "label": _of("label"),
    "label value": _of("label_value"),
    "label in an affinity": _in_affinity("label"),
    "label value in an affinity": _in_affinity("label_value"),
    "taint": _of("taint"),
    "value of a taint": _in_toleration,
    "effect": _effect,
    "taint of nodes": _of_nodes("taint"),
    "value of a taint of nodes": _of_nodes("hardware"),
    "extended resource": _extended_resource,
    "counter set": _in_slice,
    "counter": _counter,
    "node of a slice": _slice_of_no_node,
    "label in a slice": _slice_for_labels,
    "claim": _of("claim"),
    "template": _template,
    "namespace": _other_namespace,
}
#: Those in what pods require of nodes.
IN_LABELS = ("label", "label value", "label in an affinity", "label value in an affinity")
#: Those in the selectors of claims.
IN_SELECTORS = ("value", "value in capitals", "attribute", "domain", "driver", "capacity in a selector")


# --- the cluster


def _objects(
    draw: Random,
    right: _Words,
    said: _Words,
    *,
    template: str = "",
    drawn_from: str = "",
    domain: str = "",
    driver: str = "",
    constraint: str = "",
    measured: str = "",
) -> list[Json]:
    """The nodes and slices as they are, and a pod with a claim that asks for them in other words."""
    found: list[Json] = [_class(each) for each in _CLASSES]
    for number in range(draw.randint(2, 5)):
        found += _node(draw, right, f"node-{number}", is_labelled=number != 1, drawn_from=drawn_from)
    own = f'device.attributes["{domain or said.driver}"]'
    selectors = [f'{own}.?{said.attribute}.orValue("") == "{said.value}"']
    if driver:
        selectors.append(f'device.driver == "{driver}"')
    if measured:
        selectors.append(
            f'device.capacity["{right.driver}"].?{measured}.orValue(quantity("0")).compareTo(quantity("1Gi")) > 0'
        )
    exactly = {
        "deviceClassName": said.device_class,
        "count": 2 if constraint else 1,
        "selectors": [{"cel": {"expression": each}} for each in selectors],
        "capacity": {"requests": {said.capacity: "2Gi"}},
        "tolerations": [{"key": said.taint, "operator": "Exists"}],
    }
    spec: Json = {"devices": {"requests": [{"name": "devices", "exactly": exactly}]}}
    if constraint:
        spec["devices"]["constraints"] = [{"matchAttribute": f"{right.driver}/{constraint}"}]
    metadata = {"name": right.claim, "namespace": right.namespace}
    if template:
        found.append(_typed("ResourceClaimTemplate", metadata, {"spec": spec}))
    else:
        found.append(_typed("ResourceClaim", metadata, spec))
    source = {"resourceClaimTemplateName" if template else "resourceClaimName": said.claim}
    pod = {
        "nodeSelector": {said.label: said.label_value},
        "containers": [{"name": "main", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
        "resourceClaims": [{"name": "devices", **source}],
    }
    metadata = {"name": "waiting", "namespace": said.namespace}
    return [*found, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod}]


def _typed(kind: str, metadata: Json, spec: Json) -> Json:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec}


def _class(name: str) -> Json:
    return _typed("DeviceClass", {"name": name}, {"selectors": [{"cel": {"expression": "true"}}]})


def _node(draw: Random, right: _Words, name: str, *, is_labelled: bool, drawn_from: str) -> list[Json]:
    labels = {key: draw.choice(values) for key, values in _LABELS.items()}
    if is_labelled:
        labels[right.label] = right.label_value
    amounts = {"cpu": "16", "memory": "64Gi", "pods": "110"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": amounts, "capacity": amounts},
    }
    pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
    spec = {"driver": right.driver, "nodeName": name, "pool": pool}
    counters = [{"name": right.counters, "counters": {"units": {"value": "16"}}}]
    devices = [_device(draw, right, f"device-{number}", drawn_from) for number in range(draw.randint(2, 4))]
    return [
        node,
        _typed("ResourceSlice", {"name": f"{name}-counters"}, {**spec, "sharedCounters": counters}),
        _typed("ResourceSlice", {"name": f"{name}-devices"}, {**spec, "devices": devices}),
    ]


def _device(draw: Random, right: _Words, name: str, drawn_from: str) -> Json:
    attributes = {each: {"string": draw.choice(_MODELS)} for each in _ATTRIBUTES}
    attributes[right.attribute] = {"string": right.value}
    counters = {"units": {"value": "1"}}
    return {
        "name": name,
        "attributes": attributes,
        "allowMultipleAllocations": True,
        "capacity": {each: {"value": "64Gi", "requestPolicy": {"default": "1Gi"}} for each in _CAPACITIES},
        "taints": [{"key": right.taint, "value": right.hardware, "effect": "NoSchedule"}],
        "consumesCounters": [{"counterSet": drawn_from or right.counters, "counters": counters}],
    }
