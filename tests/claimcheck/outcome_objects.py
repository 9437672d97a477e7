"""The objects of a case of `data/outcomes`, from its short form.

What is written shorter there than in an object:

- a device or request that is a text has that name and nothing else;
- `attributes: {model: a, index: 1}` and `capacity: {memory: 8Gi}` are values without their types; a mapping stays as it is;
- `draws: {set: {memory: 1Gi}}` is what a device consumes of counter sets, `counters` what a slice shares;
- `selectors` are expressions;
- a request without `exactly` and `firstAvailable` is one of `exactly`; `class: x` is the class CASE-x instead of CASE;
- `priority: 10` is that of a PriorityClass of the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Object = dict[str, Any]
CORE, GROUP, PRIORITIES = "v1", "resource.k8s.io/v1", "scheduling.k8s.io/v1"
LABEL = "outcome"
NAMESPACE = "default"
#: What nodes have, unless a case says otherwise.
_USUAL = {"cpu": "8", "memory": "8Gi", "pods": "110"}
_FINALIZER = "resource.kubernetes.io/delete-protection"


def objects_of(case: Object) -> Iterator[Object]:
    """All but the pods that are to be scheduled."""
    name = case["case"]
    yield _class(name, name, {"selectors": [f'device.driver == "{name}.example.com"']})
    for suffix, spec in case.get("classes", {}).items():
        yield _class(name, f"{name}-{suffix}", spec)
    for priority in sorted({each["priority"] for each in _pods(case) if "priority" in each}):
        yield {**_object(PRIORITIES, "PriorityClass", f"outcomes-{priority}"), "value": priority}
    for node, has in case["nodes"].items():
        yield _node(name, node, has or {})
    for node, devices in case.get("devices", {}).items():
        yield _slice(name, node, {"nodeName": f"{name}-{node}", "devices": devices})
    for suffix, spec in case.get("slices", {}).items():
        yield _slice(name, suffix, spec)
    for rule, spec in case.get("rules", {}).items():
        yield _object(GROUP, "DeviceTaintRule", f"{name}-{rule}", spec)
    for template, spec in case.get("templates", {}).items():
        spec = {"spec": _claim_spec(name, spec)}
        yield _object(GROUP, "ResourceClaimTemplate", f"{name}-{template}", spec, namespaced=True)
    for pod, needs in case.get("running", {}).items():
        yield pod_of(name, pod, needs, uid=f"{name}-{pod}")
    for claim, spec in case.get("claims", {}).items():
        yield _claim(name, claim, spec)


def pod_of(case: str, name: str, needs: Object, uid: str = "") -> Object:
    """A pod.

    :param needs: `uses`: how many of its containers use each claim; `templates`: the claims that are made for it; what the first
        container (`requests`, `limits`) and the pod as a whole (`whole`) request; `node`: the one that it is on; `spec`: more of its spec.
    """
    uses = needs.get("uses", {})
    uses = uses if isinstance(uses, dict) else dict.fromkeys(uses, 1)
    templates = needs.get("templates", {})
    claims = {**uses, **dict.fromkeys(templates, 1)}
    containers = [
        {
            "name": f"c{place}",
            "image": "x",
            "resources": {
                **({"limits": needs["limits"]} if "limits" in needs and not place else {}),
                "requests": {**needs.get("limits", {}), **needs.get("requests", {})} if not place else {},
                "claims": [{"name": claim} for claim, count in claims.items() if count > place],
            },
        }
        for place in range(max([1, *claims.values()]))
    ]
    spec: Object = {
        "nodeSelector": {LABEL: case},
        "containers": containers,
        "resourceClaims": [
            *({"name": claim, "resourceClaimName": f"{case}-{claim}"} for claim in uses),
            *(
                {"name": claim, "resourceClaimTemplateName": f"{case}-{template}"}
                for claim, template in templates.items()
            ),
        ],
    }
    if "whole" in needs:
        spec["resources"] = {"requests": needs["whole"]}
    if "node" in needs:
        spec["nodeName"] = f"{case}-{needs['node']}"
    if "priority" in needs:
        spec |= {"priorityClassName": f"outcomes-{needs['priority']}", "priority": needs["priority"]}
    pod = _object(CORE, "Pod", f"{case}-{name}", spec | needs.get("spec", {}), namespaced=True)
    pod["metadata"] |= {"labels": {"pod": name}} | ({"uid": uid} if uid else {})
    return pod


def _pods(case: Object) -> list[Object]:
    return [*case.get("running", {}).values(), *case["pods"].values()]


def _class(case: str, name: str, spec: Object) -> Object:
    return _object(GROUP, "DeviceClass", name, _selected(spec))


def _node(case: str, name: str, has: Object) -> Object:
    spec = {key: value for key, value in has.items() if key in ("taints", "unschedulable")}
    found = _object(CORE, "Node", f"{case}-{name}", spec)
    found["metadata"]["labels"] = {LABEL: case, **has.get("labels", {})}
    amounts = {key: value for key, value in has.items() if key not in {*spec, "labels", "features"}}
    amounts = {**_USUAL, **amounts}
    found["status"] = {
        "capacity": amounts,
        "allocatable": amounts,
        "declaredFeatures": has.get("features", ["DRANodeAllocatableResources"]),
    }
    return found


def _slice(case: str, name: str, spec: Object) -> Object:
    pool = {"name": f"{case}-{name}", "generation": 1, "resourceSliceCount": 1, **spec.get("pool", {})}
    spec = {"driver": f"{case}.example.com", **spec, "pool": pool}
    if "devices" in spec:
        spec["devices"] = [_device(each) for each in spec["devices"]]
    if "counters" in spec:
        spec["sharedCounters"] = [
            {"name": counter_set, "counters": _amounts(counters)}
            for counter_set, counters in spec.pop("counters").items()
        ]
    return _object(GROUP, "ResourceSlice", f"{case}-{name}", spec)


def _device(device: Any) -> Object:
    if isinstance(device, str):
        return {"name": device}
    found = dict(device)
    if "attributes" in found:
        found["attributes"] = {name: _attribute(value) for name, value in found["attributes"].items()}
    if "capacity" in found:
        found["capacity"] = _amounts(found["capacity"])
    if "draws" in found:
        groups = found.pop("groups", None)
        found["consumesCounters"] = [
            {
                "counterSet": counter_set,
                "counters": _amounts(counters),
                **({"compatibilityGroups": groups} if groups else {}),
            }
            for counter_set, counters in found.pop("draws").items()
        ]
    return found


def _amounts(values: Mapping[str, Any]) -> Object:
    return {
        name: value if isinstance(value, dict) else {"value": str(value)} for name, value in values.items()
    }


def _attribute(value: Any) -> Object:
    match value:
        case dict():
            return value
        case bool():
            return {"bool": value}
        case int():
            return {"int": value}
        case str():
            return {"string": value}
        case [bool(), *_]:
            return {"bools": value}
        case [int(), *_]:
            return {"ints": value}
        case _:
            return {"strings": value}


def _claim_spec(case: str, spec: Object | Sequence[Any]) -> Object:
    devices = {"requests": spec} if isinstance(spec, list) else dict(spec)
    devices["requests"] = [_request(case, each) for each in devices.get("requests", ())]
    return {"devices": devices}


def _request(case: str, request: Any) -> Object:
    if isinstance(request, str):
        request = {"name": request}
    if "firstAvailable" in request:
        alternatives = [_details(case, each) for each in request["firstAvailable"]]
        return {**request, "firstAvailable": alternatives}
    details = request.get("exactly", {key: value for key, value in request.items() if key != "name"})
    return {"name": request["name"], "exactly": _details(case, details)}


def _details(case: str, details: Object) -> Object:
    found = _selected(details)
    suffix = found.pop("class", "")
    return {"deviceClassName": f"{case}-{suffix}" if suffix else case, **found}


def _selected(spec: Object) -> Object:
    """The spec with its expressions as selectors."""
    if "selectors" not in spec:
        return dict(spec)
    selectors = [
        {"cel": {"expression": each}} if isinstance(each, str) else each for each in spec["selectors"]
    ]
    return {**spec, "selectors": selectors}


def _claim(case: str, name: str, spec: Object | Sequence[Any]) -> Object:
    """A claim: its requests, or a mapping with more of its spec and what it holds.

    `holds`: devices as `request pool/device`, with more of a result if it is a mapping; `at`: the node on which alone it can be
    used; `for`: the running pods that have reserved it; `leaving`: whether it is being deleted.
    """
    written = {} if isinstance(spec, list) else dict(spec)
    holds, on, users = written.pop("holds", None), written.pop("at", ""), written.pop("for", ())
    leaving = written.pop("leaving", False)
    found = _object(
        GROUP,
        "ResourceClaim",
        f"{case}-{name}",
        _claim_spec(case, spec if isinstance(spec, list) else written),
        namespaced=True,
    )
    if leaving:
        found["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": [_FINALIZER]}
    if holds is not None:
        found["metadata"]["finalizers"] = [_FINALIZER]
        results = [_result(case, each) for each in holds]
        allocation: Object = {"devices": {"results": results}, "allocationTimestamp": "2026-01-01T00:00:00Z"}
        if on:
            there = {"key": "metadata.name", "operator": "In", "values": [f"{case}-{on}"]}
            allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [there]}]}
        found["status"] = {"allocation": allocation}
        if users:
            found["status"]["reservedFor"] = [
                {"resource": "pods", "name": f"{case}-{each}", "uid": f"{case}-{each}"} for each in users
            ]
    return found


def _result(case: str, held: Any) -> Object:
    more = {} if isinstance(held, str) else {key: value for key, value in held.items() if key != "device"}
    request, _, place = (held if isinstance(held, str) else held["device"]).partition(" ")
    pool, _, device = place.partition("/")
    where = {"driver": f"{case}.example.com", "pool": f"{case}-{pool}", "device": device}
    return {"request": request, **where, **more}


def _object(
    version: str, kind: str, name: str, spec: Object | None = None, *, namespaced: bool = False
) -> Object:
    metadata = {"name": name, **({"namespace": NAMESPACE} if namespaced else {})}
    found = {"apiVersion": version, "kind": kind, "metadata": metadata}
    return found if spec is None else {**found, "spec": spec}
