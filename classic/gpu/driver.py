"""The GPU driver: what :mod:`classic.controller` asks it about claims, answered from the memory that is left on nodes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event, Thread
from time import monotonic
from typing import NoReturn

from classic import service
from classic.driver import ClaimAllocation, Driver
from classic.gpu.inventory import GPUs, NodeGPUs, Suitability, place
from classic.gpu.ledger import Allocation, ClaimChanged, Ledger, allocation_result
from classic.gpu.parameters import (
    GPUInit,
    GPURequirements,
    ParameterObjects,
    claim_reference,
    class_reference,
    initialization,
    requirements,
    written,
)
from cluster.client import Client
from cluster.leading import Candidate
from cluster.reflector import Reflector
from cluster.store import Collection
from resourceapi.errors import ClaimcheckError
from resourceapi.logs import log
from resourceapi.manifests import key_of, uid_of
from resourceapi.objects import Object
from resourceapi.records.nodes import read_node

#: How long the nodes of one pod are looked at before others have their turn. Pods with little to look at need one turn for all
#: of their nodes, however long those take that come in between.
SLICE_SECONDS = 0.01


class NoRoom(ClaimcheckError):
    """No node, or not the one that was selected, has the GPUs that claims ask for."""


class GPUDriver:
    """A :class:`classic.driver.Driver`; one event loop calls it.

    GPUs are chosen and held without a pause in between, so no two claims can get the same memory.
    """

    def __init__(
        self,
        driver_name: str,
        inventory: NodeGPUs,
        ledger: Ledger,
        parameters: ParameterObjects,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Make a driver.

        :param driver_name: under which handles of allocations are its own.
        :param clock: returns seconds since any moment.
        """
        self._clock = clock
        self._name = driver_name
        self._inventory = inventory
        self._ledger = ledger
        self._parameters = parameters

    async def get_class_parameters(self, resource_class: Object) -> GPUInit:
        """The GPUInit of a class, an empty one if it names none.

        :raises classic.gpu.parameters.ParametersError: if it cannot be used.
        """
        reference = class_reference(resource_class)
        return GPUInit() if reference is None else initialization(await self._parameters.read(reference))

    async def get_claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> GPURequirements:
        """The GPURequirements of a claim; one that names none asks for all of a GPU.

        :raises classic.gpu.parameters.ParametersError: if they cannot be used.
        """
        reference = claim_reference(claim)
        return (
            GPURequirements() if reference is None else requirements(await self._parameters.read(reference))
        )

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        """Hold GPUs for all of these claims, or for none; without a node, on the one with the most free memory."""
        asked = {uid_of(each.claim): each for each in claims}  # a pod may use a claim twice
        try:
            found = self._held(asked, selected_node) or self._found(asked, selected_node)
        except NoRoom as error:
            for each in claims:
                each.error = error
            return
        for each in claims:
            self._decide(each, found[uid_of(each.claim)])

    async def deallocate(self, claim: Object) -> None:
        """Nothing needs to be undone: GPUs are free as soon as the API server has the claim without them."""
        log(logging.INFO, "GPUs given back", claim=key_of(claim))

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], potential_nodes: Sequence[str]
    ) -> None:
        """Say for all claims which nodes have no room for all of them."""
        asked = {uid_of(each.claim): each for each in claims}
        wanted = [_parameters_of(each)[0] for each in asked.values()]
        suitability = Suitability(wanted, len(potential_nodes))
        unsuitable = []
        began = self._clock()
        for node in potential_nodes:
            sizes = self._inventory.sizes(node)
            if not suitability.fits(sizes, self._ledger.free(node, sizes, without=asked)):
                unsuitable.append(node)
            if self._clock() - began > SLICE_SECONDS:
                await asyncio.sleep(0)  # other pods and the probes need not wait for all nodes
                began = self._clock()
        for each in claims:
            each.unsuitable_nodes = list(unsuitable)

    def _decide(self, each: ClaimAllocation, allocation: Allocation) -> None:
        """Hold GPUs for a claim, unless it has changed meanwhile: then its allocation cannot be written."""
        try:
            self._ledger.decide(each.claim, allocation)
        except ClaimChanged as error:
            each.error = error
            return
        gpus = [f"{name}: {written(memory)}" for name, memory in allocation.memory.items()]
        log(logging.INFO, "GPUs chosen", claim=key_of(each.claim), node=allocation.node, gpus=gpus)
        each.allocation = allocation_result(self._name, allocation)

    def _held(self, asked: dict[str, ClaimAllocation], selected_node: str) -> dict[str, Allocation] | None:
        """What is held for all of these claims since the last attempt, if they ask for that still."""
        found = {uid: self._ledger.decided(each.claim) for uid, each in asked.items()}
        held = {uid: allocation for uid, allocation in found.items() if allocation is not None}
        if len(held) < len(asked):
            return None
        for uid, allocation in held.items():
            on_node = allocation.node == (selected_node or allocation.node)
            if not on_node or not self._is_answer(asked[uid], allocation):
                return None
        return held

    def _is_answer(self, each: ClaimAllocation, allocation: Allocation) -> bool:
        """Whether an allocation is what a claim asks for, of GPUs that the node has still."""
        wanted, init = _parameters_of(each)
        sizes = self._inventory.sizes(allocation.node)
        return (
            len(allocation.memory) == wanted.count
            and allocation.init_command == init.init_command
            and all(
                name in sizes and memory == (wanted.memory or sizes[name])
                for name, memory in allocation.memory.items()
            )
        )

    def _found(self, asked: dict[str, ClaimAllocation], selected_node: str) -> dict[str, Allocation]:
        """GPUs for all claims.

        :raises NoRoom: if they do not all fit.
        """
        nodes = [selected_node] if selected_node else self._nodes_for(asked)
        for node in nodes:
            placed = self._placed(asked, node)
            if placed is not None:
                return placed
        self._refuse(asked, selected_node)

    def _placed(self, asked: dict[str, ClaimAllocation], node: str) -> dict[str, Allocation] | None:
        """GPUs of a node for all claims; None if they do not all fit."""
        sizes = self._inventory.sizes(node)
        wanted = [_parameters_of(each) for each in asked.values()]
        free = self._ledger.free(node, sizes, without=asked)
        found = place([requirement for requirement, _ in wanted], sizes, free)
        if found is None:
            return None
        return {
            uid: Allocation(node, memory, init.init_command)
            for uid, memory, (_, init) in zip(asked, found, wanted, strict=True)
        }

    def _nodes_for(self, asked: dict[str, ClaimAllocation]) -> list[str]:
        """The nodes that the classes of all claims allow, those with the most free memory first."""
        allowed = [
            set(self._inventory.open_nodes(each.resource_class.get("suitableNodes")))
            for each in asked.values()
        ]
        nodes = sorted(set.intersection(*allowed))
        nodes.sort(
            key=lambda node: -sum(self._ledger.free(node, self._inventory.sizes(node), asked).values())
        )
        return nodes

    def _refuse(self, asked: dict[str, ClaimAllocation], selected_node: str) -> NoReturn:
        what = ", ".join(sorted({_described(_parameters_of(each)[0]) for each in asked.values()}))
        if not selected_node:
            raise NoRoom(f"no node that takes pods has room for {what}")
        if not self._inventory.knows(selected_node):
            raise NoRoom(f"there is no node {selected_node}")
        sizes = self._inventory.sizes(selected_node)
        if not sizes:
            raise NoRoom(f"node {selected_node} has no GPUs")
        free = self._ledger.free(selected_node, sizes, without=asked)
        left = ", ".join(f"{name} {written(max(memory, 0))}" for name, memory in free.items())
        raise NoRoom(f"node {selected_node} has no room for {what}; free: {left}")


