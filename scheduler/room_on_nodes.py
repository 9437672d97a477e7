"""What nodes have left of CPU, memory and huge pages, where devices take of that as well (KEP-5517, gate `DRANodeAllocatableResources`).

kube-scheduler counts what pods request, and what the status of pods on nodes says that their devices take. What devices will take
that a pod is about to get, only the sidecar knows, until kube-scheduler has seen the pod on its node.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from heapq import nsmallest
from time import monotonic
from typing import NamedTuple

from allocator.node_fit import NO_POD, PodOnNode, needs_on_node
from allocator.node_resources import NodeResources, PodNeeds, needs_of
from cluster.store import Change
from resourceapi.manifests import has_ended, mapping
from resourceapi.objects import Object
from resourceapi.quantity import QuantityError
from resourceapi.records.nodes import Node
from resourceapi.records.pods import Pod, containers_by_entry, read_pod
from resourceapi.releases import Profile
from validation.pod_resources import COMPUTE

#: How long a pod that has been bound counts that is not seen on its node.
BINDING_SECONDS = 60.0
#: How much later than the sidecar kube-scheduler may see a pod on its node.
LATER_SECONDS = 10.0
#: Of so many resources it is known how much a pod on a node takes: there are no more sizes of huge pages.
MOST_RESOURCES = 16


class _Binding(NamedTuple):
    """A pod that is being bound, with what its devices take, and how long that counts."""

    node: str
    needs: PodNeeds
    until: float


class RoomOnNodes:
    """Follows nodes and pods; but for :meth:`read_pod_on_node`, :attr:`matters` and :meth:`of`, for who holds the picture's lock.

    :ivar resources: what nodes have, and what pods take that are on them, or are being bound.
    :ivar gains: grows whenever a pod takes no longer what it took.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        is_on: bool,
        devices_take_of_nodes: Callable[[], bool],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Begin without nodes.

        :param is_on: the feature gate.
        :param devices_take_of_nodes: whether any do.
        """
        self._profile = profile
        self._is_on = is_on
        self._devices_take_of_nodes = devices_take_of_nodes
        self._clock = clock
        self.resources = NodeResources()
        self.gains = 0
        self._bindings: dict[str, _Binding] = {}
        #: the nodes on which pods have been seen that had been bound, and how long kube-scheduler may not have seen them
        self._seen: dict[str, float] = {}

    @property
    def matters(self) -> bool:
        """Whether anybody has to know what nodes have left."""
        return self._is_on and self._devices_take_of_nodes()

    # --- what there is

    def read_pod_on_node(self, value: Object, known: Pod | None) -> Pod | None:
        """A pod with what it takes of its node; one that is on none, or has ended, as it is known.

        :param known: what is known of it if that does not matter.
        """
        if not self._is_on or has_ended(value):
            return known
        pod = read_pod(value) if known is None else known
        if not pod.node:
            return known
        if known is None:  # there may be a hundred thousand of them
            pod = pod._replace(labels=(), gates=(), workloads=())
        with suppress(QuantityError, AttributeError, TypeError):
            return pod._replace(requests=_native(needs_on_node(value, self._profile, with_devices=True)))
        return pod

    def nodes_changed(self, changes: Sequence[Change[Node]]) -> None:
        """Follow nodes."""
        for key, _, node in changes:
            if node is None:
                self.resources.lose(key)
            else:
                self.resources.put(node)

    def pods_changed(self, changes: Sequence[Change[Pod]]) -> None:
        """Follow pods."""
        for _, before, after in changes:
            if before is not None and (after is None or after.uid != before.uid):
                self.forget(before.uid)
            if before is not None and before.node:
                self.resources.give_back(before.node, PodNeeds(before.requests))
                self.gains += 1
            if after is not None and after.node:
                if after.uid in self._bindings:
                    self._seen[after.node] = self._clock() + LATER_SECONDS
                self.forget(after.uid)
                self.resources.take(after.node, PodNeeds(after.requests))

    def assume(self, uid: str, node: str, needs: PodNeeds) -> None:
        """Count a pod that is being bound.

        :param needs: what it needs, its devices included.
        """
        self.forget(uid)
        needs = PodNeeds(_native(needs))
        self.resources.take(node, needs)
        self._bindings[uid] = _Binding(node, needs, self._clock() + BINDING_SECONDS)

    def forget(self, uid: str) -> None:
        """Count a pod no longer that is not bound after all, or is known to be on its node."""
        binding = self._bindings.pop(uid, None)
        if binding is not None:
            self.resources.give_back(binding.node, binding.needs)
            self.gains += 1

    @contextmanager
    def without(self, pods: Iterable[Pod]) -> Iterator[None]:
        """For questions as if these pods were on no nodes; meanwhile nothing may be changed."""
        gone = [each for each in pods if each.node]
        for each in gone:
            self.resources.give_back(each.node, PodNeeds(each.requests))
        try:
            yield
        finally:
            for each in gone:
                self.resources.take(each.node, PodNeeds(each.requests))

    # --- a pod that is to be scheduled

    def of(self, obj: Object) -> PodOnNode:
        """A pod as nodes see it beside its claims, which names the claims that have been made for it."""
        if not self.matters:
            return NO_POD
        pod, spec = read_pod(obj), mapping(obj, "spec")
        by_entry = containers_by_entry(spec)
        containers: defaultdict[str, list[str]] = defaultdict(list)
        for each in pod.claims:
            containers[f"{pod.namespace}/{each.claim}"] += by_entry.get(each.entry, ())
        needs = PodNeeds()
        with suppress(QuantityError, AttributeError, TypeError):
            needs = needs_of(spec, self._profile)
        return PodOnNode(
            {"schedulingGroup": mapping(spec, "schedulingGroup")},
            needs,
            self.resources,
            containers=dict(containers),
            uid=pod.uid,
        )

    def short_beside_bindings(self, pod: PodOnNode, nodes: Iterable[str]) -> dict[str, str]:
        """The nodes that have too little for what a pod itself needs, in kube-scheduler's words.

        Of others than those to which pods are being bound, or have just been, kube-scheduler knows it.
        """
        if pod.needs is None:
            return {}
        self._end_bindings()
        busy = {each.node for uid, each in self._bindings.items() if uid != pod.uid} | self._seen.keys()
        found: dict[str, str] = {}
        for node in nodes if busy else ():
            if node in busy:
                needs = pod.needs._replace(requests=_native(pod.needs))
                short = [
                    each.reason
                    for each in self.resources.shortages(node, needs)
                    if each.resource in needs.requests
                ]
                if short:
                    found[node] = " and ".join(short)
        return found

    def _end_bindings(self) -> None:
        now = self._clock()
        for uid in [uid for uid, each in self._bindings.items() if each.until <= now]:
            self.forget(uid)
        for node in [node for node, until in self._seen.items() if until <= now]:
            del self._seen[node]


def _native(needs: PodNeeds) -> dict[str, int]:
    """The requests for what devices can take of nodes."""
    found = {name: count for name, count in needs.requests.items() if "/" not in name}
    first = nsmallest(MOST_RESOURCES, found, key=lambda name: (name not in COMPUTE, name))
    return {name: found[name] for name in first}
