"""An API server in memory, as strict about revisions, uids and subresources as the real one, with faults on demand.

It implements :class:`resourceapi.api_client.Api` and what :class:`cluster.reflector.Reflector` needs of
:class:`cluster.client.Client`.  It knows no clock: watches last until :meth:`FakeApi.end_watches`.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Generator, Iterable, Mapping
from threading import Condition, Event
from typing import Any, NamedTuple, cast

from cluster.client import Client, Interruption, Most
from resourceapi.api_client import TooLarge, Unavailable
from resourceapi.objects import Object
from tests.scheduler.fake_faults import Fault, Gate, Killed, Request
from tests.scheduler.fake_objects import Refusal, bound, merged, refuse_unless_current, with_status
from tests.scheduler.fake_places import RESOURCE, RESOURCES, Place

Answer = tuple[int, Any]
TIME = "2026-01-01T00:00:00Z"


class Change(NamedTuple):
    """An event of the history."""

    revision: int
    type: str
    version: str
    resource: str
    object: Object


class _Smaller(NamedTuple):
    """A server for one who reads no answers above a size."""

    api: FakeApi
    most: Most

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> Answer:
        answer = self.api.request(verb, path, body, query)
        if len(json.dumps(answer[1])) > self.most.bytes:
            raise TooLarge(f"{verb} {path}: the answer has more than {self.most.bytes:,} bytes")
        return answer


class FakeApi:
    """Holds objects; every request can be made to fail, to wait, or to end its caller.

    :ivar requests: all requests so far.
    :ivar history: all changes so far, in their order.
    :ivar down: whether nobody answers.
    :ivar resources: what is served, by version and resource; others are answered with 404.
    :ivar hooks: called with every request before it is carried out; they may raise or wait.
    """

    server = "https://fake"

    def __init__(self, objects: Iterable[Object] = ()) -> None:
        self.requests: list[Request] = []
        self.history: list[Change] = []
        self.down = False
        self.resources = dict(RESOURCES)
        self.hooks: list[Callable[[Request], None]] = []
        self._faults: list[tuple[Callable[[Request], bool], list[int], Fault | Gate | int]] = []
        self._objects: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        self._changed = Condition()
        self._revision = 100
        self._oldest = 0
        self._uids = 0
        self._rounds = 0
        for obj in objects:
            self.add(obj)

    def client(self) -> Client:
        """This server for those who ask for a client by its class."""
        return cast(Client, self)

    # --- what a test does to the cluster, which is neither counted nor made to fail

    def add(self, obj: Object) -> Object:
        """Create an object (its ``apiVersion`` and ``kind`` say where), with its status; what is stored."""
        place = self._place_of(obj)
        with self._changed:
            return copy.deepcopy(self._create(place, obj, keep_status=True))

    def change(self, path: str, patch: Object) -> Object:
        """Merge a patch into the object at a path as somebody else does, status and all; what is stored then."""
        place = Place.of(path)
        with self._changed:
            stored = self._stored(place)
            return copy.deepcopy(self._write(place, stored, merged(stored, patch)))

    def get(self, path: str) -> Object:
        """The object at a path; KeyError without one."""
        place = Place.of(path)
        with self._changed:
            return copy.deepcopy(self._objects[place.version, place.resource][place.namespace, place.name])

    def all(self, resource: str, version: str = RESOURCE) -> list[Object]:
        """All objects of a resource."""
        with self._changed:
            return copy.deepcopy(list(self._objects.get((version, resource), {}).values()))

    def remove(self, path: str) -> None:
        """Delete an object, whatever its finalizers."""
        place = Place.of(path)
        with self._changed:
            self._forget(place, self._stored(place))

    def end_watches(self) -> None:
        """End all watches that are open."""
        with self._changed:
            self._rounds += 1
            self._changed.notify_all()

    def compact(self) -> None:
        """Forget old revisions: watches from them, and lists that have begun, get 410."""
        with self._changed:
            self._oldest = self._revision

    def fail(
        self, nth: int, fault: Fault | int, matching: Callable[[Request], bool] = lambda request: True
    ) -> None:
        """Let the nth request from now on (1 is the next) of those that match fail, an integer is the HTTP status."""
        self._faults.append((matching, [nth], fault))

    def pause(self, nth: int, matching: Callable[[Request], bool] = lambda request: True) -> Gate:
        """Let the nth request from now on of those that match wait before it is carried out."""
        gate = Gate(Event(), Event())
        self._faults.append((matching, [nth], gate))
        return gate

    def heal(self) -> bool:
        """Forget what was to fail or wait, and has not yet; whether there was any of that."""
        with self._changed:
            left = bool(self._faults)
            self._faults.clear()
        return left

    # --- what clients do

    def request(
        self, verb: str, path: str, body: object = None, query: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request, as :class:`resourceapi.api_client.Api` has it."""
        request = Request(verb, path, copy.deepcopy(body), dict(query or {}))
        self.requests.append(request)
        for hook in self.hooks:
            hook(request)
        fault = self._fault_of(request)
        if isinstance(fault, Gate):
            fault.reached.set()
            fault.resume.wait()
        if self.down or fault is Fault.REFUSED:
            raise Unavailable(f"{verb} {path}: connection refused", reason="connection refused")
        if fault is Fault.KILLED_BEFORE:
            raise Killed(str(request))
        if isinstance(fault, int):
            return _status(fault, "Injected", "injected")
        answer = self._carried_out(request)
        if fault is Fault.KILLED_AFTER:
            raise Killed(str(request))
        if fault is Fault.LOST:
            raise Unavailable(f"{verb} {path}: timed out", reason="timed out")
        return self._carried_out(request) if fault is Fault.TWICE else answer

    def events(
        self,
        path: str,
        query: Mapping[str, str],
        timeout: float,
        interruption: Interruption | None = None,
    ) -> Generator[Any, None, None]:
        """The changes of a collection as they come, as :class:`cluster.client.Client` has it."""
        place, seen = Place.of(path), int(query["resourceVersion"])
        self.requests.append(Request("WATCH", path, None, dict(query)))
        if self.down:
            raise Unavailable(f"GET {path}: connection refused", reason="connection refused")
        with self._changed:
            rounds, too_old = self._rounds, seen < self._oldest
        if too_old:
            yield {"type": "ERROR", "object": _status(410, "Expired", "too old resource version")[1]}
            return
        with (interruption or Interruption()).ends(self.end_watches):
            yield from self._changes(place, seen, rounds)

    def _changes(self, place: Place, seen: int, rounds: int) -> Generator[Any, None, None]:
        while True:
            with self._changed:
                while self._rounds == rounds and self._revision == seen:
                    self._changed.wait()
                if self._rounds != rounds:
                    return
                news = [change for change in self.history if change.revision > seen]
                seen = self._revision
            for change in news:
                if (change.version, change.resource) == place[:2] and place.holds(change.object):
                    yield {"type": change.type, "object": copy.deepcopy(change.object)}

    def accepting(self, media_type: str) -> Client:
        """This server; it has one media type."""
        return self.client()

    def within(self, budget: object) -> Client:
        """This server, which sends no more than a test wants."""
        return self.client()

    def taking(self, most: Most) -> Client:
        """This server for one who reads no larger answers."""
        return cast(Client, _Smaller(self, most))

    def close(self) -> None:
        """Do nothing: there are no connections."""

    # --- how requests are carried out

    def _fault_of(self, request: Request) -> Fault | Gate | int | None:
        found = None
        with self._changed:
            for entry in list(self._faults):
                matching, left, fault = entry
                if matching(request):
                    left[0] -= 1
                    if not left[0]:
                        self._faults.remove(entry)
                        found = fault
        return found

    def _carried_out(self, request: Request) -> Answer:
        place = Place.of(request.path)
        with self._changed:
            try:
                if (place.version, place.resource) not in self.resources:
                    raise Refusal(404, "NotFound", "the server could not find the requested resource")
                code, answer = self._answer(request, place)
            except Refusal as refused:
                return _status(refused.code, refused.reason, refused.message)
            return code, copy.deepcopy(answer)

    def _answer(self, request: Request, place: Place) -> Answer:
        match request.verb:
            case "GET" if place.name:
                return 200, self._stored(place)
            case "GET":
                return 200, self._list(place, request.query)
            case "POST" if place.subresource == "binding":
                stored = self._stored(place)
                self._write(place, stored, bound(stored, request.body))
                return 201, {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}
            case "POST":
                return 201, self._create(place, request.body, keep_status=False)
            case "PUT":
                return 200, self._update(place, request.body)
            case "PATCH":
                stored = self._stored(place)
                return 200, self._update(place, merged(stored, request.body))
            case "DELETE":
                return 200, self._delete(place, request.body or {})
        raise AssertionError(request)

    def _stored(self, place: Place) -> Object:
        found = self._objects.get((place.version, place.resource), {}).get((place.namespace, place.name))
        if found is None:
            raise Refusal(404, "NotFound", f'{place.resource} "{place.name}" not found')
        return found

    def _place_of(self, obj: Object) -> Place:
        version = ("/api/" if "/" not in obj["apiVersion"] else "/apis/") + obj["apiVersion"]
        for (served, resource), found in self.resources.items():
            if (served, found.kind) == (version, obj["kind"]):
                return Place(served, resource, obj["metadata"].get("namespace", ""), "", "")
        raise KeyError(obj["kind"])

    def _create(self, place: Place, body: Object, *, keep_status: bool) -> Object:
        resource = self.resources[place.version, place.resource]
        metadata = dict(body["metadata"])
        self._uids += 1
        name = metadata.setdefault("name", f"{metadata.get('generateName')}{self._uids}")
        if resource.namespaced:
            metadata["namespace"] = place.namespace
        key = (place.namespace, name)
        objects = self._objects.setdefault((place.version, place.resource), {})
        if key in objects:
            raise Refusal(409, "AlreadyExists", f'{place.resource} "{name}" already exists')
        if not keep_status or "uid" not in metadata:
            metadata["uid"] = f"00000000-0000-4000-8000-{self._uids:012}"
        metadata.setdefault("creationTimestamp", TIME)
        api_version = place.version.removeprefix("/apis/").removeprefix("/api/")
        created = {
            **copy.deepcopy(body),
            "apiVersion": api_version,
            "kind": resource.kind,
            "metadata": metadata,
        }
        if resource.has_status and not keep_status:
            created.pop("status", None)
        return self._write(place._replace(name=name), None, created)

    def _update(self, place: Place, body: Object) -> Object:
        stored = self._stored(place)
        refuse_unless_current(stored, body, place.resource)
        if place.subresource == "status":
            return self._write(place, stored, with_status(stored, body))
        if place.subresource:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        body = copy.deepcopy(body)
        if self.resources[place.version, place.resource].has_status:
            body.pop("status", None)
            if "status" in stored:
                body["status"] = stored["status"]
        kept = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
        body["metadata"].update({key: stored["metadata"][key] for key in kept if key in stored["metadata"]})
        added = {*body["metadata"].get("finalizers", ())} - {*stored["metadata"].get("finalizers", ())}
        if added and "deletionTimestamp" in stored["metadata"]:
            raise Refusal(422, "Invalid", "no new finalizers can be added if the object is being deleted")
        return self._write(place, stored, body)

    def _delete(self, place: Place, options: Object) -> Object:
        stored = self._stored(place)
        refuse_unless_current(stored, {"metadata": options.get("preconditions", {})}, place.resource)
        if stored["metadata"].get("finalizers"):
            return self._write(place, stored, merged(stored, {"metadata": {"deletionTimestamp": TIME}}))
        return self._forget(place, stored)

    def _write(self, place: Place, before: Object | None, after: Object) -> Object:
        """Store an object; one that has not changed keeps its revision, one whose last finalizer went is deleted."""
        after = copy.deepcopy(after)
        if not after["metadata"].get("finalizers"):
            after["metadata"].pop("finalizers", None)
            if "deletionTimestamp" in after["metadata"]:
                return self._forget(place, after)
        if before is not None:
            after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
            if after == before:
                return before
        self._record(place, "MODIFIED" if before else "ADDED", after)
        key = (after["metadata"].get("namespace", ""), after["metadata"]["name"])
        self._objects[place.version, place.resource][key] = after
        return after

    def _forget(self, place: Place, obj: Object) -> Object:
        key = (obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        del self._objects[place.version, place.resource][key]
        gone = copy.deepcopy(obj)
        self._record(place, "DELETED", gone)
        return gone

    def _record(self, place: Place, kind: str, obj: Object) -> None:
        self._revision += 1
        obj["metadata"]["resourceVersion"] = str(self._revision)
        self.history.append(Change(self._revision, kind, place.version, place.resource, copy.deepcopy(obj)))
        self._changed.notify_all()

    def _list(self, place: Place, query: Mapping[str, str]) -> Object:
        """A page; the continue token is the revision of the first page and how much was read."""
        revision, start = self._revision, 0
        if "continue" in query:
            revision, start = map(int, query["continue"].split("/"))
            if revision < self._oldest:
                raise Refusal(410, "Expired", "The provided continue parameter is too old")
        items = self._items_at(revision, place)
        end = start + int(query.get("limit") or len(items) or 1)
        metadata = {"resourceVersion": str(revision)}
        if end < len(items):
            metadata["continue"] = f"{revision}/{end}"
        kind = self.resources[place.version, place.resource].kind
        return {"kind": f"{kind}List", "metadata": metadata, "items": items[start:end]}

    def _items_at(self, revision: int, place: Place) -> list[Object]:
        found: dict[tuple[str, str], Object] = {}
        for change in self.history:
            if change.revision > revision or (change.version, change.resource) != place[:2]:
                continue
            key = (change.object["metadata"].get("namespace", ""), change.object["metadata"]["name"])
            found[key] = change.object
            if change.type == "DELETED":
                del found[key]
        return [obj for _, obj in sorted(found.items()) if place.holds(obj)]


def _status(code: int, reason: str, message: str) -> Answer:
    return code, {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
