"""What the checks of ``doctor`` look at: a cluster with its devices and everything that waits or has ended in it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState, may_wait_for_devices
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.doctor.checks import Check
from claimcheck.answers.scenario import Reader, Scenario
from cluster.objects import CLAIM
from documents.manifest import Manifest
from resourceapi.manifests import full_name, name_of, namespace_of, uid_of
from resourceapi.objects import Object
from resourceapi.records.claims import Claim


class Affected(NamedTuple):
    """An object that has what a check has found.

    :param namespace: empty for kinds that are in none.
    :param devices: how many devices nobody else can have because of it.
    """

    kind: str
    namespace: str
    name: str
    devices: int = 0

    @property
    def full_name(self) -> str:
        """``team/train``, or the name alone."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Diagnosis(NamedTuple):
    """What a check has found: one cause, and all objects that have it.

    :param cause: what is wrong with each of the objects, as a predicate or a sentence that does not count them.
    :param objects: of one kind; never empty.
    :param remedy: what to do, as a sentence; empty where the check's advice says it all.
    :param command: what tells more; empty for none.
    """

    check: Check
    cause: str
    objects: Sequence[Affected]
    remedy: str = ""
    command: str = ""

    @property
    def devices(self) -> int:
        """How many devices nobody else can have because of it."""
        return sum(each.devices for each in self.objects)


class Examined:
    """A cluster that is looked at.

    :param state: its objects.
    :param manifests: those of them that request devices, with all pods that may wait for devices.
    :param namespace: the only one whose pods and claims are looked at; empty: all.
    :param limit: how long everything may take.
    :param disabled: the codes of checks whose findings do not matter.
    :param new: workloads whose pods are still to be made.
    :raises OutOfTime: if applying patches to the devices takes longer.
    """

    def __init__(
        self,
        state: ClusterState,
        manifests: Iterable[Manifest],
        namespace: str,
        limit: TimeLimit,
        disabled: Collection[str] = (),
        new: Sequence[Manifest] = (),
    ) -> None:
        self.state = state
        self.limit = limit
        self._disabled = disabled
        self.namespace = namespace
        self._new = new
        self._manifests = [each for each in manifests if may_wait_for_devices(each.value)]
        self._pending = {_key(each.value): each.value for each in self._manifests}
        self.devices = ClusterDevices(state, limit)

    def looks_at(self, namespace: str) -> bool:
        """Whether what is in a namespace is looked at."""
        return not self.namespace or namespace == self.namespace

    @cached_property
    def waiting(self) -> Scenario:
        """The pods that wait for devices, and those that are still to be made.

        :raises OutOfTime: if the time is over before they are read.
        """
        pods = [
            each
            for each in (*self._manifests, *self._new)
            if self.looks_at(namespace_of(each.value, "default"))
        ]
        workloads = Reader(self.state, "default").workloads(pods, self.limit)
        waiting = [each for each in workloads if not each.has_its_devices]
        return Scenario(self.state, self.devices.snapshot, waiting)

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims that are looked at."""
        found = map(Claim, self.state.of(CLAIM).values())
        return [claim for claim in found if self.looks_at(claim.namespace)]

    def is_silenced(self, check: Check, affected: Affected) -> bool:
        """Whether a check does not matter, or not for this object, as its annotation says."""
        ignored = self.state.ignored.get((affected.kind, affected.full_name), frozenset())
        return check.code in self._disabled or check.code in ignored

    @property
    def knows_pods(self) -> bool:
        """Whether a pod that is not known does not exist."""
        return "Pod" not in self.state.unread

    def exists(self, namespace: str, name: str, uid: str) -> bool:
        """Whether a pod is there and has not ended."""
        known = self._pods.get(full_name(namespace, name))
        return known is not None and (known == uid or not known or not uid)

    @cached_property
    def _pods(self) -> dict[str, str]:
        """The UIDs of pods that have not ended."""
        on_nodes = {key: pod.uid for key, pod in self.state.pods.objects.items()}
        return on_nodes | {key: uid_of(pod) for key, pod in self._pending.items()}


def _key(pod: Object) -> str:
    return full_name(namespace_of(pod, "default"), name_of(pod))


def command(*words: str) -> str:
    """A command to be typed or run: names in files may be anything, and stay single words of it."""
    return shlex.join(("claimcheck", *words))
