"""The answers of the page about a cluster, in the shapes that ``-o json`` of the commands has. docs/how-to/ui.md lists them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from gc import collect
from itertools import islice
from threading import Lock
from time import monotonic
from typing import Any

from allocator.devices import Device
from allocator.selection import CompileError, Selectors
from allocator.time_limit import POD_SECONDS, OutOfTime, TimeLimit
from claimcheck.answers.cel import evaluate
from claimcheck.answers.cluster_state import TEMPLATE, ClusterState
from claimcheck.answers.devices.capacity import Capacity, capacity
from claimcheck.answers.devices.cluster_devices import FREE
from claimcheck.answers.devices.pool_checks import slices_by_pool
from claimcheck.answers.devices.published import PublishedDevices
from claimcheck.answers.doctor.checks import POD_WAITS
from claimcheck.answers.doctor.examination import PODS_THAT_WAIT, Examination, examine
from claimcheck.answers.doctor.examined import Examined
from claimcheck.answers.explain import explain_all
from claimcheck.answers.impact.devices_afterwards import DevicesAfterwards
from claimcheck.answers.scenario import Scenario, fellows_in
from claimcheck.answers.validate.beside_state import BesideState
from commandline import doctor_report
from commandline.devices import capacity_report
from commandline.devices.device_map import DeviceMap
from commandline.devices.json_report import device_document, fills_document
from commandline.explain import json_report
from commandline.page import openapi, planning, pools, remedies, texts
from commandline.page.planning import CAPACITY_SECONDS
from commandline.page.questions import given
from commandline.reports.writing import failure_documents
from documents.manifest import Manifest
from resourceapi.manifests import name_of, namespace_of
from resourceapi.objects import Object
from resourceapi.records.pools import DeviceId, PoolId
from serving.browser_pages import Query, Rendered, Visitor, rendered
from serving.routes import HTTPError

Json = dict[str, Any]
Make = Callable[["_Look", Query], Json]
Objects = tuple[ClusterState, list[Manifest]]
"""A cluster, and those of its objects that request devices (see :meth:`ClusterState.learn`)."""

#: How long a selector may take on all kinds of devices.
SELECT_SECONDS = 2.0
#: Objects that are listed to choose one from.
MOST_REQUESTING = 1_000
#: After a change it is not looked anew before so many times as long have passed as the last look took.
REST = 3.0
#: Answers that are kept until something changes, and how many bytes they have at most.
MOST_KEPT, MOST_KEPT_BYTES = 100, 64 << 20


def as_rendered(make: Callable[[Query], Json]) -> Callable[[Query], Rendered]:
    """The same answer as JSON text."""
    return lambda query: rendered(_text(make(query)))


def _text(answer: Json) -> str:
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


class _Look:
    """A cluster at one time, with all that has been found out about it.

    :param version: that of the objects.
    :param has_holders: whether the objects tell who holds devices.
    """

    def __init__(self, objects: Objects, version: int, seconds: float, *, has_holders: bool) -> None:
        self.version = version
        self.state, self.manifests = objects
        self._seconds = seconds
        self.examined = Examined(self.state, self.manifests, "", TimeLimit(seconds))
        self.devices = (
            self.examined.devices
            if has_holders
            else PublishedDevices(self.state, TimeLimit(seconds), self.examined.devices.snapshot)
        )
        self.devices.evictions()  # while there is time
        self.kept: dict[str, Rendered] = {}
        self.kept_bytes = 0
        self._changed: tuple[Query, DevicesAfterwards] | None = None

    def changed(self, query: Query) -> DevicesAfterwards:
        """The devices after the change in a question, or as they are if there is none; the last one is kept."""
        change = planning.change_in(query)
        if not change:
            return DevicesAfterwards(self.devices)
        if self._changed is None or self._changed[0] != change:
            self._changed = change, planning.changed(self.devices, change)
        return self._changed[1]

    def keep(self, key: str, answer: Rendered) -> None:
        """Keep an answer instead of the oldest ones."""
        self.kept[key] = answer
        self.kept_bytes += answer.bytes
        while len(self.kept) > MOST_KEPT or self.kept_bytes > MOST_KEPT_BYTES:
            self.kept_bytes -= self.kept.pop(next(iter(self.kept))).bytes

    def forget(self) -> None:
        """Keep nothing but the answers that have been made: no others will be."""
        for name in vars(self).keys() - {"version", "kept", "kept_bytes"}:  # which others may be reading
            delattr(self, name)

    @cached_property
    def examination(self) -> Examination:
        self.examined.limit = TimeLimit(self._seconds)
        return examine(self.examined)

    def waiting(self, name: str) -> Scenario:
        """The pod with this name, and those that wait with it; without workloads if it does not wait.

        :raises OutOfTime: if they cannot be read in time.
        """
        limit = self.examined.limit = TimeLimit(self._seconds)
        found = [each for each in self.examined.waiting.workloads if each.is_pod and each.full_name == name]
        fellows = fellows_in(self.state, self.manifests, found, self.state.default_namespace, limit)
        return Scenario(self.state, self.devices.snapshot, found, fellows)

    @cached_property
    def requesting(self) -> list[Manifest]:
        """What requests devices in the cluster: templates first, of which there are few, and pods last."""
        kinds = {TEMPLATE: 0, "Pod": 2}
        return sorted(self.manifests, key=lambda each: kinds.get(each.value["kind"], 1))

    @cached_property
    def pools(self) -> dict[PoolId, list[Object]]:
        return slices_by_pool(self.state)

    @cached_property
    def beside(self) -> BesideState:
        return BesideState(self.state)

    @cached_property
    def capacity(self) -> Capacity:
        return capacity(self.devices, TimeLimit(CAPACITY_SECONDS))

    @cached_property
    def map(self) -> DeviceMap:
        return DeviceMap(self.devices)

    @cached_property
    def selectors(self) -> Selectors:
        return Selectors(self.state.profile.minor)


class _Lane:
    """The looks of questions that wait for each other, one after the other; for one thread, and :meth:`version` for any.

    :param take: looks at a version.
    :param newest: which one there is.
    :param slow: what is said if a look takes too long.
    """

    def __init__(self, take: Callable[[int], _Look], newest: Callable[[], int], slow: str) -> None:
        self._take = take
        self._newest = newest
        self._slow = slow
        self.look: _Look | None = None
        self.not_before = float("-inf")

    def version(self) -> int:
        """The version that is shown to whoever asks now."""
        look = self.look
        return self._newest() if look is None or monotonic() >= self.not_before else look.version

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Take no other look before some time, which is longer if the block takes long."""
        begun = monotonic()
        try:
            yield
        finally:
            self.not_before = max(self.not_before, monotonic() + REST * (monotonic() - begun))

    def current(self) -> _Look:
        """The look at the version that is shown."""
        version = self.version()
        if self.look is None or self.look.version != version:
            if monotonic() < self.not_before:
                raise HTTPError(self._slow, 503)
            with self.resting():
                self.look = None  # there is no room for two of them, and they have circles
                collect()
                try:
                    self.look = self._take(version)
                except OutOfTime:
                    raise HTTPError(self._slow, 503) from None
        return self.look


