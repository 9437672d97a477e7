"""Whether the requests of a claim can be satisfied together on any node, if nobody else used devices.

That is for the allocator to tell, which may take its time: it works in a thread of its own, on its own picture of the
cluster.  A review may wait for it for a moment; what comes later is for the next review of the same demands.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from hashlib import blake2b
from queue import Empty, SimpleQueue
from threading import Event, Lock, Thread
from time import perf_counter, sleep, thread_time

from allocator.errors import AllocationError, NodeError
from allocator.features import Features
from allocator.rules.standing import OPTIONAL_NODE_OPERATIONS
from allocator.scheduling import FATAL, Mode, SchedulingState
from allocator.time_limit import OutOfTime, TimeLimit
from cluster import store
from resourceapi.caches import WeighedCache
from resourceapi.logs import LOGGER
from resourceapi.measured import NEWEST
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import Claim
from resourceapi.records.nodes import Node
from resourceapi.spelling import canonical

# Work that takes longer than this, in seconds, is followed by a pause.
SHORT = 0.003
# How much computing time one question may take; what is not found out then is not told.
SECONDS = 0.5
MOST_PENDING = 50
# How large those may be in JSON before no more are taken, and how much memory answers take.
PENDING_BYTES, KNOWN_BYTES = 4 << 20, 4 << 20
_DIGEST_BYTES = 20
MAX_EVALUATIONS = 500_000
PAUSE = 3
ENDS = "looking for devices ends with an error"
LONGEST_PAUSE = 1.0
# Taints come and go, and nodes may come to declare what they do not yet: neither makes a claim impossible for ever.
_IGNORED_GATES = frozenset(("DRADeviceTaints",))
_DECLARED = frozenset((OPTIONAL_NODE_OPERATIONS,))
# More parts than these are not tried one by one for the smallest set that is impossible.
MAX_PARTS = 16

Change = Callable[[SchedulingState], object]


class Fitting:
    """Is told of changes of the cluster (objects of v1 in normal form), and asked about specs of claims."""

    def __init__(
        self, gates: frozenset[str], nodes: store.Collection[Node] | None = None, minor: int = NEWEST
    ) -> None:
        """Make one that knows no slices and classes yet, for kube-scheduler 1.`minor` with these gates.

        :param nodes: all nodes, with their labels; without any it cannot be asked.
        """
        self._nodes = nodes
        self._queue: SimpleQueue[Change | Question | None] = SimpleQueue()
        self._results = _Results()
        self._features = Features(gates - _IGNORED_GATES, minor)
        self._thread: Thread | None = None
        weakref.finalize(self, self._queue.put, None)
        if nodes is not None:
            nodes.listen(self._nodes_changed)

    @property
    def has_nodes(self) -> bool:
        """Whether nodes are known."""
        return self._nodes is not None and self._nodes.is_listed

    def start(self) -> None:
        """Begin to work, if that is not so yet; not before processes are forked."""
        if self._thread is None:
            arguments = (self._queue, self._features)
            self._thread = Thread(target=_serve, args=arguments, name="fitting", daemon=True)
            self._thread.start()

    def change(self, change: Change) -> None:
        """Let the cluster change, before any question that comes later or has not been begun."""
        self._results.forget()
        self._queue.put(change)

    def _nodes_changed(self, changes: Sequence[store.Change[Node]]) -> None:
        self.change(partial(_change_nodes, changes))

    def problem(self, spec: Object, seconds: float) -> str:
        """Why no node can serve a claim with this spec; nothing if one can, or if that is not known in so many seconds.

        The spec has its defaults.
        """
        devices = spec.get("devices", EMPTY)
        text = canonical([devices.get("requests"), devices.get("constraints")]).encode()
        key = blake2b(text, digest_size=_DIGEST_BYTES).digest()
        known = self._results.get(key)
        if known is not None:
            return known
        question = self._results.ask(key, spec, len(text))
        if question is None:
            return ""
        self.start()
        self._queue.put(question)
        if question.is_first:
            question.answered.wait(seconds)
        return question.answer


class Question:
    """A spec that somebody may wait to know about.

    :param key: the same for the same demands.
    :param size: how many bytes they have in JSON.
    :param is_first: whether no other question was pending.
    :param generation: how often the cluster had changed.
    """

    def __init__(
        self, results: _Results, key: bytes, spec: Object, size: int, *, is_first: bool, generation: int
    ) -> None:
        self.is_first = is_first
        self.generation = generation
        self.key = key
        self.spec = spec
        self.size = size
        self.answer = ""
        self.answered = Event()
        self._results = results

    def finish(self, answer: str) -> None:
        """Tell those who wait, and those who come."""
        self.answer = answer
        self._results.keep(self)
        self.answered.set()


class _Results:
    """What is known of the cluster as it is."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: WeighedCache[bytes, str] = WeighedCache(KNOWN_BYTES)
        self._pending: dict[bytes, Question] = {}
        self._generation = 0

    def get(self, key: bytes) -> str | None:
        return self._known.get(key)

    def ask(self, key: bytes, spec: Object, size: int) -> Question | None:
        """A new question; None if it has been asked already, or there are too many."""
        with self._lock:
            pending = sum([each.size for each in self._pending.values()])
            if key in self._pending or len(self._pending) >= MOST_PENDING or pending > PENDING_BYTES:
                return None
            is_first = not self._pending
            question = Question(self, key, spec, size, is_first=is_first, generation=self._generation)
            self._pending[key] = question
            return question

    def keep(self, question: Question) -> None:
        """Keep the answer unless something has changed since the question was asked."""
        with self._lock:
            del self._pending[question.key]
            if question.generation == self._generation:
                self._known.put(question.key, question.answer, len(question.answer))

    def forget(self) -> None:
        with self._lock:
            self._known.clear()
            self._generation += 1


