"""The devices that filter has found for the pods of the PodGroup that kube-scheduler is at, and of those that it binds.

kube-scheduler looks for nodes for all pods of a PodGroup before it binds one, and binds none if too few fit; it tells an extender
nothing of that. So the devices that are found for each count as taken for the next, and so does what they take of their node: filter
chooses the node as well. They are
free again as soon as another pod is asked about, or the first one once more, if too few fit; when the group
or one of its pods is deleted; and for pods on nodes, which nobody asks about, once the binds are late. A bind makes them its own.

A place may have been planned for pods that have not been asked about (`scheduler.gang_plans`): their devices count from then on.

If enough fit, binds are on their way, whoever is asked about next: what is left counts until they are late, and for longer once the
first one has come, as half a gang would be bound otherwise. kube-scheduler may have been ended between two of them, and asks
about the other pods again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from time import monotonic

from allocator.node_resources import PodNeeds
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler.claim_ledger import Assumed, ClaimLedger
from scheduler.decisions import GROUP_SECONDS
from scheduler.room_on_nodes import RoomOnNodes

#: How long the other pods of a group are waited for once one of them is bound: until kube-scheduler has been started again.
HALF_BOUND_SECONDS = 30.0


class _Binding:
    """A group of which enough pods fit, after its last filter.

    :ivar held: what is assumed for each claim of which no bind has come, by key, by the key of the first pod that uses it.
    :ivar on_nodes: the pods, by uid, that count on the nodes that were found for them.
    :ivar until: when they are late.
    """

    def __init__(
        self, pods: Collection[str], held: dict[str, dict[str, Assumed]], on_nodes: set[str], until: float
    ) -> None:
        self.pods = frozenset(pods)
        self.held = held
        self.on_nodes = on_nodes
        self.until = until


class GroupDevices:
    """Those of one PodGroup at a time, as kube-scheduler looks at one, and of those being bound; for who holds the picture's lock."""

    def __init__(self, claims: ClaimLedger, room: RoomOnNodes) -> None:
        self._claims = claims
        self._room = room
        #: the pods, by uid, that count on the nodes that were found for them
        self._on_nodes: set[str] = set()
        self._group = ""
        #: the pods that have been filtered, and of these those that fit, by key
        self._pods: set[str] = set()
        self._fitting: set[str] = set()
        #: what is assumed for each claim, by key, by the key of the pod for which it was found
        self._held: dict[str, dict[str, Assumed]] = {}
        #: the nodes that have been planned for pods that have not been filtered, by key, with their uids
        self._planned: dict[str, tuple[str, str]] = {}
        self._is_complete = False
        self._late_from = 0.0
        #: by key of the group
        self._binding: dict[str, _Binding] = {}
        #: the groups of which a bind has failed, by key
        self.torn: set[str] = set()

    def begin(self, pod: Pod) -> None:
        """A pod is going to be filtered: drop what was found for it, and for others of which too few fit, or in an attempt that has ended."""
        if pod.group_key != self._group or pod.key in self._pods:
            self._end()
        self._group = pod.group_key
        if pod.group:
            self._pods.add(pod.key)
            bound = self._binding.get(pod.group_key)
            if bound is not None:
                self._drop(bound.held.pop(pod.key, {}))
                self.take_from_node(pod.uid)

    @property
    def namespace(self) -> str:
        """That of the group; empty if there is none."""
        return self._group.partition("/")[0]

    def end_for(self, pod: Pod) -> None:
        """Drop what was found for another group than that of a pod: there may be tens of thousands of claims."""
        if pod.group_key != self._group:
            self._end()

    def _end(self) -> None:
        self.drop_plan()
        if self._is_complete and (any(self._held.values()) or self._on_nodes):
            before = self._binding.get(self._group, _Binding((), {}, set(), 0.0))
            self._binding[self._group] = _Binding(
                before.pods | self._pods,
                {**before.held, **self._held},
                before.on_nodes | self._on_nodes,
                max(before.until, self._late_from),
            )
        else:
            for held in self._held.values():
                for key, assumed in held.items():
                    self._claims.withdraw(key, assumed)
            for uid in self._on_nodes:
                self._room.forget(uid)
        self._held = {}
        self._on_nodes = set()
        self._is_complete = False
        self._pods.clear()
        self._fitting.clear()

    def _drop(self, held: dict[str, Assumed]) -> None:
        """Let devices count no longer of which others have been told that they are taken."""
        for key, assumed in held.items():
            self._claims.forget(key, assumed)

    def drop_late(self, holding: Callable[[str], AbstractContextManager[None]]) -> None:
        """Drop what is left of groups whose binds are late; for who does not hold the picture's lock.

        :param holding: holds it, at the expense of a namespace: there may be tens of thousands of claims.
        """
        with holding(""):
            now = monotonic()
            late = [key for key, each in self._binding.items() if each.until <= now]
        for each in late:
            with holding(each.partition("/")[0]):
                self._drop_group(each)

    def _drop_group(self, group: str) -> None:
        left = self._binding.pop(group, None)
        if left is not None:
            for held in left.held.values():
                self._drop(held)
            for uid in left.on_nodes:
                self._room.forget(uid)

    def end_if_late(self, *, is_complete: bool = False) -> None:
        """Drop what was found if binds are not waited for any more since the last pod that fits was filtered.

        :param is_complete: whether only if enough pods fit.
        """
        if monotonic() >= self._late_from and self._is_complete >= is_complete:
            self._end()

    def end_without(self, keys: Collection[str]) -> None:
        """Drop what was found if the group, or one of its pods, is among those that have been deleted."""
        if not self._planned.keys().isdisjoint(keys):
            self.drop_plan()
        if self._group in keys or not self._pods.isdisjoint(keys):
            self._is_complete = False
            self._end()
        for group, each in list(self._binding.items()):
            if group in keys or not each.pods.isdisjoint(keys):
                self._drop_group(group)

    def kept_from(self, pod: Pod) -> Collection[str]:
        """The claims, by key, whose devices a pod might have if no group did: one of another group, or on a node."""
        return {key for claims in self._kept_from(pod) for key in claims}

    def keeps_from(self, pod: Pod) -> bool:
        """Whether there are any of :meth:`kept_from`, of which there may be tens of thousands."""
        return any(self._kept_from(pod))

    def _kept_from(self, pod: Pod) -> Iterator[Collection[str]]:
        for group, held in (
            (self._group, self._held),
            *((key, each.held) for key, each in self._binding.items()),
        ):
            if pod.node or group != pod.group_key:
                yield from held.values()

    def fits(self, pod: Pod) -> int:
        """Count a pod that fits; how many do so far."""
        self._fitting.add(pod.key)
        return len(self._fitting)

    def complete(self) -> None:
        """Note that enough pods fit: kube-scheduler binds them."""
        self._is_complete = True

    def found_for_others(self, pod: Pod) -> frozenset[str]:
        """The claims of a pod, by key, for which devices have been found for other pods of the group in this attempt."""
        others = [held for name, held in self._held.items() if name != pod.key]
        assumed = [key for key in pod.claim_keys if self._claims.is_assumed(key)]
        return frozenset([key for key in assumed if any(key in held for held in others)])

    def is_filtered(self, pod: Pod) -> bool:
        """Whether kube-scheduler has asked about a pod of the group in this attempt."""
        return pod.key in self._pods

    @property
    def fitting(self) -> int:
        """How many pods of the group have been found to fit."""
        return len(self._fitting)

    def plan(
        self, pod: Pod, node: str, found: Iterable[tuple[Claim, Object]], needs: PodNeeds | None
    ) -> None:
        """Keep a node with devices for a pod of the group that is going to be filtered.

        :param needs: what it takes of the node, if that matters.
        """
        self._planned[pod.key] = (node, pod.uid)
        self.hold(pod, found)
        if needs is not None:
            self.put_on_node(pod.uid, node, needs)

    def take_plan(self, pod: Pod) -> str:
        """The node that has been planned for a pod, whose devices count no longer, nor those of claims that it shares; empty if none has."""
        if pod.key not in self._planned:
            return ""
        own = {pod.key: [*self._held.get(pod.key, ())]}
        shared = {
            key: [each for each in pod.claim_keys if each in self._held.get(key, ())] for key in self._planned
        }
        self._withdraw({**shared, **own})
        node, uid = self._planned.pop(pod.key)
        self.take_from_node(uid)
        return node

    def drop_plan(self) -> None:
        """Let nothing count that has been planned for pods that have not been filtered."""
        self._withdraw({key: [*self._held.get(key, ())] for key in self._planned})
        for key, (_, uid) in self._planned.items():
            self._held.pop(key, None)
            self.take_from_node(uid)
        self._planned.clear()

    def _withdraw(self, claims: Mapping[str, Iterable[str]]) -> None:
        """Let what is held for claims of these pods count no longer."""
        for pod, keys in claims.items():
            for key in keys:
                self._claims.withdraw(key, self._held[pod].pop(key))

    def hold(self, pod: Pod, found: Iterable[tuple[Claim, Object]]) -> None:
        """Let the devices count that were found for claims of a pod."""
        self._late_from = monotonic() + GROUP_SECONDS
        held = self._held.setdefault(pod.key, {})
        for claim, allocation in found:
            held[claim.key] = self._claims.assume(claim.key, claim.uid, allocation)

    def hold_rest(self, pod: Pod, found: Iterable[tuple[Claim, Object]]) -> None:
        """Let the devices count that were found for a pod of a group of which others are bound."""
        before = self._binding.get(pod.group_key, _Binding((), {}, set(), 0.0))
        held = {
            claim.key: self._claims.assume(claim.key, claim.uid, allocation) for claim, allocation in found
        }
        self._binding[pod.group_key] = _Binding(
            before.pods | {pod.key},
            {**before.held, pod.key: {**before.held.get(pod.key, {}), **held}},
            before.on_nodes,
            monotonic() + HALF_BOUND_SECONDS,
        )

    def put_on_node(self, uid: str, node: str, needs: PodNeeds) -> None:
        """Let a pod count with what its devices take of the node that was found for it."""
        self._room.assume(uid, node, needs)
        self._on_nodes.add(uid)

    def take_from_node(self, uid: str) -> None:
        """Let a pod that is going to be bound, or to be filtered again, count no longer."""
        self._room.forget(uid)
        for each in (self._on_nodes, *(binding.on_nodes for binding in self._binding.values())):
            each.discard(uid)

    def take(self, keys: Iterable[str]) -> dict[str, Object]:
        """Let those of some claims count no longer, which a bind makes its own; what was held for them, an AllocationResult by key."""
        wanted = set(keys)
        taken: dict[str, Assumed] = {}
        for held in self._held.values():
            taken |= {key: held.pop(key) for key in wanted & held.keys()}
        if taken and self._is_complete:
            self._late_from = monotonic() + HALF_BOUND_SECONDS
        for group, each in list(self._binding.items()):
            found = {key: held.pop(key) for held in each.held.values() for key in wanted & held.keys()}
            if found:
                each.until = monotonic() + HALF_BOUND_SECONDS
                if not (any(each.held.values()) or each.on_nodes):
                    del self._binding[group]
            taken |= found
        for key, assumed in taken.items():
            self._claims.withdraw(key, assumed)
        return {key: assumed.allocation.object for key, assumed in taken.items()}
