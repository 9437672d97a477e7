"""What expressions can refer to besides functions: types, message fields and variables.

There is one variable, `device`, or with named resources one for each type of attributes, like `attributes.string`.
"""

from __future__ import annotations

from functools import cache

from deviceselectors.ast import (
    Call,
    Comprehension,
    Ident,
    ListLiteral,
    MapLiteral,
    Node,
    Select,
    StructLiteral,
)
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

_VARIABLES = {"device": DEVICE_TYPE}
_VARIABLES_OF_NAMED_RESOURCES = {
    f"attributes.{name}": map_of(STRING_TYPE, t)
    for name, t in (
        ("quantity", QUANTITY_TYPE),
        ("bool", BOOL_TYPE),
        ("int", INT_TYPE),
        ("intslice", list_of(INT_TYPE)),
        ("string", STRING_TYPE),
        ("stringslice", list_of(STRING_TYPE)),
        ("version", SEMVER_TYPE),
    )
}

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
RUNTIME_TYPES = frozenset((
    "bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint", "optional_type",
    "net.IP", "net.CIDR", "google.protobuf.Duration", "google.protobuf.Timestamp", "google.protobuf.Empty",
    "google.protobuf.Struct.FieldsEntry",
))  # fmt: skip

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


#: The names of types that only expressions about devices know, and those that came after 1.29, with the release.
_OF_DEVICES = frozenset(("duration", "timestamp", DEVICE_TYPE.name))
_OPTIONAL = "optional_type"
_TYPES_SINCE = {"net.IP": 30, "net.CIDR": 30, _OPTIONAL: 31}


def variables(environment: Environment) -> dict[str, Type]:
    """The types of the global variables by name."""
    return _VARIABLES_OF_NAMED_RESOURCES if environment.named_resources else _VARIABLES


def spelled(t: Type, environment: Environment) -> str:
    """How error messages name a type."""
    if environment.server < _TYPES_SINCE[_OPTIONAL]:
        return t.text.replace(f"{_OPTIONAL}(", "optional(")
    return t.text


def find_type(name: str, environment: Environment) -> Type | None:
    """The type that a name denotes, or None."""
    if environment.named_resources:
        if name in _OF_DEVICES or _TYPES_SINCE.get(name, 0) > environment.release:
            return None
        return NAMED_TYPES.get(name)
    if name == _ATTRIBUTES_NAME:
        return _attributes_type(environment)
    return _CAPACITY_TYPE if name == _CAPACITY_NAME else NAMED_TYPES.get(name)


def _attributes_type(environment: Environment) -> Type:
    return _UNTYPED_ATTRIBUTES if environment.has_untyped_attributes else _TYPED_ATTRIBUTES


def find_fields(message: str, environment: Environment) -> dict[str, Type] | None:
    """The fields of a message type or of a device by name, or None when there is no such type."""
    if environment.named_resources and not message.startswith(_MESSAGE_PREFIX):
        return None
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


# Dotted names: selects that spell the name of a type, constant or variable, like
# `google.protobuf.Duration`.


@cache
def _first_parts(environment: Environment) -> frozenset[str]:
    """The first parts of all dotted names; where none of them occurs in a source there is nothing to resolve."""
    names = (*TYPE_NAMES, *ENUM_CONSTANTS, *variables(environment))
    return frozenset(name.partition(".")[0] for name in names if "." in name)


#: The first release (minor number) in which the variable of a loop hides dotted names that begin with it, and a dot in
#: front of a name means the global one.
GLOBAL_NAMES_SINCE = 37


def qualified_name(node: Node) -> str | None:
    """The dotted name that an identifier or a chain of selects spells, or None for anything else."""
    names: list[str] = []
    while isinstance(node, Select) and not node.test_only:
        names.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    names.append(node.name)
    return ".".join(reversed(names))


def resolve_dotted_names(root: Node, text: str, environment: Environment) -> Node:
    """The expression with identifiers in place of the selects that spell names of types, constants or variables."""
    if not any(part in text for part in _first_parts(environment)):
        return root
    return _Resolver(environment).resolve(root)


class _Resolver:
    """A walk that knows the variables of the loops around a node, because they hide global names."""

    __slots__ = ("_environment", "_globals", "_hides", "_variables")

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._globals = variables(environment)
        self._hides = environment.server >= GLOBAL_NAMES_SINCE
        self._variables: list[str] = []

    def resolve(self, node: Node) -> Node:
        if isinstance(node, Select):
            return self._resolve_select(node)
        if isinstance(node, Call):
            node.args = [self.resolve(arg) for arg in node.args]
            if node.target is not None:
                node.target = self.resolve(node.target)
        elif isinstance(node, ListLiteral):
            node.elements = [self.resolve(element) for element in node.elements]
        elif isinstance(node, MapLiteral):
            for entry in node.entries:
                entry.key, entry.value = self.resolve(entry.key), self.resolve(entry.value)
        elif isinstance(node, StructLiteral):
            for field in node.fields:
                field.value = self.resolve(field.value)
        elif isinstance(node, Comprehension):
            self._resolve_comprehension(node)
        return node

    def _is_global(self, name: str) -> bool:
        if name in self._globals or name in ENUM_CONSTANTS:
            return True
        return name in TYPE_NAMES and find_type(name, self._environment) is not None

    def _resolve_select(self, node: Select) -> Node:
        name = qualified_name(node)
        if name is not None:
            plain = name.lstrip(".")
            is_hidden = self._hides and name == plain and plain.partition(".")[0] in self._variables
            if not is_hidden and self._is_global(plain):
                return Ident(node.position, name)
        node.operand = self.resolve(node.operand)
        return node

    def _resolve_comprehension(self, node: Comprehension) -> None:
        node.iter_range = self.resolve(node.iter_range)
        node.accu_init = self.resolve(node.accu_init)
        self._variables += [node.accu_var, node.iter_var, node.iter_var2]
        node.condition = self.resolve(node.condition)
        node.step = self.resolve(node.step)
        del self._variables[-2:]
        node.result = self.resolve(node.result)
        self._variables.pop()
