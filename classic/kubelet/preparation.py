"""Calls of a driver: one after the other for each claim, so many at a time for all, each with a time limit."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self, TypeVar
from weakref import WeakValueDictionary

from classic.kubelet.cdi import Device, DeviceKind, InvalidDevice, check_qualified_name, least_version
from classic.kubelet.wire.node_v1alpha2 import ClaimRequest
from classic.kubelet.wire.node_v1alpha3 import Claim
from classic.kubelet.wire.structured_handle import StructuredResourceHandle
from resourceapi.errors import ClaimcheckError
from resourceapi.limits import CLASSIC_RESOURCE_HANDLE_DATA_BYTES
from resourceapi.names import long_name, short_name

# A claim that kubelet wants prepared or unprepared, and what may stand in it.
# Whatever comes from outside is checked here, before a driver sees it or a file is named after it.

# The API server gives UUIDs; what matters here is that no file name or CDI name made of a UID is anything else.
_UID = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


class RefusedClaim(ClaimcheckError):
    """The claim cannot be prepared or unprepared, whoever asks again; the text says why, and reaches the pod's events."""


@dataclass(frozen=True, slots=True)
class AllocatedClaim:
    """A claim allocated for this node.

    :ivar resource_handle: the ``data`` that the driver's controller left in the claim's resource handle.
    :ivar structured: what the scheduler left there instead, if the class has structured parameters.
    """

    namespace: str
    name: str
    uid: str
    resource_handle: str = ""
    structured: StructuredResourceHandle | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def from_batch(cls, claim: Claim) -> Self:
        """One of the claims of a v1alpha3 request.

        :raises RefusedClaim: if it cannot be one that the API server stored
        """
        return cls._checked(
            claim.namespace, claim.name, claim.uid, claim.resource_handle, claim.structured_resource_handle
        )

    @classmethod
    def from_request(cls, request: ClaimRequest) -> Self:
        """The claim of a v1alpha2 request.

        :raises RefusedClaim: if it cannot be one that the API server stored
        """
        return cls._checked(
            request.namespace,
            request.claim_name,
            request.claim_uid,
            request.resource_handle,
            request.structured_resource_handle,
        )

    @classmethod
    def _checked(
        cls, namespace: str, name: str, uid: str, data: str, structured: tuple[StructuredResourceHandle, ...]
    ) -> Self:
        if not _UID.fullmatch(uid):
            raise RefusedClaim("the claim's UID is invalid")
        if short_name(namespace):
            raise RefusedClaim("the claim's namespace is invalid")
        if long_name(name):
            raise RefusedClaim("the claim's name is invalid")
        if len(data.encode()) > CLASSIC_RESOURCE_HANDLE_DATA_BYTES:
            raise RefusedClaim(
                f"the claim's resource handle has more than {CLASSIC_RESOURCE_HANDLE_DATA_BYTES:,} bytes"
            )
        if len(structured) > 1:
            raise RefusedClaim("the claim has more than one structured resource handle")
        return cls(namespace, name, uid, data, structured[0] if structured else None)


# What a driver does on a node; :mod:`classic.kubelet.plugin` does the rest.
# Methods run on an event loop that also answers kubelet: what blocks belongs into
# :func:`asyncio.to_thread`. There are never two calls about the same claim at a time; calls about
# different claims come at the same time.
# A call that takes too long, or for which kubelet no longer waits, is cancelled. Whatever is raised is the
# claim's error: kubelet puts it into an event of the pod, and asks again. A
# :class:`RefusedClaim` is told as it is, anything else with the name of its class.


class NodeDriver(Protocol):
    """Makes what was allocated to claims usable on this node."""

    async def prepare(self, claim: AllocatedClaim) -> Sequence[Device | str]:
        """Make the devices of a claim ready for its containers.

        Called before the first container that uses the claim starts, and again whenever kubelet has been restarted: what is
        ready must stay as it is, and the result must be the same. Where a preparation fails, kubelet 1.30 never asks to undo it:
        what was begun must be undone before the error is raised.

        :returns: devices, which the plugin describes to the container runtime; a text is the full name
            (``vendor/class=device``) of one that somebody else describes
        """

    async def unprepare(self, claim: AllocatedClaim) -> None:
        """Undo what :meth:`prepare` did, once no pod on the node uses the claim; not an error if nothing is left to undo."""


# The directory in which container runtimes look for CDI specs: one file for each prepared claim.
# A file appears whole, with all devices of the claim, or not at all. It is what tells a runtime of the
# claim, and outlives this process: nothing here remembers which claims are prepared.

# Environment variables may be secrets; runtimes run as the same user as drivers.
_FILE_MODE = 0o600
_DIRECTORY_MODE = 0o755


class SpecDirectory:
    """Writes and removes the specs of claims, for devices of one kind."""

    def __init__(self, path: Path, kind: DeviceKind) -> None:
        self._path = path
        self._kind = kind

    def write(self, claim: AllocatedClaim, devices: Sequence[Device]) -> list[str]:
        """Write the spec of a claim, or replace it; returns the full names of the devices.

        The UID of the claim is part of them, as runtimes refuse a device that two specs have.

        :raises InvalidDevice: if two of the devices have the same name
        :raises OSError: if the file cannot be written
        """
        names = {device.name: f"{device.name}.{claim.uid}" for device in devices}
        if len(names) < len(devices):
            raise InvalidDevice("two devices of the claim have the same name")
        spec = {
            "cdiVersion": least_version(devices),
            "kind": str(self._kind),
            "devices": [
                {"name": names[device.name], "containerEdits": device.edits.to_json()} for device in devices
            ],
        }
        self._replace(claim, json.dumps(spec, indent=2).encode() + b"\n")
        return [f"{self._kind}={name}" for name in names.values()]

    def has(self, claim: AllocatedClaim) -> bool:
        """Whether there is a spec of the claim."""
        return self._file(claim).exists()

    def remove(self, claim: AllocatedClaim) -> None:
        """Remove the spec of a claim, if there is one.

        :raises OSError: if the file cannot be removed
        """
        self._file(claim).unlink(missing_ok=True)

    def _file(self, claim: AllocatedClaim) -> Path:
        # All three parts have been checked: none has a slash or "=", none begins with a dot, and a UID has no "_".
        return self._path / f"{self._kind.vendor}={self._kind.device_class}_{claim.uid}.json"

    def _replace(self, claim: AllocatedClaim, content: bytes) -> None:
        self._path.mkdir(mode=_DIRECTORY_MODE, parents=True, exist_ok=True)
        file = self._file(claim)
        # Runtimes read only what ends in .json or .yaml. What a killed process left is overwritten.
        unfinished = file.with_name(f".{file.name}.new")
        try:
            with suppress(FileNotFoundError):
                unfinished.unlink()
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _FILE_MODE)
            with open(descriptor, "wb") as stream:
                # Not synchronized with the disk: once the node has been started again, kubelet has all claims prepared anew.
                stream.write(content)
            unfinished.replace(file)
        except OSError:
            with suppress(OSError):
                unfinished.unlink()
            raise


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
