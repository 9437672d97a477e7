"""Literals of protobuf messages: `google.protobuf.Duration{seconds: 5}`.

The well-known types become CEL values at once. A message that has no CEL value is kept as `Message`.
Source: protobuf's well-known types as the CEL language definition maps them.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.runtime.operators import checked_int, equal
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MISSING,
    CelError,
    Duration,
    Timestamp,
    Uint,
    register_type,
    type_name,
)

_PREFIX = "google.protobuf."
_NANO = 1_000_000_000


class Message:
    """A message without a CEL value of its own: its type and its fields."""

    __slots__ = ("fields", "name")

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.name = name
        self.fields = fields


def _equal(left: Message, right: Message) -> bool:
    if left.name != right.name or left.fields.keys() != right.fields.keys():
        return False
    return all(equal(value, right.fields[key]) for key, value in left.fields.items())


register_type(Message, "google.protobuf.Empty", "*types.protoObj", _equal)


def make_message(name: str, fields: list[tuple[str, Any]]) -> Any:
    """The value of a message literal; a field that is `MISSING` is left out. Raises CelError."""
    values = {key: value for key, value in fields if value is not MISSING}
    if not name.startswith(_PREFIX):
        raise CelError(f"unknown type '{name}'")
    build = _BUILDERS.get(name[len(_PREFIX) :])
    if build is None:
        return Message(name, values)
    return build(values)


def _integer(values: dict[str, Any], key: str) -> int:
    value = values.get(key, 0)
    if value.__class__ is not int and value.__class__ is not Uint:
        raise CelError(f"unsupported field type for {_PREFIX}{key}: {type_name(value)}")
    return int(value)


def _duration(values: dict[str, Any]) -> Duration:
    return Duration(checked_int(_integer(values, "seconds") * _NANO + _integer(values, "nanos")))


def _timestamp(values: dict[str, Any]) -> Timestamp:
    seconds, nanosecond = divmod(_integer(values, "seconds") * _NANO + _integer(values, "nanos"), _NANO)
    return Timestamp(seconds, nanosecond)


def _wrapped(default: Any) -> Any:
    return lambda values: values.get("value", default)


def _small_integer(values: dict[str, Any]) -> int:
    value: int = values.get("value", 0)
    if not -(1 << 31) <= value < 1 << 31:
        raise CelError("integer overflow")
    return value


def _small_unsigned(values: dict[str, Any]) -> Uint:
    value: Uint = values.get("value", Uint(0))
    if value >= 1 << 32:
        raise CelError("unsigned integer overflow")
    return value


def _float(values: dict[str, Any]) -> float:
    import struct

    value: float = values.get("value", 0.0)
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _json(values: dict[str, Any]) -> Any:
    for key, value in values.items():
        if key == "null_value":
            return None
        return value
    return None


def _any(values: dict[str, Any]) -> Any:
    if not values:
        raise CelError("unsupported conversion to ref.Val: (*dynamicpb.Message)")
    return Message(_PREFIX + "Any", values)


def _list_value(values: dict[str, Any]) -> Any:
    elements = values.get("values", [])
    if elements.__class__ not in LIST_CLASSES:
        raise CelError(f"unsupported field type for {_PREFIX}ListValue.values: {type_name(elements)}")
    return elements


_BUILDERS: dict[str, Any] = {
    "Duration": _duration,
    "Timestamp": _timestamp,
    "BoolValue": _wrapped(False),
    "BytesValue": _wrapped(b""),
    "DoubleValue": _wrapped(0.0),
    "FloatValue": _float,
    "Int64Value": _wrapped(0),
    "Int32Value": _small_integer,
    "UInt64Value": _wrapped(Uint(0)),
    "UInt32Value": _small_unsigned,
    "StringValue": _wrapped(""),
    "Struct": lambda values: values.get("fields", {}),
    "Value": _json,
    "ListValue": _list_value,
    "Any": _any,
}
