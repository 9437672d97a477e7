"""What expressions can refer to: functions, types, message fields and the variable `device`.

Everything is made on first use and then kept; the number of declarations bounds the memory.
"""

from __future__ import annotations

from deviceselectors.environment import Environment
from deviceselectors.types import (
    ANY_TYPE,
    BOOL_TYPE,
    BYTES_TYPE,
    DOUBLE_TYPE,
    DURATION_TYPE,
    DYN_TYPE,
    INT_TYPE,
    LIST_TYPE,
    MAP_TYPE,
    NULL_TYPE,
    STRING_TYPE,
    TIMESTAMP_TYPE,
    TYPE_TYPE,
    UINT_TYPE,
    Type,
    list_of,
    map_of,
    opaque,
    optional_of,
    struct,
    type_of,
    type_parameter,
    wrapper_of,
)

DEVICE_TYPE = struct("kubernetes.DRADevice")
QUANTITY_TYPE = struct("kubernetes.Quantity")
SEMVER_TYPE = struct("kubernetes.Semver")
URL_TYPE = struct("kubernetes.URL")
FORMAT_TYPE = struct("kubernetes.NamedFormat")
IP_TYPE = opaque("net.IP")
CIDR_TYPE = opaque("net.CIDR")

_CAPACITY_TYPE = map_of(STRING_TYPE, map_of(STRING_TYPE, QUANTITY_TYPE))
_TYPED_ATTRIBUTES = map_of(STRING_TYPE, map_of(STRING_TYPE, ANY_TYPE))
_UNTYPED_ATTRIBUTES = map_of(STRING_TYPE, map_of(STRING_TYPE, DYN_TYPE))

_TABLE_TYPES = {
    "bool": BOOL_TYPE,
    "bytes": BYTES_TYPE,
    "double": DOUBLE_TYPE,
    "int": INT_TYPE,
    "string": STRING_TYPE,
    "uint": UINT_TYPE,
    "dyn": DYN_TYPE,
    "duration": DURATION_TYPE,
    "timestamp": TIMESTAMP_TYPE,
    "Quantity": QUANTITY_TYPE,
    "Semver": SEMVER_TYPE,
    "URL": URL_TYPE,
    "NamedFormat": FORMAT_TYPE,
    "IP": IP_TYPE,
    "CIDR": CIDR_TYPE,
}
_TYPE_CONSTRUCTORS = {
    "list": lambda p: list_of(p[0]),
    "map": lambda p: map_of(p[0], p[1]),
    "optional": lambda p: optional_of(p[0]),
    "type": lambda p: type_of(p[0]),
}


class Overload:
    """One signature of a function. For a member function the first argument is the target.

    `type_parameters` are the names of the type parameters in it, those of the result first. (The server takes them
    in random order, mostly this one; their numbers can show in an error message.)
    """

    __slots__ = ("arguments", "id", "is_member", "result", "type_parameters")

    def __init__(self, overload_id: str, is_member: bool, arguments: tuple[Type, ...], result: Type) -> None:
        self.id = overload_id
        self.is_member = is_member
        self.arguments = arguments
        self.result = result
        self.type_parameters = tuple(_parameter_names((result, *arguments)))


def _parameter_names(types: tuple[Type, ...]) -> dict[str, None]:
    names: dict[str, None] = {}
    for t in types:
        if t.has_parameters:
            names |= _parameter_names(t.parameters) if t.parameters else {t.name: None}
    return names


_signatures: dict[str, list[str]] = {}
_functions: dict[tuple[str, int], tuple[Overload, ...]] = {}


def find_function(name: str, environment: Environment) -> tuple[Overload, ...] | None:
    """The overloads of a function in the order in which they are tried, or None when it is not declared."""
    key = (name, environment.functions)
    known = _functions.get(key)
    if known is not None:
        return known
    if not _signatures:
        _signatures.update(_read_table())
    if name not in _signatures:
        return None
    overloads = tuple([_read_overload(line) for line in _signatures[name]])
    if name == "includes" and not environment.has_untyped_attributes:
        return None
    if name in ("indexOf", "lastIndexOf") and environment.kind == "stored":
        # There the library with the overload for lists is added last.
        overloads = (*overloads[1:], overloads[0])
    _functions[key] = overloads
    return overloads


