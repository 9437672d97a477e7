"""What events tell of others: nothing by name, and no values of devices, taints or labels."""

from __future__ import annotations

from typing import Any

import pytest

from claimcheck.watching.waiting_pods import QUIET_SECONDS
from resourceapi.objects import Object
from tests.claimcheck.watching.test_waiting_pods import DRIVER, Watched, pod

#: A pod that requires a label which no node has is told what would help on nodes that have it.
NOWHERE = {"nodeSelector": {"foo": "bar"}}
SECRET_LABELS = {"internal.example.com/customer": "acme-secret-42", "secret-label-key": "secret-1"}
MODEL = f'device.attributes["{DRIVER}"].model'
MEMORY = f'device.capacity["{DRIVER}"].memory'
TOLERANT = {"tolerations": [{"operator": "Exists"}]}


def _note(watched: Watched, spec: Object, **exactly: Any) -> str:
    """What `other/p` is told, which wants a GPU."""
    request = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1, **exactly}
    devices = {"requests": [{"name": "gpu", "exactly": request}]}
    metadata = {"name": "p", "namespace": "other", "uid": "claim-p"}
    watched.put("ResourceClaim", {"metadata": metadata, "spec": {"devices": devices}, "status": {}})
    watched.put("Pod", pod("p", "other", spec=spec))
    watched.after(0.0)
    ((name, note),) = watched.after(QUIET_SECONDS)
    assert name == "other/p"
    return note


def _labelled() -> Watched:
    watched = Watched()
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "20"}}
    watched.put("Node", {"metadata": {"name": "node-1", "labels": SECRET_LABELS}, "status": status})
    return watched


@pytest.mark.parametrize(
    ("selector", "words"),
    [
        ({"foo": "bar"}, "without its nodeSelector foo=bar"),
        (
            {"internal.example.com/customer": "acme-secret-43"},
            "with another label instead of internal.example.com/customer=acme-secret-43 in its nodeSelector",
        ),
        (
            {"secret-lable-key": "secret-1"},
            "with another label instead of secret-lable-key in its nodeSelector",
        ),
    ],
    ids=["nothing-near", "value", "key"],
)
def test_pods_and_claims_of_others_are_counted_and_labels_are_not_told(
    selector: dict[str, str], words: str
) -> None:
    note = _note(_labelled(), {"nodeSelector": selector})
    assert f"it would fit {words}, and if 1 claim of another namespace were released (on node-1)" in note
    assert "train" not in note
    assert "acme-secret-42" not in note
    assert "secret-label-key" not in note


def test_taints_of_nodes_are_not_told() -> None:
    watched = Watched()
    taint = {"key": "acme.example/reserved-for", "value": "customer-42", "effect": "NoSchedule"}
    status = {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "20"}}
    watched.put("Node", {"metadata": {"name": "node-1"}, "spec": {"taints": [taint]}, "status": status})
    note = _note(watched, {})
    assert (
        "it would fit with a toleration for the node's taint, and if 1 claim of another namespace were"
        in note
    )
    assert "reserved-for" not in note
    assert "customer-42" not in note


def test_pods_that_would_be_evicted_are_counted() -> None:
    watched = Watched()
    watched.claim("train")
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "6"}}}
    victim = {"resourceClaims": [], "containers": [container], "priority": 7}
    watched.put("Pod", pod("secret-pod", "secret-namespace", node="node-1", spec=victim))
    note = _note(watched, {"containers": [container], "priority": 1_000})
    assert (
        "once kube-scheduler has evicted 1 pod of a lower priority, as it does for a priority of 1,000"
        in note
    )
    assert "secret" not in note


@pytest.mark.parametrize("spec", [{}, NOWHERE], ids=["eligible", "with another node"])
@pytest.mark.parametrize(
    ("exactly", "words"),
    [
        ({}, "with a toleration for a device taint"),
        (
            {"selectors": [f'{MODEL} == "secret-model-x"'], **TOLERANT},
            'with another value instead of "secret-',
        ),
        (
            {"selectors": [f'{MODEL} == "Secret-Modle-X"'], **TOLERANT},
            'with another value instead of "Secret-',
        ),
        ({"capacity": {"requests": {"memory": "90Gi"}}, **TOLERANT}, "with less of memory in request gpu"),
        ({"selectors": [f'{MEMORY}.isGreaterThan(quantity("90Gi"))'], **TOLERANT}, "without the selector"),
    ],
    ids=["taint", "value", "misspelt value", "capacity", "selector"],
)
def test_what_devices_have_is_not_told(exactly: Object, words: str, spec: Object) -> None:
    watched = Watched()
    taints = [{"key": "acme.example/reserved-for", "value": "customer-42", "effect": "NoSchedule"}]
    device = {
        "name": "gpu-1",
        "attributes": {"model": {"string": "Secret-Model-X"}},
        "capacity": {"memory": {"value": "81559Mi"}},
        "taints": taints,
    }
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    made = {"driver": DRIVER, "nodeName": "node-1", "pool": pool, "devices": [device]}
    watched.put("ResourceSlice", {"metadata": {"name": "node-1"}, "spec": made})
    wanted = dict(exactly)
    wanted["selectors"] = [{"cel": {"expression": each}} for each in exactly.get("selectors", ())]
    note = _note(watched, spec, **wanted)
    assert words in note
    for secret in ("reserved-for", "customer-42", "Secret-Model-X", "81559"):
        assert secret not in note, note


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate", "PodGroup"])
def test_namespaces_of_others_that_have_what_is_missing_are_not_told(kind: str) -> None:
    """Whoever may create pods could find out by any name that they guess who has what."""
    watched = Watched("GenericWorkload")
    claims = {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}}
    specs: dict[str, Object] = {
        "ResourceClaim": claims,
        "ResourceClaimTemplate": {"spec": claims},
        "PodGroup": {"schedulingPolicy": {"gang": {"minCount": 1}}},
    }
    asks: dict[str, Object] = {
        "ResourceClaim": {"resourceClaims": [{"name": "a", "resourceClaimName": "payroll"}]},
        "ResourceClaimTemplate": {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "payroll"}]},
        "PodGroup": {"resourceClaims": [], "schedulingGroup": {"podGroupName": "payroll"}},
    }
    watched.put(kind, {"metadata": {"name": "payroll", "namespace": "secret-customer"}, "spec": specs[kind]})
    watched.put("Pod", pod("probe", "other", conditions=[], spec=asks[kind]))
    watched.after(0.0)
    nouns = {"ResourceClaim": "claim", "ResourceClaimTemplate": "template", "PodGroup": "PodGroup"}
    note = f"waits for {nouns[kind]} other/payroll, which does not exist"
    assert watched.after(QUIET_SECONDS) == [("other/probe", note)]
