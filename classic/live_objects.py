"""The objects of a cluster, for a driver's controller: read from watches, written by threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from classic.claims import (
    finalizer_of,
    has_finalizer,
    is_allocated,
    is_leaving,
    namespace_of,
    with_finalizer,
    without_finalizer,
)
from cluster.budget import Holdings, text_bytes
from cluster.client import Client, Most
from cluster.leading import Fence
from cluster.reflector import Reflector
from cluster.store import VersionedCollection, version_of
from resourceapi.api_client import CONFLICT, NOT_FOUND, OK, Api, Unavailable, expect, expect_object
from resourceapi.errors import WriteConflict
from resourceapi.logs import log
from resourceapi.manifests import entries, full_name, mapping, name_of, text, uid_of
from resourceapi.model.versions import CLASSIC_API_VERSION, CLASSIC_PATH
from resourceapi.objects import Object

_Result = TypeVar("_Result")
#: The bytes of an object's metadata above which it is held as an outline, and the characters of a text in its spec: longer than
#: any name.
MOST_METADATA_BYTES, MOST_TEXT = 8 * 1024, 1_000
#: A field that outlines have.
IS_OUTLINE = "isOutline"
_OUTLINED = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp")
#: What is read of a pod, which is held as long as drivers are asked about it, as many others are: an API server stores some
#: that take thirty megabytes.
MOST_OF_POD = Most(256 * 1024, 8 * 1024 * 1024)


class _Kind(NamedTuple):
    name: str
    resource: str
    held: VersionedCollection[Object]

    @property
    def path(self) -> str:
        """Of all objects of the kind."""
        return f"{CLASSIC_PATH}/{self.resource}"

    def path_of(self, obj: Object) -> str:
        """Of one object."""
        return f"{CLASSIC_PATH}/namespaces/{namespace_of(obj)}/{self.resource}/{name_of(obj)}"


class LiveObjects:
    """Implements :class:`classic.writes.Objects`. What has been written is held at once, without the watch.

    Tenants may give claims and contexts a megabyte of metadata each. Of such objects an outline is held, and what is written of
    them is written into what is stored.
    """

    def __init__(self, client: Client, writers: int, finalizer: str) -> None:
        """Make it ready; :attr:`reflectors` are to be run.

        :param writers: how many requests are under way at most.
        :param finalizer: that of the driver.
        """
        self._finalizer = finalizer
        self._one_outlined = asyncio.Lock()
        self._client = client
        self._pods = client.taking(MOST_OF_POD)
        self._claims = _Kind("ResourceClaim", "resourceclaims", self._collection())
        self._classes = _Kind("ResourceClass", "resourceclasses", self._collection())
        self._contexts = _Kind("PodSchedulingContext", "podschedulingcontexts", self._collection())
        self.claims, self.classes, self.contexts = (
            each.held for each in (self._claims, self._classes, self._contexts)
        )
        self._threads = ThreadPoolExecutor(writers, thread_name_prefix="driver-requests")
        holdings = Holdings()
        self.reflectors = [
            Reflector(client, each.path, each.held, holdings)
            for each in (self._classes, self._claims, self._contexts)
        ]

    def close(self) -> None:
        """Wait for the requests that are under way; there can be no more of them."""
        self._threads.shutdown(cancel_futures=True)

    async def claim(self, namespace: str, name: str) -> Object | None:
        """A ResourceClaim, as the watch and own writes have it."""
        return self.claims.objects.get(full_name(namespace, name))

    async def resource_class(self, name: str) -> Object | None:
        """A ResourceClass, as the watch has it."""
        return self.classes.objects.get(name)

    async def context(self, namespace: str, name: str) -> Object | None:
        """A PodSchedulingContext, as the watch and own writes have it."""
        return self.contexts.objects.get(full_name(namespace, name))

    async def pod(self, namespace: str, name: str) -> Object | None:
        """A pod, which is asked for.

        :raises Unavailable: if it cannot be read, or is larger than :data:`MOST_OF_POD`.
        """
        path = f"/api/v1/namespaces/{namespace}/pods/{name}"
        answer = await self._in_thread(lambda: self._pods.request("GET", path))
        return None if answer[0] == NOT_FOUND else expect_object(answer, f"GET {path}", "Pod", name)

    async def update_claim(self, claim: Object) -> Object:
        """Write all of a claim but its status."""
        return await self._put(self._claims, claim)

    async def update_claim_status(self, claim: Object) -> Object:
        """Write the status of a claim."""
        return await self._put(self._claims, claim, "/status")

    async def update_context_status(self, context: Object) -> Object:
        """Write the status of a PodSchedulingContext."""
        return await self._put(self._contexts, context, "/status")

    async def _put(self, kind: _Kind, obj: Object, subresource: str = "") -> Object:
        if obj.get(IS_OUTLINE):
            async with self._one_outlined:  # the whole object takes room as long as it is written
                return await self._in_thread(lambda: self._written_into(kind, obj, subresource))
        return await self._in_thread(lambda: self._written(kind, kind.path_of(obj) + subresource, obj))

    def _written_into(self, kind: _Kind, outline: Object, subresource: str) -> Object:
        """Write what an outline says into the object that is stored, if that is the version of which it is one."""
        path = kind.path_of(outline)
        answer = self._client.request("GET", path)
        if answer[0] == NOT_FOUND:
            raise WriteConflict(f"GET {path}: the object has been deleted")
        stored = expect_object(answer, f"GET {path}", kind.name, name_of(outline))
        if uid_of(stored) != uid_of(outline) or version_of(stored) != version_of(outline):
            raise WriteConflict(f"GET {path}: the object has been modified")
        if subresource:
            body = {**stored, "status": mapping(outline, "status")}
        else:
            body = without_finalizer(stored, self._finalizer)
            if has_finalizer(outline, self._finalizer):
                body = with_finalizer(body, self._finalizer)
        return self._held_of(self._written(kind, path + subresource, body))

    def _written(self, kind: _Kind, path: str, body: Object) -> Object:
        # A field that does not exist, which a driver has written, would silently be left out.
        body = {**body, "apiVersion": CLASSIC_API_VERSION, "kind": kind.name}
        answer = self._client.request("PUT", path, body, {"fieldValidation": "Strict"})
        if answer[0] in (CONFLICT, NOT_FOUND):
            raise WriteConflict(f"PUT {path}: the object has been modified")
        stored: Object = expect(answer, f"PUT {path}", OK)
        hold(kind.held, stored)
        return stored

    def _collection(self) -> VersionedCollection[Object]:
        return VersionedCollection(self._held_of, lambda held: held)

    def _held_of(self, obj: Object) -> Object:
        """An object without what nobody needs and what can be large."""
        metadata = {key: value for key, value in mapping(obj, "metadata").items() if key != "managedFields"}
        spec = mapping(obj, "spec")
        bounded = _bounded(spec)
        if text_bytes(metadata) <= MOST_METADATA_BYTES and bounded == spec:
            return {**obj, "metadata": metadata}
        kept = {key: metadata[key] for key in _OUTLINED if key in metadata}
        if has_finalizer(obj, self._finalizer):
            kept["finalizers"] = [self._finalizer]
        owners = entries(metadata, "ownerReferences")
        kept["ownerReferences"] = [
            _bounded(each) for each in owners if mapping(each).get("controller") is True
        ]
        return {**obj, "metadata": kept, **({"spec": bounded} if spec else {}), IS_OUTLINE: True}

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def hold(held: VersionedCollection[Object], stored: Object) -> None:
    """Hold the answer to a write, unless the object is gone by that, or has gone meanwhile."""
    if is_leaving(stored) and not entries(mapping(stored, "metadata"), "finalizers"):
        held.drop(stored)
    else:
        held.update(stored)


def _bounded(value: Any) -> Any:
    """A value without what is too long for a name in its texts: they name nothing as it is, and nothing then."""
    if isinstance(value, str):
        return value[:MOST_TEXT]
    if isinstance(value, dict):
        return {key: _bounded(each) for key, each in value.items()}
    return [_bounded(each) for each in value] if isinstance(value, list) else value


# What the controller of a driver does before anything else: see all claims, and have late writes of the
# one before refused.
# That one may have been killed, and its last request be on its way; or be suspended right before it, as it
# led. Each write names the version of the claim that it is about, so it is enough to change the claims
# that an allocation may be about to be written to: those with the finalizer, but without an allocation.

RELIST_SECONDS = 30.0
#: The annotation, behind the name of the driver, with the process that found the claim unfinished; nothing reads it.
SEEN_BY = "seen-by"
WRITERS = 8


class TakeOver(NamedTuple):
    """Brings what is held of claims up to date, and changes those that the process before may be writing.

    :ivar identity: of this process alone.
    """

    api: Api
    live: LiveObjects
    driver_name: str
    identity: str

    def __call__(self, fence: Fence) -> list[Object]:
        """Take over; the claims that the driver has allocated.

        :param fence: called before each write.
        :raises NotLeading: if another process leads meanwhile; Unavailable if the API server does not answer.
        """
        fence()
        for reflector in self.live.reflectors:
            reflector.relist(RELIST_SECONDS)
        collections = (self.live.claims, self.live.classes, self.live.contexts)
        if not all(each.is_listed for each in collections):
            raise Unavailable(f"{CLASSIC_PATH}: the API server does not serve it")
        unfinished = [
            claim for claim in list(self.live.claims.objects.values()) if self._is_unfinished(claim)
        ]
        with ThreadPoolExecutor(WRITERS) as pool:
            for written in [pool.submit(self._settle, claim, fence) for claim in unfinished]:
                written.result()
        if unfinished:
            log(logging.INFO, "claims whose allocation was not finished", count=len(unfinished))
        return [claim for claim in list(self.live.claims.objects.values()) if self._is_own(claim)]

    def _is_own(self, claim: Object) -> bool:
        return is_allocated(claim) and text(mapping(claim, "status"), "driverName") == self.driver_name

    def _is_unfinished(self, claim: Object) -> bool:
        return has_finalizer(claim, finalizer_of(self.driver_name)) and not is_allocated(claim)

    def _settle(self, claim: Object, fence: Fence) -> None:
        """Change a claim, or learn that it has changed: either way a write that names an older version is refused.

        The version that is changed was read after this process had begun to lead, so no write of the one before names a newer
        one. Whoever changes a claim again and again keeps nobody from taking over.
        """
        path = f"{CLASSIC_PATH}/namespaces/{namespace_of(claim)}/resourceclaims/{name_of(claim)}"
        annotation = {f"{self.driver_name}/{SEEN_BY}": self.identity}
        fence()
        version = text(mapping(claim, "metadata"), "resourceVersion")
        change = {"metadata": {"resourceVersion": version, "annotations": annotation}}
        answer = self.api.request("PATCH", path, change)
        if answer[0] not in (CONFLICT, NOT_FOUND):
            hold(self.live.claims, expect(answer, f"PATCH {path}", OK))
            return
        answer = self.api.request("GET", path)
        if answer[0] == NOT_FOUND:
            self.live.claims.remove(claim)
        else:
            hold(self.live.claims, expect_object(answer, f"GET {path}", "ResourceClaim", name_of(claim)))
