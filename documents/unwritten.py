"""Objects that nobody has written into a file: those of a cluster, and of a Python program."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from typing import Any, Self, TypeVar

from documents.errors import DocumentError
from documents.positions import Place
from documents.source import Path, json_pointer

_NOWHERE = Place(0, 0, 1, exact=False)
Same = TypeVar("Same", bound="Unwritten")


class Unwritten:
    """Implements :class:`documents.manifest.Manifest`; there are no lines.

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
