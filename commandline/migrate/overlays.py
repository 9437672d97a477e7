"""Kustomizations of objects that migrate: their lists of files, and patches of what is gone."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.migration import Change
from classic.migration.objects import is_classic, is_of_1_31
from classic.migration.remarks import ERROR, Remark
from documents import Document, DocumentError, parse
from documents.finding import KUSTOMIZATIONS, PATCH
from documents.parsing import first_document
from documents.source import read_file
from resourceapi.manifests import MISSING, displayed_name, entries, group_of, mapping, name_of, text, value_at

if TYPE_CHECKING:
    from documents.finding import Files
    from resourceapi.field_errors import Path

_RESOURCES = ("resources", "bases", "crds")
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_plain = re.compile(r"[A-Za-z0-9.-]+").fullmatch
_REWRITE = "write the patch anew for the fields of v1"


class _Patch(NamedTuple):
    """What a patch is about; empty texts stand for any.

    :ivar value: the patch, if it looks like an object.
    :ivar pointers: the fields that operations change.
    """

    path: Path
    kind: str
    name: str
    value: dict[str, Any]
    pointers: tuple[str, ...]


def without_resources(gone: Collection[str], documents: Iterable[Document]) -> dict[str, list[Change]]:
    """The kustomizations that name files of which nothing is left, without these, by file."""
    changed: dict[str, list[Change]] = {}
    paths = {os.path.normpath(file) for file in gone}
    for document in _kustomizations(documents) if paths else ():
        value = dict(document.value)
        for field in _RESOURCES:
            named = entries(value, field)
            kept = [each for each in named if _path(document, each) not in paths]
            if len(kept) < len(named):
                value[field] = kept
        if value != document.value:
            changed[document.file] = [Change(document, value)]
    return changed


def stale_patches(documents: Sequence[Document], changes: Iterable[Change], files: Files) -> Iterator[Remark]:
    """An error for each patch of a kustomization that is about what is gone.

    :param files: after a search: only patches that it has found are read.
    """
    readable = {os.path.normpath(each.file): each.file for each in files.skipped() if each.reason == PATCH}
    by_document = {id(change.document): change for change in changes}
    changed = [
        (document.value, by_document[id(document)].value)
        for document in documents
        if id(document) in by_document
    ]
    for document in _kustomizations(documents):
        for patch in _patches(document, readable):
            found = _target(patch, changed)
            if found:
                yield Remark(document, ERROR, patch.path, f"patches {found}", _REWRITE)


def _kustomizations(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        if os.path.basename(document.file) in KUSTOMIZATIONS and document.item is None:
            yield document


def _path(kustomization: Document, named: Any) -> str:
    """A file that a kustomization names."""
    if not isinstance(named, str):
        return ""
    return os.path.normpath(os.path.join(os.path.dirname(kustomization.file), named))


def _patches(kustomization: Document, readable: Mapping[str, str]) -> Iterator[_Patch]:
    for field in _PATCHES:
        for index, entry in enumerate(entries(kustomization.value, field)):
            target = mapping(entry, "target")
            inline = text(entry, "patch") or (entry if isinstance(entry, str) and "\n" in entry else "")
            named = _path(kustomization, entry if isinstance(entry, str) else text(entry, "path"))
            for value in _contents(inline, readable.get(named, "")):
                yield _patch((field, index), target, value)


def _contents(inline: str, file: str) -> Iterator[Any]:
    """The documents of a patch that can be read: objects, or lists of operations."""
    try:
        content = inline.encode() if inline else read_file(file) if file else b""
        first: Any = first_document(content, file).value
    except (DocumentError, UnicodeError):
        return
    if isinstance(first, list):
        yield first
        return
    for found in parse(content, file):
        if isinstance(found, Document):
            yield found.value


def _patch(path: Path, target: dict[str, Any], value: Any) -> _Patch:
    kind, name = text(target, "kind"), text(target, "name")
    if isinstance(value, list):
        pointers = tuple(text(operation, "path") for operation in value)
        return _Patch(path, kind, name, {}, pointers)
    return _Patch(path, kind or text(value, "kind"), name or name_of(value), value, ())


def _target(patch: _Patch, changed: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]) -> str:
    """What a patch is about and is gone; empty if all is there."""
    is_former = is_classic(patch.value) or is_of_1_31(patch.value)
    for before, after in changed:
        if not _matches(patch, before):
            continue
        name = f"{text(before, 'kind')} {displayed_name(before)}"
        if after is None:
            return f"{name}, which is left out"
        if text(after, "kind") != text(before, "kind"):
            return f"{name}, which is a {text(after, 'kind')} now"
        lost = [each for each in patch.pointers if _has(before, each) and not _has(after, each)]
        if lost:
            return f"{lost[0]} of {name}, which has no such field any more"
    return (
        f"{patch.kind} {displayed_name(patch.value)} of {text(patch.value, 'apiVersion')}"
        if is_former
        else ""
    )


def _matches(patch: _Patch, value: dict[str, Any]) -> bool:
    """Whether a patch is about an object. Kinds and names of targets are regular expressions: only plain ones count."""
    if not patch.kind or patch.kind != text(value, "kind"):
        return False
    if patch.value and group_of(patch.value) != group_of(value):
        return False
    return not patch.name or not _plain(patch.name) or patch.name == name_of(value)


def _has(value: dict[str, Any], pointer: str) -> bool:
    segments = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    path = tuple(int(each) if each.isdigit() else each for each in segments)
    return bool(path) and value_at(value, path) is not MISSING
