"""Finding one's way in the API model: which fields a place has, and which places have a field."""

from __future__ import annotations

from collections.abc import Iterator

from resourceapi.field_path import Path
from resourceapi.schema import Field, Schema, Struct, Type


def fields_of(schema: Schema, struct: Struct) -> Iterator[Field]:
    """The fields of a struct as they appear in JSON, those of embedded structs included."""
    for field in struct.fields:
        if field.inline:
            yield from fields_of(schema, schema[field.type.struct])
        else:
            yield field


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
            field = next((field for field in fields_of(schema, struct) if field.name == segment), None)
            if field is None:
                return None
            type = field.type
        elif type is not None and type.element is not None:
            type = type.element
        else:
            return None
        struct = schema[type.struct] if type.kind == "struct" and type.struct in schema else None
    return type


def structs_with(schema: Schema, kind: str, name: str) -> list[str]:
    """Where a kind has a struct with a field of this name: ``spec.devices.requests[].exactly``; empty for the kind itself."""
    found: list[str] = []
    if kind in schema:
        _collect(schema, schema[kind], name, "", set(), found)
    return found


def _collect(
    schema: Schema, struct: Struct, name: str, prefix: str, above: set[str], found: list[str]
) -> None:
    above = above | {struct.name}
    for field in fields_of(schema, struct):
        place = f"{prefix}.{field.name}" if prefix else field.name
        if field.name == name:
            found.append(prefix)
        type = field.type
        while type.element is not None:
            place += "[]" if type.kind == "list" else "[…]"
            type = type.element
        if type.kind == "struct" and type.struct in schema and type.struct not in above:
            _collect(schema, schema[type.struct], name, place, above, found)
