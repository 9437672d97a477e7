"""Migrates the files that ``claimcheck migrate`` is given, and reports what has no equivalent.

Kustomizations of objects that migrate name files that may be gone, and may have patches of what is gone.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from classic.migration.mapping import Mappings, built_in, read_mapping
from classic.migration.migration import Change, Migration, migrated_text
from classic.migration.objects import is_classic, is_of_1_31
from classic.migration.remarks import ERROR, NOTE, SEVERITIES, Remark
from commandline.errors import NEGATIVE, UNFINISHED, UsageError
from commandline.options import insist_on_paths, settle_namespace
from commandline.reading import find, search
from commandline.reports.escaping import complain, write_json
from commandline.rewriting import Rewriting, StandardOutput, result_of
from documents import Document, DocumentError, parse
from documents.finding import KUSTOMIZATIONS, KUSTOMIZE, PATCH
from documents.parsing import first_document
from documents.source import read_file
from resourceapi.field_errors import render
from resourceapi.manifests import MISSING, displayed_name, entries, group_of, mapping, name_of, text, value_at
from resourceapi.phrases import number
from resourceapi.recognition import is_manifest

if TYPE_CHECKING:
    from argparse import Namespace

    from documents.finding import Files
    from resourceapi.field_errors import Path


class File(NamedTuple):
    """A file before and after; empty for one of which nothing is left."""

    name: str
    text: str
    migrated: str


def applicable(content: str, name: str) -> str:
    """The documents of a text that are manifests, or that nobody can read: no empty ones, no kustomizations."""
    parts: dict[int, str] = {}
    is_whole = True
    for found in parse(content, name):
        if isinstance(found, DocumentError):
            return content
        if _is_applied(found):
            parts[found.chunk.start] = content[found.chunk.start : found.chunk.end]
        elif found.item is None:
            is_whole = False
    if is_whole and "\n---" not in content and parts:
        return content
    return "---\n".join(
        part.removeprefix("\n") if part.endswith("\n") else f"{part}\n" for part in parts.values()
    )


def _is_applied(document: Document) -> bool:
    if document.item is not None:
        return True
    return is_manifest(document.value) and not text(document.value, "apiVersion").startswith(KUSTOMIZE)


_RESOURCES = ("resources", "bases", "crds")
_PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
_plain = re.compile(r"[A-Za-z0-9.-]+").fullmatch
_index = re.compile("[0-9]{1,9}").fullmatch
_REWRITE = "write the patch anew for the fields of v1"


#: How often a patch may be compared with an object, or an operation of it, in all.
MAX_COMPARISONS = 1_000_000


class _Patch(NamedTuple):
    """What a patch is about; empty texts stand for any.

    :ivar group: None for any: lists of operations have none.
    :ivar former: name and version, if it looks like an object of a former version.
    :ivar pointers: the fields that operations change.
    """

    kind: str
    name: str
    group: str | None
    former: str
    pointers: tuple[tuple[str, Path], ...]


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
    changed = _Changed(
        (document.value, by_document[id(document)].value)
        for document in documents
        if id(document) in by_document
    )
    contents = cache(_contents)  # thousands of entries may name one file
    for document in _kustomizations(documents):
        for path, patch in _patches(document, readable, contents):
            found = changed.target(patch)
            if changed.comparisons > MAX_COMPARISONS:
                too_many = f"more than {MAX_COMPARISONS:,} comparisons of patches with objects: the rest is not checked"
                yield Remark(document, ERROR, path, too_many)
                return
            if found:
                yield Remark(document, ERROR, path, f"patches {found}", _REWRITE)


def _kustomizations(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        if os.path.basename(document.file) in KUSTOMIZATIONS and document.item is None:
            yield document


def _path(kustomization: Document, named: Any) -> str:
    """A file that a kustomization names."""
    if not isinstance(named, str):
        return ""
    return os.path.normpath(os.path.join(os.path.dirname(kustomization.file), named))


def _patches(
    kustomization: Document, readable: Mapping[str, str], contents: Callable[[str, str], list[_Patch]]
) -> Iterator[tuple[Path, _Patch]]:
    for field in _PATCHES:
        for index, entry in enumerate(entries(kustomization.value, field)):
            target = mapping(entry, "target")
            inline = text(entry, "patch") or (entry if isinstance(entry, str) and "\n" in entry else "")
            named = _path(kustomization, entry if isinstance(entry, str) else text(entry, "path"))
            kind, name = text(target, "kind"), text(target, "name")
            for patch in contents(inline, readable.get(named, "")):
                yield (field, index), patch._replace(kind=kind or patch.kind, name=name or patch.name)


def _contents(inline: str, file: str) -> list[_Patch]:
    """The patches in a text or file that can be read, each that is about the same only once."""
    try:
        content = inline.encode() if inline else read_file(file) if file else b""
        first: Any = first_document(content, file).value
    except (DocumentError, UnicodeError):
        return []
    if isinstance(first, list):
        pointers = (text(operation, "path") for operation in first)
        return [_Patch("", "", None, "", tuple((each, _fields(each)) for each in pointers))]
    found = (each.value for each in parse(content, file) if isinstance(each, Document))
    return list(dict.fromkeys(map(_patch, found)))


def _patch(value: dict[str, Any]) -> _Patch:
    is_former = is_classic(value) or is_of_1_31(value)
    former = f"{displayed_name(value)} of {text(value, 'apiVersion')}" if is_former else ""
    return _Patch(text(value, "kind"), name_of(value), group_of(value) if value else None, former, ())


class _Changed:
    """The objects that change, by kind and name.

    :ivar comparisons: how often patches and their operations have been compared with them.
    """

    def __init__(self, changed: Iterable[tuple[dict[str, Any], dict[str, Any] | None]]) -> None:
        self.comparisons = 0
        self._found: dict[tuple[str, str], list[tuple[dict[str, Any], dict[str, Any] | None]]] = {}
        for each in changed:
            kind = text(each[0], "kind")
            for name in {"", name_of(each[0])}:
                self._found.setdefault((kind, name), []).append(each)

    def target(self, patch: _Patch) -> str:
        """What a patch is about and is gone; empty if all is there, or after too many comparisons.

        Kinds and names of targets are regular expressions: only plain ones count.
        """
        self.comparisons += 1
        key = patch.kind, patch.name if _plain(patch.name[:254]) else ""
        for before, after in self._found.get(key, ()) if patch.kind else ():
            self.comparisons += 1
            if self.comparisons > MAX_COMPARISONS:
                return ""
            if patch.group is not None and patch.group != group_of(before):
                continue
            if after is None:
                return f"{patch.kind} {displayed_name(before)}, which is left out"
            if text(after, "kind") != patch.kind:
                return f"{patch.kind} {displayed_name(before)}, which is a {text(after, 'kind')} now"
            self.comparisons += len(patch.pointers)
            for pointer, path in patch.pointers:
                if value_at(before, path) is not MISSING and value_at(after, path) is MISSING:
                    return f"{pointer} of {patch.kind} {displayed_name(before)}, which has no such field any more"
        return f"{patch.kind} {patch.former}" if patch.former else ""


def _fields(pointer: str) -> Path:
    """The path that a JSON pointer stands for."""
    segments = [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]
    return tuple(int(each) if _index(each) else each for each in segments)


def tell(migration: Migration, *, quiet: bool) -> None:
    """Write the remarks to standard error, a line each, and how many there are.

    :param quiet: whether notes and the numbers are left out.
    """
    for remark in migration.remarks:
        if quiet and remark.severity == NOTE:
            continue
        complain(f"{remark.document.file}:{remark.line}: {remark.severity}: {_about(remark)}")
        if remark.hint:
            complain(f"  hint: {remark.hint}")
    counts = Counter(remark.severity for remark in migration.remarks)
    objects = number(sum(change.value is not None for change in migration.changes), "object")
    dropped = sum(change.value is None for change in migration.changes)
    parts = [f"{objects} migrated", *([f"{dropped} left out"] if dropped else ())]
    parts += [number(counts[severity], severity) for severity in SEVERITIES if counts[severity]]
    if not quiet:
        complain(", ".join(parts))


def write_report(
    migration: Migration, files: list[File], problems: list[DocumentError], *, with_content: bool
) -> None:
    """Write the report as JSON to standard output.

    :param with_content: whether it has the migrated files as well.
    """
    document: dict[str, Any] = {
        "files": [
            {
                "file": file.name,
                "changed": file.text != file.migrated,
                **({"content": file.migrated} if with_content else {}),
            }
            for file in files
        ],
        "remarks": [_entry(remark) for remark in migration.remarks],
        "unreadable": [
            {"file": each.file, "line": each.line, "column": each.column, "message": each.message}
            for each in problems
        ],
        "summary": {
            "migrated": sum(change.value is not None for change in migration.changes),
            "leftOut": sum(change.value is None for change in migration.changes),
            **{
                f"{severity}s": sum(remark.severity == severity for remark in migration.remarks)
                for severity in SEVERITIES
            },
        },
    }
    write_json(document, sys.stdout)


def _entry(remark: Remark) -> dict[str, Any]:
    value = remark.document.value
    entry = {
        "file": remark.document.file,
        "line": remark.line,
        "column": remark.document.locate(remark.path).column if remark.path else 1,
        "severity": remark.severity,
        "kind": text(value, "kind"),
        "name": displayed_name(value),
        "field": render(remark.path),
        "message": remark.text,
    }
    return {**entry, "hint": remark.hint} if remark.hint else entry


def _about(remark: Remark) -> str:
    value = remark.document.value
    name = f"{text(value, 'kind')} {displayed_name(value)}".strip() or "kustomization"
    return f"{name}: {render(remark.path)}: {remark.text}" if remark.path else f"{name}: {remark.text}"


#: All files are held at once, as objects refer to each other.
MAX_CHARACTERS = 256 * 1024 * 1024


def migrate(options: Namespace) -> int:
    """Migrate the files that the options name. Objects that cannot be migrated stay as they are."""
    insist_on_paths(options)
    settle_namespace(options)
    rewriting = Rewriting(result_of(options))
    mappings = _mappings(options)
    searched = search(options)
    texts, documents = _read(find(options, searched), rewriting)
    migration = Migration(documents, mappings, options.namespace)
    migration.remarks += stale_patches(documents, migration.changes, searched)
    if any(remark.severity == ERROR for remark in migration.remarks):
        rewriting.exit_code = max(rewriting.exit_code, NEGATIVE)
    files = _migrated(texts, documents, migration.changes, {problem.file for problem in rewriting.problems})
    if isinstance(rewriting.result, StandardOutput):
        files = [file._replace(migrated=applicable(file.migrated, file.name)) for file in files]
    if options.output == "json":
        changed = any(file.text != file.migrated for file in files)
        if options.in_place:
            _write(files, rewriting)
        elif changed and (options.check or options.diff):
            rewriting.exit_code = max(rewriting.exit_code, NEGATIVE)
        with_content = not (options.in_place or options.check or options.diff)
        write_report(migration, files, rewriting.problems, with_content=with_content)
        return rewriting.exit_code
    tell(migration, quiet=options.quiet)
    _write(files, rewriting)
    return max(rewriting.exit_code, rewriting.result.finish())


def _mappings(options: Namespace) -> Mappings:
    """The mappings that are built in, and those of files.

    :raises UsageError: if a file is no mapping.
    """
    mappings = built_in()
    for file in options.mapping:
        try:
            mappings.add(read_mapping(file))
        except DocumentError as error:
            raise UsageError(f"--mapping {error}", error.hint) from None
    return mappings


def _read(
    found: Iterable[str | DocumentError], rewriting: Rewriting
) -> tuple[dict[str, str], list[Document]]:
    """The texts of files, and the documents in them. What is no manifest stays as it is."""
    texts: dict[str, str] = {}
    documents: list[Document] = []
    characters = 0
    for file, content in rewriting.texts(found):
        characters += len(content)
        if characters > MAX_CHARACTERS:
            too_much = f"more than {MAX_CHARACTERS // 2**20} MiB of manifests in all"
            rewriting.complain(DocumentError(file, 0, 0, too_much), UNFINISHED)
            continue
        texts[file] = content
        for document in parse(content, file):
            if isinstance(document, DocumentError):
                rewriting.complain(document, NEGATIVE)
            else:
                documents.append(document)
    return texts, documents


def _migrated(
    texts: Mapping[str, str], documents: Sequence[Document], changes: Iterable[Change], unread: set[str]
) -> list[File]:
    """The files with what has changed in them; empty if nothing is left of one.

    :param unread: the files that have more than these documents.
    """
    by_file: dict[str, list[Change]] = {name: [] for name in texts}
    left_out = set()
    for change in changes:
        by_file[change.document.file].append(change)
        if change.value is None:
            left_out.add(id(change.document))
    kept = {document.file for document in documents if id(document) not in left_out}
    gone = {document.file for document in documents} - kept - unread
    for name, listed in without_resources(gone, documents).items():
        by_file[name] += listed
    return [File(name, text, _text(text, by_file[name], gone, name)) for name, text in texts.items()]


def _text(text: str, changes: list[Change], gone: set[str], name: str) -> str:
    if name in gone:
        return ""
    return migrated_text(changes[0].document.source, changes, gone) if changes else text


def _write(files: Iterable[File], rewriting: Rewriting) -> None:
    for file in files:
        rewriting.write(*file)
