"""The one picture that the sidecar has of the cluster; it follows watch events, and filters answer from it."""

from __future__ import annotations

import gc
from collections import Counter, deque
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import partial
from operator import attrgetter
from threading import Event
from time import sleep
from typing import Any, NamedTuple

from allocator.device_shapes import ShapeRegistry
from allocator.devices import Slice
from allocator.features import Features
from allocator.pod_claims import extended_resources_of
from allocator.scheduling import SchedulingState
from allocator.time_limit import STEP_SECONDS, TimeLimit
from cluster.budget import Holdings
from cluster.client import Client
from cluster.group_snapshots import InConfiguration, Snapshots
from cluster.objects import ClusterObjects
from cluster.reflector import Reflector
from cluster.store import Change, Collection, Value, VersionedCollection
from resourceapi.json_text import PackedRaw, Raw
from resourceapi.kinds import CLAIM, DEVICE_CLASS, DEVICE_TAINT_RULE, RESOURCE_SLICE, RESOURCE_SLICE_PATCH
from resourceapi.logs import LOGGER
from resourceapi.manifests import entries, has_ended, mapping, text
from resourceapi.model.versions import GROUP, OWN_GROUP, V1_PATH
from resourceapi.objects import Object
from resourceapi.recognition import is_served
from resourceapi.records import pod_groups
from resourceapi.records.claims import (
    FOR_EXTENDED_RESOURCES,
    MIN_BYTES,
    Claim,
    DevicesReader,
    pod_served_by,
)
from resourceapi.records.classes import EXTENDED_RESOURCES_GATE, read_device_class
from resourceapi.records.nodes import read_node
from resourceapi.records.pod_groups import PodGroup
from resourceapi.records.pods import Pod, pod_with_claims, read_pod
from resourceapi.records.taints import read_taint_rule
from resourceapi.releases import Profile
from scheduler.budgets import Budget, read_budget
from scheduler.claim_ledger import ClaimLedger
from scheduler.extended_resources import ExtendedResources
from scheduler.group_devices import GroupDevices
from scheduler.picture_lock import PictureLock
from scheduler.pod_claims import MOST_CLAIMS
from scheduler.room_on_nodes import RoomOnNodes

#: How long a replica looks at what nodes see before it serves; what is left then, filters find out in the time that each has.
WARM_UP_SECONDS = 10.0
# Between the parts of a change: long enough for who waits for the lock.
PAUSE_SECONDS = 0.002


class HelpedBy(Enum):
    """What may have changed when a pod fits that was refused, beside the pod itself."""

    #: its own claims
    CLAIMS = auto()
    #: those, or DeviceClasses
    CLASSES = auto()
    #: those, devices or nodes
    DEVICES = auto()
    #: those, or pods that take no longer what they took of their nodes
    ROOM = auto()


class Source(NamedTuple):
    """A collection of the picture, and the path at which the API server has it."""

    path: str
    collection: Collection[Any]


class PublishedSlice:
    """A ResourceSlice as the allocator has it, without the object, which would take several times as much memory."""

    __slots__ = ("_version", "slice")

    def __init__(self, slice: Slice, obj: Object) -> None:
        """`obj`: what the slice was made from."""
        self.slice = slice
        metadata = mapping(obj, "metadata")
        version = text(metadata, "resourceVersion")
        self._version: object = (text(metadata, "uid"), version) if version else object()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublishedSlice) and self._version == other._version

    def __hash__(self) -> int:
        return hash(self._version)


