"""Random objects of any kind and version, made from the API model: every field of it turns up sooner or later.

They decode, as every value has its field's type, and break about any rule, as nothing else about them is coordinated.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from resourceapi.model.versions import GROUP, SCHEMAS
from resourceapi.schema import Field, Schema, Type

_NAMES = (
    "a",
    "main",
    "sub",
    "main/sub",
    "gpu.example.com",
    "node-a",
    "pool-1",
    "device-0",
    "set",
    "Bad_Name",
    "",
)
_STRINGS: dict[str, Sequence[str]] = {
    "attribute": ("model", "gpu.example.com/model", "a/b/c", ""),
    "driver": ("gpu.example.com", "nic.example.org", "Driver.Example.com"),
    "effect": ("NoSchedule", "NoExecute", "None", "Other"),
    "expression": ("true", 'device.driver == "gpu.example.com"', "device.attributes[", "1 + 1", ""),
    "key": ("example.com/taint", "a", "-bad-", ""),
    "operator": ("Equal", "Exists", "In", "NotIn", "Gt", "Other"),
    "request": ("main", "main/sub", "other", ""),
    "shareID": ("5f2fd5d0-9c3f-4b0e-9d39-6f1f0a7a3a10", "nope"),
    "status": ("True", "False", "Unknown", "Maybe"),
    "uid": ("5f2fd5d0-9c3f-4b0e-9d39-6f1f0a7a3a11", "u"),
    "version": ("1.2.3", "1.2", "v1.0.0-rc.1"),
}
_QUANTITIES = ("1", "0", "10Gi", "500m", "1.5Gi", "-1", 12, "1e3", "3k", "9223372036854775807")
_TIMES = ("2026-01-01T00:00:00Z", "2026-06-30T12:34:56+02:00", None)
_KEYS = ("a", "memory", "gpu.example.com/memory", "cpu", "kubernetes.io/hostname", "Bad Key", "main")
_RAW: tuple[dict[str, object], ...] = (
    {},
    {"a": 1},
    {"apiVersion": "v1", "kind": "Parameters", "list": [1, "b", None, {"c": True}]},
)
_INTEGERS = (0, 1, 2, 8, 64, -1, 1024, 2**31 - 1)


def make_object(pick: random.Random, kind: str, version: str, name: str) -> dict[str, Any]:
    """An object of that name with each of its other fields with some probability."""
    schema = SCHEMAS[version]
    made = _struct(pick, schema, kind, depth=0)
    made["apiVersion"] = f"{GROUP}/{version}"
    made["kind"] = kind
    metadata: dict[str, object] = {"name": name}
    if pick.random() < 0.1:
        metadata = {**_struct(pick, schema, "ObjectMeta", depth=3), "name": name}
    made["metadata"] = metadata
    return made


def _struct(pick: random.Random, schema: Schema, name: str, depth: int) -> dict[str, object]:
    made: dict[str, object] = {}
    for field in schema[name].fields:
        likely = 0.95 if not field.omitempty or depth < 3 else 0.45
        if field.inline:
            made.update(_struct(pick, schema, field.type.struct, depth))
        elif pick.random() < likely:
            made[field.name] = _value(pick, schema, field, field.type, depth + 1)
    return made


def _value(pick: random.Random, schema: Schema, field: Field, type_: Type, depth: int) -> object:
    match type_.kind:
        case "struct":
            return _struct(pick, schema, type_.struct, depth)
        case "list" if type_.element:
            count = pick.choice((0, 1, 1, 1, 2, 2, 3))
            return [_value(pick, schema, field, type_.element, depth) for _ in range(count)]
        case "map" if type_.element:
            keys = pick.sample(_KEYS, pick.choice((0, 1, 1, 2)))
            return {key: _value(pick, schema, field, type_.element, depth) for key in keys}
    return _scalar(pick, field, type_)


def _scalar(pick: random.Random, field: Field, type_: Type) -> object:
    match type_.kind:
        case "bool":
            return pick.random() < 0.5
        case "int64" | "int32":
            return pick.choice(_INTEGERS)
        case "quantity":
            return pick.choice(_QUANTITIES)
        case "time" | "microtime":
            return pick.choice(_TIMES)
        case "raw":
            return pick.choice(_RAW)
    if type_.enum and pick.random() < 0.9:
        return pick.choice(type_.enum)
    return pick.choice(_STRINGS.get(field.name, _NAMES))
