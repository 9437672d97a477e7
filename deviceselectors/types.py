"""Types of CEL expressions.

A `Type` is immutable. Its `text` is how error messages spell it (`map(string, any)`, `wrapper(int)`). Compare with
`==`, which disregards `wrapper`, as the language does when it asks for the same type.

Source: the CEL language definition, "Gradual type checking"; the printed names are those of kube-apiserver's errors.
"""

from __future__ import annotations

#: Kinds of types; the checker knows nothing about the first two.
(DYN, ANY, BOOL, BYTES, DOUBLE, DURATION, ERROR, INT, LIST, MAP, NULL, OPAQUE, STRING, STRUCT, TIMESTAMP,
 TYPE, TYPE_PARAMETER, UINT) = range(1, 19)  # fmt: skip

_NULLABLE_KINDS = frozenset((OPAQUE, STRUCT, ANY, DURATION, TIMESTAMP))


_MAX_SIZE = 5_000
_MAX_PLAIN_SIZE = 16


class TypeSizeError(ValueError):
    """A type has too many parts: types can double with each `cel.bind`, as in `{x: x}`. The server has no limit."""


class Type:
    """A static type: a kind, its name, and for lists, maps, optionals and types of types the parameters.

    `name` is what the runtime calls the type (`google.protobuf.Duration`). `wrapper` marks a protobuf wrapper, which
    may also be null.
    """

    __slots__ = (
        "_hash",
        "_short",
        "_size",
        "has_parameters",
        "is_plain",
        "kind",
        "name",
        "parameters",
        "wrapper",
    )

    def __init__(
        self, kind: int, name: str, parameters: tuple[Type, ...] = (), short: str = "", wrapper: bool = False
    ) -> None:
        self.kind = kind
        self.name = name
        self.parameters = parameters
        self.wrapper = wrapper
        self._short = short
        #: whether a type parameter occurs in it, so that substitution has something to do
        self.has_parameters: bool = kind == TYPE_PARAMETER
        #: whether neither type parameters nor wrappers occur in it, so that equal types can be used alike, and it is small
        self.is_plain: bool = not (wrapper or kind == TYPE_PARAMETER)
        size: int = 1
        for parameter in parameters:
            size += parameter._size
            if not parameter.is_plain:
                self.is_plain = False
            if parameter.has_parameters:
                self.has_parameters = True
        if size > _MAX_SIZE:
            raise TypeSizeError("the type of a part of the expression is too large")
        if size > _MAX_PLAIN_SIZE:
            self.is_plain = False
        self._size: int = size
        self._hash = hash((kind, name, size))

    @property
    def declared(self) -> str:
        """The name without parameters: `list`, `wrapper(int)`."""
        return f"wrapper({self.name})" if self.wrapper else self.name

    @property
    def text(self) -> str:
        """How error messages spell it: `duration`, `map(string, any)`."""
        if self.parameters:
            return f"{self.name}({', '.join([p.text for p in self.parameters])})"
        return self._short or self.declared

    @property
    def output(self) -> str:
        """How the API server prints it as an expression's result type: `google.protobuf.Duration`, `<T>`."""
        if self.parameters:
            return f"{self.declared}({', '.join([p.output for p in self.parameters])})"
        return f"<{self.declared}>" if self.kind == TYPE_PARAMETER else self.declared

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self.kind == other.kind
            and self.name == other.name
            and self.parameters == other.parameters
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Type({self.output})"


DYN_TYPE = Type(DYN, "dyn")
ANY_TYPE = Type(ANY, "google.protobuf.Any", short="any")
BOOL_TYPE = Type(BOOL, "bool")
BYTES_TYPE = Type(BYTES, "bytes")
DOUBLE_TYPE = Type(DOUBLE, "double")
DURATION_TYPE = Type(DURATION, "google.protobuf.Duration", short="duration")
ERROR_TYPE = Type(ERROR, "error", short="!error!")
INT_TYPE = Type(INT, "int")
NULL_TYPE = Type(NULL, "null_type", short="null")
STRING_TYPE = Type(STRING, "string")
TIMESTAMP_TYPE = Type(TIMESTAMP, "google.protobuf.Timestamp", short="timestamp")
TYPE_TYPE = Type(TYPE, "type")
UINT_TYPE = Type(UINT, "uint")


def list_of(element: Type) -> Type:
    """The type of lists of such elements."""
    return Type(LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    """The type of maps of such keys and values."""
    return Type(MAP, "map", (key, value))


def opaque(name: str, parameters: tuple[Type, ...] = ()) -> Type:
    """A type of values without fields."""
    return Type(OPAQUE, name, parameters)


def optional_of(value: Type) -> Type:
    """The type of optionals of such values."""
    return Type(OPAQUE, "optional_type", (value,))


def type_of(instance: Type) -> Type:
    """The type of a type."""
    return Type(TYPE, "type", (instance,))


def struct(name: str) -> Type:
    """A type of values with fields."""
    return Type(STRUCT, name)


def type_parameter(name: str) -> Type:
    """A type parameter: any type, the same wherever it stands in a signature."""
    return Type(TYPE_PARAMETER, name)


def wrapper_of(wrapped: Type) -> Type:
    """The protobuf wrapper of a scalar, e.g. of `google.protobuf.Int64Value`: the scalar or null."""
    return Type(wrapped.kind, wrapped.name, wrapper=True)


LIST_TYPE = list_of(DYN_TYPE)
MAP_TYPE = map_of(DYN_TYPE, DYN_TYPE)


def is_dyn(t: Type) -> bool:
    """Whether the type checker knows nothing about it: `dyn` and `any`."""
    return t.kind <= ANY


def is_optional(t: Type) -> bool:
    """Whether values of the type are optionals."""
    return t.kind == OPAQUE and t.name == "optional_type"


def is_nullable(t: Type) -> bool:
    """Whether null may stand for a value of the type."""
    return t.wrapper or t.kind in _NULLABLE_KINDS or t.kind in (NULL, DYN, TYPE_PARAMETER)
