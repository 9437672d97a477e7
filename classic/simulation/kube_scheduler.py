"""kube-scheduler 1.30: attempts to schedule pods, one after the other, each followed by the binding of the pod."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

from allocator.node_resources import NodeResources, PodNeeds, needs_of
from allocator.node_scores import preference
from allocator.pod_nodes import Refusal, rejections
from allocator.time_limit import TimeLimit
from classic import memory_objects
from classic.claims import NotYet, SyncError, is_leaving
from classic.simulation import dynamic_resources as plugin
from classic.simulation.api_server import ApiServer, Client
from classic.simulation.dynamic_resources import NAME, Code, CycleState, PodClaim, Status
from classic.simulation.timeline import Entry, now
from resourceapi.errors import WriteConflict
from resourceapi.manifests import entries, key_of, mapping, text
from resourceapi.objects import Object
from resourceapi.records.nodes import Node, read_node
from resourceapi.releases import CLASSIC, Profile

# The scheduling queue of kube-scheduler 1.30, as far as the number and the times of attempts depend on it.
# A pod that could not be scheduled waits for an event that concerns a plugin which turned it down. If
# there was an event while its attempt went on, the pod waits for the end of its back-off instead. (The
# gate SchedulerQueueingHints, with which plugins look at events more closely, is off by default in 1.30.)

INITIAL_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 1.0, 10.0
#: How often the queue looks for pods whose back-off is over.
FLUSH_SECONDS = 1.0
#: How long a pod waits for an event at most, and after how many looks the queue looks for such pods.
MAX_UNSCHEDULABLE_SECONDS, FORGOTTEN_LOOKS = 300.0, 30

ACTIVE, BACKOFF, UNSCHEDULABLE = "Active", "Backoff", "Unschedulable"
#: Of pods that are not the scheduler's.
NOT_QUEUED = "NotQueued"


@dataclass(eq=False)
class QueuedPod:
    """A pod that waits to be scheduled.

    :ivar key: its name, with its namespace.
    :ivar attempts: how many have begun.
    :ivar rejected_by: the plugins that turned it down, in its last attempt or before it could begin.
    :ivar pending_in: those of them that wait for something outside.
    :ivar since: when its last attempt ended.
    :ivar is_gated: whether it must not be attempted yet.
    """

    key: str
    attempts: int = 0
    rejected_by: frozenset[str] = frozenset()
    pending_in: frozenset[str] = frozenset()
    since: float = 0.0
    is_gated: bool = False


@dataclass
class SchedulingQueue:
    """Pods of one scheduler.

    :ivar may_enter: whether plugins allow an attempt (PreEnqueue).
    :ivar moved: told of each pod that gets into another part of the queue: the pod, the part, the cause.
    """

    may_enter: Callable[[QueuedPod], bool]
    moved: Callable[[QueuedPod, str, str], None]
    initial_backoff: float = INITIAL_BACKOFF_SECONDS
    max_backoff: float = MAX_BACKOFF_SECONDS
    _active: asyncio.Queue[QueuedPod] = field(default_factory=asyncio.Queue)
    _backoff: list[QueuedPod] = field(default_factory=list)
    _unschedulable: dict[str, QueuedPod] = field(default_factory=dict)
    _cycle: int = 0
    _cycle_of_move: int = -1

    def add(self, key: str) -> None:
        """A new pod."""
        self._activate(QueuedPod(key, since=self._now()), "PodAdd")

    async def pop(self) -> QueuedPod:
        """The next pod to be scheduled; its attempt begins."""
        pod = await self._active.get()
        pod.attempts += 1
        self._cycle += 1
        pod.rejected_by = pod.pending_in = frozenset()
        return pod

    def give_back(self, pod: QueuedPod, rejected_by: frozenset[str], pending_in: frozenset[str]) -> None:
        """An attempt has failed.

        :param rejected_by: the plugins that turned the pod down; none after errors.
        :param pending_in: those that wait for something outside.
        """
        pod.rejected_by, pod.pending_in, pod.since = rejected_by, pending_in, self._now()
        if self._cycle_of_move >= self._cycle or not rejected_by:
            self._back_off(pod, "ScheduleAttemptFailure")
        else:
            self._unschedulable[pod.key] = pod
            self.moved(pod, UNSCHEDULABLE, "ScheduleAttemptFailure")

    def tell(self, event: str, plugins: frozenset[str], excepted: str = "") -> None:
        """Something has happened that may help pods.

        :param plugins: which turn down pods that it may help.
        :param excepted: a pod that stays where it is.
        """
        for pod in list(self._unschedulable.values()):
            if pod.key == excepted or pod.rejected_by.isdisjoint(plugins):
                continue
            del self._unschedulable[pod.key]
            self._requeue(pod, event, at_once=not pod.pending_in.isdisjoint(plugins))
        self._cycle_of_move = self._cycle

    def update(self, key: str) -> None:
        """A pod has changed in a way that may help it."""
        pod = self._unschedulable.pop(key, None)
        if pod is not None:
            self._requeue(pod, "PodUpdate", at_once=False)

    def remove(self, key: str) -> None:
        """A pod is gone."""
        self._unschedulable.pop(key, None)
        self._backoff = [each for each in self._backoff if each.key != key]

    async def run(self) -> None:
        """Move pods on whose time has come."""
        for second in count(1):
            await asyncio.sleep(FLUSH_SECONDS)
            self._flush()
            if second % FORGOTTEN_LOOKS == 0:
                self._flush_forgotten()

    @property
    def is_idle(self) -> bool:
        """Whether every pod waits for an event."""
        return self._active.empty() and not self._backoff

    def backoff_of(self, pod: QueuedPod) -> float:
        """How long a pod has to wait after its last attempt."""
        return float(min(self.max_backoff, self.initial_backoff * 2.0 ** min(pod.attempts - 1, 60)))

    def _flush(self) -> None:
        for pod in [each for each in self._backoff if not self._is_backing_off(each)]:
            self._backoff.remove(pod)
            self._activate(pod, "BackoffComplete")

    def _flush_forgotten(self) -> None:
        for pod in list(self._unschedulable.values()):
            if self._now() - pod.since > MAX_UNSCHEDULABLE_SECONDS:
                del self._unschedulable[pod.key]
                self._requeue(pod, "UnschedulableTimeout", at_once=False)

    def _requeue(self, pod: QueuedPod, event: str, *, at_once: bool) -> None:
        if self._is_backing_off(pod) and not at_once:
            self._back_off(pod, event)
        else:
            self._activate(pod, event)

    def _back_off(self, pod: QueuedPod, event: str) -> None:
        self._backoff.append(pod)
        self.moved(pod, BACKOFF, event)

    def _activate(self, pod: QueuedPod, event: str) -> None:
        pod.is_gated = not self.may_enter(pod)
        if pod.is_gated:
            self._unschedulable[pod.key] = pod
        else:
            self._active.put_nowait(pod)
            self.moved(pod, ACTIVE, event)

    def _is_backing_off(self, pod: QueuedPod) -> bool:
        return not pod.is_gated and pod.attempts > 0 and pod.since + self.backoff_of(pod) > self._now()

    def _now(self) -> float:
        return asyncio.get_running_loop().time()


# The nodes as kube-scheduler knows them: which ones a pod fits on, apart from its claims, and which it
# prefers.

#: With which the first pod that likes three nodes alike goes to the first of them.
_SEED = 5


class Nodes:
    """Nodes and the pods on them."""

    def __init__(self, time_limit: TimeLimit) -> None:
        self._time_limit = time_limit
        self._nodes: dict[str, Node] = {}
        self._resources = NodeResources()
        self._placed: dict[str, tuple[str, PodNeeds]] = {}
        self._profile = Profile(CLASSIC)
        self._chance = Random(_SEED)

    def put(self, obj: Object) -> None:
        """A new or changed node."""
        if (node := read_node(obj)) is not None:
            self._nodes[node.name] = node
            self._resources.put(node)

    def place(self, pod: Object, node: str) -> None:
        """A pod takes its share of a node."""
        key = key_of(pod)
        if key not in self._placed:
            self._placed[key] = node, self.needs(pod)
            self._resources.take(*self._placed[key])

    def take_off(self, pod: Object) -> None:
        """A pod gives back its share."""
        placed = self._placed.pop(key_of(pod), None)
        if placed is not None:
            self._resources.give_back(*placed)

    def needs(self, pod: Object) -> PodNeeds:
        """What a pod needs of a node beside its claims."""
        return needs_of(mapping(pod, "spec"), self._profile)

    def all(self) -> list[Node]:
        """All nodes, by name."""
        return [self._nodes[name] for name in sorted(self._nodes)]

    def refused(self, pod: Object) -> dict[str, Refusal]:
        """The nodes that do not fit apart from claims, each with the first reason.

        :raises OutOfTime: if the time is over.
        """
        found = rejections(
            mapping(pod, "spec"), self.needs(pod), self.all(), self._resources, self._time_limit
        )
        return {name: reasons[0] for name, reasons in found.items()}

    def ranked(self, pod: Object, names: list[str]) -> list[str]:
        """Nodes in the order in which a pod prefers them: by its preferred node affinity, and then any.

        kube-scheduler draws among those with the most points, too; here, the draws are the same each time.

        :raises OutOfTime: if the time is over.
        """
        weights = {}
        for name in names:
            self._time_limit.check()
            weights[name] = preference(mapping(pod, "spec"), self._nodes[name])
        drawn = {name: self._chance.random() for name in names}
        return sorted(names, key=lambda name: (-weights[name], drawn[name]))


SCHEDULER = "kube-scheduler"
#: Its name in ``spec.schedulerName``, which the API server fills in.
DEFAULT_SCHEDULER = "default-scheduler"
#: How long an attempt takes before anything is written.
ATTEMPT_SECONDS = 0.001

_OF_CLAIMS = frozenset((NAME,))
_OF_NODES = frozenset((NAME, "NodeResourcesFit", "NodeAffinity", "TaintToleration", "NodeUnschedulable"))
_OF_GATES = frozenset(("SchedulingGates",))
_OF_LEAVING_PODS = frozenset(("NodeResourcesFit",))
_NOBODY: frozenset[str] = frozenset()


class KubeScheduler:
    """Schedules the pods of an API server."""

    def __init__(self, server: ApiServer, time_limit: TimeLimit) -> None:
        self._server = server
        self._time_limit = time_limit
        self._nodes = Nodes(time_limit)
        self._binding: set[asyncio.Task[None]] = set()
        self.queue = SchedulingQueue(self._may_enter, self._tell_of_move)
        #: the number of attempts of each pod that has been bound, and when that was
        self.bound: dict[str, tuple[int, float]] = {}
        #: the number of attempts of each pod so far
        self.attempts: dict[str, int] = {}
        server.watch(self._see)

    async def run(self) -> None:
        """Schedule pods until cancelled.

        :raises OutOfTime: if the time limit is over.
        """
        flushing = asyncio.create_task(self.queue.run())
        try:
            while True:
                pod = await self.queue.pop()
                self._time_limit.check()
                self.attempts[pod.key] = pod.attempts
                found = self._stored(pod.key)
                if found is not None and not is_leaving(found):
                    await self._attempt(pod, found)
        finally:
            flushing.cancel()

    @property
    def is_idle(self) -> bool:
        """Whether every pod that is not bound waits for an event."""
        return self.queue.is_idle and not self._binding

    # --- an attempt

    async def _attempt(self, queued: QueuedPod, pod: Object) -> None:
        await asyncio.sleep(ATTEMPT_SECONDS)
        state = CycleState()
        status = plugin.pre_filter(self._server.objects, pod, state)
        self._tell(queued, "PreFilter", status, _seen(state) if status.is_success else "")
        if not status.is_success:
            self._fail(queued, status, {NAME})
            return
        feasible, rejected_by = self._filter(queued, pod, state)
        if not feasible:
            status = await plugin.post_filter(self._client(queued, "PostFilter"), pod, state, _first)
            self._tell(queued, "PostFilter", status)
            self._fail(queued, Status(Code.UNSCHEDULABLE, "no node fits"), rejected_by)
            return
        node = self._choose(queued, pod, state, feasible)
        self._nodes.place(pod, node)
        status = plugin.reserve(state, node)
        self._tell(queued, "Reserve", status, _reserved(state) if status.is_success else "", node)
        if not status.is_success:
            await self._give_up(queued, pod, state, status)
            return
        task = asyncio.create_task(self._bind(queued, pod, state, node))
        self._binding.add(task)
        task.add_done_callback(self._binding.discard)

    def _filter(self, queued: QueuedPod, pod: Object, state: CycleState) -> tuple[list[str], set[str]]:
        """The nodes that fit, and the plugins that refuse any."""
        refused = self._nodes.refused(pod)
        feasible: list[str] = []
        reasons: dict[Status, list[str]] = {}
        rejected_by = set()
        for node in self._nodes.all():
            self._time_limit.check()
            name = node.name
            if name in refused:
                rejected_by.add(refused[name].plugin)
                reason = Status(Code.UNSCHEDULABLE, f"{refused[name].plugin}: {refused[name].reason}")
                reasons.setdefault(reason, []).append(name)
                continue
            status = plugin.filter_node(node, state)
            if status.is_success:
                feasible.append(name)
                continue
            rejected_by.add(NAME)
            reasons.setdefault(status, []).append(name)
        for status, names in reasons.items():
            self._tell(queued, "Filter", status, "", *names)
        if feasible:
            self._tell(queued, "Filter", plugin.SUCCESS, "the pod fits", *feasible)
        return feasible, rejected_by

    def _choose(self, queued: QueuedPod, pod: Object, state: CycleState, feasible: list[str]) -> str:
        if len(feasible) == 1:
            return feasible[0]
        decided = plugin.pre_score(state, feasible)
        self._tell(queued, "PreScore", plugin.SUCCESS, decided, *feasible)
        return self._nodes.ranked(pod, feasible)[0]

    # --- the end of an attempt

    async def _bind(self, queued: QueuedPod, pod: Object, state: CycleState, node: str) -> None:
        try:
            status = await plugin.pre_bind(self._client(queued, "PreBind"), pod, state)
        except WriteConflict as error:
            status = Status(Code.ERROR, str(error))
        self._tell(queued, "PreBind", status, "the claims are reserved for the pod", node)
        if not status.is_success:
            await self._give_up(queued, pod, state, status)
            self.queue.tell("AssignedPodDelete", _OF_LEAVING_PODS, excepted=queued.key)
            return
        await self._client(queued, "Bind").bind(pod, node)
        self.bound[queued.key] = queued.attempts, now()
        self._tell(queued, "Bind", plugin.SUCCESS, "the pod is bound", node)
        await plugin.post_bind(self._client(queued, "PostBind"), pod, state)

    async def _give_up(self, queued: QueuedPod, pod: Object, state: CycleState, status: Status) -> None:
        written = await plugin.unreserve(self._client(queued, "Unreserve"), pod, state)
        self._tell(queued, "Unreserve", plugin.SUCCESS, written)
        self._nodes.take_off(pod)
        self._fail(queued, status, {NAME})

    def _fail(self, queued: QueuedPod, status: Status, rejected_by: set[str]) -> None:
        pending = frozenset(rejected_by) if status.code is Code.PENDING else _NOBODY
        self.queue.give_back(
            queued, _NOBODY if status.code is Code.ERROR else frozenset(rejected_by), pending
        )

    # --- what is seen

    def _see(self, write: memory_objects.Write) -> None:
        kind = write.kind
        if kind == "Pod":
            self._see_pod(write)
        elif write.after is None:
            return
        elif kind == "Node":
            self._nodes.put(write.after)
            self.queue.tell("NodeAdd" if write.before is None else "NodeUpdate", _OF_NODES)
        elif kind in ("ResourceClaim", "PodSchedulingContext", "ResourceClass"):
            self.queue.tell(f"{kind}{'Add' if write.before is None else 'Update'}", _OF_CLAIMS)

    def _see_pod(self, write: memory_objects.Write) -> None:
        before, after = write.before, write.after
        was_bound = before is not None and bool(mapping(before, "spec").get("nodeName"))
        if after is None:
            assert before is not None
            self._nodes.take_off(before)
            self.queue.remove(key_of(before))
            if was_bound:
                self.queue.tell("AssignedPodDelete", _OF_LEAVING_PODS)
        elif node := text(mapping(after, "spec"), "nodeName"):
            self._nodes.place(after, node)
            if not was_bound:
                self.queue.tell("AssignedPodAdd", _NOBODY)
        elif before is None:
            self._see_new_pod(after)
        else:
            self.queue.update(key_of(after))

    def _see_new_pod(self, pod: Object) -> None:
        key = key_of(pod)
        if is_of_this_scheduler(pod):
            self.queue.add(key)
        else:
            reason = f"spec.schedulerName is {text(mapping(pod, 'spec'), 'schedulerName')}"
            self._tell_of_move(QueuedPod(key), NOT_QUEUED, reason)

    def _may_enter(self, queued: QueuedPod) -> bool:
        """PreEnqueue: whether a pod has no scheduling gates, and its claims are there."""
        pod = self._stored(queued.key)
        if pod is None:
            return False
        if gates := scheduling_gates(pod):
            self._turn_away(queued, f"waiting for scheduling gates: [{' '.join(gates)}]", _OF_GATES)
            return False
        try:
            plugin.pod_claims(self._server.objects, pod)
        except (NotYet, SyncError) as error:
            self._turn_away(queued, str(error), _OF_CLAIMS)
            return False
        return True

    def _turn_away(self, queued: QueuedPod, reason: str, plugins: frozenset[str]) -> None:
        if not queued.rejected_by:
            self._tell(queued, "PreEnqueue", Status(Code.UNSCHEDULABLE, reason))
        queued.rejected_by = plugins

    def _stored(self, key: str) -> Object | None:
        namespace, _, name = key.partition("/")
        return self._server.objects.get("Pod", namespace, name)

    # --- what is told

    def _client(self, queued: QueuedPod, phase: str) -> Client:
        return Client(self._server, SCHEDULER, queued.key, queued.attempts, phase)

    def _tell(self, queued: QueuedPod, phase: str, status: Status, done: str = "", *nodes: str) -> None:
        reason = f"{status.reason}: {status.detail}" if status.detail else status.reason
        entry = Entry(now(), SCHEDULER, queued.key, queued.attempts, phase, status.code.value, reason, nodes)
        self._server.timeline.add(entry._replace(reason=done) if status.is_success else entry)

    def _tell_of_move(self, queued: QueuedPod, queue: str, event: str) -> None:
        self._server.timeline.add(Entry(now(), SCHEDULER, queued.key, queued.attempts, "Queue", queue, event))


def is_of_this_scheduler(pod: Object) -> bool:
    """Whether a pod leaves it to this scheduler to choose a node."""
    return text(mapping(pod, "spec"), "schedulerName") == DEFAULT_SCHEDULER


def scheduling_gates(pod: Object) -> list[str]:
    """The names of what has to happen before a pod is attempted."""
    return [text(each, "name") for each in entries(mapping(pod, "spec"), "schedulingGates")]


def _first(claims: Sequence[PodClaim]) -> PodClaim:
    return claims[0]


def _seen(state: CycleState) -> str:
    if not state.claims:
        return "the pod has no claims"
    waiting = sum(not each.is_allocated for each in state.claims)
    return f"claims that are not allocated: {waiting} of {len(state.claims)}"


def _reserved(state: CycleState) -> str:
    if state.selected_node is not None:
        return "the drivers are to allocate the claims for the node"
    if state.is_dirty:
        return "the drivers are to be asked about nodes"
    return "all claims are allocated"
