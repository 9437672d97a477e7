"""Pods that ask for devices by extended resources, in the same cluster twice, and what becomes of them: beside names and times, it is to be the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from resourceapi.objects import Object
from tests.e2e.scheduled_pods import GROUP, Workloads
from tests.e2e.scheduling_cluster import SCHEDULER_NAME, until

GPU, NIC, SHARE, PART = (f"example.com/{each}" for each in ("gpu", "nic", "share", "part"))
IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
DEVICES, PLUGIN = "n-devices", "n-plugin"
MERGE = "application/merge-patch+json"
CLAIMS = f"{GROUP}/namespaces/default/resourceclaims"


def container(name: str, restart: str = "", **amounts: int) -> Object:
    """A container with these requests."""
    names = {
        "gpu": GPU,
        "nic": NIC,
        "share": SHARE,
        "part": PART,
        "implicit": IMPLICIT,
        "other": "example.com/other",
    }
    asked = {names.get(key, key): str(amount) for key, amount in amounts.items()}
    found: Object = {"name": name, "image": "x", "resources": {"requests": asked, "limits": asked}}
    return {**found, "restartPolicy": restart} if restart else found


class Case(NamedTuple):
    """A pod.

    :param node: the only node on which it may run, if it is not to be chosen.
    :param is_bound: whether it is bound, or else waits.
    """

    containers: Sequence[Object]
    init: Sequence[Object] = ()
    node: str = DEVICES
    claim: bool = False
    is_bound: bool = True


CASES: Mapping[str, Case] = {
    "one-container": Case([container("a", gpu=1, cpu=1)]),
    "two-containers": Case([container("a", gpu=1), container("b", gpu=2)]),
    "two-resources": Case([container("a", gpu=1, nic=1), container("b", nic=1)]),
    "implicit-name": Case([container("a", implicit=2)]),
    "both-names": Case([container("a", implicit=1, gpu=1)]),
    "init-containers": Case(
        [container("a", gpu=1)],
        [container("i", gpu=3), container("s", "Always", gpu=1), container("j", gpu=2)],
    ),
    "init-container-that-needs-no-more": Case([container("a", gpu=2)], [container("i", gpu=1)]),
    "largest-of-init-containers": Case(
        [container("a", gpu=1)], [container("i", gpu=2), container("j", gpu=4)]
    ),
    "with-a-claim": Case([container("a", gpu=1)], claim=True),
    "from-a-device-plugin": Case([container("a", gpu=2)], node=PLUGIN),
    "one-of-two-from-a-device-plugin": Case([container("a", gpu=1, nic=1)], node=PLUGIN),
    "more-than-the-device-plugin-has": Case([container("a", gpu=9)], node=PLUGIN, is_bound=False),
    "only-the-device-plugin-has-enough": Case([container("a", gpu=7)], node=""),
    "only-there-are-devices": Case([container("a", share=1)], node=""),
    "too-many": Case([container("a", gpu=6)], is_bound=False),
    "more-than-a-claim-may-have": Case([container("a", gpu=40)], is_bound=False),
    "error-on-another-node": Case([container("a", part=40)], node="", is_bound=False),
    "no-class": Case([container("a", other=1)], is_bound=False),
    "none": Case([container("a", gpu=0)]),
}


def prepare(workloads: Workloads) -> None:
    """A node with devices, and one with NICs of a driver and GPUs of a device plugin."""
    client = workloads.client
    for name, resource in (("gpu", GPU), ("nic", NIC), ("share", SHARE), ("part", PART)):
        spec = {
            "extendedResourceName": resource,
            "selectors": [{"cel": {"expression": f"device.driver == '{name}.example.com'"}}],
        }
        body = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name}}
        answer = client.ask("POST", f"{GROUP}/deviceclasses", {**body, "spec": spec})
        assert answer.code == 201, answer.body
    workloads.add_node(
        DEVICES, [_slice(DEVICES, "gpu", 5), _slice(DEVICES, "nic", 2), _slice(DEVICES, "share", 1)]
    )
    workloads.add_node(PLUGIN, [_slice(PLUGIN, "nic", 2)])
    amounts = {GPU: "8", PART: "64"}
    answer = client.ask(
        "PATCH",
        f"/api/v1/nodes/{PLUGIN}/status",
        {"status": {"capacity": amounts, "allocatable": amounts}},
        content_type=MERGE,
    )
    assert answer.code == 200, answer.body


def _slice(node: str, kind: str, count: int) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node}-{kind}"},
        "spec": {
            "driver": f"{kind}.example.com",
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"{kind}-{number}"} for number in range(count)],
        },
    }


def submit(workloads: Workloads, name: str, case: Case, gates: Sequence[str] = ()) -> None:
    """Create the pod, with its claim if it has one.

    :param gates: scheduling gates that keep it back.
    """
    spec: Object = {
        "schedulerName": SCHEDULER_NAME,
        "terminationGracePeriodSeconds": 0,
        "containers": list(case.containers),
        "initContainers": list(case.init),
        "nodeSelector": {"kubernetes.io/hostname": case.node} if case.node else {},
        "schedulingGates": [{"name": each} for each in gates],
    }
    if case.claim:
        requests = [{"name": "g", "exactly": {"deviceClassName": "gpu"}}]
        answer = workloads.create_claim("named", {"devices": {"requests": requests}})
        assert answer.code == 201, answer.body
        spec["resourceClaims"] = [{"name": "g", "resourceClaimName": "named"}]
    body = {"metadata": {"name": name}, "spec": spec}
    answer = workloads.client.ask("POST", "/api/v1/namespaces/default/pods", body)
    assert answer.code == 201, answer.body


def outcome(workloads: Workloads, name: str, case: Case) -> Object:
    """Where the pod is, its claims with owners and allocation, and what its status says of them."""
    if case.is_bound:
        workloads.bound(name)
    else:
        until(lambda: _was_refused(workloads.pod(name)), lambda: str(workloads.pod(name)))
    pod = workloads.pod(name)
    claims = workloads.client.ask("GET", CLAIMS).body["items"]
    names = {
        each["metadata"]["name"]: f"claim {place}"
        for place, each in enumerate(sorted(claims, key=_made_last))
    }
    status = pod["status"].get("extendedResourceClaimStatus")
    if status is not None:
        status = {**status, "resourceClaimName": names[status["resourceClaimName"]]}
    return {
        "node": pod["spec"].get("nodeName"),
        "status": status,
        "claims": [_told(each, pod) for each in sorted(claims, key=_made_last)],
    }


def _was_refused(pod: Any) -> bool:
    """Whether an attempt has ended, by an error or because it fits nowhere."""
    return any(
        each["type"] == "PodScheduled" and each["status"] == "False" and each["reason"] != "SchedulingGated"
        for each in pod["status"].get("conditions", ())
    )


def _made_last(claim: Any) -> bool:
    return "ownerReferences" in claim["metadata"]


def _told(claim: Any, pod: Any) -> Object:
    metadata, status = claim["metadata"], claim.get("status", {})
    uid = pod["metadata"]["uid"]
    allocation = dict(status.get("allocation") or {})
    allocation.pop("allocationTimestamp", None)
    return {
        "prefix": metadata.get("generateName"),
        "annotations": metadata.get("annotations"),
        "finalizers": metadata.get("finalizers"),
        "owners": [{**each, "uid": each["uid"] == uid} for each in metadata.get("ownerReferences", ())],
        "spec": claim["spec"],
        "allocation": allocation,
        "for": [{**each, "uid": each["uid"] == uid} for each in status.get("reservedFor", ())],
    }


def remove(workloads: Workloads, name: str) -> None:
    """Delete the pod, and wait until its claims are gone, as the garbage collector and kube-controller-manager see to it."""
    workloads.delete_pod(name)
    workloads.client.ask("DELETE", f"{CLAIMS}/named")
    until(
        lambda: not workloads.client.ask("GET", CLAIMS).body["items"],
        lambda: str(workloads.client.ask("GET", CLAIMS).body["items"]),
    )