class ClusterPicture:
    """Nodes, ResourceSlices and what changes them, DeviceClasses, claims and pods, ready for the allocator.

    ``state`` and ``claims`` are for one thread at a time: whoever uses them holds ``lock``, which is taken after those of
    collections. So nobody may put anything into a collection while holding it.

    A patch, a rule or a class may change many devices. What takes longer than ``STEP_SECONDS`` is done in parts, slice by slice;
    a slice that is not done yet is as before, as if the change had come later. While there are patches or rules, a slice that is put
    is not seen before they have been applied to it.
    """

    def __init__(
        self, profile: Profile, snapshots: Snapshots | None = None, patch_group: str = OWN_GROUP
    ) -> None:
        """Make an empty picture.

        :param profile: the release and gates of the scheduler.
        :param snapshots: where the API server keeps those of compatibility groups; by default beside the results.
        :param patch_group: the API group in which it has ResourceSlicePatches.
        """
        self.profile = profile
        self.features = Features(profile.gates)
        self.lock = PictureLock()
        self._changes = self._class_changes = 0
        self.state = SchedulingState(self.features, (), {}, ())
        self.state.inventory.stepwise = True
        # whatever has changed a slice: patches and rules only count where they make a difference
        self.state.inventory.listeners.append(self._gained)
        #: whether devices are as all patches, rules and classes have them
        self.is_settled = True
        objects = ClusterObjects(profile)

        def read(kind: str) -> Callable[[Object], Object | None]:
            return lambda value: objects.read_stored(kind, _without(value, "managedFields"))

        def made(kind: str, record: Callable[[Object], Value]) -> Callable[[Object], Value | None]:
            return lambda value: None if (found := read(kind)(value)) is None else record(found)

        self.nodes = Collection(read_node)
        shapes = ShapeRegistry(self.features.reading)

        def read_slice(value: Object) -> PublishedSlice | None:
            obj = objects.read_stored(RESOURCE_SLICE.name, value)
            return None if obj is None else PublishedSlice(Slice(obj, shapes), obj)

        self.slices = Collection(read_slice)
        self.classes = Collection(made(DEVICE_CLASS.name, lambda found: read_device_class(_packed(found))))
        self.rules = Collection(made(DEVICE_TAINT_RULE.name, read_taint_rule))
        self.patches = Collection(read(RESOURCE_SLICE_PATCH.name))
        #: the API group of ResourceSlicePatches
        self.patch_group = patch_group
        #: what nodes have left, if devices may take of that
        self.room = RoomOnNodes(
            profile,
            is_on=self.features.node_allocatable_resources,
            devices_take_of_nodes=lambda: self.state.devices_take_of_nodes,
        )
        #: those with claims, and if devices may take of nodes, those on nodes
        self.pods: Collection[Pod] = Collection(
            lambda value: self.room.read_pod_on_node(value, _pod_with_few_claims(value))
        )
        #: how many pods of each PodGroup are on nodes, by ``namespace/name``
        self.placed: Counter[str] = Counter()
        #: the keys of the other pods of each PodGroup that have claims
        self.waiting: dict[str, set[str]] = {}
        self.pods.listen(self._count_placed)
        self.pod_groups: Collection[PodGroup] = Collection(objects.read_pod_group)
        self.budgets: Collection[Budget] = Collection(read_budget)
        read_claim, kept = read(CLAIM.name), snapshots or InConfiguration()

        def read_with_snapshot(value: Object) -> Claim | None:
            claim = read_claim(_with_marks(value))
            if claim is None:
                return None
            short = _with_short_metadata(kept.read(claim))
            # what is packed as a whole is not packed in parts before
            return Claim(_packed(asked.packed(short, mapping(value, "spec", "devices"))))

        def read_devices(value: Object) -> Object:
            claim = read_claim({"spec": {"devices": value}})
            return mapping(_packed(claim or {}), "spec", "devices")

        asked = DevicesReader(read_devices)

        self.claim_objects = VersionedCollection(read_with_snapshot, attrgetter("object"))
        self.claims = ClaimLedger(self.state, self.claim_objects)
        self.group_devices = GroupDevices(self.claims, self.room)
        self.extended = ExtendedResources(
            self.nodes,
            self.classes,
            self.claims,
            self.state.forget,
            is_on=EXTENDED_RESOURCES_GATE in profile.gates,
        )
        for members in (self.pods, self.pod_groups):
            members.listen(self._end_groups)
        state = self.state
        self._follow(self.nodes, state.put_node, state.remove_node)
        if self.features.node_allocatable_resources:
            self.nodes.listen(self._locked(self.room.nodes_changed))
            self.pods.listen(self._locked(self.room.pods_changed))
        self._follow(self.slices, lambda each: state.put_slice(each.slice), state.remove_slice)
        self._follow(self.classes, state.put_class, state.remove_class)
        if self.features.device_taints:
            self._follow(self.rules, state.put_rule, state.remove_rule)
        if self.features.device_patches:
            self._follow(self.patches, state.put_patch, state.remove_patch)
        for collection in (self.nodes, self.classes):
            collection.listen(self._locked(self._gained))
        self.classes.listen(self._locked(self._class_changed))
        self.claim_objects.listen(self._locked(self.claims.changed))

    @property
    def gains(self) -> int:
        """Grows with each change by which a pod might fit that did not before.

        Devices that are given away are no such change: whoever found none among more finds none among less.
        """
        return self._changes + self.claims.releases

    def gains_for(self, helped_by: HelpedBy) -> int:
        """Grows with each change that may help a pod, those of its own claims excepted."""
        if helped_by is HelpedBy.CLAIMS:
            return 0
        if helped_by is HelpedBy.ROOM:
            return self.gains + self.room.gains
        return self._class_changes if helped_by is HelpedBy.CLASSES else self.gains

    @property
    def is_served(self) -> bool:
        """Whether the API server has all kinds without which nothing can be decided, and all objects of them are known.

        It need not have DeviceTaintRules, ResourceSlicePatches and PodDisruptionBudgets. One that has no claims or slices any more is another matter than one without
        any: what they say of devices may be true again soon.
        """
        needed = (self.nodes, self.slices, self.classes, self.claim_objects, self.pods)
        return all(each.is_listed for each in needed)

    def warm_up(self) -> None:
        """Find out now what all nodes see, as far as there is time; otherwise the first filter has to, in large clusters for too long.

        What patches, rules and classes change comes first; what is left of that is done as of any change.
        """
        time_limit = TimeLimit(WARM_UP_SECONDS)
        with self.lock:
            self.is_settled = self.state.inventory.settle(time_limit)
            self.state.warm_up(time_limit)

    def warm_up_first(self) -> None:
        """Warm up when the cluster has just become known, and nobody asks or leads yet: only then garbage is looked for.

        All of the picture stays: looking through it again and again would hold up a filter each time.
        """
        self.warm_up()
        gc.collect()
        gc.freeze()

    def settle_some(self) -> None:
        """Do a part of what patches, rules and classes change about devices; for who holds the lock."""
        self.is_settled = self.state.inventory.settle(TimeLimit(STEP_SECONDS))

    def sources(self) -> list[Source]:
        """What is to be watched; what others depend on comes first."""
        return [
            Source("/api/v1/nodes", self.nodes),
            Source(f"{V1_PATH}/{RESOURCE_SLICE.resource}", self.slices),
            Source(f"{V1_PATH}/{DEVICE_CLASS.resource}", self.classes),
            *self._rules(),
            *self._patches(),
            Source(f"{V1_PATH}/{CLAIM.resource}", self.claim_objects),
            *self._groups(),
            Source("/api/v1/pods", self.pods),
            Source("/apis/policy/v1/poddisruptionbudgets", self.budgets),
        ]

    def _groups(self) -> list[Source]:
        """PodGroups in the newest version that the release has, if pods can belong to one."""
        if pod_groups.GATE not in self.profile.gates:
            return []
        served = (
            each
            for each in pod_groups.VERSIONS
            if is_served(f"{pod_groups.GROUP}/{each}", pod_groups.KIND, self.profile)
        )
        return [
            Source(f"/apis/{pod_groups.GROUP}/{version}/{pod_groups.RESOURCE}", self.pod_groups)
            for version in list(served)[:1]
        ]

    def group_of(self, pod: Pod) -> PodGroup | None:
        """The PodGroup of a pod; None if it has none, or that is not known."""
        return self.pod_groups.objects.get(pod.group_key)

    def _rules(self) -> list[Source]:
        """DeviceTaintRules in the newest version that the release serves."""
        served = [
            each for each in DEVICE_TAINT_RULE.versions if DEVICE_TAINT_RULE.served_by(each, self.profile)
        ]
        return [
            Source(f"/apis/{GROUP}/{version}/{DEVICE_TAINT_RULE.resource}", self.rules)
            for version in served[:1]
        ]

    def _patches(self) -> list[Source]:
        """ResourceSlicePatches, unless they are to have no effect."""
        if not self.features.device_patches:
            return []
        return [Source(RESOURCE_SLICE_PATCH.path_in(self.patch_group), self.patches)]

    def reflectors(self, client: Client) -> dict[str, Reflector]:
        """What keeps the collections as the cluster has them, by path; nothing is asked yet."""
        holdings = Holdings()
        return {each.path: Reflector(client, each.path, each.collection, holdings) for each in self.sources()}

    def _follow(
        self, collection: Collection[Value], put: Callable[[Value], None], remove: Callable[[str], None]
    ) -> None:
        def changed(changes: Sequence[Change[Value]]) -> None:
            """A whole list may have changed: what takes long is done in parts, as if the changes had come one by one."""
            left = deque(changes)
            while left:
                with self.lock:
                    while left:
                        key, _, after = left.popleft()
                        if after is None:
                            remove(key)
                        else:
                            put(after)
                        if self.lock.seconds > STEP_SECONDS:
                            break
                    if not left:
                        self.settle_some()
                if left:
                    sleep(PAUSE_SECONDS)

        collection.listen(changed)

    def _gained(self, *_: object) -> None:
        self._changes += 1

    def _count_placed(self, changes: Sequence[Change[Pod]]) -> None:
        """Count as pods come and go: a filter cannot look through those of all namespaces."""
        for _, before, after in changes:
            for pod, number in ((before, -1), (after, 1)):
                if pod is None or not pod.group:
                    continue
                if pod.node:
                    self.placed[pod.group_key] += number
                    if not self.placed[pod.group_key]:
                        del self.placed[pod.group_key]
                elif number > 0:
                    self.waiting.setdefault(pod.group_key, set()).add(pod.key)
                elif waiting := self.waiting.get(pod.group_key):
                    waiting.discard(pod.key)
                    if not waiting:
                        del self.waiting[pod.group_key]

    def _end_groups(self, changes: Sequence[Change[Any]]) -> None:
        gone = {each.key for each in changes if each.after is None}
        if gone:
            with self.lock:
                self.group_devices.end_without(gone)

    def _class_changed(self, *_: object) -> None:
        self._class_changes += 1

    def _locked(
        self, listener: Callable[[Sequence[Change[Any]]], None]
    ) -> Callable[[Sequence[Change[Any]]], None]:
        return partial(self._with_lock, listener)

    def _with_lock(
        self, listener: Callable[[Sequence[Change[Any]]], None], changes: Sequence[Change[Any]]
    ) -> None:
        with self.lock:
            listener(changes)