def _in_turn(queue: SimpleQueue[Change | Question | None]) -> Iterator[Change | Question]:
    """Take changes in their order, and a question once there are none, until told to end.

    Questions take long. Changes behind them would keep every slice that has been published meanwhile, with all its devices.
    """
    questions: deque[Question] = deque()
    while True:
        try:
            item = queue.get(block=not questions)
        except Empty:
            yield questions.popleft()
            continue
        if item is None:
            return
        if isinstance(item, Question):
            questions.append(item)
        else:
            yield item


def _serve(queue: SimpleQueue[Change | Question | None], features: Features) -> None:
    """Take what comes, until told to end."""
    cluster = SchedulingState(features, (), {}, ())
    remembered = 0
    for item in _in_turn(queue):
        try:
            if isinstance(item, Question):
                start = perf_counter()
                item.finish(_problem(cluster, item.spec, TimeLimit(SECONDS, thread_time)))
                remembered += _evaluations(cluster, item.spec)
                if remembered > MAX_EVALUATIONS:
                    _forget(cluster)
                    remembered = 0
                _pause(perf_counter() - start)
            else:
                item(cluster)
        except Exception:  # noqa: BLE001 - warnings are not worth the end of all others
            LOGGER.exception("fitting failed")
            if isinstance(item, Question):
                item.finish("")


def _pause(worked: float) -> None:
    """Leave the processor to reviews for most of the time."""
    if worked > SHORT:
        sleep(min(PAUSE * worked, LONGEST_PAUSE))


def _evaluations(cluster: SchedulingState, spec: Object) -> int:
    """How often selectors have been evaluated at most, which is remembered."""
    requests = spec.get("devices", EMPTY).get("requests") or ()
    asked = [
        each
        for request in requests
        for each in (request.get("firstAvailable") or [request.get("exactly", EMPTY)])
    ]
    selectors = sum(1 + len(each.get("selectors") or ()) for each in asked)
    return selectors * sum(len(slice.devices) for slice in cluster.inventory)


def _forget(cluster: SchedulingState) -> None:
    """Drop what is cached about the selectors and capacities of devices."""
    for slice in cluster.inventory:
        for device in slice.devices:
            for memory in (
                device.shape.properties.matches,
                device.shape.properties.derived,
                device.shape.capacities.portions,
                device.shape.capacities.shares,
            ):
                memory.clear()


def _change_nodes(changes: Sequence[store.Change[Node]], cluster: SchedulingState) -> None:
    for name, _, node in changes:
        if node is None:
            cluster.remove_node(name)
        else:
            cluster.put_node(node._replace(declared_features=_DECLARED))


def _problem(cluster: SchedulingState, spec: Object, limit: TimeLimit) -> str:
    """Why no node can serve a claim; nothing if that is not found out in time."""
    try:
        reason = _refusal(cluster, spec, limit)
    except OutOfTime:
        return ""
    if reason is None:
        return ""
    parts = list(_parts(spec))
    if len(parts) <= MAX_PARTS:
        parts = _smallest(cluster, spec, parts, limit)
    names = ", ".join(_name(spec, part) for part in parts)
    if reason:
        return f"kube-scheduler will give up on its pods because of {names}: {reason}"
    these = "this" if len(parts) == 1 else "these together"
    return f"no node can satisfy {these}, even if nobody else used its devices: {names}"


def _refusal(cluster: SchedulingState, spec: Object, limit: TimeLimit) -> str | None:
    """None if the claim fits on some node, otherwise what to do about the error that ends the attempt, if there is one.

    The errors' own texts quote values of devices, which are not for whoever may make claims.
    """
    claim = Claim({"metadata": {"name": "claim"}, "spec": spec})
    reason = ""
    for node in cluster.nodes:  # one after the other, since most claims fit on the first
        try:
            for answer in cluster.place([claim], Mode.ALL_NODES, limit, node).nodes:
                if answer.result is not None:
                    return None
                if answer.error_kind == FATAL:
                    reason = reason or answer.fix or ENDS
        except AllocationError as error:
            reason = reason or error.fix or ENDS
        except NodeError as error:
            reason = reason or str(error)
    return reason


Part = tuple[str, int]
"""`requests` or `constraints`, and which of them."""


def _parts(spec: Object) -> Iterator[Part]:
    for kind in ("requests", "constraints"):
        for index in range(len(spec.get("devices", EMPTY).get(kind) or ())):
            yield kind, index


def _smallest(cluster: SchedulingState, spec: Object, parts: list[Part], limit: TimeLimit) -> list[Part]:
    """Those parts of which none can be left out without the others becoming possible, as far as there is time."""
    with suppress(OutOfTime):
        for part in list(parts):
            others = [other for other in parts if other != part]
            if (
                any(kind == "requests" for kind, _ in others)
                and _refusal(cluster, _only(spec, others), limit) is not None
            ):
                parts = others
    return parts


def _only(spec: Object, parts: list[Part]) -> Object:
    devices = spec["devices"]
    kept = {
        kind: [entry for index, entry in enumerate(devices.get(kind) or ()) if (kind, index) in parts]
        for kind in ("requests", "constraints")
    }
    return {**spec, "devices": {**devices, **kept, "config": []}}


def _name(spec: Object, part: Part) -> str:
    kind, index = part
    entry = spec["devices"][kind][index] or EMPTY
    if kind == "requests":
        return f"request {entry.get('name', '')!r}"
    rule = "matchAttribute" if "matchAttribute" in entry else "distinctAttribute"
    return f"{rule} {entry.get(rule, '')!r}"
