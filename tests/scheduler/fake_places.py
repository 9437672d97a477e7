"""What the API server of :mod:`tests.scheduler.fake_api` serves, and where."""

from __future__ import annotations

from typing import NamedTuple

from resourceapi.objects import Object

CORE, RESOURCE, CLASSIC = "/api/v1", "/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1alpha2"
PATCHES = "/apis/claimcheck.example.com/v1alpha3"
SCHEDULING = "/apis/scheduling.k8s.io/v1beta1"
COORDINATION, DISCOVERY = "/apis/coordination.k8s.io/v1", "/apis/discovery.k8s.io/v1"


class Resource(NamedTuple):
    """A resource that is served.

    :param has_status: whether its status is written by requests of its own.
    """

    kind: str
    namespaced: bool = False
    has_status: bool = False


RESOURCES = {
    (CORE, "namespaces"): Resource("Namespace"),
    (CORE, "nodes"): Resource("Node", has_status=True),
    (CORE, "pods"): Resource("Pod", namespaced=True, has_status=True),
    (CORE, "configmaps"): Resource("ConfigMap", namespaced=True),
    (CORE, "secrets"): Resource("Secret", namespaced=True),
    (CORE, "events"): Resource("Event", namespaced=True),
    ("/apis/events.k8s.io/v1", "events"): Resource("Event", namespaced=True),
    (RESOURCE, "resourceclaims"): Resource("ResourceClaim", namespaced=True, has_status=True),
    (RESOURCE, "resourceclaimtemplates"): Resource("ResourceClaimTemplate", namespaced=True),
    (RESOURCE, "resourceslices"): Resource("ResourceSlice"),
    (RESOURCE, "deviceclasses"): Resource("DeviceClass"),
    (RESOURCE, "devicetaintrules"): Resource("DeviceTaintRule", has_status=True),
    (CLASSIC, "resourceclasses"): Resource("ResourceClass"),
    (CLASSIC, "resourceclaims"): Resource("ResourceClaim", namespaced=True, has_status=True),
    (CLASSIC, "podschedulingcontexts"): Resource("PodSchedulingContext", namespaced=True, has_status=True),
    (PATCHES, "resourceslicepatches"): Resource("ResourceSlicePatch"),
    (SCHEDULING, "podgroups"): Resource("PodGroup", namespaced=True, has_status=True),
    (COORDINATION, "leases"): Resource("Lease", namespaced=True),
    (DISCOVERY, "endpointslices"): Resource("EndpointSlice", namespaced=True),
}


class Place(NamedTuple):
    """What a path names; no ``name`` for a collection, no ``namespace`` for one of all namespaces."""

    version: str
    resource: str
    namespace: str
    name: str
    subresource: str

    @classmethod
    def of(cls, path: str) -> Place:
        """The place that a path names."""
        _, *parts = path.split("/")
        size = 2 if parts[0] == "api" else 3
        version, rest = "/" + "/".join(parts[:size]), parts[size:]
        namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            namespace, rest = rest[1], rest[2:]
        resource, name, subresource = [*rest, "", ""][:3]
        return cls(version, resource, namespace, name, subresource)

    def holds(self, obj: Object) -> bool:
        """Whether an object of the resource is in this collection."""
        return not self.namespace or obj["metadata"].get("namespace") == self.namespace
