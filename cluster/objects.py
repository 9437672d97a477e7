"""The objects of a cluster that scheduling depends on, from files or from a live cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from allocator.features import Features
from allocator.node_fit import needs_on_node
from allocator.node_resources import NodeResources, PodNeeds
from allocator.patches import merged_slices
from cluster.store import Collection
from conversion.hub import hub_object
from resourceapi import kinds
from resourceapi.decoding import DecodingError
from resourceapi.gates import known
from resourceapi.gating import without_disabled
from resourceapi.kinds import KINDS, claim_spec_of
from resourceapi.manifests import has_ended, key_of, labels_of, mapping
from resourceapi.model.versions import GROUP, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import EMPTY, Object
from resourceapi.quantity import QuantityError
from resourceapi.records.claims import Claim, PackedDevices, allocation_of
from resourceapi.records.classes import DeviceClass, read_device_class
from resourceapi.records.nodes import HOSTNAME, Node, read_node
from resourceapi.records.pod_groups import CLAIMS_GATE, PodGroup, read_pod_group
from resourceapi.records.pod_groups import KIND as POD_GROUP
from resourceapi.records.pods import Pod, read_pod
from resourceapi.records.taints import DeviceTaintRule, read_taint_rule
from resourceapi.releases import PROPOSALS, Profile, split_api_version
from validation.server import Server

CLAIM, TEMPLATE = kinds.CLAIM.name, kinds.CLAIM_TEMPLATE.name
#: What is held of the objects of kinds that have a record, made from normal form.
_RECORDS: Mapping[str, Callable[[Object], Any]] = {
    kinds.DEVICE_CLASS.name: read_device_class,
    kinds.DEVICE_TAINT_RULE.name: read_taint_rule,
}
#: The most workloads one above the other that are looked at.
MAX_CONTROLLERS = 8


class ClusterObjects:
    """Collections of the kinds of ``resource.k8s.io``, Nodes, pods on nodes, PodGroups, and labels of namespaces.

    Of two objects with the same key the later counts.
    """

    def __init__(self, profile: Profile) -> None:
        """Make empty collections.

        :param profile: the release and gates by which objects are read.
        """
        self.profile = profile
        # claims remember compatibility groups only where proposals are served
        self.features = Features(profile.gates, profile.minor, group_snapshots=profile.name == PROPOSALS)
        self.namespaces = Collection(labels_of)
        self.nodes = Collection(read_node)
        #: the pods that are on nodes
        self.pods = Collection(self.pod_on_node)
        self.pod_groups = Collection(self.read_pod_group)
        #: what controls workloads (kind, name), by their kind, namespace and name
        self.controllers: dict[tuple[str, str, str], tuple[str, str]] = {}
        #: answers requests for new objects, in these namespaces
        self.server = Server(profile, namespaces=self.namespaces.objects)
        #: the claims that only files have, by ``namespace/name``: they are still to be created
        self.new_claims: set[str] = set()
        self._of_kind: dict[str, Collection[Any]] = {
            kind: Collection(partial(self._held, kind)) for kind in KINDS
        }

    def collection(self, kind: str) -> Collection[Any]:
        """The collection of a kind of the group, Node, Pod, PodGroup or Namespace; objects that a server has stored can be put into it."""
        others: dict[str, Collection[Any]] = {
            "Node": self.nodes,
            "Namespace": self.namespaces,
            "Pod": self.pods,
            POD_GROUP: self.pod_groups,
        }
        return others.get(kind) or self._of_kind[kind]

    def of(self, kind: str) -> dict[str, Object]:
        """The objects of a kind that has no record, v1 in normal form, by key: ``namespace/name`` or the name."""
        return self._of_kind[kind].objects

    def put(self, kind: str, obj: Object) -> None:
        """Add an object of v1 in normal form, or replace the one with its key."""
        record = _RECORDS.get(kind)
        self._of_kind[kind].set(key_of(obj), obj if record is None else record(obj))

    def pack(self, kind: str, key: str, devices: PackedDevices) -> None:
        """Have what a claim or template asks for, of which an object without that has been put, as text that is read when it is asked for."""
        self.put(kind, _with_devices(self.of(kind)[key], claim_spec_of(kind) or (), devices))

    def normal_form(self, value: Object, *, stored: bool = False) -> Object:
        """An object of any version in v1 with defaults, without the fields whose gates are off.

        :param value: with kind and apiVersion.
        :param stored: whether a server has stored it and dropped what it wanted to; then all that the release knows stays.
        :raises DecodingError: if it cannot be decoded.
        """
        kind, version = value["kind"], split_api_version(value["apiVersion"])[1]
        profile = self.profile
        schemas = profile.schemas if version in profile.schemas else SCHEMAS_WITH_PROPOSALS
        obj = hub_object(value, schemas, defaults=self.server.now())
        kept = profile.gates | known(profile.minor) if stored else profile.gates
        return without_disabled(profile.schemas["v1"], kind, obj, None, kept)

    def read_stored(self, kind: str, value: Object) -> Object | None:
        """An object of a list, which may leave out kind and version; None for one that no API server can have stored."""
        try:
            return self.normal_form({"apiVersion": f"{GROUP}/v1", "kind": kind, **value}, stored=True)
        except DecodingError:
            return None

    def _held(self, kind: str, value: Object) -> Any:
        """What is held of an object of a list."""
        obj, record = self.read_stored(kind, value), _RECORDS.get(kind)
        return obj if obj is None or record is None else record(obj)

    def pod_on_node(self, value: Object) -> Pod | None:
        """A pod with what it takes of its node; None for one that is on no node or has ended."""
        pod = read_pod(value)
        if not pod.node or has_ended(value):
            return None
        with suppress(QuantityError, AttributeError, TypeError):  # of a file that no server has stored
            needs = needs_on_node(value, self.profile, with_devices=self.features.node_allocatable_resources)
            return pod._replace(requests=needs.requests, assumed=needs.assumed)
        return pod

    def read_pod_group(self, value: Object) -> PodGroup:
        """A PodGroup, without claims where servers drop them."""
        group = read_pod_group(value)
        return group if CLAIMS_GATE in self.profile.gates else group._replace(claims=())

    # --- views

    def owners(self) -> Callable[[str], tuple[str, str, int] | None]:
        """Tells what replaces a pod on a node (``namespace/name``): kind and name, and how many of its pods are on nodes."""
        pods = self.pods.objects
        placed = Counter((pod.namespace, self._owner(pod)) for pod in pods.values() if not pod.is_leaving)

        def owner_of(name: str) -> tuple[str, str, int] | None:
            pod = pods.get(name)
            owner = self._owner(pod) if pod is not None else None
            return (*owner, placed[pod.namespace, owner]) if pod is not None and owner is not None else None

        return owner_of

    def replica_sets_that_hold_devices(self) -> list[tuple[str, str]]:
        """The ReplicaSets (namespace, name) whose pods on nodes have claims, and do not say what controls the ReplicaSet."""
        owners = {(pod.namespace, pod.owner) for pod in self.pods.objects.values() if pod.claims}
        return sorted(
            (namespace, owner[1]) for namespace, owner in owners if owner and owner[0] == "ReplicaSet"
        )

    def _owner(self, pod: Pod) -> tuple[str, str] | None:
        """What has to change for a pod to stay away: its owner, or what controls that, as it scales it back."""
        owner = pod.owner
        for _ in range(MAX_CONTROLLERS):
            controller = self.controllers.get((owner[0], pod.namespace, owner[1])) if owner else None
            if (
                controller is None or controller[0] == "CronJob"
            ):  # ends none of its Jobs, and makes none instead
                break
            owner = controller
        return owner

    def pods_of(self, kind: str, namespace: str, name: str) -> list[str]:
        """The pods of a workload that are on nodes, by `namespace/name`."""
        return [
            key
            for key, pod in self.pods.objects.items()
            if (kind, name) in pod.workloads and pod.namespace == namespace
        ]

    @property
    def classes(self) -> dict[str, DeviceClass]:
        """DeviceClasses by name."""
        return self._of_kind[kinds.DEVICE_CLASS.name].objects

    @property
    def taint_rules(self) -> dict[str, DeviceTaintRule]:
        """DeviceTaintRules by name."""
        return self._of_kind[kinds.DEVICE_TAINT_RULE.name].objects

    @property
    def slices(self) -> list[Object]:
        """ResourceSlices as ResourceSlicePatches change them, with the taints of DeviceTaintRules."""
        return merged_slices(
            list(self.of(kinds.RESOURCE_SLICE.name).values()),
            list(self.of(kinds.RESOURCE_SLICE_PATCH.name).values()),
            list(self.taint_rules.values()),
            self.classes,
            self.features,
        )

    @property
    def allocated_claims(self) -> list[Claim]:
        """The claims that have devices."""
        return [Claim(claim) for claim in self.of(CLAIM).values() if allocation_of(claim) is not None]

    def node_resources(self, without: Container[str] = ()) -> NodeResources:
        """What the nodes have, and what the pods on them have requested.

        :param without: pods that do not count, by ``namespace/name``.
        """
        resources = NodeResources(self.all_nodes())
        for name, pod in self.pods.objects.items():
            if name not in without:
                resources.take(pod.node, PodNeeds(pod.requests, assumed=pod.assumed))
        return resources

    def all_nodes(self) -> list[Node]:
        """The Nodes; if there are none, those that slices name."""
        if self.nodes.objects:
            return list(self.nodes.objects.values())
        names = dict.fromkeys(
            name for slice in self.of(kinds.RESOURCE_SLICE.name).values() for name in _node_names(slice)
        )
        return [Node(name, {HOSTNAME: name}) for name in names]


def _with_devices(value: Object, path: Sequence[str], devices: PackedDevices) -> Object:
    if not path:
        return {**value, "devices": devices}
    return {**value, path[0]: _with_devices(mapping(value, path[0]), path[1:], devices)}


def _node_names(slice: Object) -> Iterator[str]:
    spec = slice.get("spec") or EMPTY
    for owner in (spec, *(spec.get("devices") or ())):
        if name := (owner or EMPTY).get("nodeName"):
            yield name
