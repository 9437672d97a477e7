"""Values that can be decoded as a type of the API."""

from __future__ import annotations

from typing import Any, NamedTuple

from advice.hints.schema_walk import fields_of
from resourceapi.schema import Schema, Type

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
                field.name: filled(schema, field.type, scalars, levels - 1)
                for field in fields_of(schema, schema[type.struct])
            }
        case _:
            return {}


def empty(type: Type) -> Any:
    """The value of a type with nothing in it."""
    if type.kind == "list":
        return []
    return {} if type.kind in ("struct", "map") else filled(NO_STRUCTS, type, Scalars("", 0, False, "0"))
