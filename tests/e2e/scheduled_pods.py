"""Pods one at a time: created on real servers, and waited for until they are bound, or it is said why not."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from resourceapi.objects import Object
from tests.e2e.client import Answer, Client
from tests.e2e.scheduling_cluster import PATIENCE_SECONDS, SCHEDULER_NAME

GROUP = "/apis/resource.k8s.io/v1"
_READY = {"type": "Ready", "status": "True", "reason": "r", "message": "m"}
_RESOURCES = {"cpu": "64", "memory": "512Gi", "pods": "110"}


class Workloads:
    """What users of one namespace do, and what they see."""

    def __init__(self, client: Client, namespace: str = "default") -> None:
        self.client = client
        self.namespace = namespace

    # --- what there is

    def add_node(self, name: str, slices: Iterable[Object] = ()) -> None:
        """A node that takes pods, with its slices."""
        status = {"capacity": _RESOURCES, "allocatable": _RESOURCES, "conditions": [_READY]}
        metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
        self._created("/api/v1/nodes", {"metadata": metadata, "status": status})
        # Admission taints what is new and not reported on.
        untainted = self.client.ask(
            "PATCH",
            f"/api/v1/nodes/{name}",
            {"spec": {"taints": None}},
            content_type="application/merge-patch+json",
        )
        assert untainted.code == 200, untainted.body
        for each in slices:
            self._created(f"{GROUP}/resourceslices", each)

    def replace_slice(self, slice: Object) -> None:
        """Publish another content of a slice."""
        path = f"{GROUP}/resourceslices/{slice['metadata']['name']}"
        there = self.client.ask("GET", path).body
        answer = self.client.ask("PUT", path, {**there, "spec": slice["spec"]})
        assert answer.code == 200, answer.body

    def add_class(self, name: str = "any") -> None:
        """A DeviceClass that selects all devices."""
        self._created(f"{GROUP}/deviceclasses", {**_typed("DeviceClass", name), "spec": {}})

    def add_template(self, name: str, spec: Object) -> None:
        """A ResourceClaimTemplate."""
        body = {**_typed("ResourceClaimTemplate", name), "spec": {"spec": spec}}
        self._created(f"{GROUP}/namespaces/{self.namespace}/resourceclaimtemplates", body)

    def create_claim(self, name: str, spec: Object) -> Answer:
        """The answer to a claim that a user creates."""
        path = f"{GROUP}/namespaces/{self.namespace}/resourceclaims"
        return self.client.ask("POST", path, {**_typed("ResourceClaim", name), "spec": spec})

    def add_namespace(self) -> None:
        """The namespace, if it is not there from the start."""
        self._created("/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def clear(self) -> None:
        """Delete all pods and claims."""
        for path in (self._pods(), f"{GROUP}/namespaces/{self.namespace}/resourceclaims"):
            answer = self.client.ask("DELETE", path)
            assert answer.code == 200, answer.body

    def add_pod(
        self,
        name: str,
        *,
        claim: str = "",
        claims: Iterable[str] = (),
        template: str = "",
        node: str = "",
        nodes: Iterable[str] = (),
        argument: str = "",
    ) -> None:
        """A pod with a claim, perhaps for some nodes only.

        :param claim: the name of its claim; or `claims`, or
        :param template: of the template for it.
        :param node: where it may run; or `nodes`.
        :param argument: of its container.
        """
        source = {"resourceClaimName": claim} if claim else {"resourceClaimTemplateName": template}
        sources = [{"resourceClaimName": each} for each in claims] or [source]
        spec: Object = {
            "schedulerName": SCHEDULER_NAME,
            "terminationGracePeriodSeconds": 0,
            "resourceClaims": [{"name": f"d{place}", **each} for place, each in enumerate(sources)],
            "containers": [
                {"name": "c", "image": "x", "args": [argument], "resources": {"claims": [{"name": "d0"}]}}
            ],
        }
        if names := [node] if node else list(nodes):
            required = {"key": "kubernetes.io/hostname", "operator": "In", "values": names}
            terms = {"nodeSelectorTerms": [{"matchExpressions": [required]}]}
            spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
        self._created(self._pods(), {"metadata": {"name": name}, "spec": spec})

    def delete_pod(self, name: str) -> None:
        """Delete a pod."""
        answer = self.client.ask("DELETE", f"{self._pods()}/{name}")
        assert answer.code == 200, answer.body

    def run(self, name: str, spec: Object, node: str = "", nodes: Iterable[str] = ()) -> None:
        """A pod with a claim of its own that has its name."""
        answer = self.create_claim(name, spec)
        assert answer.code == 201, answer.body
        self.add_pod(name, claim=name, node=node, nodes=nodes)

    # --- what comes of it

    def pod(self, name: str) -> Any:
        """A pod as it is now."""
        return self.client.ask("GET", f"{self._pods()}/{name}").body

    def claim(self, pod: str) -> Any:
        """The claim of a pod as it is now."""
        listed = self.client.ask("GET", f"{GROUP}/namespaces/{self.namespace}/resourceclaims").body["items"]
        uid = self.pod(pod)["metadata"]["uid"]
        own = [each for each in listed if _is_of(each, pod, uid)]
        assert len(own) == 1, (pod, own)
        return own[0]

    def allocation(self, pod: str) -> Any:
        """What the claim of a pod has got."""
        return self.claim(pod)["status"]["allocation"]

    def devices(self, pod: str) -> list[str]:
        """`request=device` of everything that the claim of a bound pod has got."""
        results = self.allocation(pod)["devices"]["results"]
        return [f"{each['request']}={each['device']}" for each in results]

    def bound(self, name: str) -> str:
        """The node of a pod, once it has one."""
        self._until(name, lambda pod: bool(pod["spec"].get("nodeName")))
        return str(self.pod(name)["spec"]["nodeName"])

    def refused(self, name: str, words: str = "") -> str:
        """What the pod's condition says, once it says that the pod is unschedulable, and has the words."""
        self._until(name, lambda pod: words in _refusal(pod) and bool(_refusal(pod)))
        return _refusal(self.pod(name))

    def events(self, pod: str, reason: str) -> list[str]:
        """The messages of a pod's events with a reason."""
        query = {"fieldSelector": f"involvedObject.name={pod},reason={reason}"}
        found = self.client.ask("GET", f"/api/v1/namespaces/{self.namespace}/events", query=query)
        return [str(each["message"]) for each in found.body["items"]]

    def _until(self, name: str, done: Callable[[Any], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not done(pod := self.pod(name)):
            assert time.monotonic() < deadline, (name, pod["spec"].get("nodeName"), pod["status"])
            time.sleep(0.05)

    def _created(self, path: str, body: Object) -> None:
        answer = self.client.ask("POST", path, body)
        assert answer.code == 201, answer.body

    def _pods(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods"


def _typed(kind: str, name: str) -> Object:
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}}


def _is_of(claim: Any, pod: str, uid: str) -> bool:
    owners = claim["metadata"].get("ownerReferences") or ()
    return claim["metadata"]["name"] == pod or any(each["uid"] == uid for each in owners)


def _refusal(pod: Any) -> str:
    """The message of the condition PodScheduled while that is False."""
    for each in pod["status"].get("conditions") or ():
        if each["type"] == "PodScheduled" and each["status"] == "False" and each["reason"] == "Unschedulable":
            return str(each["message"])
    return ""
