"""What the checks of ``doctor`` look at: a cluster with its devices and everything that waits or has ended in it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from allocator.time_limit import TimeLimit
from claimcheck.answers.cluster_state import ClusterState, is_pending
from claimcheck.answers.devices.cluster_devices import ClusterDevices
from claimcheck.answers.doctor.checks import Check
from claimcheck.answers.scenario import Scenario, workloads_in
from cluster.objects import CLAIM
from documents.manifest import Manifest
from resourceapi.kinds import KINDS
from resourceapi.manifests import full_name, mapping, name_of, namespace_of, text, uid_of
from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import EMPTY, Object
from resourceapi.records.claims import Claim

#: The annotation that silences checks for an object: their codes, with commas between them.
IGNORE = f"{OWN_GROUP}/ignore"
#: What comes after so many characters of it does not count: they are enough for all codes.
_LONGEST_IGNORE = 1_000


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
    :param manifests: those of them that request devices, with all pods that are on no node.
    :param namespace: the only one whose pods and claims are looked at; empty: all.
    :param seconds: how long everything may take.
    :raises OutOfTime: if applying patches to the devices takes longer.
    """

    def __init__(
        self, state: ClusterState, manifests: Iterable[Manifest], namespace: str, seconds: float
    ) -> None:
        self.state = state
        self.limit = TimeLimit(seconds)
        self._namespace = namespace
        self._manifests = [each for each in manifests if is_pending(each.value)]
        self._pending = {_key(each.value): each.value for each in self._manifests}
        self.devices = ClusterDevices(state, seconds)
        self._silenced: dict[tuple[str, str], frozenset[str]] = {}

    def looks_at(self, namespace: str) -> bool:
        """Whether what is in a namespace is looked at."""
        return not self._namespace or namespace == self._namespace

    @cached_property
    def waiting(self) -> Scenario:
        """The pods that are on no node."""
        pods = [each for each in self._manifests if self.looks_at(namespace_of(each.value, "default"))]
        workloads = workloads_in(self.state, pods, "default")
        return Scenario(self.state, self.devices.snapshot, workloads)

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims that are looked at."""
        found = map(Claim, self.state.of(CLAIM).values())
        return [claim for claim in found if self.looks_at(claim.namespace)]

    def is_silenced(self, check: Check, affected: Affected) -> bool:
        """Whether an annotation of an object says that a check does not matter for it."""
        key = affected.kind, affected.full_name
        if key not in self._silenced:
            self._silenced[key] = self._codes(affected)
        return check.code in self._silenced[key]

    def _codes(self, affected: Affected) -> frozenset[str]:
        """The codes in the annotation of an object."""
        if affected.kind == "Pod":
            found = self._pending.get(affected.full_name, EMPTY)
        elif affected.kind in KINDS:
            found = self.state.of(affected.kind).get(affected.full_name, EMPTY)
        else:
            return frozenset()
        codes = text(mapping(found, "metadata", "annotations"), IGNORE)
        return frozenset(code.strip() for code in codes[:_LONGEST_IGNORE].split(","))

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
