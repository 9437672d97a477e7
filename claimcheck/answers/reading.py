"""The objects of files and texts, and what of them cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from advice.findings import ERROR, Finding, Result
from claimcheck.answers.outcome import Failure
from documents import DocumentError, parse
from documents.source import read_file
from resourceapi.recognition import is_list, list_problems
from validation.requests import MALFORMED

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from resourceapi.field_errors import Path
    from resourceapi.releases import Profile


class Text:
    """Manifests that are at hand, rather than in a file.

    :param name: what reports call them.
    """

    __slots__ = ("content", "name")

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content


#: A file, what cannot be read, or a text.
Input = str | DocumentError | Text


def read_files(
    files: Iterable[Input], profile: Profile | None = None
) -> Iterator[Manifest | Result | Failure]:
    """The objects in files as :func:`documents.finding.find_files` gives them.

    :param profile: the server that has to know which documents are lists of objects.

    A document that is not a manifest becomes a Result with an error, a file that cannot be read a Failure.
    """
    lists: dict[str, Any] = {}
    if profile is not None:
        lists = {"is_list": partial(is_list, profile=profile), "list_problems": list_problems}
    for found in files:
        if isinstance(found, DocumentError):
            yield Failure(found.file, found.message)
            continue
        try:
            file, content = (
                (found.name, found.content) if isinstance(found, Text) else (found, read_file(found))
            )
        except DocumentError as error:
            yield Failure(error.file, error.message)
            continue
        lines: list[str] = []
        for document in parse(content, file, **lists):
            if isinstance(document, DocumentError):
                lines = lines or content.decode("utf-8", "replace").split("\n")
                yield _malformed(document, lines)
            else:
                yield document


def readable(found: Iterable[Manifest | Result | Failure], failures: list[Failure]) -> Iterator[Manifest]:
    """Only the manifests; what could not be read is appended to ``failures``."""
    for manifest in found:
        if isinstance(manifest, Failure):
            failures.append(manifest)
        elif isinstance(manifest, Result):
            finding = manifest.findings[0]
            failures.append(Failure(manifest.file, f"line {finding.line}: {finding.message}"))
        else:
            yield manifest


def unusable(manifest: Manifest, reason: str, path: Path = ()) -> Failure:
    """What is wrong with an object that cannot be used, and in which line: that of the value which is in the way."""
    line = manifest.locate(path).line if path else manifest.line
    return Failure(manifest.file, f"line {line}: {reason}" if line else reason)


class _BrokenSource:
    """The lines of a file with a document that is not a manifest."""

    __slots__ = ("line", "lines")

    def __init__(self, lines: list[str], line: int) -> None:
        self.lines = lines
        self.line = line

    def source_line(self, number: int) -> str:
        return self.lines[number - 1].rstrip("\r") if 1 <= number <= len(self.lines) else ""


def _malformed(error: DocumentError, lines: list[str]) -> Result:
    """The result for what cannot be read; all of a file share its lines."""
    result = Result(error.file, 1, _BrokenSource(lines, error.line))
    result.findings.append(
        Finding(ERROR, MALFORMED, error.message, line=error.line, column=error.column, hint=error.hint)
    )
    return result
