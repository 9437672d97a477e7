"""A change to the objects of a cluster, and the objects once it is made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from claimcheck.answers.cluster_state import CLAIM, TEMPLATE, ClusterState
from claimcheck.answers.handling import ASK, handling_of
from claimcheck.answers.impact.pod_templates import has_other_template
from documents.manifest import Manifest, Unwritten
from quota.resource_quotas import review
from resourceapi.errors import Unanswerable
from resourceapi.kinds import DEVICE_TAINT_RULE, KINDS, RESOURCE_SLICE, RESOURCE_SLICE_PATCH, kind_of
from resourceapi.manifests import full_name, group_of, mapping, name_of, namespace_of, pod_count, text
from resourceapi.model.quotas import KIND as QUOTA
from resourceapi.model.workloads import POD_COUNTS
from resourceapi.objects import Object
from resourceapi.records.pod_groups import is_pod_group
from resourceapi.records.pods import read_pod
from validation.requests import UPDATE, Request, create_request
from validation.workloads import IMMUTABLE

NODE, POD = "Node", "Pod"
DEPLOYMENT, STATEFUL_SET, DAEMON_SET = "Deployment", "StatefulSet", "DaemonSet"
#: The kinds of v1 that are looked at; Pods are updated by their controllers only.
_CORE = frozenset((NODE, POD, QUOTA, "Namespace"))
#: What says nothing of pods and devices: kinds of v1, and groups. Of all else it is told that it is not looked at.
_UNRELATED_KINDS = frozenset(("ConfigMap", "PersistentVolumeClaim", "Secret", "Service", "ServiceAccount"))
_UNRELATED_GROUPS = frozenset(("networking.k8s.io", "rbac.authorization.k8s.io"))
#: The kinds without a namespace.
CLUSTER_SCOPED = frozenset(
    (NODE, "Namespace", *(name for name, kind in KINDS.items() if not kind.namespaced))
)
#: When what says no time has been created, before all that comes now.
LAST = "9999-12-31T23:59:59Z"
#: What a server keeps of a stored object if an update leaves it out.
_KEPT = ("uid", "creationTimestamp", "ownerReferences", "finalizers")
#: What no new object has, whatever its file says: a pod that leaves would not wait.
_NOT_OF_NEW = frozenset((*_KEPT, "deletionTimestamp", "deletionGracePeriodSeconds"))


class ObjectId(NamedTuple):
    """An object of a cluster; the namespace is empty for kinds without one."""

    kind: str
    namespace: str
    name: str

    @classmethod
    def of(cls, value: Object, default_namespace: str) -> ObjectId:
        """That of a manifest."""
        kind = text(value, "kind")
        namespace = "" if kind in CLUSTER_SCOPED else namespace_of(value, default_namespace)
        return cls(kind, namespace, name_of(value))

    def __str__(self) -> str:
        return f"{self.kind} {full_name(self.namespace, self.name)}"


class Change(NamedTuple):
    """What is done to a cluster.

    :param applied: objects that are created, or replace those of the same kind and name. Workloads that leave out how many pods they have
        keep their number.
    :param deleted: objects that are deleted. With a Node go its ResourceSlices and pods, with a Pod its claims from templates.
    :param cordoned: nodes to which no further pods come.
    :param drained: nodes that are cordoned, and of which all pods are evicted but those of DaemonSets.
    """

    applied: Sequence[Manifest] = ()
    deleted: Sequence[ObjectId] = ()
    cordoned: Collection[str] = ()
    drained: Collection[str] = ()


class ChangedObjects:
    """The objects of a cluster after a change.

    :param state: the cluster as it is, which answers requests for changes as its API server does.
    :param stored: its objects.
    :raises Unanswerable: if the server would refuse a change, or what is deleted or drained does not exist.
    """

    def __init__(self, state: ClusterState, stored: Iterable[Manifest], change: Change) -> None:
        self._state = state
        self._objects = {self._id(each.value): each for each in stored if _is_looked_at(each.value)}
        #: objects of which it is not known what they do, workloads and pods that are there already, and pods that come onto a node
        #: by themselves
        self.ignored: list[str] = []
        #: what makes pods and has none yet
        self.workloads: dict[ObjectId, Manifest] = {}
        #: what makes all its pods anew
        self.rolled_out: dict[ObjectId, Manifest] = {}
        #: what would make pods otherwise, but leaves those alone that it has
        self.left_alone: list[str] = []
        self._stored_workloads = {
            self._id(each.value): each.value for each in stored if makes_pods(each.value)
        }
        #: objects that the change has more than once, of which the last one counts
        self.repeated: dict[str, None] = {}
        self._applied: set[ObjectId] = set()
        #: the names of nodes whose pods leave, those of DaemonSets included if True
        self.emptied: dict[str, bool] = dict.fromkeys(change.drained, False)
        #: pods that are deleted, by `namespace/name`
        self.deleted_pods: set[str] = set()
        #: claims that are deleted once no pod uses them any more, and templates
        self.deleted_sources: set[ObjectId] = set()
        #: the names of the ResourceSlicePatches that are new or replaced
        self.applied_patches: set[str] = set()
        #: the Nodes that are new or replaced as they were before, empty for new ones
        self.applied_nodes: dict[str, Object] = {}
        #: the DeviceTaintRules whose taint is added with the change
        self.added_taints: list[str] = []
        for id, each in list(self._objects.items()):
            if id.kind == RESOURCE_SLICE_PATCH.name and "creationTimestamp" not in mapping(
                each.value, "metadata"
            ):
                # of patches with the same priority the older one counts, and whoever is in the cluster is older than what comes now
                metadata = {**mapping(each.value, "metadata"), "creationTimestamp": LAST}
                self.replace(id, {**each.value, "metadata": metadata})
        for manifest in change.applied:
            self._apply(manifest)
        for name in {*change.cordoned, *change.drained}:
            self._cordon(name)
        for id in change.deleted:
            self._delete(id)

    def _id(self, value: Object) -> ObjectId:
        return ObjectId.of(value, self._state.default_namespace)

    def manifests(self) -> list[Manifest]:
        """The objects in the order of the cluster, new ones last."""
        return list(self._objects.values())

    def get(self, id: ObjectId) -> Object | None:
        """An object; None if there is none."""
        found = self._objects.get(id)
        return None if found is None else found.value

    def of(self, kind: str) -> list[tuple[ObjectId, Object]]:
        """The objects of a kind."""
        return [(id, each.value) for id, each in self._objects.items() if id.kind == kind]

    def replace(self, id: ObjectId, value: Object) -> None:
        """Put another value in the place of an object."""
        self._objects[id] = Unwritten(self._objects[id].file, value)

    def add(self, id: ObjectId, value: Object) -> None:
        """Add an object that the cluster makes."""
        self._objects[id] = Unwritten("cluster", value)

    def remove(self, id: ObjectId) -> None:
        """Take an object away."""
        del self._objects[id]

    def _apply(self, manifest: Manifest) -> None:
        place = f"{manifest.file}:{manifest.line}" if manifest.line else manifest.file
        if _is_unrelated(manifest.value):
            return
        id = self._id(manifest.value)
        old = self.get(id)
        if makes_pods(manifest.value) and id not in self._with_pods and id.kind != DAEMON_SET:
            self.workloads[id] = manifest
            return
        if makes_pods(manifest.value) and (stored := self._stored_workloads.get(id)) is not None:
            self._change_workload(id, manifest, stored, place)
            return
        is_bound = id.kind == POD and bool(mapping(manifest.value, "spec").get("nodeName"))
        if not _is_looked_at(manifest.value) or (id.kind == POD and old is not None) or is_bound:
            self.ignored.append(str(id))
            return
        if id in self._applied:
            self.repeated[str(id)] = None
        self._applied.add(id)
        if not id.name:
            raise Unanswerable(f"{place}: the {id.kind} has no name")
        value = _created(manifest.value) if old is None else _updated(old, manifest.value)
        if id.namespace:
            value["metadata"]["namespace"] = id.namespace
        if id.kind == QUOTA:
            answer = review(self._state.server, value, id.namespace)
            if not answer.accepted:
                raise Unanswerable(f"{place}: {answer.message}")
        if id.kind in KINDS:
            request = create_request(value, id.namespace)
            if old is not None:
                request = Request(request.api_version, id.kind, request.namespace, UPDATE, value, old=old)
            answer = self._state.server.handle(request)
            if not answer.accepted:
                raise Unanswerable(
                    f"{place}: {answer.message}", f"claimcheck validate {manifest.file} tells how to fix it"
                )
        if id.kind == DEVICE_TAINT_RULE.name and "timeAdded" not in mapping(value, "spec", "taint"):
            self.added_taints.append(id.name)
        if id.kind == RESOURCE_SLICE_PATCH.name:
            self.applied_patches.add(id.name)
        if id.kind == NODE:
            self.applied_nodes.setdefault(id.name, old or {})
        self._objects[id] = Unwritten(manifest.file, value)

    def _change_workload(self, id: ObjectId, manifest: Manifest, stored: Object, place: str) -> None:
        """Replace what makes pods and has some."""
        server = self._state.server
        before = server.handle(create_request(stored, id.namespace)).object or stored
        request = create_request(_updated(stored, manifest.value), id.namespace)._replace(
            verb=UPDATE, old=stored
        )
        answer = server.handle(request)
        if not answer.accepted or answer.object is None:
            raise Unanswerable(
                f"{place}: {answer.message}", f"claimcheck validate {manifest.file} tells how to fix it"
            )
        after = answer.object
        counted = "replicas" if "replicas" not in mapping(manifest.value, "spec") else ""
        if counted and counted in mapping(stored, "spec"):  # whoever scales it says how many
            after = {**after, "spec": {**mapping(after, "spec"), counted: stored["spec"][counted]}}
        has_other = has_other_template(before, after)
        if pod_count(before) != pod_count(after) and not (has_other and id.kind == DEPLOYMENT):
            self.ignored.append(str(id))
        elif has_other:
            self._roll_out(id, Unwritten(manifest.file, after), place)

    def _roll_out(self, id: ObjectId, workload: Manifest, place: str) -> None:
        """Let a workload with another template make its pods anew, or not.

        :raises Unanswerable: if the server refuses it.
        """
        if id.kind == "Job" and not mapping(workload.value, "spec").get("suspend"):
            raise Unanswerable(f"{place}: {id}: spec.template: {IMMUTABLE}")
        if never_rolls_out(workload.value):
            self.left_alone.append(str(id))
        else:
            self.rolled_out[id] = workload

    @cached_property
    def _with_pods(self) -> set[ObjectId]:
        """The workloads that have pods, on nodes or not; new pods of a change have no owners."""
        return workloads_with_pods(self.of(POD))

    def _cordon(self, name: str) -> None:
        id = ObjectId(NODE, "", name)
        node = self._existing(id)
        self.replace(id, {**node, "spec": {**mapping(node, "spec"), "unschedulable": True}})

    def _delete(self, id: ObjectId) -> None:
        value = self._existing(id)
        if id.kind == POD:
            self.deleted_pods.add(full_name(id.namespace, id.name))
            return
        if id.kind == NODE:
            self.emptied[id.name] = True
            for other, manifest in list(self._objects.items()):
                if (
                    other.kind == RESOURCE_SLICE.name
                    and text(mapping(manifest.value, "spec"), "nodeName") == id.name
                ):
                    self.remove(other)
        if id.kind in (CLAIM, TEMPLATE):
            self.deleted_sources.add(id)
        if mapping(value, "status").get("reservedFor"):
            # its finalizer keeps a claim until no pod uses it any more; no further pod gets it
            deleted = {**mapping(value, "metadata"), "deletionTimestamp": self._state.server.now()}
            self.replace(id, {**value, "metadata": deleted})
            return
        self.remove(id)

    def _existing(self, id: ObjectId) -> Object:
        found = self.get(id)
        if found is None:
            raise Unanswerable(f"{id} is not in the cluster")
        return found


def _is_looked_at(value: Object) -> bool:
    """Whether an object is Kubernetes' own, and matters to devices or pods."""
    version, kind = text(value, "apiVersion"), text(value, "kind")
    core = version == "v1" and kind in _CORE
    return core or kind_of(version, kind) is not None or is_pod_group(value)


