"""Objects of small clusters, and a driver that does what a test tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from classic.controller import Controller
from classic.driver import ClaimAllocation
from classic.memory_objects import MemoryObjects
from cluster.event_writer import Subject
from resourceapi.manifests import mapping, name_of
from resourceapi.objects import Object

DRIVER = "gpu.example.com"
FINALIZER = f"{DRIVER}/deletion-protection"
RESOURCE_API = "resource.k8s.io/v1alpha2"
NAMESPACE = "default"


def resource_class(name: str = "acme-gpu", driver: str = DRIVER, **more: Any) -> Object:
    return {
        "apiVersion": RESOURCE_API,
        "kind": "ResourceClass",
        "metadata": {"name": name},
        "driverName": driver,
        **more,
    }


def claim(
    name: str = "claim", *, mode: str = "WaitForFirstConsumer", class_name: str = "acme-gpu", **metadata: Any
) -> Object:
    return {
        "apiVersion": RESOURCE_API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
        "spec": {"resourceClassName": class_name, "allocationMode": mode},
    }


def pod(name: str = "pod", **claims: str) -> Object:
    """A pod; the names of its claims by the names that it has for them."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"uid-of-{name}"},
        "spec": {
            "resourceClaims": [
                {"name": key, "source": {"resourceClaimName": each}}
                for key, each in (claims or {"gpu": "claim"}).items()
            ]
        },
    }


def context(
    name: str = "pod", *, selected: str = "", potential: Sequence[str] = (), owner: str = ""
) -> Object:
    reference = {"apiVersion": "v1", "kind": "Pod", "name": name, "controller": True}
    spec: Object = {"potentialNodes": list(potential)} if potential else {}
    return {
        "apiVersion": RESOURCE_API,
        "kind": "PodSchedulingContext",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "ownerReferences": [{**reference, "uid": owner or f"uid-of-{name}"}],
        },
        "spec": {**spec, **({"selectedNode": selected} if selected else {})},
    }


def allocation_on(node: str) -> Object:
    """An AllocationResult for a node; for any node if it is empty."""
    if not node:
        return {"shareable": True}
    matches = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    return {"availableOnNodes": {"nodeSelectorTerms": [{"matchFields": matches}]}}


class FakeDriver:
    """Keeps what it has allocated, by uid of the claims; ``calls`` has all calls.

    :ivar unsuitable: the nodes that it does not like, and
    :ivar says_nothing: whether it returns from `allocate` with neither an allocation nor an error, and
    :ivar failing: what raises, by the name of the method; an exception, or a function that is awaited first.
    """

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.held: dict[str, str] = {}
        self.unsuitable: list[str] = []
        self.says_nothing = False
        self.failing: dict[str, Exception | Callable[[], Awaitable[None]]] = {}

    async def get_class_parameters(self, resource_class: Object) -> object:
        await self._called("get_class_parameters", name_of(resource_class))
        return "class parameters"

    async def get_claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> object:
        await self._called("get_claim_parameters", name_of(claim))
        assert class_parameters == "class parameters"
        return "claim parameters"

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        await self._called("allocate", *(name_of(each.claim) for each in claims), selected_node)
        for each in claims if not self.says_nothing else ():
            assert (each.claim_parameters, each.class_parameters) == ("claim parameters", "class parameters")
            assert FINALIZER in each.claim["metadata"]["finalizers"]
            uid = each.claim["metadata"]["uid"]
            held = self.held.setdefault(uid, selected_node)
            assert held == selected_node, "allocated for another node"
            each.allocation = allocation_on(selected_node)

    async def deallocate(self, claim: Object) -> None:
        await self._called("deallocate", name_of(claim))
        self.held.pop(claim["metadata"]["uid"], None)

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        await self._called(
            "unsuitable_nodes", name_of(pod), *(each.pod_claim_name for each in claims), list(potential_nodes)
        )
        for each in claims:
            each.unsuitable_nodes = [node for node in self.unsuitable if node in potential_nodes]

    async def _called(self, method: str, *about: Any) -> None:
        self.calls.append((method, *about))
        failing = self.failing.get(method)
        if isinstance(failing, Exception):
            raise failing
        if failing is not None:
            await failing()


@dataclass
class Scene:
    """A cluster in memory with one driver's controller."""

    objects: MemoryObjects = field(default_factory=MemoryObjects)
    driver: FakeDriver = field(default_factory=FakeDriver)
    events: list[tuple[str, str, str, str]] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """A new process of the controller."""
        self.controller = Controller(DRIVER, self.driver, self.objects, events=self, **self.options)

    def warn(self, subject: Subject, note: str) -> None:
        """Takes note of events, as a writer of events would."""
        self.events.append((subject.kind, subject.name, subject.action, note))

    def have(self, *objects: Object) -> None:
        for each in objects:
            made = self.objects.create(each)
            if each.get("status"):
                self.objects.update_status(each["kind"], {**made, "status": each["status"]})

    def sync_claim(self, name: str = "claim") -> str:
        return asyncio.run(self.controller.sync_claim(NAMESPACE, name)).name

    def sync_context(self, name: str = "pod") -> str:
        return asyncio.run(self.controller.sync_context(NAMESPACE, name)).name

    def claim(self, name: str = "claim") -> Object:
        found = self.objects.get("ResourceClaim", NAMESPACE, name)
        assert found is not None
        return found

    def status(self, name: str = "claim") -> Object:
        return mapping(self.claim(name), "status")

    def finalizers(self, name: str = "claim") -> list[str]:
        found: list[str] = self.claim(name)["metadata"].get("finalizers", [])
        return found

    def set_status(self, name: str = "claim", **status: Any) -> None:
        self.objects.update_status("ResourceClaim", {**self.claim(name), "status": status})

    def unsuitable(self, name: str = "pod") -> dict[str, list[str]]:
        """The unsuitable nodes of the claims of a pod, as they are stored."""
        found = self.objects.get("PodSchedulingContext", NAMESPACE, name)
        claims = mapping(found, "status").get("resourceClaims", [])
        return {each["name"]: each.get("unsuitableNodes", []) for each in claims}

    def methods(self) -> list[str]:
        """The names of the methods of the driver that were called since the last time, without those for parameters."""
        calls, self.driver.calls = self.driver.calls, []
        return [method for method, *_ in calls if "parameters" not in method]
