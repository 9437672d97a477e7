"""Random small clusters as manifests, with pods that want devices, CPU, or more of both than there is."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from resourceapi.model.versions import OWN_GROUP

Json = dict[str, Any]
GPU, NET = "gpu.example.com", "net.example.com"
MODELS, ZONES = ("a100", "h100", "l4"), ("east", "west")
NAMESPACES = ("team-a", "team-b")
OWN = f'device.attributes["{GPU}"]'
GATES = (
    "DRAConsumableCapacity",
    "DRADeviceCompatibilityGroups",
    "DRADeviceTaints",
    "DRAPartitionableDevices",
)
"""What has to be on for all of it."""


class Inventory(NamedTuple):
    """A cluster in which nothing is in use, and what its users create: `pods` in this order, and their claims."""

    cluster: list[Json]
    claims: list[Json]
    pods: list[Json]

    @property
    def is_for_sidecar(self) -> bool:
        """Whether devices are patched or have compatibility groups, neither of which stock kube-scheduler remembers."""
        return any(each["kind"] == "ResourceSlicePatch" or _has_groups(each) for each in self.cluster)


def _has_groups(obj: Json) -> bool:
    devices = obj["spec"].get("devices", ()) if obj["kind"] == "ResourceSlice" else ()
    return any(
        "compatibilityGroups" in consumed for each in devices for consumed in each.get("consumesCounters", ())
    )


def inventory(seed: object, *, patches: bool = True, named_nodes: bool = False) -> Inventory:
    """One of them.

    :param patches: whether it may have ResourceSlicePatches.
    :param named_nodes: whether pods may name their node, which then have to be for `claimcheck schedule`.
    """
    draw = Random(f"inventory {seed}")
    names = [f"n{number}" for number in range(draw.randint(3, 5))]
    cluster: list[Json] = [_class("gpu", f'device.driver == "{GPU}"')]
    cluster.append(_class("h100", f'device.driver == "{GPU}" && {OWN}.?model.orValue("") == "h100"'))
    cluster.append(_class("net", f'device.driver == "{NET}"'))
    for name in names:
        cluster.append(_node(draw, name))
        cluster += _slices(draw, name)
    if draw.random() < 0.25:
        cluster.append(_fabric(draw))
    if draw.random() < 0.15:
        cluster.append(_rule(draw, draw.choice(names)))
    if patches and draw.random() < 0.3:
        cluster += [
            _patch(draw, f"patch-{number}", draw.choice(names)) for number in range(draw.choice((1, 2)))
        ]
    claims: dict[tuple[str, str], Json] = {}
    pods = []
    for number in range(draw.randint(5, 9)):
        pod, own = _pod(draw, f"p{number}", names, named_nodes)
        pods.append(pod)
        claims |= {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in own}
    return Inventory(cluster, list(claims.values()), pods)


# --- what the cluster has


def _typed(kind: str, name: str, **content: Any) -> Json:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **content}


def _class(name: str, expression: str) -> Json:
    return _typed("DeviceClass", name, spec={"selectors": [{"cel": {"expression": expression}}]})


def _node(draw: Random, name: str) -> Json:
    amounts = {"cpu": draw.choice(("4", "8", "8", "16")), "memory": "64Gi", "pods": "110"}
    spec: Json = {}
    if draw.random() < 0.1:
        spec["taints"] = [{"key": "reserved", "value": "x", "effect": "NoSchedule"}]
    elif draw.random() < 0.05:
        spec["unschedulable"] = True
    labels = {"kubernetes.io/hostname": name, "zone": draw.choice(ZONES)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _slices(draw: Random, node: str) -> list[Json]:
    found = []
    partitioned = draw.random() < 0.4
    devices = [_gpu(draw, f"gpu-{number}") for number in range(draw.randint(1, 4))]
    incomplete = draw.random() < 0.04
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1 + partitioned + incomplete}
    if partitioned:
        with_groups = draw.random() < 0.5
        for each in devices:
            consumed: Json = {"counterSet": "card", "counters": {"units": {"value": str(draw.randint(1, 3))}}}
            if with_groups and draw.random() < 0.8:
                consumed["compatibilityGroups"] = draw.choice(
                    (["mig"], ["vgpu"], ["mig", "any"], ["vgpu", "any"])
                )
            each["consumesCounters"] = [consumed]
        counters = [{"name": "card", "counters": {"units": {"value": "4"}}}]
        found.append(_slice(f"{node}-counters", GPU, pool, nodeName=node, sharedCounters=counters))
    found.append(_slice(f"{node}-gpus", GPU, pool, nodeName=node, devices=devices))
    if draw.random() < 0.6:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        found.append(_slice(f"{node}-net", NET, pool, nodeName=node, devices=[_nic(draw)]))
    return found


def _slice(name: str, driver: str, pool: Json, **spec: Any) -> Json:
    return _typed("ResourceSlice", name, spec={"driver": driver, "pool": pool, **spec})


def _gpu(draw: Random, name: str) -> Json:
    attributes: Json = {"numa": {"int": draw.randint(0, 1)}}
    if draw.random() > 0.05:
        attributes["model"] = {"string": draw.choice(MODELS)}
    found: Json = {"name": name, "attributes": attributes}
    found["capacity"] = {"memory": {"value": draw.choice(("16Gi", "40Gi", "80Gi"))}}
    if draw.random() < 0.1:
        found["taints"] = [{"key": "worn", "value": "x", "effect": "NoSchedule"}]
    return found


def _nic(draw: Random) -> Json:
    policy = draw.choice(({}, {"requestPolicy": {"default": "1"}}))
    bandwidth = {"value": draw.choice(("5", "10")), **policy}
    return {"name": "nic", "allowMultipleAllocations": True, "capacity": {"bandwidth": bandwidth}}


def _fabric(draw: Random) -> Json:
    """Devices that several nodes reach."""
    pool = {"name": "fabric", "generation": 1, "resourceSliceCount": 1}
    east = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["east"]}]}]
    where: Json = draw.choice(({"allNodes": True}, {"nodeSelector": {"nodeSelectorTerms": east}}))
    devices = [_gpu(draw, f"far-{number}") for number in range(draw.randint(1, 2))]
    return _slice("fabric", GPU, pool, devices=devices, **where)


def _rule(draw: Random, pool: str) -> Json:
    effect = draw.choice(("NoSchedule", "None"))
    taint = {"key": "repair", "value": "x", "effect": effect}
    return _typed(
        "DeviceTaintRule", "repair", spec={"deviceSelector": {"driver": GPU, "pool": pool}, "taint": taint}
    )


def _patch(draw: Random, name: str, pool: str) -> Json:
    changes: Json = draw.choice(
        (
            {"attributes": {f"{GPU}/model": {"string": draw.choice(MODELS)}}},
            {"attributes": {f"{GPU}/grade": {"string": "worn-out"}}},
            {"capacity": {f"{GPU}/memory": {"value": "8Gi"}}},
        )
    )
    devices = {"filter": {"driver": GPU, "pool": pool}, **changes}
    return {
        "apiVersion": f"{OWN_GROUP}/v1alpha3",
        "kind": "ResourceSlicePatch",
        "metadata": {"name": name},
        "spec": {"devices": devices},
    }


# --- what its users want


def _pod(draw: Random, name: str, nodes: list[str], named_nodes: bool) -> tuple[Json, list[Json]]:
    namespace = draw.choice(NAMESPACES)
    if draw.random() < 0.12:
        # a claim that several pods share, always for the same
        claims = [_claim("shared", namespace, _spec(Random(f"shared {namespace} {nodes}")))]
    else:
        count = 2 if draw.random() < 0.15 else 1
        claims = [_claim(f"{name}-{number}", namespace, _spec(draw)) for number in range(count)]
    cpu = draw.choice(("250m", "1", "1", "2", "3500m", "5", "6"))
    if draw.random() < 0.05:
        cpu = "100"
    container = {"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    sources = [
        {"name": f"d{place}", "resourceClaimName": each["metadata"]["name"]}
        for place, each in enumerate(claims)
    ]
    spec: Json = {"containers": [container], "resourceClaims": sources, "terminationGracePeriodSeconds": 0}
    if draw.random() < 0.15:
        spec["nodeSelector"] = {"zone": draw.choice((*ZONES, *ZONES, "eats"))}
    if draw.random() < 0.3:
        spec["tolerations"] = [{"key": "reserved", "operator": "Exists"}]
    if named_nodes and draw.random() < 0.1:
        spec["nodeName"] = draw.choice(nodes)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    return pod, claims


def _claim(name: str, namespace: str, spec: Json) -> Json:
    made = _typed("ResourceClaim", name, spec=spec)
    made["metadata"]["namespace"] = namespace
    return made


def _spec(draw: Random) -> Json:
    kind = draw.random()
    if kind < 0.15:
        name = "bandwith" if draw.random() < 0.2 else "bandwidth"
        capacity = {"requests": {name: draw.choice(("2", "4", "8", "20"))}}
        return {"devices": {"requests": [_request("nic", _exactly("net", capacity=capacity))]}}
    if kind < 0.4:
        ways = [{"name": f"w{place}", **_wanted(draw)} for place in range(draw.choice((2, 3)))]
        return {"devices": {"requests": [{"name": "any", "firstAvailable": ways}]}}
    requests = [_request(f"r{place}", _wanted(draw)) for place in range(draw.choice((1, 1, 1, 2)))]
    devices: Json = {"requests": requests}
    if draw.random() < 0.25:
        devices["constraints"] = [{"matchAttribute": f"{GPU}/{draw.choice(('numa', 'numa', 'model'))}"}]
    return {"devices": devices}


def _request(name: str, exactly: Json) -> Json:
    return {"name": name, "exactly": exactly}


def _exactly(device_class: str, **more: Any) -> Json:
    return {"deviceClassName": device_class, **more}


def _wanted(draw: Random) -> Json:
    """GPUs, now and then with a typing mistake."""
    found = _exactly(draw.choice(("gpu", "gpu", "h100")) if draw.random() > 0.04 else "h10")
    if draw.random() < 0.05:
        found["allocationMode"] = "All"
    else:
        found["count"] = draw.choice((1, 1, 1, 2, 2, 3))
    expressions = [_expression(draw) for _ in range(draw.choice((0, 1, 1)))]
    if expressions:
        found["selectors"] = [{"cel": {"expression": each}} for each in expressions]
    if draw.random() < 0.1:
        found["tolerations"] = [{"key": "worn", "operator": "Exists"}]
    return found


def _expression(draw: Random) -> str:
    model = draw.choice(MODELS)
    memory = f'device.capacity["{GPU}"].memory.compareTo(quantity("{draw.choice((30, 60))}Gi")) > 0'
    chance = draw.random()
    if chance < 0.45:
        return f'{OWN}.?model.orValue("") == "{model}"'
    if chance < 0.55:
        return f'{OWN}.?model.orValue("") == "{model.upper()}"'
    if chance < 0.6:
        return f'{OWN}.?modell.orValue("") == "{model}"'
    if chance < 0.68:
        return f'{OWN}.model == "{model}"'
    if chance < 0.8:
        return f'{OWN}.?grade.orValue("new") == "new"'
    return memory
