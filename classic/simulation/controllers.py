"""What runs beside kube-scheduler: the controllers of drivers, and the one that makes claims from templates."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from classic import memory_objects
from classic.claims import NotYet, SyncError, controlling_owner, namespace_of
from classic.controller import Controller, Next
from classic.driver import Driver
from classic.simulation.api_server import ApiServer, Client
from classic.simulation.timeline import Entry, now
from classic.work_queue import WorkQueue
from resourceapi.errors import WriteConflict
from resourceapi.manifests import claim_from_template, key_of, mapping, name_of
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object
from resourceapi.records.pods import claims_of

CONTROLLER_MANAGER = "kube-controller-manager"
#: After which a PodSchedulingContext is looked at again.
RECHECK_SECONDS = 30.0
#: How many objects a driver's controller works on at the same time.
WORKERS = 10


class _Key(NamedTuple):
    kind: str
    namespace: str
    name: str


class DriverController:
    """The controller of a driver: looks at claims and PodSchedulingContexts as they change."""

    def __init__(self, server: ApiServer, driver_name: str, driver: Driver) -> None:
        self._server = server
        self._controller = Controller(driver_name, driver, Client(server, driver_name, phase="Controller"))
        self._queue: WorkQueue[_Key] = WorkQueue()
        self._busy = 0

    async def run(self, start_seconds: float = 0.0) -> None:
        """Begin after a while, with what is there; until cancelled.

        :param start_seconds: after which the controller starts.
        """
        await asyncio.sleep(start_seconds)
        self._server.watch(self._see)
        for kind in ("ResourceClaim", "PodSchedulingContext"):
            for obj in self._server.objects.all(kind):
                self._queue.add(_Key(kind, namespace_of(obj), name_of(obj)))
        await asyncio.gather(*(self._work() for _ in range(WORKERS)))

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._busy += 1
            try:
                await self._sync(key)
            finally:
                self._busy -= 1
                self._queue.done(key)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be looked at now."""
        return not self._busy and not len(self._queue)

    async def _sync(self, key: _Key) -> None:
        kind, namespace, name = key
        sync = self._controller.sync_claim if kind == "ResourceClaim" else self._controller.sync_context
        try:
            follows = await sync(namespace, name)
        except (WriteConflict, NotYet, SyncError):
            self._queue.retry(key)
            return
        self._queue.forget(key)
        if follows is Next.RECHECK:
            self._queue.add_after(key, RECHECK_SECONDS)

    def _see(self, write: memory_objects.Write) -> None:
        if write.kind in ("ResourceClaim", "PodSchedulingContext") and write.after is not None:
            self._queue.add(_Key(write.kind, namespace_of(write.after), name_of(write.after)))


class ClaimMaker:
    """Makes the claims of pods from their templates, as kube-controller-manager does."""

    def __init__(self, server: ApiServer) -> None:
        self._server = server
        self._making: set[asyncio.Task[None]] = set()
        server.watch(self._see)

    def _see(self, write: memory_objects.Write) -> None:
        if write.kind == "Pod" and write.before is None and write.after is not None:
            task = asyncio.create_task(self._make(write.after))
            self._making.add(task)
            task.add_done_callback(self._making.discard)

    @property
    def is_idle(self) -> bool:
        """Whether all claims are made."""
        return not self._making

    async def _make(self, pod: Object) -> None:
        client = Client(self._server, CONTROLLER_MANAGER, key_of(pod), phase="Controller")
        made = []
        for entry in claims_of(pod):
            found = self._server.objects.get("ResourceClaimTemplate", namespace_of(pod), entry.template)
            if not entry.is_generated or found is None:
                continue
            name = f"{name_of(pod)}-{entry.entry}"
            claim = claim_from_template(found, namespace_of(pod), name)
            await client.create(_owned(claim, pod))
            made.append({"name": entry.entry, "resourceClaimName": name})
        if made:
            await client.patch_status("Pod", pod, lambda status: _with_claims(status, made))


def _with_claims(status: Object, made: Sequence[Object]) -> Object:
    return {**status, "resourceClaimStatuses": list(made)}


def _owned(claim: Object, pod: Object) -> Object:
    return {
        **claim,
        "apiVersion": CLASSIC_API_VERSION,
        "kind": "ResourceClaim",
        "metadata": {**mapping(claim, "metadata"), "ownerReferences": [controlling_owner(pod)]},
    }


class DriverNotes:
    """Puts what a driver says into the timeline."""

    def __init__(self, server: ApiServer, driver_name: str) -> None:
        self._server = server
        self._name = driver_name

    def tell(self, asked: str, answer: str, reason: str, nodes: Sequence[str]) -> None:
        """Note an answer."""
        self._server.timeline.add(Entry(now(), self._name, "", 0, asked, answer, reason, tuple(nodes)))
