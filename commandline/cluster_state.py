"""What is there: nodes, classes, slices, taint rules, claims and templates, from an inventory or a cluster, as the
allocator wants them: objects of v1 in normal form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from allocator.demand import name_of
from allocator.explaining.snapshot import allocation_of, full_name
from allocator.features import Features
from commandline.context import Context
from commandline.reading import readable
from commandline.results import Failure, Result
from commandline.treatment import ASK, CONTEXT, treatment
from conversion.hub import hub_object
from resourceapi.decoding import DecodingError
from resourceapi.gates import known
from resourceapi.gating import without_disabled
from resourceapi.kinds import KINDS
from resourceapi.manifests import group_of, namespace_of
from resourceapi.model.versions import GROUP, SCHEMAS_WITH_PROPOSALS
from resourceapi.objects import Object
from resourceapi.releases import PROPOSALS, split_api_version
from validation.server import Server

if TYPE_CHECKING:
    from commandline.cluster import Unread
    from documents.manifest import Manifest
    from resourceapi.releases import Profile

CLAIM, TEMPLATE = "ResourceClaim", "ResourceClaimTemplate"


def features_of(profile: Profile) -> Features:
    """The allocator of a release; claims remember compatibility groups only where proposals are served."""
    return Features(profile.gates, group_snapshots=profile.name == PROPOSALS)


class ClusterState:
    """Objects by kind and name. Of two with the same name the later counts."""

    def __init__(self, profile: Profile, default_namespace: str) -> None:
        self.profile = profile
        self.features = features_of(profile)
        #: namespaces with their labels
        self.context = Context()
        self.nodes: dict[str, Object] = {}
        self.failures: list[Failure] = []
        #: lists of a cluster that could not be read, by the kind of their objects
        self.unread: dict[str, Unread] = {}
        self._default_namespace = default_namespace
        #: the gates whose fields are kept when objects are read
        self._kept = profile.gates
        #: asked about what is not there yet
        self.server = Server(profile, namespaces=self.context.namespaces)
        self._objects: dict[str, dict[str, Object]] = {kind: {} for kind in KINDS}

    def empty(self) -> ClusterState:
        """Another one that reads objects in the same way, and knows nothing but the same taint rules."""
        other = ClusterState(self.profile, self._default_namespace)
        other.of("DeviceTaintRule").update(self.of("DeviceTaintRule"))
        return other

    def learn_live(self, found: Iterable[Manifest | Result | Failure]) -> None:
        """Take in what a cluster has. Its server has dropped what it wanted to; a release drops what it does not know."""
        kept, self._kept = self._kept, self.profile.gates | known(self.profile.minor)
        self.learn(found)
        self._kept = kept

    def learn(self, found: Iterable[Manifest | Result | Failure], *, new: bool = False) -> list[Manifest]:
        """Take in what there is; returns what asks for devices or may do so: claims, templates, pods, workloads.

        `new`: claims and templates are not there yet, they only ask.
        """
        asking = []
        for manifest in readable(found, self.failures):
            how = treatment(manifest.value)
            if how == CONTEXT and manifest.value["kind"] == "Node":
                self._add_node(manifest.value)
            elif how == CONTEXT:
                self.context.learn(manifest.value)
            elif how == ASK:
                asks = manifest.value["kind"] in (CLAIM, TEMPLATE)
                if group_of(manifest.value) == GROUP and not (asks and new):
                    self.add(manifest)
                if asks or group_of(manifest.value) != GROUP:
                    asking.append(manifest)
        return asking

    def add(self, manifest: Manifest) -> None:
        """Take in an object of the group, in any version."""
        value = manifest.value
        try:
            obj = self.normal_form(value)
        except DecodingError as error:
            self.failures.append(Failure(manifest.file, f"line {manifest.line}: {error.text}"))
            return
        if KINDS[value["kind"]].namespaced:
            namespace = namespace_of(manifest.value, self._default_namespace)
            obj = {**obj, "metadata": {**(obj.get("metadata") or {}), "namespace": namespace}}
        self._objects[value["kind"]][full_name(obj)] = obj

    def normal_form(self, value: Object) -> Object:
        """An object in v1 with defaults, without the fields whose gates are off. Raises DecodingError."""
        kind, version = value["kind"], split_api_version(value["apiVersion"])[1]
        schemas = self.profile.schemas if version in self.profile.schemas else SCHEMAS_WITH_PROPOSALS
        obj = hub_object(value, schemas, defaults=self.server.now())
        return without_disabled(self.profile.schemas["v1"], kind, obj, None, self._kept)

    def of(self, kind: str) -> dict[str, Object]:
        """Objects of a kind by `namespace/name` or name."""
        return self._objects[kind]

    def remember(self, kind: str, obj: Object) -> None:
        """Put in an object of v1 in normal form."""
        self._objects[kind][full_name(obj)] = obj

    @property
    def classes(self) -> dict[str, Object]:
        return self._objects["DeviceClass"]

    @property
    def slices(self) -> list[Object]:
        """Slices with the taints of rules."""
        from allocator.taint_rules import with_rules

        rules = list(self._objects["DeviceTaintRule"].values()) if self.features.device_taints else []
        return [with_rules(slice, rules) for slice in self._objects["ResourceSlice"].values()]

    @property
    def allocated_claims(self) -> list[Object]:
        return [claim for claim in self._objects[CLAIM].values() if allocation_of(claim) is not None]

    def all_nodes(self) -> list[Object]:
        """The Nodes; where none are known, those that slices name."""
        if self.nodes:
            return list(self.nodes.values())
        slices = self._objects["ResourceSlice"].values()
        names = dict.fromkeys(name for slice in slices for name in _node_names(slice))
        return [{"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}} for name in names]

    def _add_node(self, value: Object) -> None:
        node = _clean_node(value)
        if name := name_of(node):
            self.nodes[name] = node


def _node_names(slice: Object) -> Iterator[str]:
    spec = slice.get("spec") or {}
    for owner in (spec, *(spec.get("devices") or ())):
        if name := (owner or {}).get("nodeName"):
            yield name


def _clean_node(value: Object) -> Object:
    """A Node as far as it matters; what is not of the right type counts as absent."""
    metadata, spec, status = (_mapping(value.get(name)) for name in ("metadata", "spec", "status"))
    labels = {key: each for key, each in _mapping(metadata.get("labels")).items() if isinstance(each, str)}
    taints = spec.get("taints")
    declared = status.get("declaredFeatures")
    name = metadata.get("name")
    return {
        "metadata": {"name": name if isinstance(name, str) else "", "labels": labels},
        "spec": {
            "unschedulable": spec.get("unschedulable") is True,
            "taints": [taint for taint in taints if isinstance(taint, dict)]
            if isinstance(taints, list)
            else [],
        },
        "status": {"declaredFeatures": declared if isinstance(declared, list) else []},
    }


def _mapping(value: Any) -> Object:
    return value if isinstance(value, dict) else {}
