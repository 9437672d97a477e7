"""The GPU driver and its controller together, in a cluster in memory where anything may fail and start again."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from classic.claims import NotYet, SyncError
from classic.controller import Controller
from classic.driver import ClaimAllocation
from classic.gpu.driver import GPUDriver
from classic.gpu.inventory import GPUs, NodeGPUs
from classic.gpu.ledger import Ledger, allocation_of
from classic.gpu.parameters import ParameterObjects
from classic.memory_objects import MemoryObjects, Write
from cluster.store import VersionedCollection
from resourceapi.errors import WriteConflict
from resourceapi.objects import Object
from resourceapi.records.nodes import Node
from tests.classic.gpu.scenes import DRIVER, GI, StoredParameters

NODES = ("node-1", "node-2", "node-3")
SIZES = {"gpu-0": 4 * GI, "gpu-1": 4 * GI}
FIELDS: dict[str, dict[str, object]] = {
    "small": {"memory": "1Gi"},
    "large": {"memory": "3Gi"},
    "both": {"memory": "1Gi", "count": 2},
}
PARAMETERS = "/apis/gpu.example.com/v1/namespaces/tests/gpurequirements"


class Interrupted(Exception):
    """The process has been killed here."""


class InterruptedDriver(GPUDriver):
    """Fails before or after what it has done, as chance has it."""

    chance: random.Random

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        await self._perhaps_fails()
        await super().allocate(claims, selected_node)
        await self._perhaps_fails()

    async def deallocate(self, claim: Object) -> None:
        await self._perhaps_fails()
        await super().deallocate(claim)
        await self._perhaps_fails()

    async def _perhaps_fails(self) -> None:
        await asyncio.sleep(0)
        if self.chance.random() < 0.15:
            raise Interrupted


class SmallCluster:
    """A cluster with three nodes of two GPUs, a driver, and a scheduler that selects nodes at random."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.objects = MemoryObjects()
        self.objects.listeners.append(self.check)
        self.objects.create({"kind": "ResourceClass", "metadata": {"name": "acme-gpu"}, "driverName": DRIVER})
        self.parameters = {
            f"{PARAMETERS}/{name}": {"kind": "GPURequirements", "metadata": {"name": name}, **fields}
            for name, fields in FIELDS.items()
        }
        self.restart()

    def restart(self) -> None:
        """Begin anew, as after a kill: nothing is known but what the cluster has."""
        self.claims = VersionedCollection[Object](lambda obj: obj, lambda held: held)
        ledger = Ledger(DRIVER)
        self.claims.listen(ledger.note)
        self.claims.replace(self.objects.all("ResourceClaim"))
        nodes = {name: Node(name) for name in NODES}
        inventory = NodeGPUs(DRIVER, GPUs(2, 4 * GI), lambda: nodes)
        driver = InterruptedDriver(
            DRIVER, inventory, ledger, ParameterObjects(StoredParameters(self.parameters))
        )
        driver.chance = self.chance
        self.controller = Controller(DRIVER, driver, self.objects)

    def check(self, write: Write) -> None:
        """No GPU is allocated beyond its memory, at any moment."""
        used: Counter[tuple[str, str]] = Counter()
        for claim in self.objects.all("ResourceClaim"):
            found = allocation_of(DRIVER, (claim.get("status") or {}).get("allocation") or {})
            for gpu, memory in found.memory.items() if found else ():
                used[found.node, gpu] += memory  # type: ignore[union-attr]
        assert all(memory <= SIZES[gpu] for (_, gpu), memory in used.items()), used
        if write.kind == "ResourceClaim":
            if write.after is None:
                assert write.before is not None
                self.claims.remove(write.before)
            elif self.chance.random() < 0.7:  # else the watch is late
                self.claims.put(write.after)

    def add_pod(self, name: str) -> None:
        """A pod with one or two claims."""
        chosen = self.chance.choices(["small", "large", "both"], k=self.chance.randint(1, 2))
        entries = [{"name": each, "source": {"resourceClaimName": f"{name}-{each}"}} for each in set(chosen)]
        pod = self.objects.create(
            {
                "kind": "Pod",
                "metadata": {"namespace": "tests", "name": name},
                "spec": {"resourceClaims": entries},
            }
        )
        owner = {"kind": "Pod", "name": name, "uid": pod["metadata"]["uid"], "controller": True}
        metadata = {"namespace": "tests", "ownerReferences": [owner]}
        for each in set(chosen):
            reference = {"apiGroup": "gpu.example.com", "kind": "GPURequirements", "name": each}
            mode = self.chance.choice(["WaitForFirstConsumer"] * 3 + ["Immediate"])
            spec = {"resourceClassName": "acme-gpu", "parametersRef": reference, "allocationMode": mode}
            self.objects.create(
                {"kind": "ResourceClaim", "metadata": {**metadata, "name": f"{name}-{each}"}, "spec": spec}
            )
        self.objects.create(
            {
                "kind": "PodSchedulingContext",
                "metadata": {**metadata, "name": name},
                "spec": {"potentialNodes": [*NODES]},
            }
        )

    def select(self, context: Object) -> None:
        """Select a node that no claim of the pod is said to be unsuitable for."""
        said = (context.get("status") or {}).get("resourceClaims") or []
        suitable = [
            node for node in NODES if not any(node in (each.get("unsuitableNodes") or []) for each in said)
        ]
        node = self.chance.choice(suitable or NODES)
        self.objects.update(
            "PodSchedulingContext", {**context, "spec": {**context["spec"], "selectedNode": node}}
        )

    def give_up(self, claim: Object) -> None:
        """Ask for a deallocation, as PostFilter does."""
        status = {**claim["status"], "deallocationRequested": True}
        status.pop("reservedFor", None)
        self.objects.update_status("ResourceClaim", {**claim, "status": status})

    def remove_pod(self, name: str) -> None:
        """Delete a pod, and what is its own; nobody has its claims reserved from then on."""
        self.objects.delete("Pod", "tests", name)
        self.objects.delete("PodSchedulingContext", "tests", name)
        for claim in self.objects.all("ResourceClaim"):
            if claim["metadata"]["ownerReferences"][0]["name"] == name:
                if (claim.get("status") or {}).get("reservedFor"):
                    status = {key: value for key, value in claim["status"].items() if key != "reservedFor"}
                    self.objects.update_status("ResourceClaim", {**claim, "status": status})
                self.objects.delete("ResourceClaim", "tests", claim["metadata"]["name"])

    async def work(self) -> None:
        """Let the controller look at everything, many things at a time."""
        steps = [
            (self.controller.sync_claim if kind == "ResourceClaim" else self.controller.sync_context)(
                "tests", obj["metadata"]["name"]
            )
            for kind in ("ResourceClaim", "PodSchedulingContext")
            for obj in self.objects.all(kind)
        ]
        self.chance.shuffle(steps)
        for found in await asyncio.gather(*steps, return_exceptions=True):
            if isinstance(found, BaseException) and not isinstance(found, (SyncError, NotYet, WriteConflict)):
                raise found

    def happen(self, number: int) -> None:
        """Something happens."""
        pods = self.objects.all("Pod")
        allocated = [
            claim
            for claim in self.objects.all("ResourceClaim")
            if (claim.get("status") or {}).get("allocation")
        ]
        what = self.chance.random()
        if what < 0.35:
            self.add_pod(f"pod-{number}")
        elif what < 0.5 and pods:
            self.remove_pod(self.chance.choice(pods)["metadata"]["name"])
        elif what < 0.6 and allocated:
            self.give_up(self.chance.choice(allocated))
        elif what < 0.65:
            self.restart()
        for context in self.objects.all("PodSchedulingContext"):
            if self.chance.random() < 0.5:
                self.select(context)


async def live(cluster: SmallCluster) -> None:
    """A cluster's cluster, until all is calm and no pod is left."""
    for number in range(60):
        cluster.happen(number)
        await cluster.work()
    for pod in cluster.objects.all("Pod"):
        cluster.remove_pod(pod["metadata"]["name"])
    for _ in range(60):
        cluster.claims.replace(cluster.objects.all("ResourceClaim"))
        await cluster.work()


@pytest.mark.parametrize("seed", range(12))
def test_no_memory_is_given_twice_and_nothing_is_left_behind(seed: int) -> None:
    """Whatever fails, is late, or is killed."""
    cluster = SmallCluster(seed)
    asyncio.run(live(cluster))
    assert any(written_allocation(write) for write in cluster.objects.writes)
    assert cluster.objects.all("ResourceClaim") == []


def written_allocation(write: Write) -> Any:
    return (
        write.kind == "ResourceClaim" and write.after and (write.after.get("status") or {}).get("allocation")
    )
