"""The devices that filter has found for the pods of the PodGroup that kube-scheduler is at.

kube-scheduler looks for nodes for all pods of a PodGroup before it binds one, and binds none if too few fit; it tells an extender
nothing of that. So the devices that are found for each count as taken for the next, and so does what they take of their node: filter
chooses the node as well. They are
free again as soon as another pod is asked about, or the first one once more, whose binds were not on their way; when the group
or one of its pods is deleted; and for pods on nodes, which nobody asks about, once the binds are late. A bind makes them its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from time import monotonic

from allocator.node_resources import PodNeeds
from resourceapi.objects import Object
from resourceapi.records.claims import Claim
from resourceapi.records.pods import Pod
from scheduler.claim_ledger import Assumed, ClaimLedger
from scheduler.decisions import GROUP_SECONDS
from scheduler.room_on_nodes import RoomOnNodes


class GroupDevices:
    """Those of one PodGroup at a time, as kube-scheduler looks at one; for who holds the picture's lock."""

    def __init__(self, claims: ClaimLedger, room: RoomOnNodes) -> None:
        self._claims = claims
        self._room = room
        #: the pods, by uid, that count on the nodes that were found for them
        self._on_nodes: set[str] = set()
        self._group = ""
        #: the pods that have been filtered, and of these those that fit, by key
        self._pods: set[str] = set()
        self._fitting: set[str] = set()
        #: what is assumed for each claim, by key
        self._held: dict[str, Assumed] = {}
        self._late_from = 0.0

    def begin(self, pod: Pod) -> None:
        """A pod is going to be filtered: drop what was found for others, or in an attempt that has ended."""
        if pod.group_key != self._group or pod.key in self._pods:
            self._end()
        self._group = pod.group_key
        if pod.group:
            self._pods.add(pod.key)

    @property
    def namespace(self) -> str:
        """That of the group; empty if there is none."""
        return self._group.partition("/")[0]

    def end_for(self, pod: Pod) -> None:
        """Drop what was found for another group than that of a pod: there may be tens of thousands of claims."""
        if pod.group_key != self._group:
            self._end()

    def _end(self) -> None:
        self.take(list(self._held))
        for uid in self._on_nodes:
            self._room.forget(uid)
        self._on_nodes.clear()
        self._pods.clear()
        self._fitting.clear()

    def end_if_late(self) -> None:
        """Drop what was found if binds are not waited for any more since the last pod that fits was filtered."""
        if monotonic() >= self._late_from:
            self._end()

    def end_without(self, keys: Collection[str]) -> None:
        """Drop what was found if the group, or one of its pods, is among those that have been deleted."""
        if self._group in keys or not self._pods.isdisjoint(keys):
            self._end()

    def kept_from(self, pod: Pod) -> Collection[str]:
        """The claims, by key, whose devices a pod might have if the group did not: one of another group, or on a node."""
        return self._held.keys() if pod.node or pod.group_key != self._group else ()

    def fits(self, pod: Pod) -> int:
        """Count a pod that fits; how many do so far."""
        self._fitting.add(pod.key)
        return len(self._fitting)

    def hold(self, found: Iterable[tuple[Claim, Object]]) -> None:
        """Let the devices count that were found for claims of a pod."""
        self._late_from = monotonic() + GROUP_SECONDS
        for claim, allocation in found:
            self._held[claim.key] = self._claims.assume(claim.key, claim.uid, allocation)

    def put_on_node(self, uid: str, node: str, needs: PodNeeds) -> None:
        """Let a pod count with what its devices take of the node that was found for it."""
        self._room.assume(uid, node, needs)
        self._on_nodes.add(uid)

    def take_from_node(self, uid: str) -> None:
        """Let a pod that is going to be bound count no longer."""
        self._room.forget(uid)
        self._on_nodes.discard(uid)

    def take(self, keys: Iterable[str]) -> dict[str, Object]:
        """Let those of some claims count no longer; what was held for them, an AllocationResult by key."""
        taken = {key: self._held.pop(key) for key in keys if key in self._held}
        for key, assumed in taken.items():
            self._claims.withdraw(key, assumed)
        return {key: assumed.allocation.object for key, assumed in taken.items()}
