"""The parts of the GPU driver's controller in a cluster, and how they run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from threading import Event, Thread

from classic import service
from classic.driver import Driver
from classic.gpu.driver import GPUDriver
from classic.gpu.inventory import GPUs, Inventory
from classic.gpu.ledger import Ledger
from classic.gpu.parameter_objects import ParameterObjects
from cluster.client import Client
from cluster.leading import Candidate
from cluster.reflector import Reflector
from cluster.store import Collection
from resourceapi.manifests import labels_of, mapping, name_of
from resourceapi.objects import Object

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
        nodes = Collection(_as_needed)
        self._nodes = Reflector(client, NODES, nodes)
        self._ledger = Ledger(settings.driver_name)
        inventory = Inventory(settings.driver_name, settings.usual, lambda: nodes.objects)
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


def _as_needed(node: Object) -> Object:
    """A node without what can be large: its images, say."""
    metadata = {"name": name_of(node), "labels": labels_of(node)}
    return {
        "metadata": metadata,
        "spec": {"unschedulable": mapping(node, "spec").get("unschedulable", False)},
    }
