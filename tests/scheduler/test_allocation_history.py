"""The judge of e2e runs finds each fault that it is there for, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from resourceapi.records.claims import FOR_EXTENDED_RESOURCES
from tests.e2e.allocation_history import FINALIZER, RESOURCE_OF_CLASS, Judge
from tests.e2e.etcd_history import FIRST, Change

CASES = yaml.safe_load(Path(__file__).with_name("data").joinpath("histories.yaml").read_text())
DRIVER, POOL = "gpu.example.com", "n"


@pytest.mark.parametrize("case", [pytest.param(case, id=case["case"]) for case in CASES])
def test_judge(case: dict[str, Any]) -> None:
    """What a history is judged to be."""
    judge = Judge()
    for revision, change in enumerate(case["changes"], FIRST):
        judge.see(_change(revision, change))
    assert [fault.replace("ns/", "") for fault in judge.faults] == case["faults"]
    assert [leak.replace("ns/", "") for leak in judge.leaks()] == case["leaks"]


def _change(revision: int, change: dict[str, Any]) -> Change:
    if "slice" in change:
        return Change(revision, "resourceslices", change["slice"], _slice(change))
    if "claim" in change:
        return Change(revision, "resourceclaims", f"ns/{change['claim']}", _claim(change))
    if "group" in change and "pod" not in change:
        return Change(revision, "podgroups", f"ns/{change['group']}", _group(change))
    if "pod" in change:
        return Change(revision, "pods", f"ns/{change['pod']}", _pod(change))
    resource, name = change["gone"].split("/")
    return Change(revision, resource, f"ns/{name}", None)


def _slice(change: dict[str, Any]) -> dict[str, Any]:
    devices = [
        {
            "name": name,
            "capacity": _values(device.get("capacity", {})),
            "consumesCounters": [
                {"counterSet": counter_set, "counters": _values(counters)}
                for counter_set, counters in device.get("draws", {}).items()
            ],
        }
        for name, device in change.get("devices", {}).items()
    ]
    sets = [
        {"name": name, "counters": _values(counters)} for name, counters in change.get("counters", {}).items()
    ]
    pool = {"name": POOL, "generation": 1, "resourceSliceCount": 1}
    return {"spec": {"driver": DRIVER, "pool": pool, "devices": devices, "sharedCounters": sets}}


def _claim(change: dict[str, Any]) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if change.get("holds"):
        field = {"key": "metadata.name", "operator": "In", "values": [change.get("node", POOL)]}
        status["allocation"] = {
            "devices": {"results": [_result(each) for each in change["holds"]]},
            "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
        }
    if change.get("for"):
        status["reservedFor"] = [{"resource": "pods", "name": name, "uid": name} for name in change["for"]]
    finalizers = [FINALIZER] if status.get("allocation") or change.get("finalizer") else []
    metadata: dict[str, Any] = {"name": change["claim"], "finalizers": finalizers}
    if "made for" in change:
        owner = {"apiVersion": "v1", "kind": "Pod", "controller": True}
        name = change["made for"]
        metadata["ownerReferences"] = [{**owner, "name": name, "uid": name}]
        metadata["annotations"] = {FOR_EXTENDED_RESOURCES: "true"}
    return {"metadata": metadata, "status": status}


def _group(change: dict[str, Any]) -> dict[str, Any]:
    policy = {"gang": {"minCount": change["least"]}}
    return {
        "metadata": {"name": change["group"], "uid": change["group"]},
        "spec": {"schedulingPolicy": policy},
    }


def _result(held: str | dict[str, Any]) -> dict[str, Any]:
    each = {"device": held} if isinstance(held, str) else held
    result = {"driver": DRIVER, "pool": POOL, "request": "r", "device": each["device"]}
    names = {"share": "shareID", "capacity": "consumedCapacity", "adminAccess": "adminAccess"}
    return result | {names[key]: value for key, value in each.items() if key in names}


def _pod(change: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "nodeName": change.get("node", ""),
        "resourceClaims": [{"name": name, "resourceClaimName": name} for name in change.get("claims", ())],
    }
    status: dict[str, Any] = {}
    if "group" in change:
        spec["schedulingGroup"] = {"podGroupName": change["group"]}
    if "made" in change:
        spec["containers"] = [{"resources": {"requests": {f"{RESOURCE_OF_CLASS}gpu": "1"}}}]
        status["extendedResourceClaimStatus"] = {"resourceClaimName": change["made"]}
    return {"metadata": {"name": change["pod"], "uid": change["pod"]}, "spec": spec, "status": status}


def _values(named: dict[str, str]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in named.items()}