#: Questions that wait for others of their lane: those about all that is wrong, those that search for places, and all others.
EXAMINATION, SEARCH, OTHERS = LANES = ("examination", "search", "others")


class ClusterPages:
    """Looks at a cluster when it is asked, and again when it has changed; for one thread for each lane.

    :param source: where the objects come from, for people.
    :param read: reads them; raises :class:`HTTPError` while they are not all there.
    :param version: grows with each change of them.
    :param seconds: how long everything may take that is found out at once.
    :param has_holders: whether the objects tell who holds devices; else it is not said that nobody does.
    :param has_lanes: whether there are many people, of whom none is to wait for what another one asks; each lane takes the memory of a look.
    """

    def __init__(
        self,
        source: str,
        read: Callable[[], Objects],
        version: Callable[[], int] = lambda: 0,
        *,
        is_live: bool,
        seconds: float,
        has_holders: bool = True,
        has_lanes: bool = False,
    ) -> None:
        self._source = source
        self._has_holders = has_holders
        self._read = read
        self._is_live = is_live
        self._seconds = seconds
        slow = f"looking at the devices took longer than {seconds:g} s (--timeout)"
        names = LANES if has_lanes else (OTHERS,)
        self._lanes = {each: _Lane(self._take, version, slow) for each in names}
        self._reading = Lock()
        self._objects: tuple[int, Objects] | None = None

    def visitor(self, name: str) -> Visitor:
        """Somebody who sees all of it."""
        answers = {path: partial(self._answer, path, make) for path, make in self._made.items()}
        return Visitor(name, answers, self.version, self.kept, self.lane_of)

    @property
    def answers(self) -> Mapping[str, Callable[[Query], str]]:
        """What is answered, as text, by path."""
        return {path: partial(self._text, path, make) for path, make in self._made.items()}

    def _text(self, path: str, make: Make, query: Query) -> str:
        return self._answer(path, make, query).content.decode()

    @property
    def _made(self) -> Mapping[str, Make]:
        return {
            "/api/v1/cluster": self._cluster,
            "/api/v1/doctor": self._doctor,
            "/api/v1/explain": self._explain,
            "/api/v1/map": self._map,
            "/api/v1/node": self._node,
            "/api/v1/device": self._device,
            "/api/v1/capacity": self._capacity,
            "/api/v1/capacity.csv": self._capacity_csv,
            "/api/v1/remedy": self._remedy,
            "/api/v1/openapi.json": lambda _look, _query: openapi.document(),
            "/api/v1/pools": lambda look, _: pools.listed(look.devices, look.pools),
            "/api/v1/pool": lambda look, query: pools.checked(
                look.devices, look.pools, given(query, "driver"), given(query, "pool")
            ),
            "/api/v1/partitions": lambda look, query: pools.partitioned(
                look.devices, given(query, "driver"), given(query, "pool")
            ),
            BESIDE: lambda look, query: pools.beside(
                look.devices, *(given(query, key) for key in ("driver", "pool", "devices"))
            ),
            ROOM: lambda look, query: planning.room(look.changed(query), look.requesting, query),
            CHANGED: lambda look, query: planning.capacity_after(look.changed(query)),
            NEW_NODES: self._new_nodes,
            VALIDATE: lambda look, query: texts.validated(look.beside, given(query, "text")),
            FIX: lambda look, query: texts.with_fix(
                look.beside, given(query, "text"), query.get("finding", "")
            ),
            EXPLAIN_TEXT: lambda look, query: texts.explained(
                look.state, look.devices.snapshot, given(query, "text")
            ),
            SIMULATE_TEXT: lambda look, query: texts.simulated(
                look.state, look.devices.snapshot, given(query, "text")
            ),
            SELECT: self._select,
        }

    def devices(self) -> int:
        """How many devices there are."""
        return sum(map(len, self._lanes[OTHERS].current().map.kinds))

    def version(self) -> int:
        """Another one when there is something new to show, in any lane that has been asked; may be called by any thread."""
        asked = [each for each in self._lanes.values() if each.look is not None]
        return sum(each.version() for each in asked or [self._lanes[OTHERS]])

    def kept(self, path: str, query: Query) -> Rendered | None:
        """An answer that has been given since the last change; may be called by any thread."""
        lane = self._lanes[self.lane_of(path)]
        look = lane.look
        return (
            look.kept.get(_key(path, query)) if look is not None and look.version == lane.version() else None
        )

    def _take(self, version: int) -> _Look:
        """Look at a version, of which the objects are read once for all lanes."""
        with self._reading:
            if self._objects is None or self._objects[0] != version:
                self._objects = version, self._read()
            objects = self._objects[1]
        return _Look(objects, version, self._seconds, has_holders=self._has_holders)

    def _answer(self, path: str, make: Make, query: Query) -> Rendered:
        name = self.lane_of(path)
        look = self._lanes[name].current()
        key = _key(path, query)
        found = look.kept.get(key)
        if found is None:
            # what one person asks for keeps nothing from being looked at for others
            with self._lanes[name].resting() if name == EXAMINATION else nullcontext():
                found = rendered(_text(make(look, query)))
            look.keep(key, found)
            if name == EXAMINATION and len(look.kept) == len(_EXAMINED):
                look.forget()
                collect()
        return found

    def lane_of(self, path: str) -> str:
        """The lane of a question."""
        found = _LANE_OF.get(path, OTHERS)
        return found if found in self._lanes else OTHERS

    def _cluster(self, look: _Look, _: Query) -> Json:
        everything = [device for devices in look.map.kinds for device in devices]
        waiting = [each for each in look.examination.diagnoses if each.check is POD_WAITS]
        unfinished = look.examination.unfinished
        return {
            "source": self._source,
            "kubeVersion": f"1.{look.state.profile.minor}",
            "isLive": self._is_live,
            "version": look.version,
            "nodes": len(look.state.all_nodes()),
            "devices": len(everything),
            "free": sum(look.devices.status(each) == FREE for each in everything),
            "waiting": sum(len(each.objects) for each in waiting)
            if PODS_THAT_WAIT not in unfinished
            else None,
            "failures": failure_documents(look.state.failures),
            "notes": look.examination.unread,
        }

    def _doctor(self, look: _Look, _: Query) -> Json:
        return doctor_report.document(look.examination)

    def _explain(self, look: _Look, query: Query) -> Json:
        return json_report.document(explain_all(self._waiting(look, query), limit=TimeLimit(POD_SECONDS)))

    def _remedy(self, look: _Look, query: Query) -> Json:
        return remedies.tried(self._waiting(look, query), look.devices, given(query, "number"))

    def _waiting(self, look: _Look, query: Query) -> Scenario:
        name = f"{given(query, 'namespace')}/{given(query, 'name')}"
        try:
            scenario = look.waiting(name)
        except OutOfTime:
            raise HTTPError(
                f"reading the pods took longer than {self._seconds:g} s (--timeout)", 503
            ) from None
        if not scenario.workloads:
            raise HTTPError(f"no pod {name} waits for devices", 404)
        return scenario

    def _map(self, look: _Look, _: Query) -> Json:
        return {"version": look.version, **look.map.document()}

    def _node(self, look: _Look, query: Query) -> Json:
        name = given(query, "name")
        devices = look.map.by_node.get(name)
        if devices is None:
            raise HTTPError(f"no device is on a node {name}", 404)
        closed = look.devices.closed(devices[0])
        return {
            "name": name,
            "closed": "" if closed is None else closed.named,
            "devices": [self._of(look, each) for each in devices],
        }

    def _device(self, look: _Look, query: Query) -> Json:
        id = DeviceId(*(given(query, key) for key in DeviceId._fields))
        device = look.map.device(id)
        if device is None:
            raise HTTPError(f"there is no device {id}", 404)
        return self._of(look, device)

    def _capacity(self, look: _Look, _: Query) -> Json:
        asked = [
            {
                "kind": each.value["kind"],
                "namespace": namespace_of(each.value, "default"),
                "name": name_of(each.value),
            }
            for each in islice(look.requesting, MOST_REQUESTING)
        ]
        more = len(look.requesting) - len(asked)
        return {
            **capacity_report.document(look.capacity),
            "requesting": asked,
            "moreRequesting": more,
            "nodeKinds": planning.kinds_of_nodes(look.devices),
        }

    def _capacity_csv(self, look: _Look, _: Query) -> Json:
        return {"text": capacity_report.as_csv(look.capacity)}

    def _new_nodes(self, look: _Look, query: Query) -> Json:
        return planning.new_nodes(look.devices, look.requesting, query)

    def _of(self, look: _Look, device: Device) -> Json:
        return {**device_document(look.devices, device), "fills": fills_document(look.devices, device)}

    def _select(self, look: _Look, query: Query) -> Json:
        """The kinds of devices that a selector chooses, and those on which it fails."""
        expression = given(query, "expression")
        answer = evaluate(expression, look.state.profile, derived=False)
        if answer.error is not None:
            line, column, message = next(iter(answer.locations), (None, None, answer.error.message))
            error = {"message": message, "line": line, "column": column, "hint": answer.hint}
            return {"kinds": [], "failing": [], "error": error}
        limit = TimeLimit(SELECT_SECONDS)
        chosen, failing = [], []
        for number, devices in enumerate(look.map.kinds):
            try:
                outcome = look.selectors.outcome(expression, devices[0], limit)
            except CompileError as error:
                outcome = str(error)
            except OutOfTime:
                raise HTTPError(f"the selector took longer than {SELECT_SECONDS:g} s", 503) from None
            if isinstance(outcome, str):
                failing.append({"kind": number, "error": outcome})
            elif outcome:
                chosen.append(number)
        return {"kinds": chosen, "failing": failing, "error": None}


