"""Types as the libraries' signatures write them: `list(string); int > optional(Quantity)`."""

from __future__ import annotations

from functools import cache

from deviceselectors.declarations import CIDR_TYPE, FORMAT_TYPE, IP_TYPE, QUANTITY_TYPE, SEMVER_TYPE, URL_TYPE
from deviceselectors.types import (
    BOOL_TYPE,
    BYTES_TYPE,
    DOUBLE_TYPE,
    DURATION_TYPE,
    DYN_TYPE,
    INT_TYPE,
    STRING_TYPE,
    TIMESTAMP_TYPE,
    UINT_TYPE,
    Type,
    list_of,
    map_of,
    optional_of,
    struct,
    type_of,
    type_parameter,
)

_TYPES = {
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
_CONSTRUCTORS = {
    "list": lambda p: list_of(p[0]),
    "map": lambda p: map_of(p[0], p[1]),
    "optional": lambda p: optional_of(p[0]),
    "type": lambda p: type_of(p[0]),
}


def read_types(text: str) -> tuple[tuple[Type, ...], Type, tuple[str, ...]]:
    """The types of the arguments and of the result, and the names of the type parameters, the result's first."""
    arguments, _, result = text.rpartition(" > ")
    types = () if arguments == "-" else tuple([_read_type(a) for a in arguments.split("; ")])
    gives = _read_type(result)
    return types, gives, tuple(_parameter_names((gives, *types)))


def _parameter_names(types: tuple[Type, ...]) -> dict[str, None]:
    names: dict[str, None] = {}
    for t in types:
        if t.has_parameters:
            names |= _parameter_names(t.parameters) if t.parameters else {t.name: None}
    return names


@cache
def _read_type(text: str) -> Type:
    if text in _TYPES:
        return _TYPES[text]
    if text.endswith(")"):
        name, _, inside = text[:-1].partition("(")
        return _CONSTRUCTORS[name]([_read_type(p) for p in _split_parameters(inside)])
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
