"""Objects of random clusters at a real server: made, listed, and deleted again with all that controllers have made of them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import NamedTuple

from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import Object
from tests.e2e.client import Client
from tests.e2e.control_plane import ApiServer
from tests.e2e.scheduling_cluster import until
from tests.e2e.test_device_patches import install

#: Kinds whose objects make pods, those first that make others of them.
OWNERS = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job")
MERGE = "application/merge-patch+json"


class _Resource(NamedTuple):
    """Where the objects of a kind are."""

    prefix: str
    name: str
    is_namespaced: bool = False


_DEVICES = "/apis/resource.k8s.io/v1"
_RESOURCES = {
    "Deployment": _Resource("/apis/apps/v1", "deployments", True),
    "StatefulSet": _Resource("/apis/apps/v1", "statefulsets", True),
    "DaemonSet": _Resource("/apis/apps/v1", "daemonsets", True),
    "ReplicaSet": _Resource("/apis/apps/v1", "replicasets", True),
    "Job": _Resource("/apis/batch/v1", "jobs", True),
    "Pod": _Resource("/api/v1", "pods", True),
    "ResourceClaim": _Resource(_DEVICES, "resourceclaims", True),
    "ResourceClaimTemplate": _Resource(_DEVICES, "resourceclaimtemplates", True),
    "ResourceQuota": _Resource("/api/v1", "resourcequotas", True),
    "Node": _Resource("/api/v1", "nodes"),
    "ResourceSlice": _Resource(_DEVICES, "resourceslices"),
    "DeviceClass": _Resource(_DEVICES, "deviceclasses"),
    "DeviceTaintRule": _Resource(_DEVICES, "devicetaintrules"),
    "ResourceSlicePatch": _Resource(f"/apis/{OWN_GROUP}/v1alpha3", "resourceslicepatches"),
}


class LiveObjects:
    """What there is in some namespaces of a server, and in the cluster as a whole.

    :param kinds: those that are looked at and deleted.
    :param namespaces: the first is that of objects which name none.
    """

    def __init__(
        self, client: Client, namespaces: Collection[str], kinds: Collection[str] = tuple(_RESOURCES)
    ) -> None:
        self.client = client
        self.kinds = kinds
        self._namespaces = list(namespaces)
        for each in namespaces:
            client.ask("POST", "/api/v1/namespaces", {"metadata": {"name": each}})

    def path(self, kind: str, name: str = "", namespace: str = "") -> str:
        """Where an object is, or without a name all of its kind in a namespace."""
        found = _RESOURCES[kind]
        inside = f"/namespaces/{namespace or self._namespaces[0]}" if found.is_namespaced else ""
        return f"{found.prefix}{inside}/{found.name}{name and f'/{name}'}"

    def of(self, kind: str) -> list[Object]:
        """All of a kind, each with its kind."""
        return [
            {**each, "kind": kind}
            for namespace in self._namespaces_of(kind)
            for each in self.client.ask("GET", self.path(kind, namespace=namespace)).body["items"]
        ]

    def all(self) -> list[Object]:
        """All of them."""
        return [each for kind in self.kinds for each in self.of(kind)]

    def get(self, kind: str, name: str, namespace: str = "") -> Object:
        """An object as it is now."""
        found: Object = self.client.ask("GET", self.path(kind, name, namespace)).body
        return found

    def node(self, pod: str, namespace: str = "") -> str:
        """Where a pod is; empty if it is nowhere."""
        return str(self.get("Pod", pod, namespace).get("spec", {}).get("nodeName", ""))

    def make(self, obj: Object) -> None:
        """Create an object, without what a server has added to it."""
        kind, metadata = obj["kind"], obj["metadata"]
        known = {
            key: metadata[key] for key in ("name", "namespace", "labels", "annotations") if key in metadata
        }
        body = {**obj, "metadata": known}
        if kind == "Pod":
            body.pop("status", None)
        answer = self.client.ask("POST", self.path(kind, namespace=metadata.get("namespace", "")), body)
        assert answer.code == 201, answer.body
        if kind == "Node":  # admission taints what nobody reports on
            self.patch(kind, metadata["name"], {"spec": {"taints": (obj.get("spec") or {}).get("taints")}})

    def patch(self, kind: str, name: str, body: Object) -> None:
        """Change an object of the first namespace, or of the cluster."""
        answer = self.client.ask("PATCH", self.path(kind, name), body, content_type=MERGE)
        assert answer.code == 200, answer.body

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object, and wait until it is gone."""
        path = self.path(kind, name, namespace)
        self.client.ask("DELETE", path, query={"propagationPolicy": "Background"})
        until(lambda: self.client.ask("GET", path).code == 404, f"{kind} {name} is not deleted")

    def clear(self) -> None:
        """Delete all of them, and wait until they are gone."""

        def is_clear() -> bool:
            left = [kind for kind in self.kinds if self.of(kind)]
            for kind in left:
                self._delete_all(kind)
            return not left

        until(is_clear, lambda: f"not deleted: {[kind for kind in self.kinds if self.of(kind)]}")

    def _delete_all(self, kind: str) -> None:
        for namespace in self._namespaces_of(kind):
            path = self.path(kind, namespace=namespace)
            self.client.ask("DELETE", path, query={"propagationPolicy": "Background"})

    def _namespaces_of(self, kind: str) -> list[str]:
        return self._namespaces if _RESOURCES[kind].is_namespaced else [""]


@contextlib.contextmanager
def with_patches(server: ApiServer) -> Iterator[None]:
    """ResourceSlicePatches are served before anybody looks for them, as sidecars look again only now and then."""
    install(server.client)
    yield


def refusal(pod: Object) -> Object | None:
    """The condition that says why a pod is not scheduled; None if nobody has tried, or it is."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next(
        (each for each in conditions if each["type"] == "PodScheduled" and each["status"] == "False"), None
    )
