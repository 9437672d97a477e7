"""What every object of the input offers, whether it comes from a file or from a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Protocol, Self, TypeVar

from documents.errors import DocumentError
from documents.positions import Place
from documents.source import Path, json_pointer


class Manifest(Protocol):
    """One object of the input: a :class:`documents.Document`, or an object of a cluster, which has no lines."""

    @property
    def file(self) -> str:
        """The file, or the cluster's name for the object."""

    @property
    def index(self) -> int:
        """The number of the document in its file, from 0."""

    @property
    def line(self) -> int:
        """The line on which the object begins; 0 for one without a file."""

    @property
    def value(self) -> dict[str, Any]:
        """The object."""

    @property
    def listed_as(self) -> str:
        """What kubectl calls the item of a list that it checks itself; "" for any other object."""

    @property
    def notices(self) -> tuple[DocumentError, ...]:
        """What kubectl ignores without a message."""

    @property
    def has_repeated_keys(self) -> bool:
        """Whether a mapping has a key twice."""

    @property
    def is_small(self) -> bool:
        """Whether the object certainly has no more than 84,000 bytes as JSON."""

    @property
    def json_text(self) -> str:
        """The object as JSON text, if the file has it so; else ""."""

    @property
    def text(self) -> str:
        """The text of the document; empty if in it all is what it looks like, as in JSON."""

    def locate(self, path: Path) -> Place:
        """The position of a value."""

    def locate_key(self, path: Path) -> Place:
        """The position of a value's key."""

    def locate_in_scalar(self, path: Path, offset: int, length: int = 1) -> Place:
        """The position of some characters of a string."""

    def written(self, path: Path) -> str:
        """A value as it is written in the file."""

    def tag(self, path: Path) -> str:
        """The tag of a value; empty if it has none."""

    def boolean_keys(self) -> list[tuple[Path, str, Place]]:
        """The keys that YAML takes for booleans, such as ``on``: their paths, how and where they are written."""

    def locate_repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        """The keys that repeat an earlier one: path, first position, position of the repetition."""

    def lines_with(self, text: str) -> Iterator[int]:
        """The lines that have a text in them."""

    def source_line(self, number: int) -> str:
        """A line of the file."""

    def json_pointer(self, path: Path) -> str:
        """A path as JSON pointer (RFC 6901) into the document."""


# Objects that nobody has written into a file: those of a cluster, and of a Python program.

_NOWHERE = Place(0, 0, 1, exact=False)
Same = TypeVar("Same", bound="Unwritten")


class Unwritten:
    """Implements :class:`Manifest`; there are no lines.

    :ivar file: what messages call it.
    """

    line = 0
    json_text = ""
    text = ""
    listed_as = ""
    notices: tuple[DocumentError, ...] = ()
    has_repeated_keys = False
    is_small = False

    def __init__(self, file: str, value: dict[str, Any], index: int = 0) -> None:
        self.file = file
        self.value = value
        self.index = index

    def with_value(self, value: dict[str, Any]) -> Self:
        """The same object in another version."""
        other = copy(self)
        other.value = value
        return other

    def locate(self, path: Path) -> Place:
        """No position."""
        return _NOWHERE

    locate_key = locate

    def locate_in_scalar(self, path: Path, offset: int, length: int = 1) -> Place:
        """No position."""
        return _NOWHERE

    def written(self, path: Path) -> str:
        """Nothing: nobody has written it."""
        return ""

    def tag(self, path: Path) -> str:
        """None: values have no tags."""
        return ""

    def boolean_keys(self) -> list[tuple[Path, str, Place]]:
        """None: the keys of JSON are strings."""
        return []

    def locate_repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        """None: a mapping has no key twice."""
        return []

    def lines_with(self, text: str) -> Iterator[int]:
        """No lines."""
        return iter(())

    def source_line(self, number: int) -> str:
        """No line."""
        return ""

    def json_pointer(self, path: Path) -> str:
        """A path as JSON pointer (RFC 6901) into the object."""
        return json_pointer(path)
