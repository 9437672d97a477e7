"""A Kubernetes object as a user wrote it: its value, and where in which file every part of it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from documents.errors import DocumentError
from documents.source import Path, Source, json_pointer
from documents.tree import has_repeated_keys

if TYPE_CHECKING:
    from documents.positions import Place, Positions
    from documents.splitting import Chunk


_SMALL = 12_000  # characters


class Document:
    """One Kubernetes object of a file.

    :ivar index: which document of its file, counted from 0; empty ones do not count.
    :ivar item: which item of a `kind: List` document, counted from 0, or None for an object of its own.
    :ivar listed_as: what kubectl calls the item of a list that it checks itself; "" for any other object.
    :ivar value: the object as kubectl sends it. Keys keep the order of the file (kubectl sends them sorted);
        an object in which a key is repeated is a RepeatedKeys.
    :ivar notices: what kubectl ignores here without a message, as DocumentErrors that are no errors.
    :ivar chunk: the part of the source that it was read from.

    Positions are worked out when first asked for. A path that the document lacks is answered with the
    nearest part around it that is there.
    """

    __slots__ = ("chunk", "index", "item", "listed_as", "notices", "source", "value")

    def __init__(self, source: Source, index: int, chunk: Chunk, value: dict[str, Any]) -> None:
        self.source = source
        self.index = index
        self.item: int | None = None
        self.listed_as = ""
        self.value = value
        self.notices: tuple[DocumentError, ...] = ()
        self.chunk = chunk

    @property
    def file(self) -> str:
        """The name of the file as the user gave it; `-` for standard input."""
        return self.source.file

    @property
    def line(self) -> int:
        """The line on which the object begins."""
        if self.item is not None:
            return self.locate(()).line
        return self.source.line_and_column(self.chunk.first_content(self.source.text))[0]

    @property
    def has_repeated_keys(self) -> bool:
        """Whether an object in the value is a RepeatedKeys."""
        return not self.chunk.is_simple and has_repeated_keys(self.value)

    @property
    def is_small(self) -> bool:
        """Whether the object certainly has no more than 84,000 bytes as JSON: a character becomes seven at most, but for aliases."""
        chunk = self.chunk
        return chunk.end - chunk.start <= _SMALL and (chunk.is_simple or chunk.is_json)

    @property
    def text(self) -> str:
        """The text of the document; "" if it is in a style in which all is what it looks like, without tags."""
        chunk = self.chunk
        return "" if chunk.is_simple or chunk.is_json else self.source.text[chunk.start : chunk.end]

    def locate(self, path: Path) -> Place:
        """Where the value at a path is written."""
        return self._located().value(self._from_root(path))

    def locate_key(self, path: Path) -> Place:
        """Where the key of a path is written; for an entry of a list the entry itself."""
        return self._located().key(self._from_root(path))

    def locate_in_scalar(self, path: Path, offset: int, length: int = 1) -> Place:
        """Where in the file a part of a string is: `offset` and `length` are code points of its value."""
        return self._located().in_scalar(self._from_root(path), offset, length)

    def written(self, path: Path) -> str:
        """How the value at a path is written, quotes included: `y` for true, say; "" where there is none."""
        return self._located().written(self._from_root(path))

    def tag(self, path: Path) -> str:
        """The tag of the value at a path, such as `!name`; "" if it has none."""
        return self._located().tag(self._from_root(path))

    def boolean_keys(self) -> list[tuple[Path, str, Place]]:
        """The keys that YAML takes for booleans, such as `on`: their paths, how and where they are written."""
        root = self._from_root(())
        return [
            (path[len(root) :], written, place)
            for path, written, place in self._located().boolean_keys()
            if path[: len(root)] == root
        ]

    def locate_repeated_keys(self) -> list[tuple[Path, Place, Place]]:
        """Every repeated key of this object: its path, its first place, and the place of the repetition."""
        root = self._from_root(())
        return [
            (path[len(root) :], first, again)
            for path, first, again in self._located().repeated_keys()
            if path[: len(root)] == root
        ]

    @property
    def json_text(self) -> str:
        """The object as JSON text, if the file has it so and not in a list; else ""."""
        if not self.chunk.is_json or self.item is not None:
            return ""
        return self.source.text[self.chunk.start : self.chunk.end]

    def lines_with(self, text: str) -> Iterator[int]:
        """The lines of the document that have a text in them, in order; those of a list are given for its first item only."""
        end = self.chunk.end
        at = self.source.text.find(text, self.chunk.start, end) if not self.item else -1
        while at >= 0:
            line, _ = self.source.line_and_column(at)
            yield line
            line_end = self.source.text.find("\n", at, end)
            at = self.source.text.find(text, line_end, end) if line_end >= 0 else -1

    def source_line(self, number: int) -> str:
        """The text of a line of the file, without its end."""
        return self.source.line(number)

    def json_pointer(self, path: Path) -> str:
        """The path from the root of the text's document as a JSON Pointer (RFC 6901)."""
        return json_pointer(self._from_root(path))

    def error(self, path: Path, message: str, hint: str = "") -> DocumentError:
        """A DocumentError at a path of this object."""
        place = self.locate(path)
        return DocumentError(self.file, place.line, place.column, message, hint)

    def list_item(self, item: int, value: dict[str, Any], listed_as: str) -> Document:
        """The document for one item of this one, which is a list."""
        document = Document(self.source, self.index, self.chunk, value)
        document.item = item
        document.listed_as = listed_as
        return document

    def _from_root(self, path: Path) -> Path:
        return path if self.item is None else ("items", self.item, *path)

    def _located(self) -> Positions:
        # Kept with the chunk: the items of a list share them.
        chunk = self.chunk
        if chunk.positions is None:
            from documents.positions import Positions

            chunk.positions = Positions(self.source, chunk.start, chunk.end, is_json=chunk.is_json)
        return chunk.positions