def _is_unrelated(value: Object) -> bool:
    """Whether an object says nothing of pods and devices."""
    version, kind = text(value, "apiVersion"), text(value, "kind")
    return (version == "v1" and kind in _UNRELATED_KINDS) or group_of(value) in _UNRELATED_GROUPS


def workloads_with_pods(pods: Iterable[tuple[ObjectId, Object]]) -> set[ObjectId]:
    """What has made some of the pods."""
    return {
        ObjectId(kind, id.namespace, name) for id, value in pods for kind, name in read_pod(value).workloads
    }


def makes_pods(value: Object) -> bool:
    """Whether an object says how many pods there are to be."""
    return handling_of(value) == ASK and text(value, "kind") in (*POD_COUNTS, DAEMON_SET)


def _created(obj: Object) -> Object:
    """A new object as it is stored, later than all others."""
    metadata = {name: value for name, value in mapping(obj, "metadata").items() if name not in _NOT_OF_NEW}
    # what kubelet says of a new Node is kept, of others only updates of the status are
    spec = obj if obj.get("kind") == NODE else without_status(obj)
    return {**spec, "metadata": metadata}


def _updated(old: Object, new: Object) -> Object:
    """An object as an update stores it: with what only servers and controllers write."""
    kept = {name: value for name, value in mapping(old, "metadata").items() if name in _KEPT}
    status = {"status": old["status"]} if "status" in old else {}
    return {**without_status(new), **status, "metadata": {**mapping(new, "metadata"), **kept}}


def never_rolls_out(workload: Object) -> bool:
    """Whether the pods of a workload stay as they are until somebody deletes them."""
    spec, kind = mapping(workload, "spec"), text(workload, "kind")
    if kind == DEPLOYMENT:
        return spec.get("paused") is True
    waits = text(mapping(spec, "updateStrategy"), "type") == "OnDelete"
    return waits or kind not in (STATEFUL_SET, DAEMON_SET)


def without_status(obj: Object) -> Object:
    """An object without what controllers say of it."""
    return {name: value for name, value in obj.items() if name != "status"}
