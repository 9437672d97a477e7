"""The claims for pods that ask for devices by extended resources (KEP-5004): what a pod needs on each node, and what has been made.

kube-scheduler's plugin makes the claim of such a pod when it binds the pod, and so does the sidecar. A node with a device plugin
for a resource serves it as ever, so the claim differs from node to node.

The name of the claim follows from the uid of its pod: of two processes that want to make it, one comes too late.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from heapq import nsmallest
from types import MappingProxyType
from typing import NamedTuple

from allocator.pod_claims import (
    CLAIM_SUFFIX,
    ClaimsOnNodes,
    ExtendedRequests,
    classes_by_resource,
    extended_resources_of,
)
from cluster.store import Change, Collection
from resourceapi.kinds import CLAIM
from resourceapi.manifests import mapping
from resourceapi.model.versions import GROUP
from resourceapi.objects import Object
from resourceapi.records.claims import FOR_EXTENDED_RESOURCES, Claim, pod_served_by
from resourceapi.records.classes import DeviceClass
from resourceapi.records.nodes import Node
from resourceapi.records.pods import Pod
from scheduler.claim_ledger import ClaimLedger

#: How long the names are that an API server generates, and how much of that the uid of the pod gets here.
NAME_CHARACTERS, DIGEST_CHARACTERS = 63, 10
#: Of so many claims that were made for a pod one is chosen.
MOST_MADE = 16
#: Longer prefixes an API server does not take.
MOST_PREFIX_CHARACTERS = 253


def made_name(pod_name: str, uid: str) -> str:
    """The name of the claim that is made for a pod."""
    digest = sha256(uid.encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{pod_name}{CLAIM_SUFFIX}-"[: NAME_CHARACTERS - DIGEST_CHARACTERS] + digest


class Needed(NamedTuple):
    """The claim that a pod needs on a node.

    :param claim: as it is going to be made, without a uid, or the one that has been made.
    :param asked: what the pod asks for on any node.
    :param provided: the resources that the node has from device plugins.
    """

    claim: Claim
    asked: ExtendedRequests
    provided: frozenset[str]

    @property
    def is_made(self) -> bool:
        """Whether an earlier attempt has made it."""
        return bool(self.claim.uid)

    def body(self, pod_name: str, uid: str) -> Object:
        """The claim as it is created for a pod; but for its name, as kube-scheduler's plugin creates it."""
        prefix = f"{pod_name}{CLAIM_SUFFIX}-"
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod_name, "uid": uid, "controller": True}
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": CLAIM.name,
            "metadata": {
                "namespace": self.claim.namespace,
                "name": self.claim.name,
                **({"generateName": prefix} if len(prefix) <= MOST_PREFIX_CHARACTERS else {}),
                "annotations": {FOR_EXTENDED_RESOURCES: "true"},
                "ownerReferences": [owner],
            },
            "spec": self.claim.object["spec"],
        }

    def pod_status(self) -> Object:
        """What the status of the pod says of it; to find out who uses what takes long for a pod with thousands of containers."""
        uses = self.asked.uses(self.provided)
        return {
            "extendedResourceClaimStatus": {
                "resourceClaimName": self.claim.name,
                "requestMappings": [each.as_object for each in uses],
            }
        }


class Needs(NamedTuple):
    """What a pod needs on some nodes for its extended resources.

    :param by_node: the claim on each node that has not all of them from device plugins; once one has been made, only nodes
        on which it is what the pod needs.
    :param made: the claim that an earlier attempt has made.
    """

    by_node: Mapping[str, Needed] = MappingProxyType({})
    made: Claim | None = None

    def exclude(self, node: str) -> bool:
        """Whether what has been made is not what the pod needs on a node."""
        return self.made is not None and node not in self.by_node

    def groups(self) -> list[tuple[Needed, list[str]]]:
        """The nodes with equal claims, those of most nodes first."""
        found: dict[int, tuple[Needed, list[str]]] = {}
        for node, needed in self.by_node.items():
            found.setdefault(id(needed), (needed, []))[1].append(node)
        return sorted(found.values(), key=lambda each: -len(each[1]))

    def instead(self, claims: Sequence[Claim]) -> list[ClaimsOnNodes]:
        """What the pod claims on these nodes, each kind of nodes by a claim of another name.

        :param claims: what it claims everywhere.
        """
        if self.made is not None:
            return []
        return [
            ClaimsOnNodes(
                nodes,
                [
                    *claims,
                    needed.claim if place == 0 else needed.claim.named(_variant(needed.claim.name, place)),
                ],
            )
            for place, (needed, nodes) in enumerate(self.groups())
        ]


NO_NEEDS = Needs()


def _variant(name: str, place: int) -> str:
    """A name that no claim has."""
    return f"{name}/{place}"


