"""Runs ``claimcheck convert``: rewrites manifests in another API version and keeps comments and layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from classic.migration.kinds import is_classic
from commandline.convert.results import Result, result_of
from commandline.exit_codes import NEGATIVE, UNFINISHED
from commandline.options import insist_on_paths
from commandline.reading import find
from commandline.reports.escaping import complain
from conversion.documents import ConversionError, convert_document
from documents import Document, DocumentError, parse
from documents.comments import comments_in_text
from documents.rewriting import rewrite
from documents.sources import decode, read_file
from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP, SCHEMAS, SCHEMAS_WITH_PROPOSALS
from resourceapi.releases import PROPOSALS, split_api_version

if TYPE_CHECKING:
    from argparse import Namespace

    from resourceapi.schema import Schema


def run(options: Namespace) -> int:
    """Convert the files that the options name. A file with an object that cannot be converted is not written."""
    insist_on_paths(options)
    schemas = SCHEMAS_WITH_PROPOSALS if options.kube_version == PROPOSALS else SCHEMAS
    conversion = _Conversion(options.to, schemas, result_of(options))
    for found in find(options):
        conversion.add(found)
    conversion.finish()
    return conversion.exit_code


class _Conversion:
    def __init__(self, version: str, schemas: Mapping[str, Schema], result: Result) -> None:
        self.version = version
        self.schemas = schemas
        self.result = result
        self.exit_code = 0

    def add(self, found: str | DocumentError) -> None:
        """Convert one file."""
        try:
            if isinstance(found, DocumentError):
                raise found
            self.result.insist_on_use_for(found)
            text = decode(read_file(found), found)
        except DocumentError as error:
            self._complain(error, NEGATIVE if error.line else UNFINISHED)
            return
        changes: list[tuple[Document, dict[str, Any]]] = []
        problems = []
        for change in self._changes(text, found):
            if isinstance(change, DocumentError):
                problems.append(change)
            else:
                changes.append(change)
        for problem in problems:
            self._complain(problem, NEGATIVE)
        if not problems:
            try:
                self.result.add(found, text, _rewritten(text, changes) if changes else text)
            except DocumentError as error:
                self._complain(error, NEGATIVE if error.line else UNFINISHED)

    def finish(self) -> None:
        """Say what the result is for all files."""
        self.exit_code = max(self.exit_code, self.result.finish())

    def _changes(self, text: str, file: str) -> Iterator[tuple[Document, dict[str, Any]] | DocumentError]:
        """The objects that change, with their new values, or why they cannot."""
        for document in parse(text, file):
            if isinstance(document, DocumentError):
                yield document
            elif is_classic(document.value):
                message = (
                    f"apiVersion: {document.value['kind']} of classic DRA cannot be converted field by field"
                )
                yield document.error(("apiVersion",), message, "claimcheck migrate rewrites it for v1")
            elif _is_of_group(document.value) and not _has_only_version(document.value):
                try:
                    converted = convert_document(_readable(document.value), self.version, self.schemas)
                except ConversionError as error:
                    yield document.error(error.path, str(error))
                    continue
                if converted is not document.value:
                    yield document, converted

    def _complain(self, error: DocumentError, code: int) -> None:
        complain(str(error), *([f"  hint: {error.hint}"] if error.hint else ()))
        self.exit_code = max(self.exit_code, code)


def _rewritten(text: str, changes: list[tuple[Document, dict[str, Any]]]) -> str:
    """The text with changed objects and all of its comments.

    :raises DocumentError: if a comment has no place any more.
    """
    source = changes[0][0].source
    converted = rewrite(source, changes, keeps_comments=True)
    before = list(comments_in_text(text))
    lost = Counter(comment for _, comment in before)
    lost.subtract(Counter(comment for _, comment in comments_in_text(converted)))
    offset = next((offset for offset, comment in before if lost[comment] > 0), None)
    if offset is not None:
        message = "this comment would be lost, as its place falls away"
        raise source.error(offset, message, "move it to a line of its own above the object, or remove it")
    return converted


def _readable(value: dict[str, Any]) -> dict[str, Any]:
    """Read an object of v1alpha3 as of 1.31 as v1beta1, which differs only in a slice's capacities."""
    if value["apiVersion"] == f"{GROUP}/v1alpha3" and "v1alpha3" not in KINDS[value["kind"]].versions:
        return {**value, "apiVersion": f"{GROUP}/v1beta1"}
    return value


def _has_only_version(value: dict[str, Any]) -> bool:
    """Whether it is in the only version of its kind: there is nothing to convert it to."""
    return [split_api_version(value["apiVersion"])[1]] == list(KINDS[value["kind"]].versions)


def _is_of_group(value: dict[str, Any]) -> bool:
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return False
    return api_version.startswith(GROUP + "/") and kind in KINDS
