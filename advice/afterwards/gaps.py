"""Where an object does not say what it means: which values could be there once the mistake is fixed.

Fixed objects are changed copies of plain data; what does not change is shared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from typing import Any, NamedTuple

from advice.hints.schema_walk import struct_at, type_at
from resourceapi.decoding import fields_of, is_readable
from resourceapi.field_errors import Key, Path
from resourceapi.manifests import MISSING, value_at
from resourceapi.phrases import nearest
from resourceapi.schema import QUANTITY, Field, Schema, Type, ref

#: As a new value: the field is removed. An entry of a list becomes null instead, so that the others keep their places.
REMOVED: Any = type("Removed", (), {"__repr__": lambda self: "<removed>"})()
# Checking this many characters takes about as long as checking one more value.
_CHARACTERS = 20


def with_value(value: Any, path: Path, new: Any) -> Any:
    """The data with another value at a path, whose parents are made where there are none."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        if not isinstance(value, list) or step >= len(value):
            return value  # it has been moved away
        items = list(value)
        items[step] = None if new is REMOVED and not rest else with_value(items[step], rest, new)
        return items
    members = dict(value) if isinstance(value, dict) else {}
    if new is REMOVED and not rest:
        members.pop(step, None)
    else:
        members[step] = with_value(members.get(step), rest, new)
    return members


def size_of(value: Any) -> int:
    """How large some data are: the number of values, and a part for so many characters."""
    count, pending = 0, [value]
    while pending:
        found = pending.pop()
        count += 1
        if isinstance(found, dict):
            pending += found.values()
        elif isinstance(found, list):
            pending += found
        elif isinstance(found, str):
            count += len(found) // _CHARACTERS
    return count


#: For types that are no structs.
NO_STRUCTS = Schema("v1", ())
_MOST_LEVELS = 5


class Scalars(NamedTuple):
    """What all scalars of a value are: one of each type."""

    text: str = "unheard-of"
    number: int = 1
    truth: bool = True
    quantity: str = "1"


def filled(schema: Schema, type: Type, scalars: Scalars, levels: int = _MOST_LEVELS) -> Any:
    """A value of a type in which every field is set, every list and map has one entry, down to some levels."""
    match type.kind:
        case "string":
            return scalars.text
        case "bool":
            return scalars.truth
        case "int64" | "int32" | "intorstring":
            return scalars.number
        case "quantity":
            return scalars.quantity
        case "time" | "microtime":
            return "2000-01-01T00:00:00Z"
        case "list" if type.element is not None:
            return [filled(schema, type.element, scalars, levels)]
        case "map" if type.element is not None:
            return {scalars.text: filled(schema, type.element, scalars, levels)}
        case "struct":
            if levels == 0 or type.struct not in schema:
                return {}
            return {
                name: filled(schema, field.type, scalars, levels - 1)
                for name, field in fields_of(schema, type.struct).items()
            }
        case _:
            return {}


def empty(type: Type) -> Any:
    """The value of a type with nothing in it."""
    if type.kind == "list":
        return []
    return {} if type.kind in ("struct", "map") else filled(NO_STRUCTS, type, Scalars("", 0, False, "0"))


# What a gap can be fixed to: a changed copy of an object.
Guess = Callable[[Any], Any]

# Structs that are often written as the only value in them, with its field by the value's type.
_PLAIN: dict[str, dict[type, str]] = {
    "DeviceAttribute": {str: "string", int: "int", bool: "bool"},
    "DeviceCapacity": {str: "value", int: "value", float: "value"},
    "Counter": {str: "value", int: "value", float: "value"},
}
_MOST_PLACES = 200
_MOST_PLACES_ALONE = 8


class TooManyGuessesError(Exception):
    """A mistake could be meant in more ways than can be tried."""


def most_likely_value(schema: Schema, kind: str, path: Path, before: Any) -> Guess:
    """What is most likely meant by a value of the wrong type: the same in another notation, or nothing.

    :param before: the object with the value.
    """
    type = type_at(schema, kind, path)
    likely = MISSING if type is None else _converted(type, value_at(before, path))
    return _setting(path, REMOVED if likely is MISSING else likely)


