"""Literals of protobuf messages: `google.protobuf.Duration{seconds: 5}`.

The well-known types become CEL values at once. A message that has no CEL value is kept as `Message`.
Source: protobuf's well-known types as the CEL language definition maps them.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from typing import Any

from deviceselectors.libraries.quantity import ComputedQuantity
from deviceselectors.libraries.semver import Semver
from deviceselectors.runtime import effort, times
from deviceselectors.runtime.addresses import CIDR, IP
from deviceselectors.runtime.operators import equal
from deviceselectors.runtime.showing import ELEMENT, ENTRY
from deviceselectors.runtime.urls import URL
from deviceselectors.runtime.values import (
    INT_MAX,
    INT_MIN,
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    CelError,
    Duration,
    Message,
    Optional,
    Timestamp,
    Uint,
    conversion_error,
    find,
    register_type,
    type_text,
)
from resourceapi.go_text import quote
from resourceapi.quantity import Quantity

_PREFIX = "google.protobuf."
_NANO = 1_000_000_000


def _equal(left: Message, right: Message) -> bool:
    if left.name != right.name or left.fields.keys() != right.fields.keys():
        return False
    return all(equal(value, right.fields[key]) for key, value in left.fields.items())


register_type(Message, "google.protobuf.Empty", "*types.protoObj", _equal, comparable=True)


def make_message(name: str, fields: list[tuple[str, Any]]) -> Any:
    """The value of a message literal; a field that is `MISSING` is left out.

    :raises CelError: if there is no such type, or a field has a value of another type
    """
    values = [(key, value) for key, value in fields if value is not MISSING]
    if not name.startswith(_PREFIX):
        raise CelError(f"unknown type '{name}'")
    build = _BUILDERS.get(name[len(_PREFIX) :])
    if build is None:
        return Message(name, dict(values))
    return build(_Fields(name, values))


class _Fields:
    """The fields of a message literal in order; the last of one name counts."""

    __slots__ = ("message", "values")

    def __init__(self, message: str, values: list[tuple[str, Any]]) -> None:
        self.message = message
        self.values = values

    def get(self, key: str, convert: Callable[[Any], Any], default: Any) -> Any:
        """The field's value as its Go type.

        :raises CelError: if the value is of another type
        """
        found = default
        for name, value in self.values:
            if name == key:
                found = self.converted(key, value, convert)
        return found

    def converted(self, key: str, value: Any, convert: Callable[[Any], Any]) -> Any:
        try:
            return convert(value)
        except CelError as error:
            raise CelError(
                f"field type conversion error for {self.message}.{key} value type: {error.message}"
            ) from None


# ---------------------------------------------------------------- Go types of fields

#: What has a text that a field of strings takes.
_TEXTUAL = frozenset((Semver, Quantity, ComputedQuantity, URL, IP, CIDR))


def _unconvertible(value: Any, go_type: str) -> CelError:
    return CelError(conversion_error(value, go_type))


def _content(value: Any) -> Any:
    """The value itself, or what an optional holds."""
    while value.__class__ is Optional:
        value = value.value
    if value is MISSING:
        raise CelError("optional.none() dereference")
    return value


def _exactly(cls: type, go_type: str) -> Callable[[Any], Any]:
    def convert(value: Any) -> Any:
        value = _content(value)
        if value.__class__ is not cls:
            raise _unconvertible(value, go_type)
        return value

    return convert


_exact_text = _exactly(str, "string")


def _as_text(value: Any) -> str:
    """Values of Kubernetes' libraries become texts by themselves."""
    value = _content(value)
    text: str = str(value) if value.__class__ in _TEXTUAL else _exact_text(value)
    return text


_as_int = _exactly(int, "int64")
_as_uint = _exactly(Uint, "uint64")
_as_bytes = _exactly(bytes, "[]uint8")


def _as_int32(value: Any) -> int:
    number: int = _exactly(int, "int32")(value)
    if not -(1 << 31) <= number < 1 << 31:
        raise CelError("integer overflow")
    return number


def _as_uint32(value: Any) -> Uint:
    number: Uint = _exactly(Uint, "uint32")(value)
    if number >= 1 << 32:
        raise CelError("unsigned integer overflow")
    return number


def _as_float(value: Any) -> float:
    number: float = _exactly(float, "float32")(value)
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


# ---------------------------------------------------------------- JSON

#: Greater whole numbers are texts in JSON.
_GREATEST_NUMBER = (1 << 53) - 1


