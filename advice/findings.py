"""Findings about an object of the input, as reports show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol

    from resourceapi.field_errors import Path
    from validation.requests import Answer

    class Source(Protocol):
        """Where an object comes from."""

        @property
        def line(self) -> int:
            """The line on which the object begins; 0 without a file."""

        def source_line(self, number: int) -> str:
            """A line of the source, for excerpts."""


ERROR, WARNING, NOTE = "error", "warning", "note"
#: In front of what comes to light only once the server can read the object, where its place does not tell.
AFTERWARDS = "also, once the errors are fixed: "


class Finding(NamedTuple):
    """An error, warning or note about one position of a source.

    :param rule: the server's reason (``FieldValueInvalid``), a name of :mod:`validation.requests`, or a lint's code.
    :param field: the path in the version of the manifest.
    :param pointer: the same as JSON pointer (RFC 6901) into the document.
    :param line: the line of the field or, if it is missing, of its parent; from 1, 0 for the whole file.
    :param column: the column there, from 1.
    :param width: the number of characters to underline.
    :param hint: how to fix it.
    :param changes: the same as changes of the object, made one after the other, if there is but one way to fix it: a path
        and its new value, or MISSING to remove it.
    """

    severity: str
    rule: str
    message: str
    field: str = ""
    pointer: str = ""
    line: int = 0
    column: int = 0
    width: int = 1
    hint: str = ""
    changes: tuple[tuple[Path, Any], ...] = ()

    @property
    def text(self) -> str:
        """The message with its field in front."""
        return f"{self.field}: {self.message}" if self.field else self.message


#: What a server does with an object that is stored already.
UPDATES_ACCEPTED, UPDATES_REFUSED, NO_SUCH_API = "accepted", "refused", "not served"


class Stored(NamedTuple):
    """What the server does with an object that is stored already, beside what it answers if it were created again.

    :param updates: whether it takes updates that leave the object as it is, refuses them, or serves the kind in no version.
    :param message: why it refuses updates.
    :param api_version: the version in which the server serves it.
    :param driver: that of a slice.
    :param lost: the fields that an update loses, though it leaves them as they are.
    """

    updates: str
    api_version: str = ""
    message: str = ""
    driver: str = ""
    lost: tuple[str, ...] = ()


class Result:
    """The findings about one object, or about one document that is not a manifest.

    :param document: the number of the document in its file, from 1.
    """

    __slots__ = (
        "afterwards",
        "answer",
        "api_version",
        "document",
        "effort",
        "file",
        "findings",
        "is_foretold",
        "kind",
        "name",
        "namespace",
        "source",
        "stored",
        "verb",
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
        #: ``create`` or ``update``, where it depends on a live cluster
        self.verb = ""
        #: the server's answer; None if the object was not sent to it
        self.answer: Answer | None = None
        self.findings: list[Finding] = []
        #: for an object that was read from a server: what becomes of it as it is stored
        self.stored: Stored | None = None
        #: what comes to light only once the errors are fixed, at which the server stops
        self.afterwards: list[Finding] = []
        #: what it took to find them: values that were looked at
        self.effort = 0
        #: whether they were looked for, where the server stops at an error
        self.is_foretold = True

    @property
    def line(self) -> int:
        """The line on which the object begins; computed every time."""
        return self.source.line

    @property
    def valid(self) -> bool:
        """Whether there are no errors."""
        return not any(finding.severity == ERROR for finding in self.findings)

    @property
    def title(self) -> str:
        """The object by name: ``ResourceClaim default/gpu``."""
        if not self.kind:
            return f"document {self.document}"
        if not self.name:
            return self.kind
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"
