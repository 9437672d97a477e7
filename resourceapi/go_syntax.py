"""Values in Go syntax (``%#v``): how servers up to 1.30 print the internal object that an error is about."""

from __future__ import annotations

import datetime
from typing import Any

from resourceapi import times
from resourceapi.go_text import quote
from resourceapi.schema import Field, Schema, Type

#: In place of the address of a value: every process has another.
ADDRESS = "0xc000000000"
# The Go package of the internal types; node selectors are of the core group, metadata is the same everywhere.
_PACKAGE = "resource"
_CORE = frozenset(("NodeSelector", "NodeSelectorTerm", "NodeSelectorRequirement"))
_ZEROS = {"string": '""', "bool": "false", "int64": "0", "int32": "0", "raw": "runtime.Object(nil)"}


def go_syntax(schema: Schema, type: Type | str, value: Any) -> str:
    """A value (of a type, or of the struct of that name) in Go syntax; pointers in it are printed as addresses."""
    if isinstance(type, str):
        return _struct(schema, type, value)
    return _value(schema, type, value)


def _value(schema: Schema, type: Type, value: Any) -> str:
    match type.kind:
        case "struct":
            return _struct(schema, type.struct, value or {})
        case "list":
            return _list(schema, type, value)
        case "map":
            return _map(schema, type, value)
        case "time":
            return _time(value)
        case "string" if value is not None:
            return quote(value)
        case "bool" if value is not None:
            return "true" if value else "false"
    return _ZEROS[type.kind] if value is None else str(value)


def _struct(schema: Schema, name: str, value: dict[str, Any]) -> str:
    members = ", ".join(f"{field.go}:{_field(schema, field, value)}" for field in schema[name].fields)
    return f"{_struct_name(schema, name)}{{{members}}}"


def _field(schema: Schema, field: Field, owner: dict[str, Any]) -> str:
    if field.inline:
        return _struct(schema, field.type.struct, owner)
    value = owner.get(field.name)
    if not field.pointer:
        return _value(schema, field.type, value)
    if field.type.kind == "time":
        return "<nil>" if value is None else _time(value)
    return f"(*{_go_type(schema, field.type)})({'nil' if value is None else ADDRESS})"


def _list(schema: Schema, type: Type, value: list[Any] | None) -> str:
    assert type.element is not None
    name = _go_type(schema, type)
    if value is None:
        return f"{name}(nil)"
    return f"{name}{{{', '.join(_value(schema, type.element, item) for item in value)}}}"


def _map(schema: Schema, type: Type, value: dict[str, Any] | None) -> str:
    assert type.element is not None
    name = _go_type(schema, type)
    if value is None:
        return f"{name}(nil)"
    members = (f"{quote(key)}:{_value(schema, type.element, value[key])}" for key in sorted(value))
    return f"{name}{{{', '.join(members)}}}"


def _time(value: str | None) -> str:
    """A time as its constructor; the zero time is in UTC, any other in the time zone of the server."""
    if value is None or value == times.ZERO:
        return "time.Date(1, time.January, 1, 0, 0, 0, 0, time.UTC)"
    at = datetime.datetime.fromisoformat(times.in_seconds(value))
    month = at.strftime("%B")
    return f"time.Date({at.year}, time.{month}, {at.day}, {at.hour}, {at.minute}, {at.second}, 0, time.Local)"


def _go_type(schema: Schema, type: Type) -> str:
    if type.kind == "list":
        assert type.element is not None
        return "[]" + _go_type(schema, type.element)
    if type.kind == "struct":
        return _struct_name(schema, type.struct)
    return type.go.replace("{v}", _PACKAGE)


def _struct_name(schema: Schema, name: str) -> str:
    if name in _CORE:
        return f"core.{name}"
    return f"v1.{name}" if schema[name].tagged else f"{_PACKAGE}.{name}"
