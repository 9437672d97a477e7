"""Objects in normal form as JSON: how the server returns them, and how it prints them inside of error texts.

Three forms differ in little.  What is *returned* has been stored before, which turns empty lists and maps into null.
What is *printed* as JSON has not.  What is printed of an *internal* object has the fields' Go names and all of them,
set or not, except in the few types that the versions share with the internal API.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from resourceapi import times
from resourceapi.go_text import Literal, json_text
from resourceapi.schema import Field, Schema, Type

_RETURNED, _PRINTED, _INTERNAL = "returned", "printed", "internal"
# As returned, but raw JSON stays the value that was decoded, whatever its numbers look like.
_VERBATIM = "verbatim"

_Encoder = Callable[[Any], Any]
_Writer = Callable[[dict[str, Any], dict[str, Any]], None]


def encode(schema: Schema, struct: str, obj: dict[str, Any], *, verbatim: bool = False) -> dict[str, Any]:
    """The JSON object that the server returns for an object, in Go's order of fields.

    ``kind`` and ``apiVersion`` are the caller's to add.  ``verbatim``: raw JSON is the very value that was decoded,
    which may have a :class:`resourceapi.json_text.Number`; otherwise its numbers are Python's.
    """
    form = _VERBATIM if verbatim else _RETURNED
    encoded: dict[str, Any] = _struct_encoder(schema, struct, form)(obj)
    return encoded


def go_json(schema: Schema, type: Type | str, value: Any, *, internal: bool = False) -> str:
    """The text that json.Marshal gives for a value (of a type, or of the struct of that name)."""
    form = _INTERNAL if internal else _PRINTED
    encoder = _struct_encoder(schema, type, form) if isinstance(type, str) else _encoder(schema, type, form)
    return json_text(None if value is None else encoder(value))


def _struct_encoder(schema: Schema, struct: str, form: str) -> _Encoder:
    if schema[struct].tagged and form == _INTERNAL:
        form = _PRINTED
    return schema.compiled(("encode", form, struct), lambda: _build_struct(schema, struct, form))


def _encoder(schema: Schema, type: Type, form: str) -> _Encoder:
    match type.kind:
        case "struct":
            return _struct_encoder(schema, type.struct, form)
        case "list":
            assert type.element is not None
            return _list_encoder(_encoder(schema, type.element, form))
        case "map":
            assert type.element is not None
            return _map_encoder(_encoder(schema, type.element, form))
        case "quantity":
            return str
        case "raw":
            return _RAW.get(form, lambda value: Literal(value.text))
        case "time":
            return _time
        case _:
            return _same


def _build_struct(schema: Schema, struct: str, form: str) -> _Encoder:
    writers: list[_Writer] = []

    def prepare() -> None:
        """Done at first use, since most objects have few of the structs that they could have."""
        for field in schema[struct].fields:
            embedded = field.inline or (
                form == _INTERNAL and field.go == field.type.struct and schema[field.go].tagged
            )
            make = _embedded_writer if embedded else _writer
            writers.append(make(schema, field, form))

    def encode_struct(obj: dict[str, Any]) -> dict[str, Any]:
        if not writers:
            prepare()
        out: dict[str, Any] = {}
        for write in writers:
            write(obj, out)
        return out

    return encode_struct


def _embedded_writer(schema: Schema, field: Field, form: str) -> _Writer:
    """The fields of an embedded struct are in its parent: always in JSON, in objects where JSON has them there."""
    encoder = _struct_encoder(schema, field.type.struct, form)
    if field.inline:
        return lambda obj, out: out.update(encoder(obj))
    return lambda obj, out: out.update(encoder(obj.get(field.name) or {}))


def _writer(schema: Schema, field: Field, form: str) -> _Writer:
    encoder = _encoder(schema, field.type, form)
    name = field.name
    key = field.go if form == _INTERNAL else name
    omitempty = field.omitempty and form != _INTERNAL
    kind = field.type.kind
    if field.pointer or kind in ("list", "map"):
        drops_empty = not field.pointer and (omitempty or form in (_RETURNED, _VERBATIM))
        return _nullable_writer(name, key, encoder, omitempty, drops_empty)
    if kind == "struct":
        return lambda obj, out: out.__setitem__(key, encoder(obj.get(name) or {}))
    if kind == "time" and omitempty:
        return _set_time_writer(name, key)
    zero = _ZEROS[kind]
    always = not omitempty or kind in ("quantity", "raw", "intorstring")

    def write(obj: dict[str, Any], out: dict[str, Any]) -> None:
        value = obj.get(name)
        if value is not None:
            out[key] = encoder(value)
        elif always:
            out[key] = zero

    return write


def _nullable_writer(name: str, key: str, encoder: _Encoder, omitempty: bool, drops_empty: bool) -> _Writer:
    def write(obj: dict[str, Any], out: dict[str, Any]) -> None:
        value = obj.get(name)
        if value is None or (drops_empty and not value):
            if not omitempty:
                out[key] = None
        else:
            out[key] = encoder(value)

    return write


def _set_time_writer(name: str, key: str) -> _Writer:
    """A time that is no pointer: the zero time is left out."""

    def write(obj: dict[str, Any], out: dict[str, Any]) -> None:
        time = _time(obj.get(name, times.ZERO))
        if time is not None:
            out[key] = time

    return write


def _list_encoder(element: _Encoder) -> _Encoder:
    if element is _same:
        return list
    return lambda value: [element(item) for item in value]


def _map_encoder(element: _Encoder) -> _Encoder:
    return lambda value: {key: element(value[key]) for key in sorted(value)}


def _same(value: Any) -> Any:
    return value


def _time(value: str) -> str | None:
    return None if value == times.ZERO else times.in_seconds(value)


_RAW: dict[str, _Encoder] = {_RETURNED: attrgetter("plain"), _VERBATIM: attrgetter("value")}
# How the zero value of a kind is written.
_ZEROS: dict[str, Any] = {
    "string": "",
    "bool": False,
    "int64": 0,
    "int32": 0,
    "quantity": "0",
    "time": None,
    "microtime": None,
    "raw": None,
    "intorstring": 0,
}
