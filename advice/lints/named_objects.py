"""Objects that others refer to by name, and what is known of names that a tool changes on the way to the cluster."""

from __future__ import annotations

import os.path
from collections.abc import Iterator
from typing import Any

from advice.lints.misspellings import Misspellings
from resourceapi.manifests import entries, labels_of, mapping, name_of, text


class Named:
    """What is known of a name: the requests of the claims (none: they cannot be told), and the files that have it."""

    __slots__ = ("files", "requests")

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.requests: frozenset[str] = frozenset()

    def add(self, file: str, requests: frozenset[str]) -> None:
        """Note one of the objects."""
        self.files.add(file)
        if requests != self.requests:
            self.requests |= requests


class NamedObjects:
    """The objects of one kind by name and namespace, which is empty for kinds without.

    Several files may have an object of the same name, such as the examples for several releases: all of them count.
    """

    __slots__ = ("_by_name", "_misspellings")

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, Named]] = {}
        self._misspellings: dict[str, Misspellings] = {}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def add(self, namespace: str, name: str, file: str, requests: frozenset[str] = frozenset()) -> None:
        """Note an object; one without a name is none that others can refer to."""
        if name:
            self._named(namespace, name).add(file, requests)

    def update(self, other: NamedObjects) -> None:
        """Note what others have noted."""
        for name, by_namespace in other._by_name.items():
            for namespace, named in by_namespace.items():
                mine = self._named(namespace, name)
                mine.files |= named.files
                mine.requests |= named.requests

    def _named(self, namespace: str, name: str) -> Named:
        by_namespace = self._by_name.setdefault(name, {})
        named = by_namespace.get(namespace)
        if named is None:
            named = by_namespace[namespace] = Named()
        return named

    def has(self, namespace: str, name: str) -> bool:
        """Whether there is such an object."""
        return namespace in self._by_name.get(name, ())

    def requests(self, namespace: str, name: str) -> frozenset[str]:
        """The names of its requests; none if they cannot be told."""
        return self._by_name[name][namespace].requests

    def namespaces(self, name: str) -> dict[str, Named]:
        """The objects of this name, by namespace."""
        return self._by_name.get(name, {})

    def names(self, namespace: str) -> Iterator[str]:
        """The names in a namespace."""
        return (name for name, by_namespace in self._by_name.items() if namespace in by_namespace)

    def meant_by(self, namespace: str, name: str) -> str:
        """The name that a misspelt one was meant to be; an empty string if none is near enough."""
        if namespace not in self._misspellings:
            self._misspellings[namespace] = Misspellings(self.names(namespace))
        return self._misspellings[namespace].meant_by(name)


class Renaming:
    """How kustomize and Helm change names on the way to the cluster, so that objects have other names there."""

    __slots__ = ("_affixes", "_beside", "_placed", "_stems")

    def __init__(self) -> None:
        self._affixes: set[tuple[str, str]] = set()  # of kustomize
        self._stems: set[str] = set()  # what follows the name of a Helm release, with the dash
        # what kustomize puts into a namespace, whatever it says: the files of these directories, but not those below them,
        self._beside: set[str] = set()
        self._placed: set[str] = set()  # and these files and all below these directories

    def learn_kustomization(self, manifest: dict[str, Any], file: str) -> None:
        """Note the prefix, suffix and namespace of a Kustomization, and which files it is about."""
        if text(manifest, "kind") not in ("", "Kustomization", "Component"):
            return
        affixes = text(manifest, "namePrefix"), text(manifest, "nameSuffix")
        if any(affixes):
            self._affixes.add(affixes)
        if text(manifest, "namespace"):
            directory = os.path.dirname(file)
            self._beside.add(os.path.normpath(directory))
            for field in ("resources", "bases", "components"):
                named = (each for each in entries(manifest, field) if isinstance(each, str))
                self._placed.update(os.path.normpath(os.path.join(directory, each)) for each in named)

    def sets_namespace(self, file: str) -> bool:
        """Whether kustomize puts the objects of a file into a namespace, whatever they say."""
        path = os.path.normpath(file)
        if os.path.normpath(os.path.dirname(path)) in self._beside:
            return True
        parts = path.split(os.sep)
        return any(os.sep.join(parts[:count]) in self._placed for count in range(1, len(parts) + 1))

    def learn_release(self, manifest: dict[str, Any]) -> None:
        """Note the name of an object that begins with the name of its Helm release."""
        release = (
            text(mapping(manifest, "metadata", "annotations"), "meta.helm.sh/release-name")
            or labels_of(manifest).get("app.kubernetes.io/instance", "")
            or "release-name"  # helm template without a name
        )
        name = name_of(manifest)
        if name.startswith(f"{release}-"):
            self._stems.add(name[len(release) :])

    def update(self, other: Renaming) -> None:
        """Note what others have noted."""
        self._affixes |= other._affixes
        self._stems |= other._stems
        self._beside |= other._beside
        self._placed |= other._placed

    def gives(self, name: str, objects: NamedObjects, namespace: str) -> bool:
        """Whether one of the objects has this name in the cluster, or in another release."""
        for prefix, suffix in self._affixes:
            inner = name.removeprefix(prefix).removesuffix(suffix)
            if name == f"{prefix}{inner}{suffix}" and objects.has(namespace, inner):
                return True
        return bool(self._stems) and any(
            letter == "-" and name[index:] in self._stems for index, letter in enumerate(name)
        )
