"""Random clusters in the form of the cases of `data/outcomes`, for pods that need everything at once.

Gangs, with claims of their own and of the group; devices that stand for CPU and memory of their node; taints that evict;
priorities; extended resources, of device plugins and of devices.
"""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from tests.claimcheck.outcome_objects import NAMESPACE, Object, objects_of, pod_of

GATES = (
    "DRAConsumableCapacity",
    "DRADeviceTaintRules",
    "DRANodeAllocatableResources",
    "DRAPartitionableDevices",
    "DRAWorkloadResourceClaims",
    "GenericWorkload",
)
MODELS = ("a", "b")
_FACTS = {"key": "worn", "effect": "NoExecute"}, {"key": "repair", "value": "x", "effect": "NoExecute"}


class RandomCase(NamedTuple):
    """A cluster.

    :param objects: all but the pods that come.
    :param units: what comes one after the other: a pod, or a PodGroup and its pods.
    """

    name: str
    objects: list[Object]
    units: list[list[Object]]


def random_case(seed: int) -> RandomCase:
    """One of them."""
    draw, name = Random(f"outcome {seed}"), f"r{seed}"
    nodes = {f"n{number}": _node(draw, name) for number in range(draw.randint(2, 4))}
    case: Object = {
        "case": name,
        "nodes": nodes,
        "devices": {node: _devices(draw) for node in nodes if draw.random() < 0.9},
        "classes": {
            "gpu": {
                "selectors": [f'device.driver == "{name}.example.com"'],
                "extendedResourceName": _resource(name),
            }
        },
        "templates": {f"t{number}": [_request(draw, name)] for number in range(3)},
        "claims": {},
        "pods": {},
    }
    if draw.random() < 0.25:
        selector = {"driver": f"{name}.example.com", "pool": f"{name}-{draw.choice([*nodes])}"}
        case["rules"] = {"repair": {"deviceSelector": selector, "taint": _FACTS[1]}}
    units: list[list[Object]] = []
    for number in range(draw.randint(5, 9)):
        if draw.random() < 0.3:
            units.append(_gang(draw, name, f"g{number}"))
            continue
        needs = _needs(draw, name)
        if draw.random() < 0.4:
            claim = f"c{number}"
            case["claims"][claim] = [_request(draw, name) for _ in range(draw.choice((1, 1, 1, 2)))]
            needs["uses"] = [claim]
        elif draw.random() < 0.5:
            needs["templates"] = {"d": f"t{draw.randrange(3)}"}
        else:
            resource = draw.choice((_resource(name), f"deviceclass.resource.kubernetes.io/{name}-gpu"))
            needs["limits"] = {resource: str(draw.choice((1, 1, 1, 2)))}
        if draw.random() < 0.5:
            needs["priority"] = draw.choice((5, 10))
        case["pods"][f"p{number}"] = needs
        units.append([pod_of(name, f"p{number}", needs)])
    return RandomCase(name, [*objects_of(case)], units)


def _resource(name: str) -> str:
    return f"{name}.example.com/gpu"


def _node(draw: Random, name: str) -> Object:
    has: Object = {"cpu": draw.choice(("4", "6", "8")), "memory": "8Gi"}
    if draw.random() < 0.2:
        has[_resource(name)] = draw.choice(("0", "1", "2"))
    return has


def _devices(draw: Random) -> list[Object]:
    found = []
    takes = draw.choice(({}, {}, _takes(draw)))
    for number in range(draw.randint(1, 4)):
        device: Object = {
            "name": f"d{number}",
            "attributes": {"model": draw.choice(MODELS)},
            "capacity": {"memory": draw.choice(("1Gi", "2Gi"))},
        }
        if takes:
            device["nodeAllocatableResources"] = takes
            # shares consume capacity, and nothing else does
            device |= {"allowMultipleAllocations": True} if "capacityKey" in str(takes) else {}
        if draw.random() < 0.15:
            device["taints"] = [_FACTS[0]]
        found.append(device)
    return found


def _takes(draw: Random) -> Object:
    """What a device takes of its node."""
    takes: list[Object] = [
        {"cpu": {"mapping": {"deviceMultiplier": draw.choice(("1", "2", "1500m"))}}},
        {"memory": {"mapping": {"capacityKey": "memory", "capacityMultiplier": "1"}}},
        {
            "memory": {"overhead": {"perPod": "1Gi", "perContainer": "512Mi"}},
            "cpu": {"overhead": {"perPod": "500m"}},
        },
    ]
    return draw.choice(takes)


def _request(draw: Random, name: str) -> Object:
    found: Object = {"name": f"r{draw.randrange(1000)}", "class": draw.choice(("", "gpu"))}
    if not found["class"]:
        del found["class"]
    if draw.random() < 0.08:
        found["allocationMode"] = "All"
    else:
        found["count"] = draw.choice((1, 1, 1, 2))
    if draw.random() < 0.25:
        found["selectors"] = [f'device.attributes["{name}.example.com"].model == "{draw.choice(MODELS)}"']
    if draw.random() < 0.3:
        taint = draw.choice(_FACTS)
        toleration: Object = {"key": taint["key"], "operator": "Exists"}
        if draw.random() < 0.5:
            toleration["effect"] = "NoExecute"
        found["tolerations"] = [toleration]
    if draw.random() < 0.15 and "allocationMode" not in found:
        first = {key: value for key, value in found.items() if key != "name"}
        other: Object = {**first, "name": "other"}
        other.pop("selectors", None)
        return {"name": found["name"], "firstAvailable": [{**first, "name": "one"}, other]}
    return found


def _needs(draw: Random, name: str) -> Object:
    needs: Object = {
        "requests": {"cpu": draw.choice(("250m", "500m", "1", "2", "3", "5"))},
        "spec": {"terminationGracePeriodSeconds": 0},
    }
    if draw.random() < 0.1:
        needs["requests"]["memory"] = draw.choice(("1Gi", "6Gi"))
    return needs


def _gang(draw: Random, name: str, group: str) -> list[Object]:
    """A PodGroup with its pods."""
    pods = draw.randint(2, 4)
    least = draw.choice((pods, pods, pods - 1))
    shared = f"t{draw.randrange(3)}" if draw.random() < 0.5 else ""
    needs: Object = {"requests": {"cpu": draw.choice(("250m", "500m", "1"))}, "templates": {}}
    if draw.random() < 0.7 or not shared:
        needs["templates"]["d"] = f"t{draw.randrange(3)}"
    if shared:
        needs["templates"]["s"] = shared
    needs["spec"] = {
        "terminationGracePeriodSeconds": 0,
        "schedulingGroup": {"podGroupName": f"{name}-{group}"},
    }
    spec: Object = {"schedulingPolicy": {"gang": {"minCount": least}}}
    if shared:
        spec["resourceClaims"] = [{"name": "s", "resourceClaimTemplateName": f"{name}-{shared}"}]
    made: Object = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"{name}-{group}", "namespace": NAMESPACE},
        "spec": spec,
    }
    return [made, *(pod_of(name, f"{group}-{number}", needs) for number in range(pods))]


def pods_in(unit: list[Object]) -> list[Any]:
    """Those of a unit."""
    return [each for each in unit if each["kind"] == "Pod"]