def of_value(schema: Schema, kind: str, path: Path, before: Any, obj: Any, texts: list[str]) -> list[Guess]:
    """What could be meant by a value of the wrong type; the first guess is the most likely.

    It may also be right, and stand in the place of another field.

    :param before: the object with the value.
    :param obj: the object without it.
    :param texts: texts that other parts of the object may refer to.
    :raises TooManyGuessesError: if fields of such a name could be in too many places.
    """
    type, value = type_at(schema, kind, path), value_at(before, path)
    if type is None:
        return [_setting(path, REMOVED)]
    likely = _converted(type, value)
    values = [REMOVED, empty(type), *type.enum]
    values += [
        filled(schema, type, Scalars(text, number, truth, quantity))
        for text, number, truth, quantity in zip(
            [Scalars().text, *texts],
            cycle((1, 2, 1000)),
            cycle((True, False)),
            cycle(("1", "1Ti")),
            strict=False,
        )
    ]
    values += _of_texts(type, texts)
    if type.kind == "map" and type.element is not None:
        element = filled(schema, type.element, Scalars())
        values.append(dict.fromkeys(_keys_nearby(obj, path), element))
    if likely is not MISSING:
        values.insert(0, likely)
    return [*(_setting(path, new) for new in values), *_elsewhere(schema, kind, path, before, obj)]


def of_unknown_field(
    schema: Schema, kind: str, path: Path, before: Any, obj: Any, texts: list[str]
) -> list[Guess]:
    """What could be meant by a field that does not exist; the first guess is nothing.

    :param before: the object with the field.
    :param obj: the object without it.
    :param texts: texts that other parts of the object may refer to.
    :raises TooManyGuessesError: if fields of such a name could be in too many places.
    """
    around, value = path[:-1], value_at(before, path)
    guesses: list[Guess] = [lambda obj: obj]
    free = _free(schema, kind, path, obj)
    for text in (Scalars().text, *texts):
        everything = {field.name: filled(schema, field.type, Scalars(text)) for field in free}
        guesses.append(_adding(around, everything))
    if isinstance(value, dict):
        known = {field.name for field in free}
        inner = {key: member for key, member in value.items() if key in known}
        guesses.append(_adding(around, inner))
    return [*guesses, *_elsewhere(schema, kind, path, before, obj)]


def after_removing(places: tuple[Path, ...], guess: Guess) -> Guess:
    """A guess for an object in which something is at these places."""
    return _all(*(_setting(place, REMOVED) for place in places), guess)


def _elsewhere(schema: Schema, kind: str, path: Path, before: Any, obj: Any) -> list[Guess]:
    """What an object could be if a value belongs to another field: one next to it, or one of that name."""
    value = value_at(before, path)
    guesses = [_setting((*path[:-1], field.name), value) for field in _free(schema, kind, path, obj, value)]
    if entry := _map_entry(path):  # its key may be misplaced, too
        guesses.append(_setting(entry, REMOVED))
    field = path
    while field and isinstance(field[-1], int):  # all of a list may be misplaced in which nothing is right
        field = field[:-1]
        type, entries = type_at(schema, kind, field), value_at(before, field)
        if type is None or type.element is None or not isinstance(entries, list):
            return guesses
        if any(is_readable(schema, type.element, entry) for entry in entries):
            return guesses
    if not field:
        return guesses
    listed = value_at(before, field)
    taken_away = with_value(obj, field, REMOVED)
    fitting = [
        (place, listed if is_readable(schema, type, listed) else filled(schema, type, Scalars()))
        for place, type in free_places(schema, kind, taken_away, str(field[-1]), listed)
        if place != field and not is_in_another_entry(place, field)
    ]
    removed = _setting(field, REMOVED)
    guesses += [_all(removed, _setting(place, moved)) for place, moved in fitting[:_MOST_PLACES_ALONE]]
    return [*guesses, _all(removed, *(_setting(place, moved) for place, moved in fitting))]


def is_in_another_entry(place: Path, path: Path) -> bool:
    """Whether two paths part at the entries of a list or map: what is in one entry is hardly meant for another."""
    parting = next((pair for pair in zip(place, path, strict=False) if pair[0] != pair[1]), None)
    return parting is not None and (isinstance(parting[0], int) or type(parting[0]) is Key)


def _map_entry(path: Path) -> Path:
    """The innermost entry of a map around a path, or an empty path."""
    while path and type(path[-1]) is not Key:
        path = path[:-1]
    return path


def _free(schema: Schema, kind: str, path: Path, obj: Any, value: Any = None) -> list[Field]:
    """The fields next to a path that are not set, or those that can have a value."""
    struct, holder = struct_at(schema, kind, path[:-1]), value_at(obj, path[:-1])
    if struct is None or not isinstance(holder, dict):
        return []
    return [
        field
        for field in fields_of(schema, struct.name).values()
        if holder.get(field.name) is None and field.name != path[-1]
        if value is None or is_readable(schema, field.type, value)
    ]


def _setting(path: Path, new: Any) -> Guess:
    return lambda obj: with_value(obj, path, new)


