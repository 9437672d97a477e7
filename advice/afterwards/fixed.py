"""An object whose first mistakes are fixed, with the places of its parts in the file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from advice.afterwards.edits import with_value
from resourceapi.field_errors import Path

if TYPE_CHECKING:
    from documents.errors import DocumentError
    from documents.manifest import Manifest
    from documents.positions import Place


class Move(NamedTuple):
    """A value that was put elsewhere: where it is now, and where it was."""

    now: Path
    before: Path


class Fixed:
    """Implements :class:`documents.manifest.Manifest` for an object that differs from the one in the file.

    :ivar value: the object; what it shares with the one in the file is not copied.
    """

    has_repeated_keys = False
    is_small = False
    json_text = ""
    text = ""
    notices: tuple[DocumentError, ...] = ()

    def __init__(self, manifest: Manifest, value: dict[str, Any], moves: tuple[Move, ...] = ()) -> None:
        self.value = value
        self._manifest = manifest
        self._moves = moves

    def with_moved(self, *moves: tuple[Path, Path, Any]) -> Fixed:
        """The object with values put elsewhere: their paths now and before, and what they are now."""
        value = self.value
        for now, _, moved in moves:
            value = with_value(value, now, moved)
        added = tuple(Move(now, before) for now, before, _ in moves)
        return Fixed(self._manifest, value, (*self._moves, *added))

    def with_value(self, path: Path, new: Any) -> Fixed:
        """The object with another value at a path."""
        return Fixed(self._manifest, with_value(self.value, path, new), self._moves)

    def with_object(self, value: dict[str, Any]) -> Fixed:
        """Another object with its parts in the same places."""
        return Fixed(self._manifest, value, self._moves)

    def put_since(self, before: Fixed) -> tuple[Path, ...]:
        """Where values have been put in this object that were elsewhere in an earlier one."""
        return tuple(move.now for move in self._moves[len(before._moves) :])

    def written_at(self, path: Path) -> Path:
        """Where in the file the value at a path is."""
        for now, before in reversed(self._moves):
            if path[: len(now)] == now:
                path = (*before, *path[len(now) :])
        return path

    @property
    def file(self) -> str:
        """The name of the file."""
        return self._manifest.file

    @property
    def index(self) -> int:
        """The number of the document in its file, from 0."""
        return self._manifest.index

    @property
    def line(self) -> int:
        """The line on which the object begins."""
        return self._manifest.line

    @property
    def listed_as(self) -> str:
        """What kubectl calls the item of a list that it checks itself."""
        return self._manifest.listed_as

    def locate(self, path: Path) -> Place:
        """The position of a value."""
        return self._manifest.locate(self.written_at(path))

    def locate_key(self, path: Path) -> Place:
        """The position of a value's key."""
        return self._manifest.locate_key(self.written_at(path))

    def locate_in_scalar(self, path: Path, offset: int, length: int = 1) -> Place:
        """The position of some characters of a string."""
        return self._manifest.locate_in_scalar(self.written_at(path), offset, length)

    def written(self, path: Path) -> str:
        """A value as it is written in the file."""
        return self._manifest.written(self.written_at(path))

    def tag(self, path: Path) -> str:
        """None: what tags do has been told of the object in the file."""
        return ""

    def boolean_keys(self) -> list[tuple[Path, str, Place]]:
        """None: they have been told of the object in the file."""
        return []

    def locate_repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        """None: the file's own object has them."""
        return []

    def lines_with(self, text: str) -> Iterator[int]:
        """None: what is written in them has been told of the object in the file."""
        return iter(())

    def source_line(self, number: int) -> str:
        """A line of the file."""
        return self._manifest.source_line(number)

    def json_pointer(self, path: Path) -> str:
        """A path as JSON pointer (RFC 6901) into the document."""
        return self._manifest.json_pointer(self.written_at(path))
