"""Structural OpenAPI schemas of the API, as CustomResourceDefinitions want them.

They say of what shape an object is, not what must hold for its values: that is for validation, in its own words.  So
nothing is required, and texts have no formats.  A null is allowed everywhere: to the built-in API it is an empty value,
which it judges like any other, and some empty lists it returns as null.  Only entries that clients merge are never null, as
API servers forbid that.
"""

from __future__ import annotations

from collections.abc import Sequence

from resourceapi.objects import Object
from resourceapi.schema import Field, Schema, Type

_SCALARS: dict[str, Object] = {
    "string": {"type": "string"},
    "time": {"type": "string"},
    "bool": {"type": "boolean"},
    "int64": {"type": "integer", "format": "int64"},
    "int32": {"type": "integer", "format": "int32"},
    # texts and numbers of all kinds; the API server's own type for that knows integers only
    "quantity": {"x-kubernetes-preserve-unknown-fields": True},
    "raw": {"x-kubernetes-preserve-unknown-fields": True},
}


def struct_schema(schema: Schema, name: str) -> Object:
    """The schema of a struct of a version."""
    result: Object = {"type": "object", "properties": _properties(schema, name)}
    if schema[name].atomic:
        result["x-kubernetes-map-type"] = "atomic"
    return result


def _properties(schema: Schema, name: str) -> Object:
    properties: Object = {}
    for field in schema[name].fields:
        if field.inline:
            properties.update(_properties(schema, field.type.struct))
        else:
            properties[field.name] = _field_schema(schema, field)
    return properties


def _field_schema(schema: Schema, field: Field) -> Object:
    result = _type_schema(schema, field.type)
    if field.type.kind == "list":
        result["x-kubernetes-list-type"] = "atomic"
        if field.list_keys:
            result["x-kubernetes-list-type"] = "map"
            result["x-kubernetes-list-map-keys"] = list(field.list_keys)
            _make_map(result["items"], field.list_keys)
        elif field.is_set:
            result["x-kubernetes-list-type"] = "set"
            del result["items"]["nullable"]
    return result


def _make_map(items: Object, keys: Sequence[str]) -> None:
    """Entries that are told apart by keys: a key must be there or be filled in, and the API server allows no null."""
    del items["nullable"]
    for key in keys:
        del items["properties"][key]["nullable"]
        items["properties"][key]["default"] = ""


def _type_schema(schema: Schema, of: Type) -> Object:
    return {**_not_null(schema, of), "nullable": True}


def _not_null(schema: Schema, of: Type) -> Object:
    if of.kind == "struct":
        return struct_schema(schema, of.struct)
    if of.element is None:
        return dict(_SCALARS[of.kind])
    element = _type_schema(schema, of.element)
    if of.kind == "list":
        return {"type": "array", "items": element}
    return {"type": "object", "additionalProperties": element}
