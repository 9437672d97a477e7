"""Random clusters with a pod that probably waits: others hold devices, or it asks for what there is not."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import Object
from tests.e2e.scheduling_cluster import SCHEDULER_NAME

NAMESPACE, WAITING = "team", "w"
DRIVER = "gpu.example.com"
OWN = f"device.attributes['{DRIVER}']"
_MODELS = ("a100", "h100")
_READY = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
_TAINT = {"key": "example.com/broken", "value": "yes", "effect": "NoSchedule"}
#: What is wrong with the pod's request or with the cluster; with two of them, a remedy needs two changes.
WRONG = (
    "held",
    "count",
    "value",
    "name",
    "class",
    "label",
    "cpu",
    "taint",
    "rule",
    "cordon",
    "node-taint",
    "capacity",
    "policy",
    "constraint",
    "all",
    "lacking",
    "alternative",
    "counters",
    "two-requests",
)
#: What only pods of the scheduling sidecar wait for: patches of devices, and the gate for compatibility groups.
WRONG_FOR_SIDECAR = ("patch", "gate")


def objects_of(seed: int, *, for_sidecar: bool = False) -> list[Object]:
    """The objects of a cluster, in the order in which they can be made; those of the pod have names that begin with its own."""
    random = Random(seed)
    wrong = {
        random.choice(WRONG_FOR_SIDECAR if for_sidecar else WRONG),
        *random.sample(WRONG, random.choice((0, 0, 1))),
    }
    shared = bool(wrong & {"capacity", "policy"})
    nodes = [f"n{number}" for number in range(random.randint(1, 3))]
    found = [_class("gpu", [f"device.driver == '{DRIVER}'"]), _class("any", [])]
    found += [_class("large", [f"{OWN}.size > 1"])] if "lacking" in wrong else []
    devices = {name: _devices(random, wrong, shared) for name in nodes}
    for number, name in enumerate(nodes):
        found.append(_node(random, name, wrong, number))
        with_counters = bool(wrong & {"counters", "gate"})
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1 + with_counters}
        spec = {"driver": DRIVER, "nodeName": name, "pool": pool}
        found.append(_object("ResourceSlice", f"s-{name}", {**spec, "devices": devices[name]}))
        if with_counters:
            counters = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
            found.append(_object("ResourceSlice", f"c-{name}", {**spec, "sharedCounters": counters}))
    if "rule" in wrong:
        taint = {"deviceSelector": {"driver": DRIVER}, "taint": {**_TAINT, "key": "example.com/service"}}
        found.append(_object("DeviceTaintRule", "service", taint))
    if "patch" in wrong:
        worn = {"filter": {"driver": DRIVER}, "attributes": {f"{DRIVER}/model": {"string": "worn"}}}
        found.append(_object("ResourceSlicePatch", "worn", {"devices": worn}))
    if not wrong & {"taint", "rule", "cordon", "node-taint", "gate"} and not shared:
        # of those that draw on counters, each node has room for one at least
        usable = len(nodes) if "counters" in wrong else sum(map(len, devices.values()))
        found += _holders(random, usable, "held" in wrong)
    return [*found, *_waiting(random, wrong, nodes)]


def _object(kind: str, name: str, spec: Object) -> Object:
    group = {"Node": "v1", "Pod": "v1", "Job": "batch/v1", "ResourceSlicePatch": f"{OWN_GROUP}/v1alpha3"}
    apps = ("Deployment", "StatefulSet", "DaemonSet")
    version = "apps/v1" if kind in apps else group.get(kind, "resource.k8s.io/v1")
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _class(name: str, expressions: list[str]) -> Object:
    return _object("DeviceClass", name, {"selectors": [_cel(each) for each in expressions]})


def _cel(expression: str) -> Object:
    return {"cel": {"expression": expression}}


def _node(random: Random, name: str, wrong: set[str], number: int) -> Object:
    spec: Object = {}
    if "cordon" in wrong:
        spec["unschedulable"] = True
    if "node-taint" in wrong:
        spec["taints"] = [{"key": "example.com/team", "value": "other", "effect": "NoSchedule"}]
    resources = {"cpu": str(random.choice((4, 8))), "memory": "64Gi", "pods": "110"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [_READY]}
    node = {**_object("Node", name, spec), "status": status}
    node["metadata"]["labels"] = {"kubernetes.io/hostname": name, "zone": "ab"[number % 2], "gpu": "yes"}
    return node


def _devices(random: Random, wrong: set[str], shared: bool) -> list[Object]:
    found = []
    for number in range(random.randint(1, 3)):
        device: Object = {
            "name": f"d{number}",
            "attributes": {
                "model": {"string": random.choice(_MODELS)},
                "size": {"int": random.choice((1, 2))},
                "index": {"int": number},
            },
            "capacity": {"memory": {"value": "40Gi"}},
        }
        if "lacking" in wrong and number == 0:
            del device["attributes"]["size"]
        if shared:
            device["allowMultipleAllocations"] = True
        if "policy" in wrong:
            policy = random.choice(
                (
                    {"default": "1Gi", "validRange": {"min": "1Gi", "max": "20Gi", "step": "1Gi"}},
                    {"default": "5Gi", "validValues": ["5Gi", "10Gi", "20Gi"]},
                )
            )
            device["capacity"]["memory"]["requestPolicy"] = policy
        if "taint" in wrong:
            device["taints"] = [_TAINT]
        if wrong & {"counters", "gate"}:
            draws = {"memory": {"value": random.choice(("10Gi", "20Gi", "30Gi"))}}
            device["consumesCounters"] = [{"counterSet": "card", "counters": draws}]
        if "gate" in wrong:
            device["consumesCounters"][0]["compatibilityGroups"] = ["mig"]
        found.append(device)
    return found


def _holders(random: Random, devices: int, all_of_them: bool) -> Iterator[Object]:
    """What holds devices, by templates: pods with owners of all kinds and without."""
    yield _template("one", {"requests": [_exactly("r", "any")]})
    left = devices if all_of_them else random.randint(0, devices)
    number = 0
    while left > 0:
        kind = random.choice(("Deployment", "StatefulSet", "Job", "Pod", "Pod", "DaemonSet"))
        copies = 1 if kind == "Pod" else random.randint(1, left)
        if kind == "DaemonSet" and number:
            continue
        name = f"h{number}"
        pod = _pod_spec([{"name": "gpu", "resourceClaimTemplateName": "one"}])
        labels = {"matchLabels": {"app": name}}
        template = {"metadata": {"labels": {"app": name}}, "spec": pod}
        # one that wants more than there is would take what others give up
        more = random.choice((0, 1)) if kind == "Deployment" and copies == devices else 0
        specs: dict[str, Object] = {
            "Pod": pod,
            "Deployment": {"replicas": copies + more, "selector": labels, "template": template},
            "StatefulSet": {
                "replicas": copies,
                "selector": labels,
                "template": template,
                "serviceName": name,
                "podManagementPolicy": "Parallel",
            },
            "DaemonSet": {
                "selector": labels,
                "template": template,
                "updateStrategy": {"type": "OnDelete"},
            },
            "Job": {
                "parallelism": copies,
                "completions": copies,
                "template": {"spec": {**pod, "restartPolicy": "Never"}},
            },
        }
        yield _object(kind, name, specs[kind])
        left, number = left - copies, number + 1


def _pod_spec(claims: list[Object], cpu: str = "100m") -> Object:
    used = [{"name": each["name"]} for each in claims]
    container = {"name": "c", "image": "x", "resources": {"claims": used, "requests": {"cpu": cpu}}}
    return {
        "schedulerName": SCHEDULER_NAME,
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "resourceClaims": claims,
    }


def _template(name: str, devices: Object) -> Object:
    return _object("ResourceClaimTemplate", name, {"spec": {"devices": devices}})


def _exactly(name: str, device_class: str, **fields: object) -> Object:
    return {"name": name, "exactly": {"deviceClassName": device_class, **fields}}


def _waiting(random: Random, wrong: set[str], nodes: list[str]) -> Iterator[Object]:
    fields: Object = {}
    selectors: list[str] = []
    if "value" in wrong:
        selectors.append(f"{OWN}.model == '{random.choice(_MODELS).upper()}'")
    if "patch" in wrong:
        selectors.append(f"{OWN}.model in ['a100', 'h100']")
    if "name" in wrong:
        selectors.append(f"{OWN}.modle == 'a100'")
    if "lacking" in wrong:
        selectors.append(f"{OWN}.size >= 1")
    if selectors:
        fields["selectors"] = [_cel(each) for each in selectors]
    if "count" in wrong:
        fields["count"] = random.randint(3, 6)
    if "all" in wrong:
        fields = {**fields, "allocationMode": "All"}
        fields.pop("count", None)
    if wrong & {"capacity", "policy"}:
        fields["capacity"] = {"requests": {"memory": "60Gi" if "capacity" in wrong else "25Gi"}}
    name = "gpus" if "class" in wrong else random.choice(("gpu", "any"))
    request = _exactly("r", name, **fields)
    if "alternative" in wrong:
        subs = [{"name": f"a{place}", **request["exactly"]} for place in range(2)]
        subs[0]["selectors"] = [_cel(f"{OWN}.nothing == 1")]
        if random.random() < 0.5:
            subs[0]["deviceClassName"] = "nothing-like-it"
        request = {"name": "r", "firstAvailable": subs}
    requests = [request]
    if "two-requests" in wrong or "constraint" in wrong:
        count = 1 if "constraint" in wrong else random.randint(1, 3)
        requests.append(_exactly("q", "any", count=count))
    devices: Object = {"requests": requests}
    if "constraint" in wrong:
        devices["constraints"] = [{"matchAttribute": f"{DRIVER}/{random.choice(('index', 'index', 'idex'))}"}]
    if random.random() < 0.5:
        yield _template(f"{WAITING}-gpus", devices)
        claims = [{"name": "gpu", "resourceClaimTemplateName": f"{WAITING}-gpus"}]
    else:
        yield _object("ResourceClaim", f"{WAITING}-gpu", {"devices": devices})
        claims = [{"name": "gpu", "resourceClaimName": f"{WAITING}-gpu"}]
    pod = _pod_spec(claims, "20" if "cpu" in wrong else "100m")
    if "label" in wrong:
        pod["nodeSelector"] = {"gpu": "true"}
    elif random.random() < 0.2:
        pod["nodeSelector"] = {"zone": random.choice("ab")}
    yield _object("Pod", WAITING, pod)