def _parameters_of(each: ClaimAllocation) -> tuple[GPURequirements, GPUInit]:
    wanted, init = each.claim_parameters, each.class_parameters
    if not isinstance(wanted, GPURequirements) or not isinstance(init, GPUInit):
        raise TypeError("the parameters are not those that this driver has returned")
    return wanted, init


def _described(wanted: GPURequirements) -> str:
    gpus = "1 GPU" if wanted.count == 1 else f"{wanted.count} GPUs"
    if wanted.memory is None:
        return f"{gpus} of its own" if wanted.count == 1 else f"{gpus} of their own"
    return f"{gpus} with {written(wanted.memory)}" + (" each" if wanted.count > 1 else "")


# The parts of the GPU driver's controller in a cluster, and how they run.

NODES = "/api/v1/nodes"


@dataclass(frozen=True)
class Settings:
    """What an administrator decides: the driver's name, and the GPUs of nodes whose labels say nothing."""

    driver_name: str
    usual: GPUs


class GPUController:
    """The driver with what it knows of the cluster; :meth:`run` lets it work."""

    def __init__(self, settings: Settings, client: Client) -> None:
        """Make the parts; nothing is requested yet."""
        self._settings = settings
        self._client = client
        nodes = Collection(read_node)
        self._nodes = Reflector(client, NODES, nodes)
        self._ledger = Ledger(settings.driver_name)
        inventory = NodeGPUs(settings.driver_name, settings.usual, lambda: nodes.objects)
        #: may be replaced before the controller runs
        self.driver: Driver = GPUDriver(
            settings.driver_name, inventory, self._ledger, ParameterObjects(client)
        )

    @property
    def is_ready(self) -> bool:
        """Whether the nodes are known."""
        return self._nodes.synced.is_set()

    async def run(
        self, candidate: Candidate | None, options: service.Options = service.DEFAULT_OPTIONS
    ) -> None:
        """Allocate claims until cancelled.

        :param candidate: for the Lease; None if no other process has the driver's name.
        :raises cluster.leading.NotLeading: if another process leads by now.
        """
        ending = Event()
        Thread(target=self._nodes.run, args=(ending,), daemon=True).start()
        try:
            await _until(self._nodes.synced)
            await service.run(
                self._settings.driver_name,
                self.driver,
                self._client,
                candidate=candidate,
                options=options,
                follow_claims=self._ledger.note,
            )
        finally:
            ending.set()


async def _until(happened: Event) -> None:
    """Wait for what a thread does, so that it can be cancelled."""
    while not await asyncio.to_thread(happened.wait, 0.5):
        pass
