"""Runs ``claimcheck migrate``: rewrites manifests of classic DRA, and reports what has no equivalent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from classic.migration.mapping import Mappings, built_in, read_mapping
from classic.migration.migration import Change, Migration, migrated_text
from classic.migration.remarks import ERROR
from commandline.convert.results import Files, Result, StandardOutput, result_of
from commandline.errors import UsageError
from commandline.exit_codes import NEGATIVE, SUCCESS, UNFINISHED
from commandline.migrate.files import File, applicable
from commandline.migrate.overlays import stale_patches, without_resources
from commandline.migrate.report import tell, write_report
from commandline.options import insist_on_paths, settle_namespace
from commandline.reading import find, search
from commandline.reports.escaping import complain
from documents import Document, DocumentError, parse
from documents.source import decode, read_file

if TYPE_CHECKING:
    from argparse import Namespace

#: All files are held at once, as objects refer to each other.
MAX_CHARACTERS = 256 * 1024 * 1024


def run(options: Namespace) -> int:
    """Migrate the files that the options name. Objects that cannot be migrated stay as they are."""
    insist_on_paths(options)
    settle_namespace(options)
    result = result_of(options)
    run = _Run(_mappings(options))
    searched = search(options)
    for found in find(options, searched):
        run.read(found, result)
    migration = Migration(run.documents, run.mappings, options.namespace)
    migration.remarks += stale_patches(run.documents, migration.changes, searched)
    if any(remark.severity == ERROR for remark in migration.remarks):
        run.exit_code = max(run.exit_code, NEGATIVE)
    files = run.migrated(migration.changes)
    if isinstance(result, StandardOutput):
        files = [file._replace(migrated=applicable(file.migrated, file.name)) for file in files]
    if options.output == "json":
        changed = any(file.text != file.migrated for file in files)
        if options.in_place:
            run.write(files, Files())
        elif changed and (options.check or options.diff):
            run.exit_code = max(run.exit_code, NEGATIVE)
        with_content = not (options.in_place or options.check or options.diff)
        write_report(migration, files, run.problems, with_content=with_content)
        return run.exit_code
    tell(migration, quiet=options.quiet)
    run.write(files, result)
    return max(run.exit_code, result.finish())


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


class _Run:
    def __init__(self, mappings: Mappings) -> None:
        self.mappings = mappings
        self.texts: dict[str, str] = {}
        self.documents: list[Document] = []
        self.problems: list[DocumentError] = []
        self.exit_code = SUCCESS
        self._characters = 0

    def read(self, found: str | DocumentError, result: Result) -> None:
        """Read one file. What is no manifest in it stays as it is."""
        try:
            if isinstance(found, DocumentError):
                raise found
            result.insist_on_use_for(found)
            text = decode(read_file(found), found)
            self._characters += len(text)
            if self._characters > MAX_CHARACTERS:
                raise DocumentError(
                    found, 0, 0, f"more than {MAX_CHARACTERS // 2**20} MiB of manifests in all"
                )
        except DocumentError as error:
            self._complain(error, NEGATIVE if error.line else UNFINISHED)
            return
        self.texts[found] = text
        for document in parse(text, found):
            if isinstance(document, DocumentError):
                self._complain(document, NEGATIVE)
            else:
                self.documents.append(document)

    def migrated(self, changes: list[Change]) -> list[File]:
        """The files with what has changed in them."""
        by_file: dict[str, list[Change]] = {name: [] for name in self.texts}
        for change in changes:
            by_file[change.document.file].append(change)
        gone = self._emptied(changes)
        changed = without_resources(gone, self.documents)
        return [
            File(name, text, self._migrated(name, by_file[name] + changed.get(name, []), gone))
            for name, text in self.texts.items()
        ]

    def _migrated(self, name: str, changes: list[Change], gone: set[str]) -> str:
        if name in gone:
            return ""
        return migrated_text(changes[0].document.source, changes, gone) if changes else self.texts[name]

    def _emptied(self, changes: list[Change]) -> set[str]:
        """The files of which nothing is left."""
        left_out = {id(change.document) for change in changes if change.value is None}
        kept = {document.file for document in self.documents if id(document) not in left_out}
        unread = {problem.file for problem in self.problems}
        return {document.file for document in self.documents} - kept - unread

    def write(self, files: list[File], result: Result) -> None:
        """Print, write or compare the files."""
        for file in files:
            try:
                result.add(*file)
            except DocumentError as error:
                self._complain(error, UNFINISHED)

    def _complain(self, error: DocumentError, code: int) -> None:
        complain(str(error), *([f"  hint: {error.hint}"] if error.hint else ()))
        self.problems.append(error)
        self.exit_code = max(self.exit_code, code)
