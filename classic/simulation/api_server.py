"""The API server of a simulation: objects in memory, requests that take time, and watches that tell of each write."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cache

from classic import memory_objects
from classic.claims import namespace_of
from classic.memory_objects import MemoryObjects
from classic.simulation.timeline import Entry, Timeline, Write, changes, now
from resourceapi.decoding import DecodingError
from resourceapi.errors import ClaimcheckError, WriteConflict
from resourceapi.manifests import key_of, mapping, name_of, text
from resourceapi.model.versions import CLASSIC_API_VERSION
from resourceapi.objects import Object
from resourceapi.releases import CLASSIC, Profile
from validation.requests import STATUS, create_request
from validation.server import Server

# The objects of a scenario as kube-apiserver 1.30 would store them.

NODE, POD, CLASS, CLAIM, TEMPLATE = "Node", "Pod", "ResourceClass", "ResourceClaim", "ResourceClaimTemplate"
_KINDS = {"v1": (NODE, POD), CLASSIC_API_VERSION: (CLASS, CLAIM, TEMPLATE)}
_CLUSTER_WIDE = (NODE, CLASS)


class NotAdmitted(ClaimcheckError):
    """An object that the API server would not store."""


def is_stored(obj: Object) -> bool:
    """Whether an object takes part in a negotiation; others may hold parameters."""
    return text(obj, "kind") in _KINDS.get(text(obj, "apiVersion"), ())


def admitted(obj: Object, namespace: str) -> Object:
    """An object with defaults, in its namespace.

    :param namespace: of an object that does not name one.
    :raises NotAdmitted: with the API server's answer, if it does not store it.
    """
    kind = text(obj, "kind")
    if not is_stored(obj):
        return _placed(obj, namespace)
    if kind == NODE:
        if not name_of(obj):
            raise NotAdmitted("a Node has no name")
        return obj
    try:
        stored = _created(obj, namespace)
        if kind == CLAIM and mapping(obj, "status"):
            stored = with_claim_status(stored, mapping(obj, "status"))
    except DecodingError as error:
        raise NotAdmitted(f"{kind} {name_of(obj)}: {error.text}") from None
    return stored if kind in _CLUSTER_WIDE else _placed(stored, namespace)


def _created(obj: Object, namespace: str) -> Object:
    answer = _server().handle(create_request(obj, namespace))
    if not answer.accepted or answer.object is None:
        raise NotAdmitted(answer.message)
    return {**answer.object, "apiVersion": obj["apiVersion"], "kind": obj["kind"]}


def with_claim_status(stored: Object, status: Object) -> Object:
    """A claim with a status that somebody has written.

    :raises NotAdmitted: with the API server's answer, if it refuses the status.
    """
    request = create_request(stored, "")._replace(verb=STATUS, old=stored, body={**stored, "status": status})
    answer = _server().handle(request)
    if not answer.accepted or answer.object is None:
        raise NotAdmitted(answer.message)
    return {**stored, "status": mapping(answer.object, "status")}


@cache
def _server() -> Server:
    return Server(Profile(CLASSIC))


def _placed(obj: Object, namespace: str) -> Object:
    metadata = mapping(obj, "metadata")
    return {**obj, "metadata": {**metadata, "namespace": text(metadata, "namespace") or namespace}}


#: A request takes this long to be stored, a watch tells of it after this much more, and then the answer comes.
STORED_SECONDS, WATCHED_SECONDS, ANSWERED_SECONDS = 0.002, 0.001, 0.002

Watcher = Callable[[memory_objects.Write], None]
#: Of these kinds the timeline has the writes: the others do not take part in the negotiation.
_SHOWN = frozenset(("PodSchedulingContext", "ResourceClaim", "Pod"))


class ApiServer:
    """Stores objects, and tells watchers."""

    def __init__(self, timeline: Timeline) -> None:
        self.objects = MemoryObjects()
        self.timeline = timeline
        self._watchers: list[Watcher] = []
        self._coming: deque[memory_objects.Write] = deque()
        self.objects.listeners.append(self._tell)
        self._author: Client | None = None
        self._verb = ""

    def watch(self, watcher: Watcher) -> None:
        """Tell somebody of each write from now on."""
        self._watchers.append(watcher)

    async def write(self, author: Client, verb: str, make: Callable[[MemoryObjects], Object]) -> Object:
        """Store something for somebody.

        :raises resourceapi.errors.WriteConflict: if it is refused.
        """
        await asyncio.sleep(STORED_SECONDS)
        self._author, self._verb = author, verb
        try:
            return make(self.objects)
        finally:
            self._author = None
            await asyncio.sleep(ANSWERED_SECONDS)

    def store(self, author: Client, obj: Object) -> None:
        """Store a new object for somebody at once.

        :raises resourceapi.errors.WriteConflict: if there is one of its name.
        """
        self._author, self._verb = author, "create"
        try:
            self.objects.create(obj)
        finally:
            self._author = None

    def _deliver(self) -> None:
        write = self._coming.popleft()
        for watcher in self._watchers:
            watcher(write)

    def _tell(self, write: memory_objects.Write) -> None:
        # The loop has no order for what is to happen at the same time.
        self._coming.append(write)
        asyncio.get_running_loop().call_later(WATCHED_SECONDS, self._deliver)
        author = self._author
        if author is None or write.kind not in _SHOWN:
            return
        obj = write.after or write.before or {}
        of_pod = author.about or (key_of(obj) if write.kind != "ResourceClaim" else "")
        what = Write(self._verb, write.kind, key_of(obj), changes(write.before, write.after))
        if write.after is None:
            what = what._replace(changes=())
        self.timeline.add(Entry(now(), author.name, of_pod, author.attempt, author.phase, write=what))


class Client:
    """Somebody who asks an API server, for a certain purpose; implements :class:`classic.writes.Objects`.

    :ivar name: who it is.
    :ivar about: about which pod, with its namespace; empty if that depends on the object.
    :ivar attempt: in which attempt to schedule it.
    :ivar phase: in which phase.
    """

    def __init__(
        self, server: ApiServer, name: str, about: str = "", attempt: int = 0, phase: str = ""
    ) -> None:
        self.name, self.about, self.attempt, self.phase = name, about, attempt, phase
        self._server = server
        self._objects = objects = server.objects
        self.claim, self.resource_class = objects.claim, objects.resource_class
        self.context, self.pod = objects.context, objects.pod

    async def create(self, obj: Object) -> Object:
        """Store a new object."""
        return await self._write("create", lambda objects: objects.create(obj))

    async def update(self, kind: str, obj: Object) -> Object:
        """Write all of an object but its status."""
        return await self._write("update", lambda objects: objects.update(kind, obj))

    async def update_status(self, kind: str, obj: Object) -> Object:
        """Write the status of an object."""
        return await self._write("update status", lambda objects: _with_status(objects, kind, obj))

    async def patch_status(self, kind: str, obj: Object, change: Callable[[Object], Object]) -> Object:
        """Change the status of an object, as it is stored by then.

        :param change: the status after, from the status before.
        """

        def patched(objects: MemoryObjects) -> Object:
            stored = objects.get(kind, namespace_of(obj), name_of(obj))
            if stored is None:
                raise WriteConflict(f"{kind} {key_of(obj)} does not exist")
            return _with_status(objects, kind, {**stored, "status": change(stored.get("status") or {})})

        return await self._write("patch status", patched)

    async def delete(self, kind: str, namespace: str, name: str) -> None:
        """Delete an object, if there is one."""

        def deleted(objects: MemoryObjects) -> Object:
            objects.delete(kind, namespace, name)
            return {}

        await self._write("delete", deleted)

    async def bind(self, pod: Object, node: str) -> None:
        """Have a pod run on a node."""
        stored = self._objects.get("Pod", namespace_of(pod), name_of(pod)) or pod
        bound = {**stored, "spec": {**stored["spec"], "nodeName": node}}
        await self._write("create binding", lambda objects: objects.update("Pod", bound))

    async def update_claim(self, claim: Object) -> Object:
        """Write all of a claim but its status."""
        return await self.update("ResourceClaim", claim)

    async def update_claim_status(self, claim: Object) -> Object:
        """Write the status of a claim."""
        return await self.update_status("ResourceClaim", claim)

    async def update_context_status(self, context: Object) -> Object:
        """Write the status of a PodSchedulingContext."""
        return await self.update_status("PodSchedulingContext", context)

    async def _write(self, verb: str, make: Callable[[MemoryObjects], Object]) -> Object:
        return await self._server.write(self, verb, make)


def _with_status(objects: MemoryObjects, kind: str, obj: Object) -> Object:
    """Store an object with another status; that of a claim must keep the rules, of which one is that not all can be shared.

    :raises resourceapi.errors.WriteConflict: if it is refused.
    """
    stored = objects.get(kind, namespace_of(obj), name_of(obj))
    if kind == CLAIM and stored is not None:
        try:
            with_claim_status(stored, mapping(obj, "status"))
        except NotAdmitted as error:
            raise WriteConflict(str(error)) from None
    return objects.update_status(kind, obj)
