"""The objects of ``--inventory``, ``--live`` and ``-f`` that scheduling depends on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from advice.findings import Result
from allocator.features import Features
from claimcheck.answers.handling import ASK, CONTEXT, handling_of
from claimcheck.answers.reading import readable, unusable
from cluster.group_snapshots import GATE, with_remembered_groups
from cluster.objects import CLAIM, TEMPLATE, ClusterObjects
from resourceapi.decoding import DecodingError
from resourceapi.kinds import (
    DEVICE_CLASS,
    DEVICE_TAINT_RULE,
    KINDS,
    RESOURCE_SLICE,
    RESOURCE_SLICE_PATCH,
    kind_of,
)
from resourceapi.manifests import entries, full_name, has_ended, mapping, name_of, namespace_of, text
from resourceapi.model.quotas import KIND as QUOTA
from resourceapi.model.versions import OWN_GROUP
from resourceapi.objects import Object
from resourceapi.records.pod_groups import KIND as POD_GROUP
from resourceapi.records.pod_groups import is_pod_group
from resourceapi.records.pods import controller_of, read_pod
from resourceapi.releases import split_api_version

if TYPE_CHECKING:
    from claimcheck.answers.outcome import Failure, Unread
    from cluster.workloads import Workload
    from documents.manifest import Manifest
    from resourceapi.kind import Kind
    from resourceapi.releases import Profile

__all__ = ["CLAIM", "TEMPLATE", "ClusterState"]

#: The annotation that silences checks of `doctor` for an object: their codes, with commas between them.
IGNORE = f"{OWN_GROUP}/ignore"
#: What comes after so many characters of it does not count: they are enough for all codes.
LONGEST_IGNORE = 1_000
#: What comes after so many field managers of an object does not count; an API server keeps no more of those that update it.
_MOST_MANAGERS = 20


class Writer(NamedTuple):
    """A field manager that writes objects of a kind in a version."""

    kind: str
    version: str
    manager: str


class ClusterState(ClusterObjects):
    """The objects that could be read, and what could not be."""

    def __init__(self, profile: Profile, default_namespace: str) -> None:
        """Make one without objects.

        :param default_namespace: that of objects which name none.
        """
        super().__init__(profile)
        self.failures: list[Failure] = []
        #: lists of a cluster that could not be read, by the kind of their objects
        self.unread: dict[str, Unread] = {}
        #: whether claims have snapshots of compatibility groups that `claimcheck schedule` has written
        self.has_snapshots = False
        #: the ResourceSlices that declare compatibility groups although their gate is off
        self.slices_with_groups: set[str] = set()
        #: the codes of checks that objects say to ignore, by their kind and full name
        self.ignored: dict[tuple[str, str], frozenset[str]] = {}
        #: the objects (namespace and name) that somebody has written in a version which the release deprecates
        self.deprecated_writes: dict[Writer, list[tuple[str, str]]] = {}
        self.default_namespace = default_namespace
        #: the ResourceQuotas
        self.quotas: list[Manifest] = []
        #: how many pods on no node have all their claims, by kind, namespace and name of the workload that makes them
        self._with_claims: Counter[tuple[str, str, str]] = Counter()

    def empty(self) -> ClusterState:
        """One that reads objects in the same way, and has nothing but what the cluster makes of devices of any slice."""
        other = ClusterState(self.profile, self.default_namespace)
        for kind in (DEVICE_TAINT_RULE, RESOURCE_SLICE_PATCH, DEVICE_CLASS):
            other.collection(kind.name).objects.update(self.collection(kind.name).objects)
        return other

    def copy(self) -> ClusterState:
        """One with the same objects, to which others can be added."""
        other = ClusterState(self.profile, self.default_namespace)
        other.unread = dict(self.unread)
        other.features, other.has_snapshots = self.features, self.has_snapshots
        other.slices_with_groups = set(self.slices_with_groups)
        other.controllers = dict(self.controllers)
        other.quotas, other._with_claims = list(self.quotas), Counter(self._with_claims)
        for kind in (*KINDS, "Node", "Pod", POD_GROUP, "Namespace"):
            other.collection(kind).objects.update(self.collection(kind).objects)
        return other

    def why_unread(self, kind: str, namespace: str) -> str:
        """Why objects of a kind in a namespace could not be read; empty if they were read."""
        unread = self.unread.get(kind)
        return "" if unread is None or unread.read_namespace == namespace else unread.reason

    def learn(
        self, found: Iterable[Manifest | Result | Failure], *, new: bool = False, live: bool = False
    ) -> list[Manifest]:
        """Add what there is; returns what requests devices or may do so: claims, templates, pods, workloads.

        :param new: whether claims and templates are not there yet, and only request devices.
        :param live: whether a server has stored the objects; its pods on nodes are too many to be returned.
        """
        requesting = []
        for manifest in readable(found, self.failures):
            how, kind = handling_of(manifest.value), manifest.value.get("kind")
            self._learn_ignored(manifest.value)
            if (manifest.value.get("apiVersion"), kind) == ("v1", QUOTA):
                self.quotas.append(manifest)
            elif is_pod_group(manifest.value):
                self.pod_groups.put(self._in_namespace(manifest.value))
            elif how == CONTEXT:
                self.collection(manifest.value["kind"]).put(manifest.value)
            elif how == ASK:
                requests = kind in (CLAIM, TEMPLATE)
                of_group = kind_of(manifest.value["apiVersion"], kind) is not None
                if of_group and not (requests and new):
                    self._add(manifest, stored=live)
                if kind == "Pod" and not new:
                    self.pods.put(manifest.value)
                    self._learn_claims(manifest.value)
                elif not of_group and (controller := controller_of(manifest.value)):
                    namespace = namespace_of(manifest.value, self.default_namespace)
                    self.controllers[str(kind), namespace, name_of(manifest.value)] = controller
                if requests or not (of_group or (live and not may_wait_for_devices(manifest.value))):
                    requesting.append(manifest)
        return requesting

    def _learn_claims(self, pod: Object) -> None:
        """Learn for which workload a pod waits that has all its claims."""
        if not is_pending(pod):
            return
        record, namespace = read_pod(pod), namespace_of(pod, self.default_namespace)
        if all(entry.claim for entry in record.claims):
            self._with_claims.update((kind, namespace, name) for kind, name in record.workloads)

    def pods_with_claims(self, workload: Workload) -> int:
        """How many pods of a workload that are on no node have all their claims; the pod itself is not one of its pods."""
        return self._with_claims[workload.kind, workload.namespace, workload.name]

    def _learn_ignored(self, obj: Object) -> None:
        """Learn which checks an object says to ignore."""
        codes = text(mapping(obj, "metadata", "annotations"), IGNORE)[:LONGEST_IGNORE]
        if codes:
            kind = obj["kind"]
            namespaced = kind == "Pod" or (kind in KINDS and KINDS[kind].namespaced)
            namespace = namespace_of(obj, self.default_namespace) if namespaced else ""
            ignored = frozenset(code.strip() for code in codes.split(","))
            self.ignored[kind, full_name(namespace, name_of(obj))] = ignored

    def _add(self, manifest: Manifest, *, stored: bool) -> None:
        """Add an object of the group, in any version."""
        kind = manifest.value["kind"]
        self._learn_writers(kind, manifest.value)
        try:
            # what a class stands for matters with the gate off too: turning it on may be what helps
            obj = self.normal_form(manifest.value, stored=stored or kind == DEVICE_CLASS.name)
        except DecodingError as error:
            self.failures.append(unusable(manifest, error.text, error.path))
            return
        if KINDS[kind].namespaced:
            obj = self._in_namespace(obj)
        has_gate = GATE in self.profile.gates
        if kind == RESOURCE_SLICE.name and not has_gate and _declares_groups(manifest.value):
            self.slices_with_groups.add(name_of(obj))
        # a server without the gate keeps groups neither in new slices nor in claims
        if kind == CLAIM and (stored or has_gate) and (read := with_remembered_groups(obj)) is not obj:
            obj = read
            self._judge_by_snapshots()
        self.put(kind, obj)

    def _learn_writers(self, kind: str, obj: Object) -> None:
        """Learn who has written an object in a deprecated version."""
        where = namespace_of(obj, self.default_namespace) if KINDS[kind].namespaced else ""
        for entry in managers_of_deprecated(KINDS[kind], obj, self.profile.minor):
            writer = Writer(kind, split_api_version(text(entry, "apiVersion"))[1], text(entry, "manager"))
            self.deprecated_writes.setdefault(writer, []).append((where, name_of(obj)))

    def _in_namespace(self, obj: Object) -> Object:
        """An object with a namespace: its own, or that of objects which name none."""
        namespace = namespace_of(obj, self.default_namespace)
        return {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": namespace}}

    def _judge_by_snapshots(self) -> None:
        """Judge compatibility groups as `claimcheck schedule` does, which serves this cluster."""
        if not self.has_snapshots:
            self.has_snapshots = True
            self.features = Features(self.profile.gates, self.profile.minor)


def managers_of_deprecated(kind: Kind, obj: Object, minor: float = inf) -> Iterator[Object]:
    """The field managers of an object that write it in a version which a release deprecates.

    :param minor: the release; by default any, later ones included.
    """
    for entry in entries(mapping(obj, "metadata"), "managedFields")[:_MOST_MANAGERS]:
        lifecycle = kind.lifecycle(split_api_version(text(entry, "apiVersion"))[1])
        if lifecycle is not None and 0 < lifecycle.deprecated <= minor:
            yield entry


def is_pending(value: Object) -> bool:
    """Whether an object is a Pod that is on no node yet."""
    return (
        value.get("kind") == "Pod" and not text(mapping(value, "spec"), "nodeName") and not has_ended(value)
    )


def may_wait_for_devices(value: Object) -> bool:
    """Whether an object is a Pod that is on no node yet, or one that was created on a node, where it waits for its claims."""
    if is_pending(value):
        return True
    starts = text(mapping(value, "status"), "phase") in ("", "Pending")
    has_claims = bool(entries(mapping(value, "spec"), "resourceClaims"))
    return value.get("kind") == "Pod" and starts and has_claims and not has_ended(value)


def _declares_groups(slice: Object) -> bool:
    """Whether a device in a ResourceSlice, of any version, declares compatibility groups."""
    return any(
        mapping(entry).get("compatibilityGroups")
        for device in entries(mapping(slice, "spec"), "devices")
        for entry in entries(mapping(device, "basic") or device, "consumesCounters")
    )
