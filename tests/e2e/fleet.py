"""Nodes with GPUs, and pods that ask for them in every way: what a scheduler is put to.

A node has 8 GPUs, h100 or a100 by turns, two at a PCIe root. Every fifth node's GPUs can be cut in quarters, and every node
has a network device that many claims share (20 units of bandwidth).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from resourceapi.objects import Object
from tests.e2e.allocation_history import RESOURCE_OF_CLASS
from tests.e2e.client import Client

DRIVER, NETWORK = "gpu.example.com", "net.example.com"
GROUP = "/apis/resource.k8s.io/v1"
NAMESPACE = "fleet"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
POD_GROUPS = f"/apis/scheduling.k8s.io/v1beta1/namespaces/{NAMESPACE}/podgroups"
CLAIMS = f"{GROUP}/namespaces/{NAMESPACE}/resourceclaims"
PCIE_ROOT = "resource.kubernetes.io/pcieRoot"
GPUS = 8
BANDWIDTH = 20
THREADS = 8
SHARED_BY = 4
"""How many pods use one claim of the kind `shared`."""

MIX = ("one",) * 5 + ("fast",) * 2 + ("pair", "shared", "part", "net")
EXTENDED = {"extended": 1, "extended-pair": 2}
"""How many GPUs pods of a kind ask for by the name that their class has for that."""


class Gang(NamedTuple):
    """Pods of a PodGroup.

    :param least: how many of them are bound, or none.
    :param own: what each asks for; empty if nothing.
    :param shared: what the PodGroup asks for; empty if it has no claim.
    """

    pods: int
    least: int
    own: str = ""
    shared: str = ""


GANGS = {
    "gang": Gang(4, 3, "one"),
    "sharing-gang": Gang(3, 3, shared="pair"),
    "tight-gang": Gang(2, 2, "one", "one"),
    "tight-net-gang": Gang(3, 3, "net", "pair"),
}
WITH_GANGS = (*MIX, *EXTENDED, *GANGS)
"""What needs the gates of PodGroups and their claims.

The pods of a tight gang all need devices of one node, where the claim that they share is allocated.
"""
HARD = "hard"
"""9 GPUs as 9 requests: no node has them."""


def prepare(client: Client, nodes: int) -> None:
    """Make the nodes, their slices, the classes and the templates."""
    post(client, "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for each in device_classes():
        post(client, f"{GROUP}/deviceclasses", each)
    for each in templates():
        post(client, f"{GROUP}/namespaces/{NAMESPACE}/resourceclaimtemplates", each)

    def make(number: int) -> None:
        post(client, "/api/v1/nodes", node(number))
        # Admission taints what is new and not reported on.
        name = node_name(number)
        answer = client.ask(
            "PATCH",
            f"/api/v1/nodes/{name}",
            {"spec": {"taints": None}},
            content_type="application/merge-patch+json",
        )
        assert answer.code == 200, answer.body
        for each in slices(number):
            post(client, f"{GROUP}/resourceslices", each)

    _for_each(make, range(nodes))


def kinds(count: int, *, seed: int = 1, hard: int = 0, mix: Sequence[str] = MIX) -> list[str]:
    """Kinds of pods at random; `hard` is the percentage of impossible ones."""
    chance = random.Random(seed)
    return [HARD if chance.randrange(100) < hard else chance.choice(mix) for _ in range(count)]


def submit(
    client: Client, asked: Iterable[tuple[int, str]], scheduler: str, created: Callable[[str], object] = str
) -> None:
    """Create pods by number and kind, some at a time; `created` is told each name just before."""

    def make(each: tuple[int, str]) -> None:
        for path, body in objects(*each, scheduler):
            if path == PODS:
                created(body["metadata"]["name"])
            post(client, path, body, again=path == CLAIMS)

    _for_each(make, asked)


def post(client: Client, path: str, body: Object, *, again: bool = False) -> None:
    """Create an object; `again`: it may be there already."""
    answer = client.ask("POST", path, body)
    assert answer.code == 201 or (again and answer.code == 409), (path, answer.body)


def _for_each(make: Callable[[Any], None], asked: Iterable[Any]) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in threads.map(make, asked):
            pass


# --- objects


def node_name(number: int) -> str:
    return f"n{number:04}"


def node(number: int) -> Object:
    name = node_name(number)
    resources = {"cpu": "64", "memory": "512Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": resources, "allocatable": resources, "conditions": [ready]},
    }


def slices(number: int) -> list[Object]:
    """Of one node: the GPUs' counters, the GPUs, the network device."""
    name = node_name(number)
    model = ("h100", "a100")[number % 2]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 2}
    counters = [{"name": f"gpu-{gpu}", "counters": {"units": {"value": "8"}}} for gpu in range(GPUS)]
    devices = [_gpu(f"gpu-{gpu}", gpu, model, "full", 8) for gpu in range(GPUS)]
    if number % 5 == 0:
        devices += [
            _gpu(f"gpu-{gpu}-{quarter}", gpu, model, "quarter", 2)
            for gpu, quarter in itertools.product(range(GPUS), range(4))
        ]
    return [
        _slice(f"{name}-counters", name, DRIVER, pool, sharedCounters=counters),
        _slice(f"{name}-devices", name, DRIVER, pool, devices=devices),
        _slice(
            f"{name}-net",
            name,
            NETWORK,
            {"name": name, "generation": 1, "resourceSliceCount": 1},
            devices=[
                {
                    "name": "nic",
                    "allowMultipleAllocations": True,
                    "capacity": {"bandwidth": {"value": str(BANDWIDTH), "requestPolicy": {"default": "1"}}},
                }
            ],
        ),
    ]


