"""Small clusters with pods that are scheduled one after the other, and what a real kube-scheduler of 1.37 made of them.

A file of `data/outcomes` is about one subject. In a case, `nodes` gives what each node has, `devices` those of each node, `claims`
their requests, and `pods` what each pod needs: how many of its containers use each claim (`uses`), and what the first container
(`requests`) and the pod as a whole (`whole`) request. `expect` says of each pod its node and what its claims take of the node, or
how many nodes kube-scheduler turned down for which reasons. CASE stands for the name of the case, which sets its objects
apart from those of others in one cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Object = dict[str, Any]
DIRECTORY = Path(__file__).parent / "data" / "outcomes"
GROUP = "resource.k8s.io/v1"
LABEL = "outcome"
#: What is said of nodes of other cases, and of the one that each server of the tests has.
_OF_OTHER_NODES = ("node(s) didn't match Pod's node affinity/selector", "node(s) had untolerated taint(s)")
#: What nodes have besides.
_USUAL = {"pods": "110"}


class Case(NamedTuple):
    """One cluster; `expected`: what becomes of each pod, in the order in which they come."""

    name: str
    gates: Sequence[str]
    objects: Sequence[Object]
    pods: Sequence[Object]
    expected: Sequence[Object]


def cases() -> Iterator[Case]:
    """All of them."""
    for path in sorted(DIRECTORY.glob("*.yaml")):
        document = yaml.safe_load(path.read_text())
        for each in document["cases"]:
            yield _case(_named(each, each["case"]), document["gates"])


def _named(value: Any, name: str) -> Any:
    """The value with the name of the case."""
    if isinstance(value, dict):
        return {_named(key, name): _named(each, name) for key, each in value.items()}
    if isinstance(value, list):
        return [_named(each, name) for each in value]
    return value.replace("CASE", name) if isinstance(value, str) else value


def _case(case: Object, gates: Sequence[str]) -> Case:
    name = case["case"]
    objects = [_class(name)]
    for node, has in case["nodes"].items():
        objects.append(_node(name, node, {**_USUAL, **has}))
    for node, devices in case["devices"].items():
        objects.append(_slice(name, f"{name}-{node}", devices))
    for claim, requests in case["claims"].items():
        objects.append(_claim(name, f"{name}-{claim}", requests))
    pods = [_pod(name, pod, needs) for pod, needs in case["pods"].items()]
    return Case(name, gates, objects, pods, [_expected(name, case["expect"][pod]) for pod in case["pods"]])


def _class(name: str) -> Object:
    selectors = [{"cel": {"expression": f'device.driver == "{name}.example.com"'}}]
    return _object(GROUP, "DeviceClass", name, {"selectors": selectors})


def _node(case: str, name: str, has: Object) -> Object:
    found = _object("v1", "Node", f"{case}-{name}", {})
    found["metadata"]["labels"] = {LABEL: case}
    found["status"] = {
        "capacity": has,
        "allocatable": has,
        "declaredFeatures": ["DRANodeAllocatableResources"],
    }
    return found


def _slice(case: str, node: str, devices: Sequence[Object]) -> Object:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": f"{case}.example.com", "nodeName": node, "pool": pool, "devices": devices}
    return _object(GROUP, "ResourceSlice", node, spec)


def _claim(case: str, name: str, requests: Sequence[Object]) -> Object:
    for request in requests:
        for details in request.get("firstAvailable") or [request["exactly"]]:
            details["deviceClassName"] = case
    return _object(GROUP, "ResourceClaim", name, {"devices": {"requests": list(requests)}}, namespaced=True)


def _pod(case: str, name: str, needs: Object) -> Object:
    uses = needs.get("uses", {})
    containers = [
        {
            "name": f"c{place}",
            "image": "x",
            "resources": {
                "requests": needs.get("requests", {}) if not place else {},
                "claims": [{"name": claim} for claim, count in uses.items() if count > place],
            },
        }
        for place in range(max([1, *uses.values()]))
    ]
    spec = {
        "nodeSelector": {LABEL: case},
        "containers": containers,
        "resourceClaims": [{"name": claim, "resourceClaimName": f"{case}-{claim}"} for claim in uses],
    }
    if "whole" in needs:
        spec["resources"] = {"requests": needs["whole"]}
    return _object("v1", "Pod", f"{case}-{name}", spec, namespaced=True)


def _object(version: str, kind: str, name: str, spec: Object, *, namespaced: bool = False) -> Object:
    metadata = {"name": name, **({"namespace": "default"} if namespaced else {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def _expected(case: str, outcome: Object) -> Object:
    """The outcome as :func:`outcome_of` has it."""
    if "reasons" in outcome:
        return {"reasons": outcome["reasons"]}
    return {
        "node": f"{case}-{outcome['node']}",
        "takes": [_taken(case, each) for each in outcome.get("takes", ())],
    }


def _taken(case: str, taken: Object) -> Object:
    status: Object = {"resourceClaimName": f"{case}-{taken['claim']}"}
    if "containers" in taken:
        status["containers"] = taken["containers"]
    if "mapping" in taken:
        mapping = sorted(taken["mapping"].items())
        status["mapping"] = [{"name": name, "quantity": amount} for name, amount in mapping]
    if "overhead" in taken:
        overhead = sorted(taken["overhead"].items())
        status["overhead"] = [{"name": name, **amounts} for name, amounts in overhead]
    return status


def outcome_of(node: str, message: str, status: Mapping[str, Any]) -> Object:
    """What became of a pod.

    :param node: the node that it is bound to; empty if it is not.
    :param message: what kube-scheduler said of it then.
    :param status: its `status`.
    """
    if node:
        return {"node": node, "takes": status.get("nodeAllocatableResourceClaimStatuses", [])}
    reasons: dict[str, int] = {}
    counted = message.partition("are available: ")[2].partition(".")[0]
    for each in counted.split(", "):
        count, _, reason = each.partition(" ")
        if reason not in _OF_OTHER_NODES:
            reasons[reason] = int(count)
    return {"reasons": reasons}
