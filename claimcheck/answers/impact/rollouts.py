"""What becomes of the pods of a workload whose pod template changes: its controller makes new ones and takes the old ones away, step by step.

A pod counts as ready once it has a node. So nothing is known of new pods that start and then fail; what is known is whether they get their
devices while old ones still hold theirs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from math import log2
from typing import Any, NamedTuple

from claimcheck.answers.impact.change import (
    DAEMON_SET,
    DEPLOYMENT,
    POD,
    STATEFUL_SET,
    ChangedObjects,
    ObjectId,
)
from documents.manifest import Manifest, Unwritten
from resourceapi.manifests import entries, mapping, pod_count, text, uid_of
from resourceapi.model.workloads import POD_COUNTS
from resourceapi.objects import Object
from resourceapi.records.pods import Pod, read_pod
from resourceapi.times import TimeError, moment, parse

#: A rollout that has more steps is not followed to its end.
MOST_STEPS = 30
_RECREATE = "Recreate"


#: What pods of DaemonSets tolerate.
_TOLERATIONS = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]


class RolledOut(NamedTuple):
    """How far the pods of a workload are replaced.

    :param replaced: the former pods that go, by ``namespace/name``.
    :param kept: those that stay although they should go.
    :param new: how many new ones there are, and how many of them find no place.
    """

    workload: ObjectId
    replaced: Sequence[str]
    kept: Sequence[str]
    new: int
    waiting: int

    @property
    def ends(self) -> bool:
        """Whether all are replaced."""
        return not (self.kept or self.waiting)


class Rollout(ABC):
    """The pods of one workload while its controller replaces them.

    :ivar kept: the former pods, in the order in which they go.
    """

    def __init__(self, id: ObjectId, manifest: Manifest, pods: Iterable[Pod]) -> None:
        """Begin.

        :param manifest: the workload after the change.
        :param pods: its pods.
        """
        self.id = id
        self._manifest = manifest
        self._strategy = mapping(
            manifest.value, "spec", "strategy" if id.kind == DEPLOYMENT else "updateStrategy"
        )
        self._rolling = mapping(self._strategy, "rollingUpdate")
        self.kept = list(pods)
        self._gone: list[Pod] = []
        self._waiting = 0

    @property
    @abstractmethod
    def manifests(self) -> Sequence[Manifest]:
        """The new pods, as objects that request devices."""

    @property
    @abstractmethod
    def new(self) -> int:
        """How many new pods there are."""

    @abstractmethod
    def _count(self, unplaced: Counter[int]) -> int:
        """How many new pods are on no node; those that have been placed stay where they are."""

    @abstractmethod
    def _next(self, idle: Collection[str], on_nodes: Counter[str]) -> Sequence[Pod]:
        """The former pods that go now; makes new ones."""

    def go_on(self, idle: Collection[str], unplaced: Counter[int], on_nodes: Counter[str]) -> Sequence[Pod]:
        """Do what the controller does next; returns the former pods that go.

        :param idle: those that are on no node, by ``namespace/name``.
        :param unplaced: how many new pods of a manifest are on no node, by its ``id``.
        :param on_nodes: how many pods of the workload are on each node.
        """
        self._waiting = self._count(unplaced)
        gone = self._next(idle, on_nodes)
        keys = {pod.key for pod in gone}
        self.kept = [pod for pod in self.kept if pod.key not in keys]
        self._gone += gone
        return gone

    @property
    def state(self) -> RolledOut:
        """How far it is."""
        gone, kept = ([pod.key for pod in pods] for pods in (self._gone, self.kept))
        return RolledOut(self.id, gone, kept, self.new, self._waiting)


class _OfCopies(Rollout):
    """Of a workload whose pods are all alike."""

    def __init__(self, id: ObjectId, manifest: Manifest, pods: Iterable[Pod]) -> None:
        super().__init__(id, manifest, pods)
        self._wanted = pod_count(manifest.value)
        self._new = 0
        self._make(0)

    @property
    def new(self) -> int:
        """How many new pods there are."""
        return self._new

    @property
    def manifests(self) -> Sequence[Manifest]:
        """The workload with as many pods as are on no node yet."""
        return [self._made] if pod_count(self._made.value) else []

    def _count(self, unplaced: Counter[int]) -> int:
        return unplaced[id(self._made)]

    def _make(self, number: int) -> None:
        value = self._manifest.value
        spec = {**mapping(value, "spec"), POD_COUNTS[self.id.kind]: self._waiting + number - self._new}
        self._new, self._made = number, Unwritten(self._manifest.file, {**value, "spec": spec})


class _DeploymentRollout(_OfCopies):
    """As its controller keeps between what may be missing and what may be too much."""

    def __init__(self, id: ObjectId, manifest: Manifest, pods: Iterable[Pod]) -> None:
        super().__init__(id, manifest, pods)
        self._surge = _share(self._rolling.get("maxSurge", "25%"), self._wanted, up=True)
        self._missing = _share(self._rolling.get("maxUnavailable", "25%"), self._wanted, up=False)
        if not (self._surge or self._missing):
            self._missing = 1

    def _next(self, idle: Collection[str], on_nodes: Counter[str]) -> Sequence[Pod]:
        if text(self._strategy, "type") == _RECREATE:
            self._make(self._wanted)
            return list(self.kept)
        ready, waiting = self._new - self._waiting, sum(pod.key in idle for pod in self.kept)
        new, lasting = self._new, len(self.kept)
        least = self._wanted - self._missing
        while True:
            before = new, lasting, waiting
            new += max(0, min(self._wanted - new, self._wanted + self._surge - lasting - new))
            too_many = lasting + new - least - (new - ready)
            if too_many > 0:
                for most in (min(waiting, too_many), lasting - waiting + ready - least):
                    down = max(0, min(lasting, most))
                    waiting, lasting = max(0, waiting - down), lasting - down
            if (new, lasting, waiting) == before:
                break
        self._make(new)
        # as a ReplicaSet chooses: who is beside most others of its workload goes before the youngest
        in_order = sorted(self.kept, key=lambda pod: (pod.key not in idle, -on_nodes[pod.node]))
        return in_order[: len(self.kept) - lasting]


class _StatefulSetRollout(_OfCopies):
    """From the last pod to the first, each once those before it are ready."""

    def __init__(self, id: ObjectId, manifest: Manifest, pods: Iterable[Pod]) -> None:
        super().__init__(id, manifest, pods)
        partition = _share(self._rolling.get("partition"), 0, up=False)
        numbered = sorted(((_ordinal(pod), pod) for pod in self.kept), key=lambda each: -each[0])
        self._stays = [pod for number, pod in numbered if number < partition]
        self.kept = [pod for number, pod in numbered if number >= partition]
        spec = mapping(manifest.value, "spec")
        self._in_order = text(spec, "podManagementPolicy") != "Parallel"
        self._missing = max(1, _share(self._rolling.get("maxUnavailable", 1), self._wanted, up=True))

    def _next(self, idle: Collection[str], on_nodes: Counter[str]) -> Sequence[Pod]:
        others = any(pod.key in idle for pod in (*self.kept, *self._stays))
        if self._in_order and (others or self._waiting):
            return []
        gone = self.kept[: max(0, self._missing - self._waiting)]
        self._make(self._new + len(gone))
        return gone


class _DaemonSetRollout(Rollout):
    """On some nodes at a time, each new pod on the node of the former one."""

    def __init__(
        self, id: ObjectId, manifest: Manifest, pods: Iterable[Pod], node_of: Callable[[Pod], str]
    ) -> None:
        """Begin.

        :param node_of: the node that a pod is for.
        """
        super().__init__(id, manifest, pods)
        self._node_of = node_of
        nodes = len(self.kept)
        self._surge = _share(self._rolling.get("maxSurge", 0), nodes, up=True)
        self._missing = _share(self._rolling.get("maxUnavailable", 1), nodes, up=True)
        self._new: dict[str, Manifest] = {}
        self._ready: set[str] = set()

    @property
    def new(self) -> int:
        """How many new pods there are."""
        return len(self._new)

    @property
    def manifests(self) -> Sequence[Manifest]:
        """The new pods that are on no node yet."""
        return [each for key, each in self._new.items() if key not in self._ready]

    def _count(self, unplaced: Counter[int]) -> int:
        self._ready |= {key for key, each in self._new.items() if not unplaced[id(each)]}
        return len(self._new) - len(self._ready)

    def _next(self, idle: Collection[str], on_nodes: Counter[str]) -> Sequence[Pod]:
        coming = [pod for pod in self.kept if pod.key not in self._new]
        useless = [pod for pod in coming if pod.key in idle]
        others = [pod for pod in coming if pod.key not in idle]
        if self._surge:
            succeeded = self._ready | (self._new.keys() & set(idle))
            gone = [pod for pod in self.kept if pod.key in succeeded]
            coming = [*useless, *others[: max(0, self._surge - self._waiting)]]
        else:
            gone = coming = [*useless, *others[: max(0, self._missing - self._waiting - len(useless))]]
        self._new |= {pod.key: self._pod_like(pod) for pod in coming}
        return gone

    def _pod_like(self, former: Pod) -> Manifest:
        """The new pod on the node of a former one."""
        template = mapping(self._manifest.value, "spec", "template")
        uid = uid_of(self._manifest.value) or self.id.name
        owner = {
            "apiVersion": "apps/v1",
            "kind": self.id.kind,
            "name": self.id.name,
            "uid": uid,
            "controller": True,
        }
        metadata = {
            "labels": mapping(template, "metadata", "labels"),
            "namespace": former.namespace,
            "name": f"{former.name}-new",
            "ownerReferences": [owner],
        }
        node = {"key": "metadata.name", "operator": "In", "values": [self._node_of(former)]}
        terms = {"nodeSelectorTerms": [{"matchFields": [node]}]}
        spec = mapping(template, "spec")
        # in place of what the template says of nodes, as the controller does
        affinity = {
            **mapping(spec, "affinity"),
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms},
        }
        tolerations = [*(spec.get("tolerations") or ()), *_TOLERATIONS]
        value = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata,
            "spec": {**spec, "affinity": affinity, "tolerations": tolerations},
        }
        return Unwritten(self._manifest.file, value)


def on_nodes(objects: ChangedObjects, rollouts: Iterable[Rollout]) -> dict[ObjectId, Counter[str]]:
    """How many pods of each workload are on each node."""
    found: dict[ObjectId, Counter[str]] = {each.id: Counter() for each in rollouts}
    for id, pod, _ in _pods_of(objects, found):
        if pod.node:
            found[id][pod.node] += 1
    return found


def _pods_of(
    objects: ChangedObjects, workloads: Collection[ObjectId]
) -> Iterator[tuple[ObjectId, Pod, Object]]:
    for _, value in objects.of(POD) if workloads else ():
        pod = read_pod(value)
        for kind, name in pod.workloads:
            if (id := ObjectId(kind, pod.namespace, name)) in workloads:
                yield id, pod, value


def _age(pod: Object, now: datetime) -> int:
    """For how long a pod has been ready, or there: twice as long is one more, as ReplicaSets count."""
    conditions = entries(mapping(pod, "status"), "conditions")
    ready = [text(each, "lastTransitionTime") for each in conditions if text(each, "type") == "Ready"]
    since = next(filter(None, ready), text(mapping(pod, "metadata"), "creationTimestamp"))
    try:
        seconds = (now - moment(parse(since))).total_seconds()
    except TimeError:
        return -1
    return int(log2(seconds * 1e9)) if seconds > 0 else -1


def rollouts_of(objects: ChangedObjects, now: datetime) -> list[Rollout]:
    """The rollouts that a change begins, none of which has made a step yet."""
    pods: dict[ObjectId, list[tuple[int, str, Pod]]] = {id: [] for id in objects.rolled_out}
    for id, pod, value in _pods_of(objects, pods):
        pods[id].append((_age(value, now), pod.uid, pod))
    youngest = {
        id: [pod for *_, pod in sorted(found, key=lambda each: each[:2])] for id, found in pods.items()
    }

    def node_of(pod: Pod) -> str:
        """On which it is, or the only one on which its DaemonSet lets it be."""
        value = objects.get(ObjectId(POD, pod.namespace, pod.name)) or {}
        required = mapping(
            value, "spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
        )
        fields = (
            field for term in entries(required, "nodeSelectorTerms") for field in entries(term, "matchFields")
        )
        named = (str(name) for field in fields for name in entries(field, "values"))
        return pod.node or next(named, "")

    found: list[Rollout] = []
    for id, manifest in objects.rolled_out.items():
        if id.kind == DAEMON_SET:
            found.append(_DaemonSetRollout(id, manifest, youngest[id], node_of))
        elif id.kind == STATEFUL_SET:
            found.append(_StatefulSetRollout(id, manifest, youngest[id]))
        else:
            found.append(_DeploymentRollout(id, manifest, youngest[id]))
    return found


def _share(given: Any, whole: int, *, up: bool) -> int:
    """A number, or a share as ``25%``, of so many pods."""
    if isinstance(given, str) and given.endswith("%") and given[:-1].isdigit():
        parts = int(given[:-1]) * whole
        return -(-parts // 100) if up else parts // 100
    return given if isinstance(given, int) and given > 0 else 0


def _ordinal(pod: Pod) -> int:
    number = pod.name.rpartition("-")[2]
    return int(number) if number.isdigit() else 0