class ExtendedResources:
    """Follows nodes, classes and claims; but for :meth:`asked`, for who holds the picture's lock."""

    def __init__(
        self,
        nodes: Collection[Node],
        classes: Collection[DeviceClass],
        claims: ClaimLedger,
        forget: Callable[[str, str], None],
        *,
        is_on: bool,
    ) -> None:
        """Begin to follow.

        :param forget: forgets what a claim asks for that nobody has any more (namespace, name).
        :param is_on: the feature gate.
        """
        self._nodes = nodes
        self._classes = classes
        self._claims = claims
        self._forget = forget
        self.is_on = is_on
        self._changes = 0  # of classes
        self._by_class: tuple[int, Mapping[str, str]] = (-1, {})
        #: the keys of claims that have been made for a pod, by its namespace and uid
        self._made: dict[tuple[str, str], set[str]] = {}
        classes.listen(self._classes_changed)
        claims.listeners.append(self._claim_changed)

    def asked(self, pod: Object) -> list[str]:
        """The extended resources that a pod asks for and a DeviceClass stands for, sorted."""
        names = extended_resources_of(mapping(pod, "spec"))
        return sorted(names & self.classes.keys()) if names else []

    @property
    def classes(self) -> Mapping[str, str]:
        """The name of the DeviceClass that stands for each resource."""
        changes, (known_at, known) = self._changes, self._by_class
        if known_at != changes:
            known = classes_by_resource(list(self._classes.objects.values()))
            self._by_class = (changes, known)
        return known

    def is_provided(self, node: str, resource: str) -> bool:
        """Whether a node has a resource from a device plugin."""
        return bool(self._provided(node, frozenset((resource,))))

    def _provided(self, node: str, resources: frozenset[str]) -> frozenset[str]:
        """Those of some resources that a node has from device plugins."""
        known = self._nodes.objects.get(node)
        if known is None:
            return frozenset()
        return frozenset(
            [each for each in known.allocatable.keys() & resources if not known.allocatable[each].is_zero()]
        )

    def needs(self, pod: Pod, obj: Object, nodes: Iterable[str], made: Claim | None) -> Needs:
        """What a pod needs on these nodes.

        :param obj: the pod itself.
        :param made: as :meth:`made` has found it.
        """
        if not self.is_on or not (names := frozenset(self.asked(obj))):
            return Needs({}, made)
        asked = ExtendedRequests(mapping(obj, "spec"), self.classes)
        name = made_name(pod.name, pod.uid)
        known: dict[frozenset[str], Needed | None] = {}
        found: dict[str, Needed] = {}
        for node in nodes:
            provided = self._provided(node, names)
            if provided not in known:
                claim = asked.claim(pod.name, pod.namespace, provided)
                known[provided] = Needed(claim.named(name), asked, provided) if claim else None
            needed = known[provided]
            if needed is not None:
                found[node] = needed
        return Needs(found) if made is None else Needs(_served_by(made, found), made)

    def made(self, pod: Pod) -> Claim | None:
        """The claim that has been made for a pod; of several one that has devices.

        Users may have made thousands that say so.
        """
        keys = nsmallest(MOST_MADE, self._made.get((pod.namespace, pod.uid), ()))
        known = [claim for key in keys if (claim := self._claims.get(key)) is not None]
        own = [each for each in known if pod_served_by(each.object) == (pod.name, pod.uid)]
        return min(own, key=lambda each: not each.is_allocated, default=None)

    def forget_variants(self, needs: Needs) -> None:
        """Forget what was asked for on some kinds of nodes only."""
        for place, (needed, _) in enumerate(needs.groups()):
            if place:
                self._forget(needed.claim.namespace, _variant(needed.claim.name, place))

    def forget(self, pod: Pod) -> None:
        """Forget what was asked for in the name of a pod."""
        self._forget(pod.namespace, made_name(pod.name, pod.uid))

    def _classes_changed(self, changes: object) -> None:
        self._changes += 1

    def _claim_changed(self, change: Change[Claim]) -> None:
        for claim in (change.before, change.after):
            pod = None if claim is None else pod_served_by(claim.object)
            if claim is None or pod is None:
                continue
            of_pod = (claim.namespace, pod[1])
            keys = self._made.setdefault(of_pod, set())
            if claim is change.after:
                keys.add(change.key)
            else:
                keys.discard(change.key)
            if not keys:
                del self._made[of_pod]


def _served_by(made: Claim, needed: Mapping[str, Needed]) -> dict[str, Needed]:
    """The nodes on which a pod needs what has been made; none if that has no devices, or is being deleted."""
    if not made.is_allocated or made.is_leaving:
        return {}
    requests = made.for_a_moment().devices.requests
    kept: dict[int, Needed] = {
        id(each): Needed(made, each.asked, each.provided)
        for each in {id(each): each for each in needed.values()}.values()
        if each.claim.devices.requests == requests
    }
    return {node: kept[id(each)] for node, each in needed.items() if id(each) in kept}
