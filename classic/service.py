"""A driver's controller at work: it follows a cluster, as long as it leads.

All decisions are made in one event loop. Threads follow the cluster, renew the Lease, and send requests, so that neither a slow
API server nor a driver that keeps the event loop busy lets the Lease expire unnoticed.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Any, NamedTuple
from zlib import crc32

from classic.claims import NotYet, SyncError, allocation_mode, class_name_of, finalizer_of, is_allocated
from classic.controller import Controller, Next
from classic.driver import Driver, Restored
from classic.driver_calls import CALL_SECONDS
from classic.live_objects import LiveObjects, TakeOver
from classic.work_queue import WorkQueue
from cluster.access import Access, in_cluster
from cluster.client import Client
from cluster.context_access import access_of
from cluster.event_writer import EventWriter
from cluster.kubeconfig import Kubeconfig, kubeconfig_files
from cluster.leading import Candidate, Fence, Leadership, NotLeading, Unopposed
from cluster.store import Change, Listener
from resourceapi.errors import WriteConflict
from resourceapi.logs import LOGGER, log
from resourceapi.model.v1alpha2 import IMMEDIATE
from resourceapi.objects import Object
from serving.logs import LogLimit

#: How long a driver's calls may take to end when the process ends.
GRACE_SECONDS = 5.0
#: How long a process leads that nobody else competes with: for good.
ALONE_SECONDS = 10**8
#: How many requests to the API server are under way at most.
MOST_REQUESTS = 32
#: So many lines about failures are logged in a while (:class:`serving.logs.LogLimit`), however many namespaces there are.
_LOG_KINDS = 32
#: How many times the Lease is renewed while it counts.
RENEWALS = 5


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a controller works.

    :ivar workers: how many objects it works on at the same time, of a namespace in as many places as it leaves free; a driver
        that hangs keeps one of them busy for each call.
    :ivar recheck_seconds: how often a driver is asked about the nodes of a pod that waits.
    :ivar call_seconds: after which a call of the driver is given up.
    :ivar reserve: whether a claim that is allocated for a pod is reserved for it at once.
    """

    workers: int = 100
    recheck_seconds: float = 30.0
    call_seconds: float = CALL_SECONDS
    reserve: bool = True


DEFAULT_OPTIONS = Options()


class Key(NamedTuple):
    """What to look at."""

    kind: str
    namespace: str
    name: str


async def run(
    driver_name: str,
    driver: Driver,
    client: Client,
    *,
    candidate: Candidate | None = None,
    options: Options = DEFAULT_OPTIONS,
    follow_claims: Listener[Object] | None = None,
) -> None:
    """Run a driver's controller until it is cancelled.

    :param driver_name: as in ``driverName`` of the driver's ResourceClasses.
    :param candidate: for the Lease (:class:`cluster.leading.Election`); None if no other process serves this driver.
    :param follow_claims: is told of every change of ResourceClaims, in any thread, before the controller looks at them.
    :raises NotLeading: if another process leads by now: the driver may hold what is not so any more, so begin a new process.
    :raises TypeError: if the driver lacks a method.
    """
    if not isinstance(driver, Driver):
        raise TypeError(f"{type(driver).__name__} lacks a method of classic.driver.Driver")
    serving = _Service(driver_name, driver, client, candidate or Unopposed(ALONE_SECONDS), options)
    if follow_claims is not None:
        serving.follow_claims(follow_claims)
    await serving.run()


def run_until_stopped(serving: Coroutine[Any, Any, None]) -> None:
    """Run what serves until SIGTERM or SIGINT, and let it end cleanly.

    :raises NotLeading: if another process leads before that.
    """

    async def serve() -> None:
        task = asyncio.ensure_future(serving)
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(serve())