def with_few_claims(pod: Pod) -> Pod:
    """A pod with as many of its claims as tell that there are too many."""
    return pod._replace(claims=pod.claims[: MOST_CLAIMS + 1])


def _pod_with_few_claims(value: Object) -> Pod | None:
    """A pod with claims, or to which some may be made for extended resources; of those that are too many to get devices one more than there may be, as thousands of pods may name a thousand each.

    Its scheduling gates are kube-scheduler's business, and may be as many.
    """
    pod = pod_with_claims(value)
    if pod is None and not has_ended(value) and extended_resources_of(mapping(value, "spec")):
        pod = read_pod(value)
    return None if pod is None else with_few_claims(pod)._replace(gates=())


def _with_short_metadata(claim: Object) -> Object:
    """A claim with the one owner that counts, and long finalizers as text: each may be a megabyte."""
    metadata = dict(mapping(claim, "metadata"))
    owners, finalizers = entries(metadata, "ownerReferences"), entries(metadata, "finalizers")
    if owners:
        metadata["ownerReferences"] = [each for each in owners if mapping(each).get("controller") is True]
    if sum(map(len, finalizers)) >= MIN_BYTES:
        metadata["finalizers"] = PackedRaw(Raw(finalizers))
    return {**claim, "metadata": metadata}


