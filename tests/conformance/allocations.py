"""Replays scenarios of allocation: pods with claims in a cluster of nodes, classes and slices."""

from __future__ import annotations

from collections import Counter

from allocator.features import GATES, Features
from allocator.scheduling import Mode, NodeAnswer, SchedulingState
from allocator.time_limit import UNLIMITED
from resourceapi.decoding import decode
from resourceapi.encoding import encode
from resourceapi.manifests import key_of, name_of
from resourceapi.measured import NEWEST
from resourceapi.model.versions import SCHEMAS
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.classes import read_device_class
from resourceapi.records.nodes import read_node
from tests.conformance.answers import Case, Json, same_json
from tests.conformance.comparison import Comparison

_SCHEMA = SCHEMAS["v1"]


def answer(case: Case) -> Object:
    """What the product answers to a scenario, in the form of its `expect`."""
    scenario = case["scenario"]
    gates = scenario["features"]
    features = Features(GATES if "all" in gates else gates, _minor(case), group_snapshots=False)
    classes = [read_device_class(_decoded("DeviceClass", each)) for each in scenario["deviceClasses"]]
    slices = _told_apart([_decoded("ResourceSlice", each) for each in scenario["resourceSlices"]])
    by_name = {each.name: each for each in classes}
    cluster = SchedulingState(features, filter(None, map(read_node, scenario["nodes"])), by_name, slices)
    claims: dict[str, Claim] = {}
    for each in scenario["claims"]:
        cluster.hold(_remember(claims, Claim(_decoded("ResourceClaim", each))))
    mode = Mode(scenario["mode"])
    shares: dict[str, str] = {}
    return {
        "implementation": features.implementation,
        "pods": [_pod(cluster, claims, pod, mode, shares) for pod in scenario["pods"]],
    }


def _minor(case: Case) -> int:
    """The release of the case's profile (``real-1.36``); the newest one unless it is a real one's."""
    name = case.get("profile", "")
    return int(name.split("-")[1].partition(".")[2]) if name.startswith("real-") else NEWEST


def _pod(
    cluster: SchedulingState, claims: dict[str, Claim], pod: Object, mode: Mode, shares: dict[str, str]
) -> Object:
    for name in pod.get("release") or ():
        if name in claims:
            cluster.release(claims[name].key)
            _remember(claims, claims[name].with_status({}))
    wanted = []
    for index, claim in enumerate(pod["claims"]):
        if isinstance(claim, str):
            if claim not in claims:
                return {
                    "name": pod["name"],
                    "error": f'pod {pod["name"]}: claim "{claim}" not found',
                    "nodes": [],
                }
            wanted.append(claims[claim])
            continue
        decoded = _decoded("ResourceClaim", claim)
        if not name_of(decoded):
            decoded.setdefault("metadata", {})["name"] = f"{pod['name']}-{index}"
        wanted.append(claims.get(key_of(decoded)) or _remember(claims, Claim(decoded)))
    placed = cluster.place(wanted, mode, UNLIMITED, pod.get("node") or None)
    for claim, allocation in placed.allocated.items():
        _remember(claims, claim.allocated(allocation))
    answered: Object = {"name": pod["name"]}
    if placed.placed:
        answered["placed"] = placed.placed
    answered["nodes"] = [_node(node, shares) for node in placed.nodes]
    return answered


def _decoded(kind: str, value: Json) -> Object:
    return decode(_SCHEMA, kind, value).object


def _told_apart(slices: list[Object]) -> list[Object]:
    """Further slices of a name get names of their own, next in order: scenarios may have what no cluster can have."""
    seen: Counter[str] = Counter()
    for slice in slices:
        name = name_of(slice)
        if seen[name]:
            slice.setdefault("metadata", {})["name"] = f"{name}\0{seen[name]:04}"
        seen[name] += 1
    return slices


def _remember(claims: dict[str, Claim], claim: Claim) -> Claim:
    claims[claim.key] = claims[claim.name] = claim
    return claim


def _node(node: NodeAnswer, shares: dict[str, str]) -> Object:
    answered: Object = {"node": node.node, "result": None}
    if node.result is not None:
        answered["result"] = [_result(result, shares) for result in node.result]
    if node.error:
        answered |= {"error": node.error, "errorKind": node.error_kind}
    return answered


def _result(result: Object, shares: dict[str, str]) -> Object:
    """As JSON, with shares numbered as they appear."""
    encoded = encode(_SCHEMA, "AllocationResult", result)
    for device in encoded["devices"].get("results") or ():
        if "shareID" in device:
            device["shareID"] = shares.setdefault(device["shareID"], f"share-{len(shares)}")
    return encoded


def compare(case: Case, answered: Object) -> Comparison:
    """Verdict: every pod is placed alike, every node has the same allocation or the same kind of error.

    Answer: the texts of errors are the same as well.
    """
    expected = case["expect"]
    if answered.get("reason") == "Crash":
        return Comparison(False, False, [("pods", None, answered["message"])])
    differences: list[tuple[str, Json, Json]] = []
    verdict = same_json(_without_texts(expected), _without_texts(answered))
    if expected["implementation"] != answered["implementation"]:
        differences.append(("implementation", expected["implementation"], answered["implementation"]))
    for left, right in zip(expected["pods"], answered["pods"], strict=True):
        if not same_json(left, right):
            differences.append((f"pod {left['name']}", left, right))
    return Comparison(verdict, not differences, differences)


def _without_texts(expected: Object) -> list[Object]:
    return [
        {**pod, "nodes": [{key: node[key] for key in node if key != "error"} for node in pod["nodes"]]}
        for pod in expected["pods"]
    ]
