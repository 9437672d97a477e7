"""The objects of all files, as far as others refer to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.claims import PROTECTION
from classic.migration.mapping import Parameters, ParametersRule, read_parameters
from classic.migration.remarks import CannotMigrate, Remarks, members
from resourceapi.kinds import CLAIM, CLAIM_TEMPLATE, DEVICE_CLASS
from resourceapi.kinds import RESOURCE_SLICE as SLICE
from resourceapi.manifests import group_of, mapping, name_of, namespace_of, text
from resourceapi.model.versions import CLASSIC_VERSIONS, GROUP, MISTAKEN_GROUP
from resourceapi.model.workloads import KINDS as WORKLOADS
from resourceapi.releases import split_api_version

if TYPE_CHECKING:
    from documents import Document


# The kinds of classic DRA, and how an object of one is recognised.

RESOURCE_CLASS = "ResourceClass"
CLAIM_PARAMETERS = "ResourceClaimParameters"
CLASS_PARAMETERS = "ResourceClassParameters"
SCHEDULING_CONTEXTS = ("PodSchedulingContext", "PodScheduling")
RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE = CLAIM.name, CLAIM_TEMPLATE.name
RESOURCE_SLICE = SLICE.name
#: Kinds that only the classic API has.
CLASSIC_ONLY = (RESOURCE_CLASS, CLAIM_PARAMETERS, CLASS_PARAMETERS, *SCHEDULING_CONTEXTS)
V1ALPHA3 = "v1alpha3"
#: What v1alpha3 has as of 1.31; the kinds that it got later stay there.
_OF_1_31 = (RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE, DEVICE_CLASS.name, RESOURCE_SLICE)


def is_classic(value: dict[str, Any]) -> bool:
    """Whether an object has the shape of v1alpha1 or v1alpha2, whatever version it names."""
    kind = text(value, "kind")
    group, version = _type(value)
    if group not in (GROUP, MISTAKEN_GROUP):
        return False
    if kind in CLASSIC_ONLY or (
        kind in (*_OF_1_31, "ResourcePool", "DevicePool") and version in CLASSIC_VERSIONS
    ):
        return True
    return kind in (RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE) and "resourceClassName" in claim_spec(value)


def is_of_1_31(value: dict[str, Any]) -> bool:
    """Whether an object is one of v1alpha3 as 1.31 had it."""
    return _type(value) == (GROUP, V1ALPHA3) and text(value, "kind") in _OF_1_31


def is_misplaced_workload(value: dict[str, Any]) -> bool:
    """Whether it is a pod, or a kind with a pod template, in a group of DRA."""
    return _type(value)[0] in (GROUP, MISTAKEN_GROUP) and text(value, "kind") in _WORKLOAD_VERSIONS


def workload_version(kind: str) -> str:
    """The apiVersion of a pod, or a kind with a pod template."""
    return _WORKLOAD_VERSIONS[kind]


def claim_spec(value: dict[str, Any]) -> dict[str, Any]:
    """The spec of a claim, also that in a template."""
    if text(value, "kind") == RESOURCE_CLAIM_TEMPLATE:
        return mapping(value, "spec", "spec")
    return mapping(value, "spec")


def _type(value: dict[str, Any]) -> tuple[str, str]:
    return split_api_version(text(value, "apiVersion"))


_WORKLOAD_VERSIONS = {
    kind: f"{group}/v1" if group else "v1" for group, kinds in WORKLOADS.items() for kind in kinds
}


class Reference(NamedTuple):
    """A reference to an object with parameters; ``namespace`` is empty for one of a cluster."""

    group: str
    kind: str
    name: str
    namespace: str


def group_without_version(group: str) -> str:
    """The group of a reference, also of one that names the version with it."""
    return group.partition("/")[0]


class Objects:
    """The objects of all files.

    :param namespace: the namespace of objects that do not name one.
    """

    def __init__(self, documents: Iterable[Document], namespace: str) -> None:
        self.namespace = namespace
        self._named: dict[tuple[str, str, str], list[Document]] = {}
        self._generated: dict[tuple[str, str, str, str], Document] = {}
        self._classes: dict[str, Document] = {}
        self._slices: dict[tuple[str, str], list[Document]] = {}
        #: parameters that objects have taken over, and those that other objects still refer to, by identity
        self.taken_over: dict[int, Document] = {}
        self.still_needed: set[int] = set()
        self._parameters: dict[int, Parameters | CannotMigrate] = {}
        for document in documents:
            self._learn(document)

    def _learn(self, document: Document) -> None:
        value = document.value
        kind = text(value, "kind")
        self._named.setdefault((group_of(value), kind, name_of(value)), []).append(document)
        if kind == RESOURCE_CLASS:
            self._classes.setdefault(name_of(value), document)
        elif kind in (CLAIM_PARAMETERS, CLASS_PARAMETERS):
            source = mapping(value, "generatedFrom")
            group = group_without_version(text(source, "apiGroup"))
            key = (kind, group, text(source, "kind"), text(source, "name"))
            self._generated.setdefault(key, document)
        elif kind == RESOURCE_SLICE:
            key_of_pool = (text(value, "driverName"), text(value, "nodeName"))
            self._slices.setdefault(key_of_pool, []).append(document)

    def find(self, reference: Reference) -> Document | None:
        """The object that a reference names."""
        found = self._named.get((reference.group, reference.kind, reference.name), [])
        if not reference.namespace:
            return found[0] if found else None
        for document in found:
            if namespace_of(document.value, self.namespace) == reference.namespace:
                return document
        # One that names no namespace may be meant for any, as with kustomize and Helm.
        return next((each for each in found if not mapping(each.value, "metadata").get("namespace")), None)

    def parameters(self, document: Document, rule: ParametersRule) -> Parameters:
        """What parameters ask for, which are read once, however many claims refer to them.

        :param rule: that for their kind.
        :raises CannotMigrate: if they are not what it expects.
        """
        found = self._parameters.get(id(document))
        if found is None:
            try:
                found = read_parameters(document.value, rule)
            except CannotMigrate as error:
                found = error
            self._parameters[id(document)] = found
        if isinstance(found, CannotMigrate):
            raise found.with_traceback(None)
        return found

    def generated_from(self, kind: str, reference: Reference) -> Document | None:
        """The structured parameters that a driver has made from an object with parameters."""
        return self._generated.get((kind, reference.group, reference.kind, reference.name))

    def resource_class(self, name: str) -> dict[str, Any] | None:
        """A ResourceClass."""
        document = self._classes.get(name)
        return None if document is None else document.value

    def class_parameters(self, reference: dict[str, Any]) -> list[dict[str, Any]]:
        """The ResourceClassParameters that a class refers to, or that were made from what it refers to."""
        group = group_without_version(text(reference, "apiGroup"))
        named = Reference(
            group, text(reference, "kind"), text(reference, "name"), text(reference, "namespace")
        )
        is_itself = named.kind == CLASS_PARAMETERS
        document = self.find(named) if is_itself else self.generated_from(CLASS_PARAMETERS, named)
        return [] if document is None else [document.value]

    def slices_of(self, driver: str, node: str) -> list[Document]:
        """The ResourceSlices of a driver on a node, of which its pool now consists."""
        return self._slices.get((driver, node), [])

    def take_over(self, document: Document) -> bool:
        """Note that an object holds now what these parameters say; returns whether it is the first."""
        is_first = id(document) not in self.taken_over
        self.taken_over[id(document)] = document
        return is_first

    def dropped_parameters(self) -> list[Document]:
        """The parameters that no object needs any more."""
        return [each for key, each in self.taken_over.items() if key not in self.still_needed]


# The metadata of an object for another cluster: without what the server and the classic driver have
# written into it.

_OF_SERVER = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
#: How the finalizers end with which classic drivers, and kube-controller-manager, kept allocated claims.
_PROTECTION = (f"/{PROTECTION}", "/delete-protection")


def migrated_metadata(value: dict[str, Any], remarks: Remarks) -> dict[str, Any]:
    """The object with its metadata as somebody would have written it.

    :raises CannotMigrate: if it is no mapping.
    """
    metadata = members(value.get("metadata"), ("metadata",))
    written = [name for name in _OF_SERVER if metadata.get(name) is not None]
    if written:
        remarks.note(("metadata",), f"{', '.join(written)}: written by the server, so left out")
    kept = {name: each for name, each in metadata.items() if name not in _OF_SERVER}
    finalizers = kept.get("finalizers")
    if isinstance(finalizers, list):
        others = [each for each in finalizers if not str(each).endswith(_PROTECTION)]
        if len(others) < len(finalizers):
            remarks.note(("metadata", "finalizers"), "the finalizers of the allocation are left out with it")
        kept["finalizers"] = others
        if not others:
            del kept["finalizers"]
    owners = kept.pop("ownerReferences", None)
    if owners:
        remarks.warn(("metadata", "ownerReferences"), _about_owners(owners))
    return {**value, "metadata": kept} if kept != metadata else value


def _about_owners(owners: Any) -> str:
    owner = owners[0] if isinstance(owners, list) else None
    if isinstance(owner, dict) and owner.get("kind") == "Pod":
        return (
            f"left out: the claim was made from a template for the pod {owner.get('name')}; if the pod and its template "
            "are migrated, the cluster makes it anew, and this object is not needed"
        )
    return "left out: the owner has another uid in another cluster"