def _as_json(value: Any) -> Any:
    """What is left of a value in a `google.protobuf.Value`: its numbers are doubles, its keys texts."""
    value = _content(value)
    cls = value.__class__
    if value is None or cls in (bool, str, float):
        return value
    if cls is int or cls is Uint:
        return float(value) if abs(value) <= _GREATEST_NUMBER else str(int(value))
    if cls is bytes:
        effort.spend(2 * len(value))
        return base64.b64encode(value).decode("ascii")
    if cls is Duration:
        return times.duration_text(value)
    if cls is Timestamp:
        return times.timestamp_text(Timestamp(value.seconds, value.nanosecond))
    if cls in LIST_CLASSES:
        return _as_list_value(value)
    if cls in MAP_CLASSES:
        return _as_struct(value)
    if cls is Message and not value.fields:
        return {}
    raise _unconvertible(value, "*structpb.Value")


def _as_struct(value: Any) -> dict[str, Any]:
    value = _content(value)
    if value.__class__ not in MAP_CLASSES:
        raise _unconvertible(value, "*structpb.Struct")
    effort.spend(ENTRY * len(value))
    return {_as_text(key): _as_json(find(value, key)) for key in value}


def _as_list_value(value: Any) -> list[Any]:
    value = _content(value)
    if value.__class__ not in LIST_CLASSES:
        raise _unconvertible(value, "*structpb.ListValue")
    effort.spend(ELEMENT * len(value))
    return [_as_json(element) for element in value]


_JSON_FIELDS: dict[str, Callable[[Any], Any]] = {
    "null_value": lambda value: None,
    "number_value": _exactly(float, "float64"),
    "string_value": _as_text,
    "bool_value": _exactly(bool, "bool"),
    "struct_value": _as_struct,
    "list_value": _as_list_value,
}


def _json(fields: _Fields) -> Any:
    """The fields exclude each other: the one that is set last stays."""
    found = None
    for key, value in fields.values:
        found = fields.converted(key, value, _JSON_FIELDS[key])
    return found


def _repeated(fields: _Fields, key: str, classes: Any, convert: Callable[[Any], Any], empty: Any) -> Any:
    found = empty
    for name, value in fields.values:
        if name == key:
            if value.__class__ not in classes:
                raise CelError(f"unsupported field type for {fields.message}.{key}: {type_text(value)}")
            found = fields.converted(key, value, convert)
    return found


# ---------------------------------------------------------------- messages


def _duration(fields: _Fields) -> Duration:
    nanoseconds = fields.get("seconds", _as_int, 0) * _NANO + fields.get("nanos", _as_int32, 0)
    # Go's durations end where 64 bits do
    return Duration(min(max(nanoseconds, INT_MIN), INT_MAX))


def _timestamp(fields: _Fields) -> Timestamp:
    seconds, nanosecond = divmod(
        fields.get("seconds", _as_int, 0) * _NANO + fields.get("nanos", _as_int32, 0), _NANO
    )
    return Timestamp(seconds, nanosecond)


def _wrapper(convert: Callable[[Any], Any], default: Any) -> Callable[[_Fields], Any]:
    return lambda fields: fields.get("value", convert, default)


def _any(fields: _Fields) -> Any:
    """The message within; one with a payload is not unpacked."""
    url = fields.get("type_url", _as_text, "")
    payload = fields.get("value", _as_bytes, b"")
    name = url.rpartition("/")[2]
    if name in _PACKABLE:
        return (
            Message(_PREFIX + "Any", {"type_url": url, "value": payload})
            if payload
            else make_message(name, [])
        )
    parts = [f"type_url:{quote(url)}"] if url else []
    if payload:
        parts.append(f"value:{quote(payload.decode('utf-8', 'surrogateescape'))}")
    raise CelError(f"unsupported conversion to ref.Val: (*dynamicpb.Message){' '.join(parts)}")


_BUILDERS: dict[str, Callable[[_Fields], Any]] = {
    "Duration": _duration,
    "Timestamp": _timestamp,
    "BoolValue": _wrapper(_exactly(bool, "bool"), False),
    "BytesValue": _wrapper(_as_bytes, b""),
    "DoubleValue": _wrapper(_exactly(float, "float64"), 0.0),
    "FloatValue": _wrapper(_as_float, 0.0),
    "Int64Value": _wrapper(_as_int, 0),
    "Int32Value": _wrapper(_as_int32, 0),
    "UInt64Value": _wrapper(_as_uint, Uint(0)),
    "UInt32Value": _wrapper(_as_uint32, Uint(0)),
    "StringValue": _wrapper(_as_text, ""),
    "Struct": lambda fields: _repeated(fields, "fields", MAP_CLASSES, _as_struct, {}),
    "Value": _json,
    "ListValue": lambda fields: _repeated(fields, "values", LIST_CLASSES, _as_list_value, []),
    "Any": _any,
}

#: What a `google.protobuf.Any` can hold: the messages that have values, and the one without fields.
_PACKABLE = frozenset(_PREFIX + name for name in (*_BUILDERS, "Empty") if name != "Any")