def _read_table() -> dict[str, list[str]]:
    from deviceselectors.declarations_table import TABLE

    signatures: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in TABLE.splitlines():
        if line.startswith("  "):
            lines.append(line)
        else:
            signatures[line] = lines = []
    return signatures


def _read_overload(line: str) -> Overload:
    overload_id, _, signature = line.strip().partition(" ")
    arguments, _, result = signature.rpartition(" > ")
    types = () if arguments == "-" else tuple([_read_type(a) for a in arguments.split("; ")])
    return Overload(overload_id.lstrip("."), overload_id.startswith("."), types, _read_type(result))


def _read_type(text: str) -> Type:
    if text in _TABLE_TYPES:
        return _TABLE_TYPES[text]
    if text.endswith(")"):
        name, _, inside = text[:-1].partition("(")
        return _TYPE_CONSTRUCTORS[name]([_read_type(p) for p in _split_parameters(inside)])
    if len(text) == 1:
        return type_parameter(text)
    return struct("kubernetes.authorization." + text)


def _split_parameters(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 2
    return [*parts, text[start:]]


_INT_WRAPPER, _UINT_WRAPPER, _DOUBLE_WRAPPER = (wrapper_of(t) for t in (INT_TYPE, UINT_TYPE, DOUBLE_TYPE))
_JSON_MAP = map_of(STRING_TYPE, DYN_TYPE)
_MESSAGE_PREFIX = "google.protobuf."

#: The identifiers that denote types, with the types that they denote.
NAMED_TYPES = {
    "bool": BOOL_TYPE,
    "bytes": BYTES_TYPE,
    "double": DOUBLE_TYPE,
    "int": INT_TYPE,
    "list": LIST_TYPE,
    "map": MAP_TYPE,
    "null_type": NULL_TYPE,
    "string": STRING_TYPE,
    "type": TYPE_TYPE,
    "uint": UINT_TYPE,
    "optional_type": optional_of(DYN_TYPE),
    "duration": DURATION_TYPE,
    "timestamp": TIMESTAMP_TYPE,
    "net.IP": IP_TYPE,
    "net.CIDR": CIDR_TYPE,
    "kubernetes.DRADevice": DEVICE_TYPE,
    "google.protobuf.Any": ANY_TYPE,
    "google.protobuf.Duration": DURATION_TYPE,
    "google.protobuf.Timestamp": TIMESTAMP_TYPE,
    "google.protobuf.Empty": struct("google.protobuf.Empty"),
    "google.protobuf.Struct": _JSON_MAP,
    "google.protobuf.Value": DYN_TYPE,
    "google.protobuf.ListValue": LIST_TYPE,
    "google.protobuf.Struct.FieldsEntry": struct("google.protobuf.Struct.FieldsEntry"),
    "google.protobuf.BoolValue": wrapper_of(BOOL_TYPE),
    "google.protobuf.BytesValue": wrapper_of(BYTES_TYPE),
    "google.protobuf.DoubleValue": _DOUBLE_WRAPPER,
    "google.protobuf.FloatValue": _DOUBLE_WRAPPER,
    "google.protobuf.Int64Value": _INT_WRAPPER,
    "google.protobuf.Int32Value": _INT_WRAPPER,
    "google.protobuf.UInt64Value": _UINT_WRAPPER,
    "google.protobuf.UInt32Value": _UINT_WRAPPER,
    "google.protobuf.StringValue": wrapper_of(STRING_TYPE),
}

#: Those of them that can stand in a program; of the others the type checker alone knows.
RUNTIME_TYPES = frozenset(
    (
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
        "optional_type",
        "net.IP",
        "net.CIDR",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
        "google.protobuf.Empty",
        "google.protobuf.Struct.FieldsEntry",
    )
)

#: Constants of enums, by qualified name.
ENUM_CONSTANTS = {"google.protobuf.NullValue.NULL_VALUE": 0}

_TIME_FIELDS = {"seconds": INT_TYPE, "nanos": INT_TYPE}
_MESSAGE_FIELDS: dict[str, dict[str, Type]] = {
    "Any": {"type_url": STRING_TYPE, "value": BYTES_TYPE},
    "Duration": _TIME_FIELDS,
    "Timestamp": _TIME_FIELDS,
    "Empty": {},
    "Struct": {"fields": _JSON_MAP},
    "Struct.FieldsEntry": {"key": STRING_TYPE, "value": DYN_TYPE},
    "Value": {
        "null_value": INT_TYPE,
        "number_value": DOUBLE_TYPE,
        "string_value": STRING_TYPE,
        "bool_value": BOOL_TYPE,
        "struct_value": _JSON_MAP,
        "list_value": LIST_TYPE,
    },
    "ListValue": {"values": LIST_TYPE},
    "BoolValue": {"value": BOOL_TYPE},
    "BytesValue": {"value": BYTES_TYPE},
    "DoubleValue": {"value": DOUBLE_TYPE},
    "FloatValue": {"value": DOUBLE_TYPE},
    "Int64Value": {"value": INT_TYPE},
    "Int32Value": {"value": INT_TYPE},
    "UInt64Value": {"value": UINT_TYPE},
    "UInt32Value": {"value": UINT_TYPE},
    "StringValue": {"value": STRING_TYPE},
}


#: Types without fields that the server takes for messages when a field is set in a literal of them.
_FIELDLESS = frozenset(
    ("bool", "bytes", "double", "duration", "int", "list", "null_type", "string", "timestamp", "uint")
)


class _AnyFields(dict[str, Type]):
    """Whatever the field, it is there and has the same type."""

    __slots__ = ("_type",)

    def __init__(self, field_type: Type) -> None:
        self._type = field_type

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> Type:
        return self._type


# The server registers the maps in a device under names of their own, of which people know nothing.
_ATTRIBUTES_NAME, _CAPACITY_NAME = f"{DEVICE_TYPE.name}.attributes", f"{DEVICE_TYPE.name}.capacity"
#: All names that denote types.
TYPE_NAMES = frozenset((*NAMED_TYPES, _ATTRIBUTES_NAME, _CAPACITY_NAME))


def find_type(name: str, environment: Environment) -> Type | None:
    """The type that a name denotes, or None."""
    if name == _ATTRIBUTES_NAME:
        return _attributes_type(environment)
    return _CAPACITY_TYPE if name == _CAPACITY_NAME else NAMED_TYPES.get(name)


def _attributes_type(environment: Environment) -> Type:
    return _UNTYPED_ATTRIBUTES if environment.has_untyped_attributes else _TYPED_ATTRIBUTES


def find_fields(message: str, environment: Environment) -> dict[str, Type] | None:
    """The fields of a message type or of a device by name, or None when there is no such type."""
    if message == DEVICE_TYPE.name:
        fields = {
            "driver": STRING_TYPE,
            "attributes": _attributes_type(environment),
            "capacity": _CAPACITY_TYPE,
        }
        if environment.has_multiple_allocations:
            fields["allowMultipleAllocations"] = BOOL_TYPE
        return fields
    if message.startswith(_MESSAGE_PREFIX):
        return _MESSAGE_FIELDS.get(message[len(_MESSAGE_PREFIX) :])
    if message == "map":
        return _AnyFields(ANY_TYPE)
    if message in (_ATTRIBUTES_NAME, _CAPACITY_NAME):
        named = find_type(message, environment)
        assert named is not None
        return _AnyFields(named.parameters[1])
    return {} if message in _FIELDLESS else None


def attribute_type(environment: Environment) -> Type:
    """The static type of a device attribute's value."""
    return DYN_TYPE if environment.has_untyped_attributes else ANY_TYPE