def _packed(obj: Object) -> Object:
    """A claim or class, which nobody else has, with what drivers alone read of it as text."""
    spec, status = mapping(obj, "spec"), mapping(obj, "status")
    parts = [(each, "data") for each in entries(status, "devices")]
    for holder in (spec, mapping(spec, "devices"), mapping(status, "allocation", "devices")):
        parts += [(mapping(each, "opaque"), "parameters") for each in entries(holder, "config")]
    for part, name in parts:
        raw = part.get(name)
        if isinstance(raw, Raw):
            part[name] = PackedRaw(raw)
    return obj


def _with_marks(value: Object) -> Object:
    """A claim with the annotation that says for what it has been made, and no other."""
    is_made = pod_served_by(value) is not None
    kept = _without(value, "labels", "annotations")
    if not is_made:
        return kept
    return {**kept, "metadata": {**kept["metadata"], "annotations": {FOR_EXTENDED_RESOURCES: "true"}}}


def _without(value: Object, *unread: str) -> Object:
    """An object without parts of its `metadata` that may be as large as the rest and that nobody reads here."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or metadata.keys().isdisjoint(unread):
        return value
    return {**value, "metadata": {key: each for key, each in metadata.items() if key not in unread}}


#: How soon after a change the rest of it is looked for.
SETTLING_SECONDS = 0.05


class Settling:
    """Does in the background what is left of a change that takes longer than the picture may be held; filters come between."""

    def __init__(self, picture: ClusterPicture) -> None:
        self._picture = picture

    def run(self, ending: Event) -> None:
        """Go on until told to end."""
        while not ending.wait(STEP_SECONDS if self.step() else SETTLING_SECONDS):
            pass

    def step(self) -> bool:
        """Do a part of what is left; whether there was anything."""
        picture = self._picture
        if picture.is_settled:
            return False
        try:
            with picture.lock:
                picture.settle_some()
        except Exception:  # noqa: BLE001 - whatever it is, there is another step
            LOGGER.exception("devices not patched")
        return True
