"""What becomes of an evaluation's value: a match for a selector, an attribute for a derived attribute.

Selectors whose static type is that of attributes may give anything at run time; what is no bool has an error text of
its own per type. Source: k8s.io/dynamic-resource-allocation 0.37, cel-go 0.29.
"""

from __future__ import annotations

from typing import Any

from deviceselectors.libraries.semver import Semver
from deviceselectors.runtime.values import (
    LIST_CLASSES,
    MAP_CLASSES,
    MISSING,
    NATIVE_NAMES,
    CelError,
    ConcatList,
    DomainMap,
    Duration,
    EntryMap,
    GeneralMap,
    Optional,
    Timestamp,
    TypeValue,
    Uint,
    as_list,
    not_convertible,
    type_name,
)
from resourceapi.quantity import Quantity

_NO_BOOL: dict[type, str] = {
    str: "unsupported native conversion from string to 'bool'",
    int: "unsupported type conversion from 'int' to bool",
    Uint: "unsupported type conversion from 'uint' to bool",
    float: "type conversion error from Double to 'bool'",
    bytes: "type conversion error from Bytes to 'bool'",
    type(None): "type conversion error from 'null_type' to 'bool'",
    TypeValue: "type conversion not supported for 'type'",
    Duration: "type conversion error from 'Duration' to 'bool'",
    Timestamp: "type conversion error from 'Timestamp' to 'bool'",
    **dict.fromkeys(LIST_CLASSES, "type conversion error from list to 'bool'"),
    **dict.fromkeys(MAP_CLASSES, "type conversion error from map to 'bool'"),
}

_NATIVE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int64",
    Uint: "uint64",
    float: "float64",
    str: "string",
    bytes: "[]uint8",
    type(None): "structpb.NullValue",
    TypeValue: "string",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    GeneralMap: "map[ref.Val]ref.Val",
    dict: "map[ref.Val]ref.Val",
    **dict.fromkeys((DomainMap, EntryMap), "map[string]interface {}"),
    **dict.fromkeys(LIST_CLASSES, "[]ref.Val"),
    ConcatList: "[]interface {}",
}
_MESSAGE = "*dynamicpb.Message"


def as_match(value: Any) -> bool:
    """Whether a selector's value is a match.

    :raises CelError: when it is no bool
    """
    if value is True or value is False:
        return value
    return _unwrap_match(value, type_name(value))


def _unwrap_match(value: Any, name: str) -> bool:
    reason = _NO_BOOL.get(value.__class__) or not_convertible(value, "bool")
    if value.__class__ is Optional:
        if value.value is True or value.value is False:
            return value.value
        if value.value is not MISSING:
            return _unwrap_match(value.value, name)
        reason = "optional.none() dereference"
    raise CelError(f"CEL result of type {name} could not be converted to bool: {reason}")


def as_attribute(value: Any) -> dict[str, Any]:
    """The attribute of a derived attribute's value, as `resource.k8s.io/v1` JSON; an empty list gives `{}`.

    :raises CelError: when it is no attribute value
    """
    single = _unwrap(value)
    key = _attribute_key(single)
    if key:
        return {key: _plain(single)}
    if value.__class__ not in LIST_CLASSES:  # a list in an optional is none
        raise CelError(f"unsupported CEL return type: {_native_name(single)}")
    elements = [_unwrap(element) for element in as_list(value)]
    if not elements:
        return {}
    key = _attribute_key(elements[0])
    if not key:
        raise CelError(f"unsupported list element type: {_native_name(elements[0])}")
    for index, element in enumerate(elements):
        if _attribute_key(element) != key:
            name = "semver" if key == "version" else key
            raise CelError(
                f"expected list element at index {index} to be {name}, got {_native_name(element)}"
            )
    return {key + "s": [_plain(element) for element in elements]}


def _unwrap(value: Any) -> Any:
    while value.__class__ is Optional:
        value = value.value
    return value


def _attribute_key(value: Any) -> str:
    cls = value.__class__
    if cls is TypeValue:
        return "string"
    return {bool: "bool", int: "int", str: "string", Semver: "version"}.get(cls, "")


def _plain(value: Any) -> Any:
    if value.__class__ is TypeValue:
        return value.name
    return str(value) if value.__class__ is Semver else value


def _native_name(value: Any) -> str:
    """The Go type behind a value. Lists of one Go type (`[]string`) and `Struct` messages are not told from others."""
    if value is MISSING:
        return "<nil>"
    if value.__class__ is EntryMap and any(entry.__class__ is Quantity for entry in value.values()):
        return "map[string]cel.Quantity"
    if value.__class__ is dict and value.get("attributes").__class__ is DomainMap:  # the device itself
        return _NATIVE_NAMES[DomainMap]
    return _NATIVE_NAMES.get(value.__class__) or NATIVE_NAMES.get(value.__class__, _MESSAGE)
