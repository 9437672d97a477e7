"""Whether two values are the same to the server.

Kubernetes compares objects "semantically": an empty list or map is as good as none, quantities are compared by
amount. A struct with nothing set is as good as none only where Go has it as a value, not as a pointer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from resourceapi.json_text import Raw
from resourceapi.quantity import Quantity

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


# A canonical spelling of objects in normal form, for comparing and hashing them.


def canonical(value: Any) -> str:
    """Spell a value so that two values have the same spelling only if no rule can tell them apart.

    :param value: any part of an object in normal form (see :mod:`resourceapi.decoding`).
    :returns: JSON; the order of members counts, so it may differ for objects that are equal.
    """
    return _ENCODER.encode(value)


#: A longer spelling is known by its digest.
_LONG, _DIGEST_BYTES = 256, 20


def fingerprint(spelling: str) -> str:
    """The spelling itself if it is short, or else its digest: what is as good for comparing, and takes little memory."""
    if len(spelling) <= _LONG:
        return spelling
    from hashlib import blake2b

    return "#" + blake2b(spelling.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


def _as_json(value: object) -> object:
    if isinstance(value, Quantity):
        # `1000m` and `1` are the same number, but not the same thing to all rules.
        return [value.mantissa, value.scale, value.format, value.big, str(value)]
    if isinstance(value, Raw):
        return [value.source]
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no part of an API object: {value!r}")


_ENCODER = json.JSONEncoder(default=_as_json, check_circular=False, separators=(",", ":"))
