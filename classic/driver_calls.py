"""The calls of a driver: bounded in time, with errors that say what failed, and in the order on which drivers rely."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from classic.claims import NotYet, SyncError, because
from classic.driver import ClaimAllocation, Driver
from cluster.leading import Fence
from resourceapi.manifests import key_of, mapping, text, uid_of
from resourceapi.objects import Object

# Which claims a driver is being asked about: about each of them one thing at a time.


class ClaimsInUse:
    """Claims by key, for the tasks of one event loop."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._unfinished: dict[str, asyncio.Task[None]] = {}

    @contextmanager
    def take(self, key: str) -> Iterator[None]:
        """Keep others from asking a driver about a claim while the block runs.

        :raises NotYet: if that goes on already, so that whoever would wait can do something else.
        """
        if key in self._taken or key in self._unfinished:
            raise NotYet(f"claim {key}: the driver is being asked about it")
        self._taken.add(key)
        try:
            yield
        finally:
            self._taken.discard(key)

    def leave_to(self, task: asyncio.Task[None], keys: Iterable[str]) -> None:
        """Have claims count as in use until a task has ended for which nobody waits any more."""
        for key in keys:
            self._unfinished[key] = task
        task.add_done_callback(self._ended)

    def unfinished(self) -> set[asyncio.Task[None]]:
        """The tasks for which nobody waits."""
        return set(self._unfinished.values())

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # has been given up: nobody is to be told of it
        for key in [key for key, each in self._unfinished.items() if each is task]:
            del self._unfinished[key]


#: How long a driver may take for an answer.
CALL_SECONDS = 60.0
_Answer = TypeVar("_Answer")


class DriverCalls:
    """Calls a driver, about claims that are taken (:class:`ClaimsInUse`)."""

    def __init__(
        self, driver: Driver, in_use: ClaimsInUse, fence: Fence, seconds: float = CALL_SECONDS
    ) -> None:
        """Make it ready.

        :param fence: called right before each call: what a driver does outside of the API server, no version guards.
        :param seconds: after which a call is cancelled; no other call about its claims is made before it has really ended.
        """
        self._driver = driver
        self._in_use = in_use
        self._fence = fence
        self._seconds = seconds
        #: uid and node of the claims that this process has begun to allocate, by key
        self._begun: dict[str, tuple[str, str]] = {}

    async def class_parameters(self, claim: Object, resource_class: Object) -> object:
        """The parameters of a class.

        :param claim: for which they are wanted.
        :raises SyncError: if there is none.
        """
        reference = _reference(resource_class.get("parametersRef"))
        call = partial(self._driver.get_class_parameters, resource_class)
        return await self._answer(f"class parameters{reference}", [claim], call)

    async def claim_parameters(
        self, claim: Object, resource_class: Object, class_parameters: object
    ) -> object:
        """The parameters of a claim.

        :raises SyncError: if there is none.
        """
        reference = _reference(mapping(claim, "spec").get("parametersRef"))
        call = partial(self._driver.get_claim_parameters, claim, resource_class, class_parameters)
        return await self._answer(f"claim parameters{reference}", [claim], call)

    async def unsuitable_nodes(
        self, pod: Object, claims: Sequence[ClaimAllocation], nodes: Sequence[str]
    ) -> None:
        """Have the unsuitable nodes of each claim filled in.

        :raises SyncError: if that cannot be told now.
        """
        call = partial(self._driver.unsuitable_nodes, pod, claims, nodes)
        what = "checking potential nodes"
        await self._answer(what, [each.claim for each in claims], call)
        for each in claims:
            found: object = each.unsuitable_nodes
            if not isinstance(found, list) or not all(isinstance(node, str) for node in found):
                raise SyncError(f"{what}: the driver's unsuitable_nodes are not a list of names")

    def begin(self, claim: Object, selected_node: str) -> None:
        """Take note that this process is about to ask for an allocation, and that the driver has nothing for the claim."""
        self._begun[key_of(claim)] = (uid_of(claim), selected_node)

    def has_begun(self, claim: Object, selected_node: str | None = None) -> bool:
        """Whether this process has begun to allocate the claim; for the node, if one is given."""
        uid, node = self._begun.get(key_of(claim), ("", ""))
        return uid == uid_of(claim) and selected_node in (None, node)

    async def allocate(self, claims: Sequence[ClaimAllocation], selected_node: str) -> None:
        """Have the ``allocation`` or the ``error`` of each claim filled in; each has begun."""
        for each in claims:
            each.allocation = each.error = None
        try:
            call = partial(self._driver.allocate, claims, selected_node)
            await self._answer("allocate", [each.claim for each in claims], call)
        except SyncError as error:
            for each in claims:
                each.error = error
            return
        for each in claims:
            each.error = _outcome(each.error, each.allocation)

    async def deallocate(self, claim: Object, what: str) -> None:
        """Have the driver take back what a claim has.

        :param what: what is done by that, for errors.
        :raises SyncError: if that has failed.
        """
        await self._answer(what, [claim], partial(self._driver.deallocate, claim))
        self.forget(key_of(claim))

    def forget(self, key: str) -> None:
        """Forget that an allocation has begun: it is stored, or taken back."""
        self._begun.pop(key, None)

    async def _answer(
        self, what: str, claims: Sequence[Object], call: Callable[[], Awaitable[_Answer]]
    ) -> _Answer:
        """What a call returns.

        :raises SyncError: if it raises, or takes too long; NotLeading if it must not be made any more.
        """
        self._fence()
        answers: list[_Answer] = []

        async def run() -> None:
            answers.append(await call())

        task = asyncio.create_task(run(), name=what)
        try:
            await asyncio.wait({task}, timeout=self._seconds)
        finally:
            if not task.done():
                task.cancel()
                self._in_use.leave_to(task, map(key_of, claims))
                for claim in claims:
                    self.forget(key_of(claim))
        if not task.done():
            raise SyncError(f"{what}: the driver has not answered within {self._seconds:g} s")
        if task.cancelled():
            raise SyncError(f"{what}: the driver has cancelled the call")
        error = task.exception()
        if error is not None:
            raise because(what, error)
        return answers[0]


def _outcome(error: object, allocation: object) -> SyncError | None:
    """What is wrong with what a driver says of a claim."""
    if isinstance(error, Exception):
        return because("allocate", error)
    if error is not None:
        return SyncError("allocate: the error that the driver has given is not an exception")
    if allocation is None:
        return SyncError("allocate: the driver has given neither an allocation nor an error")
    if not isinstance(allocation, dict):
        return SyncError("allocate: the allocation that the driver has given is not a dict")
    return None


def _reference(parameters: object) -> str:
    """A reference to parameters, for errors; empty if there is none."""
    kind, name = text(parameters, "kind"), text(parameters, "name")
    group, namespace = text(parameters, "apiGroup"), text(parameters, "namespace")
    if not (kind or name):
        return ""
    return f" {kind}{'.' if group else ''}{group} {namespace}{'/' if namespace else ''}{name}"
