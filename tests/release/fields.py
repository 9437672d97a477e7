"""The fields of `resource.k8s.io`: as a server's OpenAPI documents have them, and as the model has them, in the same words.

By version, struct and field a text: its type (`[]DeviceTaint`, `map[]quantity`), then `enum(…)`, `keys(…)` or `set` (how
clients that merge tell the entries of a list apart) and `default(…)`, as far as it has them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from resourceapi.kinds import KINDS
from resourceapi.model.versions import GROUP, schemas_in
from resourceapi.schema import Field, Schema, Type

Fields = dict[str, dict[str, dict[str, str]]]

_REFERENCE = "#/components/schemas/"
_OWN = f"io.k8s.api.{GROUP.partition('.')[0]}."
_ENVELOPE = ("apiVersion", "kind")
#: What the documents and the model call types that are no structs of the group.
_NAMES = {
    "Quantity": "quantity",
    "Time": "time",
    "RawExtension": "raw",
    "boolean": "bool",
    "integer int64": "int64",
    "integer int32": "int32",
}


def documented(documents: Mapping[str, Any]) -> Fields:
    """The fields by the OpenAPI document of each version."""
    return {version: _structs(version, document) for version, document in documents.items()}


def _structs(version: str, document: Any) -> dict[str, dict[str, str]]:
    found = {}
    for name, schema in sorted(document["components"]["schemas"].items()):
        struct = name.removeprefix(f"{_OWN}{version}.")
        if struct != name and "properties" in schema and "items" not in schema["properties"]:
            found[struct] = {
                field: _documented(property)
                for field, property in sorted(schema["properties"].items())
                if field not in _ENVELOPE
            }
    return found


def _documented(schema: Mapping[str, Any]) -> str:
    texts = [_documented_type(schema)]
    if "enum" in schema:
        texts.append(f"enum({', '.join(sorted(schema['enum']))})")
    if schema.get("x-kubernetes-list-type") == "map":
        texts.append(f"keys({', '.join(schema['x-kubernetes-list-map-keys'])})")
    elif schema.get("x-kubernetes-list-type") == "set":
        texts.append("set")
    if schema.get("default") not in (None, "", {}, 0, False):
        texts.append(f"default({json.dumps(schema['default'])})")
    return " ".join(texts)


def _documented_type(schema: Mapping[str, Any]) -> str:
    for each in (schema, *schema.get("allOf", ())):
        if "$ref" in each:
            name: str = each["$ref"].removeprefix(_REFERENCE).rpartition(".")[2]
            return _NAMES.get(name, name)
    kind: str = schema["type"]
    if kind == "array":
        return "[]" + _documented_type(schema["items"])
    if kind == "object":
        return "map[]" + _documented_type(schema["additionalProperties"])
    kind = f"{kind} {schema.get('format', '')}".strip()
    return _NAMES.get(kind, kind)


def modelled(minor: int) -> Fields:
    """The fields by the model of release 1.`minor`, from the kinds that it has in each version on."""
    found: Fields = {}
    for kind in KINDS.values():
        for version in (*kind.versions, *kind.former):
            if kind.served(version, minor):
                _add(found.setdefault(version, {}), schemas_in(minor)[version], kind.name)
    return found


def _add(structs: dict[str, dict[str, str]], schema: Schema, name: str) -> None:
    """A struct, and those within it, unless they are of another group."""
    if name in structs or name in _FOREIGN:
        return
    fields = structs[name] = {}
    for field in _fields(schema, name):
        fields[field.name] = _modelled(field)
        if field.type.struct_within:
            _add(structs, schema, field.type.struct_within)
    structs[name] = dict(sorted(fields.items()))


_FOREIGN = ("ObjectMeta", "Condition", "NodeSelector")


def _fields(schema: Schema, name: str) -> list[Field]:
    found: list[Field] = []
    for field in schema[name].fields:
        if field.inline:
            found += _fields(schema, field.type.struct)
        elif field.name not in _ENVELOPE:
            found.append(field)
    return found


def _modelled(field: Field) -> str:
    texts = [_modelled_type(field.type)]
    if field.type.enum:
        texts.append(f"enum({', '.join(sorted(field.type.enum))})")
    if field.list_keys:
        texts.append(f"keys({', '.join(field.list_keys)})")
    elif field.is_set:
        texts.append("set")
    if isinstance(field.default, str | int | bool) and field.default not in ("", 0, False):
        texts.append(f"default({json.dumps(field.default)})")
    return " ".join(texts)


def _modelled_type(type: Type) -> str:
    if type.kind == "struct":
        return type.struct
    if type.element is None:
        return type.kind
    return ("[]" if type.kind == "list" else "map[]") + _modelled_type(type.element)
