"""The cases of `tests/claimcheck/data/outcomes`, put before a real control plane."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from resourceapi.gates import UNRELEASED_GATES
from resourceapi.manifests import mapping, name_of
from tests.claimcheck.outcome_objects import CORE, NAMESPACE, Object
from tests.claimcheck.outcomes import Case, bound, unbound
from tests.e2e.client import Client
from tests.e2e.control_plane import component, control_plane
from tests.e2e.scheduled import UNKNOWN, settle, state_of

NAMESPACED = {
    "ResourceClaim": "resourceclaims",
    "ResourceClaimTemplate": "resourceclaimtemplates",
    "Pod": "pods",
    "PodGroup": "podgroups",
}
RESOURCES = {
    "Node": "nodes",
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
    "DeviceTaintRule": "devicetaintrules",
    "PriorityClass": "priorityclasses",
    **NAMESPACED,
}
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
CLAIMS = f"/apis/resource.k8s.io/v1/namespaces/{NAMESPACE}/resourceclaims"
#: For so many seconds outcomes have to stay the same, and so long all of them may take.
STEADY, PATIENCE = 5.0, 120.0

Outcomes = dict[str, dict[str, Object]]


def asked(found: Collection[Case]) -> Outcomes:
    """What becomes of the pods of all cases, by case and pod: one server for those with the same gates."""
    outcomes: Outcomes = {}
    for gates in sorted({tuple(sorted(set(case.gates) - UNRELEASED_GATES.keys())) for case in found}):
        together = [case for case in found if set(case.gates) - UNRELEASED_GATES.keys() == set(gates)]
        with server_with(gates) as client:
            outcomes |= outcomes_of(client, together)
    return outcomes


@contextmanager
def server_with(gates: Sequence[str]) -> Iterator[Client]:
    """A server with these gates on, a scheduler and a controller that makes claims from templates."""
    flags = ["--feature-gates=" + ",".join(f"{each}=true" for each in gates)] if gates else []
    with (
        control_plane("1.37", flags=[*flags, "--runtime-config=api/all=true"]) as server,
        component(server, "kube-controller-manager", [*flags, "--controllers=resourceclaim-controller"]),
        component(server, "kube-scheduler", [*flags, "--kube-api-qps=500", "--kube-api-burst=1000"]),
    ):
        label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
        _change(server.client, f"/api/v1/namespaces/{NAMESPACE}", label)
        yield server.client


def outcomes_of(client: Client, found: Sequence[Case], scheduler: str = "default-scheduler") -> Outcomes:
    """The pods of all cases at the same time, those of each one after the other.

    :param scheduler: which one is to place them.
    """
    for case in found:
        uids: dict[str, str] = {}
        for each in case.objects:
            make(client, each, uids)
    settle(client, scheduler)
    outcomes: Outcomes = {case.name: {} for case in found}
    gone = {case.name: set[str]() for case in found}
    for turn in range(max(len(case.pods) for case in found)):
        waiting = [(case, list(case.pods)[turn]) for case in found if turn < len(case.pods)]
        for case, pod in waiting:
            asked = case.pods[pod]
            make(client, {**asked, "spec": {**asked["spec"], "schedulerName": scheduler}}, {})
        for (case, name), (outcome, leaving) in zip(waiting, _ended(client, waiting), strict=True):
            evicted = sorted(leaving - gone[case.name])
            gone[case.name] |= leaving
            outcomes[case.name][name] = outcome | ({"evicts": evicted} if evicted else {})
    return outcomes


def _ended(client: Client, waiting: Sequence[tuple[Case, str]]) -> list[tuple[Object, set[str]]]:
    """What has become of each pod once nothing changes any more, and which pods of its case are leaving."""
    deadline = time.monotonic() + PATIENCE
    since, last = time.monotonic(), None
    while True:
        pods = {name_of(each): each for each in all_of(client, PODS)}
        claims = {name_of(each): each for each in all_of(client, CLAIMS)}
        found = [
            (outcome_of(case, pods[f"{case.name}-{name}"], claims), _leaving(case, pods))
            for case, name in waiting
        ]
        now = time.monotonic()
        if found != last:
            since, last = now, found
        steady = STEADY if all("waits" not in outcome for outcome, _ in found) else 2 * STEADY
        if now > since + steady:
            return found
        assert now < deadline, "outcomes keep changing"
        time.sleep(0.5)


def outcome_of(case: Case, pod: Object, claims: Mapping[str, Object]) -> Object:
    state = state_of(pod)
    if state.message:
        return unbound(case.name, state.message)
    status = mapping(pod, "status")
    made = {each["name"]: each.get("resourceClaimName") for each in status.get("resourceClaimStatuses", ())}
    names = {
        each["name"]: each.get("resourceClaimName") or made.get(each["name"])
        for each in pod["spec"].get("resourceClaims", ())
    }
    names["extended"] = mapping(status, "extendedResourceClaimStatus").get("resourceClaimName")
    held = {
        name: mapping(claims[claim], "status") for name, claim in names.items() if claim and claim in claims
    }
    if state.outcome != UNKNOWN:
        return bound(case.name, pod, state.node, status, held)
    node = status.get("nominatedNodeName", "")
    return {"waits": True, **(bound(case.name, pod, node, status, held) if node else {})}


def _leaving(case: Case, pods: Mapping[str, Object]) -> set[str]:
    start = f"{case.name}-"
    return {
        name.removeprefix(start)
        for name, pod in pods.items()
        if pod["metadata"].get("deletionTimestamp") and pod["spec"]["nodeSelector"]["outcome"] == case.name
    }


def all_of(client: Client, path: str) -> list[Object]:
    found: list[Object] = client.ask("GET", path).body["items"]
    return found


def make(client: Client, obj: Object, uids: dict[str, str]) -> None:
    """Make an object with its status.

    :param uids: those that pods have got instead of the ones of the case.
    """
    version, kind, name = obj["apiVersion"], obj["kind"], name_of(obj)
    base = f"/api/{version}" if version == CORE else f"/apis/{version}"
    path = f"{base}{f'/namespaces/{NAMESPACE}' if kind in NAMESPACED else ''}/{RESOURCES[kind]}"
    leaving = obj["metadata"].get("deletionTimestamp")
    metadata = {key: each for key, each in obj["metadata"].items() if key not in ("uid", "deletionTimestamp")}
    answer = client.ask("POST", path, {**obj, "metadata": metadata})
    if kind == "PriorityClass" and answer.code == 409:
        return
    assert answer.code == 201, (path, json.dumps(answer.body)[:800])
    if kind == "Pod" and "uid" in obj["metadata"]:
        uids[obj["metadata"]["uid"]] = answer.body["metadata"]["uid"]
    if kind == "Node":
        ready = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
        _change(client, f"{path}/{name}/status", {"status": {**obj["status"], "conditions": [ready]}})
        _change(client, f"{path}/{name}", {"spec": {"taints": obj["spec"].get("taints")}})
    elif kind == "ResourceClaim" and "status" in obj:
        users = [
            {**each, "uid": uids.get(each["uid"], each["uid"])}
            for each in obj["status"].get("reservedFor", ())
        ]
        _change(client, f"{path}/{name}/status", {"status": {**obj["status"], "reservedFor": users}})
    if leaving:
        client.ask("DELETE", f"{path}/{name}")


def _change(client: Client, path: str, body: Any) -> None:
    answer = client.ask("PATCH", path, body, content_type="application/merge-patch+json")
    assert answer.code == 200, (path, answer.body)
