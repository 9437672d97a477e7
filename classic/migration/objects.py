"""The objects of all files, as far as others refer to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.kinds import CLAIM_PARAMETERS, CLASS_PARAMETERS, RESOURCE_CLASS, RESOURCE_SLICE
from resourceapi.manifests import group_of, mapping, name_of, namespace_of, text

if TYPE_CHECKING:
    from documents import Document


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