def _gpu(name: str, gpu: int, model: str, profile: str, units: int) -> Object:
    attributes = {"model": model, "profile": profile, PCIE_ROOT: f"pci{gpu // 2}"}
    return {
        "name": name,
        "attributes": {key: {"string": value} for key, value in attributes.items()},
        "consumesCounters": [{"counterSet": f"gpu-{gpu}", "counters": {"units": {"value": str(units)}}}],
    }


def _slice(name: str, node: str, driver: str, pool: Object, **spec: Any) -> Object:
    return {"metadata": {"name": name}, "spec": {"driver": driver, "nodeName": node, "pool": pool, **spec}}


def device_classes() -> list[Object]:
    own = f'device.driver == "{DRIVER}" && device.attributes["{DRIVER}"]'
    selectors = {
        "gpu": f'{own}.profile == "full"',
        "part": f'{own}.profile == "quarter"',
        "net": f'device.driver == "{NETWORK}"',
    }
    return [
        {"metadata": {"name": name}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}
        for name, expression in selectors.items()
    ]


def templates() -> list[Object]:
    """One for each kind of pod that has claims from a template."""
    return [
        {"metadata": {"name": kind}, "spec": {"spec": claim_spec(kind)}}
        for kind in dict.fromkeys((*MIX, HARD))
        if kind != "shared"
    ]


def claim_spec(kind: str) -> Object:
    """What a pod of a kind asks for."""
    requests: dict[str, list[Object]] = {
        "one": [_exactly("g")],
        "shared": [_exactly("g")],
        "fast": [
            {
                "name": "g",
                "firstAvailable": [
                    {"name": "h", "deviceClassName": "gpu", "selectors": _model("h100")},
                    {"name": "a", "deviceClassName": "gpu", "count": 2, "selectors": _model("a100")},
                ],
            }
        ],
        "pair": [_exactly("g", count=2)],
        "part": [_exactly("g", deviceClassName="part")],
        "net": [_exactly("n", deviceClassName="net", capacity={"requests": {"bandwidth": "3"}})],
        HARD: [_exactly(f"g{number}") for number in range(GPUS + 1)],
    }
    spec: Object = {"devices": {"requests": requests[kind]}}
    if kind == "pair":
        spec["devices"]["constraints"] = [{"requests": ["g"], "matchAttribute": PCIE_ROOT}]
    return spec


def _exactly(name: str, **more: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": "gpu", **more}}


def _model(name: str) -> list[Object]:
    return [{"cel": {"expression": f'device.attributes["{DRIVER}"].model == "{name}"'}}]


def pod_name(number: int) -> str:
    return f"p{number:05}"


def shared_claim(number: int) -> Object:
    """The claim of a pod of the kind `shared`, and of others with numbers near."""
    return {"metadata": {"name": f"shared-{number // SHARED_BY}"}, "spec": claim_spec("shared")}


def objects(number: int, kind: str, scheduler: str) -> list[tuple[str, Object]]:
    """What is made for a pod of a kind, or for a gang, each with the path where it is made; what others need comes first."""
    gang = GANGS.get(kind)
    if gang is not None:
        group, *pods = _gang(number, kind, gang, scheduler)
        return [(POD_GROUPS, group), *((PODS, each) for each in pods)]
    claims = [(CLAIMS, shared_claim(number))] if kind == "shared" else []
    return [*claims, (PODS, pod(number, kind, scheduler))]


def pod(number: int, kind: str, scheduler: str) -> Object:
    if kind in EXTENDED:
        return _pod(pod_name(number), kind, scheduler, {}, EXTENDED[kind])
    if kind == "shared":
        source = {"resourceClaimName": shared_claim(number)["metadata"]["name"]}
    else:
        source = {"resourceClaimTemplateName": kind}
    return _pod(pod_name(number), kind, scheduler, {"d": source})


def _gang(number: int, kind: str, gang: Gang, scheduler: str) -> list[Object]:
    """The PodGroup and its pods."""
    name = f"g{number:05}"
    own, shared = (
        {entry: {"resourceClaimTemplateName": kind}} if kind else {}
        for entry, kind in (("d", gang.own), ("s", gang.shared))
    )
    spec: Object = {"schedulingPolicy": {"gang": {"minCount": gang.least}}}
    if shared:
        spec["resourceClaims"] = _entries(shared)
    pods = [
        _pod(f"{pod_name(number)}-{each}", kind, scheduler, {**own, **shared}) for each in range(gang.pods)
    ]
    for each in pods:
        each["spec"]["schedulingGroup"] = {"podGroupName": name}
    return [{"metadata": {"name": name}, "spec": spec}, *pods]


def _pod(name: str, kind: str, scheduler: str, claims: dict[str, Object], gpus: int = 0) -> Object:
    """A pod with claims, and with so many GPUs by the name of their class."""
    resources: Object = {"claims": [{"name": each} for each in claims]}
    if gpus:
        resources["limits"] = resources["requests"] = {f"{RESOURCE_OF_CLASS}gpu": str(gpus)}
    return {
        "metadata": {"name": name, "labels": {"kind": kind}},
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "resourceClaims": _entries(claims),
            "containers": [{"name": "c", "image": "x", "resources": resources}],
        },
    }


def _entries(claims: dict[str, Object]) -> list[Object]:
    return [{"name": name, **source} for name, source in claims.items()]
