"""Objects that others refer to by name, and what is known of names that a tool changes on the way to the cluster."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterable, Iterator
from typing import Any

from resourceapi.manifests import entries, labels_of, mapping, name_of, text

# Of a shorter word, one letter in place of another makes another word: gpu, tpu, cpu.
_LONG_WORD = 4
_MOST_CHARACTERS = 253


class Misspellings:
    """Looks for the name that a misspelt one was meant to be; takes no longer for many names than for few.

    They are one wrong letter apart, and in a way that people do not tell things apart by: `gpu-a` and `gpu-b`, `gpu-1` and
    `gpu-2`, `sym` and `asym` are different things, `exmaple.com` is not.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names_by_remainder: dict[str, list[str]] = {}
        for name in names:
            for remainder in _remainders(name):
                self._names_by_remainder.setdefault(remainder, []).append(name)

    def meant_by(self, word: str) -> str:
        """The name that was meant; an empty string if none is near enough."""
        near = {
            name for remainder in _remainders(word) for name in self._names_by_remainder.get(remainder, ())
        }
        return next((name for name in sorted(near) if _is_misspelling(word, name)), "")


def _remainders(word: str) -> Iterator[str]:
    """The word, and what is left of it without one of its letters: words that are one edit apart share one of these."""
    if len(word) > _MOST_CHARACTERS:
        return
    yield word
    for index in range(len(word)):
        yield word[:index] + word[index + 1 :]


def _is_misspelling(word: str, name: str) -> bool:
    """Whether the two, which are one edit apart, differ where a difference has no meaning."""
    start = _common(word, name)
    end = _common(word[start:][::-1], name[start:][::-1])
    mine, other = word[start : len(word) - end], name[start : len(name) - end]
    if not (mine + other).strip("-_"):
        return mine != other
    around = word[start - 1 : start] + mine + other + name[len(name) - end :][:1]
    if re.search("[0-9]", around) or not (mine + other).isalpha():
        return False
    part = _part_around(name, start, len(name) - end)
    if len(mine) == len(other):  # another letter, or two letters the other way round
        return len(part) >= _LONG_WORD or (len(mine) == 2 and mine == other[::-1])
    return len(mine) + len(other) == 1 and not _begins_part(word if mine else name, start)


def _common(first: str, second: str) -> int:
    """How many characters the two have in common at their beginnings."""
    for index, (one, other) in enumerate(zip(first, second, strict=False)):
        if one != other:
            return index
    return min(len(first), len(second))


def _begins_part(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] in "-_."


def _part_around(text: str, start: int, end: int) -> str:
    """The part between dashes and dots that a stretch of a name is in."""
    first = max(text.rfind(mark, 0, start) for mark in "-_.") + 1
    after = [at for mark in "-_." if (at := text.find(mark, end)) >= 0]
    return text[first : min(after, default=len(text))]


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
