"""Whether two values are the same to the server.

Kubernetes compares objects "semantically": an empty list or map is as good as none, quantities are compared by
amount. A struct with nothing set is as good as none only where Go has it as a value, not as a pointer.
"""

from __future__ import annotations

from typing import Any

# An empty map is written like an empty struct, so that names have to tell. These fields are maps wherever they are;
# `capacity` is one in a device and a pointer to a struct in a request.
_MAPS = frozenset(
    (
        "annotations",
        "attributes",
        "consumedCapacity",
        "counters",
        "labels",
        "nodeAllocatableResources",
        "requests",
    )
)
# Structs that are no pointers; the `devices` of a slice is a list, the `resources` of a whole pod a pointer.
_VALUES = frozenset(("devices", "metadata", "pool", "resources", "spec", "status", "taint"))


def equal(one: Any, other: Any) -> bool:
    """Whether two values in normal form mean the same; None is a list, map or struct with nothing in it."""
    if one == other:
        return True
    if isinstance(one, dict) or isinstance(other, dict):
        return _equal_members(one or {}, other or {})
    if isinstance(one, list) or isinstance(other, list):
        one, other = one or [], other or []
        return len(one) == len(other) and all(map(equal, one, other))
    return False


def equal_fields(name: str, one: Any, other: Any) -> bool:
    """Whether two values of the field of that name mean the same; None is a field that is not set."""
    if one is None or other is None:
        present = other if one is None else one
        if name in _VALUES and isinstance(present, dict):
            return _equal_members(present, {})
        return present is None or present == [] or (present == {} and name in _MAPS)
    return equal(one, other)


def _equal_members(one: Any, other: Any) -> bool:
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return False
    return all(equal_fields(name, one.get(name), other.get(name)) for name in one.keys() | other.keys())
