"""kube-scheduler 1.30: attempts to schedule pods, one after the other, each followed by the binding of the pod."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from allocator.time_limit import TimeLimit
from classic import memory_objects
from classic.claims import is_leaving
from classic.errors import NotYet, SyncError
from classic.simulation import dynamic_resources as plugin
from classic.simulation.api_server import ApiServer, Client
from classic.simulation.dynamic_resources import NAME, Code, CycleState, PodClaim, Status
from classic.simulation.nodes import Nodes
from classic.simulation.scheduling_queue import NOT_QUEUED, QueuedPod, SchedulingQueue
from classic.simulation.timeline import Entry
from classic.simulation.virtual_time import now
from resourceapi.errors import Conflict
from resourceapi.manifests import entries, key_of, mapping, name_of, text
from resourceapi.objects import Object

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
            name = name_of(node)
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
        except Conflict as error:
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