def _key(path: str, query: Query) -> str:
    """The same for questions with the same answer."""
    return json.dumps([path, [] if path in _EXAMINED else sorted(query.items())])


SELECT, BESIDE, ROOM, CHANGED, NEW_NODES, VALIDATE, FIX, EXPLAIN_TEXT, SIMULATE_TEXT = (
    f"/api/v1/{name}"
    for name in (
        "select",
        "beside",
        "room",
        "changed-capacity",
        "new-nodes",
        "validate",
        "fix",
        "explain-text",
        "simulate-text",
    )
)
#: What is asked by POST: expressions and manifests may be long.
POSTED = frozenset((SELECT, BESIDE, ROOM, CHANGED, NEW_NODES, VALIDATE, FIX, EXPLAIN_TEXT, SIMULATE_TEXT))
_EXAMINED = ("/api/v1/cluster", "/api/v1/doctor")
_LANE_OF = dict.fromkeys(_EXAMINED, EXAMINATION)
_LANE_OF |= {
    f"/api/v1/{name}": SEARCH for name in ("explain", "remedy", "partitions", "capacity", "capacity.csv")
}
_LANE_OF |= dict.fromkeys((ROOM, CHANGED, NEW_NODES, EXPLAIN_TEXT, SIMULATE_TEXT), SEARCH)
