"""Calls of a driver: one after the other for each claim, so many at a time for all, each with a time limit."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar
from weakref import WeakValueDictionary

from classic.kubelet.cdi import Device, check_qualified_name
from classic.kubelet.claims import AllocatedClaim
from classic.kubelet.node_driver import NodeDriver
from classic.kubelet.spec_directory import SpecDirectory
from resourceapi.errors import ClaimcheckError

Result = TypeVar("Result")


class TookTooLong(ClaimcheckError):
    """The driver has not finished in time, or has not even begun."""


class Preparation:
    """Has a driver prepare and unprepare claims, and keeps their CDI specs.

    A call that does not end when it is cancelled goes on holding its claim and its place.

    :param at_once: how many calls of the driver run at a time; others wait for their turn.
    """

    def __init__(self, driver: NodeDriver, specs: SpecDirectory, at_once: int) -> None:
        self._driver = driver
        self._specs = specs
        self._places = asyncio.Semaphore(at_once)
        self._claims: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._calls: set[asyncio.Task[object]] = set()

    async def prepare(self, claim: AllocatedClaim, seconds: float) -> Sequence[str]:
        """Have a claim prepared; returns the full names of its devices.

        :raises TookTooLong: if that takes more than so many seconds
        """
        return await self._limited(claim, lambda: self._prepare(claim), seconds)

    async def unprepare(self, claim: AllocatedClaim, seconds: float) -> None:
        """Have a claim unprepared.

        :raises TookTooLong: if that takes more than so many seconds
        """
        await self._limited(claim, lambda: self._unprepare(claim), seconds)

    def close(self) -> None:
        """Cancel all calls of the driver."""
        for call in self._calls:
            call.cancel()

    async def _prepare(self, claim: AllocatedClaim) -> Sequence[str]:
        devices = await self._driver.prepare(claim)
        try:
            return self._describe(claim, devices)
        except Exception:
            # kubelet doesn't ask to undo what failed. A claim with a spec has been prepared before: pods may be using it.
            if not self._specs.has(claim):
                await self._driver.unprepare(claim)
            raise

    def _describe(self, claim: AllocatedClaim, devices: Sequence[Device | str]) -> Sequence[str]:
        """Make the devices known to runtimes. Nothing is awaited: a call that is cancelled leaves no half of it."""
        described = [device for device in devices if isinstance(device, Device)]
        others = [device for device in devices if isinstance(device, str)]
        for name in others:
            check_qualified_name(name)
        if not described:
            self._specs.remove(claim)
            return others
        return self._specs.write(claim, described) + others

    async def _unprepare(self, claim: AllocatedClaim) -> None:
        await self._driver.unprepare(claim)
        self._specs.remove(claim)

    async def _limited(
        self, claim: AllocatedClaim, call: Callable[[], Awaitable[Result]], seconds: float
    ) -> Result:
        task = asyncio.create_task(self._in_turn(claim, call))
        self._calls.add(task)
        task.add_done_callback(self._finished)
        try:
            # Unlike asyncio.timeout, this doesn't wait for a call that doesn't end when it is cancelled.
            await asyncio.wait({task}, timeout=seconds)
        finally:
            task.cancel()
        if not task.done():
            raise TookTooLong(f"the driver has not finished within {seconds:.3g} s")
        return task.result()

    async def _in_turn(self, claim: AllocatedClaim, call: Callable[[], Awaitable[Result]]) -> Result:
        lock = self._claims.setdefault(claim.uid, asyncio.Lock())
        async with lock, self._places:
            return await call()

    def _finished(self, task: asyncio.Task[object]) -> None:
        self._calls.discard(task)
        if not task.cancelled():
            # Who waited for it has it, or has been told that it took too long.
            task.exception()
