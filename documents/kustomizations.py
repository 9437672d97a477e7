"""Kustomizations: which files one names, and what it brings in that only kustomize can make whole."""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from documents.document import Document
from documents.errors import DocumentError
from documents.parsing import NOT_AN_OBJECT, first_document, parse
from documents.source import read_file

_RESOURCES = ("resources", "bases", "components", "crds")
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_MADE_ELSEWHERE = (
    "generators",
    "transformers",
    "configurations",
    "helmCharts",
    "helmChartInflationGenerator",
)
"""Fields with which other files or programs make objects, or change any of them."""

ANY = ""
"""Stands for objects of any kind."""

TARGET = "target"
"""Stands for the kind that the kustomization names for a patch. No kind is written in small letters."""

# One of these is in every address that kustomize clones, even if there is a directory of that name.
_REMOTE = re.compile(r"://|//|@|gh:|github\.com|\.git|_git|\?")
_NAME = re.compile("[A-Za-z0-9]+")


class Brought(NamedTuple):
    """What a kustomization brings in.

    :ivar what: a few words for users, without anything that stands in the file.
    :ivar kind: the kind of objects that this makes or changes, or ANY.
    :ivar file: the file or directory in which it is; empty for what is no file here.
    """

    what: str
    kind: str = ANY
    file: str = ""


class Kustomization:
    """What the kustomization of a directory names. Field names count in any case, as for kustomize.

    :ivar patches: the files that it names as patches, as normalized paths.
    :ivar inputs: files and directories here that it takes objects from, as normalized paths.
    :ivar brought: what it makes objects of, or changes them with, that is no file of objects.
    """

    def __init__(self, directory: str, name: str) -> None:
        self._directory = directory
        self.patches: dict[str, list[str]] = {}
        self.inputs: list[str] = []
        self.brought: list[Brought] = []
        file = os.path.join(directory, name)
        try:
            found = next(iter(parse(read_file(file), file)), None)
            if isinstance(found, Document):
                fields = _folded(found.value)
                self._read_inputs(fields)
                self._read_patches(fields)
                self._read_others(fields)
        except DocumentError as error:
            found = error
        if isinstance(found, DocumentError) or (found is not None and found.has_repeated_keys):
            self.brought.append(Brought("what it names, as it cannot be read"))

    def _path(self, name: str) -> str:
        return os.path.normpath(os.path.join(self._directory, name))

    def _read_inputs(self, fields: dict[str, Any]) -> None:
        for field in _RESOURCES:
            for entry in _entries(fields, field):
                if not isinstance(entry, str) or not entry:
                    continue
                path = self._path(entry)
                if (
                    "://" in entry
                    or not os.path.exists(path)
                    or (os.path.isdir(path) and _REMOTE.search(entry))
                ):
                    self.brought.append(Brought(f"{field} from elsewhere"))
                else:
                    self.inputs.append(path)

    def _read_patches(self, fields: dict[str, Any]) -> None:
        for field in _PATCHES:
            for entry in _entries(fields, field):
                patch = _folded(entry) if isinstance(entry, dict) else {"path": entry}
                target = _target(patch)
                path, text = patch.get("path"), patch.get("patch")
                if field == "patchesStrategicMerge" and isinstance(entry, str) and not self._is_file(entry):
                    path, text = None, entry
                if isinstance(path, str) and path:
                    self.patches.setdefault(self._path(path), []).append(target)
                if isinstance(text, str) and text:
                    kinds = _kinds_changed(text, target, may_change_kind=bool(patch.get("options")))
                    self.brought += (Brought(f"{field} within it", kind) for kind in kinds)

    def _is_file(self, name: str) -> bool:
        return "\n" not in name and os.path.isfile(self._path(name))

    def _read_others(self, fields: dict[str, Any]) -> None:
        for field in _MADE_ELSEWHERE:
            if fields.get(field.casefold()):
                self.brought.append(Brought(field))
        if any(isinstance(each, dict) and _folded(each).get("fields") for each in _entries(fields, "labels")):
            self.brought.append(Brought("labels in fields of its own"))
        for replacement in _entries(fields, "replacements"):
            targets = _entries(_folded(replacement), "targets") if isinstance(replacement, dict) else []
            for target in targets or [None]:
                kind = _target(_folded(target), "select") if isinstance(target, dict) else ANY
                self.brought.append(Brought("replacements", kind))


def target_of(file: str) -> str | None:
    """ANY for operations in a file that may change the kind, TARGET for others, None for a patch that is like an object.

    Of the last a user can be told as of other manifests.
    """
    try:
        patch: Any = first_document(read_file(file), file)
    except DocumentError:
        return ANY
    return _target_of_operations(patch, TARGET) if isinstance(patch.value, list) else None


def _kinds_changed(text: str, target: str, *, may_change_kind: bool) -> set[str]:
    kinds = set()
    for found in parse(text):
        if isinstance(found, Document):
            own = None if found.has_repeated_keys else found.value.get("kind")  # kustomize takes the first
            kinds.add(ANY if may_change_kind else target or _plain(own))
        elif found.message.startswith(NOT_AN_OBJECT):
            try:
                kinds.add(_target_of_operations(first_document(text.encode(), ""), target))
            except (DocumentError, UnicodeError):
                return {ANY}
        else:
            return {ANY}
    return kinds


def _target_of_operations(patch: Document, target: str) -> str:
    """The kind of objects that operations change, or ANY if one may make them objects of another."""
    operations: Any = patch.value
    if not isinstance(operations, list) or patch.has_repeated_keys:
        return ANY
    for operation in operations:
        path = operation.get("path") if isinstance(operation, dict) else None
        if not isinstance(path, str) or path.split("/")[1:2] in ([], [""], ["kind"], ["apiVersion"]):
            return ANY
    return target


def _target(entry: dict[str, Any], field: str = "target") -> str:
    """The kind that a selector names; ANY if there may be others, as it is a regular expression."""
    selector = entry.get(field)
    return _plain(_folded(selector).get("kind")) if isinstance(selector, dict) else ANY


def _plain(kind: object) -> str:
    return kind if isinstance(kind, str) and _NAME.fullmatch(kind) else ANY


def _folded(value: dict[str, Any]) -> dict[str, Any]:
    """The same with names in one case; lists under names that differ only in case become one.

    :raises DocumentError: if other values have such names.
    """
    folded: dict[str, Any] = {}
    for key, each in value.items():
        name, known = str(key).casefold(), folded.get(str(key).casefold())
        if name in folded and not (isinstance(known, list) and isinstance(each, list)):
            raise DocumentError("", 0, 0, "fields with names that differ only in case")
        folded[name] = known + each if isinstance(known, list) else each
    return folded


def _entries(fields: dict[str, Any], field: str) -> list[Any]:
    found = fields.get(field.casefold())
    return found if isinstance(found, list) else []
