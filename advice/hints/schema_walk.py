"""Finding one's way in the API model: which fields a place has, and which places have a field."""

from __future__ import annotations

from typing import Any, NamedTuple

from resourceapi.decoding import fields_of
from resourceapi.field_errors import Path
from resourceapi.schema import Schema, Struct, Type


def struct_at(schema: Schema, kind: str, path: Path) -> Struct | None:
    """The struct at a path of an object, or None where there is something else or nothing."""
    if kind not in schema:
        return None
    type = type_at(schema, kind, path) if path else None
    if not path:
        return schema[kind]
    if type is None or type.kind != "struct" or type.struct not in schema:
        return None
    return schema[type.struct]


def type_at(schema: Schema, kind: str, path: Path) -> Type | None:
    """The type of the value at a path of an object, or None if the model has no such place."""
    if kind not in schema:
        return None
    struct: Struct | None = schema[kind]
    type: Type | None = None
    for segment in path:
        if struct is not None:
            field = fields_of(schema, struct.name).get(segment) if isinstance(segment, str) else None
            if field is None:
                return None
            type = field.type
        elif type is not None and type.element is not None:
            type = type.element
        else:
            return None
        struct = schema[type.struct] if type.kind == "struct" and type.struct in schema else None
    return type


def fits(value: Any, type: Type) -> bool:
    """Whether a value could be of a type, as far as lists, mappings and texts go."""
    if isinstance(value, list):
        return type.kind == "list" and all(fits(entry, type.element) for entry in value[:1] if type.element)
    if isinstance(value, dict):
        return type.kind in ("struct", "map", "raw", "any")
    return type.kind not in ("struct", "map", "list")


class Home(NamedTuple):
    """A struct of a kind that has a field of some name.

    :param path: where the struct is; "[]" stands for any index, and "[…]" for any key
    :param type: the type of the field
    """

    path: tuple[str, ...]
    type: Type


ANY_INDEX, ANY_KEY = "[]", "[…]"


def structs_with(schema: Schema, kind: str, name: str) -> list[Home]:
    """The structs of a kind that have a field of this name."""
    found: list[Home] = []
    if kind in schema:
        _collect(schema, schema[kind], name, (), set(), found)
    return found


def _collect(
    schema: Schema, struct: Struct, name: str, path: tuple[str, ...], above: set[str], found: list[Home]
) -> None:
    above = above | {struct.name}
    for field in fields_of(schema, struct.name).values():
        type = field.type
        if field.name == name:
            found.append(Home(path, type))
        inner = (*path, field.name)
        while type.element is not None:
            inner = (*inner, ANY_INDEX if type.kind == "list" else ANY_KEY)
            type = type.element
        if type.kind == "struct" and type.struct in schema and type.struct not in above:
            _collect(schema, schema[type.struct], name, inner, above, found)
