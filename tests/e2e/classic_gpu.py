"""The GPU driver beside a real control plane of 1.30, deployed as its manifests say but for the container."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from classic.gpu.ledger import allocation_of
from manifests.kustomize import DIRECTORY, render
from resourceapi.objects import Object
from tests.case_files import read_all
from tests.e2e.classic_cluster import GROUP, ClassicCluster, until
from tests.e2e.programs import Program, running

NAMESPACE = "claimcheck-classic-gpu"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:claimcheck-classic-gpu"
DRIVER, SECOND_DRIVER = "gpu.example.com", "second.example.com"
EXAMPLES = DIRECTORY / "examples" / "classic-gpu"
GI = 1 << 30
_WORKLOADS = ("Deployment", "DaemonSet")
_COLLECTIONS = {
    "Namespace": "/api/v1/namespaces",
    "Lease": "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{namespace}/networkpolicies",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets",
    "ServiceAccount": "/api/v1/namespaces/{namespace}/serviceaccounts",
    "Pod": "/api/v1/namespaces/{namespace}/pods",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "Role": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles",
    "RoleBinding": "/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ResourceClass": f"{GROUP}/resourceclasses",
    "ResourceClaim": f"{GROUP}/namespaces/{{namespace}}/resourceclaims",
    "ResourceClaimTemplate": f"{GROUP}/namespaces/{{namespace}}/resourceclaimtemplates",
    "PodSchedulingContext": f"{GROUP}/namespaces/{{namespace}}/podschedulingcontexts",
    "GPURequirements": "/apis/gpu.example.com/v1/namespaces/{namespace}/gpurequirements",
    "GPUInit": "/apis/gpu.example.com/v1/gpuinits",
}


class GPUCluster:
    """A control plane of 1.30 where the driver's CRDs, roles and class are applied; objects are in the namespace default."""

    def __init__(self, cluster: ClassicCluster) -> None:
        self.cluster = cluster
        self.client = cluster.client
        for obj in render(DIRECTORY / "classic-gpu"):
            if obj["kind"] not in _WORKLOADS:
                self.create(obj)
        until(lambda: self._serves("gpurequirements") and self._serves("gpuinits"), "CRDs not served")

    def _serves(self, resource: str) -> bool:
        return self.client.ask("GET", f"/apis/gpu.example.com/v1/{resource}").code == 200

    def create(self, *objects: Object) -> None:
        """Create objects, strictly."""
        for obj in objects:
            namespace = obj["metadata"].get("namespace", "default")
            path = _COLLECTIONS[obj["kind"]].format(namespace=namespace)
            answer = self.client.ask("POST", path, obj, {"fieldValidation": "Strict"})
            assert answer.code == 201, answer.body

    def create_all(self, file: Path) -> None:
        """Create the objects of a file."""
        self.create(*read_all(file.read_text()))

    def path(self, kind: str, name: str) -> str:
        """Where an object is."""
        return f"{_COLLECTIONS[kind].format(namespace='default')}/{name}"

    def get(self, kind: str, name: str) -> Object | None:
        """An object, None if there is none."""
        answer = self.client.ask("GET", self.path(kind, name))
        return answer.body if answer.code == 200 else None

    def all(self, kind: str) -> list[Object]:
        """All objects of a kind in the namespace."""
        found: list[Object] = self.client.ask("GET", _COLLECTIONS[kind].format(namespace="default")).body[
            "items"
        ]
        return found

    def delete(self, kind: str, name: str) -> None:
        """Delete an object, at once, as no kubelet confirms the end of a pod."""
        self.client.ask("DELETE", self.path(kind, name), {"gracePeriodSeconds": 0})

    def node_of(self, pod: str) -> str:
        """The node that a pod is bound to; empty if to none."""
        found = self.get("Pod", pod)
        return str(found["spec"].get("nodeName", "")) if found else ""

    def bound(self, pod: str, log: Program) -> str:
        """The node of a pod, once it is bound."""
        until(lambda: bool(self.node_of(pod)), f"{pod} is not bound: {log.last_words(30)}")
        return self.node_of(pod)

    def claims_of(self, pod: str) -> list[Object]:
        """The claims of a pod."""
        found = self.get("Pod", pod)
        assert found is not None
        statuses = found["status"].get("resourceClaimStatuses", [])
        made = {each["name"]: each.get("resourceClaimName") for each in statuses}
        names = [
            each["source"].get("resourceClaimName") or made.get(each["name"])
            for each in found["spec"]["resourceClaims"]
        ]
        claims = [self.get("ResourceClaim", name) for name in names if name]
        return [claim for claim in claims if claim is not None]

    def events_about(self, name: str) -> set[str]:
        """The notes of the driver's events about an object."""
        found = self.client.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events").body["items"]
        return {
            each["note"]
            for each in found
            if each["regarding"].get("name") == name
            and each.get("reportingController", "").endswith("/resource-driver")
        }


@contextlib.contextmanager
def gpu_driver(gpus: GPUCluster, log: Path, *flags: str, name: str = DRIVER) -> Iterator[Program]:
    """`claimcheck classic-driver --example gpu` with the rights of its account, until the end."""
    command = [
        str(Path(sys.executable).with_name("claimcheck")),
        *("classic-driver", "--example", "gpu", "--driver-name", name),
        *("--kubeconfig", str(gpus.cluster.kubeconfig), "--as", ACCOUNT),
        *flags,
    ]
    with running(command, log) as driver:
        yield driver


def requirements(name: str, **fields: object) -> Object:
    """Parameters of claims."""
    return {
        "apiVersion": "gpu.example.com/v1",
        "kind": "GPURequirements",
        "metadata": {"name": name},
        **fields,
    }


def claim(name: str, parameters: str = "", *, mode: str = "", of: str = DRIVER) -> Object:
    """A claim of the class `of`."""
    return {"kind": "ResourceClaim", "metadata": {"name": name}, "spec": _spec(parameters, mode, of)}


def template(name: str, parameters: str = "", *, of: str = DRIVER) -> Object:
    """A template of claims of the class `of`."""
    return {
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": _spec(parameters, "", of)},
    }


def _spec(parameters: str, mode: str, of: str) -> Object:
    spec: Object = {"resourceClassName": of}
    if parameters:
        reference = {"apiGroup": "gpu.example.com", "kind": "GPURequirements", "name": parameters}
        spec["parametersRef"] = reference
    if mode:
        spec["allocationMode"] = mode
    return spec


def pod(name: str, *sources: str, cpu: str = "10m") -> Object:
    """A pod with claims: `claim/NAME` or `template/NAME`."""
    entries: list[dict[str, Any]] = []
    for number, source in enumerate(sources):
        kind, _, of = source.partition("/")
        field = {"claim": "resourceClaimName", "template": "resourceClaimTemplateName"}[kind]
        entries.append({"name": f"claim-{number}", "source": {field: of}})
    resources = {"requests": {"cpu": cpu}, "claims": [{"name": each["name"]} for each in entries]}
    container = {"name": "c", "image": "my-app", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"resourceClaims": entries, "containers": [container]},
    }


def used(claims: Sequence[Object], driver: str = DRIVER) -> Counter[tuple[str, str]]:
    """The bytes of each GPU, by node and name, that claims have."""
    total: Counter[tuple[str, str]] = Counter()
    for each in claims:
        found = allocation_of(driver, each.get("status", {}).get("allocation") or {})
        if found is not None:
            for gpu, memory in found.memory.items():
                total[found.node, gpu] += memory
    return total
