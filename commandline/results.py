"""What a run found: findings, results and the outcome of the whole run, as every report shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Protocol

    from validation.requests import Answer

    class Source(Protocol):
        """Where an object comes from: the line where it begins (0: no file), and the text of lines for excerpts."""

        @property
        def line(self) -> int: ...
        def source_line(self, number: int) -> str: ...


ERROR, WARNING, NOTE = "error", "warning", "note"


class Finding:
    """One thing to tell the user, at one place of a source.

    ``rule``: the server's reason (``FieldValueInvalid``), a name of :mod:`validation.rule_names` or a lint's code.

    ``field`` is the path in the version that the user wrote, ``pointer`` the same as RFC 6901 JSON pointer into the
    document.  ``line`` and ``column`` count from 1 (0: the whole file) and are those of the field, or of what should
    contain it; ``width`` is the number of characters to underline.
    """

    __slots__ = ("column", "field", "hint", "line", "message", "pointer", "rule", "severity", "width")

    def __init__(
        self,
        severity: str,
        rule: str,
        message: str,
        *,
        field: str = "",
        pointer: str = "",
        line: int = 0,
        column: int = 0,
        width: int = 1,
        hint: str = "",
    ) -> None:
        self.severity = severity
        self.rule = rule
        self.message = message
        self.field = field
        self.pointer = pointer
        self.line = line
        self.column = column
        self.width = width
        self.hint = hint

    @property
    def text(self) -> str:
        """The message with its field in front."""
        return f"{self.field}: {self.message}" if self.field else self.message


class Result:
    """What was found about one object, or about one document that holds none.

    ``document`` counts from 1 in its file.  ``answer`` is None where there was nothing to ask the server.
    """

    __slots__ = (
        "answer",
        "api_version",
        "document",
        "file",
        "findings",
        "kind",
        "name",
        "namespace",
        "source",
    )

    def __init__(
        self,
        file: str,
        document: int,
        source: Source,
        *,
        api_version: str = "",
        kind: str = "",
        namespace: str = "",
        name: str = "",
    ) -> None:
        self.file = file
        self.document = document
        self.source = source
        self.api_version = api_version
        self.kind = kind
        self.namespace = namespace
        self.name = name
        self.answer: Answer | None = None
        self.findings: list[Finding] = []

    @property
    def line(self) -> int:
        """The line on which the object begins; finding out takes time."""
        return self.source.line

    @property
    def valid(self) -> bool:
        return not any(finding.severity == ERROR for finding in self.findings)

    @property
    def title(self) -> str:
        """The object in a few words: ``ResourceClaim default/gpu``."""
        if not self.kind:
            return f"document {self.document}"
        if not self.name:
            return self.kind
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Skipped:
    """An object of a kind that is not validated; ``context`` tells that it was read for what it says about others."""

    __slots__ = ("api_version", "context", "document", "file", "kind", "name")

    def __init__(
        self, file: str, document: int, *, api_version: str, kind: str, name: str, context: bool
    ) -> None:
        self.file = file
        self.document = document
        self.api_version = api_version
        self.kind = kind
        self.name = name
        self.context = context


class Failure:
    """Work that could not be done, e.g. a file that cannot be read."""

    __slots__ = ("file", "message")

    def __init__(self, file: str, message: str) -> None:
        self.file = file
        self.message = message


class Outcome:
    """All that a run found, in the order of the input.  ``release`` is the server that was asked, e.g. ``1.37``.

    ``hidden_notes``: how many notes there would be had they been asked for.
    """

    def __init__(self, release: str = "") -> None:
        self.release = release
        self.hidden_notes = 0
        self.results: list[Result] = []
        self.skipped: list[Skipped] = []
        self.failures: list[Failure] = []

    def add(self, other: Outcome) -> None:
        """Append what was found in what comes later in the input."""
        self.results += other.results
        self.skipped += other.skipped
        self.failures += other.failures
        self.hidden_notes += other.hidden_notes

    def findings(self, severity: str = "") -> Iterator[tuple[Result, Finding]]:
        for result in self.results:
            for finding in result.findings:
                if not severity or finding.severity == severity:
                    yield result, finding

    def count(self, severity: str) -> int:
        return sum(1 for _ in self.findings(severity))

    @property
    def invalid(self) -> int:
        return sum(1 for result in self.results if result.findings and not result.valid)

    def skipped_kinds(self) -> list[tuple[str, str, bool, int]]:
        """(API version, kind, read as context, number), sorted."""
        counts: dict[tuple[str, str, bool], int] = {}
        for skipped in self.skipped:
            key = (skipped.api_version, skipped.kind, skipped.context)
            counts[key] = counts.get(key, 0) + 1
        return [(*key, counts[key]) for key in sorted(counts)]

    def exit_code(self, *, warnings_as_errors: bool = False) -> int:
        """0: all valid, 1: something is not, 2: some of the work could not be done."""
        if self.failures:
            return 2
        if self.invalid or (warnings_as_errors and self.count(WARNING)):
            return 1
        return 0