class _Service:
    def __init__(
        self, driver_name: str, driver: Driver, client: Client, candidate: Candidate, options: Options
    ) -> None:
        self._driver_name, self._driver, self._client = driver_name, driver, client
        self._options = options
        writers = min(options.workers, MOST_REQUESTS)
        self._live = LiveObjects(client, writers, finalizer_of(driver_name))
        self._take_over = TakeOver(client, self._live, driver_name, candidate.identity)
        self._writer = EventWriter(client, f"{driver_name}/resource-driver", candidate.identity)
        self._leadership = Leadership(
            candidate,
            renew_seconds=candidate.seconds / RENEWALS,
            take_over=self._begin,
            lose=partial(self._in_loop, self._lose),
        )
        self._queue: WorkQueue[Key] = WorkQueue(places=options.workers)
        self._log_limit = LogLimit()
        self._ending = Event()

    def follow_claims(self, listener: Listener[Object]) -> None:
        """Tell of every change of ResourceClaims."""
        self._live.claims.listen(listener)

    async def run(self) -> None:
        """Serve until cancelled, or until another process leads."""
        self._loop = asyncio.get_running_loop()
        self._lost = asyncio.Event()
        self._fence: asyncio.Future[Fence] = self._loop.create_future()
        for work in (*(each.run for each in self._live.reflectors), self._writer.run):
            Thread(target=work, args=(self._ending,), daemon=True).start()
        self._leadership.start()
        try:
            await self._serve()
        finally:
            self._ending.set()
            await asyncio.to_thread(self._live.close)
            await asyncio.to_thread(self._leadership.stop)
            log(logging.INFO, "driver stopped", driver=self._driver_name)

    # --- leading

    def _begin(self, fence: Fence) -> None:
        """Take over, in a thread, and have the workers begin."""
        claims = self._take_over(fence)
        restored: Future[None] = asyncio.run_coroutine_threadsafe(self._restore(claims), self._loop)
        restored.result()
        self._in_loop(self._lead, fence)

    async def _restore(self, claims: Sequence[Object]) -> None:
        """Tell the driver what it has allocated."""
        if isinstance(self._driver, Restored):
            await asyncio.wait_for(self._driver.restore(claims), self._options.call_seconds)

    def _lead(self, fence: Fence) -> None:
        if not self._fence.done():
            self._fence.set_result(fence)

    def _lose(self) -> None:
        self._lost.set()

    def _in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have the event loop call a function; from any thread."""
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(call, *arguments)

    async def _serve(self) -> None:
        """Work while this process leads."""
        lost = asyncio.create_task(self._lost.wait())
        work = asyncio.create_task(self._lead_and_work())
        try:
            await asyncio.wait({lost, work}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (lost, work):
                task.cancel()
            await asyncio.wait({lost, work})
        if not work.cancelled():
            work.result()
        raise NotLeading("another process leads")

    async def _lead_and_work(self) -> None:
        controller = Controller(
            self._driver_name,
            self._driver,
            self._live,
            events=self._writer,
            fence=await self._fence,
            reserve=self._options.reserve,
            call_seconds=self._options.call_seconds,
        )
        log(logging.INFO, "driver started", driver=self._driver_name)
        self._follow()
        workers = {asyncio.create_task(self._work(controller)) for _ in range(self._options.workers)}
        try:
            await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._queue.close()
            for worker in workers:
                worker.cancel()
            await asyncio.wait(workers)
            unfinished = controller.in_use.unfinished()
            if unfinished:
                await asyncio.wait(unfinished, timeout=GRACE_SECONDS)

    # --- what changes

    def _follow(self) -> None:
        """Look at whatever is there, and whatever changes."""
        self._live.claims.listen(partial(self._changed, "ResourceClaim"))
        self._live.contexts.listen(partial(self._changed, "PodSchedulingContext"))
        self._live.classes.listen(self._classes_changed)

    def _changed(self, kind: str, changes: Sequence[Change[Object]]) -> None:
        for change in changes:
            namespace, _, name = change.key.partition("/")
            self._in_loop(self._queue.add, Key(kind, namespace, name))

    def _classes_changed(self, changes: Sequence[Change[Object]]) -> None:
        """Look at claims with immediate allocation, which another driver may have served, or no class has been there for."""
        names = {change.key for change in changes}
        for key, claim in list(self._live.claims.objects.items()):
            if (
                class_name_of(claim) in names
                and allocation_mode(claim) == IMMEDIATE
                and not is_allocated(claim)
            ):
                namespace, _, name = key.partition("/")
                self._in_loop(self._queue.add, Key("ResourceClaim", namespace, name))

    # --- work

    async def _work(self, controller: Controller) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._look(controller, key)
            finally:
                self._queue.done(key)

    async def _look(self, controller: Controller, key: Key) -> None:
        """Take one step, and see to it that another one follows if it has not come to its end."""
        sync = controller.sync_claim if key.kind == "ResourceClaim" else controller.sync_context
        fields = {"kind": key.kind, "name": f"{key.namespace}/{key.name}"}
        try:
            following = await sync(key.namespace, key.name)
        except NotLeading:
            self._lose()
            return
        except (NotYet, WriteConflict) as error:
            log(logging.DEBUG, "tried again", reason=str(error), **fields)
        except SyncError as error:
            self._log_failure(key, logging.WARNING, None, {"reason": str(error), **fields})
            LOGGER.debug("failed", exc_info=error, extra={"fields": fields})
        except Exception as error:  # noqa: BLE001 - whatever it is, the other objects are looked at
            self._log_failure(key, logging.ERROR, error, fields)
        else:
            self._queue.forget(key)
            if following is Next.RECHECK:
                self._queue.add_after(key, self._options.recheck_seconds)
            return
        self._queue.retry(key)

    def _log_failure(
        self, key: Key, level: int, error: Exception | None, fields: Mapping[str, object]
    ) -> None:
        """Log that a look has failed; of a namespace in which much fails, and of few others with it, one line in a while."""
        left_out = self._log_limit.left_out(crc32(key.namespace.encode()) % _LOG_KINDS)
        if left_out is not None:
            counted = {"left_out": left_out} if left_out else {}
            LOGGER.log(level, "failed", exc_info=error, extra={"fields": {**fields, **counted}})


# How a driver's program reaches its cluster.


def reach(kubeconfig: str = "", environment: Mapping[str, str] = os.environ) -> tuple[Access, str]:
    """Access to a cluster, and the namespace of requests that name none.

    :param kubeconfig: a file; if empty, the service account of the pod that this runs in, else what kubectl would use.
    :raises cluster.kubeconfig.KubeconfigError: if there is no such cluster; OSError if its files cannot be read.
    """
    found = None if kubeconfig else in_cluster(environment)
    if found is not None:
        return found
    context = Kubeconfig([kubeconfig] if kubeconfig else kubeconfig_files(environment)).context()
    return access_of(context, environment=environment), context.namespace or "default"
