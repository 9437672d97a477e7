"""Nodes, claims and parameters for tests of the GPU driver, and an API server that has them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from classic.driver import ClaimAllocation
from classic.gpu.driver import GPUDriver
from classic.gpu.inventory import GPUs, NodeGPUs
from classic.gpu.ledger import Allocation, Ledger, allocation_of, allocation_result
from classic.gpu.parameters import GPUInit, GPURequirements, ParameterObjects
from cluster.store import VersionedCollection
from resourceapi.objects import Object
from resourceapi.records.nodes import Node

DRIVER = "gpu.example.com"
GI = 1 << 30
NO_INIT = GPUInit()


def claim(name: str, version: int, allocation: Allocation | None = None) -> Object:
    """A claim in a version, perhaps allocated."""
    status: Object = {}
    if allocation is not None:
        status = {"driverName": DRIVER, "allocation": allocation_result(DRIVER, allocation)}
    return {
        "metadata": {
            "namespace": "tests",
            "name": name,
            "uid": f"uid-of-{name}",
            "resourceVersion": str(version),
        },
        "spec": {"resourceClassName": "acme-gpu"},
        "status": status,
    }


class StoredParameters:
    """Implements :class:`resourceapi.api_client.Api` for the objects that hold parameters."""

    def __init__(self, objects: Mapping[str, Object], code: int = 200) -> None:
        self._objects = objects
        self._code = code

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """The object of a path."""
        assert (verb, body) == ("GET", None)
        if self._code != 200:
            return self._code, {"message": "it is too late"}
        found = self._objects.get(path)
        return (404, {"message": "not found"}) if found is None else (200, found)


class Scene:
    """A driver in a cluster of nodes with so many bytes on each of their GPUs.

    :ivar tick: the seconds that pass between two looks at the clock.
    """

    def __init__(self, **nodes: str) -> None:
        self.tick = 0.0
        self.clock = accumulate(iter(lambda: self.tick, None))
        self.nodes: dict[str, Node] = {}
        self.claims = VersionedCollection[Object](lambda obj: obj, lambda held: held)
        self.ledger = Ledger(DRIVER)
        self.claims.listen(self.ledger.note)
        self.parameters: dict[str, Object] = {}
        for name, gpus in nodes.items():
            count, _, memory = gpus.partition("x")
            labels = {f"{DRIVER}/count": count, f"{DRIVER}/memory": memory}
            self.nodes[name] = Node(name, labels)
        inventory = NodeGPUs(DRIVER, GPUs(0, GI), lambda: self.nodes)
        parameters = ParameterObjects(StoredParameters(self.parameters))
        self.driver = GPUDriver(DRIVER, inventory, self.ledger, parameters, clock=lambda: next(self.clock))

    def ask(self, name: str, memory: str = "2", *, init: GPUInit = NO_INIT) -> ClaimAllocation:
        """A claim, a new one if there is none, that asks for bytes, of several GPUs if there is an ``x``."""
        if f"tests/{name}" not in self.claims.objects:
            self.claims.put(claim(name, 1))
        asking = self.claims.objects[f"tests/{name}"]
        each, _, count = memory.partition("x")
        wanted = GPURequirements(None if each == "all" else int(each), int(count or 1))
        return ClaimAllocation(name, asking, {"metadata": {"name": "acme-gpu"}}, wanted, init)

    async def allocated(self, node: str, *asked: ClaimAllocation) -> str:
        """What an allocation gives, in words."""
        await self.driver.allocate(asked, node)
        return " ".join(described(each) for each in asked)

    async def unsuitable(self, *asked: ClaimAllocation) -> str:
        """Which nodes are unsuitable for all of the claims."""
        await self.driver.unsuitable_nodes({}, asked, sorted(self.nodes))
        (found,) = {tuple(each.unsuitable_nodes) for each in asked}
        return " ".join(found)


def described(each: ClaimAllocation) -> str:
    """``node/gpu=bytes+gpu=bytes``, or the error."""
    if each.error is not None:
        return str(each.error)
    assert each.allocation is not None
    found = allocation_of(DRIVER, each.allocation)
    assert found is not None
    return f"{found.node}/{'+'.join(f'{name[4:]}={memory}' for name, memory in found.memory.items())}"