def _adding(around: Path, members: dict[str, Any]) -> Guess:
    def guess(obj: Any) -> Any:
        found = value_at(obj, around)
        return with_value(obj, around, {**found, **members}) if isinstance(found, dict) else obj

    return guess


def _all(*guesses: Guess) -> Guess:
    def guess(obj: Any) -> Any:
        for each in guesses:
            obj = each(obj)
        return obj

    return guess


def _of_texts(type: Type, texts: list[str]) -> list[Any]:
    """The texts as numbers, where numbers are wanted."""
    numbers = [text for text in texts if is_readable(NO_STRUCTS, QUANTITY, text)]
    if type.kind == "quantity":
        return list(numbers)
    if type.kind in ("int64", "int32", "intorstring"):
        return [int(text) for text in numbers if text.removeprefix("-").isdecimal() and len(text) < 10]
    return []


def _keys_nearby(obj: Any, path: Path) -> set[str]:
    """The keys of the maps next to a path: of limits and requests, for example, the one may need those of the other."""
    around = value_at(obj, path[:-1])
    members = around.values() if isinstance(around, dict) else ()
    return {key for member in members if isinstance(member, dict) for key in member}


def _converted(type: Type, value: Any) -> Any:
    """A scalar as the type that was wanted: `2` for `"2"`."""
    if type.kind == "string" and isinstance(value, (bool, int, float)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if type.kind in ("int64", "int32") and isinstance(value, str):
        bare = value.strip()
        return int(bare) if bare.removeprefix("-").isdecimal() and len(bare) < 10 else MISSING
    if type.kind == "bool" and value in ("true", "false"):
        return value == "true"
    if type.kind == "string" and isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if type.kind == "list" and isinstance(value, str) and type.element is not None:
        return [value] if type.element.kind == "string" else MISSING
    field = _PLAIN.get(type.struct, {}).get(value.__class__) if type.kind == "struct" else None
    return MISSING if field is None else {field: value}


def free_places(schema: Schema, kind: str, obj: Any, name: str, value: Any) -> Iterator[tuple[Path, Type]]:
    """Where in an object a field of this name, or nearly, is not set, also in structs that are not set.

    :param value: the field's; a map of such values can have it under any name.
    :raises TooManyGuessesError: if there are too many.
    """
    count = 0
    meant: dict[str, list[Field]] = {}
    pending: list[_Part] = [_Part((), ref(kind), obj, 2)]
    while pending:
        part = pending.pop()
        places = []
        if part.type.kind == "map" and part.type.element is not None:
            if name not in (part.value or ()) and is_readable(schema, part.type.element, value):
                places.append(((*part.path, Key(name)), part.type.element))
        elif part.type.kind == "struct":
            struct = part.type.struct
            if struct not in meant:
                meant[struct] = _fields_meant_by(schema, struct, name)
            for field in meant[struct]:
                if not isinstance(part.value, dict) or part.value.get(field.name) is None:
                    places.append(((*part.path, field.name), field.type))
        count += len(places)
        if count > _MOST_PLACES:
            raise TooManyGuessesError
        yield from places
        pending += _parts(schema, part)


def _fields_meant_by(schema: Schema, struct: str, name: str) -> list[Field]:
    """The fields of a struct that have a name, or nearly."""
    return [
        field
        for other, field in fields_of(schema, struct).items()
        if other == name or nearest(name, (other,))
    ]


class _Part(NamedTuple):
    """A part of an object, or of what it does not have, down to some levels below what is there."""

    path: Path
    type: Type
    value: Any
    levels: int


def _parts(schema: Schema, part: _Part) -> Iterator[_Part]:
    """The parts of a part that can have fields."""
    path, type, value, levels = part
    if type.kind == "struct":
        for field in fields_of(schema, type.struct).values():
            member = value.get(field.name) if isinstance(value, dict) else None
            below = levels if member is not None else levels - 1
            if below >= 0 and (member is not None or field.type.kind in ("struct", "map")):
                yield from _readable(schema, _Part((*path, field.name), field.type, member, below))
    elif type.element is not None:
        items: Iterable[tuple[str | int, Any]] = ()
        if isinstance(value, list):
            items = enumerate(value)
        elif isinstance(value, dict):
            items = ((Key(key), item) for key, item in value.items())
        for key, item in items:
            yield from _readable(schema, _Part((*path, key), type.element, item, min(levels, 1)))


def _readable(schema: Schema, part: _Part) -> Iterator[_Part]:
    """The part, if its value is of its type."""
    is_right = isinstance(part.value, list if part.type.kind == "list" else dict) or part.value is None
    if is_right and (part.type.element is not None or part.type.struct in schema):
        yield part
