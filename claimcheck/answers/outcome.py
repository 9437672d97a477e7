"""The answer of ``validate``: results, objects that were skipped, and what of all input could not be read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from advice.findings import ERROR, WARNING, Finding, Result


class Skipped:
    """An object of a kind that is not validated.

    :param context: whether it was read for what it says about other objects, such as a Namespace.
    """

    __slots__ = ("api_version", "context", "document", "file", "kind", "name")

    def __init__(
        self, file: str, document: int, api_version: str, kind: str, name: str, context: bool
    ) -> None:
        self.file = file
        self.document = document
        self.api_version = api_version
        self.kind = kind
        self.name = name
        self.context = context


class Failure:
    """Input that could not be read, such as a file, or a list of a cluster."""

    __slots__ = ("file", "message")

    def __init__(self, file: str, message: str) -> None:
        self.file = file
        self.message = message


class NoAnswer(Failure):
    """A cluster of which nothing could be read, as it does not answer as one."""

    __slots__ = ()


class Unread(Failure):
    """A list of a cluster that could not be read, or only in one namespace.

    :param reason: the server's message.
    :param kind: the kind of the objects.
    :param read_namespace: the namespace whose objects were read; empty if none were.
    :param is_forbidden: whether the server does not let the user read it.
    """

    __slots__ = ("is_forbidden", "kind", "read_namespace", "reason")

    def __init__(
        self, file: str, reason: str, kind: str, read_namespace: str = "", *, is_forbidden: bool = False
    ) -> None:
        only = f"; only those in the namespace {read_namespace} are known" if read_namespace else ""
        super().__init__(file, reason + only)
        self.kind = kind
        self.read_namespace = read_namespace
        self.is_forbidden = is_forbidden
        self.reason = reason


class Outcome:
    """Everything that a run found, in the order of the input.

    :param release: the release that answered, such as ``1.37``.
    """

    def __init__(self, release: str = "") -> None:
        self.release = release
        #: the number of notes that ``--notes`` would show
        self.hidden_notes = 0
        self.results: list[Result] = []
        self.skipped: list[Skipped] = []
        self.failures: list[Failure] = []
        #: files that look like manifests and were not read, each with a note that says why
        self.skipped_files: list[Result] = []
        #: what files that a stranger can change make of the verdict, where it has to be told: severity and sentence
        self.remarks: list[tuple[str, str]] = []
        #: what else than errors fails the run: warnings, files that were not read, nothing to validate
        self.warnings_fail = self.skipped_files_fail = self.empty_fails = False

    def add(self, other: Outcome) -> None:
        """Append the outcome of a later part of the input."""
        self.results += other.results
        self.skipped += other.skipped
        self.failures += other.failures
        self.skipped_files += other.skipped_files
        self.remarks += other.remarks
        self.hidden_notes += other.hidden_notes

    def findings(self, severity: str = "") -> Iterator[tuple[Result, Finding]]:
        """All findings, or those of one severity, with their results."""
        for result in chain(self.results, self.skipped_files):
            for finding in result.findings:
                if not severity or finding.severity == severity:
                    yield result, finding

    def afterwards(self) -> Iterator[tuple[Result, Finding]]:
        """What comes to light only once the errors are fixed, with its results."""
        for result in self.results:
            for finding in result.afterwards:
                yield result, finding

    @property
    def not_foretold(self) -> int:
        """The number of objects of which later mistakes were not looked for, as those before took too much."""
        return sum(not result.is_foretold for result in self.results)

    @property
    def has_stored(self) -> bool:
        """Whether there are objects that were read from a server."""
        return any(result.stored is not None for result in self.results)

    def count(self, severity: str) -> int:
        """The number of findings of a severity."""
        return sum(1 for _ in self.findings(severity))

    @property
    def invalid(self) -> int:
        """The number of invalid objects."""
        return sum(1 for result in self.results if result.findings and not result.valid)

    def verbs(self) -> list[tuple[str, int]]:
        """The number of valid objects that would be updated in a live cluster, and created; empty without a cluster."""
        given = [result.verb for result in self.results if result.verb and result.valid]
        return [(verb, given.count(verb)) for verb in sorted(set(given), reverse=True)]

    def skipped_kinds(self) -> list[tuple[str, str, bool, int]]:
        """The skipped objects as (API version, kind, context, number), sorted."""
        counts: dict[tuple[str, str, bool], int] = {}
        for skipped in self.skipped:
            key = (skipped.api_version, skipped.kind, skipped.context)
            counts[key] = counts.get(key, 0) + 1
        return [(*key, counts[key]) for key in sorted(counts)]

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to validate, although everything could be read."""
        return not self.results and not self.failures

    def fails(self, finding: Finding) -> bool:
        """Whether the run fails because of a finding about an object."""
        return finding.severity == ERROR or (self.warnings_fail and finding.severity == WARNING)

    @property
    def skipped_files_alone_fail(self) -> bool:
        """Whether the run fails only because there are files that were not read."""
        return bool(self.skipped_files) and self.skipped_files_fail and not self._objects_fail

    @property
    def is_negative(self) -> bool:
        """Whether the run fails because of what was found."""
        return self._objects_fail or self.skipped_files_alone_fail

    @property
    def _objects_fail(self) -> bool:
        if self.is_empty and self.empty_fails:
            return True
        return any(self.fails(finding) for _, finding in self.findings())
