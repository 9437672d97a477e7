"""An object whose first mistakes are fixed, with the places of its parts in the file.

What belongs elsewhere is put there where only one place is possible: what is in it will be read there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from advice.afterwards.gaps import REMOVED, TooManyGuessesError, free_places, is_in_another_entry, with_value
from advice.hints.schema_walk import struct_at, type_at
from documents.manifest import Unwritten
from resourceapi.decoding import fields_of, is_readable
from resourceapi.field_errors import Key, Path
from resourceapi.manifests import value_at
from resourceapi.phrases import nearest
from resourceapi.schema import Schema, Struct, Type

if TYPE_CHECKING:
    from documents.manifest import Manifest
    from documents.positions import Place


class Move(NamedTuple):
    """A value that was put elsewhere: where it is now, and where it was."""

    now: Path
    before: Path


class Fixed(Unwritten):
    """An object that differs from the one in the file; what it shares with that is not copied.

    Whatever else there is to say of the file has been told of the object in it.
    """

    def __init__(self, manifest: Manifest, value: dict[str, Any]) -> None:
        super().__init__(manifest.file, value, manifest.index)
        self.line = manifest.line
        self.listed_as = manifest.listed_as
        self._manifest = manifest
        self._moves: tuple[Move, ...] = ()

    def with_moved(self, *moves: tuple[Path, Path, Any]) -> Self:
        """The object with values put elsewhere: their paths now and before, and what they are now."""
        value = self.value
        for now, _, moved in moves:
            value = with_value(value, now, moved)
        other = self.with_value(value)
        other._moves = (*self._moves, *(Move(now, before) for now, before, _ in moves))
        return other

    def with_value_at(self, path: Path, new: Any) -> Self:
        """The object with another value at a path."""
        return self.with_value(with_value(self.value, path, new))

    def put_since(self, before: Fixed) -> tuple[Path, ...]:
        """Where values have been put in this object that were elsewhere in an earlier one."""
        return tuple(move.now for move in self._moves[len(before._moves) :])

    def written_at(self, path: Path) -> Path:
        """Where in the file the value at a path is."""
        for now, before in reversed(self._moves):
            if path[: len(now)] == now:
                path = (*before, *path[len(now) :])
        return path

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

    def source_line(self, number: int) -> str:
        """A line of the file."""
        return self._manifest.source_line(number)

    def json_pointer(self, path: Path) -> str:
        """A path as JSON pointer (RFC 6901) into the document."""
        return self._manifest.json_pointer(self.written_at(path))


# Fields that other versions or other kinds have around those of a struct.
_WRAPPERS = frozenset(("basic", "exactly", "source", "spec"))


def rename(fixed: Fixed, schema: Schema, kind: str, path: Path) -> Fixed | None:
    """The object with an unknown field under the one name next to it that its letters and its value can mean."""
    around, name = path[:-1], str(path[-1])
    struct, value = struct_at(schema, kind, around), value_at(fixed.value, path)
    free = _free_fields(schema, struct, value_at(fixed.value, around))
    if struct is None:
        return None
    names = list(fields_of(schema, struct.name))
    meant = nearest(name, names)
    if meant not in free or nearest(name, (other for other in names if other != meant)):
        return None
    if not is_readable(schema, free[meant], value):
        return None
    return fixed.with_value_at(path, REMOVED).with_moved(((*around, meant), path, value))


def indent(fixed: Fixed, schema: Schema, kind: str, path: Path) -> Fixed | None:
    """The object with an unknown field in the one struct beside it, or around its own, that has such a field.

    None if the value could be that of a field in its own struct, whose name would be wrong then.
    """
    value = value_at(fixed.value, path)
    taken_away = fixed.with_value_at(path, REMOVED)
    try:
        place = _only_place(taken_away.value, schema, kind, path, value)
    except TooManyGuessesError:
        return None
    free = _free_fields(schema, struct_at(schema, kind, path[:-1]), value_at(taken_away.value, path[:-1]))
    if place is None or any(is_readable(schema, each, value) for each in free.values()):
        return None
    type = type_at(schema, kind, place)
    if type is None or not is_readable(schema, type, value):
        return None
    return taken_away.with_moved((place, path, value))


def unwrap(fixed: Fixed, schema: Schema, kind: str, path: Path) -> Fixed | None:
    """The object without a struct around fields that belong to the struct around it."""
    around, value = path[:-1], value_at(fixed.value, path)
    if path[-1] not in _WRAPPERS or not isinstance(value, dict) or not value:
        return None
    free = _free_fields(schema, struct_at(schema, kind, around), value_at(fixed.value, around))
    if not all(key in free and is_readable(schema, free[key], member) for key, member in value.items()):
        return None
    taken_away = fixed.with_value_at(path, REMOVED)
    return taken_away.with_moved(*(((*around, key), (*path, key), value[key]) for key in value))


def reshape(fixed: Fixed, schema: Schema, kind: str, path: Path) -> Fixed | None:
    """The object with a value of the wrong type in the shape that was meant: a list around it, or none, or a field.

    :returns: None where its shape is not what is wrong.
    """
    type, value = type_at(schema, kind, path), value_at(fixed.value, path)
    if type is None:
        return None
    if type.kind == "struct":
        if type.struct == "CELDeviceSelector" and isinstance(value, str):
            return fixed.with_value_at(path, {}).with_moved(((*path, "expression"), path, value))
        if isinstance(value, list) and len(value) == 1 and _is_like(schema, type, value[0]):
            return fixed.with_moved((path, (*path, 0), value[0]))
    element = type.element
    if type.kind == "list" and element is not None and _is_like(schema, element, value):
        return fixed.with_value_at(path, [None]).with_moved(((*path, 0), path, value))
    return None


def _only_place(obj: Any, schema: Schema, kind: str, path: Path, value: Any) -> Path | None:
    """Where an unknown field could stand if only its indentation is wrong, if that is but one place.

    Further away is no matter of indentation, but tells that the field can be meant otherwise: then there is none.

    :raises TooManyGuessesError: if fields of such a name could be in too many places.
    """
    around = path[:-1]
    outer = around[:-1]
    while outer and isinstance(outer[-1], int):
        outer = outer[:-2]
    near: list[Path] = []
    for place, _ in free_places(schema, kind, obj, str(path[-1]), value):
        is_next_to_it = outer in (place[:-1], place[:-2]) or around in (place[:-1], place[:-2])
        if type(place[-1]) is Key:
            if is_next_to_it:
                return None
        elif place[-1] == path[-1] and (
            not is_in_another_entry(place, around) or isinstance(value_at(obj, place[:-1]), dict)
        ):
            if place[:-1] != outer and place[:-2] != around:
                return None
            near.append(place)
    return near[0] if len(near) == 1 else None


def _free_fields(schema: Schema, struct: Struct | None, holder: Any) -> dict[str, Type]:
    if struct is None or not isinstance(holder, dict):
        return {}
    fields = fields_of(schema, struct.name)
    return {name: field.type for name, field in fields.items() if holder.get(name) is None}


def _is_like(schema: Schema, type: Type, value: Any) -> bool:
    """Whether a value looks like a struct of the type, wrong though it may be."""
    if type.kind != "struct" or type.struct not in schema or not isinstance(value, dict):
        return False
    return not value.keys().isdisjoint(fields_of(schema, type.struct))
